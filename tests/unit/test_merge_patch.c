/* Merge patches: the text of each, with and without preconditions. */
#include "tests/unit/test_kind.h"

#include "machinery/merge_patch.h"
#include "tests/unit/aborts.h"

static struct object *object_of(const char *meta)
{
    static struct buf text = { .len_max = 1 << 20 };
    static struct buf quoted = { .len_max = 1 << 20 };
    _cleanup_(json_done_p) struct json d;
    struct object *o = NULL;

    json_init(&d, 1 << 20);
    buf_clear(&text);
    buf_clear(&quoted);
    buf_addf(&text, "{'kind':'ConfigMap','apiVersion':'v1','metadata':{'name':'m','namespace':'n'%s}}", meta);
    kind_quotes(buf_cstr(&text), &quoted);
    ASSERT_OK(object_decode(kind_info(KIND_CONFIG_MAP), buf_str(&quoted), &d, &o, &err));
    return o;
}

/* The text so far, with ' for ". */
static const char *text_of(struct buf *b)
{
    for (size_t i = 0; i < b->len; i++)
        if (b->data[i] == '"')
            b->data[i] = '\'';
    return buf_cstr(b);
}

#define READ ",'uid':'u1','resourceVersion':'7'"
#define PRE "'uid':'u1','resourceVersion':'7'"

TEST(patch_says_which_object_it_is_for)
{
    static const struct {
        const char *meta;
        const char *expected;
    } rows[] = {
        { READ, "{'metadata':{" PRE "}}" },
        { ",'uid':'u','resourceVersion':'9223372036854775807'",
          "{'metadata':{'uid':'u','resourceVersion':'9223372036854775807'}}" },
        /* Versions are opaque: one that is larger than any number here, and one that is no number. */
        { ",'uid':'u','resourceVersion':'92233720368547758070'",
          "{'metadata':{'uid':'u','resourceVersion':'92233720368547758070'}}" },
        { ",'uid':'u','resourceVersion':'v-7a'", "{'metadata':{'uid':'u','resourceVersion':'v-7a'}}" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(object_unref_p) struct object *o = object_of(rows[i].meta);
        _cleanup_(buf_done_p) struct buf out = BUF_INIT(1 << 20);
        struct merge_patch p;

        merge_patch_begin(&p, &out, o);
        ASSERT_OK(merge_patch_end(&p, &err));
        ASSERT_STR(rows[i].expected, text_of(&out));
    }
}

TEST(patch_needs_something_to_stand_on)
{
    static const char *const metas[] = { "", ",'uid':'u'", ",'resourceVersion':'7'",
                                         ",'uid':'u','resourceVersion':'0'" };

    for (size_t i = 0; i < ARRAY_LEN(metas); i++) {
        _cleanup_(object_unref_p) struct object *o = object_of(metas[i]);
        _cleanup_(buf_done_p) struct buf out = BUF_INIT(1 << 20);
        struct merge_patch p;

        merge_patch_begin(&p, &out, o);
        merge_patch_add_finalizer(&p, o, "f");
        ASSERT_ERR(ERR_INVALID, merge_patch_end(&p, &err));
    }
}

TEST(patch_without_preconditions)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(1 << 20);
    struct merge_patch p;

    merge_patch_begin(&p, &out, NULL);
    ASSERT_OK(merge_patch_end(&p, &err));
    ASSERT_STR("{'metadata':{}}", text_of(&out));
    buf_clear(&out);
    merge_patch_begin(&p, &out, NULL);
    merge_patch_annotation(&p, "a", "1");
    ASSERT_OK(merge_patch_end(&p, &err));
    ASSERT_STR("{'metadata':{'annotations':{'a':'1'}}}", text_of(&out));
}

/* Every set of parts, in their order. */
TEST(parts_follow_one_another)
{
    static const char *const texts[] = { ",'finalizers':['f']", ",'labels':{'l':'1','m':null}",
                                         ",'annotations':{'a':'x','b':null,'c':''}", "'spec':{'x':1}",
                                         "'status':null" };

    for (unsigned set = 0; set < 1U << ARRAY_LEN(texts); set++) {
        _cleanup_(object_unref_p) struct object *o = object_of(READ);
        _cleanup_(buf_done_p) struct buf out = BUF_INIT(1 << 20);
        _cleanup_(buf_done_p) struct buf expected = BUF_INIT(1 << 20);
        struct merge_patch p;

        merge_patch_begin(&p, &out, o);
        if (set & 1)
            merge_patch_add_finalizer(&p, o, "f");
        if (set & 2) {
            merge_patch_label(&p, "l", "1");
            merge_patch_label(&p, "m", NULL);
        }
        if (set & 4) {
            merge_patch_annotation(&p, "a", "x");
            merge_patch_annotation(&p, "b", NULL);
            merge_patch_annotation(&p, "c", "");
        }
        if (set & 8) {
            merge_patch_member(&p, "spec");
            buf_add_cstr(&out, "{\"x\":1}");
        }
        if (set & 16) {
            merge_patch_member(&p, "status");
            buf_add_cstr(&out, "null");
        }
        ASSERT_OK(merge_patch_end(&p, &err));

        buf_add_cstr(&expected, "{'metadata':{" PRE);
        for (unsigned i = 0; i < 3; i++)
            buf_add_cstr(&expected, set & 1U << i ? texts[i] : "");
        buf_add_cstr(&expected, "}");
        for (unsigned i = 3; i < 5; i++)
            if (set & 1U << i)
                buf_addf(&expected, ",%s", texts[i]);
        buf_add_cstr(&expected, "}");
        ASSERT_STR(buf_cstr(&expected), text_of(&out));
    }
}

TEST(several_finalizers_are_removed_at_once)
{
    static const char *const names[] = { "a", "c", "z", NULL };
    _cleanup_(object_unref_p) struct object *o = object_of(READ ",'finalizers':['a','b','c']");
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(1 << 16);
    struct merge_patch p;

    merge_patch_begin(&p, &out, o);
    merge_patch_remove_finalizers(&p, o, names);
    ASSERT_OK(merge_patch_end(&p, &err));
    ASSERT_STR("{'metadata':{" PRE ",'finalizers':['b']}}", text_of(&out));
}

TEST(finalizers_are_written_whole)
{
    static const struct {
        const char *meta;
        const char *add;
        const char *remove;
        const char *expected;
    } rows[] = {
        { READ, "a", NULL, "['a']" },
        { READ ",'finalizers':['a','b']", "c", NULL, "['a','b','c']" },
        { READ ",'finalizers':['a','b']", "b", NULL, "['a','b']" },
        { READ ",'finalizers':['a','b','c']", NULL, "b", "['a','c']" },
        { READ ",'finalizers':['a','b']", NULL, "a", "['b']" },
        { READ ",'finalizers':['a']", NULL, "a", "[]" },
        { READ ",'finalizers':['a']", NULL, "z", "['a']" },
        { READ, NULL, "z", "[]" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(object_unref_p) struct object *o = object_of(rows[i].meta);
        _cleanup_(buf_done_p) struct buf out = BUF_INIT(1 << 20);
        char expected[128];
        struct merge_patch p;

        merge_patch_begin(&p, &out, o);
        if (rows[i].add)
            merge_patch_add_finalizer(&p, o, rows[i].add);
        else
            merge_patch_remove_finalizer(&p, o, rows[i].remove);
        ASSERT_OK(merge_patch_end(&p, &err));
        (void)snprintf(expected, sizeof expected, "{'metadata':{" PRE ",'finalizers':%s}}", rows[i].expected);
        ASSERT_STR(expected, text_of(&out));
    }
}

TEST(texts_are_quoted)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(1 << 20);
    struct merge_patch p;

    merge_patch_begin(&p, &out, NULL);
    merge_patch_annotation(&p, "k\"", "line\n\"quoted\"");
    ASSERT_OK(merge_patch_end(&p, &err));
    ASSERT_STR("{\"metadata\":{\"annotations\":{\"k\\\"\":\"line\\n\\\"quoted\\\"\"}}}", buf_cstr(&out));
}

TEST(patch_that_finds_no_room)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(20);
    struct merge_patch p;

    merge_patch_begin(&p, &out, NULL);
    merge_patch_annotation(&p, "a-long-name", "and a value");
    ASSERT_ERR(ERR_TOO_LARGE, merge_patch_end(&p, &err));
}

TEST(promises_of_the_programmer)
{
    _cleanup_(object_unref_p) struct object *o = object_of(READ);
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(1 << 20);
    struct merge_patch p;

    merge_patch_begin(&p, &out, NULL);
    ASSERT_ABORTS(merge_patch_remove_finalizer(&p, o, "f")); /* without the version */
    merge_patch_annotation(&p, "a", "1");
    ASSERT_ABORTS(merge_patch_label(&p, "l", "1")); /* out of order */
    merge_patch_member(&p, "spec");
    ASSERT_ABORTS(merge_patch_annotation(&p, "a", "1"));
}

TEST_MAIN()
