/* The namespaces that every cluster has, and the service account `default` that every namespace has. */
#include "apiserver/duties.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define RETRY_NS NS_PER_S

static const char *const predefined[] = { "default", "kube-node-lease", "kube-public", "kube-system" };

struct accounts {
    struct apiserver *server;
    struct deferred look;
    struct timer retry;
    struct duty_calls *calls;
    VEC(char *) namespaces; /* to be looked at */
};

static void make_namespace(struct accounts *a, const char *name)
{
    char body[128];

    if (store_get_newest(a->server->store, KIND_NAMESPACE, "", name))
        return;
    (void)snprintf(body, sizeof body, "{\"metadata\":{\"name\":\"%s\"}}", name);
    duty_calls_send(a->calls, HTTP_POST, NULL, STR_LIT("/api/v1/namespaces"), str_of(body));
}

static void make_account(struct accounts *a, const char *ns)
{
    struct store *s = a->server->store;
    const struct object *o = store_get(s, KIND_NAMESPACE, "", ns);
    char target[512];

    if (!o || o->is_deleting || store_get_newest(s, KIND_SERVICE_ACCOUNT, ns, "default"))
        return;
    (void)snprintf(target, sizeof target, "/api/v1/namespaces/%s/serviceaccounts", ns);
    duty_calls_send(a->calls, HTTP_POST, NULL, str_of(target),
                    STR_LIT("{\"metadata\":{\"name\":\"default\"}}"));
}

static void accounts_clear(struct accounts *a)
{
    for (size_t i = 0; i < a->namespaces.count; i++)
        free(a->namespaces.items[i]);
    vec_clear(&a->namespaces);
}

static void accounts_look(void *ctx)
{
    struct accounts *a = ctx;

    if (store_count(a->server->store, KIND_NAMESPACE) < ARRAY_LEN(predefined)) {
        for (size_t i = 0; i < ARRAY_LEN(predefined); i++)
            make_namespace(a, predefined[i]);
    }
    for (size_t i = 0; i < a->namespaces.count; i++)
        make_account(a, a->namespaces.items[i]);
    accounts_clear(a);
}

/* A first start on a full disk: it becomes ready when there is room. */
static void accounts_sent(void *ctx)
{
    struct accounts *a = ctx;

    if (store_count(a->server->store, KIND_NAMESPACE) < ARRAY_LEN(predefined))
        timer_arm_after(&a->retry, RETRY_NS);
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
    timer_init(&a->retry, s->loop, accounts_look, a);
    loop_defer(&a->look);
    *ret = a;
    return 0;
}

static void accounts_see(void *duty, const struct store_event *ev)
{
    struct accounts *a = duty;
    const struct object *o = ev->object;
    const char *ns = NULL;
    char *copy;

    if (o->kind->kind == KIND_NAMESPACE && !ev->old && !ev->is_delete)
        ns = o->name;
    else if (o->kind->kind == KIND_SERVICE_ACCOUNT && ev->is_delete)
        ns = o->ns;
    if (!ns)
        return;
    copy = strdup(ns);
    if (!copy || vec_push(&a->namespaces, copy) < 0)
        free(copy); /* the next start looks again */
    loop_defer(&a->look);
}

static void accounts_stop(void *duty)
{
    struct accounts *a = duty;

    loop_undefer(&a->look);
    timer_disarm(&a->retry);
    (void)duty_calls_free(a->calls);
    accounts_clear(a);
    vec_done(&a->namespaces);
    free(a);
}

const struct duty duty_accounts = { accounts_start, accounts_see, accounts_stop };
