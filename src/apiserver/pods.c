/* A deleted pod is ended by the agent of its node. Where the node does not exist nobody would: once its time
 * is up the server removes the pod itself. */
#include "apiserver/duties.h"

#include <stdlib.h>

#include "api/json_out.h"
#include "api/pod.h"

struct pods {
    struct apiserver *server;
    struct timer timer;
    struct duty_calls *calls;
};

static void remove_pod(struct pods *p, const struct object *o)
{
    struct buf path = BUF_INIT(4096), body = BUF_INIT(256);

    object_path(o, &path);
    json_out_object(&body, NULL);
    json_out_int(&body, "gracePeriodSeconds", 0);
    json_out_object(&body, "preconditions");
    json_out_text(&body, "uid", o->uid);
    json_out_end_object(&body);
    json_out_end_object(&body);
    duty_calls_send(p->calls, HTTP_DELETE, NULL, buf_str(&path), buf_str(&body));
    buf_done(&path);
    buf_done(&body);
}

/* Removes what is due. What waits for finalizers has had all that can be done for it. */
static void pods_look(void *ctx)
{
    struct pods *p = ctx;
    struct store_iter it;
    const struct object *o;
    struct error ignored;
    int64_t now = apiserver_now(p->server).seconds, next = INT64_MAX;

    if (duty_calls_are_busy(p->calls) ||
        store_iter_begin(&it, p->server->store, KIND_POD, NULL, STR_LIT(""), STR_LIT(""), 0, &ignored) < 0)
        return;
    while (!duty_calls_are_full(p->calls) && (o = store_iter_next(&it))) {
        if (!o->is_deleting || store_get(p->server->store, KIND_NODE, "", pod_of(o)->node_name))
            continue;
        if (o->deleted.seconds > now)
            next = o->deleted.seconds < next ? o->deleted.seconds : next;
        else if (o->finalizers.count == 0 || o->deletion_grace_seconds > 0)
            remove_pod(p, o);
    }
    store_iter_done(&it);
    if (next != INT64_MAX)
        timer_arm_after(&p->timer, (uint64_t)(next - now) * NS_PER_S);
}

static int pods_start(struct apiserver *s, void **ret, struct error *err)
{
    struct pods *p = calloc(1, sizeof *p);
    int r = p ? duty_calls_new(s, pods_look, p, &p->calls, err) : error_no_memory(err);

    if (r < 0) {
        free(p);
        return r;
    }
    p->server = s;
    timer_init(&p->timer, s->loop, pods_look, p);
    *ret = p;
    return 0;
}

static void pods_see(void *duty, const struct store_event *ev)
{
    struct pods *p = duty;
    const struct object *o = ev->object;

    /* Looking costs a walk over the pods: only when a deletion begins or changes, or a node goes. */
    if ((o->kind->kind == KIND_POD && o->is_deleting && !ev->is_delete) ||
        (o->kind->kind == KIND_NODE && ev->is_delete))
        timer_arm_after(&p->timer, 0);
}

static void pods_stop(void *duty)
{
    struct pods *p = duty;

    timer_disarm(&p->timer);
    (void)duty_calls_free(p->calls);
    free(p);
}

const struct duty duty_pods = { pods_start, pods_see, pods_stop };
