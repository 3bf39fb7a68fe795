/* The roles: who may do what, as a table. There are no others, and nothing is stored.
 *
 * Access is granted when any rule of any role that the user has allows it. Rules of the node role go further
 * than a table can say: their scope looks at the name asked for and at the pods of the node. */
#ifndef BERTH_APISERVER_ROLES_H
#define BERTH_APISERVER_ROLES_H

#include <stdbool.h>

#include "apiserver/call.h"
#include "apiserver/resource.h"

/* Every verb, also those that no resource here has. */
#define VERBS_ANY (~0u)

#define NODE_LEASES "kube-node-lease"

/* Limits a rule to the node's own objects. A create request has no name yet: admission checks it
 * (node_restriction.h). */
enum rule_scope {
    SCOPE_ALL,
    SCOPE_OWN_NODE,     /* the Node of the node's own name; lists and watches by metadata.name */
    SCOPE_OWN_CSI_NODE, /* the CSINode of that name */
    SCOPE_OWN_LEASE,    /* the Lease of that name in NODE_LEASES */
    SCOPE_OWN_PODS,     /* lists and watches of the pods on the node, by spec.nodeName; or one pod on it */
    SCOPE_USED,         /* one object by its name, which is of concern to the node (node_facts.h) */
};

struct rule {
    unsigned verbs;               /* VERB_BIT()s, or VERBS_ANY; 0 behind the last rule */
    const char *group;            /* "*" for any */
    const char *const *resources; /* "pods", "pods/status", "*"; ends with NULL */
    const char *ns;               /* in this namespace only; NULL for any */
    const char *name;             /* this object only; NULL for any */
    enum rule_scope scope;
    enum kind kind; /* for SCOPE_USED: what it is that pods use */
};

/* The reason given when no rule covers the verb. */
struct other_verbs {
    const char *group;
    const char *resource; /* NULL behind the last one */
    const char *sub;      /* NULL for the resource with all its parts */
    const char *reason;
};

struct role {
    const char *name;
    const char *user;  /* who has it: this user, */
    const char *group; /* or the members of this group; */
    bool is_of_nodes;  /* or nodes. */
    const struct rule *rules;
    const struct other_verbs *other_verbs; /* NULL for none */
    unsigned path_verbs;                   /* on paths that are no resources: VERB_BIT()s, or VERBS_ANY */
    const char *const *paths;              /* "/metrics", "/openapi/" and a star; ends with NULL */
};

extern const struct role roles[]; /* ends with a NULL name */

bool role_applies(const struct role *r, const struct user *u);

#endif
