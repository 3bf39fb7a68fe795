/* What a server has: finding it again, who uses whose, what claims wait for. */
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

static void make_waiting_world(void)
{
    world_begin();
    put_class("now", "example.com/disk", "");
    put_class("hand", "kubernetes.io/no-provisioner", "");
    put(KIND_CLASS, "{'metadata':{'name':'later'},'provisioner':'example.com/disk','volumeBindingMode':"
                    "'WaitForFirstConsumer'}");
    put_volume("free", "", "Available", NULL, "");
    put_volume("taken", "", "Bound", "park/first", "");
    put_claim("a/none", "", "Pending", "", "");
    put_claim("a/now", "now", "Pending", "", "");
    put_claim("a/hand", "hand", "Pending", "", "");
    put_claim("a/missing", "nowhere", "Pending", "", "");
    put_claim("a/unused", "later", "Pending", "", "");
    put_claim("a/used", "later", "Pending", "", "");
    put_claim("a/named", "later", "Pending", "free", "");
    put_claim("a/named-taken", "", "Pending", "taken", "");
    put_claim("a/named-gone", "", "Pending", "nobody", "");
    put_pod("a/web", "used", "", "Pending", "");
    ASSERT_OK(inventory_tie(&world, &err));
}

static const char *waits(const char *name)
{
    static struct buf out = { .len_max = 4096 };

    buf_clear(&out);
    inventory_write_wait(&world, claim_at("a", name), &out);
    return buf_cstr(&out);
}

TEST(what_claims_wait_for)
{
    make_waiting_world();
    ASSERT_STR("waits for a volume that fits", waits("none"));
    ASSERT_STR("waits for a volume that fits, or for example.com/disk to make one", waits("now"));
    ASSERT_STR("waits for a volume that fits", waits("hand"));
    ASSERT_STR("class nowhere does not exist", waits("missing"));
    ASSERT_STR("waits for a pod that uses it", waits("unused"));
    ASSERT_STR("waits for its pod to be scheduled", waits("used"));
    ASSERT_STR("waits for volume free", waits("named"));
    ASSERT_STR("volume taken belongs to park/first", waits("named-taken"));
    ASSERT_STR("volume nobody does not exist", waits("named-gone"));
    assert_true(inventory_waits_for_pod(&world, claim_at("a", "unused")));
    assert_false(inventory_waits_for_pod(&world, claim_at("a", "used")));
    assert_false(inventory_waits_for_pod(&world, claim_at("a", "named")));
    assert_false(inventory_waits_for_pod(&world, claim_at("a", "now")));
    world_end();
}

TEST(nothing_follows_from_lists_that_could_not_be_had)
{
    make_waiting_world();
    world.kinds[KIND_VOLUME].is_known = false;
    world.kinds[KIND_CLASS].is_whole = false;
    world.kinds[KIND_POD].is_known = false;
    ASSERT_STR("waits for volume nobody", waits("named-gone"));
    ASSERT_STR("waits for a volume that fits", waits("missing"));
    ASSERT_STR("waits for its pod to be scheduled", waits("unused"));
    assert_false(inventory_covers(&world, KIND_VOLUME));
    assert_false(inventory_covers(&world, KIND_CLASS));
    assert_true(inventory_covers(&world, KIND_CLAIM));
    world_end();
}

TEST_MAIN()
