#include "why/candidates.h"

#include <string.h>

#include "base/cleanup.h"
#include "why/walk.h"

#define BIT(rule) (1U << (rule))
/* No fault of the volume's: the claim waits for something else. */
#define WAITS (BIT(REJECT_DELAYED) | BIT(REJECT_AWAITS_CLASS))

/* Of two volumes that one rule refuses, the one is nearer whose fault is mended more easily. A volume that
 * somebody has comes last: of those there are many, and they say nothing. */
enum {
    RANK_SIZE,
    RANK_ACCESS_MODES,
    RANK_CLASS,
    RANK_SELECTOR,
    RANK_DATA_SOURCE,
    RANK_VOLUME_MODE,
    RANK_ATTRIBUTES_CLASS,
    RANK_NODE,
    RANK_PHASE,
    RANK_DELETING,
    RANK_RELEASED,
    RANK_KEPT,
    RANK_TAKEN,
};

static int rank_of(enum reject rule, const struct volume *v)
{
    static const int ranks[REJECT_COUNT] = {
        [REJECT_SIZE] = RANK_SIZE,
        [REJECT_ACCESS_MODES] = RANK_ACCESS_MODES,
        [REJECT_CLASS] = RANK_CLASS,
        [REJECT_SELECTOR] = RANK_SELECTOR,
        [REJECT_DATA_SOURCE] = RANK_DATA_SOURCE,
        [REJECT_VOLUME_MODE] = RANK_VOLUME_MODE,
        [REJECT_ATTRIBUTES_CLASS] = RANK_ATTRIBUTES_CLASS,
        [REJECT_NODE] = RANK_NODE,
        [REJECT_PHASE] = RANK_PHASE,
        [REJECT_DELETING] = RANK_DELETING,
    };

    if (rule != REJECT_TAKEN)
        return ranks[rule];
    if (v->phase == VOLUME_RELEASED || v->phase == VOLUME_FAILED)
        return RANK_RELEASED;
    return v->phase == VOLUME_BOUND ? RANK_TAKEN : RANK_KEPT;
}

/* What counts against a volume: its phase follows from being another's. */
static unsigned faults_of(unsigned refusals)
{
    if (refusals & BIT(REJECT_TAKEN))
        refusals &= ~BIT(REJECT_PHASE);
    return refusals & ~WAITS;
}

static enum reject first_of(unsigned refusals)
{
    unsigned faults = refusals & ~WAITS;

    if (faults)
        return (enum reject)__builtin_ctz(faults);
    return refusals ? (enum reject)__builtin_ctz(refusals) : REJECT_NONE;
}

/* Lower is nearer: kept for the claim, fewer faults, the lesser fault. */
static int distance(const struct volume *v, const struct claim *c, unsigned refusals)
{
    if (v->claim.is_set && volume_is_for(v, c))
        return 0;
    return 1 + 100 * __builtin_popcount(faults_of(refusals)) + rank_of(first_of(refusals), v);
}

/* Of equals the first stays, but the larger of those that are too small. */
static void keep_nearest(struct candidates *x, const struct claim *c, const struct volume *v,
                         unsigned refusals)
{
    int far = distance(v, c, refusals);

    if (x->nearest && far >= x->distance &&
        !(far == x->distance && x->first == REJECT_SIZE &&
          quantity_cmp(&v->capacity, &x->nearest->capacity) > 0))
        return;
    x->nearest = v;
    x->refusals = refusals;
    x->first = first_of(refusals);
    x->distance = far;
}

static void add_one(struct report *r, const struct claim *c, const struct volume *v, enum reject first)
{
    _cleanup_(buf_done_p) struct buf words = BUF_INIT(WHY_LINE_BYTES_MAX);

    if (!report_count(r, reject_names[first]))
        return;
    if (first == REJECT_NONE)
        buf_add_cstr(&words, "fits");
    else
        match_words(first, v, c, &words);
    report_example(r, reject_names[first], v->obj.name, "%s", buf_cstr(&words));
}

/* --- The walk over all volumes --- */

enum { IS_DELAYED = 1, AWAITS_CLASS = 2 };

struct candidates_walk {
    struct why_walk walk; /* about a claim */
    struct report counted;
    struct candidates found;
    const struct object *nearest; /* a reference */
};

static size_t visit_candidate(const struct why_world *w, struct why_walk *walk, const struct object *o)
{
    struct candidates_walk *x = CONTAINER_OF(walk, struct candidates_walk, walk);
    struct match_options options = { .is_delayed = walk->flags & IS_DELAYED,
                                     .awaits_class = walk->flags & AWAITS_CLASS };
    const struct claim *c = claim_of(walk->about);
    const struct volume *v = volume_of(o);
    unsigned refusals = match_refusals(v, c, &options);

    why_walk_begin_counting(w, &x->counted);
    x->found.total++;
    x->found.of_class += strcmp(v->class, c->class) == 0;
    add_one(&x->counted, c, v, first_of(refusals));
    keep_nearest(&x->found, c, v, refusals);
    if (x->found.nearest == v)
        why_walk_hold(&x->nearest, o);
    return 1;
}

static void clear_candidates(struct why_walk *walk)
{
    why_walk_hold(&CONTAINER_OF(walk, struct candidates_walk, walk)->nearest, NULL);
}

static const struct why_walk_type candidates_walk_type = { .bytes = sizeof(struct candidates_walk),
                                                           .kind = KIND_VOLUME,
                                                           .visit = visit_candidate,
                                                           .clear = clear_candidates };

void why_add_candidates(const struct why_world *w, struct report *r, const struct claim *c,
                        const struct match_options *options, struct candidates *ret)
{
    unsigned flags = (options->is_delayed ? IS_DELAYED : 0U) | (options->awaits_class ? AWAITS_CLASS : 0U);
    struct why_walk *walk = why_walk_get(w, &candidates_walk_type, &c->obj, /* other= */ NULL, flags);
    struct candidates_walk *x = walk ? CONTAINER_OF(walk, struct candidates_walk, walk) : NULL;

    *ret = (struct candidates){ .total = 0 };
    if (!x || !walk->is_done)
        return;
    *ret = x->found;
    why_walk_take_candidates(w, walk, &x->counted, r);
}

enum candidate_obstacle candidates_obstacle(const struct candidates *x)
{
    int rank = x->first == REJECT_TAKEN ? rank_of(REJECT_TAKEN, x->nearest) : 0;

    if (__builtin_popcount(faults_of(x->refusals)) > 1)
        return OBSTACLE_SEVERAL;
    if (x->first == REJECT_TAKEN && rank == RANK_RELEASED)
        return x->nearest->phase == VOLUME_FAILED ? OBSTACLE_FAILED : OBSTACLE_RELEASED;
    return x->first == REJECT_TAKEN && rank == RANK_KEPT ? OBSTACLE_KEPT : OBSTACLE_RULE;
}

const char *candidates_cause(const struct candidates *x)
{
    static const char *const names[] = {
        [OBSTACLE_RULE] = NULL,       [OBSTACLE_SEVERAL] = "no-match", [OBSTACLE_RELEASED] = "released",
        [OBSTACLE_FAILED] = "failed", [OBSTACLE_KEPT] = "kept",
    };
    enum candidate_obstacle obstacle = candidates_obstacle(x);

    static_assert(ARRAY_LEN(names) == OBSTACLE_COUNT, "name every obstacle");
    return obstacle == OBSTACLE_RULE ? reject_names[x->first] : names[obstacle];
}

void candidates_words(const struct candidates *x, const struct claim *c, struct buf *out)
{
    unsigned faults = faults_of(x->refusals), said = 0;

    for (unsigned rule = REJECT_NONE + 1; rule < REJECT_COUNT; rule++)
        if (faults & BIT(rule)) {
            buf_add_cstr(out, said++ ? ", " : "");
            match_words((enum reject)rule, x->nearest, c, out);
        }
}
