/* Sets of fields of objects: the fields that a write changed, and the fields in an applied body.
 *
 * Only fields that a manager can own are included: not kind and apiVersion, not metadata that the server
 * sets, and only the part of the object that is written. The walk compares two trees side by side and creates
 * nothing where they are equal: a small change in a large object costs one pass over both. Trees in canonical
 * form, with members in the same order, are fastest. */
#ifndef BERTH_API_OWNED_DIFF_H
#define BERTH_API_OWNED_DIFF_H

#include "api/json.h"
#include "api/kind.h"
#include "base/error.h"

struct owned_scope {
    const struct kind_info *kind;
    enum write_part part;
};

/* True if no manager owns the member in such a write: of the object itself, or of its metadata. */
bool owned_scope_skips(const struct owned_scope *s, bool in_metadata, struct str key);

/* *ret_set: fields that `now` has new or with another value; *ret_gone: fields that only old has; 0 for none.
 * A new container is in the set itself, in addition to its contents. old is 0 for a create: members that
 * every object of its type has then do not count as new. */
int owned_diff(struct json *d, const struct owned_scope *s, json_ref old, json_ref now, json_ref *ret_set,
               json_ref *ret_gone, struct error *err);

/* The fields in an applied body: of containers only the items of lists are in the set themselves. An item
 * without its keys, or with the keys of an earlier one, is ERR_BAD_REQUEST. 0 for no field. */
int owned_named(struct json *d, const struct owned_scope *s, json_ref applied, json_ref *ret,
                struct error *err);

#endif
