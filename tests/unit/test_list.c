/* Lists: reading items out of one document, writing them from the objects' texts. */
#include "tests/unit/test_kind.h"

#include "api/class.h"
#include "api/config.h"
#include "api/list.h"
#include "api/snapshot.h"

struct reading {
    struct json d;
    struct list_reader list;
};

static void reading_done(struct reading *r)
{
    json_done(&r->d);
}

static int reading_open(struct reading *r, const struct kind_info *k, const char *row)
{
    json_ref v;

    json_init(&r->d, 16 << 20);
    ASSERT_OK(json_parse(&r->d, str_of(kind_row(row)), &v, &err));
    return list_open(&r->d, v, k, &r->list, &err);
}

#define MAPS(items) \
    "{'kind':'ConfigMapList','apiVersion':'v1','metadata':{'resourceVersion':'12'},'items':" items "}"

TEST(list_of_a_built_in_kind)
{
    _cleanup_(reading_done) struct reading r = { 0 };
    _cleanup_(object_unref_p) struct object *a = NULL;
    _cleanup_(object_unref_p) struct object *b = NULL;

    ASSERT_OK(
        reading_open(&r, &config_map_kind,
                     "{'items':[{'metadata':{'name':'a'},'odd':1},{'data':{'k':'v'},'metadata':{'name':'b'},"
                     "'apiVersion':'v1','kind':'ConfigMap'}],'metadata':{'resourceVersion':'12','continue':"
                     "'tok','remainingItemCount':3},'apiVersion':'v1','kind':'ConfigMapList'}"));
    ASSERT_INT(2, r.list.count);
    assert_true(str_is(r.list.meta.resource_version, "12"));
    assert_true(str_is(r.list.meta.continue_token, "tok"));
    ASSERT_INT(3, r.list.meta.remaining);
    ASSERT_INT(1, list_next(&r.list, &a, &err));
    ASSERT_STR(kind_row("{'kind':'ConfigMap','apiVersion':'v1','metadata':{'name':'a'},'odd':1}"), a->text.s);
    ASSERT_INT(1, list_next(&r.list, &b, &err));
    ASSERT_STR(kind_row("{'kind':'ConfigMap','apiVersion':'v1','metadata':{'name':'b'},'data':{'k':'v'}}"),
               b->text.s);
    ASSERT_INT(1, CONTAINER_OF(b, struct config_map, obj)->data.count);
    ASSERT_INT(0, list_next(&r.list, &a, &err));
    ASSERT_INT(0, list_next(&r.list, &a, &err));
}

TEST(list_of_nothing)
{
    static const char *const rows[] = {
        MAPS("[]"),
        MAPS("null"),
        "{'kind':'ConfigMapList','apiVersion':'v1'}",
        "{'kind':'List','apiVersion':'v1','items':[]}",
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(reading_done) struct reading r = { 0 };
        struct object *o = NULL;
        ASSERT_OK(reading_open(&r, &config_map_kind, rows[i]));
        ASSERT_INT(0, r.list.count);
        ASSERT_INT(-1, r.list.meta.remaining);
        ASSERT_INT(0, r.list.meta.continue_token.len);
        ASSERT_INT(0, list_next(&r.list, &o, &err));
    }
}

TEST(list_says_what_it_holds)
{
    _cleanup_(reading_done) struct reading r = { 0 };
    _cleanup_(object_unref_p) struct object *o = NULL;

    ASSERT_OK(reading_open(&r, NULL,
                           "{'kind':'StorageClassList','apiVersion':'storage.k8s.io/v1','items':[{'metadata':"
                           "{'name':'c'},'provisioner':'p'}]}"));
    assert_ptr_equal(&class_kind, r.list.kind);
    ASSERT_INT(1, list_next(&r.list, &o, &err));
    assert_ptr_equal(&class_kind, o->kind);
    ASSERT_STR("p", CONTAINER_OF(o, struct storage_class, obj)->provisioner);
}

TEST(list_of_mixed_kinds)
{
    _cleanup_(reading_done) struct reading r = { 0 };
    _cleanup_(object_unref_p) struct object *map = NULL;
    _cleanup_(object_unref_p) struct object *class = NULL;
    struct object *o = NULL;

    ASSERT_OK(reading_open(&r, NULL,
                           "{'kind':'List','apiVersion':'v1','items':[{'kind':'ConfigMap','apiVersion':'v1'},"
                           "{'kind':'Pizza','apiVersion':'v1'},{},"
                           "{'kind':'StorageClass','apiVersion':'storage.k8s.io/v1'}]}"));
    assert_null(r.list.kind);
    ASSERT_INT(1, list_next(&r.list, &map, &err));
    assert_ptr_equal(&config_map_kind, map->kind);
    ASSERT_ERR(ERR_UNSUPPORTED, list_next(&r.list, &o, &err));
    ASSERT_STR("items[1]: no kind \"Pizza\" of version \"v1\" is known", err.msg);
    ASSERT_ERR(ERR_UNSUPPORTED, list_next(&r.list, &o, &err));
    ASSERT_STR("items[2]: no kind \"\" of version \"\" is known", err.msg);
    ASSERT_INT(1, list_next(&r.list, &class, &err));
    assert_ptr_equal(&class_kind, class->kind);
    assert_null(o);
}

/* A failed item is named and passed over; the others come. */
TEST(list_errors_name_the_item)
{
    static const struct {
        enum err code;
        const char *item, *message;
    } rows[] = {
        { ERR_BAD_REQUEST, "5", "items[1]: must be an object, not number" },
        { ERR_BAD_REQUEST, "null", "items[1]: must be an object, not null" },
        { ERR_BAD_REQUEST, "{'data':7}",
          "items[1]: json: cannot unmarshal number into Go struct field ConfigMap.data of type "
          "map[string]string" },
        { ERR_BAD_REQUEST, "{'metadata':{'name':'a\\u0000'}}",
          "items[1]: metadata.name: must not contain a NUL character" },
        { ERR_BAD_REQUEST, "{'kind':'Secret','apiVersion':'v1'}",
          "items[1]: no kind \"Secret\" of version \"v1\" is expected in this list" },
        { ERR_BAD_REQUEST, "{'kind':'ConfigMap'}",
          "items[1]: no kind \"ConfigMap\" of version \"\" is expected in this list" },
        { ERR_BAD_REQUEST, "{'apiVersion':'v1'}",
          "items[1]: no kind \"\" of version \"v1\" is expected in this list" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(reading_done) struct reading r = { 0 };
        _cleanup_(buf_done_p) struct buf text = BUF_INIT(1 << 16);
        _cleanup_(object_unref_p) struct object *first = NULL;
        _cleanup_(object_unref_p) struct object *last = NULL;
        struct object *o = NULL;
        buf_addf(&text, MAPS("[{},%s,{'metadata':{'name':'last'}}]"), rows[i].item);
        ASSERT_OK(reading_open(&r, &config_map_kind, buf_cstr(&text)));
        ASSERT_INT(1, list_next(&r.list, &first, &err));
        ASSERT_ERR(rows[i].code, list_next(&r.list, &o, &err));
        ASSERT_STR(rows[i].message, err.msg);
        assert_null(o);
        ASSERT_INT(1, list_next(&r.list, &last, &err));
        ASSERT_STR("last", last->name);
    }
}

TEST(list_refusals)
{
    static const struct {
        enum err code;
        const char *text, *message;
    } rows[] = {
        { ERR_BAD_REQUEST, "{'kind':'SecretList','apiVersion':'v1','items':[]}",
          "expected a list of ConfigMap, got a SecretList of v1" },
        { ERR_BAD_REQUEST, "{'kind':'ConfigMap','apiVersion':'v1'}", "kind \"ConfigMap\" is not a list" },
        { ERR_BAD_REQUEST, "[]", "kind \"\" is not a list" },
        { ERR_UNSUPPORTED, "{'kind':'PizzaList','apiVersion':'v1'}",
          "no kind \"PizzaList\" is known in version \"v1\"" },
        { ERR_UNSUPPORTED, "{'kind':'List','apiVersion':'v2'}",
          "no kind \"List\" is known in version \"v2\"" },
        { ERR_BAD_REQUEST, MAPS("{}"), "items: must be an array, not object" },
        { ERR_BAD_REQUEST, MAPS("'x'"), "items: must be an array, not string" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(reading_done) struct reading r = { 0 };
        ASSERT_ERR(rows[i].code, reading_open(&r, &config_map_kind, rows[i].text));
        ASSERT_STR(rows[i].message, err.msg);
        assert_null(r.list.d); /* untouched */
    }
}

/* As many items as a page may have, and more: a reader that walks the list for each would not end. */
TEST(list_of_very_many_items)
{
    _cleanup_(reading_done) struct reading r = { 0 };
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(16 << 20);
    int n = 0;

    buf_add_cstr(&text, "{'kind':'ConfigMapList','apiVersion':'v1','items':[");
    for (int i = 0; i < 100000; i++)
        buf_add_cstr(&text, i ? ",{}" : "{}");
    buf_add_cstr(&text, "]}");
    ASSERT_OK(reading_open(&r, &config_map_kind, buf_cstr(&text)));
    for (struct object *o = NULL; list_next(&r.list, &o, &err) > 0; n++)
        o = object_unref(o);
    ASSERT_INT(100000, n);
}

/* --- Writing --- */

static const char *listed(const struct kind_info *k, struct list_meta meta, const char *const *rows)
{
    static struct buf out = { .len_max = 1 << 20 };
    struct object *objects[8];
    size_t count = 0;

    for (; rows[count]; count++)
        objects[count] = kind_object(k->kind, rows[count]);
    buf_clear(&out);
    list_write(k, &meta, (const struct object *const *)objects, count, &out);
    ASSERT_OK(buf_check(&out, "list", &err));
    while (count)
        (void)object_unref(objects[--count]);
    return buf_cstr(&out);
}

#define ROWS(...) ((const char *const[]){ __VA_ARGS__, NULL })

TEST(list_is_written)
{
    struct list_meta meta = { .resource_version = STR_LIT("7"), .remaining = -1 };

    ASSERT_STR(
        kind_row("{'kind':'ConfigMapList','apiVersion':'v1','metadata':{'resourceVersion':'7'},'items':[]}"),
        listed(&config_map_kind, meta, ROWS(NULL)));
    ASSERT_STR(kind_row("{'kind':'StorageClassList','apiVersion':'storage.k8s.io/v1','metadata':{"
                        "'resourceVersion':'7'},'items':[{'metadata':{'name':'a'},'provisioner':'p'}]}"),
               listed(&class_kind, meta,
                      ROWS("{'kind':'StorageClass','apiVersion':'storage.k8s.io/v1','metadata':{'name':'a'},"
                           "'provisioner':'p'}")));
    meta.continue_token = STR_LIT("t\"k");
    meta.remaining = 0;
    /* one with and one without its kind come out the same */
    ASSERT_STR(
        kind_row("{'kind':'ConfigMapList','apiVersion':'v1','metadata':{'resourceVersion':'7','continue':"
                 "'t\\\"k','remainingItemCount':0},'items':[{'metadata':{}},{'metadata':{'name':'b'},"
                 "'data':{'k':'v'}}]}"),
        listed(&config_map_kind, meta,
               ROWS("{'kind':'ConfigMap','apiVersion':'v1'}", "{'metadata':{'name':'b'},'data':{'k':'v'}}")));
}

TEST(list_of_custom_kinds_keeps_their_kind)
{
    struct list_meta meta = { .resource_version = STR_LIT("7"), .remaining = -1 };
    const char *item = "{'kind':'VolumeSnapshotClass','apiVersion':'snapshot.storage.k8s.io/v1','metadata':"
                       "{'name':'s'},'driver':'d','deletionPolicy':'Delete'}";
    const char *out = listed(&snapshot_class_kind, meta, ROWS(item, item));

    assert_non_null(
        strstr(out, "{\"kind\":\"VolumeSnapshotClassList\",\"apiVersion\":"
                    "\"snapshot.storage.k8s.io/v1\",\"metadata\":{\"resourceVersion\":\"7\"},\"items\":["
                    "{\"kind\":\"VolumeSnapshotClass\""));
    assert_non_null(strstr(out, "},{\"kind\":\"VolumeSnapshotClass\",\"apiVersion\":"));
}

TEST(list_reads_what_it_wrote)
{
    struct list_meta meta = { .resource_version = STR_LIT("7"),
                              .continue_token = STR_LIT("t"),
                              .remaining = 9 };
    const char *item =
        "{'kind':'ConfigMap','apiVersion':'v1','metadata':{'name':'a'},'data':{'k':'\\u0000'}}";
    _cleanup_(freep) char *text = strdup(listed(&config_map_kind, meta, ROWS(item)));
    _cleanup_(reading_done) struct reading r = { 0 };
    _cleanup_(object_unref_p) struct object *o = NULL;

    ASSERT_OK(reading_open(&r, NULL, text));
    ASSERT_INT(9, r.list.meta.remaining);
    ASSERT_INT(1, list_next(&r.list, &o, &err));
    ASSERT_STR(kind_row(item), o->text.s);
}

TEST_MAIN()
