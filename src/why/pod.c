/* Why a pod is as it is: first its node, then its volumes there.
 *
 * Without a node the scheduler's judges are asked; with one, what the server and, where they run in this
 * process, the attach controller and the node's agent know of its volumes. */
#include "why/pod.h"

#include <string.h>

static void add_state(struct report *r, const struct pod *p)
{
    const char *phase = p->obj.is_deleting ? "Terminating" : pod_phase_names[p->phase];

    report_state(r, "%s%s%s", phase[0] ? phase : "Pending", p->node_name[0] ? " on " : "", p->node_name);
}

static void explain_ended(struct report *r, const struct pod *p)
{
    if (p->phase == POD_SUCCEEDED)
        report_cause(r, WHY_NOTHING, "it has run and ended well");
    else
        report_cause(r, "failed", "it has failed%s%s%s%s", p->reason[0] ? ": " : "", p->reason,
                     p->message[0] ? ": " : "", p->message);
}

void why_add_operation_state(struct report *r, const struct operation_state *op, uint64_t now_ns)
{
    struct report_operation o = { .name = op->name,
                                  .is_running = op->is_running,
                                  .failures = op->failures,
                                  .retry_seconds = -1,
                                  .message = op->message };

    if (op->retry_at_ns > now_ns)
        o.retry_seconds = (int64_t)((op->retry_at_ns - now_ns) / NS_PER_S) + 1;
    if (op->name)
        report_operation(r, &o);
}

void why_pod(const struct why_world *w, struct report *r, const struct object *pod)
{
    static const char *const over[] = { "FailedScheduling", NULL };
    const struct pod *p = pod_of(pod);

    add_state(r, p);
    if (p->phase == POD_SUCCEEDED || p->phase == POD_FAILED)
        explain_ended(r, p);
    else if (p->node_name[0] == '\0')
        why_scheduling(w, r, p);
    else
        why_on_node(w, r, p);
    why_add_events(w, r, pod, p->node_name[0] ? over : NULL);
}
