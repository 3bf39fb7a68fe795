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

enum rule_scope {
    SCOPE_ALL,
    SCOPE_OWN,  /* what has the node's own name; a create names nothing yet: admission looks at it */
    SCOPE_USED, /* one object by its name, which pods on the node use */
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

struct role {
    const char *name;
    const char *user;  /* who has it: this user, */
    const char *group; /* or the members of this group; */
    bool is_of_nodes;  /* or nodes. */
    const struct rule *rules;
    unsigned path_verbs;      /* on paths that are no resources: VERB_BIT()s, or VERBS_ANY */
    const char *const *paths; /* "/metrics", "/openapi/" and a star; ends with NULL */
};

extern const struct role roles[]; /* ends with a NULL name */

bool role_applies(const struct role *r, const struct user *u);

#endif
