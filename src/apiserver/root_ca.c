/* Keeps the ConfigMap `kube-root-ca.crt` in every namespace that is not being deleted: the certificate of the
 * authority that signs the server's, for pods that connect to the server.
 *
 * It is restored when it was changed or deleted, and follows the authority's certificate when that is
 * renewed. Labels and other annotations are not changed. */
#include "apiserver/duties.h"

#include <stdio.h>
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
#define NAMESPACE_BYTES_MAX 64 /* a DNS label and its NUL */

struct root_ca {
    struct duty_base base;
    char from[NAMESPACE_BYTES_MAX]; /* the namespace that the next step begins with; "" for the first */
};

static bool is_root_ca(const struct object *o)
{
    return o->kind->kind == KIND_CONFIG_MAP && strcmp(o->name, ROOT_CA_NAME) == 0;
}

static bool is_true(const struct root_ca *root_ca, const struct object *o)
{
    const struct config_map *c = config_map_of(o);
    const struct config_entry *entry = config_find(&c->data, ROOT_CA_KEY);
    const char *description = object_annotation(o, ANN_DESCRIPTION);

    return c->data.count == 1 && entry && str_is(entry->bytes, root_ca->base.server->ca_pem) && description &&
           description[0] != '\0';
}

/* Writes the object for a creation; for a merge patch of `old` also the fields to remove. */
static void write_body(const struct root_ca *root_ca, const struct config_map *old, struct buf *out)
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
    json_out_text(out, ROOT_CA_KEY, root_ca->base.server->ca_pem);
    json_out_end_object(out);
    json_out_end_object(out);
}

static void create_map(struct root_ca *root_ca, const char *ns)
{
    _cleanup_(buf_done_p) struct buf path = BUF_INIT(4096), body = BUF_INIT(ROOT_CA_BYTES_MAX);

    buf_addf(&path, "/api/v1/namespaces/%s/configmaps", ns);
    write_body(root_ca, NULL, &body);
    duty_calls_send(root_ca->base.calls, HTTP_POST, NULL, buf_str(&path), buf_str(&body));
}

/* An immutable ConfigMap is replaced: the event of its deletion leads to its creation. */
static void restore_map(struct root_ca *root_ca, const struct object *o)
{
    _cleanup_(buf_done_p) struct buf path = BUF_INIT(4096), body = BUF_INIT(ROOT_CA_BYTES_MAX);

    object_path(o, &path);
    if (config_map_of(o)->is_immutable) {
        if (!o->is_deleting)
            duty_calls_send(root_ca->base.calls, HTTP_DELETE, NULL, buf_str(&path), STR_LIT(""));
    } else {
        write_body(root_ca, config_map_of(o), &body);
        duty_calls_send(root_ca->base.calls, HTTP_PATCH, "application/merge-patch+json", buf_str(&path),
                        buf_str(&body));
    }
}

static void check_namespace(struct root_ca *root_ca, const struct object *ns)
{
    const struct object *o =
        store_get_newest(root_ca->base.server->store, KIND_CONFIG_MAP, ns->name, ROOT_CA_NAME);

    if (ns->is_deleting)
        return;
    if (!o)
        create_map(root_ca, ns->name);
    else if (!is_true(root_ca, o))
        restore_map(root_ca, o);
}

/* Continues from root_ca->from as far as the limit of calls allows. */
static void check_from(struct root_ca *root_ca)
{
    struct store_iter it;
    const struct object *ns;
    struct error ignored;

    if (store_iter_begin(&it, root_ca->base.server->store, KIND_NAMESPACE, NULL, STR_LIT(""),
                         str_of(root_ca->from), 0, &ignored) < 0)
        return;
    while ((ns = store_iter_next(&it)) && !duty_calls_are_full(root_ca->base.calls))
        check_namespace(root_ca, ns);
    (void)snprintf(root_ca->from, sizeof root_ca->from, "%s", ns ? ns->name : ""); /* a DNS label */
    store_iter_done(&it);
}

static void root_ca_reconcile(void *ctx)
{
    struct root_ca *root_ca = ctx;

    root_ca->from[0] = '\0';
    check_from(root_ca);
}

/* Retries from the beginning what a full disk refused. */
static void root_ca_answered(void *ctx)
{
    struct root_ca *root_ca = ctx;

    if (duty_calls_have_failed(root_ca->base.calls))
        root_ca_reconcile(root_ca);
    else if (root_ca->from[0])
        check_from(root_ca);
}

static void root_ca_observe(void *duty, const struct store_event *ev)
{
    struct root_ca *root_ca = duty;
    const struct object *o = ev->object;
    bool is_new_namespace = o->kind->kind == KIND_NAMESPACE && !ev->old && !ev->is_delete;

    if (!root_ca->base.server->ca_pem)
        return;
    if (is_new_namespace || (is_root_ca(o) && (ev->is_delete || !is_true(root_ca, o))))
        loop_defer(&root_ca->base.reconcile);
}

const struct duty duty_root_ca = { sizeof(struct root_ca), root_ca_reconcile, root_ca_answered,
                                   root_ca_observe };
