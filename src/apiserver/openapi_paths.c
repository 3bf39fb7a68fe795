/* The paths of OpenAPI documents: the operations of each resource.
 *
 * kubectl looks up two things here: the kind of an operation, and whether a patch has the parameter
 * fieldValidation, which means that the server validates fields and the client need not. That parameter is
 * written in full wherever it occurs, because kubectl does not follow references to parameters.
 *
 * The strategic merge patch is accepted but not listed: a client that finds it here would compute it from
 * these schemas instead of from its built-in types, which have more information. */
#include "apiserver/openapi_int.h"

#include <string.h>

#include "base/cleanup.h"

/* Operations that have a parameter. */
enum {
    IN_PATH_NAME = 1 << 0,
    IN_PATH_NAMESPACE = 1 << 1,
    BY_ALL = 1 << 2,
    BY_LIST = 1 << 3,
    BY_SELECTION = 1 << 4, /* deletion of a collection */
    BY_GET = 1 << 5,
    BY_WRITE = 1 << 6,
    BY_PATCH = 1 << 7,
    BY_DELETE = 1 << 8,
    IN_FULL = 1 << 9, /* written in full, not by reference */
};

static const struct parameter {
    const char *name, *type;
    unsigned taken;
    const char *text;
} parameters[] = {
    { "name", "string", IN_PATH_NAME, "The object's name." },
    { "namespace", "string", IN_PATH_NAMESPACE, "The object's namespace." },
    { "pretty", "string", BY_ALL, "\"true\": the response is indented." },
    { "allowWatchBookmarks", "boolean", BY_LIST,
      "A watch may send BOOKMARK events, which contain only a resourceVersion." },
    { "continue", "string", BY_LIST | BY_SELECTION,
      "The token of the previous page: requests the next page." },
    { "dryRun", "string", BY_WRITE | BY_DELETE,
      "\"All\": the server validates the request and responds, but stores nothing." },
    { "fieldManager", "string", BY_WRITE,
      "The name under which field ownership is recorded, at most 128 characters." },
    { "fieldSelector", "string", BY_LIST | BY_SELECTION, "Selects objects by fields: a=b,c!=d." },
    { "fieldValidation", "string", BY_WRITE | IN_FULL,
      "How unknown and duplicate fields are handled: Ignore drops them, Warn (default) drops them with a "
      "warning, Strict rejects the request." },
    { "force", "boolean", BY_PATCH, "Only for apply: takes over fields that other managers own." },
    { "gracePeriodSeconds", "integer", BY_DELETE,
      "Seconds until the object is removed; 0 removes it immediately." },
    { "labelSelector", "string", BY_LIST | BY_SELECTION, "Selects objects by labels: a=b,c in (d,e),!f." },
    { "limit", "integer", BY_LIST | BY_SELECTION, "The maximum number of objects per response." },
    { "orphanDependents", "boolean", BY_DELETE, "Deprecated: use propagationPolicy." },
    { "propagationPolicy", "string", BY_DELETE,
      "What happens to dependent objects: Orphan keeps them, Background deletes them after the object, "
      "Foreground before it." },
    { "resourceVersion", "string", BY_LIST | BY_SELECTION | BY_GET,
      "The version to read, or from which to watch; the meaning depends on the request." },
    { "resourceVersionMatch", "string", BY_LIST, "How resourceVersion is applied: NotOlderThan or Exact." },
    { "sendInitialEvents", "boolean", BY_LIST,
      "A watch starts with the existing objects, then a BOOKMARK, then changes." },
    { "timeoutSeconds", "integer", BY_LIST, "The timeout of the list or watch in seconds." },
    { "watch", "boolean", BY_LIST, "Streams changes instead of returning a list." },
};

enum openapi_body { BODY_NONE, BODY_OBJECT, BODY_PATCH, BODY_OPTIONS };

static const struct openapi_operation {
    enum verb verb;
    const char *method, *action, *id; /* id: the beginning of the operation's name */
    unsigned takes;
    enum openapi_body body;
} operations[] = {
    { VERB_LIST, "get", "list", "list", BY_LIST, BODY_NONE },
    { VERB_CREATE, "post", "post", "create", BY_WRITE, BODY_OBJECT },
    { VERB_DELETE_COLLECTION, "delete", "deletecollection", "deleteCollection", BY_DELETE | BY_SELECTION,
      BODY_OPTIONS },
    { VERB_GET, "get", "get", "read", BY_GET, BODY_NONE },
    { VERB_UPDATE, "put", "put", "replace", BY_WRITE, BODY_OBJECT },
    { VERB_PATCH, "patch", "patch", "patch", BY_WRITE | BY_PATCH, BODY_PATCH },
    { VERB_DELETE, "delete", "delete", "delete", BY_DELETE, BODY_OPTIONS },
};

#define ON_COLLECTION (VERB_BIT(VERB_LIST) | VERB_BIT(VERB_CREATE) | VERB_BIT(VERB_DELETE_COLLECTION))
#define ON_OBJECT (VERB_BIT(VERB_GET) | VERB_BIT(VERB_UPDATE) | VERB_BIT(VERB_PATCH) | VERB_BIT(VERB_DELETE))
#define ON_PART (VERB_BIT(VERB_GET) | VERB_BIT(VERB_UPDATE) | VERB_BIT(VERB_PATCH) | VERB_BIT(VERB_CREATE))

/* One path. */
struct item {
    const struct resource *r;
    const struct subresource *sub; /* NULL for none */
    unsigned verbs;
    bool is_in_namespace; /* the path has a namespace */
    bool has_name;
    /* Type of bodies: the resource's kind, or the subresource's own. */
    const char *group, *version, *kind;
};

static const char *const media_types[] = { "application/json", "application/yaml", NULL };
static const char *const patch_types[] = { "application/json-patch+json", "application/merge-patch+json",
                                           "application/apply-patch+yaml", NULL };

static void write_schema_ref(struct openapi_writer *w, const char *package, const char *name,
                             const char *suffix)
{
    json_out_object(w->out, "schema");
    writer_ref(w, package, name, suffix);
    json_out_end_object(w->out);
}

static void write_texts(struct openapi_writer *w, const char *key, const char *const *texts)
{
    json_out_array(w->out, key);
    for (; *texts; texts++)
        json_out_str(w->out, NULL, str_of(*texts));
    json_out_end_array(w->out);
}

/* Writes the members of a parameter, without the braces. */
static void write_parameter(struct openapi_writer *w, const struct parameter *p)
{
    bool is_in_path = p->taken & (IN_PATH_NAME | IN_PATH_NAMESPACE);

    json_out_text(w->out, "name", p->name);
    json_out_text(w->out, "in", is_in_path ? "path" : "query");
    json_out_text(w->out, "description", p->text);
    if (is_in_path)
        json_out_bool(w->out, "required", true);
    if (w->dialect == OPENAPI_V3)
        json_out_object(w->out, "schema");
    json_out_text(w->out, "type", p->type);
    if (w->dialect == OPENAPI_V3)
        json_out_end_object(w->out);
}

void openapi_write_parameters(struct openapi_writer *w)
{
    for (size_t i = 0; i < ARRAY_LEN(parameters); i++) {
        if (parameters[i].taken & IN_FULL)
            continue;
        json_out_object(w->out, parameters[i].name);
        write_parameter(w, &parameters[i]);
        json_out_end_object(w->out);
    }
}

static void write_parameter_refs(struct openapi_writer *w, unsigned takes)
{
    const char *where = w->dialect == OPENAPI_V3 ? "components/parameters" : "parameters";

    for (size_t i = 0; i < ARRAY_LEN(parameters); i++) {
        if (!(parameters[i].taken & takes))
            continue;
        json_out_object(w->out, NULL);
        if (parameters[i].taken & IN_FULL)
            write_parameter(w, &parameters[i]);
        else
            json_out_textf(w->out, "$ref", "#/%s/%s", where, parameters[i].name);
        json_out_end_object(w->out);
    }
}

static void write_body_ref(struct openapi_writer *w, const struct item *i, enum openapi_body body)
{
    if (body == BODY_OBJECT)
        write_schema_ref(w, openapi_package(i->group, i->version), i->kind, "");
    else
        write_schema_ref(w, PACKAGE_META, body == BODY_PATCH ? "Patch" : "DeleteOptions", "");
}

static void write_request_body(struct openapi_writer *w, const struct item *i, enum openapi_body body)
{
    const char *const *types = body == BODY_PATCH ? patch_types : media_types;

    if (body == BODY_NONE)
        return;
    json_out_object(w->out, "requestBody");
    json_out_object(w->out, "content");
    for (; *types; types++) {
        json_out_object(w->out, *types);
        write_body_ref(w, i, body);
        json_out_end_object(w->out);
    }
    json_out_end_object(w->out);
    if (body != BODY_OPTIONS)
        json_out_bool(w->out, "required", true);
    json_out_end_object(w->out);
}

/* Swagger has bodies as parameters. */
static void write_body_parameter(struct openapi_writer *w, const struct item *i, enum openapi_body body)
{
    if (body == BODY_NONE)
        return;
    json_out_object(w->out, NULL);
    json_out_text(w->out, "name", "body");
    json_out_text(w->out, "in", "body");
    if (body != BODY_OPTIONS)
        json_out_bool(w->out, "required", true);
    write_body_ref(w, i, body);
    json_out_end_object(w->out);
}

static void write_answer_ref(struct openapi_writer *w, const struct item *i,
                             const struct openapi_operation *op)
{
    const char *package = openapi_package(i->group, i->version);
    bool is_list = op->verb == VERB_LIST || op->verb == VERB_DELETE_COLLECTION;
    bool answers_object = i->r->info && (i->r->info->flags & KIND_DELETE_ANSWERS_OBJECT);

    if (op->verb == VERB_DELETE && !answers_object)
        write_schema_ref(w, PACKAGE_META, "Status", "");
    else
        write_schema_ref(w, package, i->kind, is_list ? "List" : "");
}

static void write_answer(struct openapi_writer *w, const char *status, const char *text, const struct item *i,
                         const struct openapi_operation *op)
{
    json_out_object(w->out, status);
    json_out_text(w->out, "description", text);
    if (w->dialect == OPENAPI_V2) {
        write_answer_ref(w, i, op);
    } else {
        json_out_object(w->out, "content");
        for (const char *const *type = media_types; *type; type++) {
            json_out_object(w->out, *type);
            write_answer_ref(w, i, op);
            json_out_end_object(w->out);
        }
        json_out_end_object(w->out);
    }
    json_out_end_object(w->out);
}

/* "storage.k8s.io" → "Storage", "v1" → "V1": words of an operation's name. */
static void add_words(struct buf *out, const char *text)
{
    struct str rest = str_of(text[0] ? text : "core");

    if (str_has_suffix(rest, ".k8s.io"))
        rest.len -= strlen(".k8s.io");
    while (rest.s) {
        struct str word = str_next(&rest, '.');

        if (word.len && word.s[0] >= 'a' && word.s[0] <= 'z') {
            buf_add_char(out, (char)(word.s[0] - 'a' + 'A'));
            word = (struct str){ word.s + 1, word.len - 1 };
        }
        buf_add_str(out, word);
    }
}

/* "replaceCoreV1NamespacedPodStatus": unique per operation. */
static void write_operation_id(struct openapi_writer *w, const struct item *i,
                               const struct openapi_operation *op)
{
    _cleanup_(buf_done_p) struct buf id = BUF_INIT(OPENAPI_NAME_BYTES_MAX);

    buf_add_cstr(&id, op->id);
    add_words(&id, i->r->group);
    add_words(&id, i->r->version);
    if (i->is_in_namespace)
        buf_add_cstr(&id, "Namespaced");
    buf_add_cstr(&id, i->r->kind);
    if (i->sub)
        add_words(&id, i->sub->name);
    if (i->r->is_namespaced && !i->is_in_namespace)
        buf_add_cstr(&id, "ForAllNamespaces");
    json_out_str(w->out, "operationId", buf_str(&id));
}

static void write_operation(struct openapi_writer *w, const struct item *i,
                            const struct openapi_operation *op)
{
    json_out_object(w->out, op->method);
    write_operation_id(w, i, op);
    json_out_array(w->out, "parameters");
    if (w->dialect == OPENAPI_V2)
        write_body_parameter(w, i, op->body);
    write_parameter_refs(w, op->takes | BY_ALL);
    json_out_end_array(w->out);
    if (w->dialect == OPENAPI_V3) {
        write_request_body(w, i, op->body);
    } else {
        if (op->body != BODY_NONE)
            write_texts(w, "consumes", op->body == BODY_PATCH ? patch_types : media_types);
        write_texts(w, "produces", media_types);
    }
    json_out_object(w->out, "responses");
    if (op->verb != VERB_CREATE)
        write_answer(w, "200", "OK", i, op);
    if (op->verb == VERB_CREATE || op->verb == VERB_PATCH || op->verb == VERB_UPDATE)
        write_answer(w, "201", "Created", i, op);
    json_out_end_object(w->out);
    json_out_text(w->out, "x-kubernetes-action", op->action);
    writer_gvk(w, "x-kubernetes-group-version-kind", i->group, i->version, i->kind, "");
    json_out_end_object(w->out);
}

static void write_path_key(struct openapi_writer *w, const struct item *i)
{
    _cleanup_(buf_done_p) struct buf path = BUF_INIT(OPENAPI_NAME_BYTES_MAX);
    const struct resource *r = i->r;

    buf_addf(&path, "/api%s%s/%s", r->group[0] ? "s/" : "", r->group, r->version);
    if (i->is_in_namespace)
        buf_add_cstr(&path, "/namespaces/{namespace}");
    buf_addf(&path, "/%s%s", r->plural, i->has_name ? "/{name}" : "");
    if (i->sub)
        buf_addf(&path, "/%s", i->sub->name);
    json_out_object(w->out, buf_cstr(&path));
}

static void write_item(struct openapi_writer *w, const struct item *i)
{
    unsigned in_path = (i->has_name ? IN_PATH_NAME : 0u) | (i->is_in_namespace ? IN_PATH_NAMESPACE : 0u);

    if (!i->verbs)
        return;
    write_path_key(w, i);
    if (in_path) {
        json_out_array(w->out, "parameters");
        write_parameter_refs(w, in_path);
        json_out_end_array(w->out);
    }
    for (size_t n = 0; n < ARRAY_LEN(operations); n++) {
        if (i->verbs & VERB_BIT(operations[n].verb))
            write_operation(w, i, &operations[n]);
    }
    json_out_end_object(w->out);
}

static void write_resource(struct openapi_writer *w, const struct resource *r)
{
    struct item i = { .r = r, .group = r->group, .version = r->version, .kind = r->kind };

    if (r->is_namespaced) {
        i.verbs = r->verbs & VERB_BIT(VERB_LIST);
        write_item(w, &i);
        i.is_in_namespace = true;
    }
    i.verbs = r->verbs & ON_COLLECTION;
    write_item(w, &i);
    i.has_name = true;
    i.verbs = r->verbs & ON_OBJECT;
    write_item(w, &i);
    for (const struct subresource *s = r->subs; s->name; s++) {
        if (s->id == SUB_LOG || s->id == SUB_EXEC) /* never served */
            continue;
        i.sub = s;
        i.verbs = s->verbs & ON_PART;
        i.group = s->kind ? s->group : r->group;
        i.version = s->kind ? s->version : r->version;
        i.kind = s->kind ? s->kind : r->kind;
        write_item(w, &i);
    }
}

void openapi_write_paths(struct openapi_writer *w, const struct resource *r, size_t count)
{
    for (size_t i = 0; i < count; i++)
        write_resource(w, &r[i]);
}
