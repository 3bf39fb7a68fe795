/* The volumes that a claim could have: each with the first rule that refuses it, and the one that is nearest.
 *
 * The verdict on a volume is match_volume()'s, which is what the binder asks. Costs a look at every volume,
 * in slices; words are made only for examples. */
#ifndef BERTH_WHY_CANDIDATES_H
#define BERTH_WHY_CANDIDATES_H

#include "volumes/match.h"
#include "why/world.h"

struct candidates {
    size_t total;
    size_t of_class; /* those of the claim's class */
    /* The one that the fewest rules refuse; NULL when there is no volume. */
    const struct volume *nearest;
    unsigned refusals; /* bits 1 << REJECT_* of the nearest; 0: it fits */
    enum reject first;
    int distance; /* of the nearest: how far it is from serving */
};

/* Counts every volume in the report. Of the options is_delayed and awaits_class count. Before the walk over
 * all volumes is done (walk.h) there is nothing. */
void why_add_candidates(const struct why_world *w, struct report *r, const struct claim *c,
                        const struct match_options *options, struct candidates *ret);

/* What stands between the nearest and the claim. */
enum candidate_obstacle {
    OBSTACLE_RULE,     /* the one rule that refuses it, x->first */
    OBSTACLE_SEVERAL,  /* rules */
    OBSTACLE_RELEASED, /* its claim is gone */
    OBSTACLE_FAILED,   /* the same, and reclaiming it failed */
    OBSTACLE_KEPT,     /* for another claim */
    OBSTACLE_COUNT,
};
enum candidate_obstacle candidates_obstacle(const struct candidates *x);
/* The same as the code of a cause: "taken", "released", "too-small"; "no-match" for several rules. */
const char *candidates_cause(const struct candidates *x);
/* All that is wrong with the nearest: "5Gi < 8Gi asked, class fast ≠ standard". */
void candidates_words(const struct candidates *x, const struct claim *c, struct buf *out);

#endif
