/* Creates the predefined namespaces, and the service account `default` in every namespace. */
#include "apiserver/duties.h"

#include <stdio.h>

#include "api/json_out.h"

static const char *const predefined[] = { "default", "kube-node-lease", "kube-public", "kube-system" };

static void make_namespace(struct duty_base *a, const char *name)
{
    char text[128];
    struct buf body = BUF_ON(text, sizeof text);

    if (store_get_newest(a->server->store, KIND_NAMESPACE, "", name))
        return;
    json_out_object(&body, NULL);
    json_out_object(&body, "metadata");
    json_out_text(&body, "name", name);
    json_out_end_object(&body);
    json_out_end_object(&body);
    duty_calls_send(a->calls, HTTP_POST, NULL, STR_LIT("/api/v1/namespaces"), buf_str(&body));
}

static void make_account(struct duty_base *a, const struct object *ns)
{
    char target[512];

    if (ns->is_deleting || store_get_newest(a->server->store, KIND_SERVICE_ACCOUNT, ns->name, "default"))
        return;
    (void)snprintf(target, sizeof target, "/api/v1/namespaces/%s/serviceaccounts", ns->name);
    duty_calls_send(a->calls, HTTP_POST, NULL, str_of(target),
                    STR_LIT("{\"metadata\":{\"name\":\"default\"}}"));
}

static void accounts_reconcile(void *ctx)
{
    struct duty_base *a = ctx;
    struct store_iter it;
    const struct object *ns;
    struct error ignored;

    if (store_count(a->server->store, KIND_NAMESPACE) < ARRAY_LEN(predefined)) {
        for (size_t i = 0; i < ARRAY_LEN(predefined); i++)
            make_namespace(a, predefined[i]);
    }
    if (store_iter_begin(&it, a->server->store, KIND_NAMESPACE, NULL, STR_LIT(""), STR_LIT(""), 0, &ignored) <
        0)
        return;
    while ((ns = store_iter_next(&it)))
        make_account(a, ns);
    store_iter_done(&it);
}

/* Retries what a full disk refused: a first start becomes ready when there is space. */
static void accounts_answered(void *ctx)
{
    struct duty_base *a = ctx;

    if (duty_calls_have_failed(a->calls))
        accounts_reconcile(a);
}

static void accounts_init(void *duty)
{
    struct duty_base *a = duty;

    loop_defer(&a->reconcile);
}

static void accounts_observe(void *duty, const struct store_event *ev)
{
    struct duty_base *a = duty;
    enum kind k = ev->object->kind->kind;

    if ((k == KIND_NAMESPACE && !ev->old && !ev->is_delete) || (k == KIND_SERVICE_ACCOUNT && ev->is_delete))
        loop_defer(&a->reconcile);
}

const struct duty duty_accounts = {
    sizeof(struct duty_base), accounts_reconcile, accounts_answered, accounts_observe, .init = accounts_init,
};
