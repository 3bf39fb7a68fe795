/* What brings a pod back that was refused, and what does not: its refusal and what happens then, as requests
 * to the server. The pod is p, in a world of one node n. */
#include "tests/unit/test_scheduler.h"

#include "tests/unit/test_binder_objects.h"

#include "tests/unit/test.h"

#define CSI_NODES "/apis/storage.k8s.io/v1/csinodes"
#define DRIVERS "/apis/storage.k8s.io/v1/csidrivers"
#define CAPACITIES "/apis/storage.k8s.io/v1/namespaces/default/csistoragecapacities"
#define STEPS_MAX 7

struct step {
    const char *method, *path, *body;
};

struct scene {
    const char *what;
    struct step before[STEPS_MAX]; /* without the pod: */
    const char *pod;               /* members of its spec, without containers */
    const char *says;              /* … why it is refused */
    struct step then;
    bool comes_back;
};

#define META(kind, name) "{'apiVersion':'v1','kind':'" kind "','metadata':{'name':'" name "'"
#define STORAGE_META(kind, name) \
    "{'apiVersion':'storage.k8s.io/v1','kind':'" kind "','metadata':{'name':'" name "'"

#define ADD_NODE(name, meta, spec)                                    \
    {                                                                 \
        "POST", NODES, META("Node", name) meta "},'spec':{" spec "}}" \
    }
#define PLAIN_NODE ADD_NODE("n", "", "")
#define ADD_CLAIM(name, class)                                                                         \
    {                                                                                                  \
        "POST", CLAIMS,                                                                                \
            META("PersistentVolumeClaim",                                                              \
                 name) "},'spec':{'accessModes':[" RWO                                                 \
                       "],'storageClassName':'" class "','resources':{'requests':{'storage':'1Gi'}}}}" \
    }
#define ADD_CLASS(name, provisioner, rest)                                                             \
    {                                                                                                  \
        "POST", CLASSES,                                                                               \
            STORAGE_META("StorageClass", name) "},'provisioner':'" provisioner                         \
                                               "','volumeBindingMode':'WaitForFirstConsumer'" rest "}" \
    }
#define ADD_VOLUME(name, class, rest)                                                                        \
    {                                                                                                        \
        "POST", VOLUMES,                                                                                     \
            META("PersistentVolume", name) rest "},'spec':{'capacity':{'storage':'1Gi'},'accessModes':[" RWO \
                                                "],'storageClassName':'" class "'," HOST_PATH "}}"           \
    }
#define ADD_POD(name, spec)                                                                            \
    {                                                                                                  \
        "POST", PODS, META("Pod", name) "},'spec':{'containers':[{'name':'c','image':'i'}]," spec "}}" \
    }
#define USES(claim) "'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'" claim "'}}]"
#define CHANGE_NODE(body)         \
    {                             \
        "MERGE", NODES "/n", body \
    }

#define LOCAL ADD_CLASS("local", "kubernetes.io/no-provisioner", "")
#define NO_VOLUME "1 node(s) didn't find available persistent volumes to bind."
#define NO_MATCH "1 node(s) didn't match Pod's node affinity/selector."
#define WERE_CLOSED "1 node(s) were unschedulable."
#define UNTOLERATED "1 node(s) had untolerated taint(s)."
#define CLOSED "'unschedulable':true"
/* One more. */
#define TOLERATE(one)                                                                    \
    {                                                                                    \
        "JSON", PODS "/p", "[{'op':'add','path':'/spec/tolerations/-','value':" one "}]" \
    }
#define TAINTED "'taints':[{'key':'a','effect':'NoSchedule'}]"

static void send(struct world *w, const struct step *x)
{
    ASSERT_SENT(&w->served, strcmp(x->method, "POST") == 0 ? 201 : 200, x->method, x->path, x->body);
    world_rest(w);
}

static unsigned attempts(const struct world *w)
{
    static const char *const results[] = { "scheduled", "unschedulable", "error" };
    double sum = 0;

    for (size_t i = 0; i < ARRAY_LEN(results); i++) {
        char line[128];
        double n;

        (void)snprintf(line, sizeof line,
                       "scheduler_schedule_attempts_total{result=\"%s\",profile=\"default-scheduler\"}",
                       results[i]);
        n = number_of(w, line);
        sum += n > 0 ? n : 0;
    }
    return (unsigned)sum;
}

/* Else it is on its way. */
static bool is_aside(const struct world *w)
{
    return number_of(w, "scheduler_pending_pods{queue=\"unschedulable\"}") > 0;
}

static void play(const struct scene *x)
{
    char text[1024];
    unsigned before;
    struct world w;

    scheduling_init(&w);
    world_start(&w);
    for (size_t i = 0; i < STEPS_MAX && x->before[i].method; i++)
        send(&w, &x->before[i]);
    world_settle_for(&w, 30);
    (void)snprintf(text, sizeof text,
                   META("Pod", "p") "},'spec':{'containers':[{'name':'c','image':'i'}]%s%s}}",
                   x->pod[0] ? "," : "", x->pod);
    ASSERT_SENT(&w.served, 201, "POST", PODS, text);
    served_pass(&w.served, 12); /* the rest is over: what helps helps at once */
    (void)snprintf(text, sizeof text, "0/1 nodes are available: %s", x->says);
    assert_pending(&w, "p", "Unschedulable", text);
    before = attempts(&w);
    send(&w, &x->then);
    if (x->comes_back != (attempts(&w) > before || !is_aside(&w)))
        fail_msg("%s: the pod %s", x->what, x->comes_back ? "does not come back" : "comes back");
    world_done(&w);
}

static void play_all(const struct scene *all, size_t count)
{
    for (size_t i = 0; i < count; i++)
        play(&all[i]);
}

TEST(refused_by_nodes)
{
    static const struct scene scenes[] = {
        { "opened",
          { ADD_NODE("n", "", CLOSED) },
          "",
          WERE_CLOSED,
          CHANGE_NODE("{'spec':{'unschedulable':null}}"),
          true },
        { "labels do not open",
          { ADD_NODE("n", "", CLOSED) },
          "",
          WERE_CLOSED,
          CHANGE_NODE("{'metadata':{'labels':{'x':'y'}}}"),
          false },
        { "annotations do nothing",
          { ADD_NODE("n", "", CLOSED) },
          "",
          WERE_CLOSED,
          CHANGE_NODE("{'metadata':{'annotations':{'x':'y'}}}"),
          false },
        { "another node", { ADD_NODE("n", "", CLOSED) }, "", WERE_CLOSED, ADD_NODE("m", "", ""), true },
        { "toleration of the closed",
          { ADD_NODE("n", "", CLOSED) },
          "",
          WERE_CLOSED,
          TOLERATE("{'operator':'Exists'}"),
          true },
        { "taint goes",
          { ADD_NODE("n", "", TAINTED) },
          "",
          UNTOLERATED,
          CHANGE_NODE("{'spec':{'taints':null}}"),
          true },
        { "tolerated",
          { ADD_NODE("n", "", TAINTED) },
          "",
          UNTOLERATED,
          TOLERATE("{'key':'a','operator':'Exists'}"),
          true },
        { "label comes",
          { PLAIN_NODE },
          "'nodeSelector':{'x':'y'}",
          NO_MATCH,
          CHANGE_NODE("{'metadata':{'labels':{'x':'y'}}}"),
          true },
        { "taints do not label",
          { PLAIN_NODE },
          "'nodeSelector':{'x':'y'}",
          NO_MATCH,
          CHANGE_NODE("{'spec':{" TAINTED "}}"),
          false },
        { "labels of the pod",
          { PLAIN_NODE },
          "'nodeSelector':{'x':'y'}",
          NO_MATCH,
          { "MERGE", PODS "/p", "{'metadata':{'labels':{'x':'y'}}}" },
          true },
        { "annotations of the pod",
          { PLAIN_NODE },
          "'nodeSelector':{'x':'y'}",
          NO_MATCH,
          { "MERGE", PODS "/p", "{'metadata':{'annotations':{'x':'y'}}}" },
          false },
        { "another pod",
          { PLAIN_NODE },
          "'nodeSelector':{'x':'y'}",
          NO_MATCH,
          ADD_POD("q", "'nodeName':'n'"),
          false },
    };

    play_all(scenes, ARRAY_LEN(scenes));
}

TEST(refused_for_want_of_volumes)
{
    static const struct scene scenes[] = {
        { "volume of the class",
          { PLAIN_NODE, LOCAL, ADD_CLAIM("c", "local") },
          USES("c"),
          NO_VOLUME,
          ADD_VOLUME("v", "local", ""),
          true },
        { "volume of another class",
          { PLAIN_NODE, LOCAL, ADD_CLAIM("c", "local") },
          USES("c"),
          NO_VOLUME,
          ADD_VOLUME("v", "other", ""),
          false },
        { "labels of a node",
          { PLAIN_NODE, LOCAL, ADD_CLAIM("c", "local") },
          USES("c"),
          NO_VOLUME,
          CHANGE_NODE("{'metadata':{'labels':{'x':'y'}}}"),
          true },
        { "another node",
          { PLAIN_NODE, LOCAL, ADD_CLAIM("c", "local") },
          USES("c"),
          NO_VOLUME,
          ADD_NODE("m", "", ""),
          true },
        { "its claim",
          { PLAIN_NODE, LOCAL, ADD_CLAIM("c", "local") },
          USES("c"),
          NO_VOLUME,
          { "MERGE", CLAIMS "/c", "{'metadata':{'labels':{'x':'y'}}}" },
          true },
        { "another claim",
          { PLAIN_NODE, LOCAL, ADD_CLAIM("c", "local") },
          USES("c"),
          NO_VOLUME,
          ADD_CLAIM("d", "local"),
          false },
        { "a class",
          { PLAIN_NODE, LOCAL, ADD_CLAIM("c", "local") },
          USES("c"),
          NO_VOLUME,
          ADD_CLASS("other", "x.csi", ""),
          true },
        { "drivers of a node",
          { PLAIN_NODE, LOCAL, ADD_CLAIM("c", "local") },
          USES("c"),
          NO_VOLUME,
          { "POST", CSI_NODES, STORAGE_META("CSINode", "n") "},'spec':{'drivers':[]}}" },
          true },
        { "an attachment",
          { PLAIN_NODE, LOCAL, ADD_CLAIM("c", "local") },
          USES("c"),
          NO_VOLUME,
          { "POST", ATTACHMENTS,
            STORAGE_META("VolumeAttachment", "a") "},'spec':{'attacher':'x.csi','nodeName':'n','source':{"
                                                  "'persistentVolumeName':'v'}}}" },
          false },
        { "the class that was missing",
          { PLAIN_NODE, ADD_CLAIM("c", "local") },
          USES("c"),
          "pod has unbound immediate PersistentVolumeClaims.",
          LOCAL,
          true },
        { "its missing claim",
          { PLAIN_NODE, LOCAL },
          USES("c"),
          "persistentvolumeclaim \"c\" not found.",
          ADD_CLAIM("c", "local"),
          true },
        { "not its missing claim",
          { PLAIN_NODE, LOCAL },
          USES("c"),
          "persistentvolumeclaim \"c\" not found.",
          ADD_CLAIM("d", "local"),
          false },
    };

    play_all(scenes, ARRAY_LEN(scenes));
}

#define POOLS ADD_CLASS("csi", "x.csi", ""), ADD_CLAIM("c", "csi")
#define COUNTING                                                                                 \
    {                                                                                            \
        "POST", DRIVERS, STORAGE_META("CSIDriver", "x.csi") "},'spec':{'storageCapacity':true}}" \
    }
#define POOL(name, capacity)                                                                             \
    {                                                                                                    \
        "POST", CAPACITIES,                                                                              \
            STORAGE_META("CSIStorageCapacity",                                                           \
                         name) "},'storageClassName':'csi','nodeTopology':{},'capacity':'" capacity "'}" \
    }
#define NO_SPACE "1 node(s) did not have enough free storage."

TEST(refused_for_want_of_space)
{
    static const struct scene scenes[] = {
        { "a pool", { PLAIN_NODE, POOLS, COUNTING }, USES("c"), NO_SPACE, POOL("k", "5Gi"), true },
        { "a pool that grows",
          { PLAIN_NODE, POOLS, COUNTING, POOL("k", "1Mi") },
          USES("c"),
          NO_SPACE,
          { "MERGE", CAPACITIES "/k", "{'capacity':'5Gi'}" },
          true },
        { "nobody counts any more",
          { PLAIN_NODE, POOLS, COUNTING },
          USES("c"),
          NO_SPACE,
          { "MERGE", DRIVERS "/x.csi", "{'spec':{'storageCapacity':false}}" },
          true },
    };

    play_all(scenes, ARRAY_LEN(scenes));
}

#define DISK "'volumes':[{'name':'v','awsElasticBlockStore':{'volumeID':'d'}}]"
#define NO_DISK "1 node(s) had no available disk."

TEST(refused_by_other_pods)
{
    static const struct scene scenes[] = {
        { "the disk is free",
          { PLAIN_NODE, ADD_POD("q", DISK ",'nodeName':'n'") },
          DISK,
          NO_DISK,
          { "DELETE", PODS "/q?gracePeriodSeconds=0", NULL },
          true },
        { "its pod has ended",
          { PLAIN_NODE, ADD_POD("q", DISK ",'nodeName':'n'") },
          DISK,
          NO_DISK,
          { "MERGE", PODS "/q/status", "{'status':{'phase':'Failed'}}" },
          true },
        { "its pod runs",
          { PLAIN_NODE, ADD_POD("q", DISK ",'nodeName':'n'") },
          DISK,
          NO_DISK,
          { "MERGE", PODS "/q/status", "{'status':{'phase':'Running'}}" },
          false },
        { "another node",
          { PLAIN_NODE, ADD_POD("q", DISK ",'nodeName':'n'") },
          DISK,
          NO_DISK,
          ADD_NODE("m", "", ""),
          true },
        { "room",
          { PLAIN_NODE, { "MERGE", NODES "/n/status", "{'status':{'allocatable':{'pods':'0'}}}" } },
          "",
          "1 Too many pods.",
          { "MERGE", NODES "/n/status", "{'status':{'allocatable':{'pods':'1'}}}" },
          true },
    };

    play_all(scenes, ARRAY_LEN(scenes));
}

/* --- Not by one event --- */

/* Nothing happens at all: after five minutes the pod is tried again. */
TEST(after_five_minutes)
{
    struct world w;

    scheduling_init(&w);
    add_node(&w, "n", "", CLOSED);
    world_start(&w);
    add_pod(&w, "p", "", "", "");
    world_settle_for(&w, 299);
    ASSERT_INT(1, attempts(&w));
    world_settle_for(&w, 31);
    ASSERT_INT(2, attempts(&w));
    world_done(&w);
}

/* Of two that wait for one place the one of the higher priority gets it. */
TEST(priority)
{
    struct world w;

    scheduling_init(&w);
    add_node(&w, "n", "", CLOSED);
    ASSERT_SENT(&w.served, 200, "MERGE", NODES "/n/status", "{'status':{'allocatable':{'pods':'1'}}}");
    world_start(&w);
    add_pod(&w, "first", "", "", "");
    add_pod(&w, "high", "", "", ",'priority':10");
    add_pod(&w, "last", "", "", "");
    served_pass(&w.served, 12);
    ASSERT_SENT(&w.served, 200, "MERGE", NODES "/n", "{'spec':{'unschedulable':null}}");
    world_settle_for(&w, 1);
    assert_on(&w, "first", "");
    assert_on(&w, "high", "n");
    assert_on(&w, "last", "");
    world_done(&w);
}

/* While nobody looked the pod was replaced by another of its name. */
TEST(replaced_pod)
{
    struct world w;

    scheduling_init(&w);
    add_node(&w, "n", "", "");
    world_start(&w);
    add_pod(&w, "p", "", "", ",'nodeSelector':{'x':'y'}");
    add_pod(&w, "q", "", "", "");
    world_settle_for(&w, 1);
    assert_on(&w, "q", "n");
    world_deafen(&w);
    ASSERT_SENT(&w.served, 200, "DELETE", PODS "/p", NULL);
    ASSERT_SENT(&w.served, 200, "DELETE", PODS "/q?gracePeriodSeconds=0", NULL);
    add_pod(&w, "p", "", "", "");
    add_pod(&w, "q", "", "", ",'nodeSelector':{'x':'y'}");
    world_hear(&w);
    world_settle_for(&w, 1);
    assert_on(&w, "p", "n");
    assert_pending(&w, "q", "Unschedulable", "0/1 nodes are available: " NO_MATCH);
    world_done(&w);
}

/* The node that refused is gone, and comes again as another. */
TEST(node_comes_again)
{
    struct world w;

    scheduling_init(&w);
    add_node(&w, "n", "", CLOSED);
    world_start(&w);
    add_pod(&w, "p", "", "", "");
    served_pass(&w.served, 12);
    ASSERT_SENT(&w.served, 200, "DELETE", NODES "/n", NULL);
    world_settle_for(&w, 1);
    add_node(&w, "n", "", "");
    world_settle_for(&w, 0);
    assert_on(&w, "p", "n");
    world_done(&w);
}

TEST_MAIN()
