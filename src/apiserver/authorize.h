/* What a user may do: the roles of roles.h asked about one access, and the answer in the API's words. */
#ifndef BERTH_APISERVER_AUTHORIZE_H
#define BERTH_APISERVER_AUTHORIZE_H

#include <stdbool.h>

#include "apiserver/call.h"
#include "apiserver/facts.h"
#include "base/error.h"
#include "base/str.h"

/* One access. Reviews may ask of anything, so verbs and resources are texts. */
struct access {
    bool is_resource;
    struct str verb; /* "get", "deletecollection", …; of a path the method in small letters */
    struct str group;
    struct str resource; /* the plural */
    struct str sub;
    struct str ns; /* "" for cluster scope and for all namespaces */
    struct str name;
    struct str node_name; /* the spec.nodeName that a list or watch selects; "" for any */
    struct str path;      /* when it is no resource */
};

/* Room for the names of a node and of an object. */
#define VERDICT_REASON_BYTES 640

struct verdict {
    bool is_allowed;
    const char *role; /* that allows it; NULL for none */
    /* why it is refused, where there is more to say than that nothing allows it; or "" */
    char reason[VERDICT_REASON_BYTES];
};

/* What a routed call asks for. A list or watch that is pinned to one name by its field selector has that
 * name. */
void access_of_call(struct call *c, struct access *ret);

struct verdict authorize(const struct facts *f, const struct user *u, const struct access *a);

/* 0, or access_refuse(). */
int access_check(const struct facts *f, const struct user *u, const struct access *a, struct error *err);

/* ERR_DENIED, or for who is nobody ERR_UNAUTHORIZED. The message is the answer's. reason may be "". */
int access_refuse(const struct user *u, const struct access *a, const char *reason, struct error *err);

/* The front of all refusals, `persistentvolumes "x" is forbidden: `; name may be "". */
void forbidden_prefix(struct str resource, struct str group, struct str name, struct buf *out);

#endif
