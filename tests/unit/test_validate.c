/* Field errors and their words, the metadata's rules, and the rules that kinds share. */
#include "tests/unit/test_kind.h"

#include "api/names.h"

#define DOCUMENT_BYTES ((size_t)32 << 20)

#define SUBDOMAIN                                                                                          \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and "  \
    "must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is " \
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
#define LABEL                                                                                               \
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start " \
    "and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "  \
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
#define NAME_PART                                                                                         \
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " \
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "  \
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
#define LABEL_VALUE                                                                                          \
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and "     \
    "must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex " \
    "used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"

/* A document and a list of errors to call single rules with. */
struct bench {
    struct json d;
    struct field_errors errors;
    struct validation v;
    struct buf out;
};

static void bench_init(struct bench *b)
{
    *b = (struct bench){ .errors = FIELD_ERRORS_INIT, .out = BUF_INIT(DOCUMENT_BYTES) };
    json_init(&b->d, DOCUMENT_BYTES);
    b->v = (struct validation){ .kind = kind_info(KIND_VOLUME), .d = &b->d, .errors = &b->errors };
}

static void bench_done(struct bench *b)
{
    json_done(&b->d);
    field_errors_done(&b->errors);
    buf_done(&b->out);
}

static json_ref bench_parse(struct bench *b, const char *text)
{
    _cleanup_(buf_done_p) struct buf quoted = BUF_INIT(DOCUMENT_BYTES);
    json_ref v;

    kind_quotes(text, &quoted);
    ASSERT_OK(json_parse(&b->d, buf_str(&quoted), &v, &err));
    return v;
}

/* The errors so far, one a line; the list is empty afterwards. */
static const char *bench_errors(struct bench *b)
{
    buf_clear(&b->out);
    for (uint32_t i = 0; i < b->errors.count; i++) {
        buf_add_cstr(&b->out, i ? "\n" : "");
        field_error_text(&b->errors.items[i], &b->out);
    }
    field_errors_done(&b->errors);
    return buf_cstr(&b->out);
}

/* --- Errors and their words --- */

TEST(paths)
{
    struct field_path spec = path_child(NULL, "spec"), list = path_child(&spec, "list");
    struct field_path item = path_index(&list, 4294967295U), name = path_child(&item, "name");
    struct field_path map = path_key(&spec, STR_LIT("a.b/c")), below = path_child(&map, "x");
    struct field_path empty = path_key(&spec, STR_LIT("")), zero = path_index(&spec, 0);
    const struct field_path *const paths[] = { &spec, &name, &map, &below, &empty, &zero };
    struct bench b;

    bench_init(&b);
    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        errors_required(&b.errors, paths[i], "");
    ASSERT_STR("spec: Required value\n"
               "spec.list[4294967295].name: Required value\n"
               "spec[a.b/c]: Required value\n"
               "spec[a.b/c].x: Required value\n"
               "spec[]: Required value\n"
               "spec[0]: Required value",
               bench_errors(&b));
    bench_done(&b);
}

TEST(every_type_has_its_words_and_its_reason)
{
    static const struct {
        const char *message, *reason;
    } want[] = {
        { "Required value", "FieldValueRequired" },
        { "Required value: say it", "FieldValueRequired" },
        { "Invalid value: 5: too odd", "FieldValueInvalid" },
        { "Unsupported value: \"x\": supported values: \"A\", \"a\", \"b\"", "FieldValueNotSupported" },
        { "Forbidden: not you", "FieldValueForbidden" },
        { "Duplicate value: \"x\"", "FieldValueDuplicate" },
        { "Duplicate value: \"x\": seen above", "FieldValueDuplicate" },
        { "Too long: may not be more than 5 bytes", "FieldValueTooLong" },
        { "Not found: \"x\"", "FieldValueNotFound" },
    };
    static const char *const supported[] = { "b", "A", "a", NULL };
    struct field_path p = path_child(NULL, "f");
    char detail[] = "say it";
    struct bench b;

    bench_init(&b);
    errors_required(&b.errors, &p, "");
    errors_required(&b.errors, &p, detail);
    detail[0] = 'X'; /* details are copied */
    errors_invalid(&b.errors, &p, "5", "too odd");
    errors_not_supported(&b.errors, &p, "\"x\"", supported);
    errors_forbidden(&b.errors, &p, "not you");
    errors_duplicate(&b.errors, &p, "\"x\"");
    errors_duplicate_because(&b.errors, &p, "\"x\"", "seen above");
    errors_too_long(&b.errors, &p, "may not be more than 5 bytes");
    errors_not_found(&b.errors, &p, "\"x\"");
    ASSERT_INT(ARRAY_LEN(want), b.errors.count);
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        buf_clear(&b.out);
        field_error_message(&b.errors.items[i], &b.out);
        ASSERT_STR(want[i].message, buf_cstr(&b.out));
        ASSERT_STR(want[i].reason, field_error_reason(b.errors.items[i].type));
    }
    bench_done(&b);
}

TEST(values_as_they_are_shown)
{
    static const char *const rows[][2] = {
        { "'a\\\"b'", "\"a\\\"b\"" },
        { "'\\u0001é<'", "\"\\x01é<\"" },
        { "12345678901234567890", "12345678901234567890" },
        { "true", "true" },
        { "null", "null" },
        { "{'a':[1,'x'],'b':null}", "{\"a\":[1,\"x\"],\"b\":null}" },
    };
    struct bench b;

    bench_init(&b);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_STR(rows[i][1], show_value(&b.errors, &b.d, bench_parse(&b, rows[i][0])));
    ASSERT_STR("null", show_value(&b.errors, &b.d, 0));
    ASSERT_STR("\"a\\nb\"", show_text(&b.errors, STR_LIT("a\nb")));
    ASSERT_STR("a-5", errors_printf(&b.errors, "%s-%d", "a", 5));
    bench_done(&b);
}

TEST(one_error_stands_alone_several_in_brackets)
{
    struct field_path a = path_child(NULL, "a"), c = path_child(NULL, "c");
    struct bench b;

    bench_init(&b);
    errors_required(&b.errors, &a, "");
    errors_required(&b.errors, &a, "");
    field_errors_message(&b.errors, kind_info(KIND_VOLUME), STR_LIT("x"), &b.out);
    ASSERT_STR("PersistentVolume \"x\" is invalid: a: Required value", buf_cstr(&b.out));

    errors_invalid(&b.errors, &c, "5", "odd");
    errors_invalid(&b.errors, &c, "6", "odd");
    errors_required(&b.errors, &a, "");
    errors_forbidden(&b.errors, &a, "");
    errors_invalid(&b.errors, &c, "5", "odd");
    errors_invalid(&b.errors, &c, "5", "even");
    buf_clear(&b.out);
    field_errors_message(&b.errors, kind_info(KIND_CLASS), STR_LIT(""), &b.out);
    ASSERT_STR("StorageClass.storage.k8s.io \"\" is invalid: [a: Required value, c: Invalid value: 5: odd, "
               "c: Invalid value: 6: odd, a: Forbidden, c: Invalid value: 5: even]",
               buf_cstr(&b.out));
    ASSERT_INT(8, b.errors.count); /* the causes keep them all */
    bench_done(&b);
}

TEST(a_list_of_errors_has_an_end)
{
    struct field_path p = path_child(NULL, "p");
    struct bench b;

    bench_init(&b);
    for (uint32_t i = 0; i < 3000; i++) {
        struct field_path at = path_index(&p, i);
        errors_required(&b.errors, &at, "");
    }
    ASSERT_INT(FIELD_ERRORS_COUNT_MAX, b.errors.count);
    ASSERT_STR("p[0]", b.errors.items[0].path);
    ASSERT_STR("p[999]", b.errors.items[999].path);
    while (arena_alloc(&b.errors.arena, 4096)) /* full: nothing may be added any more */
        ;
    errors_check_room(&b.errors);
    ASSERT_INT(FIELD_ERRORS_COUNT_MAX, b.errors.count);
    field_errors_message(&b.errors, kind_info(KIND_VOLUME), STR_LIT("x"), &b.out);
    assert_non_null(strstr(buf_cstr(&b.out), ", p[999]: Required value]"));
    bench_done(&b);
}

TEST(no_room_to_look_is_no_consent)
{
    struct bench b;
    const uint32_t *twins;

    bench_init(&b);
    errors_check_room(&b.errors);
    ASSERT_INT(0, b.errors.count);
    b.errors.arena.used_max = 64;
    ASSERT_INT(0, validate_find_duplicates(&b.v, bench_parse(&b, "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]"),
                                           NULL, &twins));
    errors_check_room(&b.errors);
    ASSERT_STR("metadata: Forbidden: the object has more parts than can be validated", bench_errors(&b));
    bench_done(&b);
}

TEST(endless_values_and_keys_are_refused_all_the_same)
{
    _cleanup_(buf_done_p) struct buf key = BUF_INIT(1 << 20);
    struct bench b;

    bench_init(&b);
    for (int i = 0; i < 200000; i++)
        buf_add_char(&key, 'K');
    struct field_path p = path_child(NULL, "p"), at = path_key(&p, buf_str(&key));
    errors_invalid(&b.errors, &at, show_text(&b.errors, buf_str(&key)), "too much");
    errors_invalid(&b.errors, &p, show_value(&b.errors, &b.d, json_new_string(&b.d, buf_str(&key))), "");
    ASSERT_INT(2, b.errors.count);
    assert_true(strlen(bench_errors(&b)) < 150000);
    bench_done(&b);
}

/* --- Metadata --- */

#define CLASS(meta) "{'metadata':{" meta "},'provisioner':'x/y'}"
#define NAMED(meta) CLASS("'name':'c'," meta)

TEST(names)
{
    ASSERT_CREATE(KIND_CLASS, "", CLASS("'name':'c'"));
    ASSERT_CREATE(KIND_CLASS, "metadata.name: Required value: name or generateName is required", CLASS(""));
    ASSERT_CREATE(KIND_CLASS, "metadata.name: Invalid value: \"C_d\": " SUBDOMAIN, CLASS("'name':'C_d'"));
    ASSERT_CREATE(KIND_CLASS, "", CLASS("'name':'c-x','generateName':'c-'"));
    ASSERT_CREATE(KIND_CLASS,
                  "metadata.generateName: Invalid value: \"C-\": " SUBDOMAIN
                  "\nmetadata.name: Invalid value: \"D\": " SUBDOMAIN,
                  CLASS("'name':'D','generateName':'C-'"));
    /* names of namespaces have no dots */
    ASSERT_CREATE(KIND_NAMESPACE, "metadata.name: Invalid value: \"a.b\": must not contain dots",
                  "{'metadata':{'name':'a.b'}}");
}

TEST(scope)
{
    ASSERT_CREATE(KIND_CLASS, "metadata.namespace: Forbidden: not allowed on this type",
                  NAMED("'namespace':'ns'"));
    ASSERT_CREATE(KIND_CONFIG_MAP, "", "{'metadata':{'name':'c','namespace':'ns'}}");
    ASSERT_CREATE(KIND_CONFIG_MAP, "metadata.namespace: Required value", "{'metadata':{'name':'c'}}");
    ASSERT_CREATE(KIND_CONFIG_MAP, "metadata.namespace: Invalid value: \"NS\": " LABEL,
                  "{'metadata':{'name':'c','namespace':'NS'}}");
}

TEST(generation)
{
    ASSERT_CREATE(KIND_CLASS, "", NAMED("'generation':0"));
    ASSERT_CREATE(KIND_CLASS, "metadata.generation: Invalid value: -1: must be greater than or equal to 0",
                  NAMED("'generation':-1"));
}

TEST(labels)
{
    ASSERT_CREATE(KIND_CLASS, "", NAMED("'labels':{'a':'','b.io/c':'x_y.z','A':'1'}"));
    ASSERT_CREATE(KIND_CLASS, "metadata.labels: Invalid value: \"-a\": " NAME_PART,
                  NAMED("'labels':{'-a':'x'}"));
    ASSERT_CREATE(KIND_CLASS, "metadata.labels: Invalid value: \"x y\": " LABEL_VALUE,
                  NAMED("'labels':{'a':'x y'}"));
    ASSERT_CREATE(KIND_CLASS,
                  "metadata.labels: Invalid value: \"a/\": name part must be non-empty\n"
                  "metadata.labels: Invalid value: \"a/\": " NAME_PART
                  "\nmetadata.labels: Invalid value: \"-\": " LABEL_VALUE,
                  NAMED("'labels':{'a/':'-'}"));
    ASSERT_CREATE(KIND_CLASS, "metadata.labels: Invalid value: \"B.io/c\": prefix part " SUBDOMAIN,
                  NAMED("'labels':{'B.io/c':'1'}"));
}

TEST(annotations)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(1 << 20), longer = BUF_INIT(1 << 20);

    ASSERT_CREATE(KIND_CLASS, "", NAMED("'annotations':{'B.io/c':'any thing\\n'}"));
    ASSERT_CREATE(KIND_CLASS, "metadata.annotations: Invalid value: \"a b\": " NAME_PART,
                  NAMED("'annotations':{'a b':''}"));

    /* keys and values together, 256 KiB */
    for (int i = 0; i < 256 * 1024 - 2; i++)
        buf_add_char(&text, 'x');
    buf_addf(&longer, CLASS("'name':'c','annotations':{'aa':'%s'}"), buf_cstr(&text));
    ASSERT_CREATE(KIND_CLASS, "", buf_cstr(&longer));
    buf_clear(&longer);
    buf_addf(&longer, CLASS("'name':'c','annotations':{'aaa':'%s'}"), buf_cstr(&text));
    ASSERT_CREATE(KIND_CLASS, "metadata.annotations: Too long: may not be more than 262144 bytes",
                  buf_cstr(&longer));
}

#define OWNER(version, kind, name, uid, rest) \
    "{'apiVersion':'" version "','kind':'" kind "','name':'" name "','uid':'" uid "'" rest "}"

TEST(owners)
{
    static const char *const bad_versions[] = { "", "/", "apps/", "a/b/c", "//" };

    ASSERT_CREATE(KIND_CLASS, "",
                  NAMED("'ownerReferences':[" OWNER("v1", "K", "n", "u", ",'controller':true") "," OWNER(
                      "apps/v1", "K", "n", "u", ",'controller':false") "]"));
    ASSERT_CREATE(KIND_CLASS,
                  "metadata.ownerReferences.apiVersion: Invalid value: \"\": version must not be empty\n"
                  "metadata.ownerReferences.kind: Invalid value: \"\": must not be empty\n"
                  "metadata.ownerReferences.name: Invalid value: \"\": must not be empty\n"
                  "metadata.ownerReferences.uid: Invalid value: \"\": must not be empty",
                  NAMED("'ownerReferences':[{}]"));
    for (size_t i = 0; i < ARRAY_LEN(bad_versions); i++) {
        char text[256], want[256];
        (void)snprintf(text, sizeof text, NAMED("'ownerReferences':[" OWNER("%s", "K", "n", "u", "") "]"),
                       bad_versions[i]);
        (void)snprintf(
            want, sizeof want,
            "metadata.ownerReferences.apiVersion: Invalid value: \"%s\": version must not be empty",
            bad_versions[i]);
        ASSERT_CREATE(KIND_CLASS, want, text);
    }
    ASSERT_CREATE(
        KIND_CLASS,
        "metadata.ownerReferences: Invalid value: [{\"apiVersion\":\"v1\",\"kind\":\"K\",\"name\":\"a\","
        "\"uid\":\"1\",\"controller\":true},{\"apiVersion\":\"v1\",\"kind\":\"K\",\"name\":\"b\",\"uid\":"
        "\"2\",\"controller\":true}]: Only one reference can have Controller set to true. Found \"true\" in "
        "references for a and b",
        NAMED("'ownerReferences':[" OWNER("v1", "K", "a", "1", ",'controller':true") "," OWNER(
            "v1", "K", "b", "2", ",'controller':true") "]"));
}

TEST(finalizers)
{
    ASSERT_CREATE(KIND_CLASS, "", NAMED("'finalizers':['a.io/b','orphan','kubernetes']"));
    ASSERT_CREATE(KIND_CLASS, "", NAMED("'finalizers':['foregroundDeletion']"));
    ASSERT_CREATE(KIND_CLASS,
                  "metadata.finalizers[0]: Invalid value: \"mine\": name is neither a standard finalizer "
                  "name nor is it fully qualified",
                  NAMED("'finalizers':['mine']"));
    ASSERT_CREATE(KIND_CLASS,
                  "metadata.finalizers: Invalid value: [\"a.io/b\",\"orphan\",\"yours\","
                  "\"foregroundDeletion\"]: finalizer orphan and foregroundDeletion cannot be both set\n"
                  "metadata.finalizers[2]: Invalid value: \"yours\": name is neither a standard finalizer "
                  "name nor is it fully qualified",
                  NAMED("'finalizers':['a.io/b','orphan','yours','foregroundDeletion']"));
    ASSERT_CREATE(KIND_CLASS,
                  "metadata.finalizers: Invalid value: \"a.io/\": name part must be non-empty\n"
                  "metadata.finalizers: Invalid value: \"a.io/\": name part must consist of "
                  "alphanumeric characters, '-', '_' or '.', and must start and end with an "
                  "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex "
                  "used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
                  NAMED("'finalizers':['a.io/']"));
    ASSERT_CREATE(KIND_CLASS,
                  "metadata.finalizers: Invalid value: [\"orphan\",\"foregroundDeletion\"]: finalizer orphan "
                  "and foregroundDeletion cannot be both set",
                  NAMED("'finalizers':['orphan','foregroundDeletion']"));
}

#define GOING "'deletionTimestamp':'2024-05-01T10:00:00Z',"
#define NEW_FINALIZERS(list)                                                                                \
    "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found " \
    "new finalizers []string{" list "}"

TEST(no_finalizer_comes_to_what_is_being_deleted)
{
    static const char *const rows[][3] = {
        { "", "'a/b'", "" }, /* this one is not being deleted */
        { GOING, "", "" },
        { GOING, "'o/1'", "" },
        { GOING, "'o/2','o/1'", "" },
        { GOING, "'o/1','o/1'", "" },
        { GOING, "'a/b'", NEW_FINALIZERS("\"a/b\"") },
        { GOING, "'o/1','z/z','a/b','o/2','z/z'", NEW_FINALIZERS("\"a/b\", \"z/z\"") },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char old[256], now[256];
        (void)snprintf(old, sizeof old, NAMED("%s'finalizers':['o/1','o/2']"), rows[i][0]);
        (void)snprintf(now, sizeof now, NAMED("%s'finalizers':[%s]"), rows[i][0], rows[i][1]);
        ASSERT_UPDATE(KIND_CLASS, rows[i][2], old, now);
    }
    ASSERT_UPDATE(KIND_CLASS, NEW_FINALIZERS("\"a/b\""), NAMED("'deletionTimestamp':'2024-05-01T10:00:00Z'"),
                  NAMED(GOING "'finalizers':['a/b']"));
}

static void add_finalizers(struct buf *text, char domain, int count)
{
    buf_add_cstr(text, "{'metadata':{'name':'c'," GOING "'finalizers':[");
    for (int i = 0; i < count; i++)
        buf_addf(text, "%s'%c/%d'", i ? "," : "", domain, i);
    buf_add_cstr(text, "]},'provisioner':'x/y'}");
}

/* Would not end in a test's patience if each were looked for among all. */
TEST(many_finalizers_are_compared_in_time)
{
    _cleanup_(buf_done_p) struct buf old = BUF_INIT(8 << 20), now = BUF_INIT(8 << 20);
    const char *errors;

    add_finalizers(&old, 'o', 100000);
    add_finalizers(&now, 'n', 100000);
    errors = kind_errors(KIND_CLASS, WRITE_MAIN, buf_cstr(&old), buf_cstr(&now));
    assert_memory_equal(errors, NEW_FINALIZERS("\"n/0\", \"n/1\", \"n/10\", \"n/100\""),
                        strlen(NEW_FINALIZERS("\"n/0\", \"n/1\", \"n/10\", \"n/100\"")) - 1);
    ASSERT_UPDATE(KIND_CLASS, "", buf_cstr(&now), buf_cstr(&now));
}

TEST(many_controllers_are_told_in_time)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(8 << 20);

    buf_add_cstr(&text, "{'metadata':{'name':'c','ownerReferences':[");
    for (int i = 0; i < 50000; i++)
        buf_addf(&text, "%s" OWNER("v1", "K", "o", "u", ",'controller':true"), i ? "," : "");
    buf_add_cstr(&text, "]},'provisioner':'x/y'}");
    assert_non_null(strstr(kind_errors(KIND_CLASS, WRITE_MAIN, NULL, buf_cstr(&text)),
                           "Only one reference can have Controller set to true."));
}

TEST(metadata_that_stays)
{
    static const char old[] = "{'metadata':{'name':'c','namespace':'ns','uid':'u','creationTimestamp':"
                              "'2024-05-01T10:00:00Z','deletionTimestamp':'2024-05-01T11:00:00Z',"
                              "'deletionGracePeriodSeconds':30,'resourceVersion':'1'}}";

    ASSERT_UPDATE(KIND_CONFIG_MAP, "", old, old);
    ASSERT_UPDATE(KIND_CONFIG_MAP,
                  "metadata.name: Invalid value: \"d\": field is immutable\n"
                  "metadata.namespace: Invalid value: \"nt\": field is immutable\n"
                  "metadata.uid: Invalid value: \"v\": field is immutable\n"
                  "metadata.creationTimestamp: Invalid value: \"2024-05-01T10:00:01Z\": field is immutable\n"
                  "metadata.deletionTimestamp: Invalid value: null: field is immutable\n"
                  "metadata.deletionGracePeriodSeconds: Invalid value: 0: field is immutable",
                  old,
                  "{'metadata':{'name':'d','namespace':'nt','uid':'v','creationTimestamp':"
                  "'2024-05-01T10:00:01Z','deletionGracePeriodSeconds':0,'resourceVersion':'2'}}");
    /* what may change: labels, annotations, owners, finalizers that go */
    ASSERT_UPDATE(
        KIND_CONFIG_MAP, "",
        "{'metadata':{'name':'c','namespace':'ns','labels':{'a':'1'},'finalizers':['a/b']}}",
        "{'metadata':{'name':'c','namespace':'ns','annotations':{'a':'1'},'ownerReferences':[" OWNER(
            "v1", "K", "n", "u", "") "]}}");
}

/* --- Rules that kinds share --- */

TEST(required_texts_and_known_words)
{
    static const char *const words[] = { "b", "a", NULL };
    struct field_path p = path_child(NULL, "p");
    struct bench b;
    json_ref o;

    bench_init(&b);
    o = bench_parse(&b, "{'full':'x','empty':'','other':5}");
    assert_true(str_is(validate_required_text(&b.v, &p, o, "full"), "x"));
    ASSERT_INT(0, validate_required_text(&b.v, &p, o, "empty").len);
    ASSERT_INT(0, validate_required_text(&b.v, &p, o, "absent").len);
    ASSERT_INT(0, validate_required_text(&b.v, NULL, o, "other").len);
    validate_one_of(&b.v, &p, STR_LIT("a"), words);
    validate_one_of(&b.v, &p, STR_LIT("A"), words);
    validate_bytes_max(&b.v, &p, 5, 5);
    validate_bytes_max(&b.v, &p, 6, 5);
    ASSERT_STR("p.empty: Required value\np.absent: Required value\nother: Required value\n"
               "p: Unsupported value: \"A\": supported values: \"a\", \"b\"\n"
               "p: Too long: may not be more than 5 bytes",
               bench_errors(&b));
    validate_quantity_not_negative(&b.v, &p, bench_parse(&b, "'0'"));
    validate_quantity_not_negative(&b.v, &p, 0);
    validate_quantity_not_negative(&b.v, &p, bench_parse(&b, "'-1Gi'"));
    validate_name(&b.v, &p, NAME_CSI_DRIVER, STR_LIT(""));
    ASSERT_STR("p: Invalid value: \"-1Gi\": must be greater than or equal to 0\np: Required value",
               bench_errors(&b));
    bench_done(&b);
}

TEST(what_may_not_change)
{
    struct field_path p = path_child(NULL, "p");
    struct bench b;

    bench_init(&b);
    b.v.object = bench_parse(&b, "{'same':{'a':1,'b':2},'new':1,'changed':{'a':1}}");
    b.v.old = bench_parse(&b, "{'same':{'b':2,'a':1},'gone':1,'changed':{'a':2}}");
    validate_no_updates(&b.v, "same");
    validate_no_updates(&b.v, "absent");
    validate_no_updates(&b.v, "new");
    validate_no_updates(&b.v, "gone");
    validate_no_updates(&b.v, "changed");
    validate_immutable(&b.v, &p, json_get(&b.d, b.v.object, "same"), json_get(&b.d, b.v.old, "same"));
    validate_immutable(&b.v, &p, json_get(&b.d, b.v.object, "changed"), json_get(&b.d, b.v.old, "changed"));
    validate_immutable(&b.v, &p, 0, json_get(&b.d, b.v.old, "gone"));
    ASSERT_STR(
        "new: Forbidden: updates to new are forbidden.\ngone: Forbidden: updates to gone are forbidden.\n"
        "changed: Forbidden: updates to changed are forbidden.\n"
        "p: Invalid value: {\"a\":1}: field is immutable\np: Invalid value: null: field is immutable",
        bench_errors(&b));
    bench_done(&b);
}

TEST(twins)
{
    static const struct {
        const char *list, *key, *errors;
    } rows[] = {
        { "[]", NULL, "" },
        { "['a']", NULL, "" },
        { "['a','b','A','']", NULL, "" },
        { "['b','a','b','a','b']", NULL,
          "p[2]: Duplicate value: \"b\"\np[3]: Duplicate value: \"a\"\np[4]: Duplicate value: \"b\"" },
        { "['1',1,'true',true,'null',null]", NULL, "" }, /* a text is no number */
        { "['ab','a','abc','b','bc']", NULL, "" },
        { "[{'k':1},{'k':1},{'k':2}]", NULL, "p[1]: Duplicate value: {\"k\":1}" },
        { "[{'k':'x'},{},{'k':'y'},{},{'k':'x'},{'j':'x'}]", "k", "p[4].k: Duplicate value: \"x\"" },
        { "[{'k':[1]},{'k':[1]},{'k':[1,1]}]", "k", "p[1].k: Duplicate value: [1]" },
        { "[1,1,'x']", "k", "" },
    };
    struct field_path p = path_child(NULL, "p");
    struct bench b;

    bench_init(&b);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        validate_unique(&b.v, &p, bench_parse(&b, rows[i].list), rows[i].key);
        ASSERT_STR(rows[i].errors, bench_errors(&b));
    }
    bench_done(&b);
}

/* Items too large to be shown are told apart all the same. */
TEST(large_twins)
{
    _cleanup_(buf_done_p) struct buf list = BUF_INIT(DOCUMENT_BYTES);
    struct bench b;
    const uint32_t *twins = NULL;

    bench_init(&b);
    for (int i = 0; i < 4; i++) {
        buf_add_cstr(&list, i ? ",'" : "['");
        for (int k = 0; k < 100000; k++)
            buf_add_char(&list, 'x');
        buf_addf(&list, "%d'", i == 3 ? 1 : i);
    }
    buf_add_char(&list, ']');
    ASSERT_INT(1, validate_find_duplicates(&b.v, bench_parse(&b, buf_cstr(&list)), NULL, &twins));
    ASSERT_INT(3, twins[0]);
    errors_check_room(&b.errors);
    ASSERT_STR("", bench_errors(&b));
    bench_done(&b);
}

TEST(a_hundred_thousand_twins)
{
    _cleanup_(buf_done_p) struct buf list = BUF_INIT(DOCUMENT_BYTES);
    struct field_path p = path_child(NULL, "p");
    struct bench b;
    const uint32_t *twins = NULL;
    json_ref v;

    bench_init(&b);
    for (int i = 0; i < 100000; i++)
        buf_addf(&list, "%s'a name of more than forty bytes, so that much is copied %d'", i ? "," : "[",
                 i % 50000);
    buf_add_char(&list, ']');
    v = bench_parse(&b, buf_cstr(&list));
    ASSERT_INT(50000, validate_find_duplicates(&b.v, v, NULL, &twins));
    for (uint32_t i = 0; i < 50000; i++)
        if (twins[i] != 50000 + i)
            fail_msg("twin %u is %u", i, twins[i]);
    validate_unique(&b.v, &p, v, NULL);
    ASSERT_INT(FIELD_ERRORS_COUNT_MAX, b.errors.count);
    ASSERT_STR("p[50999]", b.errors.items[999].path);
    bench_done(&b);
}

TEST(label_selectors)
{
#define EXPRESSION(key, op, rest) "{'matchExpressions':[{'key':'" key "','operator':'" op "'" rest "}]}"
    static const char *const rows[][2] = {
        { "{}", "" },
        { "{'matchLabels':{'a':'','b.io/c':'x'}}", "" },
        { EXPRESSION("a", "In", ",'values':['x','']"), "" },
        { EXPRESSION("a", "Exists", ""), "" },
        { "{'matchLabels':{'-':'x'}}", "p.matchLabels: Invalid value: \"-\": " NAME_PART },
        { "{'matchLabels':{'a':'x y'}}", "p.matchLabels: Invalid value: \"x y\": " LABEL_VALUE },
        { EXPRESSION("a", "In", ""),
          "p.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or "
          "'NotIn'" },
        { EXPRESSION("a", "NotIn", ",'values':[]"),
          "p.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or "
          "'NotIn'" },
        { EXPRESSION("a", "DoesNotExist", ",'values':['x']"),
          "p.matchExpressions[0].values: Forbidden: may not be specified when `operator` is 'Exists' or "
          "'DoesNotExist'" },
        { EXPRESSION("a", "Gt", ",'values':['1']"),
          "p.matchExpressions[0].operator: Invalid value: \"Gt\": not a valid selector operator" },
        { EXPRESSION("a b", "", ""),
          "p.matchExpressions[0].operator: Invalid value: \"\": not a valid selector operator\n"
          "p.matchExpressions[0].key: Invalid value: \"a b\": " NAME_PART },
        { EXPRESSION("a", "In", ",'values':['ok','-']"),
          "p.matchExpressions[0].values[1]: Invalid value: \"-\": " LABEL_VALUE },
    };
    struct field_path p = path_child(NULL, "p");
    struct bench b;

    bench_init(&b);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        validate_label_selector(&b.v, &p, bench_parse(&b, rows[i][0]));
        ASSERT_STR(rows[i][1], bench_errors(&b));
    }
    bench_done(&b);
}

TEST(node_selectors)
{
#define TERM(inner) "{'nodeSelectorTerms':[{}," inner "]}"
#define FIELD(key, op, rest) TERM("{'matchFields':[{'key':'" key "','operator':'" op "'" rest "}]}")
#define T "p.nodeSelectorTerms[1]."
    static const char *const rows[][2] = {
        { "{}", "p.nodeSelectorTerms: Required value: must have at least one node selector term" },
        { "{'nodeSelectorTerms':[]}",
          "p.nodeSelectorTerms: Required value: must have at least one node selector term" },
        { "{'nodeSelectorTerms':[{}]}", "" },
        { TERM(EXPRESSION("a", "Gt", ",'values':['1']")), "" },
        { TERM(EXPRESSION("a", "Gt", ",'values':['1','2']")),
          T "matchExpressions[0].values: Required value: must be specified single value when `operator` is "
            "'Lt' or 'Gt'" },
        { TERM(EXPRESSION("a", "Lt", "")),
          T "matchExpressions[0].values: Required value: must be specified single value when `operator` is "
            "'Lt' or 'Gt'" },
        { TERM(EXPRESSION("a", "In", "")),
          T "matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or "
            "'NotIn'" },
        { TERM(EXPRESSION("a", "Exists", ",'values':['x']")),
          T "matchExpressions[0].values: Forbidden: may not be specified when `operator` is 'Exists' or "
            "'DoesNotExist'" },
        { TERM(EXPRESSION("a", "Foo", "")),
          T "matchExpressions[0].operator: Invalid value: \"Foo\": not a valid selector operator" },
        { TERM(EXPRESSION("-", "Exists", "")),
          T "matchExpressions[0].key: Invalid value: \"-\": " NAME_PART },
        { TERM(EXPRESSION("a", "In", ",'values':['-']")),
          T "matchExpressions[0].values[0]: Invalid value: \"-\": " LABEL_VALUE },
        { FIELD("metadata.name", "In", ",'values':['node-1']"), "" },
        { FIELD("metadata.name", "NotIn", ",'values':['a','b']"),
          T "matchFields[0].values: Required value: must be only one value when `operator` is 'In' or "
            "'NotIn' for node field selector" },
        { FIELD("metadata.name", "In", ""),
          T "matchFields[0].values: Required value: must be only one value when `operator` is 'In' or "
            "'NotIn' for node field selector" },
        { FIELD("metadata.name", "Exists", ""),
          T "matchFields[0].operator: Invalid value: \"Exists\": not a valid selector operator" },
        { FIELD("metadata.uid", "In", ",'values':['A B']"),
          T "matchFields[0].key: Invalid value: \"metadata.uid\": not a valid field selector key" },
        { FIELD("metadata.name", "In", ",'values':['A B']"),
          T "matchFields[0].values[0]: Invalid value: \"A B\": " SUBDOMAIN },
    };
    struct field_path p = path_child(NULL, "p");
    struct bench b;

    bench_init(&b);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        validate_node_selector(&b.v, &p, bench_parse(&b, rows[i][0]));
        ASSERT_STR(rows[i][1], bench_errors(&b));
    }
    bench_done(&b);
}

/* --- Preparing writes --- */

typedef void prepare_fn(struct json *d, json_ref object, json_ref old, enum write_part part,
                        struct timestamp now);

TEST(parts_that_a_write_may_not_touch)
{
#define BEFORE "{'metadata':{'m':0},'spec':{'s':0},'status':{'t':0},'kept':0}"
#define WRITTEN "{'metadata':{'m':1},'spec':{'s':1},'status':{'t':1},'new':1}"
    static const struct {
        prepare_fn *prepare;
        enum write_part part;
        const char *old, *now, *result;
    } rows[] = {
        { prepare_update_parts, WRITE_MAIN, BEFORE, WRITTEN,
          "{'metadata':{'m':1},'spec':{'s':1},'status':{'t':0},'new':1}" },
        { prepare_update_parts, WRITE_MAIN, "{}", WRITTEN, "{'metadata':{'m':1},'spec':{'s':1},'new':1}" },
        { prepare_update_parts, WRITE_MAIN, BEFORE, "{}", "{'status':{'t':0}}" },
        { prepare_update_parts, WRITE_STATUS, BEFORE, WRITTEN,
          "{'metadata':{'m':1},'spec':{'s':0},'kept':0,'status':{'t':1}}" },
        { prepare_update_parts, WRITE_STATUS, "{}", WRITTEN, "{'metadata':{'m':1},'status':{'t':1}}" },
        { prepare_update_parts, WRITE_STATUS, BEFORE, "{}", "{'spec':{'s':0},'kept':0}" },
        { prepare_update_status_only, WRITE_MAIN, BEFORE, WRITTEN,
          "{'metadata':{'m':1},'spec':{'s':1},'status':{'t':0},'new':1}" },
        { prepare_update_status_only, WRITE_STATUS, BEFORE, WRITTEN,
          "{'metadata':{'m':0},'spec':{'s':0},'kept':0,'status':{'t':1}}" },
        { prepare_update_status_only, WRITE_STATUS, BEFORE, "{}",
          "{'metadata':{'m':0},'spec':{'s':0},'kept':0}" },
        { prepare_update_nothing, WRITE_MAIN, BEFORE, WRITTEN, WRITTEN },
        { prepare_update_nothing, WRITE_STATUS, BEFORE, WRITTEN, WRITTEN },
    };
    struct bench b;

    bench_init(&b);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        json_ref old = bench_parse(&b, rows[i].old), now = bench_parse(&b, rows[i].now);
        rows[i].prepare(&b.d, now, old, rows[i].part, (struct timestamp){ .seconds = 1 });
        ASSERT_OK(json_check(&b.d, &err));
        buf_clear(&b.out);
        json_write(&b.d, now, &b.out);
        ASSERT_STR(kind_row(rows[i].result), buf_cstr(&b.out));
        buf_clear(&b.out);
        json_write(&b.d, old, &b.out);
        ASSERT_STR(kind_row(rows[i].old), buf_cstr(&b.out)); /* old stays as it is */
    }
    bench_done(&b);
}

TEST(the_rest_of_the_helpers)
{
    struct bench b;
    json_ref now, old;

    bench_init(&b);
    old = bench_parse(&b, "{'a':{'x':1}}");
    now = bench_parse(&b, "{'b':1,'a':2}");
    prepare_keep(&b.d, now, old, "a");
    prepare_keep(&b.d, now, old, "b");
    prepare_keep(&b.d, now, old, "c");
    prepare_create_nothing(&b.d, now, (struct timestamp){ .seconds = 1 });
    default_nothing(&b.d, now);
    json_write(&b.d, now, &b.out);
    ASSERT_STR("{\"a\":{\"x\":1}}", buf_cstr(&b.out));
    validate_nothing(&b.v);
    ASSERT_INT(0, b.errors.count);
    bench_done(&b);
}

TEST(generations_count_changes)
{
    static const struct {
        const char *old, *now, *result;
    } rows[] = {
        { "{'metadata':{'generation':4},'spec':{'a':1}}", "{'metadata':{'generation':9},'spec':{'a':1}}",
          "{'metadata':{'generation':4},'spec':{'a':1}}" },
        { "{'metadata':{'generation':4},'spec':{'a':1}}", "{'spec':{'a':2}}",
          "{'spec':{'a':2},'metadata':{'generation':5}}" },
        { "{'metadata':{'generation':4},'spec':{'a':1,'b':2}}", "{'metadata':{},'spec':{'b':2,'a':1}}",
          "{'metadata':{'generation':4},'spec':{'b':2,'a':1}}" },
        { "{'metadata':{},'spec':{}}", "{'metadata':{},'spec':{}}", "{'metadata':{},'spec':{}}" },
        { "{'metadata':{}}", "{'metadata':{},'spec':{}}", "{'metadata':{'generation':1},'spec':{}}" },
    };
    struct bench b;

    bench_init(&b);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        json_ref old = bench_parse(&b, rows[i].old), now = bench_parse(&b, rows[i].now);
        prepare_generation(&b.d, now, old, json_get(&b.d, now, "spec"), json_get(&b.d, old, "spec"));
        buf_clear(&b.out);
        json_write(&b.d, now, &b.out);
        ASSERT_STR(kind_row(rows[i].result), buf_cstr(&b.out));
    }
    bench_done(&b);
}

TEST_MAIN()
