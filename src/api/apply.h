/* Server-side apply: a manager declares the fields that it manages, and their values.
 *
 * The body is merged into the object: keyed lists by their keys, sets by their items; values that are owned
 * as a whole are replaced. A field that the manager applied before and no longer names is removed, unless
 * another manager owns it. A change of a field that another manager owns is a conflict: the apply fails or,
 * with force, takes the field over. Exception: kubectl may change fields that it applied client-side before,
 * as long as their values are unchanged.
 *
 * Bodies are untrusted. Costs: O(n log n) in the sizes of both trees; no recursion deeper than
 * OWNED_DEPTH_MAX. */
#ifndef BERTH_API_APPLY_H
#define BERTH_API_APPLY_H

#include "api/json.h"
#include "api/managed_fields.h"
#include "api/status.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/vec.h"

/* Only this many are listed; the message has the total. */
#define APPLY_CAUSES_MAX 500

/* The reasons of a failed apply, for a Status response. */
struct apply_conflicts {
    VEC(struct status_cause) causes; /* reason FieldManagerConflict, message, field */
    struct buf message;              /* `Apply failed with 1 conflict: conflict with "m": .data.a` */
    struct arena arena;              /* for the causes */
};

#define APPLY_CONFLICTS_INIT                                              \
    ((struct apply_conflicts){ .message = { .len_max = (size_t)1 << 20 }, \
                               .arena = { .used_max = (size_t)4 << 20 } })
void apply_conflicts_done_p(struct apply_conflicts *c);

/* Appends the fields of the body that the schema does not declare: `.data.b: field not declared in schema`,
 * several of them in lines below `errors:`. Returns their number. The body must be as parsed. */
uint32_t apply_find_undeclared(const struct schema *s, const struct json *d, json_ref body, struct buf *out);

/* Applies a body to an object. live is the stored object, 0 if it does not exist; applied has been through
 * schema_normalize_applied() and is not modified. *ret is a new tree in canonical form with updated
 * managedFields. Defaults and the other steps of a write follow; no manager owns what they set. ERR_CONFLICT:
 * conflicts without force; they are listed. */
int apply_merge(struct json *d, json_ref live, json_ref applied, bool force, const struct managed_write *w,
                json_ref *ret, struct apply_conflicts *conflicts, struct error *err);

#endif
