/* A namespace that is being deleted is emptied, and when nothing is left in it, let go. */
#include "apiserver/duties.h"

#include <stdlib.h>
#include <string.h>

#include "api/namespace.h"

struct namespaces {
    struct apiserver *server;
    struct deferred look;
    struct duty_calls *calls;
};

/* Asks for the deletion of what has not been asked yet, as far as there is room for it. Returns how much is
 * left. */
static size_t empty_kind(struct namespaces *n, enum kind k, const char *ns)
{
    struct store_iter it;
    const struct object *o;
    struct error ignored;
    size_t left = 0;

    if (store_iter_begin(&it, n->server->store, k, ns, str_of(ns), STR_LIT(""), 0, &ignored) < 0)
        return 1; /* look again */
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

static bool is_held_by_us(const struct object *o)
{
    const struct namespace *ns = namespace_of(o);

    for (uint32_t i = 0; i < ns->spec_finalizers.count; i++) {
        if (strcmp(ns->spec_finalizers.items[i], FINALIZER_NAMESPACE) == 0)
            return true;
    }
    return false;
}

/* Takes our finalizer out of the spec: the namespace as it is, sent back with one finalizer less. */
static void let_go(struct namespaces *n, const struct object *o)
{
    struct json *d = &n->server->doc;
    struct buf path = BUF_INIT(4096), body = BUF_INIT(CALL_BODY_BYTES_MAX);
    json_ref root = 0, list, next;
    struct error ignored;

    json_clear(d);
    if (!is_held_by_us(o) || json_parse(d, o->text, &root, &ignored) < 0)
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
    buf_done(&path);
    buf_done(&body);
}

static void end(struct namespaces *n, const struct object *o)
{
    size_t left = 0;

    for (int k = 0; k < KIND_COUNT; k++) {
        if (kind_info((enum kind)k)->is_namespaced && k != KIND_EVENT_V1)
            left += empty_kind(n, (enum kind)k, o->name);
    }
    if (left == 0)
        let_go(n, o);
}

static void namespaces_look(void *ctx)
{
    struct namespaces *n = ctx;
    struct store_iter it;
    const struct object *o;
    struct error ignored;

    if (duty_calls_are_busy(n->calls) || store_iter_begin(&it, n->server->store, KIND_NAMESPACE, NULL,
                                                          STR_LIT(""), STR_LIT(""), 0, &ignored) < 0)
        return; /* the last answer leads here again */
    while (!duty_calls_are_full(n->calls) && (o = store_iter_next(&it))) {
        if (o->is_deleting)
            end(n, o);
    }
    store_iter_done(&it);
}

static int namespaces_start(struct apiserver *s, void **ret, struct error *err)
{
    struct namespaces *n = calloc(1, sizeof *n);
    int r = n ? duty_calls_new(s, namespaces_look, n, &n->calls, err) : error_no_memory(err);

    if (r < 0) {
        free(n);
        return r;
    }
    n->server = s;
    deferred_init(&n->look, s->loop, namespaces_look, n);
    *ret = n;
    return 0;
}

/* Looks again when something happens to a namespace that is being deleted, or in one. */
static void namespaces_see(void *duty, const struct store_event *ev)
{
    struct namespaces *n = duty;
    const struct object *o = ev->object;

    if (o->ns[0])
        o = store_get(n->server->store, KIND_NAMESPACE, "", o->ns);
    else if (o->kind->kind != KIND_NAMESPACE)
        return;
    if (o && o->is_deleting)
        loop_defer(&n->look);
}

static void namespaces_stop(void *duty)
{
    struct namespaces *n = duty;

    loop_undefer(&n->look);
    (void)duty_calls_free(n->calls);
    free(n);
}

const struct duty duty_namespaces = { namespaces_start, namespaces_see, namespaces_stop };
