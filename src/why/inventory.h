/* What a server has, decoded: lists of several kinds, in the order of namespace and name, and who uses whose.
 *
 * The verbs that look at everything at once (tree, check, top) load what they need, tie it together once and
 * then only read. A kind that could not be listed is not there, and says so: what follows from its absence is
 * not concluded.
 *
 * Costs: each list is sorted once, each question is a binary search. */
#ifndef BERTH_WHY_INVENTORY_H
#define BERTH_WHY_INVENTORY_H

#include "api/claim.h"
#include "api/class.h"
#include "api/pod.h"
#include "api/volume.h"
#include "base/vec.h"

/* Ceiling of what an answer may take. */
#define INVENTORY_BYTES_MAX ((size_t)1 << 30)

/* A pod that has the claim among its volumes. */
struct claim_user {
    const char *ns;
    const char *claim;
    const struct pod *pod;
};

struct inventory {
    struct {
        VEC(struct object *) list;
        bool is_known; /* it was listed */
        bool is_whole; /* of every namespace */
    } kinds[KIND_COUNT];
    VEC(struct claim_user) users; /* by namespace, claim and pod; each pair once */
};

/* Zeroed before its first use. */
void inventory_done(struct inventory *v);

static inline void inventory_done_p(struct inventory *v)
{
    inventory_done(v);
}

/* One object, which is consumed. */
int inventory_add_take(struct inventory *v, struct object *o, struct error *err);
/* All objects of the kind were added; is_whole: of every namespace. */
void inventory_set_known(struct inventory *v, enum kind kind, bool is_whole);
/* After the last object and before the first question. */
int inventory_tie(struct inventory *v, struct error *err);

/* ns: "" at cluster scope. NULL when there is none. */
const struct object *inventory_find(const struct inventory *v, enum kind kind, const char *ns,
                                    const char *name);
/* Would it be here if it were there? */
bool inventory_covers(const struct inventory *v, enum kind kind);

/* What explanations cannot do without was listed. */
bool inventory_is_explicable(const struct inventory *v);

/* Of a claim, which need not be there: its pods, in the order of their names. */
const struct claim_user *inventory_users_of(const struct inventory *v, const char *ns, const char *claim,
                                            size_t *ret_count);
const struct claim_user *inventory_users(const struct inventory *v, const struct claim *c, size_t *ret_count);
/* The volume belongs to the claim, or is kept for it: by uid, or by name where it has none. */
bool inventory_is_of(const struct volume *v, const struct claim *c);
/* The claim that the volume belongs to, or is kept for; NULL when it has none or that is not there. */
const struct claim *inventory_claim_of(const struct inventory *v, const struct volume *volume);

#endif
