/* The paths of OpenAPI documents: which operations each resource has.
 *
 * kubectl looks two things up here. An operation tells the kind it is about; and a patch that has the
 * parameter fieldValidation tells that the server checks the fields, so that the client need not. The
 * parameter stands in full wherever it is taken, because kubectl follows no references to parameters.
 *
 * The strategic merge patch is taken but not named: a client that reads of it here would compute it from
 * these schemas instead of from the types it was built with, and know less. */
#include "apiserver/openapi_int.h"

#include <string.h>

#include "base/cleanup.h"

/* In the order of the table. */
enum parameter_id {
    PARAMETER_NAME,
    PARAMETER_NAMESPACE,
    PARAMETER_PRETTY,
    PARAMETER_BOOKMARKS,
    PARAMETER_CONTINUE,
    PARAMETER_DRY_RUN,
    PARAMETER_MANAGER,
    PARAMETER_FIELD_SELECTOR,
    PARAMETER_FIELD_VALIDATION,
    PARAMETER_FORCE,
    PARAMETER_GRACE,
    PARAMETER_LABEL_SELECTOR,
    PARAMETER_LIMIT,
    PARAMETER_ORPHAN,
    PARAMETER_PROPAGATION,
    PARAMETER_VERSION,
    PARAMETER_VERSION_MATCH,
    PARAMETER_INITIAL_EVENTS,
    PARAMETER_TIMEOUT,
    PARAMETER_WATCH,
    PARAMETER_COUNT,
};

static const struct {
    const char *name, *type, *text;
} parameters[] = {
    [PARAMETER_NAME] = { "name", "string", "The object's name." },
    [PARAMETER_NAMESPACE] = { "namespace", "string", "The namespace the object is in." },
    [PARAMETER_PRETTY] = { "pretty", "string", "\"true\": the answer is indented." },
    [PARAMETER_BOOKMARKS] = { "allowWatchBookmarks", "boolean",
                              "A watch may send BOOKMARK events, which carry a resourceVersion alone." },
    [PARAMETER_CONTINUE] = { "continue", "string",
                             "The token that came with the page before: asks for the one after it." },
    [PARAMETER_DRY_RUN] = { "dryRun", "string",
                            "\"All\": everything is checked and answered, nothing is stored." },
    [PARAMETER_MANAGER] = { "fieldManager", "string",
                            "Who is writing, for the record of field ownership: at most 128 characters." },
    [PARAMETER_FIELD_SELECTOR] = { "fieldSelector", "string",
                                   "Only objects whose fields have these values: a=b,c!=d." },
    [PARAMETER_FIELD_VALIDATION] = { "fieldValidation", "string",
                                     "What to do about unknown and duplicate fields: Ignore drops them, Warn "
                                     "(the default) drops them with a warning, Strict refuses the request." },
    [PARAMETER_FORCE] = { "force", "boolean",
                          "Apply: takes over fields that other managers own. Other patches do not have it." },
    [PARAMETER_GRACE] = { "gracePeriodSeconds", "integer",
                          "How long the object may take to end; 0 removes it at once." },
    [PARAMETER_LABEL_SELECTOR] = { "labelSelector", "string",
                                   "Only objects with these labels: a=b,c in (d,e),!f." },
    [PARAMETER_LIMIT] = { "limit", "integer", "At most so many objects in one answer." },
    [PARAMETER_ORPHAN] = { "orphanDependents", "boolean", "Deprecated: use propagationPolicy." },
    [PARAMETER_PROPAGATION] = { "propagationPolicy", "string",
                                "What becomes of dependent objects: Orphan leaves them, Background deletes "
                                "them afterwards, Foreground before." },
    [PARAMETER_VERSION] = { "resourceVersion", "string",
                            "The state to answer from, or to watch from; what it means depends on the "
                            "request." },
    [PARAMETER_VERSION_MATCH] = { "resourceVersionMatch", "string",
                                  "How resourceVersion is meant: NotOlderThan or Exact." },
    [PARAMETER_INITIAL_EVENTS] = { "sendInitialEvents", "boolean",
                                   "A watch begins with the present objects, then a BOOKMARK, then "
                                   "changes." },
    [PARAMETER_TIMEOUT] = { "timeoutSeconds", "integer", "Ends the list or watch after this time." },
    [PARAMETER_WATCH] = { "watch", "boolean", "Changes as they happen, instead of a list." },
};
static_assert(ARRAY_LEN(parameters) == PARAMETER_COUNT, "a row for every parameter");

#define BIT(id) (1u << PARAMETER_##id)
#define TAKES_LIST                                                                             \
    (BIT(BOOKMARKS) | BIT(CONTINUE) | BIT(FIELD_SELECTOR) | BIT(LABEL_SELECTOR) | BIT(LIMIT) | \
     BIT(VERSION) | BIT(VERSION_MATCH) | BIT(INITIAL_EVENTS) | BIT(TIMEOUT) | BIT(WATCH))
#define TAKES_WRITE (BIT(DRY_RUN) | BIT(MANAGER) | BIT(FIELD_VALIDATION))
#define TAKES_DELETE (BIT(DRY_RUN) | BIT(GRACE) | BIT(ORPHAN) | BIT(PROPAGATION))
#define TAKES_SELECTION \
    (BIT(CONTINUE) | BIT(FIELD_SELECTOR) | BIT(LABEL_SELECTOR) | BIT(LIMIT) | BIT(VERSION))

enum body { BODY_NONE, BODY_OBJECT, BODY_PATCH, BODY_OPTIONS };

static const struct operation {
    enum verb verb;
    const char *method, *action, *id; /* id: what the operation's name begins with */
    unsigned takes;
    enum body body;
} operations[] = {
    { VERB_LIST, "get", "list", "list", TAKES_LIST, BODY_NONE },
    { VERB_CREATE, "post", "post", "create", TAKES_WRITE, BODY_OBJECT },
    { VERB_DELETE_COLLECTION, "delete", "deletecollection", "deleteCollection",
      TAKES_DELETE | TAKES_SELECTION, BODY_OPTIONS },
    { VERB_GET, "get", "get", "read", BIT(VERSION), BODY_NONE },
    { VERB_UPDATE, "put", "put", "replace", TAKES_WRITE, BODY_OBJECT },
    { VERB_PATCH, "patch", "patch", "patch", TAKES_WRITE | BIT(FORCE), BODY_PATCH },
    { VERB_DELETE, "delete", "delete", "delete", TAKES_DELETE, BODY_OPTIONS },
};

#define ON_COLLECTION (VERB_BIT(VERB_LIST) | VERB_BIT(VERB_CREATE) | VERB_BIT(VERB_DELETE_COLLECTION))
#define ON_OBJECT (VERB_BIT(VERB_GET) | VERB_BIT(VERB_UPDATE) | VERB_BIT(VERB_PATCH) | VERB_BIT(VERB_DELETE))
#define ON_PART (VERB_BIT(VERB_GET) | VERB_BIT(VERB_UPDATE) | VERB_BIT(VERB_PATCH) | VERB_BIT(VERB_CREATE))

/* One path. */
struct item {
    const struct resource *r;
    const struct subresource *sub; /* NULL for none */
    unsigned verbs;
    bool is_in_namespace; /* the path says which */
    bool has_name;
    /* What bodies are: the resource's kind, or the subresource's own. */
    const char *group, *version, *kind;
};

static const char *const media_types[] = { "application/json", "application/yaml", NULL };
static const char *const patch_types[] = { "application/json-patch+json", "application/merge-patch+json",
                                           "application/apply-patch+yaml", NULL };

static void write_schema_ref(struct writer *w, const char *package, const char *name, const char *suffix)
{
    json_out_object(w->out, "schema");
    writer_ref(w, package, name, suffix);
    json_out_end_object(w->out);
}

static void write_texts(struct writer *w, const char *key, const char *const *texts)
{
    json_out_array(w->out, key);
    for (; *texts; texts++)
        json_out_str(w->out, NULL, str_of(*texts));
    json_out_end_array(w->out);
}

/* The members of a parameter, without its braces. */
static void write_parameter(struct writer *w, enum parameter_id id)
{
    bool is_in_path = id == PARAMETER_NAME || id == PARAMETER_NAMESPACE;

    json_out_text(w->out, "name", parameters[id].name);
    json_out_text(w->out, "in", is_in_path ? "path" : "query");
    json_out_text(w->out, "description", parameters[id].text);
    if (is_in_path)
        json_out_bool(w->out, "required", true);
    if (w->dialect == OPENAPI_V3)
        json_out_object(w->out, "schema");
    json_out_text(w->out, "type", parameters[id].type);
    if (w->dialect == OPENAPI_V3)
        json_out_end_object(w->out);
}

void openapi_write_parameters(struct writer *w)
{
    for (int id = 0; id < PARAMETER_COUNT; id++) {
        if (id == PARAMETER_FIELD_VALIDATION)
            continue;
        json_out_object(w->out, parameters[id].name);
        write_parameter(w, (enum parameter_id)id);
        json_out_end_object(w->out);
    }
}

static void write_parameter_refs(struct writer *w, unsigned takes)
{
    const char *where = w->dialect == OPENAPI_V3 ? "components/parameters" : "parameters";

    for (int id = 0; id < PARAMETER_COUNT; id++) {
        if (!(takes & 1u << id))
            continue;
        json_out_object(w->out, NULL);
        if (id == PARAMETER_FIELD_VALIDATION)
            write_parameter(w, PARAMETER_FIELD_VALIDATION);
        else
            json_out_textf(w->out, "$ref", "#/%s/%s", where, parameters[id].name);
        json_out_end_object(w->out);
    }
}

static void write_body_ref(struct writer *w, const struct item *i, enum body body)
{
    if (body == BODY_OBJECT)
        write_schema_ref(w, openapi_package(i->group, i->version), i->kind, "");
    else
        write_schema_ref(w, PACKAGE_META, body == BODY_PATCH ? "Patch" : "DeleteOptions", "");
}

static void write_request_body(struct writer *w, const struct item *i, enum body body)
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

/* Swagger knows bodies as one more parameter. */
static void write_body_parameter(struct writer *w, const struct item *i, enum body body)
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

static void write_answer_ref(struct writer *w, const struct item *i, const struct operation *op)
{
    const char *package = openapi_package(i->group, i->version);
    bool is_list = op->verb == VERB_LIST || op->verb == VERB_DELETE_COLLECTION;
    bool answers_object = i->r->info && (i->r->info->flags & KIND_DELETE_ANSWERS_OBJECT);

    if (op->verb == VERB_DELETE && !answers_object)
        write_schema_ref(w, PACKAGE_META, "Status", "");
    else
        write_schema_ref(w, package, i->kind, is_list ? "List" : "");
}

static void write_answer(struct writer *w, const char *status, const char *text, const struct item *i,
                         const struct operation *op)
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

/* "replaceCoreV1NamespacedPodStatus": no two operations have the same. */
static void write_operation_id(struct writer *w, const struct item *i, const struct operation *op)
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

static void write_operation(struct writer *w, const struct item *i, const struct operation *op)
{
    json_out_object(w->out, op->method);
    write_operation_id(w, i, op);
    json_out_array(w->out, "parameters");
    if (w->dialect == OPENAPI_V2)
        write_body_parameter(w, i, op->body);
    write_parameter_refs(w, op->takes | BIT(PRETTY));
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

static void write_path_key(struct writer *w, const struct item *i)
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

static void write_item(struct writer *w, const struct item *i)
{
    unsigned in_path = (i->has_name ? BIT(NAME) : 0) | (i->is_in_namespace ? BIT(NAMESPACE) : 0);

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

static void write_resource(struct writer *w, const struct resource *r)
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

void openapi_write_paths(struct writer *w, const struct resource *r, size_t count)
{
    for (size_t i = 0; i < count; i++)
        write_resource(w, &r[i]);
}
