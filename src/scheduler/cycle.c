/* One scheduling attempt of a pod: filters that concern the whole pod, then filters per node, then the node
 * with the best score. Runs in one step on the loop and writes nothing. */
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
    vec_done(&c->reserved);
    vec_done(&c->by_size);
    vec_done(&c->chosen);
    vec_done(&c->zones);
    vec_done(&c->filtered.fitting);
    buf_done(&c->message);
}

enum cycle_result cycle_refuse(struct cycle *c, struct refused x, const char *fmt, ...)
{
    va_list args;

    c->filters = 1U << x.filter;
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

enum cycle_result cycle_fail(struct cycle *c, enum filter j, const char *fmt, ...)
{
    va_list args;

    c->failed_filter = j;
    buf_clear(&c->message);
    buf_addf(&c->message, "running PreFilter plugin \"%s\": ", filter_names[j]);
    va_start(args, fmt);
    buf_addv(&c->message, fmt, args);
    va_end(args);
    return CYCLE_FAILED;
}

static enum cycle_result check_affinity(struct cycle *c)
{
    if (affinity_is_contradictory(c->pod))
        return cycle_refuse(c, (struct refused){ REFUSAL_NAMES, FILTER_AFFINITY, NULL },
                            "pod affinity terms conflict");
    return CYCLE_FITS;
}

/* The first filter that rejects the node sets the reasons. */
static struct filter_result filter_one_node(struct cycle *c, const struct sched_node *n)
{
    struct filter_result v = filter_node(c, n);

    if (v.reasons == 0)
        v.reasons = filter_restrictions(c, n);
    if (v.reasons == 0)
        v.reasons = filter_limits(c, n);
    if (v.reasons == 0 && c->has_claims)
        v.reasons = filter_binding(c, n);
    if (v.reasons == 0)
        v.reasons = filter_zones(c, n);
    return v;
}

/* --- Choosing --- */

static int64_t score_total(const struct filtered_nodes *f, const struct scored *scored)
{
    int64_t taints = f->taints_max > 0 ? SCORE_MAX - SCORE_MAX * scored->taints / f->taints_max : SCORE_MAX;
    int64_t affinity = f->affinity_max > 0 ? SCORE_MAX * scored->affinity / f->affinity_max : 0;

    return WEIGHT_TAINTS * taints + WEIGHT_AFFINITY * affinity +
           WEIGHT_VOLUMES * (scored->volumes > 0 ? scored->volumes : 0);
}

/* Every node has the same score: only the number of its pods decides. */
static bool has_equal_scores(const struct cycle *c)
{
    return c->s->o.shape_count == 0 && c->pod->preferred_affinity_count == 0 && c->s->nodes.reluctant == 0;
}

/* Best score, then fewest pods, then by name: the nodes are in the order of names. */
static const struct scored *choose_node(const struct filtered_nodes *f)
{
    const struct scored *best = f->fitting.items;
    int64_t best_total = score_total(f, best);

    for (size_t i = 1; i < f->fitting.count; i++) {
        const struct scored *scored = &f->fitting.items[i];
        int64_t t = score_total(f, scored);

        if (t < best_total || (t == best_total && scored->pods >= best->pods))
            continue;
        best = scored;
        best_total = t;
    }
    return best;
}

static int add_scored(struct cycle *c, const struct sched_node *n)
{
    struct filtered_nodes *f = &c->filtered;
    struct scored x = { .name = n->node->obj.name,
                        .pods = n->pods.count,
                        .taints = score_taints(c->pod, n->node),
                        .affinity = score_affinity(c->pod, n->node),
                        .volumes = score_volumes(c) };

    if (x.taints > f->taints_max)
        f->taints_max = x.taints;
    if (x.affinity > f->affinity_max)
        f->affinity_max = x.affinity;
    return vec_push(&f->fitting, x);
}

int cycle_filter_node(struct cycle *c, const struct sched_node *n, struct filter_result *ret)
{
    *ret = affinity_names(c->pod, n->name) ? filter_one_node(c, n) : filter_result_of(REASON_ABSENT);
    filter_counts_add(&c->filtered.counts, ret->reasons);
    return ret->reasons == 0 ? add_scored(c, n) : 0;
}

/* If all scores are equal, nodes with at least as many pods as a node that passed are skipped: of many nodes
 * only a few are filtered. */
static enum cycle_result filter_nodes(struct cycle *c)
{
    const struct nodes *nodes = &c->s->nodes;
    size_t fewest = SIZE_MAX; /* pods of the best node so far */
    bool filters_all_nodes = !has_equal_scores(c);

    for (size_t i = 0; i < nodes->all.count; i++) {
        const struct sched_node *n = nodes->all.items[i];
        struct filter_result v;

        if (!filters_all_nodes && n->pods.count >= fewest)
            continue;
        if (cycle_filter_node(c, n, &v) < 0)
            return cycle_fail(c, FILTER_NODE_NAME, "out of memory");
        if (v.reasons == 0)
            fewest = n->pods.count;
    }
    return CYCLE_FITS;
}

enum cycle_result cycle_choose(struct cycle *c)
{
    if (c->filtered.fitting.count == 0) {
        c->filters = filter_result_filters(c->filtered.counts.reasons);
        filter_counts_write(&c->filtered.counts, &c->message);
        return CYCLE_REFUSED;
    }
    c->node = nodes_get(&c->s->nodes, choose_node(&c->filtered)->name);
    if (c->node && c->has_claims && filter_binding(c, c->node) != 0) /* chosen has the volumes of the last */
        c->node = NULL;
    return CYCLE_FITS;
}

enum cycle_result cycle_check_pod(struct cycle *c)
{
    /* In the order of the filters; the first that rejects the pod sets the message. */
    static enum cycle_result (*const checks[])(struct cycle *) = { check_affinity, check_restrictions,
                                                                   check_limits, check_binding, check_zones };
    enum cycle_result r = CYCLE_FITS;

    if (c->s->nodes.all.count == 0) {
        buf_add_cstr(&c->message, "no nodes available to schedule pods");
        c->filters = 1U << FILTER_NO_NODES;
        c->refusal = REFUSAL_NO_NODES;
        return CYCLE_REFUSED;
    }
    for (size_t i = 0; i < ARRAY_LEN(checks) && r == CYCLE_FITS; i++)
        r = checks[i](c);
    return r;
}

enum cycle_result cycle_run(struct cycle *c)
{
    enum cycle_result r = cycle_check_pod(c);

    if (r == CYCLE_FITS)
        r = filter_nodes(c);
    if (r == CYCLE_FITS)
        r = cycle_choose(c);
    assert(r != CYCLE_FITS || c->node); /* nothing has changed since it was filtered */
    return r;
}
