/* What a server has: finding it again, and who uses whose. */
#include "tests/unit/test_inventory.h"

static const struct claim *claim_at(const char *ns, const char *name)
{
    const struct object *o = inventory_find(&world, KIND_CLAIM, ns, name);

    assert_non_null(o);
    return claim_of(o);
}

static const struct volume *volume_at(const char *name)
{
    const struct object *o = inventory_find(&world, KIND_VOLUME, "", name);

    assert_non_null(o);
    return volume_of(o);
}

TEST(objects_are_found_whatever_order_they_came_in)
{
    static const char *const keys[] = { "b/a", "a-b/x", "a/z", "a/x", "c/m", "a/y" };

    world_begin();
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        put_claim(keys[i], "", "Pending", "", "");
    ASSERT_OK(inventory_tie(&world, &err));
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        struct str name = str_of(keys[i]), ns = str_next(&name, '/');
        char copy[16];

        (void)snprintf(copy, sizeof copy, "%.*s", STR_ARG(ns));
        ASSERT_STR(name.s, claim_at(copy, name.s)->obj.name);
        ASSERT_STR(copy, claim_at(copy, name.s)->obj.ns);
    }
    assert_null(inventory_find(&world, KIND_CLAIM, "a", "w"));
    assert_null(inventory_find(&world, KIND_CLAIM, "", "x"));
    assert_null(inventory_find(&world, KIND_CLAIM, "z", "x"));
    assert_null(inventory_find(&world, KIND_VOLUME, "", "x"));
    world_end();
}

TEST(pods_of_a_claim_come_by_name_and_once)
{
    size_t count;
    const struct claim_user *users;

    world_begin();
    put_claim("shop/db", "", "Bound", "pv", "");
    put_claim("shop/other", "", "Bound", "pv2", "");
    put_claim("park/db", "", "Bound", "pv3", "");
    put_pod("shop/b", "db", "", "Pending", "");
    put_pod("shop/a", "db", "", "Pending", "");
    put_pod("park/c", "db", "", "Pending", "");
    put(KIND_POD, "{'metadata':{'namespace':'shop','name':'twice'},'spec':{'volumes':["
                  "{'name':'one','persistentVolumeClaim':{'claimName':'db'}},"
                  "{'name':'two','persistentVolumeClaim':{'claimName':'db'}},"
                  "{'name':'none','emptyDir':{}}]}}");
    ASSERT_OK(inventory_tie(&world, &err));
    users = inventory_users(&world, claim_at("shop", "db"), &count);
    ASSERT_INT(3, count);
    ASSERT_STR("a", users[0].pod->obj.name);
    ASSERT_STR("b", users[1].pod->obj.name);
    ASSERT_STR("twice", users[2].pod->obj.name);
    assert_null(inventory_users(&world, claim_at("shop", "other"), &count));
    ASSERT_INT(0, count);
    users = inventory_users(&world, claim_at("park", "db"), &count);
    ASSERT_INT(1, count);
    ASSERT_STR("c", users[0].pod->obj.name);
    world_end();
}

TEST(a_pod_uses_the_claim_that_is_made_for_it)
{
    size_t count;

    world_begin();
    put_claim("shop/web-scratch", "", "Pending", "", "");
    put(KIND_POD, "{'metadata':{'namespace':'shop','name':'web'},'spec':{'volumes':[{'name':'scratch',"
                  "'ephemeral':{'volumeClaimTemplate':{'spec':{}}}}]}}");
    ASSERT_OK(inventory_tie(&world, &err));
    assert_non_null(inventory_users(&world, claim_at("shop", "web-scratch"), &count));
    world_end();
}

TEST(a_volume_is_of_the_claim_with_its_uid)
{
    world_begin();
    put_claim("shop/db", "", "Bound", "own", "");
    put_volume("own", "", "Bound", "shop/db", "");
    put_volume("free", "", "Available", NULL, "");
    put_volume("gone", "", "Bound", "shop/gone", "");
    put_volume("old", "", "Bound", NULL, ",'claimRef':{'namespace':'shop','name':'db','uid':'another'}");
    put_volume("kept", "", "Available", NULL, ",'claimRef':{'namespace':'shop','name':'db'}");
    put_volume("elsewhere", "", "Available", NULL, ",'claimRef':{'namespace':'park','name':'db'}");
    ASSERT_OK(inventory_tie(&world, &err));
    assert_ptr_equal(inventory_claim_of(&world, volume_at("own")), claim_at("shop", "db"));
    assert_ptr_equal(inventory_claim_of(&world, volume_at("kept")), claim_at("shop", "db"));
    assert_null(inventory_claim_of(&world, volume_at("free")));
    assert_null(inventory_claim_of(&world, volume_at("gone")));
    assert_null(inventory_claim_of(&world, volume_at("old")));
    assert_null(inventory_claim_of(&world, volume_at("elsewhere")));
    world_end();
}

TEST(nothing_follows_from_lists_that_could_not_be_had)
{
    world_begin();
    world.kinds[KIND_VOLUME].is_known = false;
    world.kinds[KIND_CLASS].is_whole = false;
    assert_false(inventory_covers(&world, KIND_VOLUME));
    assert_false(inventory_covers(&world, KIND_CLASS));
    assert_true(inventory_covers(&world, KIND_CLAIM));
    world_end();
}

TEST(users_of_a_claim_that_is_not_there)
{
    const struct claim_user *users;
    size_t count;

    world_begin();
    put_pod("shop/a", "gone", "", "Pending", "");
    put_pod("shop/b", "gone", "", "Pending", "");
    put_pod("park/c", "gone", "", "Pending", "");
    ASSERT_OK(inventory_tie(&world, &err));
    users = inventory_users_of(&world, "shop", "gone", &count);
    ASSERT_INT(2, count);
    ASSERT_STR("a", users[0].pod->obj.name);
    assert_null(inventory_users_of(&world, "shop", "other", &count));
    ASSERT_INT(0, count);
    world_end();
}

TEST_MAIN()
