/* Sets of fields, as in metadata.managedFields.
 *
 * A set has the form in which it is written: a JSON object whose members are path elements, "f:name" for a
 * field, `k:{"name":"x"}` for an item of a keyed list, `v:"x"` for an item of a set, each with the set of
 * what is below it. The member "." means that the place itself is in the set, as does an empty object. So a
 * stored set is used without conversion, and a write that changes two fields touches two fields.
 *
 * Canonical form: members sorted bytewise ("." is first), "." only beside other members, no place that is
 * neither in the set nor has places below it. owned_check() normalizes a set; every operation requires and
 * keeps the canonical form. Two sets are walked side by side, so that an operation costs what it visits of
 * both. Sets come from clients, and walks recurse: nesting is limited to OWNED_DEPTH_MAX.
 *
 * Failures are kept in the document (json_check()). */
#ifndef BERTH_API_OWNED_FIELDS_H
#define BERTH_API_OWNED_FIELDS_H

#include <stdbool.h>

#include "api/json.h"

#define OWNED_DEPTH_MAX 64

/* False if this is not a set. Otherwise it is in canonical form now. */
bool owned_check(struct json *d, json_ref set);

static inline bool owned_is_empty(const struct json *d, json_ref set)
{
    return json_count(d, set) == 0;
}

/* Whether the place itself is in the set. */
bool owned_has_self(const struct json *d, json_ref place);
/* The first path element below a place, and the following ones by json_next(); 0 for none. */
json_ref owned_first(const struct json *d, json_ref place);

/* Removes `what` from `set`. */
void owned_subtract(struct json *d, json_ref set, json_ref what);
/* Adds `more`, which is consumed. */
void owned_add(struct json *d, json_ref set, json_ref more);
/* The intersection, as a new set; 0 if it is empty. */
json_ref owned_common(struct json *d, json_ref a, json_ref b);

/* Calls fn for each place in the set, in order, with its path: `.spec.volumes[name="a"].x`, and
 * `.metadata.finalizers[="x"]` for the item of a set. A path that is too long is "…". */
typedef void owned_path_fn(void *ctx, struct str path);
void owned_each_path(const struct json *d, json_ref set, owned_path_fn *fn, void *ctx);

#endif
