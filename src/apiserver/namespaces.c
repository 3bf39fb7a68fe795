/* Empties a namespace that is being deleted, and removes its finalizer when nothing is left in it. Reads all
 * namespaced kinds after each round of deletions. */
#include "apiserver/duties.h"

#include "api/namespace.h"

/* Deletes objects that are not being deleted yet, as many as the limit of calls allows. Returns the number of
 * objects left. */
static size_t empty_kind(struct duty_base *n, enum kind k, const char *ns)
{
    struct store_iter it;
    const struct object *o;
    struct error ignored;
    size_t left = 0;

    if (store_iter_begin(&it, n->server->store, k, ns, str_of(ns), STR_LIT(""), 0, &ignored) < 0)
        return 1; /* check again */
    while (!duty_calls_are_full(n->calls) && (o = store_iter_next(&it))) {
        struct buf path = BUF_INIT(4096);

        left++;
        object_path(o, &path);
        if (!o->is_deleting)
            duty_calls_send(n->calls, HTTP_DELETE, NULL, buf_str(&path),
                            STR_LIT("{\"propagationPolicy\":\"Background\"}"));
        buf_done(&path);
    }
    store_iter_done(&it);
    return left;
}

/* Removes our finalizer from the spec: sends the namespace back without it. */
static void remove_finalizer(struct duty_base *n, const struct object *o)
{
    struct json *d = &n->server->doc;
    _cleanup_(buf_done_p) struct buf path = BUF_INIT(4096), body = BUF_INIT(CALL_BODY_BYTES_MAX);
    json_ref root = 0, list, next;
    struct error ignored;

    json_clear(d);
    if (!texts_have(&namespace_of(o)->spec_finalizers, FINALIZER_NAMESPACE) ||
        json_parse(d, o->text, &root, &ignored) < 0)
        return;
    list = json_path(d, root, "spec", "finalizers");
    for (json_ref m = json_first(d, list); m; m = next) {
        next = json_next(d, m);
        if (json_is_string(d, m, FINALIZER_NAMESPACE))
            json_unlink(d, m);
    }
    json_write(d, root, &body);
    object_path(o, &path);
    buf_add_cstr(&path, "/finalize");
    duty_calls_send(n->calls, HTTP_PUT, NULL, buf_str(&path), buf_str(&body));
}

static void empty_namespace(struct duty_base *n, const struct object *o)
{
    size_t left = 0;

    for (int k = 0; k < KIND_COUNT; k++) {
        if (kind_info((enum kind)k)->is_namespaced && k != KIND_EVENT_V1)
            left += empty_kind(n, (enum kind)k, o->name);
    }
    if (left == 0)
        remove_finalizer(n, o);
}

static void namespaces_reconcile(void *ctx)
{
    struct duty_base *n = ctx;
    struct store_iter it;
    const struct object *o;
    struct error ignored;

    if (duty_calls_are_busy(n->calls) || store_iter_begin(&it, n->server->store, KIND_NAMESPACE, NULL,
                                                          STR_LIT(""), STR_LIT(""), 0, &ignored) < 0)
        return; /* the last answer starts it again */
    while (!duty_calls_are_full(n->calls) && (o = store_iter_next(&it))) {
        if (o->is_deleting)
            empty_namespace(n, o);
    }
    store_iter_done(&it);
}

/* Checks again when a namespace that is being deleted, or an object in one, changes. */
static void namespaces_observe(void *duty, const struct store_event *ev)
{
    struct duty_base *n = duty;
    const struct object *o = ev->object;

    if (o->ns[0])
        o = store_get(n->server->store, KIND_NAMESPACE, "", o->ns);
    else if (o->kind->kind != KIND_NAMESPACE)
        return;
    if (o && o->is_deleting)
        loop_defer(&n->reconcile);
}

const struct duty duty_namespaces = {
    sizeof(struct duty_base),
    namespaces_reconcile,
    namespaces_reconcile,
    namespaces_observe,
};
