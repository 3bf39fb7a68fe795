/* What the OpenAPI documents say, against the tables that the server itself works by. */
#include "tests/unit/test_openapi.h"

#include "api/json.h"
#include "api/kind.h"
#include "api/request_kind.h"
#include "api/storage.h"
#include "apiserver/openapi_int.h"

#define CORE PACKAGE_CORE "."
#define STORAGE PACKAGE_STORAGE "."
#define SNAPSHOT PACKAGE_SNAPSHOT "."
#define META PACKAGE_META "."

static struct error err;

#define ASSERT_TEXT(expected, text)                                        \
    do {                                                                   \
        struct str text_ = (text);                                         \
        if (!str_is(text_, (expected)))                                    \
            fail_msg("'%.*s', expected '%s'", STR_ARG(text_), (expected)); \
    } while (0)

/* Every document, parsed. */
struct document {
    char path[128];
    const char *group, *version; /* NULL: the one of everything, in Swagger's words */
    struct json d;
    json_ref root;
};

static struct document docs[32];
static size_t docs_count;

static void load(struct openapi *o, const char *path, const char *group, const char *version)
{
    struct document *doc = &docs[docs_count++];
    struct fake f = { .accept = "application/json" };
    const json_ref *duplicates;
    struct call c;

    assert_true(docs_count < ARRAY_LEN(docs));
    (void)snprintf(doc->path, sizeof doc->path, "%s", path);
    doc->group = group;
    doc->version = version;
    json_init(&doc->d, 16 << 20);
    serve(o, HTTP_GET, path, NULL, &f, &c);
    ASSERT_INT(200, c.status);
    ASSERT_OK(json_parse(&doc->d, buf_str(&c.reply), &doc->root, &err));
    assert_int_equal(json_duplicates(&doc->d, &duplicates), 0);
    call_done(&c);
}

/* Parsed once for all tests. */
static void load_all(void)
{
    struct openapi *o = NULL;
    size_t count;
    const struct resource *r = resource_table(&count);

    if (docs_count)
        return;
    ASSERT_OK(openapi_new(&o, &err));
    load(o, "/openapi/v2", NULL, NULL);
    for (size_t i = 0; i < count; i++) {
        char path[128];

        if (i > 0 && strcmp(r[i].group, r[i - 1].group) == 0 && strcmp(r[i].version, r[i - 1].version) == 0)
            continue;
        (void)snprintf(path, sizeof path, "/openapi/v3/api%s%s/%s", r[i].group[0] ? "s/" : "", r[i].group,
                       r[i].version);
        load(o, path, r[i].group, r[i].version);
    }
    (void)openapi_free(o);
}

__attribute__((destructor)) static void unload_all(void)
{
    for (size_t i = 0; i < docs_count; i++)
        json_done(&docs[i].d);
}

static const struct document *doc_of(const char *group, const char *version)
{
    load_all();
    for (size_t i = 1; i < docs_count; i++) {
        if (strcmp(docs[i].group, group) == 0 && strcmp(docs[i].version, version) == 0)
            return &docs[i];
    }
    fail_msg("no document of %s/%s", group, version);
    return NULL;
}

static const struct document *swagger(void)
{
    load_all();
    return &docs[0];
}

static json_ref schemas_of(const struct document *doc)
{
    return doc->group ? json_path(&doc->d, doc->root, "components", "schemas")
                      : json_get(&doc->d, doc->root, "definitions");
}

static json_ref schema_of(const struct document *doc, const char *name)
{
    json_ref s = json_get(&doc->d, schemas_of(doc), name);

    if (!s)
        fail_msg("%s: no schema %s", doc->path, name);
    return s;
}

/* "#/components/schemas/X" in its own document. */
static json_ref resolve(const struct document *doc, struct str ref)
{
    json_ref v = doc->root;
    struct str first = str_next(&ref, '/');

    assert_true(str_is(first, "#"));
    while (ref.s)
        v = json_get_key(&doc->d, v, str_next(&ref, '/'));
    return v;
}

static size_t check_refs(const struct document *doc, json_ref v)
{
    size_t count = 0;

    for (json_ref m = json_first(&doc->d, v); m; m = json_next(&doc->d, m)) {
        count += check_refs(doc, m);
        if (json_type(&doc->d, v) != JSON_OBJECT || !str_is(json_key(&doc->d, m), "$ref"))
            continue;
        count++;
        if (!resolve(doc, json_text(&doc->d, m)))
            fail_msg("%s: nothing at %.*s", doc->path, STR_ARG(json_text(&doc->d, m)));
    }
    return count;
}

TEST(references_lead_somewhere)
{
    load_all();
    assert_int_equal(docs_count, 11);
    for (size_t i = 0; i < docs_count; i++)
        assert_true(check_refs(&docs[i], docs[i].root) > 10);
}

TEST(documents_say_what_they_are)
{
    ASSERT_TEXT("2.0", json_get_text(&swagger()->d, swagger()->root, "swagger"));
    for (size_t i = 0; i < docs_count; i++) {
        const struct document *doc = &docs[i];

        if (doc->group)
            ASSERT_TEXT("3.0.0", json_get_text(&doc->d, doc->root, "openapi"));
        ASSERT_TEXT("Berth", json_text(&doc->d, json_path(&doc->d, doc->root, "info", "title")));
        ASSERT_TEXT("v1.36.4", json_text(&doc->d, json_path(&doc->d, doc->root, "info", "version")));
    }
}

static void check_gvk(const struct document *doc, json_ref v, const char *group, const char *version,
                      const char *kind)
{
    assert_int_equal(json_count(&doc->d, v), 3);
    ASSERT_TEXT(group, json_get_text(&doc->d, v, "group"));
    ASSERT_TEXT(version, json_get_text(&doc->d, v, "version"));
    ASSERT_TEXT(kind, json_get_text(&doc->d, v, "kind"));
}

/* kubectl follows no references here: the parameter itself must be there. */
static bool takes_field_validation(const struct document *doc, json_ref operation)
{
    for (json_ref p = json_first(&doc->d, json_get(&doc->d, operation, "parameters")); p;
         p = json_next(&doc->d, p)) {
        if (json_is_string(&doc->d, json_get(&doc->d, p, "name"), "fieldValidation"))
            return json_is_string(&doc->d, json_get(&doc->d, p, "in"), "query");
    }
    return false;
}

/* The operation of a verb at a path, and that it is about this kind. */
static void check_operation(const struct document *doc, const char *path, enum verb verb, const char *group,
                            const char *version, const char *kind)
{
    static const char *const methods[VERB_COUNT] = {
        [VERB_CREATE] = "post", [VERB_DELETE] = "delete", [VERB_DELETE_COLLECTION] = "delete",
        [VERB_GET] = "get",     [VERB_LIST] = "get",      [VERB_PATCH] = "patch",
        [VERB_UPDATE] = "put",
    };
    json_ref op = json_path(&doc->d, json_path(&doc->d, doc->root, "paths", path), methods[verb]);
    bool is_write = verb == VERB_CREATE || verb == VERB_PATCH || verb == VERB_UPDATE;

    if (!op)
        fail_msg("%s: no %s %s", doc->path, methods[verb], path);
    check_gvk(doc, json_get(&doc->d, op, "x-kubernetes-group-version-kind"), group, version, kind);
    assert_int_equal(takes_field_validation(doc, op), is_write);
    assert_true(json_get_text(&doc->d, op, "operationId").len > 0);
    assert_true(json_count(&doc->d, json_get(&doc->d, op, "responses")) > 0);
}

/* Checks the operations of a resource; returns how many there should be. */
static size_t check_resource(const struct document *doc, const struct resource *r)
{
    char base[128], all[256], collection[256], object[300], part[512];
    size_t count = 0;

    (void)snprintf(base, sizeof base, "/api%s%s/%s", r->group[0] ? "s/" : "", r->group, r->version);
    (void)snprintf(all, sizeof all, "%s/%s", base, r->plural);
    (void)snprintf(collection, sizeof collection, "%s%s/%s", base,
                   r->is_namespaced ? "/namespaces/{namespace}" : "", r->plural);
    (void)snprintf(object, sizeof object, "%s/{name}", collection);
    for (int v = 0; v < VERB_COUNT; v++) {
        bool on_object = v == VERB_GET || v == VERB_UPDATE || v == VERB_PATCH || v == VERB_DELETE;

        if (!(r->verbs & VERB_BIT(v)) || v == VERB_WATCH)
            continue;
        check_operation(doc, on_object ? object : collection, (enum verb)v, r->group, r->version, r->kind);
        count++;
        if (v == VERB_LIST && r->is_namespaced) {
            check_operation(doc, all, VERB_LIST, r->group, r->version, r->kind);
            count++;
        }
    }
    for (const struct subresource *s = r->subs; s->name; s++) {
        (void)snprintf(part, sizeof part, "%s/%s", object, s->name);
        for (int v = 0; v < VERB_COUNT && s->id != SUB_LOG && s->id != SUB_EXEC; v++) {
            if (!(s->verbs & VERB_BIT(v)))
                continue;
            check_operation(doc, part, (enum verb)v, s->kind ? s->group : r->group,
                            s->kind ? s->version : r->version, s->kind ? s->kind : r->kind);
            count++;
        }
    }
    return count;
}

/* Also that names of operations differ. */
static size_t count_operations(const struct document *doc)
{
    _cleanup_(buf_done_p) struct buf names = BUF_INIT(1 << 20);
    size_t count = 0;

    json_ref paths = json_get(&doc->d, doc->root, "paths");
    for (json_ref p = json_first(&doc->d, paths); p; p = json_next(&doc->d, p)) {
        for (json_ref op = json_first(&doc->d, p); op; op = json_next(&doc->d, op)) {
            char name[256];

            if (json_type(&doc->d, op) != JSON_OBJECT)
                continue;
            (void)snprintf(name, sizeof name, " %.*s ", STR_ARG(json_get_text(&doc->d, op, "operationId")));
            if (strstr(buf_cstr(&names), name))
                fail_msg("%s: two operations are named%s", doc->path, name);
            buf_add_cstr(&names, name);
            count++;
        }
    }
    return count;
}

TEST(every_operation_of_every_resource)
{
    size_t count, in_swagger = 0;
    const struct resource *r = resource_table(&count);

    load_all();
    for (size_t i = 1; i < docs_count; i++) {
        size_t expected = 0;

        for (size_t k = 0; k < count; k++) {
            if (strcmp(r[k].group, docs[i].group) == 0 && strcmp(r[k].version, docs[i].version) == 0)
                expected += check_resource(&docs[i], &r[k]);
        }
        assert_true(expected > 0);
        assert_int_equal(count_operations(&docs[i]), expected);
    }
    for (size_t k = 0; k < count; k++)
        in_swagger += check_resource(swagger(), &r[k]);
    assert_int_equal(count_operations(swagger()), in_swagger);
}

TEST(patch_forms)
{
    const struct document *doc = doc_of("", "v1");
    json_ref patch = json_path(&doc->d, doc->root, "paths", "/api/v1/persistentvolumes/{name}", "patch");
    json_ref content = json_path(&doc->d, patch, "requestBody", "content");

    assert_int_equal(json_count(&doc->d, content), 3);
    assert_true(json_get(&doc->d, content, "application/json-patch+json") != 0);
    assert_true(json_get(&doc->d, content, "application/merge-patch+json") != 0);
    assert_true(json_get(&doc->d, content, "application/apply-patch+yaml") != 0);
}

/* A kind whose DELETE answers with the object says so. */
TEST(answers_are_what_the_server_sends)
{
    static const struct {
        const char *group, *path, *method, *status, *name;
    } rows[] = {
        { "", "/api/v1/persistentvolumes/{name}", "delete", "200", CORE "PersistentVolume" },
        { "", "/api/v1/nodes/{name}", "delete", "200", META "Status" },
        { "", "/api/v1/nodes", "delete", "200", CORE "NodeList" },
        { "", "/api/v1/nodes", "get", "200", CORE "NodeList" },
        { "", "/api/v1/nodes", "post", "201", CORE "Node" },
        { "", "/api/v1/namespaces/{namespace}/pods/{name}/binding", "post", "201", CORE "Binding" },
        { "", "/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token", "post", "201",
          PACKAGE_AUTHENTICATION ".TokenRequest" },
        { "storage.k8s.io", "/apis/storage.k8s.io/v1/storageclasses/{name}", "put", "200",
          STORAGE "StorageClass" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct document *doc = doc_of(rows[i].group, "v1");
        char ref[256];
        json_ref op = json_path(&doc->d, doc->root, "paths", rows[i].path, rows[i].method);

        (void)snprintf(ref, sizeof ref, "#/components/schemas/%s", rows[i].name);
        ASSERT_TEXT(ref, json_text(&doc->d, json_path(&doc->d, op, "responses", rows[i].status, "content",
                                                      "application/json", "schema", "$ref")));
    }
}

/* Where a property refers to: itself, its items or its values. */
static struct str ref_of(const struct document *doc, json_ref property)
{
    json_ref v = property;
    json_ref items = json_get(&doc->d, v, "items"), values = json_get(&doc->d, v, "additionalProperties");

    v = items ? items : values ? values : v;
    if (json_get(&doc->d, v, "allOf"))
        v = json_at(&doc->d, json_get(&doc->d, v, "allOf"), 0);
    return json_get_text(&doc->d, v, "$ref");
}

static void check_type(const struct document *doc, json_ref property, const struct field *f)
{
    static const struct {
        const char *type, *format, *ref;
    } expected[FIELD_TYPE_COUNT] = {
        [FIELD_STRING] = { "string" },
        [FIELD_BOOL] = { "boolean" },
        [FIELD_INT32] = { "integer", "int32" },
        [FIELD_INT64] = { "integer", "int64" },
        [FIELD_BYTES] = { "string", "byte" },
        [FIELD_INT_OR_STRING] = { "string", "int-or-string" },
        [FIELD_LIST] = { "array" },
        [FIELD_MAP] = { "object" },
        [FIELD_QUANTITY] = { .ref = "Quantity" },
        [FIELD_TIME] = { .ref = "Time" },
        [FIELD_MICRO_TIME] = { .ref = "MicroTime" },
        [FIELD_ANY] = { .ref = "FieldsV1" },
    };
    struct str format = json_get_text(&doc->d, property, "format");

    if (expected[f->type].type)
        ASSERT_TEXT(expected[f->type].type, json_get_text(&doc->d, property, "type"));
    ASSERT_TEXT(expected[f->type].format ? expected[f->type].format : "", format);
    if (expected[f->type].ref)
        assert_true(str_has_suffix(ref_of(doc, property), expected[f->type].ref));
    if (f->type == FIELD_LIST || f->type == FIELD_MAP)
        check_type(doc, json_get(&doc->d, property, f->type == FIELD_LIST ? "items" : "additionalProperties"),
                   &(struct field){ .type = f->item });
    if (f->type == FIELD_ANY)
        ASSERT_STR("fieldsV1", f->name); /* the only one there is, and what FieldsV1 describes */
}

/* Clients show the name of a schema that has no type: map[string]Quantity. Swagger knows no oneOf. */
TEST(quantities_have_a_schema_of_their_own)
{
    static const char name[] = "io.k8s.apimachinery.pkg.api.resource.Quantity";

    load_all();
    for (size_t i = 0; i < docs_count; i++) {
        const struct document *doc = &docs[i];
        json_ref v = schema_of(doc, name);
        ASSERT_INT(doc->group ? 2 : 0, json_count(&doc->d, json_get(&doc->d, v, "oneOf")));
        ASSERT_TEXT(doc->group ? "" : "string", json_get_text(&doc->d, v, "type"));
    }
    ASSERT_TEXT("#/definitions/io.k8s.apimachinery.pkg.api.resource.Quantity",
                json_get_text(&swagger()->d,
                              json_path(&swagger()->d, schema_of(swagger(), CORE "PersistentVolumeSpec"),
                                        "properties", "capacity", "additionalProperties"),
                              "$ref"));
}

/* The schema at v has every field of s, and so on below it. */
static void check_schema(const struct document *doc, json_ref v, const struct schema *s)
{
    json_ref properties = json_get(&doc->d, v, "properties");

    assert_true(json_count(&doc->d, properties) > 0 || s->fields_count == 0);
    for (const struct field *f = s->fields; f < s->fields + s->fields_count; f++) {
        json_ref property = json_get(&doc->d, properties, f->name);

        if (!property)
            fail_msg("%s: %s has no %s", doc->path, s->go_name, f->name);
        if (f->type == FIELD_ANY && (f->flags & FIELD_DROPPED)) /* an answer's part, which nobody decodes */
            continue;
        check_type(doc, property, f);
        if (f->sub) {
            struct str ref = ref_of(doc, property);

            assert_true(str_has_suffix(ref, f->sub->go_name));
            assert_int_equal(ref.s[ref.len - strlen(f->sub->go_name) - 1], '.');
            check_schema(doc, resolve(doc, ref), f->sub);
        }
    }
}

TEST(every_stored_kind_with_all_its_fields)
{
    for (int k = 0; k < KIND_COUNT; k++) {
        const struct kind_info *info = kind_info((enum kind)k);
        const struct document *own = doc_of(info->group, info->version);

        for (int both = 0; both < 2; both++) {
            const struct document *doc = both ? swagger() : own;
            char name[256];
            json_ref v, kinds;

            (void)snprintf(name, sizeof name, "%s.%s", openapi_package(info->group, info->version),
                           info->name);
            v = schema_of(doc, name);
            check_schema(doc, v, info->schema);
            kinds = json_get(&doc->d, v, "x-kubernetes-group-version-kind");
            assert_int_equal(json_count(&doc->d, kinds), 1);
            check_gvk(doc, json_at(&doc->d, kinds, 0), info->group, info->version, info->name);
            assert_int_equal(info->schema->open,
                             json_get(&doc->d, v, "x-kubernetes-preserve-unknown-fields") != 0);
        }
    }
}

TEST(every_request_with_all_that_is_decoded)
{
    static const struct {
        const char *name;
        const struct schema *schema;
    } rows[] = {
        { META "DeleteOptions", &delete_options_schema },
        { CORE "Binding", &binding_schema },
        { PACKAGE_POLICY ".Eviction", &eviction_schema },
        { PACKAGE_AUTHORIZATION ".SelfSubjectAccessReview", &self_access_review_schema },
        { PACKAGE_AUTHORIZATION ".SubjectAccessReview", &access_review_schema },
        { PACKAGE_AUTHORIZATION ".LocalSubjectAccessReview", &local_access_review_schema },
        { PACKAGE_AUTHENTICATION ".TokenReview", &token_review_schema },
        { PACKAGE_AUTHORIZATION ".SelfSubjectRulesReview", &rules_review_schema },
        { PACKAGE_AUTHENTICATION ".SelfSubjectReview", &self_review_schema },
        { PACKAGE_AUTHENTICATION_BETA ".SelfSubjectReview", &self_review_schema },
        { PACKAGE_AUTHENTICATION ".TokenRequest", &token_request_kind_schema },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        check_schema(swagger(), schema_of(swagger(), rows[i].name), rows[i].schema);
}

TEST(everything_is_described)
{
    load_all();
    for (size_t i = 0; i < docs_count; i++) {
        const struct document *doc = &docs[i];

        for (json_ref s = json_first(&doc->d, schemas_of(doc)); s; s = json_next(&doc->d, s)) {
            json_ref properties = json_get(&doc->d, s, "properties");

            if (json_get_text(&doc->d, s, "description").len == 0)
                fail_msg("%.*s is not described", STR_ARG(json_key(&doc->d, s)));
            for (json_ref p = json_first(&doc->d, properties); p; p = json_next(&doc->d, p)) {
                if (json_get_text(&doc->d, p, "description").len == 0)
                    fail_msg("%.*s.%.*s is not described", STR_ARG(json_key(&doc->d, s)),
                             STR_ARG(json_key(&doc->d, p)));
            }
        }
    }
}

/* A description of nothing is one of a field that was renamed, or misspelt. */
TEST(descriptions_are_of_fields_that_exist)
{
    static const struct doc *const tables[] = {
        openapi_docs_shared, openapi_docs_storage,    openapi_docs_sources,  openapi_docs_core,
        openapi_docs_pods,   openapi_docs_containers, openapi_docs_requests,
    };
    const struct document *doc = swagger();

    for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
        for (const struct doc *d = tables[i]; d->name; d++) {
            char name[256];
            json_ref v;

            if (!d->package)
                continue;
            assert_ptr_equal(openapi_schema_doc(d->package, d->name), d); /* once */
            (void)snprintf(name, sizeof name, "%s.%s", d->package, d->name);
            v = schema_of(doc, strcmp(d->name, "List") == 0 ? CORE "PodList" : name);
            for (const struct doc *f = openapi_schema_fields(d); f->name && !f->package; f++) {
                json_ref p = json_path(&doc->d, v, "properties", f->name);

                /* What is shared by two forms of a type may have fields of one alone. */
                if (!p && strcmp(f->name, "defaultMode") != 0 &&
                    !str_has_suffix(str_of(f->name), "Namespace"))
                    fail_msg("%s has no %s", name, f->name);
                assert_ptr_equal(openapi_field_doc(d, f->name), f); /* once */
            }
        }
    }
}

/* Words of a list of texts, with blanks between them. */
static const char *words_of(const struct document *doc, json_ref list)
{
    static char words[1024];
    size_t len = 0;

    words[0] = '\0';
    for (json_ref w = json_first(&doc->d, list); w; w = json_next(&doc->d, w))
        len += (size_t)snprintf(words + len, sizeof words - len, "%s%.*s", len ? " " : "",
                                STR_ARG(json_text(&doc->d, w)));
    return words;
}

TEST(required_fields)
{
    static const struct {
        const char *schema, *required;
    } rows[] = {
        { CORE "PersistentVolume", "" },
        { CORE "PersistentVolumeSpec", "" },
        { CORE "LocalVolumeSource", "path" },
        { CORE "HostPathVolumeSource", "path" },
        { CORE "NFSVolumeSource", "server path" },
        { CORE "CSIPersistentVolumeSource", "driver volumeHandle" },
        { CORE "ISCSIPersistentVolumeSource", "targetPortal iqn lun" },
        { CORE "RBDPersistentVolumeSource", "monitors image" },
        { CORE "ScaleIOPersistentVolumeSource", "gateway system secretRef" },
        { CORE "NodeSelectorRequirement", "key operator" },
        { CORE "PersistentVolumeClaimCondition", "type status" },
        { CORE "PodSpec", "containers" },
        { CORE "VolumeMount", "name mountPath" },
        { CORE "Event", "metadata involvedObject" },
        { CORE "PodList", "items" },
        { META "ObjectMeta", "" },
        { META "OwnerReference", "apiVersion kind name uid" },
        { STORAGE "StorageClass", "provisioner" },
        { STORAGE "VolumeAttachment", "spec" },
        { STORAGE "VolumeAttachmentSpec", "attacher source nodeName" },
        { STORAGE "VolumeAttachmentStatus", "attached" },
        { STORAGE "CSINodeSpec", "drivers" },
        { STORAGE "CSINodeDriver", "name nodeID" },
        { STORAGE "CSIStorageCapacity", "storageClassName" },
        { STORAGE "VolumeAttributesClass", "driverName" },
        { STORAGE "TokenRequest", "audience" },
        { PACKAGE_EVENTS ".Event", "eventTime" },
        { PACKAGE_EVENTS ".EventSeries", "count lastObservedTime" },
        { CORE "EventSeries", "" },
        { SNAPSHOT "VolumeSnapshot", "spec" },
        { SNAPSHOT "VolumeSnapshotContentSpec", "volumeSnapshotRef deletionPolicy driver source" },
        { SNAPSHOT "VolumeSnapshotClass", "driver deletionPolicy" },
        { PACKAGE_AUTHENTICATION ".TokenRequest", "spec" },
    };
    const struct document *doc = swagger();

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        json_ref v = schema_of(doc, rows[i].schema), required = json_get(&doc->d, v, "required");

        assert_int_equal(required != 0, rows[i].required[0] != '\0'); /* never an empty list */
        ASSERT_STR(rows[i].required, words_of(doc, required));
    }
}

static json_ref property_of(const struct document *doc, const char *schema, const char *field)
{
    json_ref p = json_path(&doc->d, schema_of(doc, schema), "properties", field);

    if (!p)
        fail_msg("%s has no %s", schema, field);
    return p;
}

TEST(values)
{
    static const struct {
        const char *schema, *field, *values;
    } rows[] = {
        { CORE "PersistentVolumeSpec", "volumeMode", "Block Filesystem" },
        { CORE "PersistentVolumeSpec", "persistentVolumeReclaimPolicy", "Delete Recycle Retain" },
        { CORE "PersistentVolumeSpec", "storageClassName", "" },
        { CORE "PersistentVolumeStatus", "phase", "Available Bound Failed Pending Released" },
        { CORE "PersistentVolumeClaimStatus", "phase", "Bound Lost Pending" },
        { STORAGE "StorageClass", "reclaimPolicy", "Delete Retain" },
        { STORAGE "StorageClass", "volumeBindingMode", "Immediate WaitForFirstConsumer" },
        { STORAGE "CSIDriverSpec", "fsGroupPolicy", "File None ReadWriteOnceWithFSType" },
        { SNAPSHOT "VolumeSnapshotClass", "deletionPolicy", "Delete Retain" },
    };
    const struct document *doc = swagger();
    json_ref type = json_get(&doc->d, property_of(doc, CORE "HostPathVolumeSource", "type"), "enum");

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_STR(rows[i].values,
                   words_of(doc, json_get(&doc->d, property_of(doc, rows[i].schema, rows[i].field), "enum")));
    assert_int_equal(json_count(&doc->d, type), 8);
    assert_true(json_is_string(&doc->d, json_at(&doc->d, type, 0), "")); /* nothing is a value too */
}

static void check_same(const struct document *doc, json_ref list, const char *const *names)
{
    uint32_t count = 0;

    for (; names[count]; count++) {
        bool found = false;

        for (json_ref v = json_first(&doc->d, list); v; v = json_next(&doc->d, v))
            found = found || json_is_string(&doc->d, v, names[count]);
        if (!found)
            fail_msg("'%s' is not among '%s'", names[count], words_of(doc, list));
    }
    assert_int_equal(json_count(&doc->d, list), count);
}

TEST(values_are_those_that_validation_knows)
{
    const struct document *doc = swagger();
    const char *spec = CORE "PersistentVolumeSpec";

    check_same(doc, json_path(&doc->d, property_of(doc, spec, "accessModes"), "items", "enum"),
               access_mode_names);
    check_same(doc, json_get(&doc->d, property_of(doc, spec, "volumeMode"), "enum"), volume_mode_names);
    check_same(doc, json_get(&doc->d, property_of(doc, spec, "persistentVolumeReclaimPolicy"), "enum"),
               reclaim_policy_names);
}

TEST(lists)
{
    static const struct {
        const char *schema, *field, *type, *keys, *merge_key, *strategy;
    } rows[] = {
        { META "ObjectMeta", "finalizers", "set", "", "", "merge" },
        { META "ObjectMeta", "ownerReferences", "map", "uid", "uid", "merge" },
        { META "ObjectMeta", "managedFields", "atomic", "", "", "" },
        { CORE "PersistentVolumeSpec", "accessModes", "atomic", "", "", "" },
        { CORE "PersistentVolumeClaimStatus", "conditions", "map", "type", "type", "merge" },
        { CORE "PodSpec", "volumes", "map", "name", "name", "merge,retainKeys" },
        { CORE "Container", "ports", "map", "containerPort protocol", "containerPort", "merge" },
        { CORE "PodSpec", "topologySpreadConstraints", "map", "topologyKey whenUnsatisfiable", "topologyKey",
          "merge" },
        { CORE "PodStatus", "hostIPs", "atomic", "", "ip", "merge" },
        { CORE "PodStatus", "podIPs", "map", "ip", "ip", "merge" },
        { CORE "NodeSpec", "podCIDRs", "set", "", "", "merge" },
        { STORAGE "CSIDriverSpec", "volumeLifecycleModes", "set", "", "", "" },
        { STORAGE "CSINodeSpec", "drivers", "map", "name", "name", "merge" },
    };
    const struct document *doc = swagger();

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        json_ref p = property_of(doc, rows[i].schema, rows[i].field);
        json_ref keys = json_get(&doc->d, p, "x-kubernetes-list-map-keys");

        ASSERT_TEXT(rows[i].type, json_get_text(&doc->d, p, "x-kubernetes-list-type"));
        ASSERT_STR(rows[i].keys, words_of(doc, keys));
        ASSERT_TEXT(rows[i].merge_key, json_get_text(&doc->d, p, "x-kubernetes-patch-merge-key"));
        ASSERT_TEXT(rows[i].strategy, json_get_text(&doc->d, p, "x-kubernetes-patch-strategy"));
    }
}

TEST(structs_that_are_applied_whole)
{
    const struct document *doc = swagger();
    json_ref claim_ref = property_of(doc, CORE "PersistentVolumeSpec", "claimRef");

    ASSERT_TEXT("atomic",
                json_get_text(&doc->d, schema_of(doc, META "LabelSelector"), "x-kubernetes-map-type"));
    ASSERT_TEXT("atomic",
                json_get_text(&doc->d, schema_of(doc, CORE "ObjectReference"), "x-kubernetes-map-type"));
    ASSERT_TEXT("granular", json_get_text(&doc->d, claim_ref, "x-kubernetes-map-type"));
    assert_true(json_get(&doc->d, schema_of(doc, CORE "PodSpec"), "x-kubernetes-map-type") == 0);
    ASSERT_TEXT("atomic", json_get_text(&doc->d, property_of(doc, CORE "PodSpec", "nodeSelector"),
                                        "x-kubernetes-map-type"));
    assert_true(json_get(&doc->d, property_of(doc, META "ObjectMeta", "labels"), "x-kubernetes-map-type") ==
                0);
}

/* Beside a reference OpenAPI 3.0 allows nothing; Swagger's readers do. */
TEST(references_with_a_description)
{
    const struct document *v3 = doc_of("", "v1"), *v2 = swagger();
    json_ref p3 = property_of(v3, CORE "PersistentVolume", "spec");
    json_ref p2 = property_of(v2, CORE "PersistentVolume", "spec");
    json_ref claims = property_of(v3, CORE "PodSpec", "volumes");

    assert_true(json_get(&v3->d, p3, "$ref") == 0);
    ASSERT_TEXT("#/components/schemas/" CORE "PersistentVolumeSpec", ref_of(v3, p3));
    ASSERT_TEXT("#/definitions/" CORE "PersistentVolumeSpec", json_get_text(&v2->d, p2, "$ref"));
    assert_true(json_path(&v3->d, claims, "items", "$ref") != 0);
}

/* Volumes and pods have sources of the same names: volumes know all their fields. */
TEST(the_closed_form_of_a_type_is_shown)
{
    static const char *const names[] = { CORE "HostPathVolumeSource", CORE "FlockerVolumeSource",
                                         CORE "AzureDiskVolumeSource", CORE "PersistentVolumeClaimSpec" };
    const struct document *doc = doc_of("", "v1");

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        json_ref v = schema_of(doc, names[i]);

        assert_true(json_get(&doc->d, v, "x-kubernetes-preserve-unknown-fields") == 0);
        assert_true(json_count(&doc->d, json_get(&doc->d, v, "properties")) >= 2);
    }
    assert_true(json_get(&doc->d, schema_of(doc, CORE "Container"), "x-kubernetes-preserve-unknown-fields") !=
                0);
}

TEST(what_is_not_known)
{
    assert_null(openapi_package("apps", "v1"));
    assert_null(openapi_package("storage.k8s.io", "v1beta1"));
    assert_null(openapi_kind_schema("", "v1", "PodExecOptions"));
    assert_null(openapi_kind_schema("policy", "v1", "Binding"));
    assert_null(openapi_schema_doc(PACKAGE_CORE, "Deployment"));
    assert_null(openapi_field_doc(NULL, "replicas"));
    assert_non_null(openapi_field_doc(NULL, "kind"));
}

TEST_MAIN()
