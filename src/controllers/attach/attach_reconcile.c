/* Reconciles a volume: compares desired and actual state of each of its pairs and starts the next operation.
 *
 * Every step is decided again from the current state: a detach that waits for the node status to be written
 * starts after the answer, if all conditions are still met. A volume that is attached and not about to be
 * detached is always reported in its node's status. Costs: O(pairs of the volume) per call. */
#include "controllers/attach/attach_int.h"

#include <string.h>

#include "base/log.h"
#include "base/mutant.h"

#define UNMOUNT_TIMEOUT_NS ((MUTANT("attach-loses-patience") ? 3 : 360) * NS_PER_S)
#define MESSAGE_BYTES_MAX 4096

/* Operations of an exclusive volume are serialized; those of a shared volume per node. */
static struct operation_key key_of(const struct attach_pair *p, const struct held_spec *spec)
{
    return (struct operation_key){ .volume = p->volume->name,
                                   .pod = "",
                                   .node = attach_spec_is_shared(spec) ? p->node->name : "" };
}

/* --- Detaching --- */

/* Why an unwanted volume may be detached although its node has not unmounted it. */
struct detach_conditions {
    bool is_late;           /* the time for unmounting has passed, and forced detach is enabled */
    bool is_forced;         /* … and the node is not ready */
    bool is_out_of_service; /* the node has the taint that marks it as shut down */
};

static struct detach_conditions detach_conditions_of(struct attach *a, struct attach_pair *p)
{
    const struct object *o = informer_get(a->nodes, "", p->node->name);
    const struct node *n = o ? node_of(o) : NULL;
    uint64_t now_ns = loop_now_ns(a->o.part.loop);
    struct detach_conditions g = { 0 };

    if (!p->is_detach_requested) {
        p->is_detach_requested = true;
        p->detach_requested_ns = now_ns;
    }
    g.is_late = now_ns - p->detach_requested_ns > UNMOUNT_TIMEOUT_NS && !a->o.no_force_detach_on_timeout;
    g.is_forced = g.is_late && !(n && node_is_ready(n));
    g.is_out_of_service = n && node_has_taint(n, TAINT_OUT_OF_SERVICE);
    if (!g.is_late && !a->o.no_force_detach_on_timeout)
        timer_arm(&p->unmount_timer, p->detach_requested_ns + UNMOUNT_TIMEOUT_NS + 1);
    return g;
}

static void start_detach(struct attach *a, struct attach_pair *p, const struct attacher_choice *m,
                         const struct detach_conditions *g)
{
    bool verifies = !g->is_late && !g->is_out_of_service && !MUTANT("attach-asks-no-node");
    struct error err;
    int r = attach_op_detach(a, p, m, verifies, &err);

    if (r == 0 && !verifies)
        attach_metrics_forced(a, g->is_late ? "timeout" : "out-of-service");
    if (r < 0) {
        if (!error_is_expected(r))
            log_error("cannot start detach", LOG_STR("volume", p->volume->name),
                      LOG_STR("node", p->node->name), LOG_ERR(&err));
        if (p->state == PAIR_ATTACHED)
            attach_state_report(p, true);
    }
}

static void check_unwanted(struct attach *a, struct attach_pair *p)
{
    struct operation_key key = key_of(p, &p->volume->spec);
    struct detach_conditions g;
    struct attacher_choice m;
    struct error err;
    uint64_t until_ns;

    if (operations_is_pending(a->operations, &key))
        return; /* its end marks the volume again */
    if (operations_is_waiting(a->operations, &key, OP_DETACH, &until_ns)) {
        attach_state_mark_at(p->volume, until_ns);
        return;
    }
    g = detach_conditions_of(a, p);
    if (attach_state_is_in_use(p) && !g.is_forced && !g.is_out_of_service) {
        /* Still mounted. A change of the node's status, or the unmount timeout, marks the volume again. */
        attach_state_report(p, p->state == PAIR_ATTACHED);
    } else if (attacher_select_detacher(a, p->volume, &m, &err) < 0) {
        /* No detacher. The periodic pass marks the volume again. */
        log_warn("cannot detach", LOG_STR("volume", p->volume->name), LOG_STR("node", p->node->name),
                 LOG_ERR(&err));
        attach_state_report(p, p->state == PAIR_ATTACHED);
    } else if (attach_state_report(p, false), !attach_state_is_unreported(p)) {
        /* The node's status may still list the volume. The answer to the status write marks the volume again.
         */
        attach_status_fence(p->node);
    } else {
        start_detach(a, p, &m, &g);
    }
}

/* --- Attaching --- */

/* Another node that the volume is attached to; NULL: none. */
static const struct attach_pair *attached_elsewhere(const struct attach_pair *p)
{
    for (size_t i = 0; i < p->volume->pairs.count && !MUTANT("attach-gives-to-two"); i++)
        if (p->volume->pairs.items[i] != p && p->volume->pairs.items[i]->state == PAIR_ATTACHED)
            return p->volume->pairs.items[i];
    return NULL;
}

/* Names only pods of the same namespace: users of one namespace must not see the names of others. */
static void write_users(const struct attach_pair *p, const struct object *pod, struct buf *out)
{
    unsigned here = 0, elsewhere = 0;

    for (size_t i = 0; i < p->volume->pairs.count; i++) {
        const struct attach_pair *other = p->volume->pairs.items[i];

        for (size_t k = 0; other != p && other->state == PAIR_ATTACHED && k < other->pods.count; k++) {
            const struct object *user = other->pods.items[k];

            if (strcmp(user->ns, pod->ns) != 0)
                elsewhere++;
            else
                buf_addf(out, "%s%s", here++ ? ", " : "Volume is already used by pod(s) ", user->name);
        }
    }
    if (here && elsewhere)
        buf_addf(out, " and %u pod(s) in different namespaces", elsewhere);
    else if (elsewhere)
        buf_addf(out, "Volume is already used by %u pod(s) in different namespaces", elsewhere);
    else if (!here)
        buf_add_cstr(out, "Volume is already exclusively attached to one node, waiting on detach before "
                          "it can be attached to another node");
}

static void report_multi_attach(struct attach *a, struct attach_pair *p)
{
    if (p->is_multi_attach_reported)
        return;
    p->is_multi_attach_reported = true;
    for (size_t i = 0; i < p->pods.count; i++) {
        _cleanup_(buf_done_p) struct buf tail = BUF_INIT(MESSAGE_BYTES_MAX);

        write_users(p, p->pods.items[i], &tail);
        recorder_event(a->recorder, p->pods.items[i], EVENT_WARNING, "FailedAttachVolume",
                       "Waiting for detach for volume \"%s\" %s", held_spec_name(&p->wanted),
                       buf_cstr(&tail));
    }
    log_info("waiting for detach", LOG_STR("volume", p->volume->name), LOG_STR("node", p->node->name));
}

static void check_wanted(struct attach *a, struct attach_pair *p)
{
    struct operation_key key = key_of(p, &p->wanted);
    uint64_t until_ns;
    struct error err;
    int r;

    if (operations_is_pending(a->operations, &key))
        return;
    if (p->state == PAIR_ATTACHED) {
        p->is_detach_requested = false;
        timer_disarm(&p->unmount_timer);
        attach_state_report(p, true);
        if (!p->volume->spec.holder) /* the node's status has only the name */
            held_spec_copy(&p->volume->spec, &p->wanted);
    } else if (!attach_spec_is_shared(&p->wanted) && attached_elsewhere(p)) {
        /* Exclusive, and attached to another node; the detach there marks the volume again. An uncertain
         * attachment to another node does not block: the storage decides. */
        report_multi_attach(a, p);
    } else if (operations_is_waiting(a->operations, &key, OP_ATTACH, &until_ns)) {
        attach_state_mark_at(p->volume, until_ns);
    } else {
        r = attach_op_attach(a, p, &err);
        p->tried = ++a->changes;
        if (r < 0 && !error_is_expected(r))
            log_error("cannot start attach", LOG_STR("volume", p->volume->name),
                      LOG_STR("node", p->node->name), LOG_ERR(&err));
    }
}

/* The wanted pair with the oldest attempt: operations of an exclusive volume share one delay, and a node
 * whose attach keeps failing must not take every attempt. NULL: no pair is wanted. */
static struct attach_pair *next_wanted_pair(const struct attach_volume *v)
{
    struct attach_pair *first = NULL;

    for (size_t i = 0; i < v->pairs.count; i++)
        if (pair_is_wanted(v->pairs.items[i]) && (!first || v->pairs.items[i]->tried < first->tried))
            first = v->pairs.items[i];
    return first;
}

/* Frees no pair: operations end later. */
void attach_reconcile(struct attach *a, struct attach_volume *v)
{
    struct attach_pair *first = next_wanted_pair(v);

    for (size_t i = 0; i < v->pairs.count; i++)
        if (!pair_is_wanted(v->pairs.items[i]) && v->pairs.items[i]->state != PAIR_DETACHED)
            check_unwanted(a, v->pairs.items[i]);
    if (first)
        check_wanted(a, first);
    for (size_t i = 0; i < v->pairs.count; i++)
        if (pair_is_wanted(v->pairs.items[i]) && v->pairs.items[i] != first)
            check_wanted(a, v->pairs.items[i]);
}

/* --- Explanations --- */

static void report_wait(const struct attach *a, const struct attach_pair *p, attach_wait_fn *fn, void *ctx)
{
    struct attach_wait w = { .volume = held_spec_name(&p->wanted), .is_attached = p->state == PAIR_ATTACHED };
    const struct attach_pair *other =
        w.is_attached || attach_spec_is_shared(&p->wanted) ? NULL : attached_elsewhere(p);
    struct operation_key key = key_of(p, &p->wanted);

    (void)operations_inspect(a->operations, &key, &w.op);
    if (other) {
        w.elsewhere = other->node->name;
        w.is_used_there = attach_state_is_in_use(other);
        if (timer_is_armed(&other->unmount_timer))
            w.forced_at_ns = other->detach_requested_ns + UNMOUNT_TIMEOUT_NS;
    }
    fn(ctx, &w);
}

void attach_each_wait(const struct attach *a, const char *node, const char *pod_uid, attach_wait_fn *fn,
                      void *ctx)
{
    const struct attach_node *n = attach_node(a, node);

    for (size_t i = 0; n && i < n->pairs.count; i++)
        if (pair_find_pod(n->pairs.items[i], pod_uid) < n->pairs.items[i]->pods.count)
            report_wait(a, n->pairs.items[i], fn, ctx);
}
