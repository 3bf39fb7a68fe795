/* Explains why a pod has no node, by a scheduling attempt that filters every node and binds nothing.
 *
 * The result owns references to all objects that it names. Filtering volumes against nodes is bounded by
 * CHECKS_MAX checks per explanation. */
#include "scheduler/explain.h"

#include <stdlib.h>
#include <string.h>

#include "scheduler/scheduler_int.h"

/* About 0.2 s of checks of volumes against nodes. */
#define CHECKS_MAX ((size_t)2000000)

/* --- References --- */

static void release_object(const struct object *o)
{
    (void)object_unref((struct object *)(uintptr_t)o);
}

static void drop_nodes(struct schedule *plan)
{
    for (size_t i = 0; i < plan->nodes.count; i++)
        release_object(&plan->nodes.items[i].node->obj);
    vec_done(&plan->nodes);
    vec_done(&plan->filtered.fitting);
    plan->filtered = (struct filtered_nodes){ 0 };
}

int schedule_add_claim(struct schedule *plan, const struct claim *c, const struct volume *v)
{
    if (vec_push(&plan->claims, (struct schedule_claim){ c, v }) < 0)
        return -ERR_NO_MEMORY;
    (void)object_ref(&c->obj);
    if (v)
        (void)object_ref(&v->obj);
    return 0;
}

int schedule_choose(struct schedule *plan, const char *node)
{
    plan->chosen = strdup(node);
    return plan->chosen ? 0 : -ERR_NO_MEMORY;
}

void schedule_done(struct schedule *plan)
{
    for (size_t i = 0; i < plan->claims.count; i++) {
        release_object(&plan->claims.items[i].claim->obj);
        if (plan->claims.items[i].volume)
            release_object(&plan->claims.items[i].volume->obj);
    }
    vec_done(&plan->claims);
    drop_nodes(plan);
    release_object(&plan->pod->obj);
    buf_done(&plan->message);
    free(plan->chosen);
}

/* --- State without the filters --- */

static enum schedule_state pod_schedule_state(const struct scheduler *s, const struct pod *p)
{
    if (p->phase == POD_SUCCEEDED || p->phase == POD_FAILED)
        return SCHEDULE_ENDED;
    if (p->node_name[0])
        return SCHEDULE_PLACED;
    if (strcmp(p->scheduler_name, s->o.name) != 0)
        return SCHEDULE_OTHERS;
    if (p->obj.is_deleting)
        return SCHEDULE_GOING;
    return p->scheduling_gates_count > 0 ? SCHEDULE_GATED : SCHEDULE_FITS;
}

static void report_queue_state(struct schedule *plan)
{
    const struct queued_pod *q = queue_get(&plan->s->queue, plan->pod->obj.uid);

    plan->is_live = plan->s->is_started;
    if (!q || !plan->is_live)
        return;
    plan->attempts = q->attempts;
    switch (q->place) {
    case QUEUE_READY:
        plan->place = SCHEDULE_READY;
        break;
    case QUEUE_BACKOFF:
        plan->place = SCHEDULE_RESTING;
        plan->rest_until_ns = q->backoff_until_ns;
        break;
    case QUEUE_UNSCHEDULABLE:
        plan->place = SCHEDULE_ASIDE;
        plan->since_ns = q->unschedulable_since_ns;
        break;
    case QUEUE_IN_FLIGHT: /* between two of our requests: binding_report() describes it */
    case QUEUE_PLACE_COUNT:
        break;
    }
}

/* --- Results of the filters --- */

static int add_node(struct schedule *plan, struct cycle *c, const struct sched_node *n)
{
    if (vec_push(&plan->nodes, (struct schedule_node){ .node = n->node }) < 0)
        return -ERR_NO_MEMORY;
    (void)object_ref(&n->node->obj);
    return cycle_filter_node(c, n, &plan->nodes.items[plan->nodes.count - 1].verdict);
}

/* Continues after the last filtered node, by name: nodes may have come and gone since. True at the end. */
static bool filter_next(struct schedule *plan, struct cycle *c, size_t nodes_max, int *ret)
{
    const struct nodes *all = &c->s->nodes;
    size_t done = plan->nodes.count;
    size_t at = done ? nodes_after(all, plan->nodes.items[done - 1].node->obj.name) : 0;

    *ret = 0;
    for (; at < all->all.count && plan->nodes.count - done < nodes_max && *ret == 0; at++)
        *ret = add_node(plan, c, all->all.items[at]);
    return at == all->all.count;
}

static int report_choice(struct schedule *plan, const struct cycle *c)
{
    int r = schedule_choose(plan, c->node->node->obj.name);

    for (size_t i = 0; r == 0 && i < c->claims.count; i++)
        if (!c->claims.items[i].is_bound)
            r = schedule_add_claim(plan, c->claims.items[i].claim, c->chosen.items[i]);
    return r;
}

/* If the chosen node has changed since it was filtered, all nodes are filtered again, in one step. */
static int report_result(struct schedule *plan, struct cycle *c, enum cycle_result result)
{
    if (result == CYCLE_FITS)
        result = cycle_choose(c);
    if (result == CYCLE_FITS && !c->node) {
        drop_nodes(plan);
        plan->has_restarted = true;
        return 0;
    }
    plan->refusal = c->refusal;
    plan->about = c->about;
    buf_add_str(&plan->message, buf_str(&c->message));
    if (result == CYCLE_FITS)
        return report_choice(plan, c) < 0 ? -ERR_NO_MEMORY : 1;
    if (plan->state == SCHEDULE_FITS)
        plan->state = result == CYCLE_FAILED       ? SCHEDULE_FAILED
                      : c->refusal != REFUSAL_NONE ? SCHEDULE_REFUSED
                                                   : SCHEDULE_NO_NODE;
    return 1;
}

/* The filters of the whole pod run again in every step: what they depend on may have changed. */
static int filter_some(struct schedule *plan, size_t nodes_max)
{
    enum cycle_result result;
    bool is_last = true;
    struct cycle c;
    int r = 0;

    cycle_init(&c, plan->s, plan->pod);
    result = cycle_check_pod(&c);
    if (result == CYCLE_FITS) {
        c.filtered = plan->filtered;
        plan->filtered = (struct filtered_nodes){ 0 };
        is_last = filter_next(plan, &c, plan->has_restarted ? SIZE_MAX : nodes_max, &r);
    } else {
        drop_nodes(plan);
    }
    if (r == 0 && is_last)
        r = report_result(plan, &c, result);
    if (r == 0 && plan->nodes.count > 0) {
        plan->filtered = c.filtered;
        c.filtered = (struct filtered_nodes){ 0 };
    }
    cycle_done(&c);
    return r;
}

void schedule_begin(struct schedule *plan, struct scheduler *s, const struct pod *p)
{
    *plan = (struct schedule){ .s = s, .pod = pod_of(object_ref(&p->obj)), .checks_left = CHECKS_MAX };
    buf_init(&plan->message, SCHEDULER_MESSAGE_BYTES_MAX);
    scheduler_follow(s);
}

int schedule_step(struct schedule *plan, size_t nodes_max, struct error *err)
{
    int r = 1;

    plan->state = pod_schedule_state(plan->s, plan->pod);
    report_queue_state(plan);
    if (plan->state == SCHEDULE_FITS && binding_report(plan->s, plan) < 0)
        return error_no_memory(err);
    if (plan->state == SCHEDULE_FITS || plan->state == SCHEDULE_GATED)
        r = filter_some(plan, nodes_max);
    else
        drop_nodes(plan);
    return r < 0 ? error_no_memory(err) : r;
}

/* --- Volumes --- */

static const struct schedule_node *find_node(const struct schedule *plan, const char *name)
{
    size_t low = 0, high = plan->nodes.count;

    while (low < high) {
        size_t mid = (low + high) / 2;
        int r = strcmp(plan->nodes.items[mid].node->obj.name, name);

        if (r == 0)
            return &plan->nodes.items[mid];
        low = r < 0 ? mid + 1 : low;
        high = r < 0 ? high : mid;
    }
    return NULL;
}

/* Uses the node for the result if it is better than the present one; true when no other node can be better.
 */
static bool try_node(const struct schedule *plan, const struct claim *c, const struct volume *v,
                     const struct schedule_node *n, struct schedule_volume *ret)
{
    const struct assumed_volume *a = assumed_volume(&plan->s->assumed, v->obj.name);
    static const struct kvs no_labels;
    struct match_options o = { .is_delayed = true,
                               .is_assumed = a != NULL,
                               .node_labels = n ? &n->node->obj.labels : &no_labels };
    enum reject r = match_volume(v, c, &o);

    if (r != REJECT_NONE || !n) {
        if (ret->reject == REJECT_NODE)
            ret->reject = r;
        return r != REJECT_NODE; /* other rules do not depend on the node */
    }
    if (ret->reject != REJECT_NONE || n->verdict.reasons == 0)
        *ret = (struct schedule_volume){ .node = n->node, .reasons = n->verdict.reasons };
    return n->verdict.reasons == 0;
}

/* Tries the nodes that a term names by kubernetes.io/hostname, the usual case. False when it names none. */
static bool try_named(const struct schedule *plan, const struct claim *c, const struct volume *v,
                      const struct node_term *t, struct schedule_volume *ret)
{
    bool names = false;

    for (size_t i = 0; i < t->labels.count; i++) {
        const struct requirement *q = &t->labels.items[i];

        if (q->op != SELECTOR_IN || strcmp(q->key, LABEL_HOSTNAME) != 0)
            continue;
        names = true;
        for (size_t k = 0; k < q->values_count; k++) {
            const struct schedule_node *n = find_node(plan, q->values[k]);

            if (n && try_node(plan, c, v, n, ret))
                return true;
        }
    }
    return names;
}

/* True when the result is final: every term names its nodes, and one of them reaches the volume. */
static bool try_all_named(const struct schedule *plan, const struct claim *c, const struct volume *v,
                          struct schedule_volume *ret)
{
    bool names = true;

    for (size_t i = 0; i < v->affinity->count; i++)
        names = try_named(plan, c, v, &v->affinity->terms[i], ret) && names;
    return names && ret->reject != REJECT_NODE;
}

/* A node that passed all filters, otherwise the first. */
static const struct schedule_node *any_node(const struct schedule *plan)
{
    for (size_t i = 0; i < plan->nodes.count; i++)
        if (plan->nodes.items[i].verdict.reasons == 0)
            return &plan->nodes.items[i];
    return plan->nodes.count > 0 ? &plan->nodes.items[0] : NULL;
}

void schedule_filter_volume(struct schedule *plan, const struct claim *c, const struct volume *v,
                            struct schedule_volume *ret)
{
    const struct assumed_volume *a = assumed_volume(&plan->s->assumed, v->obj.name);
    bool is_over = false;

    *ret = (struct schedule_volume){ .reject = REJECT_NODE };
    if (a && strcmp(a->claim_uid, c->obj.uid) != 0) {
        *ret = (struct schedule_volume){ .reject = REJECT_TAKEN, .is_assumed = true };
    } else if (volume_is_for(v, c) && !volume_is_reserved_for(v, c)) {
        ret->reject = REJECT_CLASS;
    } else if (!v->affinity || plan->nodes.count == 0) {
        (void)try_node(plan, c, v, any_node(plan), ret);
    } else if (!try_all_named(plan, c, v, ret)) {
        for (size_t i = 0; !is_over && i < plan->nodes.count && (i == 0 || plan->checks_left > 0); i++) {
            is_over = try_node(plan, c, v, &plan->nodes.items[i], ret);
            plan->checks_left -= plan->checks_left > 0;
        }
    }
}
