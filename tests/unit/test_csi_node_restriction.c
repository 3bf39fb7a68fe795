/* What the CSI controllers of one node may write: csi-18. The user is that of node "a"; there is a node "b".
 */
#include "tests/unit/test_served.h"

#define CAPACITIES "/apis/storage.k8s.io/v1/namespaces/kube-system/csistoragecapacities"
#define RECORDS "/api/v1/namespaces/kube-system/configmaps"
#define WHO "user \"berth:csi-node:a\" "
#define PROVISIONER "volume.kubernetes.io/storage-provisioner"

static const struct peer admin = { "root", (const char *const[]){ "system:masters", NULL } };
static const struct peer node_a = { "berth:csi-node:a", (const char *const[]){ "berth:csi-nodes", NULL } };

struct uids {
    char mine[64], other[64], free[64];
};

static void put_claim(struct served *w, const char *name, const char *class_name, const char *annotations,
                      char ret[64])
{
    char body[512];

    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'%s','annotations':{'" PROVISIONER "':'x.csi'%s}},'spec':{"
                   "'accessModes':['ReadWriteOnce'],'storageClassName':'%s',"
                   "'resources':{'requests':{'storage':'1Gi'}}}}",
                   name, annotations, class_name);
    ASSERT_SENT(w, 201, "POST", CLAIMS, body);
    (void)snprintf(ret, 64, "%s", got(w, "metadata/uid"));
}

static void put_volume(struct served *w, const char *name, const char *values)
{
    char body[1024];

    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'%s'},'spec':{'capacity':{'storage':'1Gi'},'accessModes':["
                   "'ReadWriteOnce'],'csi':{'driver':'x.csi','volumeHandle':'%s'},"
                   "'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions':[{"
                   "'key':'x.csi/node','operator':'In','values':[%s]}]}]}}}}",
                   name, name, values);
    ASSERT_SENT(w, 201, "POST", VOLUMES, body);
}

/* Claims of this node, of the other, and of none; volumes of both; the user is that of the node from here on.
 */
static void begin(struct served *w, struct uids *ret)
{
    char ignored[64];

    served_make(w, false, 0, 0);
    served_settle(w);
    w->peer = &admin;
    ASSERT_SENT(w, 201, "POST", CLASSES,
                "{'metadata':{'name':'now'},'provisioner':'x.csi','volumeBindingMode':'Immediate'}");
    ASSERT_SENT(
        w, 201, "POST", CLASSES,
        "{'metadata':{'name':'later'},'provisioner':'x.csi','volumeBindingMode':'WaitForFirstConsumer'}");
    put_claim(w, "mine", "later", ",'volume.kubernetes.io/selected-node':'a'", ret->mine);
    put_claim(w, "other", "later", ",'volume.kubernetes.io/selected-node':'b'", ret->other);
    put_claim(w, "free", "now", "", ret->free);
    put_claim(w, "waits", "later", "", ignored);
    put_volume(w, "va", "'a'");
    put_volume(w, "vb", "'b'");
    put_volume(w, "vab", "'a','b'");
    w->peer = &node_a;
}

static void assert_refused(struct served *w, const char *what, const char *why, const char *method,
                           const char *target, const char *body)
{
    char message[512];

    (void)snprintf(message, sizeof message, "%s is forbidden: " WHO "%s", what, why);
    ASSERT_REFUSED(w, 403, "Forbidden", message, method, target, body);
}

/* --- Volumes --- */

#define OF_OTHERS "can only write volumes whose node affinity names its node"
#define TERM(op, values) \
    "{'matchExpressions':[{'key':'x.csi/node','operator':'" op "','values':[" values "]}]}"

static const char *new_volume(const char *terms, const char *claim, const char *uid, const char *more)
{
    static char body[2048];

    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'x'},'spec':{'capacity':{'storage':'1Gi'},'accessModes':["
                   "'ReadWriteOnce'],'claimRef':{'namespace':'default','name':'%s','uid':'%s'},%s,"
                   "'nodeAffinity':{'required':{'nodeSelectorTerms':[%s]}}}}",
                   claim, uid, more, terms);
    return body;
}

/* csi-18: a volume for a claim of another node, or on another node, is not created. */
TEST(csi_node_creates_volumes_of_its_node)
{
    static const char csi[] = "'csi':{'driver':'x.csi','volumeHandle':'h'}",
                      name[] = "persistentvolumes \"x\"";
    static const char not_selected[] = "can only create volumes for claims whose selected node is its node";
    _cleanup_(served_done) struct served w;
    struct uids uids;

    begin(&w, &uids);
    assert_refused(&w, name, OF_OTHERS, "POST", VOLUMES,
                   new_volume(TERM("In", "'b'"), "mine", uids.mine, csi));
    assert_refused(&w, name, OF_OTHERS, "POST", VOLUMES,
                   new_volume(TERM("In", "'a','b'"), "mine", uids.mine, csi));
    assert_refused(&w, name, OF_OTHERS, "POST", VOLUMES,
                   new_volume(TERM("NotIn", "'a'"), "mine", uids.mine, csi));
    assert_refused(&w, name, OF_OTHERS, "POST", VOLUMES,
                   new_volume(TERM("In", "'a'") "," TERM("In", "'b'"), "mine", uids.mine, csi));
    assert_refused(&w, name, OF_OTHERS, "POST", VOLUMES, new_volume("", "mine", uids.mine, csi));
    assert_refused(&w, name, not_selected, "POST", VOLUMES,
                   new_volume(TERM("In", "'a'"), "other", uids.other, csi));
    assert_refused(&w, name, not_selected, "POST", VOLUMES,
                   new_volume(TERM("In", "'a'"), "free", uids.free, csi));
    assert_refused(&w, name, not_selected, "POST", VOLUMES, new_volume(TERM("In", "'a'"), "mine", "", csi));
    assert_refused(&w, name, "can only write volumes with a csi source", "POST", VOLUMES,
                   new_volume(TERM("In", "'a'"), "mine", uids.mine, "'hostPath':{'path':'/'}"));
    assert_refused(
        &w, name, "cannot set the reclaim policy Recycle", "POST", VOLUMES,
        new_volume(TERM("In", "'a'"), "mine", uids.mine,
                   "'persistentVolumeReclaimPolicy':'Recycle','csi':{'driver':'x','volumeHandle':'h'}"));
    ASSERT_SENT(&w, 201, "POST", VOLUMES, new_volume(TERM("In", "'a'"), "mine", uids.mine, csi));
    ASSERT_SENT(&w, 200, "MERGE", VOLUMES "/x", "{'metadata':{'finalizers':null}}");
    ASSERT_SENT(&w, 200, "DELETE", VOLUMES "/x", NULL);
    /* The claim is gone meanwhile: what was begun is completed. */
    ASSERT_SENT(&w, 201, "POST", VOLUMES, new_volume(TERM("In", "'a'"), "gone", "1", csi));
}

/* csi-18: volumes of other nodes are not changed and not deleted. */
TEST(csi_node_changes_volumes_of_its_node)
{
    _cleanup_(served_done) struct served w;
    struct uids uids;

    begin(&w, &uids);
    assert_refused(&w, "persistentvolumes \"vb\"", OF_OTHERS, "MERGE", VOLUMES "/vb",
                   "{'metadata':{'finalizers':null}}");
    assert_refused(&w, "persistentvolumes \"vb\"", OF_OTHERS, "DELETE", VOLUMES "/vb", NULL);
    assert_refused(&w, "persistentvolumes \"vab\"", OF_OTHERS, "DELETE", VOLUMES "/vab", NULL);
    assert_refused(&w, "persistentvolumes \"va\"", "cannot change the claim of a volume", "MERGE",
                   VOLUMES "/va", "{'spec':{'claimRef':{'namespace':'default','name':'other','uid':'1'}}}");
    ASSERT_SENT(&w, 200, "MERGE", VOLUMES "/va", "{'metadata':{'finalizers':null}}");
    ASSERT_SENT(&w, 200, "DELETE", VOLUMES "/va", NULL);
    ASSERT_SENT(&w, 403, "MERGE", VOLUMES "/vb/status", "{'status':{'message':'x'}}");
}

/* --- Claims --- */

#define SELECT(node) "{'metadata':{'annotations':{'volume.kubernetes.io/selected-node':" node "}}}"

/* csi-18: of a claim, only the selected node is written: its own name, and not before the scheduler. */
TEST(csi_node_selects_itself)
{
    _cleanup_(served_done) struct served w;
    struct uids uids;

    begin(&w, &uids);
    assert_refused(&w, "persistentvolumeclaims \"other\"",
                   "can only write claims whose selected node is its node", "MERGE", CLAIMS "/other",
                   SELECT("'a'"));
    assert_refused(&w, "persistentvolumeclaims \"free\"", "can only select its own node", "MERGE",
                   CLAIMS "/free", SELECT("'b'"));
    assert_refused(&w, "persistentvolumeclaims \"waits\"",
                   "cannot select a node for a claim that waits for its first consumer", "MERGE",
                   CLAIMS "/waits", SELECT("'a'"));
    assert_refused(&w, "persistentvolumeclaims \"mine\"", "can only change the selected node of a claim",
                   "MERGE", CLAIMS "/mine", "{'metadata':{'labels':{'a':'b'}}}");
    assert_refused(&w, "persistentvolumeclaims \"mine\"", "can only change the selected node of a claim",
                   "MERGE", CLAIMS "/mine", "{'metadata':{'annotations':{'other':'x'}}}");
    assert_refused(&w, "persistentvolumeclaims \"mine\"", "can only change the selected node of a claim",
                   "MERGE", CLAIMS "/mine", "{'metadata':{'annotations':{'" PROVISIONER "':null}}}");
    assert_refused(&w, "persistentvolumeclaims \"mine\"", "can only change the selected node of a claim",
                   "MERGE", CLAIMS "/mine", "{'spec':{'volumeName':'va'}}");
    assert_refused(&w, "persistentvolumeclaims \"mine\"", "can only change the selected node of a claim",
                   "MERGE", CLAIMS "/mine", "{'metadata':{'finalizers':null}}");
    ASSERT_SENT(&w, 200, "MERGE", CLAIMS "/mine", SELECT("null"));
    ASSERT_SENT(&w, 200, "MERGE", CLAIMS "/free", SELECT("'a'"));
    ASSERT_SENT(&w, 403, "DELETE", CLAIMS "/mine", NULL);
}

/* --- Capacity and records --- */

#define CAPACITY(name, manager, zone)                                                                  \
    "{'metadata':{'name':'" name "','labels':{'csi.storage.k8s.io/managed-by':'" manager               \
    "'}},'storageClassName':'now','capacity':'1Gi','nodeTopology':{'matchLabels':{'x.csi/node':'" zone \
    "'}}}"

TEST(csi_node_publishes_its_capacity)
{
    static const char why[] = "can only write capacity objects of its node";
    _cleanup_(served_done) struct served w;
    struct uids uids;

    begin(&w, &uids);
    w.peer = &admin;
    ASSERT_SENT(&w, 201, "POST", CAPACITIES, CAPACITY("kb", "external-provisioner-b", "b"));
    w.peer = &node_a;
    ASSERT_SENT(&w, 201, "POST", CAPACITIES, CAPACITY("ka", "external-provisioner-a", "a"));
    ASSERT_SENT(&w, 200, "MERGE", CAPACITIES "/ka", "{'capacity':'2Gi'}");
    assert_refused(&w, "csistoragecapacities.storage.k8s.io \"x\"", why, "POST", CAPACITIES,
                   CAPACITY("x", "external-provisioner-b", "a"));
    assert_refused(&w, "csistoragecapacities.storage.k8s.io \"x\"", why, "POST", CAPACITIES,
                   CAPACITY("x", "external-provisioner-a", "b"));
    assert_refused(&w, "csistoragecapacities.storage.k8s.io \"kb\"", why, "MERGE", CAPACITIES "/kb",
                   "{'capacity':'2Gi'}");
    assert_refused(&w, "csistoragecapacities.storage.k8s.io \"kb\"", why, "DELETE", CAPACITIES "/kb", NULL);
    assert_refused(&w, "csistoragecapacities.storage.k8s.io \"ka\"", why, "MERGE", CAPACITIES "/ka",
                   "{'metadata':{'labels':null}}");
    ASSERT_SENT(&w, 200, "DELETE", CAPACITIES "/ka", NULL);
}

#define RECORD(name, node) "{'metadata':{'name':'" name "','annotations':{'csi.berth.io/node':'" node "'}}}"

TEST(csi_node_keeps_its_record)
{
    static const char why[] = "can only write the records of calls of its node";
    _cleanup_(served_done) struct served w;
    struct uids uids;

    begin(&w, &uids);
    w.peer = &admin;
    ASSERT_SENT(&w, 201, "POST", RECORDS, RECORD("berth-csi-y.csi-b-a", "b-a"));
    w.peer = &node_a;
    ASSERT_SENT(&w, 201, "POST", RECORDS, RECORD("berth-csi-x.csi-a", "a"));
    ASSERT_SENT(&w, 200, "MERGE", RECORDS "/berth-csi-x.csi-a", "{'data':{'k':'v'}}");
    assert_refused(&w, "configmaps \"berth-csi-x.csi-b\"", why, "POST", RECORDS,
                   RECORD("berth-csi-x.csi-b", "a"));
    assert_refused(&w, "configmaps \"berth-csi-z.csi-a\"", why, "POST", RECORDS,
                   RECORD("berth-csi-z.csi-a", "b"));
    assert_refused(&w, "configmaps \"settings-a\"", why, "POST", RECORDS, RECORD("settings-a", "a"));
    /* The record of node "b-a" has a name that ends like one of node "a". */
    assert_refused(&w, "configmaps \"berth-csi-y.csi-b-a\"", why, "MERGE", RECORDS "/berth-csi-y.csi-b-a",
                   "{'data':{'k':'v'}}");
    ASSERT_SENT(&w, 403, "GET", RECORDS "/berth-csi-x.csi-b", NULL);
    ASSERT_SENT(&w, 403, "GET", "/api/v1/namespaces/default/secrets/s", NULL);
}

/* An administrator who also has this name is not restricted. */
TEST(csi_node_of_an_administrator_is_not_restricted)
{
    const struct peer both = { "berth:csi-node:a",
                               (const char *const[]){ "berth:csi-nodes", "system:masters", NULL } };
    _cleanup_(served_done) struct served w;
    struct uids uids;

    begin(&w, &uids);
    w.peer = &both;
    ASSERT_SENT(&w, 200, "DELETE", VOLUMES "/vb", NULL);
}

TEST_MAIN()
