/* Names of users and groups, and constructors of users. */
#ifndef BERTH_APISERVER_USER_H
#define BERTH_APISERVER_USER_H

#include <stdbool.h>

#include "apiserver/api_call.h"
#include "base/arena.h"
#include "base/str.h"

#define USER_ADMIN "system:admin"
#define USER_ANONYMOUS "system:anonymous"
#define USER_CONTROLLERS "system:berth-controllers"
#define USER_SCHEDULER "system:berth-scheduler"
#define USER_NODE_PREFIX "system:node:"
#define USER_CSI_NODE_PREFIX "berth:csi-node:"
#define USER_SERVICE_ACCOUNT_PREFIX "system:serviceaccount:"
#define GROUP_MASTERS "system:masters"
#define GROUP_NODES "system:nodes"
#define GROUP_READERS "berth:readers"
#define GROUP_CSI "berth:csi"
#define GROUP_CSI_NODES "berth:csi-nodes"
#define GROUP_AUTHENTICATED "system:authenticated"
#define GROUP_UNAUTHENTICATED "system:unauthenticated"
#define GROUP_SERVICE_ACCOUNTS "system:serviceaccounts"

extern const struct user user_admin;     /* system:admin in system:masters */
extern const struct user user_anonymous; /* in system:unauthenticated */

bool user_is_in(const struct user *u, const char *group);
bool user_is_anonymous(const struct user *u);
/* The node name of a user that is a node: system:node:NAME in system:nodes. "" for all others. */
struct str user_node(const struct user *u);
/* The same for the CSI controllers of a node: berth:csi-node:NAME in berth:csi-nodes. */
struct str user_csi_node(const struct user *u);

/* A copy in the arena with system:authenticated among its groups; the anonymous user gets
 * system:unauthenticated instead. NULL without memory. groups may be NULL; extra is borrowed. */
const struct user *user_new(struct arena *a, const char *name, const char *uid, const char *const *groups,
                            const struct user_extra *extra);
/* system:serviceaccount:NS:NAME with its groups. */
const struct user *user_new_service_account(struct arena *a, const char *ns, const char *name,
                                            const char *uid, const struct user_extra *extra);
/* Splits system:serviceaccount:NS:NAME; false for other names. */
bool user_service_account(struct str name, struct str *ret_ns, struct str *ret_name);

#endif
