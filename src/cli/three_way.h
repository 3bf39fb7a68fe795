/* The patch that apply sends: computed from the manifest applied last, the manifest to apply, and the live
 * object.
 *
 * Fields of the manifest that the object lacks are set; fields that only the last manifest had are removed;
 * all others belong to other managers and stay. With a schema the result is a strategic merge patch: keyed
 * lists are compared by item, sets of scalars by element. Without one it is a JSON merge patch, and lists are
 * replaced as a whole. */
#ifndef BERTH_CLI_THREE_WAY_H
#define BERTH_CLI_THREE_WAY_H

#include "api/json.h"
#include "api/schema.h"
#include "base/error.h"

/* All three are trees of d and stay unchanged; last may be 0. Nesting beyond JSON's limit is an error. The
 * patch is an object; without members nothing has to be changed. */
int three_way_patch(struct json *d, const struct schema *s, json_ref last, json_ref wanted, json_ref there,
                    json_ref *ret, struct error *err);

#endif
