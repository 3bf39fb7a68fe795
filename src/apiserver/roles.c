/* The table of roles and their rules. There is no way to change it at run time. */
#include "apiserver/roles.h"

#include <string.h>

#include "apiserver/user.h"

#define BIT(verb) VERB_BIT(VERB_##verb)
#define READ (BIT(GET) | BIT(LIST) | BIT(WATCH))
#define CHANGE (BIT(PATCH) | BIT(UPDATE))
#define WRITE (BIT(CREATE) | CHANGE)
#define OWN (READ | WRITE | BIT(DELETE))
#define ALL (OWN | BIT(DELETE_COLLECTION))

#define STORAGE "storage.k8s.io"
#define SNAPSHOT "snapshot.storage.k8s.io"
#define GROUP_SNAPSHOT "groupsnapshot.storage.k8s.io"
#define COORDINATION "coordination.k8s.io"
#define DISCOVERY "discovery.k8s.io"
#define EVENTS "events.k8s.io"
#define AUTHN "authentication.k8s.io"
#define AUTHZ "authorization.k8s.io"

#define NAMES(...) ((const char *const[]){ __VA_ARGS__, NULL })

static const struct rule admin_rules[] = {
    { VERBS_ANY, "*", NAMES("*") },
    { 0 },
};

/* Everything except secrets. */
static const struct rule reader_rules[] = {
    { READ, "",
      NAMES("configmaps", "endpoints", "events", "namespaces", "namespaces/status", "nodes", "nodes/status",
            "persistentvolumeclaims", "persistentvolumeclaims/status", "persistentvolumes",
            "persistentvolumes/status", "pods", "pods/log", "pods/status", "serviceaccounts", "services") },
    { READ, COORDINATION, NAMES("*") },
    { READ, DISCOVERY, NAMES("*") },
    { READ, EVENTS, NAMES("*") },
    { READ, SNAPSHOT, NAMES("*") },
    { READ, GROUP_SNAPSHOT, NAMES("*") },
    { READ, STORAGE, NAMES("*") },
    { 0 },
};

static const struct rule controllers_rules[] = {
    { ALL, "",
      NAMES("persistentvolumeclaims", "persistentvolumeclaims/status", "persistentvolumes",
            "persistentvolumes/status") },
    { ALL, STORAGE, NAMES("*") },
    { ALL, SNAPSHOT, NAMES("*") },
    { ALL, GROUP_SNAPSHOT, NAMES("*") },
    { READ | BIT(CREATE) | BIT(DELETE), "", NAMES("pods") }, /* recycler pods */
    { READ, "", NAMES("nodes") },
    { BIT(GET) | BIT(PATCH), "", NAMES("nodes/status") },
    { READ | WRITE, "", NAMES("events") },
    { READ | WRITE, EVENTS, NAMES("events") },
    { OWN, COORDINATION, NAMES("leases") },
    { 0 },
};

static const struct rule scheduler_rules[] = {
    { READ, "", NAMES("nodes", "pods") },
    { READ | BIT(PATCH), "", NAMES("persistentvolumeclaims", "persistentvolumes") },
    { READ, STORAGE,
      NAMES("csidrivers", "csinodes", "csistoragecapacities", "storageclasses", "volumeattachments") },
    { BIT(CREATE), "", NAMES("bindings", "pods/binding") },
    { BIT(PATCH), "", NAMES("pods/status") },
    { BIT(CREATE) | BIT(PATCH), "", NAMES("events") },
    { BIT(CREATE) | BIT(PATCH), EVENTS, NAMES("events") },
    { BIT(CREATE), COORDINATION, NAMES("leases"), .ns = "kube-system" },
    { READ | CHANGE, COORDINATION, NAMES("leases"), .ns = "kube-system", .name = "berth-scheduler" },
    { 0 },
};

/* What external-provisioner, -attacher, -resizer and -snapshotter and the snapshot controller need. */
static const struct rule csi_rules[] = {
    { OWN, "", NAMES("persistentvolumes") },
    { READ | CHANGE, "", NAMES("persistentvolumeclaims") },
    { BIT(GET) | CHANGE, "", NAMES("persistentvolumeclaims/status", "persistentvolumes/status") },
    { READ, "", NAMES("nodes", "pods") },
    { BIT(GET), "", NAMES("secrets") },
    /* The record of calls whose result is not known (controllers/call_record.h). */
    { BIT(GET) | BIT(CREATE) | BIT(PATCH), "", NAMES("configmaps"), .ns = "kube-system" },
    { READ | WRITE, "", NAMES("events") },
    { READ | WRITE, EVENTS, NAMES("events") },
    { OWN, COORDINATION, NAMES("leases") },
    { READ, STORAGE, NAMES("csidrivers", "csinodes", "storageclasses", "volumeattributesclasses") },
    { BIT(PATCH), STORAGE, NAMES("csidrivers") }, /* not the spec: csi_restriction.c */
    { OWN, STORAGE, NAMES("csistoragecapacities") },
    { READ | CHANGE, STORAGE, NAMES("volumeattachments") },
    { BIT(GET) | CHANGE, STORAGE, NAMES("volumeattachments/status") },
    { READ, SNAPSHOT, NAMES("volumesnapshotclasses") },
    { OWN, SNAPSHOT, NAMES("volumesnapshotcontents", "volumesnapshots") },
    { BIT(GET) | CHANGE, SNAPSHOT, NAMES("volumesnapshotcontents/status", "volumesnapshots/status") },
    { READ, GROUP_SNAPSHOT, NAMES("volumegroupsnapshotclasses") },
    { OWN, GROUP_SNAPSHOT, NAMES("volumegroupsnapshotcontents", "volumegroupsnapshots") },
    { BIT(GET) | CHANGE, GROUP_SNAPSHOT,
      NAMES("volumegroupsnapshotcontents/status", "volumegroupsnapshots/status") },
    { 0 },
};

/* What the provisioner of a CSI driver on one node needs. Admission decides which volumes, claims, capacity
 * objects and records it may write (node_restriction.h). It reads no secrets: a node that is taken over would
 * have those of all classes. */
static const struct rule csi_node_rules[] = {
    { OWN, "", NAMES("persistentvolumes") },
    { READ | CHANGE, "", NAMES("persistentvolumeclaims") },
    { READ, "", NAMES("nodes") },
    { WRITE, "", NAMES("events") },
    { WRITE, EVENTS, NAMES("events") },
    { READ, STORAGE,
      NAMES("csidrivers", "csinodes", "storageclasses", "volumeattachments", "volumeattributesclasses") },
    { READ, SNAPSHOT, NAMES("*") },
    { OWN, STORAGE, NAMES("csistoragecapacities") },
    { BIT(GET) | WRITE, "", NAMES("configmaps"), .ns = "kube-system", .scope = SCOPE_OWN_RECORD },
    { 0 },
};

/* The rules of the node authorizer. Admission decides which of the nodes, pods, claims and leases a node may
 * write, with its own messages (node_restriction.h), because it has the objects. No node may write claims
 * themselves; the rule exists so that admission can name the part that it may write, of claims that it may
 * read. */
static const struct rule node_rules[] = {
    { READ, "", NAMES("nodes"), .scope = SCOPE_OWN_NODE },
    { WRITE, "", NAMES("nodes") },
    { CHANGE, "", NAMES("nodes/status") },
    { BIT(GET), "", NAMES("pods"), .scope = SCOPE_USED, .kind = KIND_POD },
    { BIT(LIST) | BIT(WATCH), "", NAMES("pods"), .scope = SCOPE_OWN_PODS },
    { BIT(CREATE) | BIT(DELETE), "", NAMES("pods") },
    { CHANGE, "", NAMES("pods/status") },
    { BIT(CREATE), "", NAMES("pods/eviction") },
    { BIT(GET), "", NAMES("persistentvolumes"), .scope = SCOPE_USED, .kind = KIND_VOLUME },
    { BIT(GET) | CHANGE, "", NAMES("persistentvolumeclaims"), .scope = SCOPE_USED, .kind = KIND_CLAIM },
    { CHANGE, "", NAMES("persistentvolumeclaims/status"), .scope = SCOPE_USED, .kind = KIND_CLAIM },
    { READ, "", NAMES("secrets"), .scope = SCOPE_USED, .kind = KIND_SECRET },
    { READ, "", NAMES("configmaps"), .scope = SCOPE_USED, .kind = KIND_CONFIG_MAP },
    { BIT(CREATE), "", NAMES("serviceaccounts/token"), .scope = SCOPE_USED, .kind = KIND_SERVICE_ACCOUNT },
    { WRITE, "", NAMES("events") },
    { WRITE, EVENTS, NAMES("events") },
    { READ, "", NAMES("services") },
    { READ, STORAGE, NAMES("csidrivers") },
    { BIT(GET) | WRITE | BIT(DELETE), STORAGE, NAMES("csinodes"), .scope = SCOPE_OWN_CSI_NODE },
    { BIT(GET), STORAGE, NAMES("volumeattachments"), .scope = SCOPE_USED, .kind = KIND_ATTACHMENT },
    { BIT(GET) | WRITE | BIT(DELETE), COORDINATION, NAMES("leases"), .scope = SCOPE_OWN_LEASE },
    { 0 },
};

#define ONE_BY_ONE "can only get individual resources of this type"
#define READ_ONLY "can only read resources of this type"

static const struct other_verbs node_other_verbs[] = {
    { "", "secrets", NULL, READ_ONLY },
    { "", "configmaps", NULL, READ_ONLY },
    { "", "persistentvolumes", NULL, ONE_BY_ONE },
    { "", "persistentvolumeclaims", "status", "can only get/update/patch this type" },
    { "", "persistentvolumeclaims", NULL, ONE_BY_ONE },
    { "", "serviceaccounts", NULL, "can only create tokens for individual service accounts" },
    { STORAGE, "volumeattachments", NULL, ONE_BY_ONE },
    { STORAGE, "csinodes", NULL, "can only get, create, update, patch, or delete a CSINode" },
    { COORDINATION, "leases", NULL, "can only get, create, update, patch, or delete a node lease" },
    { 0 },
};

static const struct rule authenticated_rules[] = {
    { BIT(CREATE), AUTHN, NAMES("selfsubjectreviews") },
    { BIT(CREATE), AUTHZ, NAMES("selfsubjectaccessreviews", "selfsubjectrulesreviews") },
    { 0 },
};

static const struct rule no_rules[] = { { 0 } };

#define PUBLIC_PATHS "/healthz", "/livez", "/readyz", "/version"

/* All roles except admin may only read paths that are not resources. */
#define PATHS(...) .path_verbs = BIT(GET), .paths = NAMES(__VA_ARGS__)
#define NO_PATHS                   \
    .paths = (const char *const[]) \
    {                              \
        NULL                       \
    }

const struct role roles[] = {
    { "admin", .group = GROUP_MASTERS, .rules = admin_rules, .path_verbs = VERBS_ANY, .paths = NAMES("*") },
    { "reader", .group = GROUP_READERS, .rules = reader_rules,
      PATHS("/metrics", "/stats/volumes", "/status", "/why/*") },
    { "controllers", .user = USER_CONTROLLERS, .rules = controllers_rules, PATHS("/status") },
    { "scheduler", .user = USER_SCHEDULER, .rules = scheduler_rules, PATHS("/status") },
    { "csi", .group = GROUP_CSI, .rules = csi_rules, NO_PATHS },
    { "csi-node", .is_of_csi_nodes = true, .rules = csi_node_rules, NO_PATHS },
    { "node", .is_of_nodes = true, .rules = node_rules, .other_verbs = node_other_verbs, NO_PATHS },
    { "authenticated", .group = GROUP_AUTHENTICATED, .rules = authenticated_rules,
      PATHS(PUBLIC_PATHS, "/api", "/api/*", "/apis", "/apis/*", "/healthz/*", "/livez/*", "/openapi",
            "/openapi/*", "/readyz/*") },
    { "public", .user = USER_ANONYMOUS, .rules = no_rules, PATHS(PUBLIC_PATHS) },
    { 0 },
};

bool role_applies(const struct role *r, const struct user *u)
{
    if (r->is_of_nodes)
        return user_node(u).len > 0;
    if (r->is_of_csi_nodes)
        return user_csi_node(u).len > 0;
    if (r->user)
        return strcmp(r->user, u->name) == 0;
    return user_is_in(u, r->group);
}
