/* Claims that are stuck, one situation a test: the true cause comes first. */
#include "tests/unit/test_why.h"

#define CLASS(name) ",'storageClassName':'" name "'"
#define WAITS ",'volumeBindingMode':'WaitForFirstConsumer'"
#define EXTERNAL "disks.example.com"

/* The world as it is at rest, with the binder at work in it. */
static void open_world(struct world *w)
{
    world_init(w);
    world_start(w);
}

static void ask(struct world *w, const char *claim)
{
    world_settle(w);
    ask_about(w, KIND_CLAIM, "default", claim, false);
}

static void close_world(struct world *w)
{
    said_clear();
    world_done(w);
}

/* An event as somebody else writes it. */
static void tell(struct world *w, const char *claim, const char *component, const char *type,
                 const char *reason, const char *message)
{
    static unsigned serial;
    char body[2048], uid[64];

    look_at_claim(w, claim);
    uid_of_last(w, uid);
    (void)snprintf(body, sizeof body,
                   "{'apiVersion':'v1','kind':'Event','metadata':{'name':'e%u'},'involvedObject':{'kind':"
                   "'PersistentVolumeClaim','namespace':'default','name':'%s','uid':'%s'},'type':'%s',"
                   "'reason':'%s','message':'%s','source':{'component':'%s'},'count':3,"
                   "'lastTimestamp':'2023-11-14T22:13:19Z'}",
                   ++serial, claim, uid, type, reason, message, component);
    ASSERT_SENT(&w->served, 201, "POST", EVENTS, body);
}

/* --- Nothing fits --- */

TEST(stuck_too_small)
{
    struct world w;

    open_world(&w);
    add_volume(&w, "pv-5", "5Gi", RWO, "");
    add_volume(&w, "pv-2", "2Gi", RWO, "");
    add_claim(&w, "c", "8Gi", RWO, "");
    ask(&w, "c");
    ASSERT_SAID("too-small", "no volume fits; the closest is pv-5: 5Gi < 8Gi asked");
    ASSERT_TEXT("pvc default/c: Pending, because no volume fits; the closest is pv-5: 5Gi < 8Gi asked\n");
    ASSERT_TEXT("  pv-2: 2Gi < 8Gi asked\n");
    ASSERT_TEXT("Create a volume of at least 8Gi with access modes RWO and no class.");
    ASSERT_TEXT("Normal FailedBinding: " NO_VOLUMES);
    close_world(&w);
}

/* To ask for less would not help: the rest refuses it too. */
TEST(stuck_by_several_rules_gets_no_advice_on_one)
{
    struct world w;

    open_world(&w);
    add_volume(&w, "pv-5", "5Gi", RWO, CLASS("slow"));
    add_claim(&w, "c", "8Gi", RWO, "");
    ask(&w, "c");
    ASSERT_TEXT("the closest is pv-5: 5Gi < 8Gi asked, volume has class slow, claim has none");
    ASSERT_NO_TEXT("Request less");
    ASSERT_TEXT("Create a volume of at least 8Gi with access modes RWO and no class.");
    ASSERT_NO_TEXT("berth get sc"); /* there is none to see */
    ASSERT_TEXT("Or create a StorageClass whose provisioner runs");
    close_world(&w);
}

TEST(stuck_class_differs)
{
    struct world w;

    open_world(&w);
    make_class(&w, "standard", PROVISIONER_NONE, "");
    add_volume(&w, "pv-9", "8Gi", RWO, CLASS("fast"));
    add_volume(&w, "pv-1", "1Gi", RWO, CLASS("standard"));
    add_claim(&w, "c", "8Gi", RWO, CLASS("standard"));
    ask(&w, "c");
    ASSERT_SAID("too-small", "no volume fits; the closest is pv-1: 1Gi < 8Gi asked");
    ASSERT_TEXT("pv-9: volume has class fast, claim has standard\n");
    patch_volume(&w, "pv-1", "", "{'spec':{'storageClassName':'slow'}}");
    ask(&w, "c");
    ASSERT_SAID("no-volumes", "no volume of class \"standard\" exists, and the class provisions none");
    ASSERT_TEXT("no volume fits; the closest is pv-9: volume has class fast, claim has standard\n");
    ASSERT_TEXT("request its class: storageClassName: fast");
    close_world(&w);
}

TEST(stuck_no_class_and_no_default)
{
    struct world w;

    open_world(&w);
    make_class(&w, "other", EXTERNAL, "");
    add_claim(&w, "c", "1Gi", RWO, "");
    ask(&w, "c");
    ASSERT_SAID("no-class-set",
                "no volume fits, it requests no storage class, and there is no default class");
    ASSERT_TEXT("no PersistentVolume exists");
    ASSERT_TEXT("berth get sc");
    close_world(&w);
}

TEST(stuck_empty_class_takes_only_classless_volumes)
{
    struct world w;

    open_world(&w);
    make_default_class(&w, "standard", EXTERNAL);
    add_volume(&w, "pv", "1Gi", RWO, CLASS("standard"));
    add_claim(&w, "c", "1Gi", RWO, ",'storageClassName':''");
    ask(&w, "c");
    ASSERT_SAID("class", "no volume fits; the closest is pv: volume has class standard, claim has none");
    ASSERT_TEXT("storageClassName is \"\": nothing is provisioned for it");
    close_world(&w);
}

TEST(stuck_class_does_not_exist)
{
    struct world w;

    open_world(&w);
    add_volume(&w, "pv", "1Gi", RWO, "");
    add_claim(&w, "c", "8Gi", RWO, CLASS("fast"));
    ask(&w, "c");
    ASSERT_SAID("no-class", "StorageClass \"fast\" does not exist");
    ASSERT_TEXT("storageclass.storage.k8s.io \"fast\" not found");
    ASSERT_NO_TEXT("no volume fits");
    close_world(&w);
}

/* For one second; with the binder at hand, and without. */
TEST(stuck_class_may_be_on_its_way)
{
    struct world w;

    open_world(&w);
    world_settle(&w);
    ASSERT_SENT(&w.served, 201, "POST", NODES,
                "{'apiVersion':'v1','kind':'Node','metadata':{'name':'n1','labels':{'zone':'a'}}}");
    add_volume(&w, "pv", "1Gi", RWO,
               CLASS("fast") ",'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':"
                             "'zone','operator':'Exists'}]}]}}");
    add_claim(&w, "c", "1Gi", RWO, CLASS("fast"));
    world_rest(&w);
    ask_about(&w, KIND_CLAIM, "default", "c", false);
    ASSERT_SAID("awaits-class",
                "StorageClass \"fast\" does not exist yet, and the binder waits briefly for it");
    ASSERT_TEXT("  pv: has node affinity, and class fast does not exist yet\n");
    ASSERT_TEXT("one second after the binder first observed it");
    ask_about(&w, KIND_VOLUME, "", "pv", false);
    ASSERT_SAID("awaits-class", "the only waiting claim, default/c, cannot use it: has node affinity, and "
                                "class fast does not exist yet");
    ask(&w, "c");
    ASSERT_TEXT("Bound to pv");
    close_world(&w);
}

TEST(stuck_class_makes_no_volumes)
{
    struct world w;

    open_world(&w);
    make_class(&w, "manual", PROVISIONER_NONE, "");
    add_claim(&w, "c", "8Gi", RWO, CLASS("manual"));
    ask(&w, "c");
    ASSERT_SAID("no-volumes", "no volume of class \"manual\" exists, and the class provisions none");
    ASSERT_TEXT("Create a volume of at least 8Gi with access modes RWO and storageClassName manual.");
    close_world(&w);
}

TEST(stuck_nobody_has_the_provisioner)
{
    struct world w;

    open_world(&w);
    make_class(&w, "old", "kubernetes.io/nothing", "");
    add_claim(&w, "c", "8Gi", RWO, CLASS("old"));
    ask(&w, "c");
    ASSERT_SAID("no-provisioner", "class \"old\" names an unknown provisioner, 'kubernetes.io/nothing'");
    close_world(&w);
}

TEST(stuck_access_modes)
{
    struct world w;

    open_world(&w);
    add_volume(&w, "pv", "8Gi", RWO, "");
    add_claim(&w, "c", "8Gi", "'ReadWriteMany','ReadOnlyMany'", "");
    ask(&w, "c");
    ASSERT_SAID("access-modes", "no volume fits; the closest is pv: ReadWriteOnce only, "
                                "ReadOnlyMany+ReadWriteMany asked");
    close_world(&w);
}

TEST(stuck_volume_mode)
{
    struct world w;

    open_world(&w);
    add_volume(&w, "pv", "8Gi", RWO, ",'volumeMode':'Block'");
    add_claim(&w, "c", "8Gi", RWO, "");
    ask(&w, "c");
    ASSERT_SAID("volume-mode", "no volume fits; the closest is pv: Block, Filesystem asked");
    close_world(&w);
}

TEST(stuck_selector)
{
    struct world w;

    open_world(&w);
    make_volume(&w, "pv", ",'labels':{'tier':'silver','zone':'a'}", HOST_PATH, "");
    add_claim(&w, "c", "1Gi", RWO, ",'selector':{'matchLabels':{'tier':'gold','zone':'a'}}");
    ask(&w, "c");
    ASSERT_SAID("selector", "no volume fits; the closest is pv: labels do not match tier=gold");
    close_world(&w);
}

TEST(stuck_data_source_and_only_free_volumes)
{
    struct world w;

    open_world(&w);
    add_volume(&w, "pv", "1Gi", RWO, "");
    add_claim(&w, "c", "1Gi", RWO, ",'dataSource':{'kind':'PersistentVolumeClaim','name':'old'}");
    ask(&w, "c");
    ASSERT_SAID("data-source",
                "no volume fits; the closest is pv: does not name the claim, which has data source "
                "PersistentVolumeClaim old");
    ASSERT_TEXT("it can use an existing volume only if one of them names the other\n");
    ASSERT_TEXT("berth patch pvc c -n default --type=merge -p '{\"spec\":{\"volumeName\":\"pv\"}}'");
    ASSERT_TEXT("which holds the data and has a claimRef to the claim.");
    ASSERT_TEXT("it is bound as soon as a volume fits whose claimRef names it\n");
    close_world(&w);
}

TEST(stuck_data_source_that_the_provisioner_refuses)
{
    struct world w;

    open_world(&w);
    make_class(&w, "disks", EXTERNAL, "");
    add_claim(&w, "c", "1Gi", RWO,
              CLASS("disks") ",'dataSource':{'kind':'PersistentVolumeClaim','name':'old'}");
    world_settle(&w);
    tell(&w, "c", EXTERNAL "_pod-0_1234", "Warning", "ProvisioningFailed", "Only CSI plugin can");
    ask(&w, "c");
    ASSERT_SAID("provisioning-failed", "provisioner '" EXTERNAL "' fails: Only CSI plugin can");
    ASSERT_TEXT("Use a class whose CSI driver can copy volumes, or remove spec.dataSource.");
    close_world(&w);
}

/* Of a server that let it in. */
TEST(stuck_selector_cannot_be_evaluated)
{
    struct world w;

    open_world(&w);
    add_volume(&w, "pv", "1Gi", RWO, "");
    plant(
        &w, KIND_CLAIM,
        "'name':'c','namespace':'default','uid':'u','creationTimestamp':'2020-01-01T00:00:00Z','finalizers':"
        "['" FINALIZER_CLAIM_PROTECTION "']},'apiVersion':'v1','kind':'PersistentVolumeClaim','spec':{"
        "'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'1Gi'}},'selector':{"
        "'matchExpressions':[{'key':'a','operator':'Odd'}]}},'status':{'phase':'Pending'}}");
    ask(&w, "c");
    ASSERT_SAID("bad-selector",
                "error finding PV for claim \"default/c\": error creating internal label selector for claim: "
                "default/c: \"Odd\" is not a valid label selector operator");
    ASSERT_TEXT("  pv: the selector cannot be evaluated: ");
    close_world(&w);
}

TEST(stuck_class_does_not_say_when_it_binds)
{
    struct world w;

    open_world(&w);
    plant(&w, KIND_CLASS,
          "'name':'old','uid':'u-old','creationTimestamp':'2020-01-01T00:00:00Z'},'apiVersion':"
          "'storage.k8s.io/v1','kind':'StorageClass','provisioner':'" PROVISIONER_NONE "'}");
    add_claim(&w, "c", "1Gi", RWO, CLASS("old"));
    ask(&w, "c");
    ASSERT_SAID("bad-class", "VolumeBindingMode not set for StorageClass \"old\"");
    close_world(&w);
}

TEST(stuck_attributes_class)
{
    struct world w;

    open_world(&w);
    add_volume(&w, "pv", "1Gi", RWO, "");
    add_claim(&w, "c", "1Gi", RWO, ",'volumeAttributesClassName':'gold'");
    ask(&w, "c");
    ASSERT_SAID("attributes-class",
                "no volume fits; the closest is pv: volume has no attributes class, claim has gold");
    close_world(&w);
}

TEST(stuck_taken_by_another)
{
    struct world w;

    open_world(&w);
    add_volume(&w, "pv", "1Gi", RWO, "");
    add_claim(&w, "first", "1Gi", RWO, "");
    world_settle(&w);
    add_claim(&w, "second", "1Gi", RWO, "");
    ask(&w, "second");
    ASSERT_SAID("taken", "no volume fits; the closest is pv: bound to default/first");
    close_world(&w);
}

TEST(stuck_two_claims_for_one_volume_of_a_class)
{
    struct world w;

    open_world(&w);
    make_class(&w, "manual", PROVISIONER_NONE, "");
    add_volume(&w, "pv", "1Gi", RWO, CLASS("manual"));
    add_claim(&w, "first", "1Gi", RWO, CLASS("manual"));
    world_settle(&w);
    add_claim(&w, "second", "1Gi", RWO, CLASS("manual"));
    ask(&w, "second");
    ASSERT_SAID("taken", "no volume fits; the closest is pv: bound to default/first");
    close_world(&w);
}

TEST(stuck_kept_for_another)
{
    struct world w;

    open_world(&w);
    add_volume(&w, "pv", "1Gi", RWO, ref_to("someone", ""));
    add_claim(&w, "c", "1Gi", RWO, "");
    ask(&w, "c");
    ASSERT_SAID("kept", "no volume fits; the closest is pv: reserved for default/someone");
    ASSERT_TEXT("If pv is no longer meant for default/someone");
    close_world(&w);
}

TEST(stuck_released_volume_would_fit)
{
    struct world w;

    open_world(&w);
    add_volume(&w, "pv", "1Gi", RWO, ",'persistentVolumeReclaimPolicy':'Retain'");
    add_claim(&w, "former", "1Gi", RWO, "");
    world_settle(&w);
    drop_claim(&w, "former");
    world_settle(&w);
    add_claim(&w, "c", "1Gi", RWO, "");
    ask(&w, "c");
    ASSERT_SAID(
        "released",
        "no volume fits; the closest is pv: Released: still has the data of its former claim default/former");
    ASSERT_TEXT("berth patch pv pv --type=merge -p '{\"spec\":{\"claimRef\":null}}'");
    close_world(&w);
}

TEST(stuck_failed_volume)
{
    struct world w;

    open_world(&w);
    add_volume(&w, "pv", "1Gi", RWO, ref_to("former", "11111111-1111-1111-1111-111111111111"));
    world_settle(&w);
    patch_volume(&w, "pv", "status", "{'status':{'phase':'Failed','message':'no luck'}}");
    add_claim(&w, "c", "1Gi", RWO, "");
    ask(&w, "c");
    ASSERT_SAID("failed",
                "no volume fits; the closest is pv: Failed: cannot reclaim it from default/former: no luck");
    close_world(&w);
}

TEST(stuck_volume_is_being_deleted)
{
    struct world w;

    open_world(&w);
    make_volume(&w, "pv", ",'finalizers':['example.com/hold']", HOST_PATH, "");
    world_settle(&w);
    ASSERT_SENT(&w.served, 200, "DELETE", VOLUMES "/pv", NULL);
    add_claim(&w, "c", "1Gi", RWO, "");
    ask(&w, "c");
    ASSERT_SAID("deleting", "no volume fits; the closest is pv: is being deleted");
    close_world(&w);
}

TEST(stuck_kept_volume_of_another_mode)
{
    struct world w;

    open_world(&w);
    add_volume(&w, "mine", "1Gi", RWO, ref_to("c", ""));
    patch_volume(&w, "mine", "", "{'spec':{'capacity':{'storage':'1Gi'}}}");
    add_claim(&w, "c", "2Gi", RWO, "");
    ask(&w, "c");
    ASSERT_SAID("too-small", "volume mine is reserved for it, but does not fit: 1Gi < 2Gi asked");
    close_world(&w);
}

TEST(stuck_several_things_wrong)
{
    struct world w;

    open_world(&w);
    make_class(&w, "manual", PROVISIONER_NONE, "");
    add_volume(&w, "pv", "1Gi", RWO, CLASS("manual"));
    add_claim(&w, "c", "2Gi", "'ReadWriteMany'", CLASS("manual"));
    ask(&w, "c");
    ASSERT_SAID(
        "no-match",
        "no volume fits; the closest is pv: 1Gi < 2Gi asked, ReadWriteOnce only, ReadWriteMany asked");
    close_world(&w);
}

/* --- It names a volume --- */

TEST(stuck_named_volume_missing)
{
    struct world w;

    open_world(&w);
    add_claim(&w, "c", "1Gi", RWO, ",'volumeName':'pv-x'");
    ask(&w, "c");
    ASSERT_SAID("named-missing", "it names volume pv-x, which does not exist");
    close_world(&w);
}

TEST(stuck_named_volume_taken)
{
    struct world w;

    open_world(&w);
    add_volume(&w, "pv", "1Gi", RWO, "");
    add_claim(&w, "first", "1Gi", RWO, "");
    world_settle(&w);
    add_claim(&w, "c", "1Gi", RWO, ",'volumeName':'pv'");
    ask(&w, "c");
    ASSERT_SAID("taken", "it names volume pv, which belongs to another claim: bound to default/first");
    close_world(&w);
}

TEST(stuck_named_volume_is_released)
{
    struct world w;

    open_world(&w);
    add_volume(&w, "pv", "1Gi", RWO, ",'persistentVolumeReclaimPolicy':'Retain'");
    add_claim(&w, "former", "1Gi", RWO, "");
    world_settle(&w);
    drop_claim(&w, "former");
    add_claim(&w, "c", "1Gi", RWO, ",'volumeName':'pv'");
    ask(&w, "c");
    ASSERT_SAID("released", "it names volume pv, which belongs to another claim: Released: still has the "
                            "data of its former claim "
                            "default/former");
    close_world(&w);
}

TEST(stuck_named_volume_too_small)
{
    struct world w;

    open_world(&w);
    add_volume(&w, "pv", "1Gi", RWO, "");
    add_claim(&w, "c", "2Gi", RWO, ",'volumeName':'pv'");
    ask(&w, "c");
    ASSERT_SAID("too-small", "it names volume pv, which does not fit: 1Gi < 2Gi asked");
    ASSERT_TEXT("requested PV is too small");
    close_world(&w);
}

TEST(stuck_named_volume_of_another_class)
{
    struct world w;

    open_world(&w);
    add_volume(&w, "pv", "2Gi", RWO, CLASS("fast"));
    add_claim(&w, "c", "2Gi", RWO, ",'volumeName':'pv'" CLASS("slow"));
    ask(&w, "c");
    ASSERT_SAID("class", "it names volume pv, which does not fit: volume has class fast, claim has slow");
    close_world(&w);
}

TEST(stuck_named_volume_is_being_deleted)
{
    struct world w;

    open_world(&w);
    make_volume(&w, "pv", ",'finalizers':['example.com/hold']", HOST_PATH, "");
    ASSERT_SENT(&w.served, 200, "DELETE", VOLUMES "/pv", NULL);
    add_claim(&w, "c", "1Gi", RWO, ",'volumeName':'pv'");
    ask(&w, "c");
    ASSERT_SAID("deleting", "it names volume pv, which does not fit: is being deleted");
    close_world(&w);
}

/* --- It waits for a pod --- */

TEST(stuck_waits_for_a_first_consumer)
{
    struct world w;

    open_world(&w);
    make_class(&w, "local", PROVISIONER_NONE, WAITS);
    add_volume(&w, "pv", "1Gi", RWO, CLASS("local"));
    add_volume(&w, "small", "1Mi", RWO, CLASS("local"));
    add_claim(&w, "c", "1Gi", RWO, CLASS("local"));
    ask(&w, "c");
    ASSERT_SAID("waits-for-consumer", "its class \"local\" waits for a pod that uses it, and no pod does");
    ASSERT_TEXT("  pv: free, but its class waits for a pod that uses the claim\n");
    ASSERT_TEXT("  small: 1Mi < 1Gi asked\n");
    close_world(&w);
}

TEST(stuck_waits_for_pods_to_be_scheduled)
{
    struct world w;

    open_world(&w);
    make_class(&w, "local", PROVISIONER_NONE, WAITS);
    add_claim(&w, "c", "1Gi", RWO, CLASS("local"));
    make_pod(&w, "web-0", "c", "");
    make_pod(&w, "web-1", "c", "");
    ask(&w, "c");
    ASSERT_SAID("waits-for-scheduling", "it waits for pods web-0, web-1 to be scheduled");
    ASSERT_TEXT("berth why pod/web-0 -n default");
    close_world(&w);
}

#define ON_NODE(name)                                                                                 \
    ",'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'host','operator'" \
    ":'In','values':['" name "']}]}]}}"

static void make_node(struct world *w, const char *name, const char *disk)
{
    char body[1024];

    (void)snprintf(
        body, sizeof body,
        "{'apiVersion':'v1','kind':'Node','metadata':{'name':'%s','labels':{'host':'%s','disk':'%s'}},"
        "'status':{'allocatable':{'cpu':'4','memory':'8Gi','pods':'110'},'conditions':[{'type':"
        "'Ready','status':'True'}]}}",
        name, name, disk);
    ASSERT_SENT(&w->served, 201, "POST", NODES, body);
}

static void make_picky_pod(struct world *w, const char *name, const char *claim, const char *disk)
{
    char body[1024];

    (void)snprintf(
        body, sizeof body,
        "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'%s'},'spec':{'nodeSelector':{'disk':'%s'}"
        ",'containers':[{'name':'c','image':'i:1'}],'volumes':[{'name':'v',"
        "'persistentVolumeClaim':{'claimName':'%s'}}]}}",
        name, disk, claim);
    ASSERT_SENT(&w->served, 201, "POST", PODS, body);
}

static void make_two_nodes(struct world *w)
{
    open_world(w);
    make_class(w, "local", PROVISIONER_NONE, WAITS);
    make_node(w, "n1", "ssd");
    make_node(w, "n2", "hdd");
    add_volume(w, "pv-4", "1Gi", RWO, CLASS("local") ON_NODE("n2"));
    add_volume(w, "pv-5", "1Mi", RWO, CLASS("local") ON_NODE("n1"));
    add_claim(w, "c", "1Gi", RWO, CLASS("local"));
}

TEST(stuck_volume_is_where_the_pod_may_not_go)
{
    struct world w;

    make_two_nodes(&w);
    make_picky_pod(&w, "web-0", "c", "ssd");
    ask(&w, "c");
    ASSERT_SAID(
        "node-affinity",
        "no available volume can be used on a node where the pod can run; the closest is pv-4: node n2 is "
        "excluded by the pod's nodeSelector or node affinity");
    ASSERT_TEXT("  pv-4: node n2 is excluded by the pod's nodeSelector or node affinity\n");
    ASSERT_TEXT("  pv-5: 1Mi < 1Gi asked\n");
    ASSERT_TEXT("  it waits for pod web-0 to be scheduled\n");
    ASSERT_TEXT("  scheduler message for pod web-0: 0/2 nodes are available: ");
    ASSERT_TEXT("berth why pod/web-0 -n default");
    close_world(&w);
}

/* The volume would do: it is the pod that has no node, for a reason of its own. */
TEST(stuck_pod_has_no_node)
{
    struct world w;

    make_two_nodes(&w);
    make_picky_pod(&w, "web-0", "c", "hdd");
    ASSERT_SENT(&w.served, 200, "MERGE", NODES "/n2", "{'spec':{'unschedulable':true}}");
    ask(&w, "c");
    ASSERT_SAID(
        "unschedulable",
        "no available volume can be used on a node where the pod can run; the closest is pv-4: node n2 is "
        "closed to new pods (cordoned)");
    close_world(&w);
}

TEST(stuck_pod_is_about_to_have_its_node)
{
    struct world w;

    make_two_nodes(&w);
    make_picky_pod(&w, "web-0", "c", "hdd");
    ask(&w, "c");
    ASSERT_SAID("waits-for-scheduling", "it waits for pod web-0 to be scheduled");
    ASSERT_TEXT("  volume pv-4 is suitable\n");
    ASSERT_TEXT("  pv-4: fits, from node n2\n");
    close_world(&w);
}

TEST(stuck_pod_was_put_on_a_node_by_hand)
{
    struct world w;

    open_world(&w);
    make_class(&w, "local", PROVISIONER_NONE, WAITS);
    add_claim(&w, "c", "1Gi", RWO, CLASS("local"));
    make_pod(&w, "web-0", "c", "n1");
    ask(&w, "c");
    ASSERT_SAID(
        "pod-not-scheduled",
        "pod web-0 was assigned to node n1 without the scheduler, which chooses the volumes of this class");
    close_world(&w);
}

TEST(stuck_selected_node_is_gone)
{
    struct world w;

    open_world(&w);
    make_class(&w, "disks", EXTERNAL, WAITS);
    make_claim(&w, "c", annotated(ANN_SELECTED_NODE, "n9"), CLASS("disks"));
    ask(&w, "c");
    ASSERT_SAID("node-gone", "its volume is to be provisioned for node n9, which does not exist");
    ASSERT_TEXT("\"" ANN_SELECTED_NODE "\":null");
    close_world(&w);
}

/* --- Provisioning --- */

TEST(stuck_external_provisioner_is_silent)
{
    struct world w;

    open_world(&w);
    make_class(&w, "disks", EXTERNAL, "");
    add_claim(&w, "c", "1Gi", RWO, CLASS("disks"));
    ask(&w, "c");
    ASSERT_SAID("provisioner-silent",
                "provisioner '" EXTERNAL "' has not responded to the request for a volume");
    ASSERT_TEXT("CSIDriver '" EXTERNAL "' does not exist");
    ASSERT_TEXT("berth events --for pvc/c -n default");
    close_world(&w);
}

TEST(stuck_external_provisioner_fails)
{
    struct world w;

    open_world(&w);
    make_class(&w, "disks", EXTERNAL, "");
    add_claim(&w, "c", "1Gi", RWO, CLASS("disks"));
    world_settle(&w);
    tell(&w, "c", EXTERNAL "_pod-0_1234", "Warning", "ProvisioningFailed", "quota exceeded");
    ask(&w, "c");
    ASSERT_SAID("provisioning-failed", "provisioner '" EXTERNAL "' fails: quota exceeded");
    ASSERT_TEXT("Warning ProvisioningFailed (x3): quota exceeded\n");
    close_world(&w);
}

TEST(stuck_external_provisioner_works)
{
    struct world w;

    open_world(&w);
    make_class(&w, "disks", EXTERNAL, "");
    add_claim(&w, "c", "1Gi", RWO, CLASS("disks"));
    world_settle(&w);
    tell(&w, "c", EXTERNAL "_pod-0_1234", "Normal", "Provisioning", "External provisioner is provisioning");
    ask(&w, "c");
    ASSERT_STR("provisioning", said_member("cause"));
    close_world(&w);
}

TEST(stuck_provisioning_fails_with_backoff)
{
    struct world w;

    open_world(&w);
    scripted.fails = 1000;
    scripted.fails_with = ERR_IO;
    scripted.says = "disk is full";
    make_class(&w, "here", HOST_PATH_PLUGIN, "");
    add_claim(&w, "c", "1Gi", RWO, CLASS("here"));
    world_settle(&w);
    /* The binder's operation has the plugin's words, its event a sentence around them. */
    {
        struct onlooker x;

        onlooker_open(&x, &w.served);
        x.world.binder = w.binder;
        say(&x.world, &(struct why_question){ .kind = KIND_CLAIM, .ns = "default", .name = "c" });
        onlooker_close(&x);
    }
    ASSERT_SAID("provisioning-failed", "provisioning fails: disk is full");
    ASSERT_TEXT("  provision, failed ");
    ASSERT_TEXT("s: disk is full\n");
    ASSERT_TEXT("Next: provisioning is retried in ");
    close_world(&w);
}

TEST(stuck_provisioning_is_under_way)
{
    struct world w;

    open_world(&w);
    scripted.is_slow = true;
    make_class(&w, "here", HOST_PATH_PLUGIN, "");
    add_claim(&w, "c", "1Gi", RWO, CLASS("here"));
    ask(&w, "c");
    ASSERT_SAID("provisioning", HOST_PATH_PLUGIN " is provisioning a volume for it");
    ASSERT_TEXT("  provision, running\n");
    close_world(&w);
}

TEST(stuck_data_source_that_no_plugin_copies)
{
    struct world w;

    open_world(&w);
    make_class(&w, "here", HOST_PATH_PLUGIN, "");
    add_claim(&w, "c", "1Gi", RWO,
              CLASS("here") ",'dataSource':{'kind':'PersistentVolumeClaim','name':'old'}");
    ask(&w, "c");
    ASSERT_SAID(
        "data-source", HOST_PATH_PLUGIN
        " creates only empty volumes, and the claim requests one filled from PersistentVolumeClaim old");
    close_world(&w);
}

/* --- It was bound --- */

static void bind_one(struct world *w)
{
    open_world(w);
    add_volume(w, "pv", "1Gi", RWO, "");
    add_claim(w, "c", "1Gi", RWO, "");
    world_settle(w);
    assert_bound(w, "c", "pv");
}

TEST(stuck_lost_its_volume)
{
    struct world w;

    bind_one(&w);
    patch_volume(&w, "pv", "", "{'metadata':{'finalizers':null}}");
    ASSERT_SENT(&w.served, 200, "DELETE", VOLUMES "/pv", NULL);
    ask(&w, "c");
    ASSERT_STR("Lost", said_member("state"));
    ASSERT_SAID("volume-gone", "its volume pv was deleted");
    ASSERT_TEXT("Warning ClaimLost: ");
    close_world(&w);
}

TEST(stuck_lost_its_reference)
{
    struct world w;

    open_world(&w);
    make_claim(&w, "c", annotated(ANN_BIND_COMPLETED, "yes"), "");
    ask(&w, "c");
    ASSERT_SAID("lost-reference", "it was bound, but its spec.volumeName was removed");
    close_world(&w);
}

TEST(stuck_misbound)
{
    struct world w;

    bind_one(&w);
    make_claim(&w, "d", annotated(ANN_BIND_COMPLETED, "yes"), ",'volumeName':'pv'");
    ask(&w, "d");
    ASSERT_STR("Lost", said_member("state"));
    ASSERT_SAID("misbound", "its volume pv belongs to default/c");
    close_world(&w);
}

TEST(stuck_deleted_and_in_use)
{
    struct world w;

    bind_one(&w);
    make_pod(&w, "web-0", "c", "n1");
    make_pod(&w, "waits", "c", "");
    ASSERT_SENT(&w.served, 200, "DELETE", CLAIMS "/c", NULL);
    ask(&w, "c");
    ASSERT_STR("Terminating", said_member("state"));
    ASSERT_SAID("in-use", "it is being deleted, and is kept while pods use it: web-0 (on n1)");
    close_world(&w);
}

TEST(stuck_deleted_and_nobody_lets_it_go)
{
    struct world w;

    bind_one(&w);
    ASSERT_SENT(&w.served, 200, "DELETE", CLAIMS "/c", NULL);
    ask(&w, "c");
    ASSERT_SAID("protected",
                "it is being deleted, no pod uses it, and its protection is about to be removed");
    close_world(&w);
}

TEST(stuck_deleted_and_held_by_a_finalizer)
{
    struct world w;

    bind_one(&w);
    patch_claim(&w, "c", "", "{'metadata':{'finalizers':['example.com/hold']}}");
    ASSERT_SENT(&w.served, 200, "DELETE", CLAIMS "/c", NULL);
    ask(&w, "c");
    ASSERT_SAID("finalizer",
                "finalizer example.com/hold blocks its deletion: the component that set it must remove it");
    close_world(&w);
}

/* --- Growth --- */

static void grow(struct world *w)
{
    open_world(w);
    make_class(w, "grows", PROVISIONER_NONE, ",'allowVolumeExpansion':true");
    add_volume(w, "pv", "1Gi", RWO, CLASS("grows"));
    add_claim(w, "c", "1Gi", RWO, CLASS("grows"));
    world_settle(w);
    assert_bound(w, "c", "pv");
    patch_claim(w, "c", "", "{'spec':{'resources':{'requests':{'storage':'2Gi'}}}}");
}

TEST(stuck_resize_is_the_peoples)
{
    struct world w;

    grow(&w);
    ask(&w, "c");
    ASSERT_SAID("resize-by-hand",
                "volume pv must be expanded manually: it is a disk or directory of its node");
    ASSERT_TEXT("it has 1Gi and requests 2Gi");
    ASSERT_TEXT("berth patch pv pv -p '{\"spec\":{\"capacity\":{\"storage\":\"2Gi\"}}}'");
    patch_volume(&w, "pv", "", "{'spec':{'capacity':{'storage':'2Gi'}}}");
    world_settle(&w);
    ask(&w, "c");
    ASSERT_SAID("resizing", "its volume is being expanded");
    close_world(&w);
}

TEST(stuck_resize_waits_for_a_pod)
{
    struct world w;

    grow(&w);
    patch_claim(&w, "c", "status",
                "{'status':{'conditions':[{'type':'FileSystemResizePending','status':'True'}]}}");
    ask(&w, "c");
    ASSERT_STR("resize-waits-for-pod", said_member("cause"));
    make_pod(&w, "web-0", "c", "n1");
    ask(&w, "c");
    ASSERT_SAID("resize-on-node", "its volume has been expanded, and the node has to expand its file system");
    ASSERT_TEXT("used by web-0 (on n1)");
    close_world(&w);
}

TEST(stuck_resize_fails)
{
    struct world w;

    grow(&w);
    patch_claim(&w, "c", "status",
                "{'status':{'conditions':[{'type':'ControllerResizeError','status':'True','message':'pool is "
                "full'}]}}");
    ask(&w, "c");
    ASSERT_SAID("resize-failed", "expanding it fails: pool is full");
    patch_claim(&w, "c", "status",
                "{'status':{'allocatedResourceStatuses':{'storage':'ControllerResizeInfeasible'}}}");
    ask(&w, "c");
    ASSERT_SAID("resize-infeasible", "it cannot be expanded to that size: pool is full");
    close_world(&w);
}

TEST(stuck_resize_failed_by_event)
{
    struct world w;

    grow(&w);
    tell(&w, "c", "volume_expand", "Warning", "VolumeResizeFailed", "no plugin can");
    ask(&w, "c");
    ASSERT_SAID("resize-failed", "expanding it fails: no plugin can");
    close_world(&w);
}

/* What fails on the node is recorded about the pod. */
TEST(stuck_resize_fails_on_the_node)
{
    struct world w;
    char body[1024], uid[64];

    grow(&w);
    make_pod(&w, "web-0", "c", "n1");
    ASSERT_SENT(&w.served, 200, "GET", PODS "/web-0", NULL);
    uid_of_last(&w, uid);
    (void)snprintf(body, sizeof body,
                   "{'apiVersion':'v1','kind':'Event','metadata':{'name':'on-node'},'involvedObject':{'kind':"
                   "'Pod','namespace':'default',"
                   "'name':'web-0','uid':'%s'},'type':'Warning','reason':'VolumeResizeFailed','message':"
                   "'NodeExpandVolume failed for volume \\\"pv\\\" : no room','lastTimestamp':"
                   "'2023-11-14T22:13:19Z'}",
                   uid);
    ASSERT_SENT(&w.served, 201, "POST", EVENTS, body);
    ask(&w, "c");
    ASSERT_STR("resize-failed", said_member("cause"));
    ASSERT_TEXT("pvc default/c: Bound to pv, but expanding it fails: ");
    ASSERT_TEXT("no room");
    close_world(&w);
}

TEST(stuck_resize_is_not_allowed_any_more)
{
    struct world w;

    grow(&w);
    ASSERT_SENT(&w.served, 200, "MERGE", CLASSES "/grows", "{'allowVolumeExpansion':false}");
    ask(&w, "c");
    ASSERT_SAID("resize-not-allowed", "its class \"grows\" does not allow volume expansion");
    close_world(&w);
}

TEST(stuck_attributes_class_cannot_be_applied)
{
    struct world w;

    bind_one(&w);
    patch_claim(&w, "c", "", "{'spec':{'volumeAttributesClassName':'gold'}}");
    patch_claim(
        &w, "c", "status",
        "{'status':{'conditions':[{'type':'ModifyVolumeError','status':'True','message':'no gold'}]}}");
    ask(&w, "c");
    ASSERT_SAID("modify-failed", "its attributes class \"gold\" cannot be applied: no gold");
    close_world(&w);
}

/* Only who asks where the binder is can know. */
TEST(stuck_provisioning_is_off)
{
    struct onlooker x;
    struct world w;

    world_init(&w);
    w.options.is_static = true;
    world_start(&w);
    make_class(&w, "disks", EXTERNAL, "");
    add_claim(&w, "c", "1Gi", RWO, CLASS("disks"));
    world_settle(&w);
    onlooker_open(&x, &w.served);
    x.world.binder = w.binder;
    say(&x.world, &(struct why_question){ .kind = KIND_CLAIM, .ns = "default", .name = "c" });
    onlooker_close(&x);
    ASSERT_SAID("provisioning-off", "no volume fits, and dynamic provisioning is disabled");
    close_world(&w);
}

/* --- Nothing is stuck --- */

TEST(bound_and_well)
{
    struct world w;

    bind_one(&w);
    ask(&w, "c");
    ASSERT_SAID("none", "nothing is wrong");
    ASSERT_TEXT("pvc default/c: Bound to pv; nothing is wrong\n");
    ASSERT_TEXT("no pod uses it");
    close_world(&w);
}

TEST(about_to_be_bound)
{
    struct world w;

    world_init(&w);
    w.is_alone = true; /* nobody binds */
    world_start(&w);
    add_volume(&w, "pv", "1Gi", RWO, "");
    set_phase(&w, "pv", "Available");
    add_claim(&w, "c", "1Gi", RWO, "");
    ask(&w, "c");
    ASSERT_SAID("binding", "volume pv fits and is about to be bound to it");
    add_claim(&w, "big", "4Gi", RWO, "");
    make_default_class(&w, "std", EXTERNAL);
    ask(&w, "big");
    ASSERT_SAID("default-class", "it requests no class, and is about to get the default class, \"std\"");
    add_claim(&w, "bigger", "5Gi", RWO, "");
    ask(&w, "bigger");
    ASSERT_SAID("provisioner-not-asked", "the binder is about to request a volume from '" EXTERNAL "'");
    close_world(&w);
}

/* The server does not take what the binder writes. */
TEST(stuck_writes_fail)
{
    struct onlooker x;
    struct world w;

    open_world(&w);
    add_volume(&w, "pv", "1Gi", RWO, "");
    world_settle(&w);
    fail_next(&w, TAP_ERROR, "PATCH " VOLUMES "/pv", 1000);
    add_claim(&w, "c", "1Gi", RWO, "");
    world_settle(&w);
    onlooker_open(&x, &w.served);
    x.world.binder = w.binder;
    say(&x.world, &(struct why_question){ .kind = KIND_CLAIM, .ns = "default", .name = "c" });
    onlooker_close(&x);
    ASSERT_SAID("writes-fail", "volume pv fits, but binding it fails: tapped");
    ASSERT_TEXT("  sync, failed ");
    ASSERT_TEXT(" times, next try in ");
    ASSERT_TEXT("s: tapped\n");
    w.fault = TAP_NONE;
    ask(&w, "c");
    ASSERT_SAID("none", "nothing is wrong");
    ASSERT_NO_TEXT("sync");
    close_world(&w);
}

TEST(no_such_claim)
{
    struct world w;
    struct onlooker x;
    struct buf out = BUF_INIT(1024);

    open_world(&w);
    onlooker_open(&x, &w.served);
    ASSERT_ERR(ERR_NOT_FOUND,
               why_explain(&x.world,
                           &(struct why_question){ .kind = KIND_CLAIM, .ns = "default", .name = "no" }, &out,
                           &err));
    ASSERT_STR("persistentvolumeclaims \"no\" not found", err.msg);
    ASSERT_ERR(ERR_BAD_REQUEST,
               why_explain(&x.world, &(struct why_question){ .kind = KIND_NODE, .ns = "", .name = "n" }, &out,
                           &err));
    onlooker_close(&x);
    buf_done(&out);
    close_world(&w);
}

/* --- Over the network --- */

static int explain(void *ctx, const char *path, bool all, struct buf *out, struct sliced_answer **ret,
                   struct error *e)
{
    struct why_question q = { .shows_all = all };
    char names[WHY_PATH_BYTES_MAX];
    int r = why_read_path(path, names, &q, e);

    (void)ret;
    return r < 0 ? r : why_explain(ctx, &q, out, e);
}

TEST(a_server_that_has_the_controllers_answers)
{
    struct onlooker x;
    struct world w;

    open_world(&w);
    for (int i = 0; i < WHY_FEW + 1; i++) {
        char name[16];

        (void)snprintf(name, sizeof name, "v%d", i);
        add_volume(&w, name, "1Gi", RWO, "");
    }
    add_claim(&w, "c", "8Gi", RWO, "");
    world_settle(&w);
    ASSERT_SENT(&w.served, 404, "GET", "/why/pvc/default/c", NULL);
    onlooker_open(&x, &w.served);
    w.served.server->pages.explain = explain;
    w.served.server->pages.ctx = &x.world;
    ASSERT_SENT(&w.served, 200, "GET", "/why/pvc/default/c", NULL);
    ASSERT_GOT(&w.served, "too-small", "cause");
    ASSERT_GOT(&w.served, "21", "candidates/total");
    ASSERT_GOT(&w.served, "-", "candidates/groups/0/examples/5");
    ASSERT_SENT(&w.served, 200, "GET", "/why/pvc/default/c?all=true", NULL);
    ASSERT_GOT(&w.served, "v9", "candidates/groups/0/examples/20/name");
    ASSERT_SENT(&w.served, 404, "GET", "/why/pvc/default/no", NULL);
    ASSERT_GOT(&w.served, "persistentvolumeclaims \"no\" not found", "message");
    ASSERT_SENT(&w.served, 404, "GET", "/why/pvc/default", NULL);
    ASSERT_SENT(&w.served, 404, "GET", "/why", NULL);
    ASSERT_SENT(&w.served, 404, "GET", "/whyever", NULL);
    ASSERT_SENT(&w.served, 405, "POST", "/why/pvc/default/c", "{}");
    ASSERT_SENT(&w.served, 200, "GET", "/", NULL);
    assert_non_null(strstr(buf_cstr(&w.served.text), "\"/version\",\"/why\"]"));
    onlooker_close(&x);
    close_world(&w);
}

TEST_MAIN()
