/* JSON merge patch (RFC 7386). */
#include "tests/unit/test_patch.h"

TEST(members_merge)
{
    /* The cases of the RFC's appendix A, then ours. */
    static const struct patch_row rows[] = {
        { "{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}" },
        { "{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}" },
        { "{\"a\":\"b\"}", "{\"a\":null}", "{}" },
        { "{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}" },
        { "{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}" },
        { "{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}" },
        { "{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}" },
        { "{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}" },
        { "[\"a\",\"b\"]", "[\"c\",\"d\"]", "[\"c\",\"d\"]" },
        { "{\"a\":\"b\"}", "[\"c\"]", "[\"c\"]" },
        { "{\"a\":\"foo\"}", "null", "null" },
        { "{\"a\":\"foo\"}", "\"bar\"", "\"bar\"" },
        { "{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}" },
        { "[1,2]", "{\"a\":\"b\",\"c\":null}", "{\"a\":\"b\"}" },
        { "{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}" },

        { "{}", "{}", "{}" },
        { "{\"a\":1}", "{}", "{\"a\":1}" },
        { "{\"a\":1}", "{\"b\":null}", "{\"a\":1}" },
        { "null", "{\"a\":{\"b\":null}}", "{\"a\":{}}" },
        { "{\"a\":1,\"b\":2,\"c\":3}", "{\"c\":30,\"d\":4,\"a\":null,\"b\":{\"x\":1}}",
          "{\"b\":{\"x\":1},\"c\":30,\"d\":4}" }, /* old ones in place, new ones behind */
        { "{\"a\":{\"b\":{\"c\":{\"d\":1,\"e\":2}}}}", "{\"a\":{\"b\":{\"c\":{\"e\":null,\"f\":3}}}}",
          "{\"a\":{\"b\":{\"c\":{\"d\":1,\"f\":3}}}}" },
        { "{\"a\":{\"b\":1}}", "{\"a\":{\"b\":{\"c\":null,\"d\":{\"e\":null}}}}",
          "{\"a\":{\"b\":{\"d\":{}}}}" },                                       /* a number makes way */
        { "{}", "{\"a\":[null,{\"b\":null}]}", "{\"a\":[null,{\"b\":null}]}" }, /* lists are taken whole */
        { "{\"a\":1}", "{\"\":2}", "{\"a\":1,\"\":2}" },
        { "{\"$patch\":1}", "{\"$patch\":\"delete\",\"$retainKeys\":[]}",
          "{\"$patch\":\"delete\",\"$retainKeys\":[]}" },              /* nothing special here */
        { "{\"a\":1,\"b\":2}", "{\"a\":10,\"a\":null}", "{\"b\":2}" }, /* of duplicates the last counts */
        { "{", "{}", NULL, ERR_BAD_REQUEST,
          "error decoding the object to patch: offset 1: parse error: premature EOF" },
        { "{}", "{", NULL, ERR_BAD_REQUEST, "error decoding patch: offset 1: parse error: premature EOF" },
        { "{}", "", NULL, ERR_BAD_REQUEST, "error decoding patch: offset 0: parse error: premature EOF" },
    };

    CHECK_ROWS(PATCH_MERGE, NULL, rows);
}

TEST(many_members_merge_as_few_do)
{
    for (unsigned n = 1; n < 60; n++) { /* both sides of the size where sorting begins */
        _cleanup_(freep) char *target = large_text("{", "\"k#\":#", n, "}");
        _cleanup_(buf_done_p) struct buf patch = BUF_INIT(BYTES_MAX), want = BUF_INIT(BYTES_MAX);
        /* every third goes, every third changes, every third is new */
        for (unsigned i = n; i-- > 0;)
            buf_addf(&patch, "%c\"%c%u\":%s", i == n - 1 ? '{' : ',', i % 3 == 2 ? 'n' : 'k', i,
                     i % 3 ? "{\"x\":1}" : "null");
        buf_add_char(&patch, '}');
        for (unsigned i = 0; i < n; i++)
            if (i % 3 == 1)
                buf_addf(&want, "%c\"k%u\":{\"x\":1}", want.len ? ',' : '{', i);
            else if (i % 3 == 2)
                buf_addf(&want, "%c\"k%u\":%u", want.len ? ',' : '{', i, i);
        for (unsigned i = n; i-- > 0;)
            if (i % 3 == 2)
                buf_addf(&want, "%c\"n%u\":{\"x\":1}", want.len ? ',' : '{', i);
        buf_add_cstr(&want, want.len ? "}" : "{}");
        check_row(PATCH_MERGE, NULL, &(struct patch_row){ target, buf_cstr(&patch), buf_cstr(&want) });
    }
}

/* A small random tree. */
static void random_tree(unsigned *seed, unsigned depth, struct buf *out)
{
    static const char *const scalars[] = { "null", "1", "\"x\"", "true", "[]", "{}", "[null,{\"a\":null}]" };
    unsigned members;

    *seed = *seed * 1103515245 + 12345;
    members = (*seed >> 16) % 5;
    if (!depth || members == 4) {
        buf_add_cstr(out, scalars[(*seed >> 20) % ARRAY_LEN(scalars)]);
        return;
    }
    for (unsigned i = 0; i < members; i++) {
        buf_addf(out, "%c\"%c\":", i ? ',' : '{', 'a' + (int)i);
        random_tree(seed, depth - 1, out);
    }
    buf_add_cstr(out, members ? "}" : "{}");
}

TEST(a_merge_patch_applied_twice_changes_nothing_more)
{
    unsigned seed = 1, objects = 0;

    for (int i = 0; i < 20000; i++) {
        _cleanup_(buf_done_p) struct buf target = BUF_INIT(BYTES_MAX), patch = BUF_INIT(BYTES_MAX);
        int code;

        random_tree(&seed, 4, &target);
        random_tree(&seed, 4, &patch);
        _cleanup_(freep) char *once =
            patch_text(PATCH_MERGE, NULL, buf_cstr(&target), buf_cstr(&patch), &code);
        ASSERT_INT(0, code);
        _cleanup_(freep) char *twice = patch_text(PATCH_MERGE, NULL, once, buf_cstr(&patch), &code);
        ASSERT_INT(0, code);
        ASSERT_STR(once, twice);
        objects += patch.data[0] == '{';
    }
    assert_true(objects > 10000);
}

/* --- Hostile input: these would take minutes if anything were quadratic --- */

TEST(large_objects)
{
    _cleanup_(freep) char *target = large_text("{", "\"k#\":#", 100000, "}");
    static const struct {
        const char *head, *member, *tail;
        unsigned left;
    } rows[] = {
        { "{", "\"k#\":null", "}", 0 },           { "{", "\"k#\":{\"a\":#}", "}", 100000 },
        { "{", "\"new#\":[]", "}", 200000 },      { "{", "\"k#0\":null", "}", 90001 },
        { "{\"x\":{", "\"k#\":1", "}}", 100001 },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(freep) char *patch = large_text(rows[i].head, rows[i].member, 100000, rows[i].tail);
        _cleanup_(json_done_p) struct json d;
        json_ref t, p;

        json_init(&d, BYTES_MAX);
        ASSERT_OK(json_parse(&d, str_of(target), &t, &err));
        ASSERT_OK(json_parse(&d, str_of(patch), &p, &err));
        ASSERT_OK(patch_merge(&d, t, p, &err));
        ASSERT_INT(rows[i].left, json_count(&d, t));
    }
}

TEST(deep_patches)
{
    _cleanup_(freep) char *deep = nested_text("{\"a\":", JSON_DEPTH_MAX, "1", "}");
    _cleanup_(freep) char *other = nested_text("{\"a\":", JSON_DEPTH_MAX, "2", "}");
    _cleanup_(freep) char *gone = nested_text("{\"a\":", JSON_DEPTH_MAX, "null", "}");
    _cleanup_(freep) char *empty = nested_text("{\"a\":", JSON_DEPTH_MAX - 1, "{}", "}");
    struct patch_row rows[] = {
        { deep, other, other }, { "{}", deep, deep },        { "[]", other, other },
        { deep, gone, empty },  { "{}", gone, empty },       { deep, "{\"a\":null}", "{}" },
        { deep, deep, deep },   { "{\"a\":1}", deep, deep },
    };

    CHECK_ROWS(PATCH_MERGE, NULL, rows);
}

TEST_MAIN()
