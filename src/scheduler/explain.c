#include "scheduler/explain.h"

#include <stdlib.h>
#include <string.h>

#include "scheduler/scheduler_int.h"

/* A fifth of a second of looks. */
#define CHECKS_MAX ((size_t)2000000)

/* --- References --- */

static void schedule_each_object(const struct schedule *x, void (*fn)(const struct object *o))
{
    fn(&x->pod->obj);
    for (size_t i = 0; i < x->nodes.count; i++)
        fn(&x->nodes.items[i].node->obj);
    for (size_t i = 0; i < x->claims.count; i++) {
        fn(&x->claims.items[i].claim->obj);
        if (x->claims.items[i].volume)
            fn(&x->claims.items[i].volume->obj);
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

static void free_memory(struct schedule *x)
{
    vec_done(&x->nodes);
    vec_done(&x->claims);
    buf_done(&x->message);
    free(x->chosen_copy);
}

/* What it borrowed becomes its own. */
static int schedule_hold(struct schedule *x)
{
    if (x->chosen) {
        x->chosen_copy = strdup(x->chosen);
        if (!x->chosen_copy)
            return -ERR_NO_MEMORY;
        x->chosen = x->chosen_copy;
    }
    schedule_each_object(x, hold_object);
    return 0;
}

void schedule_done(struct schedule *x)
{
    schedule_each_object(x, release_object);
    free_memory(x);
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
    buf_add_str(&x->message, buf_str(&c.message));
    r = tell_nodes(x, &c);
    if (result == CYCLE_FITS) {
        x->chosen = c.node->node->obj.name;
        r = r < 0 ? r : tell_claims(x, &c);
    } else if (x->state == SCHEDULE_FITS) {
        x->state = result == CYCLE_FAILED      ? SCHEDULE_FAILED
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

static const struct schedule_node *find_node(const struct schedule *x, const char *name)
{
    size_t low = 0, high = x->nodes.count;

    while (low < high) {
        size_t mid = (low + high) / 2;
        int r = strcmp(x->nodes.items[mid].node->obj.name, name);

        if (r == 0)
            return &x->nodes.items[mid];
        low = r < 0 ? mid + 1 : low;
        high = r < 0 ? high : mid;
    }
    return NULL;
}

/* Takes the node into the answer when it is better than what is there; true when no other can be. */
static bool try_node(const struct schedule *x, const struct claim *c, const struct volume *v,
                     const struct schedule_node *n, struct schedule_volume *ret)
{
    const struct assumed_volume *a = assumed_volume(&x->s->assumed, v->obj.name);
    static const struct kvs no_labels;
    struct match_options o = { .is_delayed = true,
                               .is_assumed = a != NULL,
                               .node_labels = n ? &n->node->obj.labels : &no_labels };
    enum reject r = match_volume(v, c, &o);

    if (r != REJECT_NONE || !n) {
        if (ret->reject == REJECT_NODE)
            ret->reject = r;
        return r != REJECT_NODE; /* the rest is the same from everywhere */
    }
    if (ret->reject != REJECT_NONE || n->verdict.reasons == 0)
        *ret = (struct schedule_volume){ .node = n->node, .reasons = n->verdict.reasons };
    return n->verdict.reasons == 0;
}

/* The nodes that a term names as most do, by their hosts' names. False when it names none. */
static bool try_named(const struct schedule *x, const struct claim *c, const struct volume *v,
                      const struct node_term *t, struct schedule_volume *ret)
{
    bool names = false;

    for (size_t i = 0; i < t->labels.count; i++) {
        const struct requirement *q = &t->labels.items[i];

        if (q->op != SELECTOR_IN || strcmp(q->key, LABEL_HOSTNAME) != 0)
            continue;
        names = true;
        for (size_t k = 0; k < q->values_count; k++) {
            const struct schedule_node *n = find_node(x, q->values[k]);

            if (n && try_node(x, c, v, n, ret))
                return true;
        }
    }
    return names;
}

/* True when that settles it: every term names its nodes, and one of them reaches the volume. */
static bool try_all_named(const struct schedule *x, const struct claim *c, const struct volume *v,
                          struct schedule_volume *ret)
{
    bool names = true;

    for (size_t i = 0; i < v->affinity->count; i++)
        names = try_named(x, c, v, &v->affinity->terms[i], ret) && names;
    return names && ret->reject != REJECT_NODE;
}

/* One that will do, else the first. */
static const struct schedule_node *any_node(const struct schedule *x)
{
    for (size_t i = 0; i < x->nodes.count; i++)
        if (x->nodes.items[i].verdict.reasons == 0)
            return &x->nodes.items[i];
    return x->nodes.count > 0 ? &x->nodes.items[0] : NULL;
}

void schedule_judge_volume(struct schedule *x, const struct claim *c, const struct volume *v,
                           struct schedule_volume *ret)
{
    const struct assumed_volume *a = assumed_volume(&x->s->assumed, v->obj.name);
    bool is_over = false;

    *ret = (struct schedule_volume){ .reject = REJECT_NODE };
    if (a && strcmp(a->claim_uid, c->obj.uid) != 0) {
        *ret = (struct schedule_volume){ .reject = REJECT_TAKEN, .is_promised = true };
    } else if (volume_is_for(v, c) && !volume_is_kept_for(v, c)) {
        ret->reject = REJECT_CLASS;
    } else if (!v->affinity || x->nodes.count == 0) {
        (void)try_node(x, c, v, any_node(x), ret);
    } else if (!try_all_named(x, c, v, ret)) {
        for (size_t i = 0; !is_over && i < x->nodes.count && (i == 0 || x->checks_left > 0); i++) {
            is_over = try_node(x, c, v, &x->nodes.items[i], ret);
            x->checks_left -= x->checks_left > 0;
        }
    }
}
