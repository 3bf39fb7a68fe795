#include "scheduler/explain.h"

#include <string.h>

#include "scheduler/scheduler_int.h"

/* A fifth of a second of looks. */
#define CHECKS_MAX ((size_t)2000000)

void schedule_done(struct schedule *x)
{
    vec_done(&x->nodes);
    vec_done(&x->claims);
    buf_done(&x->message);
}

/* --- What is known without the judges --- */

static enum schedule_state state_of(const struct scheduler *s, const struct pod *p)
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

static void tell_queue(struct schedule *x)
{
    const struct queued_pod *q = queue_get(&x->s->queue, x->pod->obj.uid);

    x->is_live = x->s->is_started;
    if (!q || !x->is_live)
        return;
    x->attempts = q->attempts;
    switch (q->place) {
    case QUEUE_READY:
        x->place = SCHEDULE_READY;
        break;
    case QUEUE_RESTING:
        x->place = SCHEDULE_RESTING;
        x->rest_until_ns = q->rest_until_ns;
        break;
    case QUEUE_ASIDE:
        x->place = SCHEDULE_ASIDE;
        x->since_ns = q->aside_since_ns;
        break;
    case QUEUE_UNDER_WAY: /* between two requests of ours: binding_tell() knows of it */
    case QUEUE_PLACE_COUNT:
        break;
    }
}

/* --- What the judges say --- */

static int tell_nodes(struct schedule *x, const struct cycle *c)
{
    const struct nodes *all = &c->s->nodes;
    size_t count = c->s->verdicts.count;

    if (count != all->all.count) /* nodes were not asked */
        return 0;
    if (vec_reserve(&x->nodes, count) < 0)
        return -ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        x->nodes.items[x->nodes.count++] =
            (struct schedule_node){ .node = all->all.items[i]->node, .verdict = c->s->verdicts.items[i] };
    return 0;
}

static int tell_claims(struct schedule *x, const struct cycle *c)
{
    for (size_t i = 0; i < c->claims.count; i++)
        if (!c->claims.items[i].is_bound &&
            vec_push(&x->claims, (struct schedule_claim){ c->claims.items[i].claim, c->chosen.items[i] }) < 0)
            return -ERR_NO_MEMORY;
    return 0;
}

static int judge_all(struct schedule *x, struct scheduler *s)
{
    enum cycle_result result;
    struct cycle c;
    int r;

    cycle_init(&c, s, x->pod);
    c.looks_at_all = true;
    result = cycle_run(&c);
    x->refusal = c.refusal;
    x->about = c.about;
    (void)buf_add_str(&x->message, buf_str(&c.message));
    r = tell_nodes(x, &c);
    if (result == CYCLE_FITS) {
        x->chosen = c.node->node->obj.name;
        r = r < 0 ? r : tell_claims(x, &c);
    } else if (x->state == SCHEDULE_FITS) {
        x->state = result == CYCLE_FAILED    ? SCHEDULE_FAILED
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
    x.state = state_of(s, p);
    tell_queue(&x);
    if (x.state == SCHEDULE_FITS)
        r = binding_tell(s, &x);
    if (r == 0 && (x.state == SCHEDULE_FITS || x.state == SCHEDULE_GATED))
        r = judge_all(&x, s);
    if (r < 0) {
        schedule_done(&x);
        return error_no_memory(err);
    }
    *ret = x;
    return 0;
}

/* --- Volumes --- */

/* The node that a term names as most do, by its name as a label; NULL for none. */
static size_t node_named(const struct schedule *x, const struct node_term *t)
{
    for (size_t i = 0; i < t->labels.count; i++) {
        const struct requirement *q = &t->labels.items[i];

        for (size_t k = 0; q->op == SELECTOR_IN && strcmp(q->key, LABEL_HOSTNAME) == 0 && k < q->values_count;
             k++) {
            size_t low = 0, high = x->nodes.count;

            while (low < high) {
                size_t mid = (low + high) / 2;
                int r = strcmp(x->nodes.items[mid].node->obj.name, q->values[k]);

                if (r == 0)
                    return mid;
                low = r < 0 ? mid + 1 : low;
                high = r < 0 ? high : mid;
            }
        }
    }
    return SIZE_MAX;
}
