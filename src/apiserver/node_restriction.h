/* Admission of what nodes write: their own node, pods, leases and drivers, and nothing that belongs to
 * another node or would let a node reach further. It does not concern anybody else.
 *
 * The roles (roles.h) decide what kinds of objects a node may touch at all; here it is judged by what the
 * objects hold. */
#ifndef BERTH_APISERVER_NODE_RESTRICTION_H
#define BERTH_APISERVER_NODE_RESTRICTION_H

#include "api/json.h"
#include "api/object.h"
#include "apiserver/authorize.h"
#include "apiserver/facts.h"
#include "base/error.h"

/* One write. Patches are judged as the update that they amount to. */
struct restricted_write {
    const struct access *access;
    const struct kind_info *kind;
    const struct object *old; /* NULL when it is created */
    struct json *d;           /* the old object is parsed into it too */
    json_ref object;          /* as it would be stored; the body of a subresource; 0 for a deletion */
};

/* The part that the old object alone decides. It is checked first: the errors of a patch that does not fit
 * and of preconditions that do not hold show what is stored. w->object is not read. 0, or ERR_DENIED as
 * below. */
int node_restriction_target(const struct user *u, const struct restricted_write *w, struct error *err);

/* 0, or ERR_DENIED with the whole message of the answer. */
int node_restriction(const struct user *u, const struct restricted_write *w, const struct facts *f,
                     struct error *err);

#endif
