/* Removes deleted pods whose node does not exist, after their grace period: otherwise the node's agent
 * removes them. */
#include "apiserver/duties.h"

#include "api/json_out.h"
#include "api/pod.h"

static void remove_pod(struct duty_base *p, const struct object *o)
{
    _cleanup_(buf_done_p) struct buf path = BUF_INIT(4096), body = BUF_INIT(256);

    object_path(o, &path);
    json_out_object(&body, NULL);
    json_out_int(&body, "gracePeriodSeconds", 0);
    json_out_object(&body, "preconditions");
    json_out_text(&body, "uid", o->uid);
    json_out_end_object(&body);
    json_out_end_object(&body);
    duty_calls_send(p->calls, HTTP_DELETE, NULL, buf_str(&path), buf_str(&body));
}

/* Removes pods that are due. Pods with finalizers are left to the owners of the finalizers. */
static void pods_reconcile(void *ctx)
{
    struct duty_base *p = ctx;
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

static void pods_observe(void *duty, const struct store_event *ev)
{
    struct duty_base *p = duty;
    const struct object *o = ev->object;

    /* Walks over all pods, so only when a deletion begins or changes, or a node is deleted. */
    if ((o->kind->kind == KIND_POD && o->is_deleting && !ev->is_delete) ||
        (o->kind->kind == KIND_NODE && ev->is_delete))
        timer_arm_after(&p->timer, 0);
}

const struct duty duty_pods = { sizeof(struct duty_base), pods_reconcile, pods_reconcile, pods_observe };
