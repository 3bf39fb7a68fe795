/* The schemas of OpenAPI documents, from the tables in api/.
 *
 * A component is one named schema. The components of a document are the kinds of its resources and, found by
 * walking their fields, all types that these refer to. The package of a type is that of the kind it was found
 * in, except for the few types that several groups share.
 *
 * Some types exist twice in api/: closed for volumes, and open for pods. A document has each name once, and
 * the closed form has every field: closed kinds are walked first, and the first of a name stays. */
#include "apiserver/openapi_int.h"

#include <string.h>

#include "api/request_kind.h"
#include "base/cleanup.h"
#include "base/vec.h"

static const struct {
    const char *group, *version, *name;
} packages[] = {
    { "", "v1", PACKAGE_CORE },
    { "storage.k8s.io", "v1", PACKAGE_STORAGE },
    { "coordination.k8s.io", "v1", PACKAGE_COORDINATION },
    { "discovery.k8s.io", "v1", PACKAGE_DISCOVERY },
    { "events.k8s.io", "v1", PACKAGE_EVENTS },
    { "authentication.k8s.io", "v1", PACKAGE_AUTHENTICATION },
    { "authentication.k8s.io", "v1beta1", PACKAGE_AUTHENTICATION_BETA },
    { "authorization.k8s.io", "v1", PACKAGE_AUTHORIZATION },
    { "policy", "v1", PACKAGE_POLICY },
    { "snapshot.storage.k8s.io", "v1", PACKAGE_SNAPSHOT },
    { "groupsnapshot.storage.k8s.io", "v1", PACKAGE_GROUP_SNAPSHOT },
};

/* Types of another package than the kinds that use them. The types of their fields are in the same package.
 */
static const struct {
    const char *name, *package;
} homes[] = {
    { "DeleteOptions", PACKAGE_META },
    { "FieldSelectorRequirement", PACKAGE_META },
    { "LabelSelector", PACKAGE_META },
    { "LabelSelectorRequirement", PACKAGE_META },
    { "ListMeta", PACKAGE_META },
    { "ObjectMeta", PACKAGE_META },
    { "Status", PACKAGE_META },
    { "EventSource", PACKAGE_CORE },
    { "ObjectReference", PACKAGE_CORE },
    { "PersistentVolumeSpec", PACKAGE_CORE },
    { "TopologySelectorTerm", PACKAGE_CORE },
    { "UserInfo", PACKAGE_AUTHENTICATION },
};

/* Schemas that are not structs: complete, in every document. */
static const struct {
    enum field_type type; /* field type that refers to it; FIELD_TYPE_COUNT for none */
    const char *package, *name, *format, *json_type, *text;
    const char *one_of; /* what OpenAPI 3 has instead of the type; NULL for the type */
} leaves[] = {
    /* Both forms are taken. Where a schema has no type, clients show its name: map[string]Quantity. */
    { FIELD_QUANTITY, PACKAGE_RESOURCE, "Quantity", NULL, "string",
      "An amount: a decimal number with an optional suffix, decimal (n u m k M G T P E), binary (Ki Mi Gi Ti "
      "Pi Ei) or an exponent (1e3). \"0.5Gi\" and \"512Mi\" are the same amount; the server stores the "
      "shortest form with an integer.",
      .one_of = "[{\"type\":\"string\"},{\"type\":\"number\"}]" },
    { FIELD_TIME, PACKAGE_META, "Time", "date-time", "string", "A point in time, to the second (RFC 3339)." },
    { FIELD_MICRO_TIME, PACKAGE_META, "MicroTime", "date-time", "string",
      "A point in time, to the microsecond (RFC 3339)." },
    { FIELD_ANY, PACKAGE_META, "FieldsV1", NULL, "object",
      "A set of fields as a tree: f:NAME is a field, k:KEYS an item of a list with keys, v:VALUE an item of "
      "a set, and a dot the element itself." },
    { FIELD_TYPE_COUNT, PACKAGE_META, "Patch", NULL, "object",
      "Changes to an object, in the format of the request's content type." },
};

const char *openapi_package(const char *group, const char *version)
{
    for (size_t i = 0; i < ARRAY_LEN(packages); i++) {
        if (strcmp(packages[i].group, group) == 0 && strcmp(packages[i].version, version) == 0)
            return packages[i].name;
    }
    return NULL;
}

static const char *home_of(const struct schema *s, const char *package)
{
    for (size_t i = 0; i < ARRAY_LEN(homes); i++) {
        if (strcmp(homes[i].name, s->go_name) == 0)
            return homes[i].package;
    }
    return package;
}

struct schema_component {
    const struct schema *schema;
    const char *package;
    const char *group, *version; /* NULL unless it is a kind */
};

struct schema_components {
    VEC(struct schema_component) all;
    size_t walked; /* number of components whose fields were walked */
};

static int components_add(struct schema_components *cs, struct schema_component add)
{
    add.package = home_of(add.schema, add.package);
    for (size_t i = 0; i < cs->all.count; i++) {
        const struct schema_component *c = &cs->all.items[i];

        if (strcmp(c->schema->go_name, add.schema->go_name) == 0 && strcmp(c->package, add.package) == 0)
            return 0;
    }
    return vec_push(&cs->all, add);
}

static int components_walk(struct schema_components *cs)
{
    for (; cs->walked < cs->all.count; cs->walked++) {
        struct schema_component c = cs->all.items[cs->walked]; /* a copy: the array may be reallocated */

        for (const struct field *f = c.schema->fields; f < c.schema->fields + c.schema->fields_count; f++) {
            if (f->sub && components_add(cs, (struct schema_component){ f->sub, c.package, NULL, NULL }) < 0)
                return -ERR_NO_MEMORY;
        }
    }
    return 0;
}

static int components_add_kind(struct schema_components *cs, const char *group, const char *version,
                               const char *kind, bool open)
{
    const struct schema *s = openapi_kind_schema(group, version, kind);
    const char *package = openapi_package(group, version);

    if (!s || !package || s->open != open)
        return 0;
    return components_add(cs, (struct schema_component){ s, package, group, version });
}

/* Adds the closed or the open kinds of these resources, with the types of their fields. */
static int components_add_kinds(struct schema_components *cs, const struct resource *r, size_t count,
                                bool open)
{
    int failed = 0;

    for (size_t i = 0; i < count; i++) {
        failed |= components_add_kind(cs, r[i].group, r[i].version, r[i].kind, open);
        for (const struct subresource *s = r[i].subs; s->name; s++) {
            if (s->kind)
                failed |= components_add_kind(cs, s->group, s->version, s->kind, open);
        }
    }
    return failed ? -ERR_NO_MEMORY : components_walk(cs);
}

static int components_collect(struct schema_components *cs, const struct resource *r, size_t count)
{
    static const struct schema *const shared[] = { &openapi_list_meta_schema, &delete_options_schema,
                                                   &openapi_status_schema };

    for (size_t i = 0; i < ARRAY_LEN(shared); i++) {
        if (components_add(cs, (struct schema_component){ shared[i], PACKAGE_META, NULL, NULL }) < 0)
            return -ERR_NO_MEMORY;
    }
    if (components_add_kinds(cs, r, count, /* open= */ false) < 0)
        return -ERR_NO_MEMORY;
    return components_add_kinds(cs, r, count, /* open= */ true);
}

/* Writes a reference. OpenAPI 3.0 allows nothing next to it, so it is wrapped if a description follows. */
static void write_ref(struct openapi_writer *w, const char *package, const char *name, bool has_siblings)
{
    if (w->dialect == OPENAPI_V3 && has_siblings) {
        json_out_array(w->out, "allOf");
        json_out_object(w->out, NULL);
        writer_ref(w, package, name, "");
        json_out_end_object(w->out);
        json_out_end_array(w->out);
    } else {
        writer_ref(w, package, name, "");
    }
}

static void write_scalar(struct openapi_writer *w, const char *json_type, const char *format,
                         const char *values)
{
    struct str rest = str_of(values ? values : "");

    json_out_text(w->out, "type", json_type);
    if (format)
        json_out_text(w->out, "format", format);
    if (!values)
        return;
    json_out_array(w->out, "enum");
    while (rest.s)
        json_out_str(w->out, NULL, str_next(&rest, '|'));
    json_out_end_array(w->out);
}

/* Writes the schema of a value: of a field, or of the items of a list or map. */
static void write_value(struct openapi_writer *w, enum field_type type, const struct schema *sub,
                        const char *package, bool has_siblings, const char *values)
{
    switch (type) {
    case FIELD_STRING:
        return write_scalar(w, "string", NULL, values);
    case FIELD_BOOL:
        return write_scalar(w, "boolean", NULL, NULL);
    case FIELD_INT32:
        return write_scalar(w, "integer", "int32", NULL);
    case FIELD_INT64:
        return write_scalar(w, "integer", "int64", NULL);
    case FIELD_BYTES:
        return write_scalar(w, "string", "byte", NULL);
    case FIELD_INT_OR_STRING:
        return write_scalar(w, "string", "int-or-string", NULL);
    case FIELD_OBJECT:
        return write_ref(w, home_of(sub, package), sub->go_name, has_siblings);
    case FIELD_QUANTITY:
    case FIELD_TIME:
    case FIELD_MICRO_TIME:
    case FIELD_ANY:
        for (size_t i = 0; i < ARRAY_LEN(leaves); i++) {
            if (leaves[i].type == type)
                write_ref(w, leaves[i].package, leaves[i].name, has_siblings);
        }
        return;
    case FIELD_LIST: /* in a map: of strings */
        json_out_text(w->out, "type", "array");
        json_out_raw(w->out, "items", STR_LIT("{\"type\":\"string\"}"));
        return;
    case FIELD_MAP: /* never nested */
    case FIELD_TYPE_COUNT:
        return;
    }
}

/* "containerPort protocol=TCP": the keys without their defaults. */
static void write_owned_keys(struct openapi_writer *w, const char *keys)
{
    struct str rest = str_of(keys);

    json_out_array(w->out, "x-kubernetes-list-map-keys");
    while (rest.s) {
        struct str key = str_next(&rest, ' ');

        json_out_str(w->out, NULL, str_next(&key, '='));
    }
    json_out_end_array(w->out);
}

/* The list type for apply and for patches. */
static void write_list_type(struct openapi_writer *w, const struct field *f)
{
    const char *keys = f->owned_keys ? f->owned_keys : f->merge_key;
    const char *type = "atomic";

    if (!(f->flags & FIELD_ATOMIC)) {
        if (f->flags & (FIELD_SET | FIELD_OWNED_SET))
            type = "set";
        else if (keys)
            type = "map";
    }
    json_out_text(w->out, "x-kubernetes-list-type", type);
    if (strcmp(type, "map") == 0)
        write_owned_keys(w, keys);
    if (f->merge_key)
        json_out_text(w->out, "x-kubernetes-patch-merge-key", f->merge_key);
    if (f->merge_key || (f->flags & FIELD_SET))
        json_out_text(w->out, "x-kubernetes-patch-strategy",
                      f->flags & FIELD_RETAIN_KEYS ? "merge,retainKeys" : "merge");
}

static void write_property(struct openapi_writer *w, const struct field *f, const char *package,
                           const struct doc *doc)
{
    const char *values = doc ? doc->values : NULL;

    json_out_object(w->out, f->name);
    if (doc)
        json_out_text(w->out, "description", doc->text);
    if (f->type == FIELD_LIST || f->type == FIELD_MAP) {
        json_out_text(w->out, "type", f->type == FIELD_LIST ? "array" : "object");
        json_out_object(w->out, f->type == FIELD_LIST ? "items" : "additionalProperties");
        write_value(w, f->item, f->sub, package, /* has_siblings= */ false, values);
        json_out_end_object(w->out);
        if (f->type == FIELD_LIST)
            write_list_type(w, f);
        else if (f->flags & FIELD_ATOMIC)
            json_out_text(w->out, "x-kubernetes-map-type", "atomic");
    } else {
        write_value(w, f->type, f->sub, package, /* has_siblings= */ doc != NULL, values);
        if (f->flags & FIELD_GRANULAR)
            json_out_text(w->out, "x-kubernetes-map-type", "granular");
    }
    json_out_end_object(w->out);
}

static void write_required(struct openapi_writer *w, const struct schema *s, const struct doc *doc)
{
    bool is_open = false;

    for (const struct field *f = s->fields; f < s->fields + s->fields_count; f++) {
        const struct doc *fd = openapi_field_doc(doc, f->name);

        if (!fd || !(fd->flags & DOC_REQUIRED))
            continue;
        if (!is_open)
            json_out_array(w->out, "required"); /* an empty list is not allowed */
        is_open = true;
        json_out_str(w->out, NULL, str_of(f->name));
    }
    if (is_open)
        json_out_end_array(w->out);
}

static void write_object(struct openapi_writer *w, const struct schema *s, const char *package,
                         const struct doc *doc)
{
    json_out_text(w->out, "type", "object");
    if (doc)
        json_out_text(w->out, "description", doc->text);
    json_out_object(w->out, "properties");
    for (const struct field *f = s->fields; f < s->fields + s->fields_count; f++)
        write_property(w, f, package, openapi_field_doc(doc, f->name));
    json_out_end_object(w->out);
    write_required(w, s, doc);
}

static void write_kind(struct openapi_writer *w, const char *group, const char *version, const char *kind,
                       const char *suffix)
{
    json_out_array(w->out, "x-kubernetes-group-version-kind");
    writer_gvk(w, NULL, group, version, kind, suffix);
    json_out_end_array(w->out);
}

static void write_component(struct openapi_writer *w, const struct schema_component *c)
{
    const char *name = c->schema->go_name;

    writer_open_schema(w, c->package, name, "");
    write_object(w, c->schema, c->package, openapi_schema_doc(c->package, name));
    if (c->schema->atomic)
        json_out_text(w->out, "x-kubernetes-map-type", "atomic");
    if (c->schema->open)
        json_out_bool(w->out, "x-kubernetes-preserve-unknown-fields", true);
    if (c->group)
        write_kind(w, c->group, c->version, name, "");
    json_out_end_object(w->out);
}

/* Lists of objects are the same for every kind. */
static void write_list_component(struct openapi_writer *w, const struct resource *r)
{
    const struct field fields[] = {
        { "kind", FIELD_STRING },
        { "apiVersion", FIELD_STRING },
        { "metadata", FIELD_OBJECT, .sub = &openapi_list_meta_schema },
        { "items", FIELD_LIST, .item = FIELD_OBJECT,
          .sub = openapi_kind_schema(r->group, r->version, r->kind) },
    };
    const char *package = openapi_package(r->group, r->version);

    writer_open_schema(w, package, r->kind, "List");
    write_object(w, &(struct schema){ .fields = fields, .fields_count = ARRAY_LEN(fields) }, package,
                 openapi_schema_doc(PACKAGE_META, "List"));
    write_kind(w, r->group, r->version, r->kind, "List");
    json_out_end_object(w->out);
}

static void write_leaves(struct openapi_writer *w)
{
    for (size_t i = 0; i < ARRAY_LEN(leaves); i++) {
        writer_open_schema(w, leaves[i].package, leaves[i].name, "");
        if (w->dialect == OPENAPI_V3 && leaves[i].one_of)
            json_out_raw(w->out, "oneOf", str_of(leaves[i].one_of));
        else
            write_scalar(w, leaves[i].json_type, leaves[i].format, /* values= */ NULL);
        json_out_text(w->out, "description", leaves[i].text);
        json_out_end_object(w->out);
    }
}

int openapi_write_schemas(struct openapi_writer *w, const struct resource *r, size_t count, struct error *err)
{
    struct schema_components cs = { 0 };
    int failed = components_collect(&cs, r, count);

    for (size_t i = 0; !failed && i < cs.all.count; i++)
        write_component(w, &cs.all.items[i]);
    for (size_t i = 0; !failed && i < count; i++) {
        if (r[i].verbs & VERB_BIT(VERB_LIST))
            write_list_component(w, &r[i]);
    }
    write_leaves(w);
    vec_done(&cs.all);
    return failed ? error_no_memory(err) : 0;
}
