/* The cache: keys, order, indexes, and what lack of memory leaves behind; versions and how they compare. */
#include "tests/unit/test_informer.h"

#include "machinery/cache.h"

static const struct hash_seed seed = { 3, 4 };

static void put(struct cache *c, const char *spec)
{
    _cleanup_(object_unref_p) struct object *o = new_claim(spec);

    ASSERT_OK(cache_put(c, o, &err));
}

static void take(struct cache *c, const char *spec)
{
    _cleanup_(object_unref_p) struct object *o = new_claim(spec);

    cache_remove(c, o);
}

static void list_add(struct buf *out, const struct object *o)
{
    struct str version = object_version(o);

    buf_add_cstr(out, out->len ? " " : "");
    object_key(o, out);
    buf_addf(out, "@%.*s", STR_ARG(version));
}

static const char *all(const struct cache *c)
{
    static struct buf out = { .len_max = WORLD_TEXT_MAX };
    struct informer_cursor at;

    buf_clear(&out);
    for (const struct object *o = cache_first(c, &at); o; o = cache_next(&at))
        list_add(&out, o);
    return buf_cstr(&out);
}

static const char *by(const struct cache *c, const char *index, const char *value)
{
    static struct buf out = { .len_max = WORLD_TEXT_MAX };
    struct informer_cursor at;

    buf_clear(&out);
    for (const struct object *o = cache_first_by(c, index, str_of(value), &at); o; o = cache_next(&at))
        list_add(&out, o);
    return buf_cstr(&out);
}

static void cache_init_indexed(struct cache *c)
{
    cache_init(c, seed);
    for (size_t i = 0; i < ARRAY_LEN(claim_indexes); i++)
        ASSERT_OK(cache_add_index(c, &claim_indexes[i], &err));
}

/* --- Keys and order --- */

TEST(objects_are_found_by_key_and_by_name)
{
    struct cache c;

    cache_init(&c, seed);
    assert_null(cache_get(&c, STR_LIT("a/x")));
    put(&c, "a/x@1");
    put(&c, "a/y@2");
    ASSERT_INT(2, cache_count(&c));
    ASSERT_STR("x", cache_get(&c, STR_LIT("a/x"))->name);
    ASSERT_STR("y", cache_get_named(&c, "a", "y")->name);
    assert_null(cache_get_named(&c, "", "x"));
    assert_null(cache_get_named(&c, "b", "x"));
    assert_null(cache_get(&c, STR_LIT("a")));
    put(&c, "a/x@3");
    ASSERT_INT(2, cache_count(&c));
    ASSERT_STR("a/x@3 a/y@2", all(&c));
    take(&c, "a/x@9");
    take(&c, "a/nothing@9");
    ASSERT_STR("a/y@2", all(&c));
    cache_clear(&c);
    ASSERT_STR("", all(&c));
    put(&c, "a/z@1");
    ASSERT_STR("a/z@1", all(&c));
    cache_done(&c);
}

TEST(the_order_is_that_of_namespace_and_name)
{
    struct cache c;

    /* As texts, "a-b/x" comes before "a/x", and "a.b/x" too. */
    cache_init(&c, seed);
    put(&c, "a-b/x@1");
    put(&c, "a/z@1");
    put(&c, "aa/x@1");
    put(&c, "a/a@1");
    put(&c, "a.b/x@1");
    put(&c, "a/long-name-2@1");
    put(&c, "a/long-name-1@1");
    put(&c, "a/long-name@1");
    ASSERT_STR("a/a@1 a/long-name@1 a/long-name-1@1 a/long-name-2@1 a/z@1 a-b/x@1 a.b/x@1 aa/x@1", all(&c));
    cache_done(&c);
}

TEST(order_agrees_with_a_sort_by_namespace_and_name)
{
    static const char *const parts[] = { "a", "a-",       "a-a",       "a.a",    "aa",
                                         "b", "aaaaaaaa", "aaaaaaaab", "aaaaaaa" };

    for (size_t i = 0; i < ARRAY_LEN(parts) * ARRAY_LEN(parts); i++)
        for (size_t j = 0; j < ARRAY_LEN(parts) * ARRAY_LEN(parts); j++) {
            const struct object a = { .ns = parts[i / ARRAY_LEN(parts)],
                                      .name = parts[i % ARRAY_LEN(parts)] };
            const struct object b = { .ns = parts[j / ARRAY_LEN(parts)],
                                      .name = parts[j % ARRAY_LEN(parts)] };
            int expected = strcmp(a.ns, b.ns) ? strcmp(a.ns, b.ns) : strcmp(a.name, b.name);
            int actual = cache_order(&a, &b);

            ASSERT_INT((expected > 0) - (expected < 0), (actual > 0) - (actual < 0));
        }
}

TEST(what_has_no_key_has_no_place)
{
    char long_name[CACHE_KEY_BYTES_MAX + 2];
    struct object o = { .ns = "a", .name = long_name };

    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    assert_false(cache_can_hold(&o));
    long_name[CACHE_KEY_BYTES_MAX - 2] = '\0';
    assert_true(cache_can_hold(&o));
    o.ns = "ab";
    assert_false(cache_can_hold(&o));
    o = (struct object){ .ns = "", .name = "x" };
    assert_true(cache_can_hold(&o));
    o.name = "";
    assert_false(cache_can_hold(&o));
    o.name = "x/y";
    assert_false(cache_can_hold(&o));
    o = (struct object){ .ns = "a/b", .name = "x" };
    assert_false(cache_can_hold(&o));
}

/* --- Indexes --- */

TEST(an_index_follows_its_objects)
{
    struct cache c;

    cache_init_indexed(&c);
    put(&c, "b/y@1=v1");
    put(&c, "a/x@2=v1");
    put(&c, "a/z@3");
    ASSERT_STR("a/x@2 b/y@1", by(&c, "volume", "v1"));
    ASSERT_STR("", by(&c, "volume", ""));
    ASSERT_STR("a/x@2 a/z@3", by(&c, "namespace", "a"));
    put(&c, "a/x@4=v2");
    ASSERT_STR("b/y@1", by(&c, "volume", "v1"));
    ASSERT_STR("a/x@4", by(&c, "volume", "v2"));
    put(&c, "a/x@5=v2"); /* the same value: the index sees the new object all the same */
    ASSERT_STR("a/x@5", by(&c, "volume", "v2"));
    put(&c, "a/x@6");
    ASSERT_STR("", by(&c, "volume", "v2"));
    take(&c, "b/y@7");
    ASSERT_STR("", by(&c, "volume", "v1"));
    ASSERT_STR("a/x@6 a/z@3", by(&c, "namespace", "a"));
    ASSERT_STR("", by(&c, "namespace", "b"));
    cache_done(&c);
}

TEST(indexes_have_names_of_their_own_and_are_few)
{
    struct informer_index many[INFORMER_INDEXES_MAX + 1];
    char names[INFORMER_INDEXES_MAX + 1][4];
    struct cache c;

    cache_init(&c, seed);
    for (size_t i = 0; i < ARRAY_LEN(many); i++) {
        (void)snprintf(names[i], sizeof names[i], "i%zu", i);
        many[i] = (struct informer_index){ names[i], index_by_volume };
    }
    for (size_t i = 0; i < INFORMER_INDEXES_MAX; i++) {
        ASSERT_OK(cache_add_index(&c, &many[i], &err));
        ASSERT_ERR(ERR_EXISTS, cache_add_index(&c, &many[i], &err));
    }
    ASSERT_ERR(ERR_TOO_LARGE, cache_add_index(&c, &many[INFORMER_INDEXES_MAX], &err));
    cache_done(&c);
}

/* Labels as values: any number, in any order, repeated. The name's characters stand for them. */
static void index_by_letters(const struct object *o, index_emit_fn *emit, void *ctx)
{
    for (const char *at = claim_of(o)->volume_name; *at; at++)
        emit(ctx, (struct str){ at, 1 });
}

TEST(an_object_may_have_many_values)
{
    static const struct informer_index letters = { "letters", index_by_letters };
    static const char *const rows[] = { "abc", "cab", "cabbage", "", "a", "zzz", "xyzzy", "abc" };
    struct cache c;

    cache_init(&c, seed);
    ASSERT_OK(cache_add_index(&c, &letters, &err));
    put(&c, "a/other@1=cz");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char spec[64];

        (void)snprintf(spec, sizeof spec, "a/x@%zu=%s", i + 1, rows[i]);
        put(&c, spec);
        for (int letter = 'a'; letter <= 'z'; letter++) {
            const char *found = by(&c, "letters", (char[]){ (char)letter, '\0' });

            ASSERT_INT(strchr(rows[i], letter) != NULL, strstr(found, "a/x@") != NULL);
            ASSERT_INT(strchr("cz", letter) != NULL, strstr(found, "a/other@1") != NULL);
        }
    }
    cache_done(&c);
}

/* Numbers from a seed, against a list that is searched from end to end. */
#define MODEL_NAMES 300
#define MODEL_VOLUMES 4

TEST(indexes_agree_with_a_search_through_everything)
{
    uint64_t drawn = 12345;
    int model[MODEL_NAMES]; /* the volume, -1 for absent */
    struct cache c;

    cache_init_indexed(&c);
    for (size_t i = 0; i < MODEL_NAMES; i++)
        model[i] = -1;
    for (unsigned step = 0; step < 4000; step++) {
        char spec[64];
        unsigned name, volume;

        drawn = drawn * 6364136223846793005u + 1442695040888963407u;
        name = (unsigned)(drawn >> 33) % MODEL_NAMES;
        volume = (unsigned)(drawn >> 50) % (MODEL_VOLUMES + 2);
        (void)snprintf(spec, sizeof spec, "ns/n%03u@%u=v%u", name, step + 1, volume);
        /* Fills first and empties later, so that buckets grow into maps and go. */
        if (volume < MODEL_VOLUMES && (step < 2500 || volume == 0)) {
            put(&c, spec);
            model[name] = (int)volume;
        } else {
            take(&c, spec);
            model[name] = -1;
        }
        if (step % 50 == 0 || step > 3900)
            for (unsigned v = 0; v < MODEL_VOLUMES; v++) {
                struct informer_cursor at;
                char value[8];
                const struct object *o;

                (void)snprintf(value, sizeof value, "v%u", v);
                o = cache_first_by(&c, "volume", str_of(value), &at);
                for (unsigned n = 0; n < MODEL_NAMES; n++) {
                    char wanted[8];

                    if (model[n] != (int)v)
                        continue;
                    (void)snprintf(wanted, sizeof wanted, "n%03u", n);
                    assert_non_null(o);
                    ASSERT_STR(wanted, o->name);
                    o = cache_next(&at);
                }
                assert_null(o);
            }
    }
    cache_done(&c);
}

/* --- Lack of memory --- */

static unsigned allocs_left;

static void *stingy_malloc(size_t bytes)
{
    return allocs_left && allocs_left-- ? malloc(bytes) : NULL;
}

static void *stingy_calloc(size_t count, size_t bytes)
{
    return allocs_left && allocs_left-- ? calloc(count, bytes) : NULL;
}

/* Every table and tree may fail to grow, one after another; what is there stays as it was. */
TEST(a_put_that_fails_changes_nothing)
{
    struct cache c;

    cache_init_indexed(&c);
    c.by_key.alloc = stingy_calloc;
    c.ordered.alloc = stingy_malloc;
    for (size_t i = 0; i < c.indexes_count; i++)
        c.indexes[i].buckets.alloc = stingy_calloc;
    for (unsigned n = 0; n < 200; n++) {
        char spec[64];
        struct object *o;
        unsigned granted = 0;

        (void)snprintf(spec, sizeof spec, "ns%u/n%03u@1=v%u", n % 3, n, n);
        o = new_claim(spec);
        for (;;) {
            allocs_left = granted++;
            if (cache_put(&c, o, &err) == 0)
                break;
            ASSERT_INT(ERR_NO_MEMORY, err.code);
            ASSERT_INT(n, cache_count(&c));
            assert_null(cache_get_named(&c, o->ns, o->name));
            (void)snprintf(spec, sizeof spec, "v%u", n);
            ASSERT_STR("", by(&c, "volume", spec));
            assert_true(granted < 10);
        }
        object_unref(o);
    }
    allocs_left = 0;
    for (unsigned n = 0; n < 200; n++) {
        char spec[64];

        (void)snprintf(spec, sizeof spec, "ns%u/n%03u@1=v%u", n % 3, n, n);
        take(&c, spec);
    }
    ASSERT_INT(0, cache_count(&c));
    cache_done(&c);
}

TEST(an_update_that_fails_leaves_the_old_one_under_its_values)
{
    struct cache c;
    struct object *o = new_claim("a/x@2=v2");

    cache_init_indexed(&c);
    put(&c, "a/x@1=v1");
    for (unsigned n = 0; n < 5; n++) { /* the next value makes the table grow */
        char spec[64];

        (void)snprintf(spec, sizeof spec, "a/y%u@1=w%u", n, n);
        put(&c, spec);
    }
    allocs_left = 0;
    c.indexes[0].buckets.alloc = stingy_calloc;
    for (unsigned n = 0; cache_put(&c, o, &err) == 0; n++) {
        char spec[64];

        assert_true(n < 20);
        put(&c, "a/x@1=v1");
        c.indexes[0].buckets.alloc = calloc;
        (void)snprintf(spec, sizeof spec, "a/z%u@1=z%u", n, n);
        put(&c, spec);
        c.indexes[0].buckets.alloc = stingy_calloc;
    }
    ASSERT_INT(ERR_NO_MEMORY, err.code);
    ASSERT_STR("a/x@1", by(&c, "volume", "v1"));
    ASSERT_STR("", by(&c, "volume", "v2"));
    assert_non_null(strstr(by(&c, "namespace", "a"), "a/x@1 "));
    object_unref(o);
    cache_done(&c);
}

TEST(an_update_that_fails_at_one_value_takes_back_the_others)
{
    static const struct informer_index letters = { "letters", index_by_letters };
    static const char values[] = "abcdefghijklmnopqrstuvwxyz";
    struct cache c;
    struct object *o = new_claim("a/x@2=bcdefghijklmnopqrstuvwxyz");

    cache_init(&c, seed);
    ASSERT_OK(cache_add_index(&c, &letters, &err));
    put(&c, "a/x@1=ab");
    put(&c, "a/y@1=cz");
    allocs_left = 1; /* the table of values grows once, and not again */
    c.indexes[0].buckets.alloc = stingy_calloc;
    ASSERT_ERR(ERR_NO_MEMORY, cache_put(&c, o, &err));
    for (size_t i = 0; values[i]; i++) {
        const char *found = by(&c, "letters", (char[]){ values[i], '\0' });

        ASSERT_STR(i < 2 ? "a/x@1" : strchr("cz", values[i]) ? "a/y@1" : "", found);
    }
    ASSERT_STR("a/x@1 a/y@1", all(&c));
    object_unref(o);
    cache_done(&c);
}

/* --- Versions --- */

TEST(versions_are_read_off_the_text)
{
    static const struct {
        const char *metadata;
        const char *version;
    } rows[] = {
        { "'name':'x','resourceVersion':'5'", "5" },
        { "'name':'x'", "" },
        { "'name':'x','resourceVersion':''", "" },
        { "'name':'x','labels':{'resourceVersion':'7'},'resourceVersion':'12345678901234567890123'",
          "12345678901234567890123" },
        { "'name':'x\\\\\\'resourceVersion\\':','resourceVersion':'opaque-5'", "opaque-5" },
        { "'name':'x','annotations':{'a':'}]{[\\\\'},'resourceVersion':'9'", "9" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(object_unref_p) struct object *o = NULL;
        _cleanup_(json_done_p) struct json scratch;
        char text[512];
        struct str version;

        (void)snprintf(text, sizeof text,
                       "{'kind':'PersistentVolumeClaim','apiVersion':'v1','metadata':{%s}}",
                       rows[i].metadata);
        for (char *at = text; *at; at++)
            *at = *at == '\'' ? '"' : *at;
        json_init(&scratch, WORLD_TEXT_MAX);
        ASSERT_OK(object_decode(kind_info(KIND_CLAIM), str_of(text), &scratch, &o, &err));
        version = object_version(o);
        assert_true(str_is(version, rows[i].version));
    }
}

TEST(versions_compare_as_numbers_of_any_length_or_not_at_all)
{
    static const struct {
        const char *a;
        const char *b;
        int expected;
    } rows[] = {
        { "5", "5", 0 },
        { "5", "6", -1 },
        { "9", "10", -1 },
        { "10", "9", 1 },
        { "0", "1", -1 },
        { "123456789012345678901234567890", "123456789012345678901234567889", 1 },
        { "99999999999999999999", "100000000000000000000", -1 },
        { "007", "7", VERSION_UNORDERED },
        { "007", "007", 0 },
        { "", "", 0 },
        { "", "1", VERSION_UNORDERED },
        { "abc", "abd", VERSION_UNORDERED },
        { "5", "5a", VERSION_UNORDERED },
        { "-5", "5", VERSION_UNORDERED },
        { "abc", "abc", 0 },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int expected = rows[i].expected, c = version_cmp(str_of(rows[i].a), str_of(rows[i].b));

        ASSERT_INT(expected, c);
        c = version_cmp(str_of(rows[i].b), str_of(rows[i].a));
        ASSERT_INT(expected == VERSION_UNORDERED ? expected : -expected, c);
    }
}

TEST_MAIN()
