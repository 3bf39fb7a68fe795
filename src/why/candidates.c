/* Compares every volume with one claim, for the report on the claim.
 *
 * match_volume() decides, as it does for the binder; here each refusal gets its words and the closest volume
 * is kept. One walk over the volume cache, in slices. */
#include "why/candidates.h"

#include <string.h>

#include "base/cleanup.h"
#include "why/why_walk.h"

#define BIT(rule) (1U << (rule))
/* These do not speak against the volume: the claim waits for something else. */
#define WAITS (BIT(REJECT_DELAYED) | BIT(REJECT_AWAITS_CLASS))

/* Of two volumes that one rule refuses each, the one whose refusal is easier to fix is closer. Bound volumes
 * come last: there are many of them, and they explain nothing. */
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

/* The phase of a volume that belongs to another claim is no refusal of its own. */
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

/* Lower is closer: reserved for the claim, then fewer refusals, then the one that is easier to fix. */
static int candidate_distance(const struct volume *v, const struct claim *c, unsigned refusals)
{
    if (v->claim.is_set && volume_is_for(v, c))
        return 0;
    return 1 + 100 * __builtin_popcount(faults_of(refusals)) + rank_of(first_of(refusals), v);
}

/* Of equals the first is kept; of volumes that are too small, the largest. */
static void keep_closest(struct candidates *found, const struct claim *c, const struct volume *v,
                         unsigned refusals)
{
    int far = candidate_distance(v, c, refusals);

    if (found->nearest && far >= found->distance &&
        !(far == found->distance && found->first == REJECT_SIZE &&
          quantity_cmp(&v->capacity, &found->nearest->capacity) > 0))
        return;
    found->nearest = v;
    found->refusals = refusals;
    found->first = first_of(refusals);
    found->distance = far;
}

static void count_candidate(struct why_report *r, const struct claim *c, const struct volume *v,
                            enum reject first)
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

/* --- Walk over all volumes --- */

enum { IS_DELAYED = 1, AWAITS_CLASS = 2 };

struct candidates_walk {
    struct why_walk walk; /* about a claim */
    struct why_report counted;
    struct candidates found;
    const struct object *nearest; /* a reference */
};

static size_t visit_candidate(const struct why_world *w, struct why_walk *walk, const struct object *o)
{
    struct candidates_walk *candidates_walk = CONTAINER_OF(walk, struct candidates_walk, walk);
    struct match_options options = { .is_delayed = walk->flags & IS_DELAYED,
                                     .awaits_class = walk->flags & AWAITS_CLASS };
    const struct claim *c = claim_of(walk->about);
    const struct volume *v = volume_of(o);
    unsigned refusals = match_refusals(v, c, &options);

    why_walk_begin_counting(w, &candidates_walk->counted);
    candidates_walk->found.total++;
    candidates_walk->found.of_class += strcmp(v->class, c->class) == 0;
    count_candidate(&candidates_walk->counted, c, v, first_of(refusals));
    keep_closest(&candidates_walk->found, c, v, refusals);
    if (candidates_walk->found.nearest == v)
        why_walk_hold(&candidates_walk->nearest, o);
    return 1;
}

static const struct why_walk_type candidates_walk_type = {
    .bytes = sizeof(struct candidates_walk),
    .kind = KIND_VOLUME,
    .visit = visit_candidate,
    .held = { offsetof(struct candidates_walk, nearest) },
};

void why_add_candidates(const struct why_world *w, struct why_report *r, const struct claim *c,
                        const struct match_options *options, struct candidates *ret)
{
    unsigned flags = (options->is_delayed ? IS_DELAYED : 0U) | (options->awaits_class ? AWAITS_CLASS : 0U);
    struct candidates_walk *candidates_walk =
        why_walk_result(w, &candidates_walk_type, &c->obj, /* other= */ NULL, flags);

    *ret = (struct candidates){ .total = 0 };
    if (!candidates_walk)
        return;
    *ret = candidates_walk->found;
    why_walk_take_candidates(w, &candidates_walk->walk, &candidates_walk->counted, r);
}

enum candidate_obstacle candidates_obstacle(const struct candidates *found)
{
    int rank = found->first == REJECT_TAKEN ? rank_of(REJECT_TAKEN, found->nearest) : 0;

    if (__builtin_popcount(faults_of(found->refusals)) > 1)
        return OBSTACLE_SEVERAL;
    if (found->first == REJECT_TAKEN && rank == RANK_RELEASED)
        return found->nearest->phase == VOLUME_FAILED ? OBSTACLE_FAILED : OBSTACLE_RELEASED;
    return found->first == REJECT_TAKEN && rank == RANK_KEPT ? OBSTACLE_KEPT : OBSTACLE_RULE;
}

const char *candidates_cause(const struct candidates *found)
{
    static const char *const names[] = {
        [OBSTACLE_RULE] = NULL,       [OBSTACLE_SEVERAL] = "no-match", [OBSTACLE_RELEASED] = "released",
        [OBSTACLE_FAILED] = "failed", [OBSTACLE_KEPT] = "kept",
    };
    enum candidate_obstacle obstacle = candidates_obstacle(found);

    static_assert(ARRAY_LEN(names) == OBSTACLE_COUNT, "name every obstacle");
    return obstacle == OBSTACLE_RULE ? reject_names[found->first] : names[obstacle];
}

void candidates_words(const struct candidates *found, const struct claim *c, struct buf *out)
{
    unsigned faults = faults_of(found->refusals), said = 0;

    for (unsigned rule = REJECT_NONE + 1; rule < REJECT_COUNT; rule++)
        if (faults & BIT(rule)) {
            buf_add_cstr(out, said++ ? ", " : "");
            match_words((enum reject)rule, found->nearest, c, out);
        }
}
