/* What nodes may write, and in which words they are refused. */
#include "tests/unit/test_access_lookup.h"

#include "apiserver/node_restriction.h"
#include "apiserver/user.h"
#include "base/cleanup.h"

static const char *const node_groups[] = { GROUP_NODES, GROUP_AUTHENTICATED, NULL };
static const struct user node_user = { "system:node:n1", "", node_groups, NULL };

struct write {
    enum kind kind;
    const char *verb;
    const char *sub;
    const char *ns;
    const char *name;
    const char *old; /* NULL for none */
    const char *now; /* the same */
};

/* An object in the form in which it would be stored; the body of another subresource as it is. */
static json_ref parse_now(struct json *d, const struct write *x)
{
    bool is_object = x->sub[0] == '\0' || strcmp(x->sub, "status") == 0;
    _cleanup_(object_unref_p) struct object *o = is_object ? kind_object(x->kind, x->now) : NULL;
    json_ref root = 0;

    ASSERT_OK(json_parse(d, o ? o->text : str_of(kind_row(x->now)), &root, &err));
    return root;
}

/* The refusal, "" for none. */
static const char *filter_as(const struct user *u, const struct write *x)
{
    _cleanup_(json_done_p) struct json d;
    _cleanup_(object_unref_p) struct object *old = x->old ? kind_object(x->kind, x->old) : NULL;
    struct access a = {
        .is_resource = true,
        .verb = str_of(x->verb),
        .group = str_of(kind_info(x->kind)->group),
        .resource = str_of(kind_info(x->kind)->plural),
        .sub = str_of(x->sub),
        .ns = str_of(x->ns),
        .name = str_of(x->name),
    };
    struct restricted_write w = { .access = &a, .kind = kind_info(x->kind), .old = old, .d = &d };
    int r;

    json_init(&d, 1 << 20);
    if (x->now)
        w.object = parse_now(&d, x);
    r = node_restriction(u, &w, &test_facts, &err);
    if (r == 0)
        return "";
    ASSERT_INT(-ERR_DENIED, r);
    return err.msg;
}

#define ASSERT_JUDGED(expected, ...) \
    ASSERT_STR(expected, filter_as(&node_user, &(const struct write){ __VA_ARGS__ }))

static const char n1[] = "{'metadata':{'name':'n1'}}";
static const char n2[] = "{'metadata':{'name':'n2'}}";

TEST(others_are_not_concerned)
{
    static const char *const masters[] = { GROUP_MASTERS, NULL };
    const struct user admin = { "system:admin", "", masters, NULL };
    const struct user odd = { "system:node:n1", "", masters, NULL };
    const struct write x = { KIND_NODE, "patch", "", "", "n2", n2, n2 };

    ASSERT_STR("", filter_as(&admin, &x));
    ASSERT_STR("", filter_as(&odd, &x));
}

TEST(apiserver_84_own_node_only)
{
    static const char *const verbs[] = { "update", "patch" };

    for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
        ASSERT_JUDGED("", KIND_NODE, verbs[i], "", "", "n1", n1, n1);
        ASSERT_JUDGED("", KIND_NODE, verbs[i], "status", "", "n1", n1, n1);
        ASSERT_JUDGED("nodes \"n2\" is forbidden: node \"n1\" is not allowed to modify node \"n2\"",
                      KIND_NODE, verbs[i], "", "", "n2", n2, n2);
        ASSERT_JUDGED("nodes \"n2\" is forbidden: node \"n1\" is not allowed to modify node \"n2\"",
                      KIND_NODE, verbs[i], "status", "", "n2", n2, n2);
    }
    ASSERT_JUDGED("", KIND_NODE, "create", "", "", "", NULL, n1);
    ASSERT_JUDGED("nodes \"n2\" is forbidden: node \"n1\" is not allowed to modify node \"n2\"", KIND_NODE,
                  "create", "", "", "", NULL, n2);
    ASSERT_JUDGED("nodes is forbidden: node \"n1\" is not allowed to modify node \"\"", KIND_NODE, "create",
                  "", "", "", NULL, "{'metadata':{'generateName':'n'}}");
    ASSERT_JUDGED("nodes \"n2\" is forbidden: node \"n1\" is not allowed to modify node \"n2\"", KIND_NODE,
                  "delete", "", "", "n2", n2, NULL);
    ASSERT_JUDGED("", KIND_NODE, "delete", "", "", "n1", n1, NULL);
}

TEST(no_taints_no_owners)
{
    static const char tainted[] =
        "{'metadata':{'name':'n1'},'spec':{'taints':[{'key':'k','effect':'NoSchedule'}]}}";
    static const char owned[] =
        "{'metadata':{'name':'n1','ownerReferences':[{'apiVersion':'v1','kind':'Node','name':"
        "'n1','uid':'u'}]}}";
    static const char taints[] = "nodes \"n1\" is forbidden: node \"n1\" is not allowed to modify taints";

    ASSERT_JUDGED(taints, KIND_NODE, "patch", "", "", "n1", n1, tainted);
    ASSERT_JUDGED(taints, KIND_NODE, "patch", "", "", "n1", tainted, n1);
    ASSERT_JUDGED("", KIND_NODE, "patch", "", "", "n1", tainted, tainted);
    ASSERT_JUDGED("", KIND_NODE, "create", "", "", "", NULL, tainted); /* a node may start out tainted */
    ASSERT_JUDGED("nodes \"n1\" is forbidden: node \"n1\" is not allowed to modify ownerReferences",
                  KIND_NODE, "update", "status", "", "n1", n1, owned);
}

TEST(labels)
{
    static const struct {
        const char *key;
        bool is_allowed;
    } rows[] = {
        { "team", true },
        { "example.org/team", true },
        { "mykubernetes.io/team", true },
        { "kubernetes.io/hostname", true },
        { "kubernetes.io/os", true },
        { "kubernetes.io/arch", true },
        { "beta.kubernetes.io/os", true },
        { "beta.kubernetes.io/arch", true },
        { "beta.kubernetes.io/instance-type", true },
        { "node.kubernetes.io/instance-type", true },
        { "topology.kubernetes.io/zone", true },
        { "topology.kubernetes.io/region", true },
        { "failure-domain.beta.kubernetes.io/zone", true },
        { "failure-domain.beta.kubernetes.io/region", true },
        { "kubelet.kubernetes.io/x", true },
        { "a.kubelet.kubernetes.io/x", true },
        { "node.kubernetes.io/x", true },
        { "kubernetes.io/team", false },
        { "k8s.io/team", false },
        { "a.k8s.io/team", false },
        { "topology.kubernetes.io/rack", false },
        { "node-role.kubernetes.io/control-plane", false },
        { "node-restriction.kubernetes.io/x", false },
        { "a.node-restriction.kubernetes.io/x", false },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char labelled[256], changed[256], create[256], modify[256];
        const char *c = rows[i].is_allowed ? "" : create, *m = rows[i].is_allowed ? "" : modify;
        (void)snprintf(labelled, sizeof labelled, "{'metadata':{'name':'n1','labels':{'%s':'x'}}}",
                       rows[i].key);
        (void)snprintf(changed, sizeof changed, "{'metadata':{'name':'n1','labels':{'%s':'y'}}}",
                       rows[i].key);
        (void)snprintf(create, sizeof create,
                       "nodes \"n1\" is forbidden: is not allowed to set the following labels: %s",
                       rows[i].key);
        (void)snprintf(modify, sizeof modify,
                       "nodes \"n1\" is forbidden: is not allowed to modify labels: %s", rows[i].key);
        ASSERT_JUDGED(c, KIND_NODE, "create", "", "", "", NULL, labelled);
        ASSERT_JUDGED(m, KIND_NODE, "patch", "", "", "n1", n1, labelled);
        ASSERT_JUDGED(m, KIND_NODE, "patch", "", "", "n1", labelled, n1);
        ASSERT_JUDGED(m, KIND_NODE, "patch", "status", "", "n1", labelled, changed);
        ASSERT_JUDGED("", KIND_NODE, "patch", "", "", "n1", labelled, labelled);
    }
}

TEST(all_forbidden_labels_are_named)
{
    ASSERT_JUDGED(
        "nodes \"n1\" is forbidden: is not allowed to modify labels: a.k8s.io/x, k8s.io/b, kubernetes.io/y",
        KIND_NODE, "patch", "", "", "n1",
        "{'metadata':{'name':'n1','labels':{'kubernetes.io/y':'1','free':'1','k8s.io/b':'1','k8s.io/same':"
        "'1'}}}",
        "{'metadata':{'name':'n1','labels':{'k8s.io/same':'1','k8s.io/b':'2','free':'2','a.k8s.io/x':'1'}}}");
}

/* --- Pods --- */

#define POD(node_, meta, spec)                                                                         \
    "{'metadata':{'name':'p','namespace':'shop'" meta "},'spec':{'nodeName':'" node_ "','containers':" \
    "[{'name':'c','image':'i'}]" spec "}}"
#define MIRROR ",'annotations':{'kubernetes.io/config.mirror':'x'}"

TEST(mirror_pods)
{
    static const struct {
        const char *pod;
        const char *message;
    } rows[] = {
        { POD("n1", MIRROR, ""), "" },
        { POD("n1", "", ""),
          "pods \"p\" is forbidden: pod does not have \"kubernetes.io/config.mirror\" annotation, "
          "node \"n1\" can only create mirror pods" },
        { POD("n2", MIRROR, ""),
          "pods \"p\" is forbidden: node \"n1\" can only create pods with spec.nodeName set to itself" },
        { POD("", MIRROR, ""),
          "pods \"p\" is forbidden: node \"n1\" can only create pods with spec.nodeName set to itself" },
        { POD("n1", MIRROR, ",'serviceAccountName':'x'"),
          "pods \"p\" is forbidden: node \"n1\" can not create pods that reference a service account" },
        { POD("n1", MIRROR, ",'volumes':[{'name':'v','secret':{'secretName':'x'}}]"),
          "pods \"p\" is forbidden: node \"n1\" can not create pods that reference secrets" },
        { POD("n1", MIRROR, ",'volumes':[{'name':'v','configMap':{'name':'x'}}]"),
          "pods \"p\" is forbidden: node \"n1\" can not create pods that reference configmaps" },
        { POD("n1", MIRROR, ",'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'x'}}]"),
          "pods \"p\" is forbidden: node \"n1\" can not create pods that reference persistentvolumeclaims" },
        { POD("n1", MIRROR, ",'volumes':[{'name':'v','hostPath':{'path':'/x'}}]"), "" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_JUDGED(rows[i].message, KIND_POD, "create", "", "shop", "", NULL, rows[i].pod);
}

TEST(own_pods_only)
{
    static const char mine[] = POD("n1", "", ""), yours[] = POD("n2", "", "");

    ASSERT_JUDGED("", KIND_POD, "delete", "", "shop", "p", mine, NULL);
    ASSERT_JUDGED(
        "pods \"p\" is forbidden: node \"n1\" can only delete pods with spec.nodeName set to itself",
        KIND_POD, "delete", "", "shop", "p", yours, NULL);
    ASSERT_JUDGED("pods is forbidden: node \"n1\" can only delete pods with spec.nodeName set to itself",
                  KIND_POD, "deletecollection", "", "shop", "", NULL, NULL);
    ASSERT_JUDGED("", KIND_POD, "patch", "status", "shop", "p", mine, mine);
    ASSERT_JUDGED(
        "pods \"p\" is forbidden: node \"n1\" can only update pod status for pods with spec.nodeName set to "
        "itself",
        KIND_POD, "update", "status", "shop", "p", yours, yours);
    ASSERT_JUDGED("pods \"p\" is forbidden: node \"n1\" cannot update labels through pod status", KIND_POD,
                  "patch", "status", "shop", "p", mine, POD("n1", ",'labels':{'a':'b'}", ""));
    ASSERT_JUDGED("", KIND_POD, "create", "eviction", "shop", "p", mine, "{}");
    ASSERT_JUDGED("pods \"p\" is forbidden: node \"n1\" can only evict pods with spec.nodeName set to itself",
                  KIND_POD, "create", "eviction", "shop", "p", yours, "{}");
    ASSERT_JUDGED(
        "pods \"p\" is forbidden: unexpected pod subresource \"binding\", only 'status' and 'eviction' are "
        "allowed",
        KIND_POD, "create", "binding", "shop", "p", mine, "{}");
    ASSERT_JUDGED(
        "pods \"p\" is forbidden: unexpected operation \"UPDATE\", node \"n1\" can only create and delete "
        "mirror pods",
        KIND_POD, "patch", "", "shop", "p", mine, mine);
}

/* --- Claims --- */

#define CLAIM(meta, spec, status)                                                                        \
    "{'metadata':{'name':'c','namespace':'shop'" meta "},'spec':{'volumeName':'pv1'" spec "},'status':{" \
    "'phase':'Bound'" status "}}"

TEST(apiserver_84_claims)
{
    static const char only_status[] = "persistentvolumeclaims \"c\" is forbidden: may only update PVC status";
    static const char other_fields[] =
        "persistentvolumeclaims \"c\" is forbidden: node \"n1\" is not allowed to update fields other than "
        "status.quantity and status.conditions";
    static const char before[] = CLAIM(",'resourceVersion':'7'", "", ",'capacity':{'storage':'1Gi'}");
    static const struct {
        const char *now;
        const char *message;
    } rows[] = {
        { CLAIM(",'resourceVersion':'7'", "", ",'capacity':{'storage':'2Gi'}"), "" },
        { CLAIM(",'resourceVersion':'8','managedFields':[{'manager':'m'}]", "", ""), "" },
        { CLAIM("", "", ",'conditions':[{'type':'Resizing','status':'True'}]"), "" },
        { CLAIM("", "",
                ",'allocatedResources':{'storage':'1Gi'},'allocatedResourceStatuses':{'storage':'x'}"),
          "" },
        { CLAIM("", ",'storageClassName':'x'", ""), other_fields },
        { CLAIM(",'labels':{'a':'b'}", "", ""), other_fields },
        { CLAIM(",'finalizers':['a/b']", "", ""), other_fields },
        { CLAIM("", "", ",'accessModes':['ReadWriteOnce']"), other_fields },
        { "{'metadata':{'name':'c','namespace':'shop'},'spec':{'volumeName':'pv1'},'status':{'phase':'Lost'}"
          "}",
          other_fields },
        { "{'metadata':{'name':'c','namespace':'shop'},'spec':{'volumeName':'pv1'}}", other_fields },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_JUDGED(rows[i].message, KIND_CLAIM, "patch", "status", "shop", "c", before, rows[i].now);
    ASSERT_JUDGED(only_status, KIND_CLAIM, "patch", "", "shop", "c", before, before);
    ASSERT_JUDGED(only_status, KIND_CLAIM, "update", "", "shop", "c", before, before);
    ASSERT_JUDGED(only_status, KIND_CLAIM, "delete", "", "shop", "c", before, NULL);
    ASSERT_JUDGED(only_status, KIND_CLAIM, "create", "", "shop", "", NULL, before);
}

TEST(a_status_that_comes_and_goes)
{
    static const char without[] = "{'metadata':{'name':'c','namespace':'shop'},'spec':{'volumeName':'pv1'}}";
    static const char with[] =
        "{'metadata':{'name':'c','namespace':'shop'},'spec':{'volumeName':'pv1'},'status':{"
        "'capacity':{'storage':'1Gi'}}}";

    ASSERT_JUDGED("", KIND_CLAIM, "patch", "status", "shop", "c", without, with);
    ASSERT_JUDGED("", KIND_CLAIM, "patch", "status", "shop", "c", with, without);
}

/* --- The rest --- */

TEST(drivers_and_leases)
{
    static const char other_driver[] =
        "csinodes.storage.k8s.io \"n2\" is forbidden: can only access CSINode with the "
        "same name as the requesting node";

    ASSERT_JUDGED("", KIND_CSI_NODE, "create", "", "", "", NULL, n1);
    ASSERT_JUDGED("", KIND_CSI_NODE, "update", "", "", "n1", n1, n1);
    ASSERT_JUDGED(other_driver, KIND_CSI_NODE, "create", "", "", "", NULL, n2);
    ASSERT_JUDGED(other_driver, KIND_CSI_NODE, "patch", "", "", "n2", n2, n2);
    ASSERT_JUDGED(other_driver, KIND_CSI_NODE, "delete", "", "", "n2", n2, NULL);
    ASSERT_JUDGED("", KIND_LEASE, "create", "", "kube-node-lease", "", NULL, n1);
    ASSERT_JUDGED("", KIND_LEASE, "update", "", "kube-node-lease", "n1", n1, n1);
    ASSERT_JUDGED(
        "leases.coordination.k8s.io \"n2\" is forbidden: can only access node lease with the same name as "
        "the requesting node",
        KIND_LEASE, "create", "", "kube-node-lease", "", NULL, n2);
    ASSERT_JUDGED(
        "leases.coordination.k8s.io \"n1\" is forbidden: can only access leases in the \"kube-node-lease\" "
        "system namespace",
        KIND_LEASE, "update", "", "kube-system", "n1", n1, n1);
    ASSERT_JUDGED("", KIND_EVENT, "create", "", "shop", "", NULL, "{'metadata':{'name':'e'}}");
}

TEST(tokens)
{
    static const struct {
        const char *body;
        const char *message;
    } rows[] = {
        { "{'spec':{'boundObjectRef':{'kind':'Pod','apiVersion':'v1','name':'p','uid':'u'}}}", "" },
        { "{'spec':{}}", "serviceaccounts \"db\" is forbidden: node requested token not bound to a pod" },
        { "{'spec':{'boundObjectRef':{'kind':'Secret','apiVersion':'v1','name':'p','uid':'u'}}}",
          "serviceaccounts \"db\" is forbidden: node requested token not bound to a pod" },
        { "{'spec':{'boundObjectRef':{'kind':'Pod','apiVersion':'v2','name':'p','uid':'u'}}}",
          "serviceaccounts \"db\" is forbidden: node requested token not bound to a pod" },
        { "{'spec':{'boundObjectRef':{'kind':'Pod','apiVersion':'v1','name':'','uid':'u'}}}",
          "serviceaccounts \"db\" is forbidden: node requested token not bound to a pod" },
        { "{'spec':{'boundObjectRef':{'kind':'Pod','apiVersion':'v1','name':'p','uid':'u2'}}}",
          "serviceaccounts \"db\" is forbidden: the UID in the bound object reference (u2) does not match "
          "the UID in record. The object might have been deleted and then recreated" },
        { "{'spec':{'boundObjectRef':{'kind':'Pod','apiVersion':'v1','name':'p'}}}",
          "serviceaccounts \"db\" is forbidden: node requested token with a pod binding without a uid" },
        { "{'spec':{'boundObjectRef':{'kind':'Pod','apiVersion':'v1','name':'q','uid':'u'}}}",
          "serviceaccounts \"db\" is forbidden: node requested token bound to a pod scheduled on a different "
          "node" },
        { "{'spec':{'boundObjectRef':{'kind':'Pod','apiVersion':'v1','name':'none','uid':'u'}}}",
          "serviceaccounts \"db\" is forbidden: node requested token bound to a pod scheduled on a different "
          "node" },
    };

    facts_add(KIND_POD, POD("n1", ",'uid':'u'", ""));
    facts_add(KIND_POD,
              "{'metadata':{'name':'q','namespace':'shop'},'spec':{'nodeName':'n2','containers':[{'name':'c',"
              "'image':'i'}]}}");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_JUDGED(rows[i].message, KIND_SERVICE_ACCOUNT, "create", "token", "shop", "db", NULL,
                      rows[i].body);
    facts_clear();
}

TEST_MAIN()
