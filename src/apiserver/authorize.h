/* Authorization: evaluates the roles of roles.h for one access; refusals are worded as in the API. */
#ifndef BERTH_APISERVER_AUTHORIZE_H
#define BERTH_APISERVER_AUTHORIZE_H

#include <stdbool.h>

#include "apiserver/access_lookup.h"
#include "apiserver/api_call.h"
#include "base/error.h"
#include "base/str.h"

/* One access. Reviews may name anything, so verbs and resources are texts. */
struct access {
    bool is_resource;
    struct str verb; /* "get", "deletecollection", …; for a path the method in lower case */
    struct str group;
    struct str resource; /* the plural */
    struct str sub;
    struct str ns; /* "" for cluster scope and for all namespaces */
    struct str name;
    struct str node_name; /* the spec.nodeName that a list or watch selects; "" for any */
    struct str path;      /* for requests that are not for a resource */
};

/* Room for the names of a node and of an object. */
#define ACCESS_REASON_BYTES 640

struct access_decision {
    bool is_allowed;
    const char *role; /* role that allows it; NULL for none */
    /* why it is refused, if there is more than that no rule allows it; or "" */
    char reason[ACCESS_REASON_BYTES];
};

/* The access that a routed call requests. A list or watch whose field selector requires one name has that
 * name. */
void access_of_call(struct call *c, struct access *ret);

struct access_decision authorize_access(const struct access_lookup *f, const struct user *u,
                                        const struct access *a);

/* 0, or access_refuse(). */
int access_check(const struct access_lookup *f, const struct user *u, const struct access *a,
                 struct error *err);

/* ERR_DENIED, or ERR_UNAUTHORIZED for anonymous callers. The message is that of the response. reason may be
 * "". */
int access_refuse(const struct user *u, const struct access *a, const char *reason, struct error *err);

/* The beginning of all refusals, `persistentvolumes "x" is forbidden: `; name may be "". */
void forbidden_prefix(struct str resource, struct str group, struct str name, struct buf *out);

#endif
