/* The change that apply sends: from what was applied last, what is to be applied now and what is there.
 *
 * What the manifest says and the object does not have is set; what the last manifest said and this one does
 * not is taken away; everything else is somebody else's and stays. With a schema the result is a strategic
 * merge patch: lists whose items have a key are compared item by item, sets of scalars element by element.
 * Without one it is a JSON merge patch, and lists are replaced whole. */
#ifndef BERTH_CLI_THREE_WAY_H
#define BERTH_CLI_THREE_WAY_H

#include "api/json.h"
#include "api/schema.h"
#include "base/error.h"

/* All three are trees of d, which stay as they are; last may be 0. Nesting beyond JSON's own bound is
 * refused. The patch is an object; without members there is nothing to do. */
int three_way_patch(struct json *d, const struct schema *s, json_ref last, json_ref wanted, json_ref there,
                    json_ref *ret, struct error *err);

#endif
