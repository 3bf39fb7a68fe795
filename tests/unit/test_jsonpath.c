/* kubectl's templates: what each form prints, what is refused, and what no template may cost. */
#include "tests/unit/test.h"

#include "base/cleanup.h"
#include "cli/jsonpath.h"
#include "cli/print.h"

static struct error err;

static const char world[] =
    "{\"kind\":\"List\",\"items\":["
    "{\"name\":\"a\",\"size\":1,\"tags\":[\"x\",\"y\"],\"labels\":{\"tier\":\"gold\",\"k8s.io/"
    "x\":\"dotted\"},"
    "\"on\":true},"
    "{\"name\":\"b\",\"size\":20,\"tags\":[],\"labels\":{\"tier\":\"tin\"},\"on\":false},"
    "{\"name\":\"c\",\"size\":3.5,\"tags\":[\"z\"],\"none\":null}],"
    "\"map\":{\"z\":{\"deep\":1},\"b\":[{\"deep\":2}],\"a\":\"<&>\"}}";

struct fixture {
    struct json d;
    json_ref root;
    struct jsonpath *path;
    struct buf out;
};

static void fixture_init(struct fixture *f)
{
    *f = (struct fixture){ .out = BUF_INIT(1 << 20) };
    json_init(&f->d, 1 << 22);
    ASSERT_OK(json_parse(&f->d, str_of(world), &f->root, &err));
    print_sort(&f->d, f->root);
}

static void fixture_done(struct fixture *f)
{
    f->path = jsonpath_free(f->path);
    buf_done(&f->out);
    json_done(&f->d);
}

static int print(struct fixture *f, const char *template)
{
    int r;

    f->path = jsonpath_free(f->path);
    buf_clear(&f->out);
    r = jsonpath_parse(str_of(template), &f->path, &err);
    return r < 0 ? r : jsonpath_print(f->path, &f->d, f->root, &f->out, &err);
}

TEST(templates)
{
    static const struct {
        const char *template, *expected;
    } rows[] = {
        { "", "" },
        { "plain text", "plain text" },
        { "{.kind}", "List" },
        { "{ .kind }", "List" },
        { "{kind}", "List" },
        { "{$.kind}{@.kind}", "ListList" },
        { "k={.kind};", "k=List;" },
        { "{.nope}", "" },
        { "{.nope.deeper[0]}", "" },
        { "{.items[0].name}", "a" },
        { "{.items[-1].name}", "c" },
        { "{.items[*].name}", "a b c" },
        { "{.items[0:2].name}", "a b" },
        { "{.items[:2].name}", "a b" },
        { "{.items[1:].name}", "b c" },
        { "{.items[-2:].name}", "b c" },
        { "{.items[0:3:2].name}", "a c" },
        { "{.items[1:1].name}", "" },
        { "{.items[0,2].name}", "a c" },
        { "{.items[0]['name','size']}", "a 1" },
        { "{.items[*]['name','size']}", "a b c 1 20 3.5" },
        { "{.items[0]['labels.tier']}", "gold" },
        { "{.items[0].labels.k8s\\.io/x}", "dotted" },
        { "{.items[0].labels['k8s\\.io/x']}", "dotted" },
        { "{.items[0].labels.*}", "dotted gold" },
        { "{.items[*].tags}", "[\"x\",\"y\"] [] [\"z\"]" },
        { "{.items[*].tags[*]}", "x y z" },
        { "{.items[2].none}", "null" },
        { "{.items[0].on} {.items[1].on}", "true false" },
        { "{.map.a}", "<&>" },
        { "{.map}", "{\"a\":\"\\u003c\\u0026\\u003e\",\"b\":[{\"deep\":2}],\"z\":{\"deep\":1}}" },
        { "{..deep}", "2 1" },
        { "{.map..deep}", "2 1" },
        { "{..tags[*]}", "x y z" },
        { "{range .items[*]}{.name}={.size}{\"\\n\"}{end}", "a=1\nb=20\nc=3.5\n" },
        { "{range .items[*]}{.name}:{range .tags[*]}{@},{end};{end}", "a:x,y,;b:;c:z,;" },
        { "{range .nope[*]}x{end}", "" },
        { "{\"a\\tb\"}{'c'}", "a\tbc" },
        { "{.items[?(@.name=='b')].size}", "20" },
        { "{.items[?(@.name!='b')].name}", "a c" },
        { "{.items[?(@.size>1)].name}", "b c" },
        { "{.items[?(@.size>=20)].name}", "b" },
        { "{.items[?(@.size<3.5)].name}", "a" },
        { "{.items[?(@.size<=3.5)].name}", "a c" },
        { "{.items[?(@.on==true)].name}", "a" },
        { "{.items[?(@.labels)].name}", "a b" },
        { "{.items[?(@.labels.tier==\"gold\")].name}", "a" },
        { "{.items[?( @.name == \"c\" )].tags[0]}", "z" },
        { "{.items[?(@.name==@.name)].name}", "a b c" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(fixture_done) struct fixture f;

        fixture_init(&f);
        if (print(&f, rows[i].template) < 0)
            fail_msg("%s: %s", rows[i].template, err.msg);
        ASSERT_STR(rows[i].expected, buf_cstr(&f.out));
    }
}

TEST(refused_templates)
{
    static const struct {
        const char *template, *words;
    } rows[] = {
        { "{", "unclosed action" },
        { "{.a", "unclosed action" },
        { "{.a[}", "invalid array index" },
        { "{.a[0}", "unterminated array" },
        { "{.a['b}", "unterminated array" },
        { "{.a['']}", "invalid array index ''" },
        { "{.a[?(@.b", "unterminated filter" },
        { "{.a[?(@.b}", "unrecognized character in action: '}'" },
        { "{.a[?(@.b==)]}", "filters compare only paths, texts, numbers, true, false and null" },
        { "{.a[?(b==1)]}", "filters compare only paths, texts, numbers, true, false and null" },
        { "{\"open}", "unterminated quoted string" },
        { "{\"open\\\"}", "unterminated quoted string" },
        { "{range .a[*]}", "unterminated range" },
        { "{range .a", "unclosed action" },
        { "{end}", "not in range, nothing to end" },
        { "{range .a[*]}{end", "unclosed action" },
        { "{.a)}", "unrecognized character in action: ')'" },
        { "{.a,b}", "unrecognized character in action: ','" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct jsonpath *p = NULL;

        if (jsonpath_parse(str_of(rows[i].template), &p, &err) == 0)
            fail_msg("%s is taken", rows[i].template);
        assert_null(p);
        ASSERT_STR(rows[i].words, err.msg);
    }
}

TEST(refused_by_the_document)
{
    static const struct {
        const char *template, *words;
    } rows[] = {
        { "{.items[3].name}", "array index out of bounds: index 3, length 3" },
        { "{.items[-4].name}", "array index out of bounds: index -1, length 3" },
        { "{.items[0:9]}", "array index out of bounds: index 8, length 3" },
        { "{.items[2:1]}", "starting index 2 is greater than ending index 1" },
        { "{.items[0:3:0]}", "step must be > 0" },
        { "{.items[0:3:-1]}", "step must be > 0" },
        { "{.kind[0]}", "List is not array or slice" },
        { "{.map[*]}",
          "{\"a\":\"\\u003c\\u0026\\u003e\",\"b\":[{\"deep\":2}],\"z\":{\"deep\":1}} is not array or slice" },
        { "{.kind[?(@.a)]}", "List is not array or slice" },
        { "{.items[?(@.tags[0]=='x')].name}", "array index out of bounds: index 0, length 0" },
        { "{.items[?(@.name>1)]}", "incompatible types for comparison" },
        { "{.items[?(@.tags[*]=='x')]}", "can only compare one element at a time" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(fixture_done) struct fixture f;

        fixture_init(&f);
        ASSERT_ERR(ERR_INVALID, print(&f, rows[i].template));
        assert_memory_equal(err.msg, rows[i].words, strlen(rows[i].words) > 60 ? 60 : strlen(rows[i].words));
    }
}

TEST(paths_in_any_form)
{
    static const char *const forms[] = { "{.items[0].name}", ".items[0].name",  "items[0].name",
                                         "{items[0].name}",  "$.items[0].name", " .items[0].name " };
    static const char *const refused[] = { "", " ", "{}", "{.a}{.b}", "x{.a}" };

    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        _cleanup_(fixture_done) struct fixture f;
        _cleanup_(vec_done_p) struct jsonpath_values found = { 0 };

        fixture_init(&f);
        ASSERT_OK(jsonpath_parse_path(str_of(forms[i]), &f.path, &err));
        ASSERT_OK(jsonpath_find(f.path, &f.d, f.root, &found, &err));
        ASSERT_INT(1, found.count);
        assert_true(json_is_string(&f.d, found.items[0], "a"));
    }
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        struct jsonpath *p = NULL;

        ASSERT_ERR(ERR_INVALID, jsonpath_parse_path(str_of(refused[i]), &p, &err));
    }
}

/* Ranges, filters and quoted paths within one another, without end. */
TEST(nesting_is_bounded)
{
    static const char *const parts[] = { "{range .a[*]}", "[?(@.a", "['a[" };
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(1 << 20);

    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        struct jsonpath *p = NULL;

        buf_clear(&text);
        buf_add_cstr(&text, i == 0 ? "" : "{.a");
        for (int n = 0; n < 2000; n++)
            buf_add_cstr(&text, parts[i]);
        assert_true(jsonpath_parse(buf_str(&text), &p, &err) < 0);
        assert_null(p);
    }
}

TEST(length_is_bounded)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(1 << 20);
    struct jsonpath *p = NULL;

    memset(buf_grow(&text, JSONPATH_BYTES_MAX + 1), 'x', JSONPATH_BYTES_MAX + 1);
    ASSERT_ERR(ERR_TOO_LARGE, jsonpath_parse(buf_str(&text), &p, &err));
    text.len = JSONPATH_BYTES_MAX;
    ASSERT_OK(jsonpath_parse(buf_str(&text), &p, &err));
    p = jsonpath_free(p);
}

/* `..` after `..` visits everything below everything, again and again. */
TEST(work_is_bounded)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(1 << 22), out = BUF_INIT(1 << 20);
    struct jsonpath *p = NULL;
    struct json d;
    json_ref root;

    json_init(&d, 1 << 22);
    for (int i = 0; i < 3000; i++)
        buf_add_cstr(&text, "{\"a\":");
    buf_add_cstr(&text, "1");
    for (int i = 0; i < 3000; i++)
        buf_add_cstr(&text, "}");
    ASSERT_OK(json_parse(&d, buf_str(&text), &root, &err));
    ASSERT_OK(jsonpath_parse(STR_LIT("{..a..a..a..a..a}"), &p, &err));
    ASSERT_ERR(ERR_TOO_LARGE, jsonpath_print(p, &d, root, &out, &err));
    ASSERT_STR("the template matches too many values", err.msg);
    p = jsonpath_free(p);
    json_done(&d);
}

TEST_MAIN()
