/* The two steps of an apply that change the object: for apply.c. */
#ifndef BERTH_API_APPLY_INT_H
#define BERTH_API_APPLY_INT_H

#include "api/json.h"
#include "api/owned_diff.h"
#include "api/schema.h"

/* Merges a body into an object. Its values move over. Failures stick in the document. */
void apply_body(struct json *d, const struct schema *s, json_ref target, json_ref body);

/* Takes out of the object what is in the set `last` and not in `managed`, what all managers own now. A struct
 * goes when nobody owns anything in it any more. */
void apply_prune(struct json *d, const struct owned_scope *s, json_ref object, json_ref last,
                 json_ref managed);

#endif
