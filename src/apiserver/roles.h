/* Roles: access rules as a table. There are no others, and none are stored.
 *
 * Access is granted when any rule of any of the user's roles allows it. Rules of the node role also have a
 * scope, which compares the requested name and reads the pods of the node. */
#ifndef BERTH_APISERVER_ROLES_H
#define BERTH_APISERVER_ROLES_H

#include <stdbool.h>

#include "apiserver/api_call.h"
#include "apiserver/resource.h"

/* Every verb, including unknown ones. */
#define VERBS_ANY (~0u)

#define NODE_LEASES "kube-node-lease"

/* Limits a rule to the node's own objects. A create request has no name yet: admission checks it
 * (node_restriction.h). */
enum rule_scope {
    SCOPE_ALL,
    SCOPE_OWN_NODE,     /* the Node with the node's own name; lists and watches by metadata.name */
    SCOPE_OWN_CSI_NODE, /* the CSINode with that name */
    SCOPE_OWN_LEASE,    /* the Lease with that name in NODE_LEASES */
    SCOPE_OWN_PODS,     /* lists and watches of the pods on the node, by spec.nodeName; or one pod on it */
    SCOPE_OWN_RECORD,   /* the ConfigMaps with records of calls of a CSI node (api/csi_objects.h) */
    SCOPE_USED,         /* one object by name that the node uses (node_relations.h) */
};

struct rule {
    unsigned verbs;               /* VERB_BIT()s, or VERBS_ANY; 0 terminates */
    const char *group;            /* "*" for any */
    const char *const *resources; /* "pods", "pods/status", "*"; terminated by NULL */
    const char *ns;               /* in this namespace only; NULL for any */
    const char *name;             /* this object only; NULL for any */
    enum rule_scope scope;
    enum kind kind; /* for SCOPE_USED: the kind of the object */
};

/* The reason of a refusal when no rule covers the verb. */
struct other_verbs {
    const char *group;
    const char *resource; /* NULL terminates */
    const char *sub;      /* NULL for the resource with all its subresources */
    const char *reason;
};

struct role {
    const char *name;
    const char *user;     /* has the role: this user, */
    const char *group;    /* or the members of this group; */
    bool is_of_nodes;     /* or nodes; */
    bool is_of_csi_nodes; /* or the CSI controllers of nodes. */
    const struct rule *rules;
    const struct other_verbs *other_verbs; /* NULL for none */
    unsigned path_verbs;                   /* for paths that are not resources: VERB_BIT()s, or VERBS_ANY */
    const char *const *paths;              /* "/metrics", "/openapi/" and a star; terminated by NULL */
};

extern const struct role roles[]; /* terminated by a NULL name */

bool role_applies(const struct role *r, const struct user *u);

#endif
