/* The namespaces that every cluster has, and the service account `default` that every namespace has. */
#include "apiserver/duties.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/json_out.h"

static const char *const predefined[] = { "default", "kube-node-lease", "kube-public", "kube-system" };

struct accounts {
    struct apiserver *server;
    struct deferred look;
    struct duty_calls *calls;
};

static void make_namespace(struct accounts *a, const char *name)
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

static void make_account(struct accounts *a, const struct object *ns)
{
    char target[512];

    if (ns->is_deleting || store_get_newest(a->server->store, KIND_SERVICE_ACCOUNT, ns->name, "default"))
        return;
    (void)snprintf(target, sizeof target, "/api/v1/namespaces/%s/serviceaccounts", ns->name);
    duty_calls_send(a->calls, HTTP_POST, NULL, str_of(target),
                    STR_LIT("{\"metadata\":{\"name\":\"default\"}}"));
}

static void accounts_look(void *ctx)
{
    struct accounts *a = ctx;
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

/* What a full disk refused is tried again: a first start becomes ready when there is room. */
static void accounts_sent(void *ctx)
{
    struct accounts *a = ctx;

    if (duty_calls_have_failed(a->calls))
        accounts_look(a);
}

static int accounts_start(struct apiserver *s, void **ret, struct error *err)
{
    struct accounts *a = calloc(1, sizeof *a);
    int r = a ? duty_calls_new(s, accounts_sent, a, &a->calls, err) : error_no_memory(err);

    if (r < 0) {
        free(a);
        return r;
    }
    a->server = s;
    deferred_init(&a->look, s->loop, accounts_look, a);
    loop_defer(&a->look);
    *ret = a;
    return 0;
}

static void accounts_see(void *duty, const struct store_event *ev)
{
    struct accounts *a = duty;
    enum kind k = ev->object->kind->kind;

    if ((k == KIND_NAMESPACE && !ev->old && !ev->is_delete) || (k == KIND_SERVICE_ACCOUNT && ev->is_delete))
        loop_defer(&a->look);
}

static void accounts_stop(void *duty)
{
    struct accounts *a = duty;

    loop_undefer(&a->look);
    (void)duty_calls_free(a->calls);
    free(a);
}

const struct duty duty_accounts = { accounts_start, accounts_see, accounts_stop };
