/* The ConfigMap `kube-root-ca.crt` in every namespace that is not being deleted: the certificate of the
 * authority that signs the server's, for pods that connect to the server.
 *
 * It is restored when somebody changes or deletes it, and follows the authority's certificate when that is
 * renewed. Labels and other annotations are left alone. */
#include "apiserver/duties.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/config.h"
#include "api/json_out.h"

#define ROOT_CA_NAME "kube-root-ca.crt"
#define ROOT_CA_KEY "ca.crt"
#define ANN_DESCRIPTION "kubernetes.io/description"
/* As kube-controller-manager writes it. */
#define DESCRIPTION                                                                                          \
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such " \
    "as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across "             \
    "distributions of Kubernetes clusters."
#define ROOT_CA_BYTES_MAX CALL_BODY_BYTES_MAX
#define NAMESPACE_BYTES_MAX 64 /* a DNS label and its end */

struct root_ca {
    struct apiserver *server;
    struct deferred look;
    struct duty_calls *calls;
    char from[NAMESPACE_BYTES_MAX]; /* the namespace that the next look begins with; "" for the first */
};

static bool is_root_ca(const struct object *o)
{
    return o->kind->kind == KIND_CONFIG_MAP && strcmp(o->name, ROOT_CA_NAME) == 0;
}

static bool is_true(const struct root_ca *x, const struct object *o)
{
    const struct config_map *c = config_map_of(o);
    const struct config_entry *entry = config_find(&c->data, ROOT_CA_KEY);
    const char *description = object_annotation(o, ANN_DESCRIPTION);

    return c->data.count == 1 && entry && str_is(entry->bytes, x->server->ca_pem) && description &&
           description[0] != '\0';
}

/* The object for a creation; for a merge patch of `old` also what is to go. */
static void write_body(const struct root_ca *x, const struct config_map *old, struct buf *out)
{
    json_out_object(out, NULL);
    json_out_object(out, "metadata");
    if (!old)
        json_out_text(out, "name", ROOT_CA_NAME);
    json_out_object(out, "annotations");
    json_out_text(out, ANN_DESCRIPTION, DESCRIPTION);
    json_out_end_object(out);
    json_out_end_object(out);
    if (old)
        json_out_null(out, "binaryData");
    json_out_object(out, "data");
    for (uint32_t i = 0; old && i < old->data.count; i++)
        if (strcmp(old->data.items[i].key, ROOT_CA_KEY) != 0)
            json_out_null(out, old->data.items[i].key);
    json_out_text(out, ROOT_CA_KEY, x->server->ca_pem);
    json_out_end_object(out);
    json_out_end_object(out);
}

static void create_map(struct root_ca *x, const char *ns)
{
    struct buf path = BUF_INIT(4096), body = BUF_INIT(ROOT_CA_BYTES_MAX);

    buf_addf(&path, "/api/v1/namespaces/%s/configmaps", ns);
    write_body(x, NULL, &body);
    duty_calls_send(x->calls, HTTP_POST, NULL, buf_str(&path), buf_str(&body));
    buf_done(&path);
    buf_done(&body);
}

/* One that its writer made immutable is replaced: its deletion leads here again. */
static void restore_map(struct root_ca *x, const struct object *o)
{
    struct buf path = BUF_INIT(4096), body = BUF_INIT(ROOT_CA_BYTES_MAX);

    object_path(o, &path);
    if (config_map_of(o)->is_immutable) {
        if (!o->is_deleting)
            duty_calls_send(x->calls, HTTP_DELETE, NULL, buf_str(&path), STR_LIT(""));
    } else {
        write_body(x, config_map_of(o), &body);
        duty_calls_send(x->calls, HTTP_PATCH, "application/merge-patch+json", buf_str(&path), buf_str(&body));
    }
    buf_done(&path);
    buf_done(&body);
}

static void look_at(struct root_ca *x, const struct object *ns)
{
    const struct object *o = store_get_newest(x->server->store, KIND_CONFIG_MAP, ns->name, ROOT_CA_NAME);

    if (ns->is_deleting)
        return;
    if (!o)
        create_map(x, ns->name);
    else if (!is_true(x, o))
        restore_map(x, o);
}

/* Goes on from x->from as far as there is room for calls. */
static void look_from(struct root_ca *x)
{
    struct store_iter it;
    const struct object *ns;
    struct error ignored;

    if (store_iter_begin(&it, x->server->store, KIND_NAMESPACE, NULL, STR_LIT(""), str_of(x->from), 0,
                         &ignored) < 0)
        return;
    while ((ns = store_iter_next(&it)) && !duty_calls_are_full(x->calls))
        look_at(x, ns);
    (void)snprintf(x->from, sizeof x->from, "%s", ns ? ns->name : ""); /* a DNS label */
    store_iter_done(&it);
}

static void root_ca_look(void *ctx)
{
    struct root_ca *x = ctx;

    x->from[0] = '\0';
    look_from(x);
}

/* What a full disk refused is tried again from the beginning. */
static void root_ca_sent(void *ctx)
{
    struct root_ca *x = ctx;

    if (duty_calls_have_failed(x->calls))
        root_ca_look(x);
    else if (x->from[0])
        look_from(x);
}

static int root_ca_start(struct apiserver *s, void **ret, struct error *err)
{
    struct root_ca *x = calloc(1, sizeof *x);
    int r = x ? duty_calls_new(s, root_ca_sent, x, &x->calls, err) : error_no_memory(err);

    if (r < 0) {
        free(x);
        return r;
    }
    x->server = s;
    deferred_init(&x->look, s->loop, root_ca_look, x);
    *ret = x;
    return 0;
}

static void root_ca_see(void *duty, const struct store_event *ev)
{
    struct root_ca *x = duty;
    const struct object *o = ev->object;
    bool is_new_namespace = o->kind->kind == KIND_NAMESPACE && !ev->old && !ev->is_delete;

    if (!x->server->ca_pem)
        return;
    if (is_new_namespace || (is_root_ca(o) && (ev->is_delete || !is_true(x, o))))
        loop_defer(&x->look);
}

static void root_ca_stop(void *duty)
{
    struct root_ca *x = duty;

    loop_undefer(&x->look);
    (void)duty_calls_free(x->calls);
    free(x);
}

const struct duty duty_root_ca = { root_ca_start, root_ca_see, root_ca_stop };
