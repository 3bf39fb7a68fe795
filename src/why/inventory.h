/* The decoded objects of a server: lists of several kinds, sorted by namespace and name, and which pods use
 * which claims.
 *
 * The verbs that inspect everything (tree, check, top) load what they need, call inventory_tie() once and
 * then only read. A kind that could not be listed is marked as unknown, so that rules do not conclude
 * anything from its absence.
 *
 * Costs: each list is sorted once, each lookup is a binary search. */
#ifndef BERTH_WHY_INVENTORY_H
#define BERTH_WHY_INVENTORY_H

#include "api/claim.h"
#include "api/class.h"
#include "api/pod.h"
#include "api/volume.h"
#include "base/vec.h"

/* Limit for the size of one response. */
#define INVENTORY_BYTES_MAX ((size_t)1 << 30)

/* A pod that uses the claim in one of its volumes. */
struct claim_user {
    const char *ns;
    const char *claim;
    const struct pod *pod;
};

struct inventory {
    struct {
        VEC(struct object *) list;
        bool is_known; /* it was listed */
        bool is_whole; /* in all namespaces */
    } kinds[KIND_COUNT];
    VEC(struct claim_user) users; /* by namespace, claim and pod; each pair once */
};

/* Zero it before first use. */
void inventory_done(struct inventory *v);

static inline void inventory_done_p(struct inventory *v)
{
    inventory_done(v);
}

/* Adds one object and takes its reference. */
int inventory_add_take(struct inventory *v, struct object *o, struct error *err);
/* All objects of the kind have been added; is_whole: of all namespaces. */
void inventory_set_known(struct inventory *v, enum kind kind, bool is_whole);
/* Call after the last object is added and before the first lookup. */
int inventory_tie(struct inventory *v, struct error *err);

/* ns: "" at cluster scope. NULL when it is not found. */
const struct object *inventory_find(const struct inventory *v, enum kind kind, const char *ns,
                                    const char *name);
/* True when every existing object of the kind is in the inventory. */
bool inventory_covers(const struct inventory *v, enum kind kind);

/* The kinds that explanations require were listed. */
bool inventory_is_explicable(const struct inventory *v);

/* The pods of a claim, which may not exist, sorted by name. */
const struct claim_user *inventory_users_of(const struct inventory *v, const char *ns, const char *claim,
                                            size_t *ret_count);
const struct claim_user *inventory_users(const struct inventory *v, const struct claim *c, size_t *ret_count);
/* The volume is bound to the claim or reserved for it: by uid, or by name if it has no uid. */
bool inventory_is_of(const struct volume *v, const struct claim *c);
/* The claim that the volume is bound to or reserved for; NULL when it has none or the claim does not exist.
 */
const struct claim *inventory_claim_of(const struct inventory *v, const struct volume *volume);

/* True when one of its volumes names a claim. */
bool inventory_pod_has_claims(const struct pod *p);

#endif
