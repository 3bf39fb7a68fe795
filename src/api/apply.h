/* Server-side apply: a manager says which fields it wants and with which values.
 *
 * The body is merged into the object: keyed lists by their keys, sets by their items, what is owned whole is
 * replaced. What the manager applied before and no longer names is removed, unless another manager owns it
 * too. What another manager owns and would be changed is a conflict: the apply fails, or takes it over by
 * force. kubectl has a privilege: it may change what it applied in its older, client-side way, as long as
 * nobody has changed that since.
 *
 * Bodies come from outside. Merging costs n log n in the sizes of both, and nothing recurses deeper than
 * OWNED_DEPTH_MAX. */
#ifndef BERTH_API_APPLY_H
#define BERTH_API_APPLY_H

#include "api/json.h"
#include "api/managed_fields.h"
#include "api/status.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/vec.h"

/* No more are listed. The message counts all. */
#define APPLY_CAUSES_MAX 500

/* Why an apply failed, as the Status answer has it. */
struct apply_conflicts {
    VEC(struct status_cause) causes; /* reason FieldManagerConflict, message, field */
    struct buf message;              /* `Apply failed with 1 conflict: conflict with "m": .data.a` */
    struct arena arena;              /* of the causes */
};

#define APPLY_CONFLICTS_INIT                                              \
    ((struct apply_conflicts){ .message = { .len_max = (size_t)1 << 20 }, \
                               .arena = { .used_max = (size_t)4 << 20 } })
void apply_conflicts_done_p(struct apply_conflicts *c);

/* Appends what the body has that the schema does not declare: `.data.b: field not declared in schema`,
 * several in lines below `errors:`. Returns how many fields that is. The body is as it was parsed. */
uint32_t apply_find_undeclared(const struct schema *s, const struct json *d, json_ref body, struct buf *out);

/* Applies a body to an object. live is the stored object, 0 when there is none yet; applied has been through
 * schema_normalize_applied() and stays as it is. *ret is a new tree in canonical form with managedFields up
 * to date: as after a plain write, defaults and the rest come next, and belong to nobody. Conflicts without
 * force are ERR_CONFLICT and listed. */
int apply_merge(struct json *d, json_ref live, json_ref applied, bool force, const struct managed_write *w,
                json_ref *ret, struct apply_conflicts *conflicts, struct error *err);

#endif
