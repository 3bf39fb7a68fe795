/* The roles, row by row, and refusals in the API's words. */
#include "tests/unit/test_access_lookup.h"
#include "tests/unit/test_call.h"

#include "apiserver/authorize.h"
#include "apiserver/resource.h"
#include "apiserver/roles.h"
#include "apiserver/route.h"
#include "apiserver/user.h"
#include "base/cleanup.h"

#define GROUPS(...) ((const char *const[]){ __VA_ARGS__, GROUP_AUTHENTICATED, NULL })

enum who {
    ADMIN,
    READER,
    CONTROLLERS,
    SCHEDULER,
    CSI,
    CSI_NODE,
    NODE,
    PLAIN,
    ANONYMOUS,
    FAKE_NODE,
    FAKE_CSI_NODE,
    WHO_COUNT
};

static struct user user_of(enum who who)
{
    static const char *const groups[][3] = {
        [ADMIN] = { GROUP_MASTERS, GROUP_AUTHENTICATED },
        [READER] = { GROUP_READERS, GROUP_AUTHENTICATED },
        [CONTROLLERS] = { GROUP_AUTHENTICATED },
        [SCHEDULER] = { GROUP_AUTHENTICATED },
        [CSI] = { GROUP_CSI, GROUP_AUTHENTICATED },
        [CSI_NODE] = { GROUP_CSI_NODES, GROUP_AUTHENTICATED },
        [NODE] = { GROUP_NODES, GROUP_AUTHENTICATED },
        [PLAIN] = { GROUP_AUTHENTICATED },
        [ANONYMOUS] = { GROUP_UNAUTHENTICATED },
        [FAKE_NODE] = { GROUP_AUTHENTICATED },
        [FAKE_CSI_NODE] = { GROUP_AUTHENTICATED },
    };
    static const char *const names[] = {
        [ADMIN] = "root",
        [READER] = "eve",
        [CONTROLLERS] = USER_CONTROLLERS,
        [SCHEDULER] = USER_SCHEDULER,
        [CSI] = "driver",
        [CSI_NODE] = "berth:csi-node:n1",
        [NODE] = "system:node:n1",
        [PLAIN] = "bob",
        [ANONYMOUS] = USER_ANONYMOUS,
        [FAKE_NODE] = "system:node:n1",
        [FAKE_CSI_NODE] = "berth:csi-node:n1",
    };

    return (struct user){ names[who], "", groups[who], NULL };
}

/* "get persistentvolumes", "patch pods/status shop/db-0", "list storageclasses.storage.k8s.io -/fast": the
 * namespace is - at cluster scope; "list pods - @n1": with a field selector for this node; "get /metrics". */
static struct access access_of(const char *text)
{
    static const struct str empty = STR_LIT("");
    struct str rest = str_of(text), verb = str_next(&rest, ' '), resource = str_next(&rest, ' ');
    struct access a = { .is_resource = resource.s[0] != '/', .verb = verb };
    struct str object;

    if (!a.is_resource) {
        a.path = resource;
        return a;
    }
    object = rest.s ? str_next(&rest, ' ') : empty;
    a.node_name = rest.s ? (struct str){ rest.s + 1, rest.len - 1 } : empty;
    a.sub = resource;
    a.group = str_next(&a.sub, '/');
    a.resource = str_next(&a.group, '.');
    a.ns = str_next(&object, '/');
    a.ns = str_is(a.ns, "-") ? empty : a.ns;
    a.name = object.s ? object : empty;
    return a;
}

static bool may(enum who who, const char *text)
{
    struct user u = user_of(who);
    struct access a = access_of(text);

    return authorize_access(&test_facts, &u, &a).is_allowed;
}

static void check_rows(enum who who, const char *const *rows, bool expected)
{
    for (; *rows; rows++)
        if (may(who, *rows) != expected)
            fail_msg("%s: %s, expected %s", user_of(who).name, *rows, expected ? "yes" : "no");
}

#define YES(who, ...) check_rows(who, (const char *const[]){ __VA_ARGS__, NULL }, true)
#define NO(who, ...) check_rows(who, (const char *const[]){ __VA_ARGS__, NULL }, false)

TEST(admin)
{
    YES(ADMIN, "get secrets shop/db", "deletecollection pods shop", "create persistentvolumes",
        "conjure unicorns.example.org", "get /metrics", "post /anything", "impersonate users -/bob",
        "create tokenreviews.authentication.k8s.io", "create pods/eviction shop/db-0");
}

TEST(reader)
{
    YES(READER, "get persistentvolumes -/x", "list persistentvolumeclaims shop", "watch pods",
        "get pods/log shop/db-0", "get persistentvolumes/status -/x", "list events.events.k8s.io",
        "list events", "get nodes -/n1", "list configmaps kube-system",
        "get volumesnapshots.snapshot.storage.k8s.io/status shop/s", "list leases.coordination.k8s.io",
        "list services", "get /metrics", "get /stats/volumes", "get /why/pvc/shop/db", "get /livez",
        "get /readyz/store", "get /api", "get /api/v1", "get /apis/storage.k8s.io/v1",
        "get /openapi/v3/api/v1", "get /version", "create selfsubjectaccessreviews.authorization.k8s.io");
    NO(READER, "get secrets shop/db", "list secrets", "watch secrets shop", "create persistentvolumes",
       "patch pods/status shop/db-0", "delete persistentvolumeclaims shop/db", "deletecollection pods shop",
       "create serviceaccounts/token shop/db", "create pods/exec shop/db-0", "get pods/exec shop/db-0",
       "create subjectaccessreviews.authorization.k8s.io", "create tokenreviews.authentication.k8s.io",
       "post /metrics", "post /stats/volumes", "post /why/pv/a", "get /stats", "get /", "get /foo",
       "get /metricsx", "impersonate users -/bob", "get deployments.apps shop/x");
}

/* Every resource there is, so that a new one is not forgotten. */
TEST(reader_reads_everything_but_secrets)
{
    static const enum verb verbs[] = { VERB_GET, VERB_LIST, VERB_WATCH };
    struct user u = user_of(READER);
    size_t count, seen = 0;
    const struct resource *all = resource_table(&count);

    for (size_t i = 0; i < count; i++) {
        bool is_secret = strcmp(all[i].plural, "secrets") == 0;
        for (size_t v = 0; v < ARRAY_LEN(verbs); v++) {
            struct access a = {
                .is_resource = true,
                .verb = str_of(verb_names[verbs[v]]),
                .group = str_of(all[i].group),
                .resource = str_of(all[i].plural),
            };
            if (!(all[i].verbs & VERB_BIT(verbs[v])))
                continue;
            if (authorize_access(&test_facts, &u, &a).is_allowed == is_secret)
                fail_msg("%s %s.%s", verb_names[verbs[v]], all[i].plural, all[i].group);
            seen++;
        }
    }
    assert_true(seen > 50);
}

TEST(controllers)
{
    YES(CONTROLLERS, "create persistentvolumes", "patch persistentvolumes/status -/x",
        "update persistentvolumeclaims shop/db", "delete persistentvolumes -/x",
        "deletecollection persistentvolumes", "patch persistentvolumeclaims/status shop/db",
        "list storageclasses.storage.k8s.io", "create volumeattachments.storage.k8s.io",
        "patch volumeattachments.storage.k8s.io/status -/a",
        "create volumesnapshots.snapshot.storage.k8s.io shop", "list pods", "delete pods shop/recycler-for-x",
        "create pods default", "create events shop", "patch events.events.k8s.io shop/e",
        "update leases.coordination.k8s.io kube-system/berth-controllers", "watch nodes",
        "patch nodes/status -/n1", "get /api", "create selfsubjectreviews.authentication.k8s.io");
    NO(CONTROLLERS, "patch pods shop/db-0", "patch pods/status shop/db-0", "patch nodes -/n1",
       "delete nodes -/n1", "update nodes/status -/n1", "get secrets shop/db", "create namespaces",
       "delete events shop/e", "create pods/binding shop/db-0", "create serviceaccounts/token shop/db",
       "get /metrics", "list configmaps");
}

TEST(scheduler)
{
    YES(SCHEDULER, "list pods", "watch nodes", "list persistentvolumes", "watch persistentvolumeclaims",
        "list storageclasses.storage.k8s.io", "watch csinodes.storage.k8s.io",
        "list csidrivers.storage.k8s.io", "list csistoragecapacities.storage.k8s.io",
        "watch volumeattachments.storage.k8s.io", "patch persistentvolumes -/x",
        "patch persistentvolumeclaims shop/db", "create pods/binding shop/db-0", "create bindings shop",
        "patch pods/status shop/db-0", "create events shop", "patch events shop/e",
        "create leases.coordination.k8s.io kube-system",
        "update leases.coordination.k8s.io kube-system/berth-scheduler");
    NO(SCHEDULER, "update persistentvolumes -/x", "patch persistentvolumes/status -/x",
       "create persistentvolumes", "delete pods shop/db-0", "patch pods shop/db-0", "patch nodes -/n1",
       "get secrets shop/db", "update leases.coordination.k8s.io kube-system/berth-controllers",
       "get leases.coordination.k8s.io shop/berth-scheduler", "create leases.coordination.k8s.io shop",
       "list leases.coordination.k8s.io kube-system");
}

TEST(csi_sidecars)
{
    YES(CSI, "create persistentvolumes", "delete persistentvolumes -/x", "patch persistentvolumes -/x",
        "patch persistentvolumeclaims/status shop/db", "update persistentvolumeclaims shop/db",
        "patch volumeattachments.storage.k8s.io -/a", "patch volumeattachments.storage.k8s.io/status -/a",
        "list storageclasses.storage.k8s.io", "list volumeattributesclasses.storage.k8s.io",
        "create csistoragecapacities.storage.k8s.io kube-system", "watch csinodes.storage.k8s.io",
        "update volumesnapshotcontents.snapshot.storage.k8s.io -/c",
        "patch volumesnapshots.snapshot.storage.k8s.io/status shop/s", "get secrets shop/db", "list pods",
        "watch nodes", "create events shop", "delete leases.coordination.k8s.io kube-system/x",
        "patch csidrivers.storage.k8s.io -/d", "create configmaps kube-system",
        "patch configmaps kube-system/berth-csi-d");
    NO(CSI, "update csidrivers.storage.k8s.io -/d", "get configmaps shop/c", "list secrets",
       "watch secrets shop", "create persistentvolumeclaims shop", "delete persistentvolumeclaims shop/db",
       "create volumeattachments.storage.k8s.io", "create storageclasses.storage.k8s.io",
       "patch csinodes.storage.k8s.io -/n1", "delete pods shop/db-0", "patch nodes -/n1", "list configmaps",
       "create serviceaccounts/token shop/db");
}

TEST(csi_controllers_of_a_node)
{
    YES(CSI_NODE, "create persistentvolumes", "delete persistentvolumes -/x", "list persistentvolumes",
        "patch persistentvolumeclaims shop/db", "watch persistentvolumeclaims", "watch nodes",
        "list csinodes.storage.k8s.io", "list storageclasses.storage.k8s.io", "create events shop",
        "create csistoragecapacities.storage.k8s.io kube-system", "create configmaps kube-system",
        "get configmaps kube-system/berth-csi-x.csi-n1", "patch configmaps kube-system/berth-csi-x.csi-n1");
    NO(CSI_NODE, "get secrets shop/db", "list secrets", "patch persistentvolumes/status -/x",
       "patch persistentvolumeclaims/status shop/db", "create persistentvolumeclaims shop",
       "delete persistentvolumeclaims shop/db", "deletecollection persistentvolumes", "list pods",
       "patch nodes -/n1", "patch csinodes.storage.k8s.io -/n1", "list configmaps kube-system",
       "get configmaps kube-system/berth-csi-x.csi-n2", "get configmaps kube-system/berth-csi-n1",
       "get configmaps kube-system/other-n1", "get configmaps shop/berth-csi-x.csi-n1",
       "create configmaps shop", "delete configmaps kube-system/berth-csi-x.csi-n1",
       "create leases.coordination.k8s.io kube-system", "patch volumeattachments.storage.k8s.io -/a",
       "get /metrics");
    NO(FAKE_CSI_NODE, "list persistentvolumes", "create persistentvolumes", "watch nodes");
}

TEST(apiserver_83_authenticated_and_nobody)
{
    YES(PLAIN, "get /api", "get /apis", "get /openapi/v2", "get /livez", "get /livez/ping", "get /version",
        "create selfsubjectreviews.authentication.k8s.io",
        "create selfsubjectaccessreviews.authorization.k8s.io",
        "create selfsubjectrulesreviews.authorization.k8s.io");
    NO(PLAIN, "get pods shop/db-0", "list namespaces", "get /metrics", "get /stats/volumes", "get /why/pv/a",
       "get /", "delete /api", "post /version", "create localsubjectaccessreviews.authorization.k8s.io shop");
    YES(ANONYMOUS, "get /livez", "get /readyz", "get /healthz", "get /version");
    NO(ANONYMOUS, "get /livez/ping", "get /readyz/store", "get /api", "get /openapi/v2", "get /metrics",
       "list nodes", "create selfsubjectreviews.authentication.k8s.io");
    NO(FAKE_NODE, "get nodes -/n1", "list pods", "update nodes/status -/n1");
}

#define POD_ON(node_)                                                                                     \
    "{'metadata':{'name':'p-" node_ "','namespace':'shop','uid':'u'},'spec':{'nodeName':'" node_ "',"     \
    "'serviceAccountName':'sa-" node_ "','containers':[{'name':'c','image':'i'}],'volumes':[{'name':'v'," \
    "'persistentVolumeClaim':{'claimName':'claim-" node_                                                  \
    "'}},{'name':'s','secret':{'secretName':'secret-" node_                                               \
    "'}},{'name':'c','configMap':{'name':'map-" node_ "'}}]}}"

/* A pod that the node made, if admission had let it: nothing that it names is the node's for that. */
#define MIRROR_POD                                                                                        \
    "{'metadata':{'name':'mirror','namespace':'shop','annotations':{'kubernetes.io/config.mirror':'x'}}," \
    "'spec':{'nodeName':'n1','serviceAccountName':'sa-mirror','containers':[{'name':'c','image':'i'}],"   \
    "'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'claim-mirror'}},{'name':'s','secret':"  \
    "{'secretName':'secret-mirror'}},{'name':'c','configMap':{'name':'map-mirror'}}]}}"

static void add_two_nodes(void)
{
    facts_add(KIND_POD, MIRROR_POD);
    facts_add(KIND_POD, "{'metadata':{'name':'bare','namespace':'shop','annotations':"
                        "{'kubernetes.io/config.mirror':'x'}},'spec':{'nodeName':'n1','containers':"
                        "[{'name':'c','image':'i'}]}}");
    facts_add(KIND_CLAIM, "{'metadata':{'name':'claim-mirror','namespace':'shop','uid':'c9'},'spec':"
                          "{'volumeName':'pv-mirror'}}");
    facts_add(KIND_VOLUME,
              "{'metadata':{'name':'pv-mirror','uid':'v9'},'spec':{'csi':{'driver':'d','volumeHandle':'h',"
              "'nodeStageSecretRef':{'name':'of-pv-mirror','namespace':'sys'}},'claimRef':{'namespace':"
              "'shop','name':'claim-mirror','uid':'c9'}}}");
    facts_add(KIND_POD, POD_ON("n1"));
    facts_add(KIND_POD, POD_ON("n2"));
    facts_add(KIND_CLAIM,
              "{'metadata':{'name':'claim-n1','namespace':'shop','uid':'c1'},'spec':{'volumeName':'pv1'}}");
    facts_add(KIND_VOLUME,
              "{'metadata':{'name':'pv1','uid':'v1'},'spec':{'csi':{'driver':'d','volumeHandle':'h',"
              "'nodeStageSecretRef':{'name':'of-pv1','namespace':'sys'}},'claimRef':{'namespace':'shop',"
              "'name':'claim-n1','uid':'c1'}}}");
    facts_add(KIND_VOLUME, "{'metadata':{'name':'pv2','uid':'v2'}}");
    facts_add(KIND_ATTACHMENT, "{'metadata':{'name':'a1'},'spec':{'nodeName':'n1'}}");
    facts_add(KIND_ATTACHMENT, "{'metadata':{'name':'a2'},'spec':{'nodeName':'n2'}}");
}

/* Every edge between a node and an object, as the node authorizer has them: verb, resource, object, and the
 * node that a field selector names. */
static const struct node_edge {
    const char *access;
    const char *reason; /* of the refusal; NULL when it is allowed */
} node_edges[] = {
    /* its own Node */
    { "get nodes -/n1", NULL },
    { "list nodes -/n1", NULL }, /* fieldSelector=metadata.name=n1 */
    { "watch nodes -/n1", NULL },
    { "create nodes", NULL }, /* whose is for admission to say */
    { "update nodes -/n1", NULL },
    { "patch nodes -/n1", NULL },
    { "update nodes/status -/n1", NULL },
    { "patch nodes/status -/n1", NULL },
    { "get nodes -/n2", "node 'n1' cannot read 'n2', only its own Node object" },
    { "list nodes -/n2", "node 'n1' cannot read 'n2', only its own Node object" },
    { "watch nodes -/n2", "node 'n1' cannot read 'n2', only its own Node object" },
    { "list nodes", "node 'n1' cannot read all nodes, only its own Node object" },
    { "watch nodes", "node 'n1' cannot read all nodes, only its own Node object" },
    { "list nodes - @n1", "node 'n1' cannot read all nodes, only its own Node object" },
    { "delete nodes -/n1", "" },
    { "deletecollection nodes -/n1", "" },
    { "get nodes/status -/n1", "" },
    /* its pods */
    { "get pods shop/p-n1", NULL },
    { "get pods shop/mirror", NULL },
    { "list pods - @n1", NULL },
    { "watch pods - @n1", NULL },
    { "list pods shop @n1", NULL },
    { "list pods shop/p-n2 @n1", NULL }, /* selects nothing */
    { "list pods shop/p-n1", NULL },
    { "watch pods shop/p-n1", NULL },
    { "create pods shop", NULL },
    { "delete pods shop/p-n1", NULL },
    { "update pods/status shop/p-n1", NULL },
    { "patch pods/status shop/p-n1", NULL },
    { "create pods/eviction shop/p-n1", NULL },
    { "get pods shop/p-n2", "no relationship found between node 'n1' and this object" },
    { "get pods shop/none", "no relationship found between node 'n1' and this object" },
    { "get pods bank/p-n1", "no relationship found between node 'n1' and this object" },
    { "list pods", "can only list/watch pods with spec.nodeName field selector" },
    { "watch pods", "can only list/watch pods with spec.nodeName field selector" },
    { "list pods shop", "can only list/watch pods with spec.nodeName field selector" },
    { "list pods - @n2", "can only list/watch pods with spec.nodeName field selector" },
    { "watch pods shop @n2", "can only list/watch pods with spec.nodeName field selector" },
    { "list pods shop/p-n2", "no relationship found between node 'n1' and this object" },
    { "list pods shop/p-n2 @n2", "no relationship found between node 'n1' and this object" },
    { "deletecollection pods shop @n1", "" },
    { "update pods shop/p-n1", "" },
    { "patch pods shop/p-n1", "" },
    { "get pods/status shop/p-n1", "" },
    { "get pods/log shop/p-n1", "" },
    { "create pods/binding shop/p-n1", "" },
    { "create bindings shop", "" },
    /* claims of its pods, their volumes, and attachments to it */
    { "get persistentvolumeclaims shop/claim-n1", NULL },
    { "patch persistentvolumeclaims/status shop/claim-n1", NULL },
    { "update persistentvolumeclaims/status shop/claim-n1", NULL },
    { "get persistentvolumeclaims shop/claim-n2", "no relationship found between node 'n1' and this object" },
    { "get persistentvolumeclaims bank/claim-n1", "no relationship found between node 'n1' and this object" },
    { "get persistentvolumeclaims shop/claim-mirror",
      "no relationship found between node 'n1' and this object" },
    { "patch persistentvolumeclaims shop/claim-n2",
      "no relationship found between node 'n1' and this object" },
    { "patch persistentvolumeclaims/status shop/claim-n2",
      "no relationship found between node 'n1' and this object" },
    { "get persistentvolumeclaims/status shop/claim-n1", "can only get/update/patch this type" },
    { "list persistentvolumeclaims shop", "can only get individual resources of this type" },
    { "watch persistentvolumeclaims shop/claim-n1", "can only get individual resources of this type" },
    { "create persistentvolumeclaims shop", "can only get individual resources of this type" },
    { "delete persistentvolumeclaims shop/claim-n1", "can only get individual resources of this type" },
    { "get persistentvolumes -/pv1", NULL },
    { "get persistentvolumes -/pv2", "no relationship found between node 'n1' and this object" },
    { "get persistentvolumes -/pv-mirror", "no relationship found between node 'n1' and this object" },
    { "list persistentvolumes", "can only get individual resources of this type" },
    { "watch persistentvolumes -/pv1", "can only get individual resources of this type" },
    { "patch persistentvolumes -/pv1", "can only get individual resources of this type" },
    { "patch persistentvolumes/status -/pv1", "can only get individual resources of this type" },
    { "get volumeattachments.storage.k8s.io -/a1", NULL },
    { "get volumeattachments.storage.k8s.io -/a2",
      "no relationship found between node 'n1' and this object" },
    { "list volumeattachments.storage.k8s.io", "can only get individual resources of this type" },
    { "watch volumeattachments.storage.k8s.io -/a1", "can only get individual resources of this type" },
    { "patch volumeattachments.storage.k8s.io -/a1", "can only get individual resources of this type" },
    { "patch volumeattachments.storage.k8s.io/status -/a1",
      "can only get individual resources of this type" },
    /* secrets and config maps of its pods, and secrets of their volumes */
    { "get secrets shop/secret-n1", NULL },
    { "list secrets shop/secret-n1", NULL },
    { "watch secrets shop/secret-n1", NULL },
    { "get secrets sys/of-pv1", NULL },
    { "get secrets shop/secret-n2", "no relationship found between node 'n1' and this object" },
    { "get secrets bank/secret-n1", "no relationship found between node 'n1' and this object" },
    { "get secrets shop/secret-mirror", "no relationship found between node 'n1' and this object" },
    { "get secrets sys/of-pv-mirror", "no relationship found between node 'n1' and this object" },
    { "list secrets shop", "No Object name found" },
    { "list secrets", "can only read namespaced object of this type" },
    { "watch secrets -/secret-n1", "can only read namespaced object of this type" },
    { "update secrets shop/secret-n1", "can only read resources of this type" },
    { "delete secrets shop/secret-n1", "can only read resources of this type" },
    { "get configmaps shop/map-n1", NULL },
    { "list configmaps shop/map-n1", NULL },
    { "watch configmaps shop/map-n1", NULL },
    { "get configmaps shop/map-n2", "no relationship found between node 'n1' and this object" },
    { "get configmaps shop/map-mirror", "no relationship found between node 'n1' and this object" },
    { "list configmaps shop", "No Object name found" },
    { "list configmaps", "can only read namespaced object of this type" },
    { "create configmaps shop", "can only read resources of this type" },
    /* tokens for the accounts of its pods */
    { "create serviceaccounts/token shop/sa-n1", NULL },
    { "create serviceaccounts/token shop/sa-n2", "no relationship found between node 'n1' and this object" },
    { "create serviceaccounts/token bank/sa-n1", "no relationship found between node 'n1' and this object" },
    { "create serviceaccounts/token shop/sa-mirror",
      "no relationship found between node 'n1' and this object" },
    { "create serviceaccounts/token shop/default",
      "no relationship found between node 'n1' and this object" },
    { "get serviceaccounts shop/sa-n1", "can only create tokens for individual service accounts" },
    { "create serviceaccounts shop", "can only create tokens for individual service accounts" },
    /* what bears its name */
    { "get csinodes.storage.k8s.io -/n1", NULL },
    { "create csinodes.storage.k8s.io", NULL },
    { "update csinodes.storage.k8s.io -/n1", NULL },
    { "patch csinodes.storage.k8s.io -/n1", NULL },
    { "delete csinodes.storage.k8s.io -/n1", NULL },
    { "get csinodes.storage.k8s.io -/n2",
      "can only access CSINode with the same name as the requesting node" },
    { "delete csinodes.storage.k8s.io -/n2",
      "can only access CSINode with the same name as the requesting node" },
    { "list csinodes.storage.k8s.io", "can only get, create, update, patch, or delete a CSINode" },
    { "watch csinodes.storage.k8s.io -/n1", "can only get, create, update, patch, or delete a CSINode" },
    { "get leases.coordination.k8s.io kube-node-lease/n1", NULL },
    { "create leases.coordination.k8s.io kube-node-lease", NULL },
    { "update leases.coordination.k8s.io kube-node-lease/n1", NULL },
    { "patch leases.coordination.k8s.io kube-node-lease/n1", NULL },
    { "delete leases.coordination.k8s.io kube-node-lease/n1", NULL },
    { "get leases.coordination.k8s.io kube-node-lease/n2",
      "can only access node lease with the same name as the requesting node" },
    { "get leases.coordination.k8s.io shop/n1",
      "can only access leases in the \"kube-node-lease\" system namespace" },
    { "create leases.coordination.k8s.io shop",
      "can only access leases in the \"kube-node-lease\" system namespace" },
    { "list leases.coordination.k8s.io kube-node-lease",
      "can only get, create, update, patch, or delete a node lease" },
    { "watch leases.coordination.k8s.io kube-node-lease/n1",
      "can only get, create, update, patch, or delete a node lease" },
    /* the same for every node */
    { "create events shop", NULL },
    { "patch events.events.k8s.io shop/e", NULL },
    { "list services", NULL },
    { "watch services", NULL },
    { "list csidrivers.storage.k8s.io", NULL },
    { "watch csidrivers.storage.k8s.io", NULL },
    { "get /api/v1", NULL },
    { "create selfsubjectaccessreviews.authorization.k8s.io", NULL },
    { "delete events shop/e", "" },
    { "list events", "" },
    { "list endpoints", "" },
    { "list namespaces", "" },
    { "create csidrivers.storage.k8s.io", "" },
    { "list storageclasses.storage.k8s.io", "" },
    { "list csistoragecapacities.storage.k8s.io", "" },
    { "list volumesnapshots.snapshot.storage.k8s.io", "" },
    { "create tokenreviews.authentication.k8s.io", "" },
    { "impersonate users -/root", "" },
    { "get /metrics", "" },
    { "get /stats/volumes", "" },
};

TEST(every_edge_of_a_node)
{
    struct user u = user_of(NODE);

    add_two_nodes();
    for (size_t i = 0; i < ARRAY_LEN(node_edges); i++) {
        const struct node_edge *e = &node_edges[i];
        struct access a = access_of(e->access);
        struct access_decision v = authorize_access(&test_facts, &u, &a);

        if (v.is_allowed != !e->reason)
            fail_msg("%s: expected %s", e->access, e->reason ? "no" : "yes");
        if (strcmp(e->reason ? e->reason : "", v.reason) != 0)
            fail_msg("%s: '%s', expected '%s'", e->access, v.reason, e->reason ? e->reason : "");
        assert_true(v.is_allowed == (v.role != NULL));
    }
    facts_clear();
}

/* Claims are not a node's to change: admission says so, but only of those that the node may read. */
TEST(apiserver_84_claims_of_a_node)
{
    add_two_nodes();
    YES(NODE, "patch persistentvolumeclaims shop/claim-n1", "update persistentvolumeclaims shop/claim-n1");
    NO(NODE, "patch persistentvolumeclaims shop/claim-n2", "update persistentvolumeclaims shop/none");
    facts_clear();
}

TEST(verdicts_name_the_role)
{
    struct user u = user_of(READER);
    struct access a = access_of("list pods shop");

    ASSERT_STR("reader", authorize_access(&test_facts, &u, &a).role);
    a = access_of("get /api");
    ASSERT_STR("authenticated", authorize_access(&test_facts, &u, &a).role);
}

/* --- Words --- */

TEST(apiserver_83_refusals)
{
    static const char *const rows[][2] = {
        { "list persistentvolumes", "persistentvolumes is forbidden: User \"bob\" cannot list resource "
                                    "\"persistentvolumes\" in API group \"\" at the cluster scope" },
        { "get persistentvolumes -/x",
          "persistentvolumes \"x\" is forbidden: User \"bob\" cannot get resource "
          "\"persistentvolumes\" in API group \"\" at the cluster scope" },
        { "create persistentvolumeclaims shop", "persistentvolumeclaims is forbidden: User \"bob\" cannot "
                                                "create resource \"persistentvolumeclaims\" in API "
                                                "group \"\" in the namespace \"shop\"" },
        { "patch storageclasses.storage.k8s.io -/fast",
          "storageclasses.storage.k8s.io \"fast\" is forbidden: User \"bob\" cannot patch resource "
          "\"storageclasses\" "
          "in API group \"storage.k8s.io\" at the cluster scope" },
        { "patch pods/status shop/db-0", "pods \"db-0\" is forbidden: User \"bob\" cannot patch resource "
                                         "\"pods/status\" in API group \"\" in the namespace \"shop\"" },
        { "get /metrics", "forbidden: User \"bob\" cannot get path \"/metrics\"" },
        { "post /a<b>&c", "forbidden: User \"bob\" cannot post path \"/a&lt;b&gt;&amp;c\"" },
    };
    struct user u = user_of(PLAIN);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct access a = access_of(rows[i][0]);
        ASSERT_ERR(ERR_DENIED, access_check(&test_facts, &u, &a, &err));
        ASSERT_STR(rows[i][1], err.msg);
    }
}

TEST(refusals_of_odd_users)
{
    struct user u = { "<b>\"eve\"\n&", "", GROUPS("x"), NULL };
    struct access a = access_of("list pods shop");

    ASSERT_ERR(ERR_DENIED, access_check(&test_facts, &u, &a, &err));
    ASSERT_STR(
        "pods is forbidden: User \"&lt;b&gt;\\\"eve\\\"\\n&amp;\" cannot list resource \"pods\" in API group "
        "\"\" in the namespace \"shop\"",
        err.msg);
}

TEST(refusals_with_a_reason)
{
    struct user u = user_of(NODE);
    struct access a = access_of("get secrets shop/db");

    ASSERT_ERR(ERR_DENIED, access_check(&test_facts, &u, &a, &err));
    ASSERT_STR("secrets \"db\" is forbidden: User \"system:node:n1\" cannot get resource \"secrets\" in API "
               "group \"\" "
               "in the namespace \"shop\": no relationship found between node 'n1' and this object",
               err.msg);
}

TEST(nobody_is_not_told)
{
    struct user u = user_of(ANONYMOUS);
    struct access a = access_of("list nodes");

    ASSERT_ERR(ERR_UNAUTHORIZED, access_check(&test_facts, &u, &a, &err));
    ASSERT_STR("Unauthorized", err.msg);
    a = access_of("get /livez");
    ASSERT_OK(access_check(&test_facts, &u, &a, &err));
}

/* Whatever a hostile client puts into a path, the answer stays an answer. */
TEST(refusals_have_a_bound)
{
    static char name[20000];
    struct user u = user_of(PLAIN);
    struct access a = access_of("list pods shop");

    memset(name, '<', sizeof name - 1);
    a.name = a.ns = a.resource = (struct str){ name, sizeof name - 1 };
    ASSERT_ERR(ERR_DENIED, access_check(&test_facts, &u, &a, &err));
    assert_true(strlen(err.msg) > 0);
}

/* --- From calls --- */

static const char *access_text(enum http_method method, const char *target)
{
    static char text[512];
    struct access a;
    struct call c;

    call_init(&c, &test_carrier, NULL);
    c.method = method;
    c.target = str_of(target);
    ASSERT_OK(route_parse(&c, &err));
    access_of_call(&c, &a);
    if (a.is_resource)
        (void)snprintf(text, sizeof text, "%.*s %.*s.%.*s/%.*s %.*s/%.*s%s%.*s", STR_ARG(a.verb),
                       STR_ARG(a.resource), STR_ARG(a.group), STR_ARG(a.sub), STR_ARG(a.ns), STR_ARG(a.name),
                       a.node_name.len ? " @" : "", STR_ARG(a.node_name));
    else
        (void)snprintf(text, sizeof text, "%.*s %.*s", STR_ARG(a.verb), STR_ARG(a.path));
    call_done(&c);
    return text;
}

TEST(calls)
{
    static const struct {
        enum http_method method;
        const char *target;
        const char *access;
    } rows[] = {
        { HTTP_GET, "/metrics", "get /metrics" },
        { HTTP_HEAD, "/livez/", "get /livez" },
        { HTTP_POST, "/api", "post /api" },
        { HTTP_DELETE, "/", "delete /" },
        { HTTP_GET, "/api/v1", "get /api/v1" },
        { HTTP_GET, "/api/v1/pods", "list pods./ /" },
        { HTTP_GET, "/api/v1/namespaces/shop/pods/db-0", "get pods./ shop/db-0" },
        { HTTP_PATCH, "/api/v1/namespaces/shop/pods/db-0/status", "patch pods./status shop/db-0" },
        { HTTP_GET, "/apis/storage.k8s.io/v1/storageclasses?watch=1",
          "watch storageclasses.storage.k8s.io/ /" },
        { HTTP_GET, "/api/v1/namespaces/shop/secrets?fieldSelector=metadata.name%3Ddb",
          "list secrets./ shop/db" },
        { HTTP_GET, "/api/v1/namespaces/shop/secrets?watch=1&fieldSelector=metadata.name=db,type!=x",
          "watch secrets./ shop/db" },
        { HTTP_GET, "/api/v1/namespaces/shop/secrets?fieldSelector=metadata.name!%3Ddb",
          "list secrets./ shop/" },
        { HTTP_GET, "/api/v1/namespaces/shop/secrets?fieldSelector=%3D", "list secrets./ shop/" },
        { HTTP_GET, "/api/v1/namespaces/shop/secrets/a?fieldSelector=metadata.name=db",
          "get secrets./ shop/a" },
        { HTTP_DELETE, "/api/v1/namespaces/shop/secrets?fieldSelector=metadata.name=db",
          "deletecollection secrets./ shop/db" },
        { HTTP_POST, "/api/v1/namespaces/shop/secrets?fieldSelector=metadata.name=db",
          "create secrets./ shop/" },
        { HTTP_GET, "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1", "list pods./ / @n1" },
        { HTTP_GET, "/api/v1/pods?watch=1&fieldSelector=status.phase!=Failed,spec.nodeName==n1",
          "watch pods./ / @n1" },
        { HTTP_GET, "/api/v1/namespaces/shop/pods?fieldSelector=metadata.name=a,spec.nodeName=n1",
          "list pods./ shop/a @n1" },
        { HTTP_GET, "/api/v1/pods?fieldSelector=spec.nodeName!%3Dn1", "list pods./ /" },
        { HTTP_GET, "/api/v1/pods?fieldSelector=spec.nodeName%3D", "list pods./ /" },
        { HTTP_GET, "/api/v1/pods?labelSelector=spec.nodeName%3Dn1", "list pods./ /" },
        { HTTP_GET, "/api/v1/namespaces/shop/pods/a?fieldSelector=spec.nodeName=n1", "get pods./ shop/a" },
        { HTTP_POST, "/api/v1/namespaces/shop/pods?fieldSelector=spec.nodeName=n1", "create pods./ shop/" },
        { HTTP_GET, "/api/v1/namespaces/shop", "get namespaces./ shop/shop" },
        { HTTP_GET, "/api/v1/namespaces", "list namespaces./ /" },
        { HTTP_GET, "/api/v1/foos", "list foos./ /" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_STR(rows[i].access, access_text(rows[i].method, rows[i].target));
}

TEST_MAIN()
