/* Volumes that are not there yet: the node that is selected, what a provisioner makes of it, what it costs
 * when it does not, and pools of limited size. The provisioner is one of another process: the test plays it.
 */
#include "tests/unit/test_scheduler.h"

#include "tests/unit/test_binder_objects.h"
#include "tests/unit/test_binder_replay.h"

#define WFFC "WaitForFirstConsumer"
#define NO_PROVISIONER "kubernetes.io/no-provisioner"
#define FAST ",'storageClassName':'fast'"
#define LOCAL ",'storageClassName':'local'"
#define DRIVERS "/apis/storage.k8s.io/v1/csidrivers"
#define CAPACITIES "/apis/storage.k8s.io/v1/namespaces/default/csistoragecapacities"
#define NONE_FOUND "0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind."
#define NO_SPACE "0/1 nodes are available: 1 node(s) did not have enough free storage."
#define PRE_BIND "running PreBind plugin \"VolumeBinding\": binding volumes: "

/* Two nodes, a class that an external provisioner serves, a claim of it. */
static void build(struct world *w, bool is_alone)
{
    scheduling_init(w);
    w->is_alone = is_alone;
    add_class(w, "fast", "x.csi", WFFC, "");
    add_node(w, "n1", "'zone':'a'", "");
    add_node(w, "n2", "'zone':'b'", "");
    add_claim(w, "c", "5Gi", RWO, FAST);
}

static void assert_selected(struct world *w, const char *claim, const char *node)
{
    look_at_claim(w, claim);
    assert_string_equal(annotation(w, ANN_SELECTED_NODE), node);
}

/* The volume is made for the node that was selected. */
static void provision(struct world *w, const char *claim, const char *volume, const char *node)
{
    char rest[1024];

    (void)snprintf(rest, sizeof rest,
                   FAST "%s,'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':"
                        "'kubernetes.io/hostname','operator':'In','values':['%s']}]}]}}",
                   ref_to_claim(w, claim), node);
    add_volume(w, volume, "5Gi", RWO, rest);
}

/* It cannot, and says so. */
static void give_up(struct world *w, const char *claim)
{
    patch_claim(w, claim, "", "{'metadata':{'annotations':{'" ANN_SELECTED_NODE "':null}}}");
}

static void cordon(struct world *w, const char *node, bool is_cordoned)
{
    char path[128];

    (void)snprintf(path, sizeof path, NODES "/%s", node);
    ASSERT_SENT(&w->served, 200, "MERGE", path,
                is_cordoned ? "{'spec':{'unschedulable':true}}" : "{'spec':{'unschedulable':null}}");
}

/* --- From the node to the volume --- */

TEST(scheduler_40_selected_provisioned_bound)
{
    struct world w;

    build(&w, false);
    add_pod(&w, "p", "c", "", "");
    world_start(&w);
    world_settle(&w);
    assert_selected(&w, "c", "n1");
    assert_on(&w, "p", "");
    provision(&w, "c", "made", "n1");
    world_settle(&w);
    assert_bound(&w, "c", "made");
    assert_on(&w, "p", "n1");
    assert_times(1, count_events(&w, "p", "Scheduled", NULL));
    assert_int_equal(count_events(&w, "p", "FailedScheduling", NULL), 0);
    ASSERT_INT(0, count_events(&w, "c", "VolumeMismatch", NULL));
    world_done(&w);
}

/* rest: of the class. */
static void play_topology(const char *rest, const char *says)
{
    struct world w;

    scheduling_init(&w);
    add_class(&w, "fast", "x.csi", WFFC, rest);
    add_node(&w, "n1", "'zone':'b','rack':'1'", "");
    add_claim(&w, "c", "5Gi", RWO, FAST);
    add_pod(&w, "p", "c", "", "");
    world_start(&w);
    world_settle(&w);
    if (says)
        assert_pending(&w, "p", "Unschedulable", says);
    assert_selected(&w, "c", says ? "-" : "n1");
    world_done(&w);
}

#define ZONE(values) "{'matchLabelExpressions':[{'key':'zone','values':[" values "]}]}"
#define TOPOLOGIES(terms) ",'allowedTopologies':[" terms "]"

TEST(scheduler_41_topologies)
{
    play_topology(TOPOLOGIES(ZONE("'a'")), NONE_FOUND);
    play_topology(TOPOLOGIES(ZONE("'a','b'")), NULL);
    play_topology(TOPOLOGIES(ZONE("'a'") "," ZONE("'b'")), NULL);
    play_topology(
        TOPOLOGIES("{'matchLabelExpressions':[{'key':'zone','values':['b']},{'key':'rack','values':["
                   "'2']}]}"),
        NONE_FOUND);
    play_topology(TOPOLOGIES(""), NULL);
}

TEST(scheduler_42_a_topology_of_nothing)
{
    play_topology(TOPOLOGIES("{}"), NONE_FOUND);
    play_topology(TOPOLOGIES("{}," ZONE("'b'")), NULL);
}

/* scheduler-43: and the next time it goes where it can. */
TEST(scheduler_43_provisioner_gives_up)
{
    struct world w;

    build(&w, false);
    add_pod(&w, "p", "c", "", "");
    world_start(&w);
    world_settle(&w);
    assert_selected(&w, "c", "n1");
    cordon(&w, "n1", true);
    give_up(&w, "c");
    world_rest(&w);
    if (plan.fault == TAP_NONE)
        assert_pending(&w, "p", "SchedulerError", PRE_BIND "provisioning failed for PVC \"c\"");
    world_settle(&w);
    assert_selected(&w, "c", "n2");
    provision(&w, "c", "made", "n2");
    world_settle(&w);
    assert_bound(&w, "c", "made");
    assert_on(&w, "p", "n2");
    world_done(&w);
}

/* scheduler-44: the claim's node stands as long as nobody takes it back. */
TEST(scheduler_44_provisioner_says_nothing)
{
    struct world w;

    build(&w, false);
    add_pod(&w, "p", "c", "", "");
    world_start(&w);
    world_settle(&w);
    assert_selected(&w, "c", "n1");
    world_kill(&w);
    cordon(&w, "n1", true);
    world_start(&w);
    world_settle(&w);
    assert_pending(&w, "p", "Unschedulable",
                   "0/2 nodes are available: 1 node(s) didn't find available persistent volumes to bind, 1 "
                   "node(s) were unschedulable.");
    assert_selected(&w, "c", "n1");
    cordon(&w, "n1", false);
    provision(&w, "c", "made", "n1");
    world_settle(&w);
    assert_bound(&w, "c", "made");
    assert_on(&w, "p", "n1");
    ASSERT_INT(0, count_events(&w, "c", "VolumeMismatch", NULL));
    world_done(&w);
}

TEST(scheduler_45_selected_elsewhere)
{
    struct world w;

    build(&w, false);
    patch_claim(&w, "c", "", "{'metadata':{'annotations':{'" ANN_SELECTED_NODE "':'n2'}}}");
    add_pod(&w, "p", "c", "", ",'nodeSelector':{'kubernetes.io/hostname':'n1'}");
    world_start(&w);
    world_settle(&w);
    assert_pending(&w, "p", "Unschedulable",
                   "0/2 nodes are available: 1 node(s) didn't find available persistent volumes to bind, 1 "
                   "node(s) didn't match Pod's node affinity/selector.");
    assert_selected(&w, "c", "n2");
    world_done(&w);
}

/* An annotation that is there and empty selects no node at all; a free volume does not help. */
TEST(selected_and_free_volumes)
{
    struct world w;

    build(&w, true);
    add_local(&w, "free", "5Gi", "fast", "n1");
    set_phase(&w, "free", "Available");
    patch_claim(&w, "c", "", "{'metadata':{'annotations':{'" ANN_SELECTED_NODE "':''}}}");
    add_pod(&w, "p", "c", "", "");
    world_start(&w);
    world_settle(&w);
    assert_pending(&w, "p", "Unschedulable",
                   "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind.");
    patch_claim(&w, "c", "", "{'metadata':{'annotations':{'" ANN_SELECTED_NODE "':'n1'}}}");
    world_settle(&w);
    ASSERT_VOLUME(&w, "free", "-", "spec/claimRef");
    assert_on(&w, "p", "");
    world_done(&w);
}

/* --- Both kinds in one pod --- */

static void build_mixed(struct world *w, bool is_alone)
{
    build(w, is_alone);
    add_class(w, "local", NO_PROVISIONER, WFFC, "");
    add_local(w, "disk", "5Gi", "local", "n1");
    if (is_alone)
        set_phase(w, "disk", "Available");
    add_claim(w, "a", "5Gi", RWO, LOCAL);
    add_pod(w, "p", "c", "a", "");
}

TEST(scheduler_46_volumes_before_claims)
{
    struct world w;

    build_mixed(&w, true);
    world_start(&w);
    world_settle(&w);
    if (plan.fault == TAP_NONE)
        ASSERT_STR("PATCH " VOLUMES "/disk?fieldManager=berth-scheduler\nPATCH " CLAIMS
                   "/c?fieldManager=berth-scheduler\n",
                   buf_cstr(&w.log));
    ASSERT_VOLUME(&w, "disk", "a", "spec/claimRef/name");
    assert_selected(&w, "c", "n1");
    assert_selected(&w, "a", "-");
    world_done(&w);

    build_mixed(&w, false);
    world_start(&w);
    world_settle(&w);
    assert_bound(&w, "a", "disk");
    assert_on(&w, "p", ""); /* the other one is waited for */
    provision(&w, "c", "made", "n1");
    world_settle(&w);
    assert_bound(&w, "c", "made");
    assert_on(&w, "p", "n1");
    world_done(&w);
}

/* scheduler-47: what was written stays, and is found again. */
TEST(scheduler_47_the_second_write_conflicts)
{
    struct world w;

    build_mixed(&w, true);
    world_start(&w);
    fail_next(&w, TAP_CONFLICT, "PATCH " CLAIMS "/c", 1);
    world_rest(&w);
    ASSERT_VOLUME(&w, "disk", "a", "spec/claimRef/name");
    assert_selected(&w, "c", "-");
    assert_pending(&w, "p", "SchedulerError", PRE_BIND "tapped");
    world_settle(&w);
    assert_selected(&w, "c", "n1");
    ASSERT_INT(1, count_writes(&w, "PATCH " VOLUMES "/disk"));
    ASSERT_INT(2, count_writes(&w, "PATCH " CLAIMS "/c"));
    world_done(&w);
}

/* A volume that is kept for the claim elsewhere does not keep another one from being made: that is told. */
TEST(a_kept_volume_out_of_reach)
{
    struct world w;

    build(&w, true);
    add_volume(&w, "kept", "5Gi", RWO,
               FAST
               ",'claimRef':{'kind':'PersistentVolumeClaim','apiVersion':'v1','namespace':'default',"
               "'name':'c'},'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':"
               "'zone','operator':'In','values':['nowhere']}]}]}}");
    add_pod(&w, "p", "c", "", "");
    world_start(&w);
    world_settle(&w);
    assert_selected(&w, "c", "n1");
    assert_times(1, count_events(&w, "c", "VolumeMismatch", NULL));
    world_done(&w);

    build(&w, true);
    add_volume(&w, "kept", "1Gi", RWO,
               FAST ",'claimRef':{'kind':'PersistentVolumeClaim','apiVersion':'v1','namespace':'default',"
                    "'name':'c'}");
    add_pod(&w, "p", "c", "", "");
    world_start(&w);
    world_settle(&w);
    assert_selected(&w, "c", "n1");
    ASSERT_INT(0, count_events(&w, "c", "VolumeMismatch", NULL)); /* too small, not too far */
    world_done(&w);
}

/* --- Waiting in vain --- */

TEST(scheduler_48_time_is_up)
{
    struct world w;

    build(&w, true);
    scheduling.bind_timeout_ns = 2 * NS_PER_S;
    add_pod(&w, "p", "c", "", "");
    world_start(&w);
    world_settle_for(&w, 1);
    assert_on(&w, "p", "");
    ASSERT_INT(0, count_events(&w, "p", "FailedScheduling", NULL));
    manual_clock_advance(&w.served.clock, 2 * NS_PER_S);
    world_rest(&w);
    assert_pending(&w, "p", "SchedulerError", PRE_BIND "context deadline exceeded");
    ASSERT_INT(1, count_events(&w, "p", "FailedScheduling", PRE_BIND "context deadline exceeded"));
    world_done(&w);
}

/* Section 7.9: what happens while a pod waits for its claims, and what is said of it. */
struct mishap {
    const char *method, *path, *body;
    const char *says; /* behind PRE_BIND; NULL: the pod is gone */
};

static void play_mishap(const struct mishap *m)
{
    struct world w;

    build_mixed(&w, true);
    patch_volume(&w, "disk", "", "{'metadata':{'finalizers':null}}");
    patch_claim(&w, "a", "", "{'metadata':{'finalizers':null}}");
    patch_claim(&w, "c", "", "{'metadata':{'finalizers':null}}");
    world_start(&w);
    world_settle(&w);
    assert_selected(&w, "c", "n1");
    ASSERT_VOLUME(&w, "disk", "a", "spec/claimRef/name");
    ASSERT_SENT(&w.served, 200, m->method, m->path, m->body);
    world_rest(&w);
    if (m->says) {
        char text[512];

        (void)snprintf(text, sizeof text, PRE_BIND "%s", m->says);
        assert_pending(&w, "p", "SchedulerError", text);
    }
    ASSERT_INT(m->says ? 1 : 0, count_events(&w, "p", "FailedScheduling", NULL));
    ASSERT_INT(0, count_writes(&w, "POST " PODS "/p/binding"));
    world_done(&w);
}

TEST(what_ends_a_wait)
{
    static const struct mishap rows[] = {
        { "DELETE", NODES "/n1", NULL, "failed to get node \"n1\": node \"n1\" not found" },
        { "DELETE", PODS "/p", NULL, NULL },
        { "DELETE", VOLUMES "/disk", NULL, "failed to check binding: persistentvolume \"disk\" not found" },
        { "DELETE", CLAIMS "/a", NULL, "failed to check binding: persistentvolumeclaim \"a\" not found" },
        { "MERGE", NODES "/n1", "{'metadata':{'labels':{'kubernetes.io/hostname':'other'}}}",
          "pv \"disk\" node affinity doesn't match node \"n1\": no matching NodeSelectorTerms" },
        { "MERGE", VOLUMES "/disk", "{'spec':{'claimRef':null}}", "ClaimRef got reset for pv \"disk\"" },
        { "MERGE", VOLUMES "/disk", "{'spec':{'claimRef':{'uid':null}}}",
          "ClaimRef got reset for pv \"disk\"" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        play_mishap(&rows[i]);
}

/* The same of a claim that nothing stands before. */
TEST(what_ends_a_wait_for_provisioning)
{
    static const struct mishap rows[] = {
        { "DELETE", CLAIMS "/c", NULL,
          "failed to check provisioning pvc: persistentvolumeclaim \"c\" not found" },
        { "MERGE", CLAIMS "/c", "{'metadata':{'annotations':null}}",
          "selectedNode annotation reset for PVC \"c\"" },
        { "MERGE", CLAIMS "/c", "{'metadata':{'annotations':{'" ANN_SELECTED_NODE "':null,'x':'y'}}}",
          "provisioning failed for PVC \"c\"" },
        { "MERGE", CLAIMS "/c", "{'metadata':{'annotations':{'" ANN_SELECTED_NODE "':'n2'}}}",
          "provisioning failed for PVC \"c\"" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world w;

        build(&w, true);
        patch_claim(&w, "c", "", "{'metadata':{'finalizers':null}}");
        add_pod(&w, "p", "c", "", "");
        world_start(&w);
        world_settle(&w);
        assert_selected(&w, "c", "n1");
        ASSERT_SENT(&w.served, 200, rows[i].method, rows[i].path, rows[i].body);
        world_rest(&w);
        char text[512];
        (void)snprintf(text, sizeof text, PRE_BIND "%s", rows[i].says);
        assert_pending(&w, "p", "SchedulerError", text);
        world_done(&w);
    }
}

/* The volume that was made cannot be reached from the node that was selected. */
TEST(provisioned_elsewhere)
{
    struct world w;

    build(&w, false);
    add_pod(&w, "p", "c", "", "");
    world_start(&w);
    world_settle(&w);
    provision(&w, "c", "made", "n2");
    world_rest(&w);
    assert_pending(&w, "p", "SchedulerError",
                   PRE_BIND "pv \"made\" node affinity doesn't match node \"n1\": no matching "
                            "NodeSelectorTerms");
    world_settle(&w);
    assert_bound(&w, "c", "made");
    assert_on(&w, "p", "n2");
    world_done(&w);
}

/* Another claim has taken the name while the pod waited: the old one's promise is nobody's. */
TEST(the_claim_is_replaced)
{
    struct world w;

    build(&w, true);
    add_pod(&w, "p", "c", "", "");
    world_start(&w);
    world_settle(&w);
    world_deafen(&w);
    drop_claim(&w, "c");
    add_claim(&w, "c", "5Gi", RWO, FAST);
    world_hear(&w);
    world_settle(&w);
    assert_selected(&w, "c", "n1");
    ASSERT_INT(1, count_events(&w, "p", "FailedScheduling",
                               PRE_BIND "failed to check provisioning pvc: persistentvolumeclaim \"c\" not "
                                        "found"));
    world_done(&w);
}

/* --- Pools --- */

struct pool {
    const char *topology; /* ",'nodeTopology':…" */
    const char *amounts;  /* ",'capacity':…" */
    const char *class;    /* NULL: fast */
};

struct pool_row {
    const char *scenario;
    const char *driver; /* of storageCapacity; NULL: there is none */
    struct pool pools[2];
    const char *asks;
    bool has_space;
};

#define IN_A ",'nodeTopology':{'matchLabels':{'zone':'a'}}"
#define IN_B ",'nodeTopology':{'matchLabels':{'zone':'b'}}"
#define ANYWHERE ",'nodeTopology':{}"
#define TEN ",'capacity':'10Gi'"

static void add_pools(struct world *w, const struct pool_row *row)
{
    char body[1024];

    if (row->driver) {
        (void)snprintf(body, sizeof body,
                       "{'apiVersion':'storage.k8s.io/v1','kind':'CSIDriver','metadata':{'name':'x.csi'},"
                       "'spec':{'storageCapacity':%s}}",
                       row->driver);
        ASSERT_SENT(&w->served, 201, "POST", DRIVERS, body);
    }
    for (unsigned i = 0; i < 2 && row->pools[i].topology; i++) {
        (void)snprintf(body, sizeof body,
                       "{'apiVersion':'storage.k8s.io/v1','kind':'CSIStorageCapacity','metadata':{'name':"
                       "'k%u'},'storageClassName':'%s'%s%s}",
                       i, row->pools[i].class ? row->pools[i].class : "fast", row->pools[i].topology,
                       row->pools[i].amounts);
        ASSERT_SENT(&w->served, 201, "POST", CAPACITIES, body);
    }
}

static void play_pool(const struct pool_row *row)
{
    struct world w;

    scheduling_init(&w);
    add_class(&w, "fast", "x.csi", WFFC, "");
    add_node(&w, "n1", "'zone':'a'", "");
    add_pools(&w, row);
    add_claim(&w, "c", row->asks, RWO, FAST);
    add_pod(&w, "p", "c", "", "");
    world_start(&w);
    world_settle(&w);
    look_at_claim(&w, "c");
    if (strcmp(annotation(&w, ANN_SELECTED_NODE), row->has_space ? "n1" : "-") != 0)
        fail_msg("%s: selected-node is %s", row->scenario, annotation(&w, ANN_SELECTED_NODE));
    if (!row->has_space)
        assert_pending(&w, "p", "Unschedulable", NO_SPACE);
    world_done(&w);
}

/* scheduler-49 scheduler-50 scheduler-51 scheduler-52 scheduler-53 */
TEST(scheduler_49_to_53_pools)
{
    static const struct pool_row rows[] = {
        { "49", "true", { { 0 } }, "1Gi", false },
        { "50 too much", "true", { { IN_A, TEN, NULL } }, "20Gi", false },
        { "50 enough", "true", { { IN_A, TEN, NULL } }, "5Gi", true },
        { "50 all of it", "true", { { IN_A, TEN, NULL } }, "10Gi", true },
        { "50 elsewhere", "true", { { IN_B, TEN, NULL } }, "5Gi", false },
        { "50 of another class", "true", { { IN_A, TEN, "slow" } }, "5Gi", false },
        { "50 the second one", "true", { { IN_B, TEN, NULL }, { IN_A, TEN, NULL } }, "5Gi", true },
        { "51", "true", { { IN_A, ",'maximumVolumeSize':'1Gi','capacity':'100Gi'", NULL } }, "5Gi", false },
        { "51 the size alone", "true", { { IN_A, ",'maximumVolumeSize':'5Gi'", NULL } }, "5Gi", true },
        { "51 neither", "true", { { IN_A, "", NULL } }, "5Gi", false },
        { "52 no topology", "true", { { "", TEN, NULL } }, "5Gi", false },
        { "52 everywhere", "true", { { ANYWHERE, TEN, NULL } }, "5Gi", true },
        { "53", "false", { { IN_B, TEN, NULL } }, "5Gi", true },
        { "53 no driver", NULL, { { 0 } }, "5Gi", true },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        play_pool(&rows[i]);
}

TEST(scheduler_54_nothing_is_deducted)
{
    static const struct pool_row pool = { "54", "true", { { IN_A, ",'capacity':'60Gi'", NULL } }, "", true };
    struct world w;

    scheduling_init(&w);
    add_class(&w, "fast", "x.csi", WFFC, "");
    add_node(&w, "n1", "'zone':'a'", "");
    add_pools(&w, &pool);
    add_claim(&w, "c", "50Gi", RWO, FAST);
    add_claim(&w, "d", "50Gi", RWO, FAST);
    add_pod(&w, "p", "c", "d", "");
    world_start(&w);
    world_settle(&w);
    assert_selected(&w, "c", "n1");
    assert_selected(&w, "d", "n1");
    world_done(&w);
}

/* A pool that grows, and a driver that no longer counts, bring the pod back. */
TEST(pools_that_change)
{
    static const struct pool_row pool = { "", "true", { { IN_A, TEN, NULL } }, "", true };

    for (int is_driver = 0; is_driver < 2; is_driver++) {
        struct world w;

        scheduling_init(&w);
        add_class(&w, "fast", "x.csi", WFFC, "");
        add_node(&w, "n1", "'zone':'a'", "");
        add_pools(&w, &pool);
        add_claim(&w, "c", "20Gi", RWO, FAST);
        add_pod(&w, "p", "c", "", "");
        world_start(&w);
        world_settle(&w);
        assert_pending(&w, "p", "Unschedulable", NO_SPACE);
        if (is_driver)
            ASSERT_SENT(&w.served, 200, "MERGE", DRIVERS "/x.csi", "{'spec':{'storageCapacity':false}}");
        else
            ASSERT_SENT(&w.served, 200, "MERGE", CAPACITIES "/k0", "{'capacity':'20Gi'}");
        world_settle(&w);
        assert_selected(&w, "c", "n1");
        world_done(&w);
    }
}

static const struct unfit unfit[] = {
    { "scheduler_47_the_second_write_conflicts", FAULT_ANY, "is about a fault of its own" },
    { "scheduler_48_time_is_up", FAULT_ANY, "is about time" },
    { "what_ends_a_wait", FAULT_ANY, "looks at the moment of a failure" },
    { "what_ends_a_wait_for_provisioning", FAULT_ANY, "looks at the moment of a failure" },
    { "provisioned_elsewhere", FAULT_ANY, "looks at the moment of a failure" },
    { "the_claim_is_replaced", FAULT_ANY, "looks at the moment of a failure" },
    { 0 },
};

REPLAYED_MAIN(unfit)
