/* One pod's turn: what concerns the whole pod, then every node, then the best of those that will do. */
#include "scheduler/scheduler_int.h"

#include <assert.h>
#include <stdarg.h>

#include "api/pod_claims.h"

#define WEIGHT_TAINTS 3
#define WEIGHT_AFFINITY 2
#define WEIGHT_VOLUMES 1
#define SCORE_MAX 100

void cycle_init(struct cycle *c, struct scheduler *s, const struct pod *p)
{
    *c = (struct cycle){ .s = s, .pod = p, .needs = pod_needs(p) };
    buf_init(&c->message, SCHEDULER_MESSAGE_BYTES_MAX);
}

void cycle_done(struct cycle *c)
{
    vec_done(&c->uses);
    migrated_volumes_done(&c->migrated);
    vec_done(&c->claims);
    vec_done(&c->kept);
    vec_done(&c->by_size);
    vec_done(&c->chosen);
    vec_done(&c->zones);
    buf_done(&c->message);
}

enum cycle_result cycle_refuse(struct cycle *c, struct refused x, const char *fmt, ...)
{
    va_list args;

    c->judges = 1U << x.judge;
    c->refusal = x.why;
    c->about = x.about;
    buf_clear(&c->message);
    buf_addf(&c->message, "0/%zu nodes are available: ", c->s->nodes.all.count);
    va_start(args, fmt);
    buf_addv(&c->message, fmt, args);
    va_end(args);
    buf_add_char(&c->message, '.');
    return CYCLE_REFUSED;
}

enum cycle_result cycle_fail(struct cycle *c, enum judge j, const char *fmt, ...)
{
    va_list args;

    c->failed_judge = j;
    buf_clear(&c->message);
    buf_addf(&c->message, "running PreFilter plugin \"%s\": ", judge_names[j]);
    va_start(args, fmt);
    buf_addv(&c->message, fmt, args);
    va_end(args);
    return CYCLE_FAILED;
}

static enum cycle_result check_affinity(struct cycle *c)
{
    if (affinity_is_contradictory(c->pod))
        return cycle_refuse(c, (struct refused){ REFUSAL_NAMES, JUDGE_AFFINITY, NULL },
                            "pod affinity terms conflict");
    return CYCLE_FITS;
}

/* In the order of the judges; the first that refuses speaks. */
static enum cycle_result check_pod(struct cycle *c)
{
    static enum cycle_result (*const checks[])(struct cycle *) = { check_affinity, check_restrictions,
                                                                   check_limits, check_binding, check_zones };
    enum cycle_result r = CYCLE_FITS;

    for (size_t i = 0; i < ARRAY_LEN(checks) && r == CYCLE_FITS; i++)
        r = checks[i](c);
    return r;
}

/* The first judge that refuses is the node's. */
static struct verdict judge(struct cycle *c, const struct sched_node *n)
{
    struct verdict v = judge_node(c, n);

    if (v.reasons == 0)
        v.reasons = judge_restrictions(c, n);
    if (v.reasons == 0)
        v.reasons = judge_limits(c, n);
    if (v.reasons == 0 && c->has_claims)
        v.reasons = judge_binding(c, n);
    if (v.reasons == 0)
        v.reasons = judge_zones(c, n);
    return v;
}

/* --- Choosing --- */

struct scored {
    struct sched_node *node;
    int64_t taints;
    int64_t affinity;
    int64_t volumes; /* -1: none */
};

struct contest {
    VEC(struct scored) items; /* nodes that will do */
    int64_t taints_max;
    int64_t affinity_max;
};

static int64_t total(const struct contest *f, const struct scored *x)
{
    int64_t taints = f->taints_max > 0 ? SCORE_MAX - SCORE_MAX * x->taints / f->taints_max : SCORE_MAX;
    int64_t affinity = f->affinity_max > 0 ? SCORE_MAX * x->affinity / f->affinity_max : 0;

    return WEIGHT_TAINTS * taints + WEIGHT_AFFINITY * affinity +
           WEIGHT_VOLUMES * (x->volumes > 0 ? x->volumes : 0);
}

/* Whatever node it is, its score is the same: only how many pods it has tells. */
static bool is_level(const struct cycle *c)
{
    return c->s->o.shape_count == 0 && c->pod->preferred_affinity_count == 0 && c->s->nodes.reluctant == 0;
}

/* Best score, then fewest pods, then by name, which is the order they come in. */
static struct sched_node *choose(const struct contest *f)
{
    const struct scored *best = f->items.items;
    int64_t best_total;

    assert(best); /* one will do */
    best_total = total(f, best);
    for (size_t i = 1; i < f->items.count; i++) {
        const struct scored *x = &f->items.items[i];
        int64_t t = total(f, x);

        if (t < best_total || (t == best_total && x->node->pods.count >= best->node->pods.count))
            continue;
        best = x;
        best_total = t;
    }
    return best->node;
}

static int add_scored(struct cycle *c, struct contest *f, struct sched_node *n)
{
    struct scored x = { .node = n,
                        .taints = score_taints(c->pod, n->node),
                        .affinity = score_affinity(c->pod, n->node),
                        .volumes = score_volumes(c) };

    if (x.taints > f->taints_max)
        f->taints_max = x.taints;
    if (x.affinity > f->affinity_max)
        f->affinity_max = x.affinity;
    return vec_push(&f->items, x);
}

static enum cycle_result refuse_all(struct cycle *c)
{
    uint32_t reasons = 0;

    for (size_t i = 0; i < c->s->verdicts.count; i++)
        reasons |= c->s->verdicts.items[i].reasons;
    c->judges = verdict_judges(reasons);
    verdicts_write(c->s->verdicts.items, c->s->verdicts.count, &c->message);
    return CYCLE_REFUSED;
}

/* Where all scores are the same, a node that has no fewer pods than one that will do is not looked at: of
 * many nodes a handful are. */
static enum cycle_result judge_nodes(struct cycle *c, struct contest *f)
{
    struct nodes *nodes = &c->s->nodes;
    size_t fewest = SIZE_MAX; /* pods of one that will do */
    bool looks_at_all = c->looks_at_all || !is_level(c);

    if (vec_reserve(&c->s->verdicts, nodes->all.count) < 0)
        return cycle_fail(c, JUDGE_NODE_NAME, "out of memory");
    for (size_t i = 0; i < nodes->all.count; i++) {
        struct sched_node *n = nodes->all.items[i];
        struct verdict v;

        if (!looks_at_all && n->pods.count >= fewest)
            continue;
        v = affinity_names(c->pod, n->name) ? judge(c, n) : verdict_of(REASON_ABSENT);
        c->s->verdicts.items[c->s->verdicts.count++] = v;
        if (v.reasons != 0)
            continue;
        fewest = n->pods.count;
        if (add_scored(c, f, n) < 0)
            return cycle_fail(c, JUDGE_NODE_NAME, "out of memory");
    }
    return f->items.count > 0 ? CYCLE_FITS : refuse_all(c);
}

enum cycle_result cycle_run(struct cycle *c)
{
    struct contest f = { 0 };
    enum cycle_result r;

    vec_clear(&c->s->verdicts);
    if (c->s->nodes.all.count == 0) {
        buf_add_cstr(&c->message, "no nodes available to schedule pods");
        c->judges = 1U << JUDGE_NO_NODES;
        c->refusal = REFUSAL_NO_NODES;
        return CYCLE_REFUSED;
    }
    r = check_pod(c);
    if (r == CYCLE_FITS)
        r = judge_nodes(c, &f);
    if (r == CYCLE_FITS) {
        c->node = choose(&f);
        if (c->has_claims)
            (void)judge_binding(c, c->node); /* once more: chosen is the last node's */
    }
    vec_done(&f.items);
    return r;
}
