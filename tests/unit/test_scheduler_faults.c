/* Pods that meet: two for one volume, two for one claim; and pods, claims and nodes that go at every moment
 * of a binding. All of it is played again with a fault at every request (test_binder_replay.h); one pod with
 * volumes of either kind is in test_scheduler_volumes.c and test_scheduler_provision.c. */
#include "tests/unit/test_scheduler.h"

#include "tests/unit/test_binder_objects.h"
#include "tests/unit/test_binder_replay.h"

#define WFFC "WaitForFirstConsumer"
#define LOCAL "local"
#define NO_PROVISIONER "kubernetes.io/no-provisioner"
#define CLASS_OF ",'storageClassName':'" LOCAL "'"
#define NO_FINALIZERS "{'metadata':{'finalizers':null}}"
/* More than the requests of a pod that nothing happens to. */
#define MOMENTS 9

static void build(struct world *w, const char *provisioner)
{
    scheduling_init(w);
    add_class(w, LOCAL, provisioner, WFFC, "");
    add_node(w, "n1", "", "");
    add_node(w, "n2", "", "");
}

static void put_local(struct world *w, const char *name, const char *node)
{
    add_local(w, name, "5Gi", LOCAL, node);
    patch_volume(w, name, "", NO_FINALIZERS);
}

static void put_claim(struct world *w, const char *name)
{
    add_claim(w, name, "5Gi", RWO, CLASS_OF);
    patch_claim(w, name, "", NO_FINALIZERS);
}

static bool is_there(struct world *w, const char *path)
{
    return send_request(&w->served, "GET", path, NULL) == 200;
}

/* How many of the volumes say that they are the claim's. */
static unsigned count_volumes_of(struct world *w, const char *claim)
{
    unsigned count = 0;
    char path[64], uid[64];

    look_at_claim(w, claim);
    uid_of_last(w, uid);
    ASSERT_SENT(&w->served, 200, "GET", VOLUMES, NULL);
    for (size_t i = 0, n = got_items(&w->served); i < n; i++) {
        (void)snprintf(path, sizeof path, "items/%zu/spec/claimRef/uid", i);
        count += strcmp(got(&w->served, path), uid) == 0;
    }
    return count;
}

/* The claim has exactly one volume, and the pod is on the node that reaches it: n1 for pv1. */
static void assert_placed(struct world *w, const char *pod, const char *claim)
{
    char volume[64];

    look_at_claim(w, claim);
    (void)snprintf(volume, sizeof volume, "%s", got(&w->served, "spec/volumeName"));
    assert_bound(w, claim, volume);
    ASSERT_INT(1, count_volumes_of(w, claim));
    assert_on(w, pod, strstr(volume, "1") ? "n1" : "n2");
}

/* Bound once, unless a failure hid that it was. */
static void assert_bound_once(const struct world *w, const char *pod)
{
    char line[128];
    unsigned count;

    (void)snprintf(line, sizeof line, "POST " PODS "/%s/binding", pod);
    count = count_writes(w, line);
    if (count != 1 && (count == 0 || plan.fault == TAP_NONE))
        fail_msg("%s was bound %u times\n%s", pod, count, buf_cstr(&w->log));
}

/* --- Pods that meet --- */

TEST(two_pods_for_one_volume)
{
    struct world w;
    bool is_first;

    build(&w, NO_PROVISIONER);
    w.is_open = true;
    put_local(&w, "pv1", "n1");
    put_claim(&w, "a");
    put_claim(&w, "b");
    add_pod(&w, "p", "a", "", "");
    add_pod(&w, "q", "b", "", "");
    world_start(&w);
    world_settle(&w);
    ASSERT_VOLUME(&w, "pv1", "Bound", "status/phase");
    is_first = strcmp(got(&w.served, "spec/claimRef/name"), "a") == 0;
    assert_placed(&w, is_first ? "p" : "q", is_first ? "a" : "b");
    assert_on(&w, is_first ? "q" : "p", "");
    ASSERT_CLAIM(&w, is_first ? "b" : "a", "Pending", "status/phase");
    /* Another volume, and the other pod has one too. */
    put_local(&w, "pv2", "n2");
    world_settle(&w);
    assert_placed(&w, "p", "a");
    assert_placed(&w, "q", "b");
    assert_bound_once(&w, "p");
    assert_bound_once(&w, "q");
    world_done(&w);
}

TEST(two_pods_with_one_claim)
{
    struct world w;

    build(&w, NO_PROVISIONER);
    w.is_open = true; /* what fails for one of them the other tells too */
    put_local(&w, "pv1", "n1");
    put_local(&w, "pv2", "n2");
    put_claim(&w, "c");
    add_pod(&w, "p", "c", "", "");
    add_pod(&w, "q", "c", "", "");
    world_start(&w);
    world_settle(&w);
    assert_placed(&w, "p", "c");
    assert_placed(&w, "q", "c");
    assert_bound_once(&w, "p");
    assert_bound_once(&w, "q");
    world_done(&w);
}

static void provision(struct world *w, const char *claim)
{
    char volume[64], rest[1024];
    const char *node;

    look_at_claim(w, claim);
    node = annotation(w, ANN_SELECTED_NODE);
    assert_string_not_equal(node, "-");
    (void)snprintf(volume, sizeof volume, "pv%s", node + 1);
    (void)snprintf(rest, sizeof rest,
                   CLASS_OF "%s,'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':"
                            "'kubernetes.io/hostname','operator':'In','values':['n%s']}]}]}}",
                   ref_to_claim(w, claim), volume + 2);
    add_volume(w, volume, "5Gi", RWO, rest);
}

TEST(two_pods_with_one_claim_that_is_provisioned)
{
    struct world w;

    build(&w, "x.csi");
    w.is_open = true;
    put_claim(&w, "c");
    add_pod(&w, "p", "c", "", "");
    add_pod(&w, "q", "c", "", "");
    world_start(&w);
    world_settle(&w);
    if (plan.fault == TAP_NONE) /* the second went where the first was promised */
        ASSERT_INT(0, count_events(&w, "q", "FailedScheduling", NULL));
    provision(&w, "c");
    world_settle(&w);
    assert_placed(&w, "p", "c");
    assert_placed(&w, "q", "c");
    assert_bound_once(&w, "p");
    assert_bound_once(&w, "q");
    world_done(&w);
}

/* The one that was to write could not, when the other waited for it already, and is gone: the other goes on.
 */
TEST(a_pod_that_counts_on_another)
{
    struct world w;

    build(&w, NO_PROVISIONER);
    w.is_alone = true;
    put_local(&w, "pv1", "n1");
    set_phase(&w, "pv1", "Available");
    put_local(&w, "before", "n1");
    set_phase(&w, "before", "Available");
    put_claim(&w, "a");
    put_claim(&w, "c");
    add_pod(&w, "p", "a", "c", "");
    add_pod(&w, "q", "c", "", "");
    world_start(&w);
    fail_next(&w, TAP_ERROR, "PATCH " VOLUMES "/pv1", 1);
    ASSERT_SENT(&w.served, 200, "GET", VOLUMES "/pv1", NULL); /* both had their turn */
    ASSERT_GOT(&w.served, "-", "spec/claimRef");
    ASSERT_SENT(&w.served, 200, "DELETE", PODS "/p", NULL);
    world_settle_for(&w, 10);
    ASSERT_VOLUME(&w, "pv1", "c", "spec/claimRef/name");
    ASSERT_INT(2, count_writes(&w, "PATCH " VOLUMES "/pv1"));
    world_done(&w);
}

/* --- At every moment --- */

/* Runs until that many requests were sent, or all that there are without time passing. */
static void run_until(struct world *w, unsigned at)
{
    unsigned turns = 0;

    while (w->sent < at && (loop_poll(w->served.loop) || w->is_crashing)) {
        if (w->is_crashing)
            world_rest(w);
        assert_true(++turns < 10000);
    }
}

static void build_pair(struct world *w)
{
    build(w, NO_PROVISIONER);
    w->is_open = true;
    put_local(w, "pv1", "n1");
    put_local(w, "pv2", "n2");
    put_claim(w, "c");
    add_pod(w, "p", "c", "", "");
    world_start(w);
}

/* The next pod of the claim finds what the first one left. */
TEST(a_pod_goes_while_it_is_bound)
{
    for (unsigned at = 1; at <= MOMENTS; at++) {
        struct world w;

        build_pair(&w);
        run_until(&w, at);
        ASSERT_SENT(&w.served, 200, "DELETE", PODS "/p", NULL);
        world_settle(&w);
        assert_true(count_volumes_of(&w, "c") <= 1);
        if (is_there(&w, PODS "/p")) /* its node ends it */
            assert_placed(&w, "p", "c");
        add_pod(&w, "q", "c", "", "");
        world_settle(&w);
        assert_placed(&w, "q", "c");
        assert_bound_once(&w, "q");
        world_done(&w);
    }
}

/* It comes back, and the pod is where its volume is. */
TEST(a_node_goes_while_a_pod_is_bound)
{
    for (unsigned at = 1; at <= MOMENTS; at++) {
        struct world w;

        build_pair(&w);
        run_until(&w, at);
        ASSERT_SENT(&w.served, 200, "DELETE", NODES "/n1", NULL);
        world_rest(&w);
        assert_true(count_volumes_of(&w, "c") <= 1);
        add_node(&w, "n1", "", "");
        world_settle(&w);
        assert_placed(&w, "p", "c");
        world_done(&w);
    }
}

/* So does a claim, with another of its name right behind it. */
TEST(a_claim_is_replaced_while_its_pod_is_bound)
{
    for (unsigned at = 1; at <= MOMENTS; at++) {
        struct world w;

        build_pair(&w);
        run_until(&w, at);
        ASSERT_SENT(&w.served, 200, "DELETE", CLAIMS "/c", NULL);
        put_claim(&w, "c");
        world_settle(&w);
        assert_true(count_volumes_of(&w, "c") <= 1);
        look_at_pod(&w, "p");
        assert_string_not_equal(got(&w.served, "spec/nodeName"), "-");
        look_at_claim(&w, "c");
        if (strcmp(got(&w.served, "spec/volumeName"), "-") != 0) /* else the pod had been bound by then */
            assert_placed(&w, "p", "c");
        world_done(&w);
    }
}

static const struct unfit unfit[] = {
    { "a_pod_that_counts_on_another", FAULT_ANY, "is about a fault of its own" },
    { 0 },
};

REPLAYED_MAIN(unfit)
