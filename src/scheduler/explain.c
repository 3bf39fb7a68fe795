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

static void schedule_each_object(const struct schedule *plan, void (*fn)(const struct object *o))
{
    fn(&plan->pod->obj);
    for (size_t i = 0; i < plan->nodes.count; i++)
        fn(&plan->nodes.items[i].node->obj);
    for (size_t i = 0; i < plan->claims.count; i++) {
        fn(&plan->claims.items[i].claim->obj);
        if (plan->claims.items[i].volume)
            fn(&plan->claims.items[i].volume->obj);
    }
}

static void hold_object(const struct object *o)
{
    (void)object_ref(o);
}

static void release_object(const struct object *o)
{
    (void)object_unref((struct object *)(uintptr_t)o);
}

static void free_memory(struct schedule *plan)
{
    vec_done(&plan->nodes);
    vec_done(&plan->claims);
    buf_done(&plan->message);
    free(plan->chosen_copy);
}

/* Takes references to the borrowed objects. */
static int schedule_hold(struct schedule *plan)
{
    if (plan->chosen) {
        plan->chosen_copy = strdup(plan->chosen);
        if (!plan->chosen_copy)
            return -ERR_NO_MEMORY;
        plan->chosen = plan->chosen_copy;
    }
    schedule_each_object(plan, hold_object);
    return 0;
}

void schedule_done(struct schedule *plan)
{
    schedule_each_object(plan, release_object);
    free_memory(plan);
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

static int report_nodes(struct schedule *plan, const struct cycle *c)
{
    const struct nodes *all = &c->s->nodes;
    size_t count = c->s->results.count;

    if (count != all->all.count) /* nodes were not filtered */
        return 0;
    if (vec_reserve(&plan->nodes, count) < 0)
        return -ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        plan->nodes.items[plan->nodes.count++] =
            (struct schedule_node){ .node = all->all.items[i]->node, .verdict = c->s->results.items[i] };
    return 0;
}

static int filter_all(struct schedule *plan, struct scheduler *s)
{
    enum cycle_result result;
    struct cycle c;
    int r;

    cycle_init(&c, s, plan->pod);
    c.filters_all_nodes = true;
    result = cycle_run(&c);
    plan->refusal = c.refusal;
    plan->about = c.about;
    buf_add_str(&plan->message, buf_str(&c.message));
    r = report_nodes(plan, &c);
    if (result == CYCLE_FITS) {
        plan->chosen = c.node->node->obj.name;
        for (size_t i = 0; r == 0 && i < c.claims.count; i++)
            if (!c.claims.items[i].is_bound)
                r = vec_push(&plan->claims,
                             (struct schedule_claim){ c.claims.items[i].claim, c.chosen.items[i] });
    } else if (plan->state == SCHEDULE_FITS) {
        plan->state = result == CYCLE_FAILED      ? SCHEDULE_FAILED
                      : c.refusal != REFUSAL_NONE ? SCHEDULE_REFUSED
                                                  : SCHEDULE_NO_NODE;
    }
    cycle_done(&c);
    return r;
}

int scheduler_explain(struct scheduler *s, const struct pod *p, struct schedule *ret, struct error *err)
{
    struct schedule x = { .s = s, .pod = p, .checks_left = CHECKS_MAX };
    int r = 0;

    scheduler_follow(s);
    buf_init(&x.message, SCHEDULER_MESSAGE_BYTES_MAX);
    x.state = pod_schedule_state(s, p);
    report_queue_state(&x);
    if (x.state == SCHEDULE_FITS)
        r = binding_report(s, &x);
    if (r == 0 && (x.state == SCHEDULE_FITS || x.state == SCHEDULE_GATED))
        r = filter_all(&x, s);
    if (r == 0)
        r = schedule_hold(&x);
    if (r < 0) {
        free_memory(&x);
        return error_no_memory(err);
    }
    *ret = x;
    return 0;
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
