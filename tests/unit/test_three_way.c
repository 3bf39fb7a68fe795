/* What apply sends: from last, wanted and there to a patch, which a server then applies. */
#include "tests/unit/test_kind.h"

#include "api/patch.h"
#include "cli/three_way.h"

struct trees {
    struct json d;
    json_ref last, wanted, there, patch;
};

static void trees_done(struct trees *t)
{
    json_done(&t->d);
}

static json_ref parse(struct trees *t, const char *row)
{
    json_ref v = 0;

    if (row)
        ASSERT_OK(json_parse(&t->d, str_of(kind_row(row)), &v, &err));
    return v;
}

static const char *patch_of(struct trees *t, enum kind kind, const char *last, const char *wanted,
                            const char *there)
{
    static struct buf out = { .len_max = 1 << 20 };
    const struct schema *s = kind == KIND_COUNT ? NULL : kind_info(kind)->schema;

    *t = (struct trees){ 0 };
    json_init(&t->d, 1 << 22);
    t->last = parse(t, last);
    t->wanted = parse(t, wanted);
    t->there = parse(t, there);
    ASSERT_OK(three_way_patch(&t->d, s, t->last, t->wanted, t->there, &t->patch, &err));
    buf_clear(&out);
    json_write(&t->d, t->patch, &out);
    for (char *c = out.data; *c; c++) /* as the rows are written */
        *c = *c == '"' ? '\'' : *c;
    return buf_cstr(&out);
}

TEST(patches)
{
    static const struct {
        enum kind kind;
        const char *last, *wanted, *there, *patch;
    } rows[] = {
        { KIND_VOLUME, NULL, "{}", "{}", "{}" },
        { KIND_VOLUME, "{'a':1}", "{'a':1}", "{'a':1,'b':2}", "{}" },
        { KIND_VOLUME, NULL, "{'a':1}", "{'b':2}", "{'a':1}" },
        { KIND_VOLUME, NULL, "{'a':2}", "{'a':1}", "{'a':2}" },
        /* taken away: what was said, is not said, and is there */
        { KIND_VOLUME, "{'a':1}", "{}", "{'a':1}", "{'a':null}" },
        { KIND_VOLUME, "{'a':1}", "{}", "{'b':1}", "{}" },
        { KIND_VOLUME, NULL, "{}", "{'a':1}", "{}" },
        { KIND_VOLUME, NULL, "{'a':null}", "{}", "{}" },
        { KIND_VOLUME, NULL, "{'a':null}", "{'a':1}", "{'a':null}" },
        { KIND_VOLUME, "{'m':{'a':1,'b':2}}", "{'m':{'a':3}}", "{'m':{'a':1,'b':2,'c':4}}",
          "{'m':{'a':3,'b':null}}" },
        /* another type */
        { KIND_VOLUME, NULL, "{'a':{'b':1}}", "{'a':[1]}", "{'a':{'b':1}}" },
        /* a list that the schema does not merge */
        { KIND_VOLUME, NULL, "{'spec':{'accessModes':['b']}}", "{'spec':{'accessModes':['a']}}",
          "{'spec':{'accessModes':['b']}}" },
        { KIND_VOLUME, NULL, "{'spec':{'accessModes':['a']}}", "{'spec':{'accessModes':['a']}}", "{}" },
        /* a set */
        { KIND_VOLUME, "{'metadata':{'finalizers':['a','b']}}", "{'metadata':{'finalizers':['b','c']}}",
          "{'metadata':{'finalizers':['a','b','x']}}",
          "{'metadata':{'finalizers':['c'],'$deleteFromPrimitiveList/finalizers':['a'],"
          "'$setElementOrder/finalizers':['b','c']}}" },
        { KIND_VOLUME, NULL, "{'metadata':{'finalizers':['b']}}", "{'metadata':{'finalizers':['a','b']}}",
          "{}" },
        /* items by their key: new, changed, gone */
        { KIND_POD, "{'spec':{'containers':[{'name':'a','image':'1'},{'name':'b','image':'1'}]}}",
          "{'spec':{'containers':[{'name':'a','image':'2'},{'name':'c','image':'1'}]}}",
          "{'spec':{'containers':[{'name':'a','image':'1','tty':true},{'name':'b','image':'1'}]}}",
          "{'spec':{'containers':[{'image':'2','name':'a'},{'name':'c','image':'1'},"
          "{'$patch':'delete','name':'b'}],'$setElementOrder/containers':[{'name':'a'},{'name':'c'}]}}" },
        { KIND_POD, NULL, "{'spec':{'containers':[{'name':'a'}]}}",
          "{'spec':{'containers':[{'name':'a','image':'1'},{'name':'b'}]}}", "{}" },
        /* without a schema lists are sent whole */
        { KIND_COUNT, "{'l':[{'name':'a'}]}", "{'l':[{'name':'b'}]}", "{'l':[{'name':'a','x':1}]}",
          "{'l':[{'name':'b'}]}" },
        { KIND_COUNT, "{'a':1,'b':{'c':1}}", "{'b':{}}", "{'a':1,'b':{'c':1,'d':2}}",
          "{'b':{'c':null},'a':null}" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(trees_done) struct trees t;

        ASSERT_STR(rows[i].patch, patch_of(&t, rows[i].kind, rows[i].last, rows[i].wanted, rows[i].there));
    }
}

/* The patch, applied as a server applies it, leads to what is wanted, and then there is nothing left to do.
 */
TEST(patches_lead_there)
{
    static const char last[] = "{'metadata':{'labels':{'a':'1','b':'2'},'finalizers':['x','y']},"
                               "'spec':{'volumes':[{'name':'v','emptyDir':{}},{'name':'w','emptyDir':{}}]}}";
    static const char wanted[] =
        "{'metadata':{'labels':{'b':'3'},'finalizers':['y','z']},"
        "'spec':{'volumes':[{'name':'u','emptyDir':{}},{'name':'v','emptyDir':{}}]}}";
    static const char there[] =
        "{'metadata':{'labels':{'a':'1','b':'2','c':'4'},'finalizers':['x','y']},"
        "'spec':{'volumes':[{'name':'v','emptyDir':{}},{'name':'w','emptyDir':{}},{'name':'others'}]}}";
    _cleanup_(trees_done) struct trees t;
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(1 << 16);
    json_ref again;

    (void)patch_of(&t, KIND_POD, last, wanted, there);
    ASSERT_OK(patch_strategic(kind_info(KIND_POD)->schema, &t.d, t.there, t.patch, &err));
    json_write(&t.d, t.there, &out);
    ASSERT_STR(kind_row("{'metadata':{'labels':{'b':'3','c':'4'},'finalizers':['y','z']},"
                        "'spec':{'volumes':[{'name':'u','emptyDir':{}},{'name':'v','emptyDir':{}},"
                        "{'name':'others'}]}}"),
               buf_cstr(&out));
    ASSERT_OK(three_way_patch(&t.d, kind_info(KIND_POD)->schema, t.wanted, t.wanted, t.there, &again, &err));
    ASSERT_INT(0, json_count(&t.d, again));
}

TEST(depth_is_bounded)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(1 << 20);
    _cleanup_(trees_done) struct trees t = { 0 };
    json_ref patch = 0;

    json_init(&t.d, 1 << 22);
    for (int i = 0; i < 1000; i++)
        buf_add_cstr(&text, "{\"a\":");
    buf_add_cstr(&text, "1");
    for (int i = 0; i < 1000; i++)
        buf_add_cstr(&text, "}");
    ASSERT_OK(json_parse(&t.d, buf_str(&text), &t.wanted, &err));
    ASSERT_OK(json_parse(&t.d, buf_str(&text), &t.there, &err));
    ASSERT_ERR(ERR_TOO_LARGE, three_way_patch(&t.d, NULL, 0, t.wanted, t.there, &patch, &err));
    ASSERT_INT(0, patch);
}

TEST_MAIN()
