/* The volumes that could serve a claim: each with the first rule that refuses it, and the closest one.
 *
 * match_volume() decides, as it does for the binder. Costs one look per volume, in slices; only examples get
 * a text. */
#ifndef BERTH_WHY_CANDIDATES_H
#define BERTH_WHY_CANDIDATES_H

#include "volumes/match.h"
#include "why/why_world.h"

struct candidates {
    size_t total;
    size_t of_class; /* volumes of the claim's class */
    /* The volume that the fewest rules refuse; NULL when no volume exists. */
    const struct volume *nearest;
    unsigned refusals; /* bits 1 << REJECT_* of the closest; 0: it fits */
    enum reject first;
    int distance; /* of the closest: lower is closer */
};

/* Counts every volume in the report. Of the options only is_delayed and awaits_class are used. Empty until
 * the walk over all volumes is done (why_walk.h). */
void why_add_candidates(const struct why_world *w, struct why_report *r, const struct claim *c,
                        const struct match_options *options, struct candidates *ret);

/* Why the closest volume does not serve the claim. */
enum candidate_obstacle {
    OBSTACLE_RULE,     /* one rule, x->first */
    OBSTACLE_SEVERAL,  /* several rules */
    OBSTACLE_RELEASED, /* its claim was deleted */
    OBSTACLE_FAILED,   /* its claim was deleted, and reclaiming it failed */
    OBSTACLE_KEPT,     /* reserved for another claim */
    OBSTACLE_COUNT,
};
enum candidate_obstacle candidates_obstacle(const struct candidates *found);
/* The code of the cause: "taken", "released", "too-small"; "no-match" for several rules. */
const char *candidates_cause(const struct candidates *found);
/* Every refusal of the closest: "5Gi < 8Gi asked, volume has class fast, claim has standard". */
void candidates_words(const struct candidates *found, const struct claim *c, struct buf *out);

#endif
