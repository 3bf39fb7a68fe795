/* Sets of fields, as metadata.managedFields has them.
 *
 * A set is kept the way it is written: a JSON object whose members are path elements, "f:name" for a field,
 * `k:{"name":"x"}` for the item of a keyed list, `v:"x"` for the item of a set, each with the set of what
 * lies below it; "." among them says that the place itself belongs to the set, and so does an empty object.
 * So a stored set is worked on without being taken apart, and a write that changes two fields touches two
 * fields.
 *
 * Canonical form: members sorted bytewise ("." comes first by itself), "." only beside other members, nothing
 * that is neither itself in the set nor has anything below it. owned_check() brings a set into it, every
 * operation needs and keeps it. Then two sets are walked side by side: each operation costs what it sees of
 * both. Sets come from clients, and walks recurse: nothing nests deeper than OWNED_DEPTH_MAX.
 *
 * Failures stick in the document (json_check()). */
#ifndef BERTH_API_OWNED_FIELDS_H
#define BERTH_API_OWNED_FIELDS_H

#include <stdbool.h>

#include "api/json.h"

#define OWNED_DEPTH_MAX 64

/* False when this is no set. Else it is in canonical form now. */
bool owned_check(struct json *d, json_ref set);

static inline bool owned_is_empty(const struct json *d, json_ref set)
{
    return json_count(d, set) == 0;
}

/* Below its root a set says of each place whether it is in the set itself, and what is below it. */
bool owned_has_self(const struct json *d, json_ref place);
/* The first path element below a place, and those behind it by json_next(); 0 for none. */
json_ref owned_first(const struct json *d, json_ref place);

/* Takes what is in `what` out of `set`. */
void owned_subtract(struct json *d, json_ref set, json_ref what);
/* Adds what is in `more`, which is used up. */
void owned_add(struct json *d, json_ref set, json_ref more);
/* What is in both, as a new set; 0 when that is nothing. */
json_ref owned_common(struct json *d, json_ref a, json_ref b);

/* Calls back for each place in the set, in order, with its path: `.spec.volumes[name="a"].x`, and
 * `.metadata.finalizers[="x"]` for the item of a set. A path too long to show is "…". */
typedef void owned_path_fn(void *ctx, struct str path);
void owned_each_path(const struct json *d, json_ref set, owned_path_fn *fn, void *ctx);

#endif
