/* From objects to sets of fields: what a write changed, and what an applied body names.
 *
 * Only what a manager can own counts: not the kind's own name, not what the server keeps of metadata, and of
 * the object only the part that the write is to. The walk compares two trees side by side and makes nothing
 * where they agree: a small change in a large object costs one pass over both. Trees in canonical form, whose
 * members come in the same order, cost least. */
#ifndef BERTH_API_OWNED_DIFF_H
#define BERTH_API_OWNED_DIFF_H

#include "api/json.h"
#include "api/kind.h"
#include "base/error.h"

struct owned_scope {
    const struct kind_info *kind;
    enum write_part part;
};

/* Whether nobody owns a member in such a write: of the object itself, or of its metadata. */
bool owned_scope_skips(const struct owned_scope *s, bool in_metadata, struct str key);

/* *ret_set gets what `now` has new or with another value, *ret_gone what only old has; 0 for nothing. A
 * container that is new is in the set itself, besides what it holds. old is 0 for an object that is created:
 * what every object of its type has is then no news. */
int owned_diff(struct json *d, const struct owned_scope *s, json_ref old, json_ref now, json_ref *ret_set,
               json_ref *ret_gone, struct error *err);

/* The fields that an applied body names: of containers only the items of lists are in the set themselves. An
 * item without its keys, and one whose keys an earlier one has, is ERR_BAD_REQUEST. 0 for no field at all. */
int owned_named(struct json *d, const struct owned_scope *s, json_ref applied, json_ref *ret,
                struct error *err);

#endif
