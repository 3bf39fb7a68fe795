/* Classes: which one a claim has, gets or waits for. */
#include "tests/unit/test_binder_objects.h"
#include "tests/unit/test_binder_replay.h"

#define NOTHING_FITS "no persistent volumes available for this claim and no storage class is set"
#define FIRST_CONSUMER "waiting for first consumer to be created before binding"
#define DELAYED ",'volumeBindingMode':'WaitForFirstConsumer'"
#define GOLD ",'storageClassName':'gold'"
#define PINNED                                                                                          \
    ",'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'zone','operator':'" \
    "Exists'}]}]}}"

/* --- The default --- */

TEST(S83_a_default_class_that_comes_later_is_taken)
{
    struct world w;
    char volume[128], uid[64];

    world_init(&w);
    make_claim(&w, "c", "", "");
    uid_of_last(&w, uid);
    (void)snprintf(volume, sizeof volume, "pvc-%s", uid);
    world_start(&w);
    world_settle(&w);
    assert_told(&w, "c", "Normal", "FailedBinding", NOTHING_FITS);
    assert_writes(&w, 0);
    make_default_class(&w, "gold", HOST_PATH_PLUGIN);
    world_still(&w);
    assert_bound(&w, "c", volume);
    ASSERT_CLAIM(&w, "c", "gold", "spec/storageClassName");
    assert_done(1, scripted.provisioned);
    assert_number(1, number_of(&w, "retroactive_storageclass_total"));
    assert_number(0, number_of(&w, "retroactive_storageclass_errors_total"));
    world_done(&w);
}

TEST(S84_a_class_once_said_is_never_changed)
{
    static const struct {
        const char *meta;
        const char *spec;
        const char *class; /* afterwards */
    } rows[] = {
        { "", ",'storageClassName':''", "" },
        { ",'annotations':{'" ANN_CLASS_BETA "':''}", "", "-" },
        { ",'annotations':{'" ANN_CLASS_BETA "':'old'}", "", "-" },
        { "", ",'storageClassName':'mine'", "mine" },
        { "", ",'volumeName':'missing'", "-" }, /* one with a volume's name gets none either */
    };

    for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
        struct world w;

        world_init(&w);
        if (i % 2)
            world_start(&w);
        make_claim(&w, "c", rows[i / 2].meta, rows[i / 2].spec); /* before: admission has a default too */
        make_default_class(&w, "gold", HOST_PATH_PLUGIN);
        if (i % 2 == 0)
            world_start(&w);
        world_settle(&w);
        ASSERT_CLAIM(&w, "c", rows[i / 2].class, "spec/storageClassName");
        ASSERT_GOT(&w.served, "Pending", "status/phase");
        assert_writes(&w, 0);
        world_done(&w);
    }
}

TEST(S85_of_two_defaults_the_newest_then_the_first_by_name)
{
    static const struct {
        const char *first;
        uint64_t between_s;
        const char *second;
        const char *taken;
    } rows[] = {
        { "a", 5, "b", "b" },
        { "b", 5, "a", "a" },
        { "b", 0, "a", "a" },
        { "a", 0, "b", "a" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world w;

        world_init(&w);
        make_claim(&w, "c", "", "");
        make_default_class(&w, rows[i].first, HOST_PATH_PLUGIN);
        served_pass(&w.served, rows[i].between_s);
        make_default_class(&w, rows[i].second, HOST_PATH_PLUGIN);
        world_start(&w);
        world_settle(&w);
        ASSERT_CLAIM(&w, "c", rows[i].taken, "spec/storageClassName");
        world_done(&w);
    }
}

TEST(S86_a_volume_without_class_comes_before_the_default)
{
    struct world w;

    world_init(&w);
    make_claim(&w, "c", "", "");
    make_volume(&w, "p", "", HOST_PATH, "");
    set_phase(&w, "p", "Available");
    make_default_class(&w, "gold", HOST_PATH_PLUGIN);
    world_start(&w);
    world_settle(&w);
    assert_bound(&w, "c", "p");
    ASSERT_CLAIM(&w, "c", "-", "spec/storageClassName");
    assert_done(0, scripted.provisioned);
    assert_writes(&w, 4);
    world_done(&w);
}

TEST(S87_a_class_that_cannot_be_set_is_counted_and_tried_again)
{
    struct world w;

    world_init(&w);
    make_claim(&w, "c", "", "");
    make_default_class(&w, "gold", "vendor.io/x");
    fail_next(&w, TAP_ERROR, "PATCH " CLAIMS "/c", 1);
    world_start(&w);
    world_still(&w);
    ASSERT_CLAIM(&w, "c", "-", "spec/storageClassName");
    assert_number(1, number_of(&w, "retroactive_storageclass_total"));
    assert_number(1, number_of(&w, "retroactive_storageclass_errors_total"));
    world_settle(&w);
    ASSERT_CLAIM(&w, "c", "gold", "spec/storageClassName");
    assert_number(2, number_of(&w, "retroactive_storageclass_total"));
    assert_number(1, number_of(&w, "retroactive_storageclass_errors_total"));
    world_done(&w);
}

/* --- Waiting for consumers --- */

static void delayed_claim(struct world *w)
{
    make_class(w, "gold", HOST_PATH_PLUGIN, DELAYED);
    make_claim(w, "c", "", GOLD);
}

static void waits_for_consumer(struct world *w)
{
    assert_told(w, "c", "Normal", "WaitForFirstConsumer", FIRST_CONSUMER);
    assert_times(1, count_events(w, "c", NULL, NULL));
    ASSERT_CLAIM(w, "c", "Pending", "status/phase");
    assert_writes(w, 0);
    assert_done(0, scripted.provisioned);
}

TEST(S88_without_a_pod_the_claim_waits_for_its_first_consumer)
{
    in_both_orders(delayed_claim, waits_for_consumer);
}

/* Pods that do not count: over, placed, of another claim. */
static void delayed_claim_with_pods(struct world *w)
{
    make_pod(w, "placed", "c", "n1");
    make_pod(w, "over", "c", "");
    set_pod_phase(w, "over", "Succeeded");
    make_pod(w, "failed", "c", "");
    set_pod_phase(w, "failed", "Failed");
    make_pod(w, "foreign", "d", "");
    delayed_claim(w);
}

TEST(S88_pods_that_are_placed_or_over_are_none)
{
    in_both_orders(delayed_claim_with_pods, waits_for_consumer);
}

TEST(S88_a_status_from_before_is_cleared)
{
    struct world w;

    world_init(&w);
    delayed_claim(&w);
    patch_claim(&w, "c", "status",
                "{'status':{'phase':'Bound','capacity':{'storage':'1Gi'},'accessModes':[" RWO "]}}");
    world_start(&w);
    world_settle(&w);
    ASSERT_CLAIM(&w, "c", "Pending", "status/phase");
    ASSERT_GOT(&w.served, "-", "status/capacity");
    ASSERT_GOT(&w.served, "-", "status/accessModes");
    assert_writes(&w, 1);
    world_done(&w);
}

TEST(S89_pods_without_a_node_are_named)
{
    struct world w;

    world_init(&w);
    delayed_claim(&w);
    world_start(&w);
    world_settle(&w);
    assert_told(&w, "c", "Normal", "WaitForFirstConsumer", FIRST_CONSUMER);
    make_pod(&w, "b", "c", "");
    world_still(&w);
    assert_told(&w, "c", "Normal", "WaitForPodScheduled", "waiting for pod b to be scheduled");
    make_pod(&w, "a", "c", "");
    world_still(&w);
    assert_times(1, count_events(&w, "c", "WaitForPodScheduled", "waiting for pods a,b to be scheduled"));
    assert_times(2, count_told(&w, "c", "WaitForPodScheduled"));
    assert_writes(&w, 0);
    world_done(&w);
}

/* Several claims, since one that does not want a volume passes it on to the next. */
static void delayed_claims_and_volume(struct world *w)
{
    char volume[512];

    make_class(w, "gold", HOST_PATH_PLUGIN, DELAYED);
    make_claim(w, "c", "", GOLD);
    make_claim(w, "d", "", GOLD);
    make_claim(w, "e", "", GOLD);
    (void)snprintf(volume, sizeof volume, "%s", GOLD);
    make_volume(w, "p", "", HOST_PATH, volume);
}

static void volume_stays_free(struct world *w)
{
    ASSERT_VOLUME(w, "p", "Available", "status/phase");
    ASSERT_GOT(&w->served, "-", "spec/claimRef");
    assert_writes(w, 1);
    ASSERT_CLAIM(w, "c", "Pending", "status/phase");
    assert_told(w, "c", "Normal", "WaitForFirstConsumer", FIRST_CONSUMER);
}

TEST(S90_a_free_volume_is_left_to_the_scheduler)
{
    in_both_orders(delayed_claims_and_volume, volume_stays_free);
}

TEST(S91_what_the_scheduler_chose_is_bound)
{
    static const char *const marks[] = { "yes", NULL };

    for (size_t i = 0; i < 2 * ARRAY_LEN(marks); i++) {
        const char *mark = marks[i / 2];
        struct world w;
        char spec[1024];

        world_init(&w);
        if (i % 2)
            world_start(&w);
        delayed_claim(&w);
        (void)snprintf(spec, sizeof spec, "%s%s", ref_to_claim(&w, "c"), GOLD);
        make_volume(&w, "p", mark ? annotated(ANN_BOUND_BY_CONTROLLER, mark) : "", HOST_PATH, spec);
        if (i % 2 == 0)
            world_start(&w);
        world_settle(&w);
        assert_bound(&w, "c", "p");
        assert_string_equal(annotation(&w, ANN_BOUND_BY_CONTROLLER), mark ? mark : "-");
        assert_writes(&w, 3);
        world_done(&w);
    }
}

static void selected_and_external(struct world *w)
{
    make_class(w, "gold", "vendor.io/x", DELAYED);
    make_volume(w, "p", "", HOST_PATH, GOLD);
    set_phase(w, "p", "Available");
    make_claim(w, "c", annotated(ANN_SELECTED_NODE, "n1"), GOLD);
}

static void somebody_outside_is_asked(struct world *w)
{
    ASSERT_CLAIM(w, "c", "Pending", "status/phase");
    ASSERT_GOT(&w->served, "-", "spec/volumeName");
    assert_string_equal(annotation(w, ANN_PROVISIONER), "vendor.io/x");
    assert_string_equal(annotation(w, ANN_PROVISIONER_BETA), "vendor.io/x");
    assert_string_equal(annotation(w, ANN_SELECTED_NODE), "n1");
    ASSERT_VOLUME(w, "p", "Available", "status/phase");
    ASSERT_GOT(&w->served, "-", "spec/claimRef");
    assert_times(1, count_told(w, "c", "ExternalProvisioning"));
    assert_times(1, count_events(w, "c", NULL, NULL));
}

TEST(S92_with_a_node_selected_it_is_provisioned)
{
    in_both_orders(selected_and_external, somebody_outside_is_asked);
}

/* The scheduler selects while the claim waits. */
TEST(S92_when_the_node_is_selected_later)
{
    struct world w;

    world_init(&w);
    make_class(&w, "gold", "vendor.io/x", DELAYED);
    make_claim(&w, "c", "", GOLD);
    world_start(&w);
    world_settle(&w);
    assert_writes(&w, 0);
    /* Present is enough. */
    patch_claim(&w, "c", "", "{'metadata':{'annotations':{'" ANN_SELECTED_NODE "':''}}}");
    world_still(&w);
    look_at_claim(&w, "c");
    assert_string_equal(annotation(&w, ANN_PROVISIONER), "vendor.io/x");
    assert_writes(&w, 1);
    world_done(&w);
}

/* --- Classes that are not there --- */

static void class_is_missing(struct world *w)
{
    make_claim(w, "c", "", ",'storageClassName':'x'");
    patch_claim(w, "c", "status", "{'status':{'capacity':{'storage':'1Gi'}}}");
}

static void missing_class_is_told(struct world *w)
{
    assert_told(w, "c", "Warning", "ProvisioningFailed", "storageclass.storage.k8s.io \"x\" not found");
    assert_times(1, count_events(w, "c", NULL, NULL));
    ASSERT_CLAIM(w, "c", "1Gi", "status/capacity/storage"); /* whatever it is, it stays */
    assert_writes(w, 0);
    make_volume(w, "p", "", HOST_PATH, ",'storageClassName':'x'");
    world_settle(w);
    assert_bound(w, "c", "p");
}

TEST(S93_a_missing_class_is_told_and_a_volume_of_its_name_taken)
{
    in_both_orders(class_is_missing, missing_class_is_told);
}

TEST(S93_a_class_that_comes_later_is_used)
{
    struct world w;

    world_init(&w);
    make_claim(&w, "c", "", GOLD);
    world_start(&w);
    world_settle(&w);
    make_class(&w, "gold", HOST_PATH_PLUGIN, "");
    world_still(&w);
    ASSERT_CLAIM(&w, "c", "Bound", "status/phase");
    world_done(&w);
}

/* --- Classes that may be on their way --- */

/* A volume that only some nodes reach, and a claim for it, before their class. */
static void pinned_pair(struct world *w)
{
    make_volume(w, "p", "", HOST_PATH, GOLD PINNED);
    make_claim(w, "c", "", GOLD);
}

static void is_unbound(struct world *w)
{
    ASSERT_VOLUME(w, "p", "-", "spec/claimRef");
    ASSERT_CLAIM(w, "c", "-", "spec/volumeName");
    ASSERT_GOT(&w->served, "Pending", "status/phase");
}

static void pass_ms(struct world *w, uint64_t ms)
{
    loop_advance(w->served.loop, &w->served.clock, ms * NS_PER_MS);
    world_rest(w);
}

static void in_the_first_second(void (*then)(struct world *w))
{
    for (int is_early = 0; is_early < 2; is_early++) {
        struct world w;

        world_init(&w);
        if (is_early) {
            world_start(&w);
            world_settle(&w); /* its own first second is over */
        }
        pinned_pair(&w);
        if (!is_early)
            world_start(&w);
        world_rest(&w);
        is_unbound(&w);
        assert_times(0, count_events(&w, "c", NULL, NULL));
        pass_ms(&w, 999);
        is_unbound(&w);
        then(&w);
        world_done(&w);
    }
}

static void time_is_over(struct world *w)
{
    pass_ms(w, 1);
    world_still(w);
    assert_bound(w, "c", "p");
}

TEST(S93_a_volume_with_node_affinity_is_bound_after_a_second)
{
    in_the_first_second(time_is_over);
}

static void delayed_class_comes(struct world *w)
{
    make_class(w, "gold", "kubernetes.io/no-provisioner", DELAYED);
    world_settle(w);
    is_unbound(w);
    assert_told(w, "c", "Normal", "WaitForFirstConsumer", FIRST_CONSUMER);
    assert_times(1, count_events(w, "c", NULL, NULL));
    ASSERT_VOLUME(w, "p", "Available", "status/phase");
}

TEST(S93_a_class_that_comes_within_the_second_decides)
{
    in_the_first_second(delayed_class_comes);
}

static void immediate_class_comes(struct world *w)
{
    make_class(w, "gold", "kubernetes.io/no-provisioner", "");
    world_still(w);
    assert_bound(w, "c", "p");
}

TEST(S93_an_immediate_class_ends_the_wait)
{
    in_the_first_second(immediate_class_comes);
}

static void free_volume_comes(struct world *w)
{
    make_volume(w, "a", "", HOST_PATH, GOLD);
    world_still(w);
    assert_bound(w, "c", "a");
    ASSERT_VOLUME(w, "p", "Available", "status/phase");
}

TEST(S93_a_volume_without_node_affinity_that_comes_is_bound_at_once)
{
    in_the_first_second(free_volume_comes);
}

/* Also when the one with node affinity would be the better match. */
TEST(S93_a_volume_without_node_affinity_is_bound_at_once)
{
    struct world w;

    world_init(&w);
    make_volume(&w, "p", "", HOST_PATH, GOLD PINNED);
    make_volume(&w, "q", "", HOST_PATH, GOLD);
    world_start(&w);
    make_claim(&w, "c", "", GOLD);
    world_still(&w);
    assert_bound(&w, "c", "q");
    world_done(&w);
}

TEST(S93_a_volume_that_is_named_is_bound_at_once)
{
    for (int is_kept = 0; is_kept < 2; is_kept++) {
        struct world w;

        world_init(&w);
        world_start(&w);
        make_volume(&w, "p", "", HOST_PATH,
                    is_kept ? GOLD PINNED ",'claimRef':{'namespace':'default','name':'c'}" : GOLD PINNED);
        make_claim(&w, "c", "", is_kept ? GOLD : GOLD ",'volumeName':'p'");
        world_still(&w);
        assert_bound(&w, "c", "p");
        world_done(&w);
    }
}

/* Whoever has waited for longer takes what comes, with or without its class. */
TEST(S93_a_claim_that_is_not_new_takes_any_volume_at_once)
{
    struct world w;

    world_init(&w);
    world_start(&w);
    make_claim(&w, "c", "", GOLD);
    world_settle(&w);
    make_volume(&w, "p", "", HOST_PATH, GOLD PINNED);
    world_still(&w);
    assert_bound(&w, "c", "p");
    world_done(&w);
}

/* What the last binder knew is forgotten. */
TEST(S93_a_restart_begins_the_second_again)
{
    struct world w;

    world_init(&w);
    pinned_pair(&w);
    world_start(&w);
    pass_ms(&w, 999);
    world_kill(&w);
    world_start(&w);
    pass_ms(&w, 999);
    is_unbound(&w);
    time_is_over(&w);
    world_done(&w);
}

/* Volumes that no claim may take yet wake nobody. */
TEST(S93_many_new_claims_are_looked_at_twice_each)
{
    enum { PAIRS = 40 };
    struct world w;
    char name[16];

    world_init(&w);
    world_start(&w);
    world_settle(&w);
    for (unsigned i = 0; i < PAIRS; i++) {
        (void)snprintf(name, sizeof name, "c%u", i);
        make_claim(&w, name, "", GOLD);
    }
    world_rest(&w);
    for (unsigned i = 0; i < PAIRS; i++) {
        (void)snprintf(name, sizeof name, "p%u", i);
        make_volume(&w, name, "", HOST_PATH, GOLD PINNED);
    }
    world_settle(&w);
    for (unsigned i = 0; i < PAIRS; i++) {
        (void)snprintf(name, sizeof name, "c%u", i);
        ASSERT_CLAIM(&w, name, "Bound", "status/phase");
    }
    /* When it comes (two searches), when its second is over, and after W1. */
    assert_true(number_of(&w, "berth_match_seconds_count") <= 4 * PAIRS);
    world_done(&w);
}

TEST(S94_a_class_without_a_mode_is_an_error)
{
    struct world w;

    world_init(&w);
    plant(&w, KIND_CLASS,
          "'name':'gold','uid':'u1'},'apiVersion':'storage.k8s.io/v1','kind':'StorageClass',"
          "'provisioner':'" HOST_PATH_PLUGIN "','reclaimPolicy':'Delete'}");
    make_claim(&w, "c", "", GOLD);
    make_volume(&w, "p", "", HOST_PATH, GOLD);
    world_start(&w);
    world_settle(&w);
    ASSERT_CLAIM(&w, "c", "Pending", "status/phase");
    assert_times(0, count_events(&w, "c", NULL, NULL));
    ASSERT_VOLUME(&w, "p", "Available", "status/phase");
    assert_writes(&w, 1);
    /* It is tried again, and not only when something happens. */
    assert_true(number_of(&w, "workqueue_retries_total{name=\"claims\"}") > 3);
    /* A class that is mended helps at once. */
    ASSERT_SENT(&w.served, 200, "DELETE", CLASSES "/gold", NULL);
    make_class(&w, "gold", HOST_PATH_PLUGIN, "");
    world_still(&w);
    assert_bound(&w, "c", "p");
    world_done(&w);
}

static const struct unfit unfit[] = {
    { "S87_a_class_that_cannot_be_set_is_counted_and_tried_again", FAULT_ANY, "is about a fault of its own" },
    { "S93_many_new_claims_are_looked_at_twice_each", FAULT_ANY, "counts searches" },
    { 0 },
};

REPLAYED_MAIN(unfit)
