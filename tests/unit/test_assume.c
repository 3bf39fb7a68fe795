/* Promises: who has them, what ends them, and what lack of memory leaves of them. */
#include "tests/unit/test_kind.h"

#include "tests/unit/test_stingy.h"

#include "scheduler/assume.c" /* NOLINT(bugprone-suspicious-include) */

#define SEED ((struct hash_seed){ 1, 2 })

static struct object *new_volume(const char *name, const char *uid, const char *version)
{
    char text[256];

    (void)snprintf(text, sizeof text, "{'metadata':{'name':'%s','uid':'%s','resourceVersion':'%s'}}", name,
                   uid, version);
    return kind_object(KIND_VOLUME, text);
}

static struct object *new_claim(const char *name, const char *uid, const char *version)
{
    char text[256];

    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'%s','namespace':'ns','uid':'%s','resourceVersion':'%s'}}", name, uid,
                   version);
    return kind_object(KIND_CLAIM, text);
}

static bool see_volume(struct assumed *a, const char *name, const char *uid, const char *version)
{
    _cleanup_(object_unref_p) struct object *o = new_volume(name, uid, version);

    return assumed_observe_volume(a, volume_of(o));
}

static bool see_claim(struct assumed *a, const char *uid, const char *version)
{
    _cleanup_(object_unref_p) struct object *o = new_claim("c", uid, version);

    return assumed_observe_claim(a, claim_of(o));
}

struct world {
    struct assumed a;
    struct object *v, *w, *c;
};

static void world_init(struct world *x)
{
    assumed_init(&x->a, SEED);
    x->v = new_volume("v", "uv", "7");
    x->w = new_volume("w", "uw", "8");
    x->c = new_claim("c", "uc", "9");
}

static void world_done(struct world *x)
{
    assert_null(assumed_check(&x->a));
    assumed_done(&x->a);
    (void)object_unref(x->v);
    (void)object_unref(x->w);
    (void)object_unref(x->c);
}

#define WORLD                             \
    _cleanup_(world_done) struct world x; \
    world_init(&x)

TEST(a_volume_is_promised_once)
{
    WORLD;

    assert_null(assumed_volume(&x.a, "v"));
    ASSERT_INT(0, assume_volume(&x.a, volume_of(x.v), "uc", "pod"));
    ASSERT_STR("uc", assumed_volume(&x.a, "v")->claim_uid);
    ASSERT_STR("pod", assumed_volume(&x.a, "v")->pod_uid);
    assert_ptr_equal(assumed_volume(&x.a, "v"), assumed_volume_of(&x.a, "uc"));
    assert_null(assumed_volume_of(&x.a, "other"));
    /* Neither the volume nor the claim can be promised again. */
    ASSERT_INT(-ERR_BUSY, assume_volume(&x.a, volume_of(x.v), "other", "pod"));
    ASSERT_INT(-ERR_BUSY, assume_volume(&x.a, volume_of(x.w), "uc", "pod"));
    ASSERT_INT(0, assume_volume(&x.a, volume_of(x.w), "other", "pod"));
}

/* Only the one who was promised gives back. */
TEST(a_volume_is_given_back_by_its_pod)
{
    WORLD;

    assert_false(assumed_release_volume(&x.a, "v", "pod"));
    ASSERT_INT(0, assume_volume(&x.a, volume_of(x.v), "uc", "pod"));
    assert_false(assumed_release_volume(&x.a, "v", "stranger"));
    assert_non_null(assumed_volume(&x.a, "v"));
    assert_true(assumed_release_volume(&x.a, "v", "pod"));
    assert_null(assumed_volume(&x.a, "v"));
    assert_null(assumed_volume_of(&x.a, "uc"));
    ASSERT_INT(0, assume_volume(&x.a, volume_of(x.w), "uc", "stranger"));
}

/* The same version again is a resync; any other, older or newer, tells what became of it, and so does another
 * volume of the name. */
TEST(another_version_ends_the_promise_of_a_volume)
{
    static const struct {
        const char *uid, *version;
        bool is_over;
    } rows[] = {
        { "uv", "7", false }, { "uv", "8", true }, { "uv", "6", true },
        { "uv", "70", true }, { "xx", "7", true },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        WORLD;

        assert_false(see_volume(&x.a, "v", "uv", "8"));
        ASSERT_INT(0, assume_volume(&x.a, volume_of(x.v), "uc", "pod"));
        assert_false(see_volume(&x.a, "w", "uw", "1"));
        ASSERT_INT(rows[i].is_over, see_volume(&x.a, "v", rows[i].uid, rows[i].version));
        ASSERT_INT(rows[i].is_over, !assumed_volume(&x.a, "v"));
        ASSERT_INT(rows[i].is_over, !assumed_volume_of(&x.a, "uc"));
    }
}

TEST(a_claim_is_promised_a_node)
{
    WORLD;

    ASSERT_INT(0, assume_claim(&x.a, claim_of(x.c), "n1", "pod"));
    ASSERT_STR("n1", assumed_claim(&x.a, "uc")->node);
    ASSERT_INT(-ERR_BUSY, assume_claim(&x.a, claim_of(x.c), "n2", "pod"));
    assert_false(assumed_release_claim(&x.a, "uc", "stranger"));
    assert_false(assumed_release_claim(&x.a, "other", "pod"));
    assert_true(assumed_release_claim(&x.a, "uc", "pod"));
    assert_null(assumed_claim(&x.a, "uc"));
    ASSERT_INT(0, assume_claim(&x.a, claim_of(x.c), "n2", "pod"));
    assert_false(see_claim(&x.a, "uc", "9"));
    assert_false(see_claim(&x.a, "other", "10")); /* of the same name: its own */
    assert_non_null(assumed_claim(&x.a, "uc"));
    assert_true(see_claim(&x.a, "uc", "10"));
    assert_null(assumed_claim(&x.a, "uc"));
}

/* A promise keeps the object that it was made on. */
TEST(promises_outlive_the_cache)
{
    _cleanup_(assumed_done) struct assumed a;
    struct object *v = new_volume("v", "uv", "7"), *c = new_claim("c", "uc", "9");

    assumed_init(&a, SEED);
    ASSERT_INT(0, assume_volume(&a, volume_of(v), "uc", "pod"));
    ASSERT_INT(0, assume_claim(&a, claim_of(c), "n1", "pod"));
    (void)object_unref(v);
    (void)object_unref(c);
    ASSERT_STR("v", assumed_volume(&a, "v")->volume->obj.name);
    ASSERT_STR("c", assumed_claim(&a, "uc")->claim->obj.name);
}

TEST(no_memory_no_promise)
{
    unsigned granted = 0;
    WORLD;

    is_stingy = true;
    for (allocs_left = granted; assume_volume(&x.a, volume_of(x.v), "uc", "pod") < 0;
         allocs_left = ++granted) {
        assert_null(assumed_volume(&x.a, "v"));
        assert_null(assumed_volume_of(&x.a, "uc"));
        assert_true(granted < 20);
    }
    assert_true(granted >= 5); /* itself, two texts, two tables */
    assert_non_null(assumed_volume_of(&x.a, "uc"));
    granted = 0;
    for (allocs_left = granted; assume_claim(&x.a, claim_of(x.c), "n1", "pod") < 0; allocs_left = ++granted) {
        assert_null(assumed_claim(&x.a, "uc"));
        assert_true(granted < 20);
    }
    is_stingy = false;
    assert_true(granted >= 4);
    ASSERT_STR("n1", assumed_claim(&x.a, "uc")->node);
}

TEST_MAIN()
