/* What is filled in and what is refused on the way to the store, through the whole server: default classes,
 * protection, tolerations, growing claims, and what nodes may write. */
#include "tests/unit/test_served.h"

#define ATTRIBUTES_CLASSES "/apis/storage.k8s.io/v1/volumeattributesclasses"
#define CSI_NODES "/apis/storage.k8s.io/v1/csinodes"
#define NODE_LEASES "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
#define DEFAULT_ANN "'storageclass.kubernetes.io/is-default-class'"
#define DEFAULT_ANN_BETA "'storageclass.beta.kubernetes.io/is-default-class'"
#define CLASS_ANN_BETA "'volume.beta.kubernetes.io/storage-class'"
#define CLASS(name, annotations) "{'metadata':{'name':'" name "'," annotations "},'provisioner':'x.y/z'}"
#define DEFAULT_CLASS(name) CLASS(name, "'annotations':{" DEFAULT_ANN ":'true'}")
#define NOT_RESIZABLE                                                                                 \
    "persistentvolumeclaims \"c\" is forbidden: only dynamically provisioned pvc can be resized and " \
    "the storageclass that provisions the pvc must support resize"

static const char *const node_groups[] = { "system:nodes", NULL };
static const struct peer node_1 = { "system:node:n1", node_groups };
static const char *const no_groups[] = { NULL };
static const struct peer not_a_node = { "system:node:n1", no_groups };

/* The class that a claim without one is given; the claim is gone afterwards. */
static void assert_class(struct served *w, const char *expected)
{
    ASSERT_SENT(w, 201, "POST", CLAIMS "?dryRun=All", "{'metadata':{'name':'c'}," CLAIM_SPEC "}");
    ASSERT_GOT(w, expected, "spec/storageClassName");
}

TEST(no_class_is_the_default)
{
    _cleanup_(served_done) struct served w;

    served_init(&w);
    assert_class(&w, "-");
    ASSERT_SENT(&w, 201, "POST", CLASSES, CLASS("a", "'annotations':{" DEFAULT_ANN ":'false'}"));
    ASSERT_SENT(&w, 201, "POST", CLASSES, CLASS("b", "'annotations':{" DEFAULT_ANN ":'TRUE'}"));
    ASSERT_SENT(&w, 201, "POST", CLASSES, CLASS("c", "'labels':{" DEFAULT_ANN ":'true'}"));
    assert_class(&w, "-");
}

TEST(the_newest_default_class_is_taken)
{
    _cleanup_(served_done) struct served w;

    served_init(&w);
    ASSERT_SENT(&w, 201, "POST", CLASSES, DEFAULT_CLASS("m"));
    assert_class(&w, "m");
    ASSERT_SENT(&w, 201, "POST", CLASSES, DEFAULT_CLASS("z"));
    assert_class(&w, "m"); /* as old as the other: the smaller name */
    ASSERT_SENT(&w, 201, "POST", CLASSES, DEFAULT_CLASS("b"));
    assert_class(&w, "b");
    served_pass(&w, 1);
    ASSERT_SENT(&w, 201, "POST", CLASSES, CLASS("x", "'annotations':{" DEFAULT_ANN_BETA ":'true'}"));
    assert_class(&w, "x");
    ASSERT_SENT(&w, 200, "MERGE", CLASSES "/x", "{'metadata':{'annotations':null}}");
    assert_class(&w, "b");
    ASSERT_SENT(&w, 200, "DELETE", CLASSES, NULL);
    assert_class(&w, "-");
}

TEST(a_choice_of_class_is_kept)
{
    _cleanup_(served_done) struct served w;

    served_init(&w);
    ASSERT_SENT(&w, 201, "POST", CLASSES, DEFAULT_CLASS("m"));
    ASSERT_SENT(&w, 201, "POST", CLAIMS,
                "{'metadata':{'name':'none'},'spec':{'storageClassName':'','accessModes':['ReadWriteOnce'],"
                "'resources':{'requests':{'storage':'1Gi'}}}}");
    ASSERT_SENT(&w, 200, "GET", CLAIMS "/none", NULL);
    ASSERT_GOT(&w, "", "spec/storageClassName");
    ASSERT_SENT(&w, 201, "POST", CLAIMS,
                "{'metadata':{'name':'other'},'spec':{'storageClassName':'o','accessModes':['ReadWriteOnce'],"
                "'resources':{'requests':{'storage':'1Gi'}}}}");
    ASSERT_GOT(&w, "o", "spec/storageClassName");
    ASSERT_SENT(&w, 201, "POST", CLAIMS,
                "{'metadata':{'name':'beta','annotations':{" CLASS_ANN_BETA ":'o'}}," CLAIM_SPEC "}");
    ASSERT_GOT(&w, "-", "spec/storageClassName");
    ASSERT_SENT(&w, 201, "POST", CLAIMS,
                "{'metadata':{'name':'null'},'spec':{'storageClassName':null,'accessModes':['ReadWriteOnce'],"
                "'resources':{'requests':{'storage':'1Gi'}}}}");
    ASSERT_GOT(&w, "m", "spec/storageClassName");
}

/* Only creations are given a class: what was there before stays without. */
TEST(an_update_gets_no_class)
{
    _cleanup_(served_done) struct served w;

    served_init(&w);
    ASSERT_SENT(&w, 201, "POST", CLAIMS, "{'metadata':{'name':'c'}," CLAIM_SPEC "}");
    ASSERT_SENT(&w, 201, "POST", CLASSES, DEFAULT_CLASS("m"));
    ASSERT_SENT(&w, 200, "PUT", CLAIMS "/c", "{'metadata':{'name':'c','labels':{'a':'b'}}," CLAIM_SPEC "}");
    ASSERT_GOT(&w, "-", "spec/storageClassName");
    ASSERT_SENT(&w, 200, "MERGE", CLAIMS "/c", "{'spec':{'storageClassName':'m'}}"); /* once, by hand */
    ASSERT_GOT(&w, "m", "spec/storageClassName");
    ASSERT_SENT(&w, 422, "MERGE", CLAIMS "/c", "{'spec':{'storageClassName':'n'}}");
}

/* apiserver-27 */
TEST(protection_is_added_at_creation_only)
{
    static const struct {
        const char *path, *rest, *finalizer;
    } rows[] = {
        { VOLUMES, VOLUME_SPEC, "kubernetes.io/pv-protection" },
        { CLAIMS, CLAIM_SPEC, "kubernetes.io/pvc-protection" },
        { ATTRIBUTES_CLASSES, "'driverName':'d.io','parameters':{'a':'b'}", "kubernetes.io/vac-protection" },
    };
    _cleanup_(served_done) struct served w;

    served_init(&w);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char body[512], one[256], both[512], expected[128];

        (void)snprintf(expected, sizeof expected, "['%s']", rows[i].finalizer);
        (void)snprintf(body, sizeof body, "{'metadata':{'name':'x'},%s}", rows[i].rest);
        (void)snprintf(one, sizeof one, "%s/x", rows[i].path);
        ASSERT_SENT(&w, 201, "POST", rows[i].path, body);
        ASSERT_GOT(&w, expected, "metadata/finalizers");
        ASSERT_SENT(&w, 200, "PUT", one, body);
        ASSERT_GOT(&w, "-", "metadata/finalizers");
        (void)snprintf(body, sizeof body, "{'metadata':{'name':'y','finalizers':['a/b']},%s}", rows[i].rest);
        (void)snprintf(both, sizeof both, "['a/b','%s']", rows[i].finalizer);
        ASSERT_SENT(&w, 201, "POST", rows[i].path, body);
        ASSERT_GOT(&w, both, "metadata/finalizers");
        (void)snprintf(body, sizeof body, "{'metadata':{'name':'z','finalizers':['%s']},%s}",
                       rows[i].finalizer, rows[i].rest);
        ASSERT_SENT(&w, 201, "POST", rows[i].path, body);
        ASSERT_GOT(&w, expected, "metadata/finalizers");
    }
    ASSERT_SENT(&w, 201, "POST", CLASSES, CLASS("x", "'labels':{}"));
    ASSERT_GOT(&w, "-", "metadata/finalizers");
}

#define TOLERATION(key) \
    "{'key':'node.kubernetes.io/" key "','operator':'Exists','effect':'NoExecute','tolerationSeconds':300}"

/* One pod with these tolerations, and those it has in the end. */
static void assert_tolerations(struct served *w, const char *expected, const char *tolerations)
{
    char body[1024];

    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'p'},'spec':{%s'containers':[{'name':'c','image':'i:1'}]}}",
                   tolerations);
    ASSERT_SENT(w, 201, "POST", PODS "?dryRun=All", body);
    ASSERT_GOT(w, expected, "spec/tolerations");
}

TEST(pods_tolerate_a_while)
{
    static const struct {
        const char *expected, *tolerations;
    } rows[] = {
        { "[" TOLERATION("not-ready") "," TOLERATION("unreachable") "]", "" },
        { "[" TOLERATION("not-ready") "," TOLERATION("unreachable") "]", "'tolerations':[]," },
        { "[{'operator':'Exists'}]", "'tolerations':[{'operator':'Exists'}]," },
        { "[{'operator':'Exists','effect':'NoSchedule'}," TOLERATION("not-ready") "," TOLERATION(
              "unreachable") "]",
          "'tolerations':[{'operator':'Exists','effect':'NoSchedule'}]," },
        { "[{'key':'node.kubernetes.io/not-ready','operator':'Exists'}," TOLERATION("unreachable") "]",
          "'tolerations':[{'key':'node.kubernetes.io/not-ready','operator':'Exists'}]," },
        { "[" TOLERATION("unreachable") "," TOLERATION("not-ready") "]",
          "'tolerations':[" TOLERATION("unreachable") "]," },
    };
    _cleanup_(served_done) struct served w;

    served_init(&w);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_tolerations(&w, rows[i].expected, rows[i].tolerations);
}

/* A writer that leaves out what the server filled in does not mean to take it away. */
TEST(updates_of_pods_keep_what_was_filled_in)
{
#define POD_OF_IMAGE(image, more) \
    "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','image':'" image "'}]" more "}}"
#define FORBIDDEN_START "Pod \"p\" is invalid: spec: Forbidden: pod updates may not change fields other than "
    _cleanup_(served_done) struct served w;

    served_init(&w);
    ASSERT_SENT(&w, 201, "POST", PODS, POD_OF_IMAGE("i:1", ""));
    ASSERT_SENT(&w, 200, "PUT", PODS "/p", POD_OF_IMAGE("i:2", ",'serviceAccountName':'default'"));
    ASSERT_GOT(&w, "[" TOLERATION("not-ready") "," TOLERATION("unreachable") "]", "spec/tolerations");
    ASSERT_GOT(&w, "0", "spec/priority");
    ASSERT_GOT(&w, "PreemptLowerPriority", "spec/preemptionPolicy");
    ASSERT_SENT(&w, 422, "PUT", PODS "/p", POD_OF_IMAGE("i:2", ",'hostNetwork':true"));
    assert_memory_equal(FORBIDDEN_START, got(&w, "message"), sizeof FORBIDDEN_START - 1);
    ASSERT_GOT(&w, "-", "details/causes/1");
    ASSERT_SENT(&w, 200, "MERGE", PODS "/p", "{'spec':{'tolerations':null}}");
    ASSERT_GOT(&w, "[" TOLERATION("not-ready") "," TOLERATION("unreachable") "]", "spec/tolerations");
}

#define MIRROR(name, more)                                                               \
    "{'metadata':{'name':'" name "','annotations':{'kubernetes.io/config.mirror':'x'}}," \
    "'spec':{" more "'containers':[{'name':'c','image':'i:1'}]}}"

/* Under both names, by nobody's will: no manager owns it. Writers name it again, and mirrors go without. */
TEST(pods_run_as_the_default_account)
{
    _cleanup_(served_done) struct served w;

    served_init(&w);
    ASSERT_SENT(&w, 201, "APPLY", PODS "/p?fieldManager=m",
                "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'p'},"
                "'spec':{'containers':[{'name':'c','image':'i:1'}]}}");
    ASSERT_GOT(&w, "default", "spec/serviceAccountName");
    ASSERT_GOT(&w, "default", "spec/serviceAccount");
    assert_null(strstr(got(&w, "metadata/managedFields"), "serviceAccount"));
    ASSERT_SENT(&w, 200, "PUT", PODS "/p", POD_OF_IMAGE("i:2", ",'serviceAccountName':'default'"));
    ASSERT_GOT(&w, "default", "spec/serviceAccount");
    ASSERT_SENT(&w, 422, "PUT", PODS "/p", POD_OF_IMAGE("i:2", "")); /* as in Kubernetes */
    ASSERT_SENT(&w, 422, "MERGE", PODS "/p", "{'spec':{'serviceAccountName':null,'serviceAccount':null}}");
    ASSERT_SENT(&w, 422, "MERGE", PODS "/p", "{'spec':{'serviceAccountName':'other'}}");
    ASSERT_SENT(&w, 201, "POST", NAMESPACES "/kube-system/pods?dryRun=All",
                POD_OF_IMAGE("i:1", ",'serviceAccount':'old'"));
    ASSERT_GOT(&w, "old", "spec/serviceAccountName");
    ASSERT_SENT(&w, 201, "POST", PODS, MIRROR("m", ""));
    ASSERT_GOT(&w, "-", "spec/serviceAccountName");
    ASSERT_GOT(&w, "-", "spec/serviceAccount");
    ASSERT_REFUSED(&w, 403, "Forbidden",
                   "pods \"n\" is forbidden: a mirror pod may not reference service accounts", "POST", PODS,
                   MIRROR("n", "'serviceAccountName':'default',"));
}

#define GROW(size) "{'spec':{'resources':{'requests':{'storage':'" size "'}}}}"

/* A claim of that class, bound, with 1Gi. */
static void bind_claim(struct served *w, const char *class)
{
    char body[512];

    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'c'},'spec':{'storageClassName':'%s','volumeName':'v',"
                   "'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'1Gi'}}}}",
                   class);
    ASSERT_SENT(w, 201, "POST", CLAIMS, body);
    ASSERT_SENT(w, 200, "MERGE", CLAIMS "/c/status",
                "{'status':{'phase':'Bound','capacity':{'storage':'1Gi'}}}");
}

/* apiserver-38 */
TEST(claims_that_may_not_grow)
{
    static const char *const classes[] = { "", "missing", "rigid" };
    _cleanup_(served_done) struct served w;

    served_init(&w);
    ASSERT_SENT(&w, 201, "POST", CLASSES, CLASS("rigid", "'labels':{}"));
    for (size_t i = 0; i < ARRAY_LEN(classes); i++) {
        bind_claim(&w, classes[i]);
        ASSERT_REFUSED(&w, 403, "Forbidden", NOT_RESIZABLE, "MERGE", CLAIMS "/c", GROW("6Gi"));
        ASSERT_SENT(&w, 200, "MERGE", CLAIMS "/c", GROW("1024Mi")); /* as much as before */
        ASSERT_SENT(&w, 200, "MERGE", CLAIMS "/c", "{'metadata':{'labels':{'a':'b'}}}");
        ASSERT_SENT(&w, 200, "MERGE", CLAIMS "/c", "{'metadata':{'finalizers':null}}");
        ASSERT_SENT(&w, 200, "DELETE", CLAIMS "/c", NULL);
    }
    ASSERT_SENT(&w, 201, "POST", CLAIMS, "{'metadata':{'name':'c'}," CLAIM_SPEC "}");
    ASSERT_SENT(&w, 422, "MERGE", CLAIMS "/c", GROW("6Gi")); /* not bound: apiserver-37 */
}

/* apiserver-39 */
TEST(claims_that_may_grow)
{
    _cleanup_(served_done) struct served w;

    served_init(&w);
    ASSERT_SENT(&w, 201, "POST", CLASSES,
                "{'metadata':{'name':'soft'},'provisioner':'x.y/z','allowVolumeExpansion':true}");
    bind_claim(&w, "soft");
    ASSERT_SENT(&w, 200, "MERGE", CLAIMS "/c", GROW("6Gi"));
    ASSERT_SENT(&w, 200, "MERGE", CLAIMS "/c", GROW("2Gi")); /* what nobody has given yet may be taken back */
    ASSERT_GOT(&w, "2Gi", "spec/resources/requests/storage");
    ASSERT_SENT(&w, 422, "MERGE", CLAIMS "/c", GROW("1Mi"));
    assert_non_null(strstr(got(&w, "message"), "field can not be less than status.capacity"));
    ASSERT_SENT(&w, 200, "MERGE", CLASSES "/soft", "{'allowVolumeExpansion':false}");
    ASSERT_REFUSED(&w, 403, "Forbidden", NOT_RESIZABLE, "MERGE", CLAIMS "/c", GROW("3Gi"));
}

/* --- Nodes --- */

static const struct peer admin = { "admin", (const char *const[]){ "system:masters", NULL } };

static void nodes_init(struct served *w)
{
    served_make(w, false, 0, 0);
    served_settle(w);
    w->peer = &admin;
    ASSERT_SENT(w, 201, "POST", NODES, "{'metadata':{'name':'n1'}}");
    ASSERT_SENT(w, 201, "POST", NODES, "{'metadata':{'name':'n2'}}");
    ASSERT_SENT(w, 201, "POST", PODS, "{'metadata':{'name':'mine'}," POD_ON("n1") "}");
    ASSERT_SENT(w, 201, "POST", PODS, "{'metadata':{'name':'other'}," POD_ON("n2") "}");
    w->peer = &node_1;
}

/* apiserver-84 */
TEST(a_node_writes_its_own_node)
{
    _cleanup_(served_done) struct served w;

    nodes_init(&w);
    ASSERT_SENT(&w, 200, "STRATEGIC", NODES "/n1/status", "{'status':{'capacity':{'cpu':'1'}}}");
    ASSERT_SENT(&w, 200, "MERGE", NODES "/n1", "{'metadata':{'labels':{'kubernetes.io/hostname':'n1'}}}");
    ASSERT_SENT(&w, 403, "MERGE", NODES "/n2", "{'metadata':{'labels':{'a':'b'}}}");
    ASSERT_GOT(&w, "Forbidden", "reason");
    ASSERT_REFUSED(&w, 403, "Forbidden",
                   "nodes \"n1\" is forbidden: node \"n1\" is not allowed to modify taints", "MERGE",
                   NODES "/n1", "{'spec':{'taints':[{'key':'a','effect':'NoSchedule'}]}}");
    ASSERT_REFUSED(
        &w, 403, "Forbidden",
        "nodes \"n1\" is forbidden: is not allowed to modify labels: a.k8s.io/x, "
        "node-restriction.kubernetes.io/y",
        "MERGE", NODES "/n1",
        "{'metadata':{'labels':{'node-restriction.kubernetes.io/y':'1','a.k8s.io/x':'1','z':'1'}}}");
    ASSERT_SENT(&w, 200, "GET", NODES "/n1", NULL);
    ASSERT_GOT(&w, "-", "spec/taints");
    ASSERT_GOT(&w, "{'kubernetes.io/hostname':'n1'}", "metadata/labels");
}

TEST(a_node_writes_its_own_pods)
{
    _cleanup_(served_done) struct served w;

    nodes_init(&w);
    ASSERT_SENT(&w, 200, "STRATEGIC", PODS "/mine/status", "{'status':{'phase':'Running'}}");
    ASSERT_REFUSED(&w, 403, "Forbidden",
                   "pods \"other\" is forbidden: node \"n1\" can only update pod status for pods with "
                   "spec.nodeName set to itself",
                   "STRATEGIC", PODS "/other/status", "{'status':{'phase':'Running'}}");
    ASSERT_REFUSED(&w, 403, "Forbidden",
                   "pods \"other\" is forbidden: node \"n1\" can only delete pods with spec.nodeName set to "
                   "itself",
                   "DELETE", PODS "/other", "{'gracePeriodSeconds':0}");
    ASSERT_SENT(&w, 403, "POST", PODS "/other/eviction", "{'metadata':{'name':'other'}}");
    ASSERT_SENT(&w, 403, "POST", PODS, "{'metadata':{'name':'p'}," POD_ON("n1") "}");
    ASSERT_SENT(
        &w, 201, "POST", PODS,
        "{'metadata':{'name':'m','annotations':{'kubernetes.io/config.mirror':'x'}}," POD_ON("n1") "}");
    ASSERT_SENT(
        &w, 403, "POST", PODS,
        "{'metadata':{'name':'q','annotations':{'kubernetes.io/config.mirror':'x'}}," POD_ON("n2") "}");
    ASSERT_SENT(&w, 422, "MERGE", PODS "/m/status",
                "{'metadata':{'annotations':{'kubernetes.io/config.mirror':null}}}");
    ASSERT_SENT(&w, 201, "POST", PODS "/mine/eviction", "{'metadata':{'name':'mine'}}");
    ASSERT_SENT(&w, 200, "DELETE", PODS "/mine", "{'gracePeriodSeconds':0}");
    w.peer = &admin;
    ASSERT_SENT(&w, 404, "GET", PODS "/mine", NULL);
    ASSERT_SENT(&w, 200, "GET", PODS "/other", NULL);
    ASSERT_GOT(&w, "Pending", "status/phase");
}

TEST(a_node_writes_its_own_lease_and_drivers)
{
    _cleanup_(served_done) struct served w;

    nodes_init(&w);
    ASSERT_SENT(&w, 201, "POST", NODE_LEASES, "{'metadata':{'name':'n1'},'spec':{'holderIdentity':'n1'}}");
    ASSERT_SENT(&w, 403, "POST", NODE_LEASES, "{'metadata':{'name':'n2'},'spec':{'holderIdentity':'n1'}}");
    ASSERT_SENT(&w, 403, "POST", LEASES, "{'metadata':{'name':'n1'},'spec':{'holderIdentity':'n1'}}");
    ASSERT_SENT(&w, 201, "POST", CSI_NODES, "{'metadata':{'name':'n1'},'spec':{'drivers':[]}}");
    ASSERT_SENT(&w, 403, "POST", CSI_NODES, "{'metadata':{'name':'n2'},'spec':{'drivers':[]}}");
    ASSERT_GOT(&w, "Forbidden", "reason");
}

/* The name alone makes no node of anybody. */
TEST(a_name_without_its_group)
{
    _cleanup_(served_done) struct served w;

    nodes_init(&w);
    w.peer = &not_a_node;
    ASSERT_SENT(&w, 403, "MERGE", NODES "/n1", "{'metadata':{'labels':{'a':'b'}}}");
    ASSERT_SENT(&w, 403, "GET", PODS, NULL);
}

/* The error of a patch that does not fit shows the object, and a failed test operation that a guess was
 * wrong: so the node is refused first. */
TEST(patches_reveal_nothing_of_other_nodes)
{
    static const char *const paths[][2] = {
        { NODES "/n2", "nodes \"n2\" is forbidden: node \"n1\" is not allowed to modify node \"n2\"" },
        { NODES "/n2/status", "nodes \"n2\" is forbidden: node \"n1\" is not allowed to modify node \"n2\"" },
        { PODS "/other/status",
          "pods \"other\" is forbidden: node \"n1\" can only update pod status for pods "
          "with spec.nodeName set to itself" },
    };
    static const char *const patches[][2] = {
        { "MERGE", "{'metadata':{'labels':7}}" },
        { "STRATEGIC", "{'metadata':{'labels':7}}" },
        { "JSON", "[{'op':'test','path':'/metadata/name','value':'x'}]" },
        { "JSON", "[{'op':'test','path':'/metadata/namespace','value':'x'}]" },
        { "MERGE", "{'metadata':{'name':'x'}}" },
    };
    _cleanup_(served_done) struct served w;

    nodes_init(&w);
    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        for (size_t k = 0; k < ARRAY_LEN(patches); k++)
            ASSERT_REFUSED(&w, 403, "Forbidden", paths[i][1], patches[k][0], paths[i][0], patches[k][1]);
    ASSERT_REFUSED(&w, 403, "Forbidden", paths[0][1], "PUT", NODES "/n2",
                   "{'metadata':{'name':'n2','uid':'guess'}}");
    ASSERT_REFUSED(&w, 403, "Forbidden", paths[2][1], "PUT", PODS "/other/status",
                   "{'metadata':{'name':'other','uid':'guess'}," POD_ON("n2") "}");
    /* errors about its own objects are reported in full */
    ASSERT_SENT(&w, 422, "JSON", NODES "/n1", "[{'op':'test','path':'/metadata/name','value':'x'}]");
    ASSERT_SENT(&w, 422, "MERGE", PODS "/mine/status", "{'metadata':{'labels':7}}");
}

/* --- CSI sidecars --- */

#define PV(name, spec)                                                                                     \
    "{'metadata':{'name':'" name "'},'spec':{'capacity':{'storage':'1Gi'},'accessModes':['ReadWriteOnce']" \
    "," spec "}}"
#define CSI_SOURCE "'csi':{'driver':'d.example.com','volumeHandle':'h'}"
#define HOST_SOURCE "'hostPath':{'path':'/data'}"
#define CLAIM_REF "'claimRef':{'namespace':'default','name':'gone','uid':'1'}"

static const struct peer csi_driver = { "driver", (const char *const[]){ "berth:csi", NULL } };

TEST(csi_sidecars_create_csi_volumes)
{
    static const struct {
        const char *volume;
        const char *refusal; /* NULL when it is created */
    } rows[] = {
        { PV("a", CSI_SOURCE), NULL },
        { PV("b", CSI_SOURCE ",'persistentVolumeReclaimPolicy':'Delete'," CLAIM_REF), NULL },
        { PV("c", CSI_SOURCE ",'persistentVolumeReclaimPolicy':'Retain'"), NULL },
        { PV("x", CSI_SOURCE ",'persistentVolumeReclaimPolicy':'Recycle'," CLAIM_REF),
          "can only create volumes with the reclaim policy Delete or Retain" },
        { PV("x", HOST_SOURCE), "can only create volumes with a csi source" },
        { PV("x", HOST_SOURCE ",'persistentVolumeReclaimPolicy':'Recycle'," CLAIM_REF),
          "can only create volumes with a csi source" },
        { PV("x", "'nfs':{'server':'s','path':'/'}"), "can only create volumes with a csi source" },
        { PV("x", "'local':{'path':'/data'}"), "can only create volumes with a csi source" },
        { PV("x", "'flexVolume':{'driver':'a/b'}"), "can only create volumes with a csi source" },
        { "{'metadata':{'name':'x'},'spec':{}}", "can only create volumes with a csi source" },
        { "{'metadata':{'name':'x'}}", "can only create volumes with a csi source" },
    };
    _cleanup_(served_done) struct served w;

    served_make(&w, false, 0, 0);
    served_settle(&w);
    w.peer = &csi_driver;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char message[256];
        if (!rows[i].refusal) {
            ASSERT_SENT(&w, 201, "POST", VOLUMES, rows[i].volume);
            continue;
        }
        (void)snprintf(message, sizeof message,
                       "persistentvolumes \"x\" is forbidden: group \"berth:csi\" %s", rows[i].refusal);
        ASSERT_REFUSED(&w, 403, "Forbidden", message, "POST", VOLUMES, rows[i].volume);
    }
    ASSERT_SENT(&w, 422, "POST", VOLUMES, PV("x", CSI_SOURCE "," HOST_SOURCE));
    w.peer = &admin;
    ASSERT_SENT(&w, 404, "GET", VOLUMES "/x", NULL);
    w.peer = &(const struct peer){ "both", (const char *const[]){ "berth:csi", "system:masters", NULL } };
    ASSERT_SENT(&w, 201, "POST", VOLUMES, PV("x", HOST_SOURCE));
}

TEST(csi_sidecars_cannot_have_other_volumes_reclaimed)
{
    static const struct {
        const char *volume;
        const char *patch;
        const char *refusal; /* NULL when it is taken */
    } rows[] = {
        { "own", "{'metadata':{'annotations':{'a':'b'}}}", NULL },
        { "own", "{'spec':{'capacity':{'storage':'2Gi'}}}", NULL },
        { "own", "{'spec':{'persistentVolumeReclaimPolicy':'Delete'}}", NULL },
        { "own", "{'spec':{" CLAIM_REF "}}", NULL },
        { "own", "{'spec':{'persistentVolumeReclaimPolicy':'Recycle'}}",
          "cannot set the reclaim policy Recycle" },
        { "host", "{'metadata':{'annotations':{'a':'b'},'finalizers':['example.com/x']}}", NULL },
        { "host", "{'spec':{'persistentVolumeReclaimPolicy':'Recycle'}}",
          "cannot set the reclaim policy Recycle" },
        { "host", "{'spec':{'persistentVolumeReclaimPolicy':'Delete'}}",
          "cannot change the reclaim policy or the claim of a volume without a csi source" },
        { "host", "{'spec':{" CLAIM_REF "}}",
          "cannot change the reclaim policy or the claim of a volume without a csi source" },
        { "recycled", "{'metadata':{'annotations':{'a':'b'}}}", NULL },
        { "recycled", "{'spec':{" CLAIM_REF "}}",
          "cannot change the reclaim policy or the claim of a volume without a csi source" },
        { "recycled", "{'spec':{'persistentVolumeReclaimPolicy':'Delete'}}",
          "cannot change the reclaim policy or the claim of a volume without a csi source" },
    };
    _cleanup_(served_done) struct served w;

    served_make(&w, false, 0, 0);
    served_settle(&w);
    w.peer = &admin;
    ASSERT_SENT(&w, 201, "POST", VOLUMES, PV("own", CSI_SOURCE));
    ASSERT_SENT(&w, 201, "POST", VOLUMES, PV("host", HOST_SOURCE));
    ASSERT_SENT(&w, 201, "POST", VOLUMES,
                PV("recycled", HOST_SOURCE ",'persistentVolumeReclaimPolicy':'Recycle'"));
    w.peer = &csi_driver;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char message[256], path[128];
        (void)snprintf(path, sizeof path, VOLUMES "/%s", rows[i].volume);
        (void)snprintf(message, sizeof message,
                       "persistentvolumes \"%s\" is forbidden: group \"berth:csi\" %s", rows[i].volume,
                       rows[i].refusal ? rows[i].refusal : "");
        if (rows[i].refusal)
            ASSERT_REFUSED(&w, 403, "Forbidden", message, "MERGE", path, rows[i].patch);
        else
            ASSERT_SENT(&w, 200, "MERGE", path, rows[i].patch);
    }
    ASSERT_SENT(&w, 422, "MERGE", VOLUMES "/own", "{'spec':{'csi':null," HOST_SOURCE "}}");
    ASSERT_SENT(&w, 200, "MERGE", VOLUMES "/host/status", "{'status':{'message':'x'}}");
    ASSERT_SENT(&w, 200, "DELETE", VOLUMES "/own", NULL);
}

/* They record the state of a driver, and change nothing else of it. */
TEST(csi_drivers_annotate_their_csidriver)
{
    static const char path[] = "/apis/storage.k8s.io/v1/csidrivers";
    _cleanup_(served_done) struct served w;

    served_make(&w, false, 0, 0);
    served_settle(&w);
    w.peer = &admin;
    ASSERT_SENT(&w, 201, "POST", path, "{'metadata':{'name':'d'},'spec':{}}");
    w.peer = &csi_driver;
    ASSERT_SENT(&w, 200, "MERGE", "/apis/storage.k8s.io/v1/csidrivers/d",
                "{'metadata':{'annotations':{'csi.berth.io/state':'{}'}}}");
    ASSERT_REFUSED(
        &w, 403, "Forbidden",
        "csidrivers.storage.k8s.io \"d\" is forbidden: group \"berth:csi\" cannot change the spec of "
        "a CSIDriver",
        "MERGE", "/apis/storage.k8s.io/v1/csidrivers/d", "{'spec':{'requiresRepublish':true}}");
    ASSERT_SENT(&w, 403, "DELETE", "/apis/storage.k8s.io/v1/csidrivers/d", NULL);
}

TEST_MAIN()
