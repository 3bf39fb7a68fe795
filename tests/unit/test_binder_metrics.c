/* The binder's numbers: what there is of volumes and claims, and how long matching takes. */
#include "tests/unit/test_binder_objects.h"

#define CSI_SOURCE "'csi':{'driver':'csi.example.com','volumeHandle':'h'}"
#define NFS_SOURCE "'nfs':{'server':'s','path':'/x'}"
#define LOCAL_SOURCE                                                                                     \
    "'local':{'path':'/x'},'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key'" \
    ":'k','operator':'Exists'}]}]}}"

#define TOTAL(plugin, mode) "pv_collector_total_pv_count{plugin_name=\"" plugin "\",volume_mode=\"" mode "\"}"
#define BOUND_PV(class) "pv_collector_bound_pv_count{storage_class=\"" class "\"}"
#define UNBOUND_PV(class) "pv_collector_unbound_pv_count{storage_class=\"" class "\"}"
#define CLAIM_LABELS(class, vac) \
    "{namespace=\"default\",storage_class=\"" class "\",volume_attributes_class=\"" vac "\"}"
#define BOUND_PVC(class, vac) "pv_collector_bound_pvc_count" CLAIM_LABELS(class, vac)
#define UNBOUND_PVC(class, vac) "pv_collector_unbound_pvc_count" CLAIM_LABELS(class, vac)

struct number {
    const char *line;
    double expected; /* -1: no such line */
};

#define ASSERT_NUMBERS(w, ...)                                                           \
    do {                                                                                 \
        const struct number numbers_[] = { __VA_ARGS__ };                                \
        for (size_t i_ = 0; i_ < ARRAY_LEN(numbers_); i_++) {                            \
            double got_ = number_of(w, numbers_[i_].line);                               \
            if (got_ < numbers_[i_].expected || got_ > numbers_[i_].expected)            \
                fail_msg("line %d: %s is %g, not %g", __LINE__, numbers_[i_].line, got_, \
                         numbers_[i_].expected);                                         \
        }                                                                                \
    } while (0)

static void remove_object(struct world *w, const char *path)
{
    ASSERT_SENT(&w->served, 200, "MERGE", path, "{'metadata':{'finalizers':null}}");
    ASSERT_SENT(&w->served, 200, "DELETE", path, NULL);
}

static void make_volumes(struct world *w)
{
    make_volume(w, "h1", "", HOST_PATH, ",'storageClassName':'slow'");
    make_volume(w, "h2", "", HOST_PATH, ",'storageClassName':'slow','volumeMode':'Block'");
    make_volume(w, "n", "", NFS_SOURCE, "");
    make_volume(w, "l", "", LOCAL_SOURCE, "");
    make_volume(w, "s", ",'annotations':{'" ANN_CLASS_BETA "':'other'}", CSI_SOURCE,
                ",'storageClassName':'fast'");
}

static void assert_volumes(struct world *w)
{
    ASSERT_NUMBERS(w, { TOTAL(HOST_PATH_PLUGIN, "Filesystem"), 1 }, { TOTAL(HOST_PATH_PLUGIN, "Block"), 1 },
                   { TOTAL("kubernetes.io/nfs", "Filesystem"), 1 },
                   { TOTAL("kubernetes.io/csi:csi.example.com", "Filesystem"), 1 },
                   { TOTAL("N/A", "Filesystem"), 1 }, { UNBOUND_PV("slow"), 2 }, { UNBOUND_PV(""), 2 },
                   { UNBOUND_PV("fast"), 1 }, /* the spec's class, whatever the annotation says */
                   { UNBOUND_PV("other"), -1 }, { BOUND_PV("slow"), -1 });
}

TEST(volumes_are_counted_by_plugin_mode_and_class)
{
    for (int is_early = 0; is_early < 2; is_early++) {
        struct world w;

        world_init(&w);
        w.options.plugins = plugins_builtin;
        if (is_early)
            world_start(&w);
        make_volumes(&w);
        if (!is_early)
            world_start(&w);
        world_settle(&w);
        assert_volumes(&w);
        remove_object(&w, VOLUMES "/h1");
        remove_object(&w, VOLUMES "/s");
        world_settle(&w);
        ASSERT_NUMBERS(&w, { TOTAL(HOST_PATH_PLUGIN, "Filesystem"), 0 },
                       { TOTAL("kubernetes.io/csi:csi.example.com", "Filesystem"), 0 },
                       { TOTAL(HOST_PATH_PLUGIN, "Block"), 1 }, { UNBOUND_PV("slow"), 1 },
                       { UNBOUND_PV("fast"), 0 });
        world_done(&w);
    }
}

TEST(claims_are_counted_by_class_and_phase)
{
    struct world w;

    world_init(&w);
    world_start(&w);
    make_volume(&w, "p", "", HOST_PATH, ",'storageClassName':'slow'");
    make_claim(&w, "c", "", ",'storageClassName':'slow'");
    make_claim(&w, "d", "", ",'storageClassName':'slow','volumeAttributesClassName':'gold'");
    make_claim(&w, "e", ",'annotations':{'" ANN_CLASS_BETA "':'fast'}", "");
    world_settle(&w);
    ASSERT_NUMBERS(&w, { BOUND_PVC("slow", ""), 1 }, { UNBOUND_PVC("slow", ""), 0 },
                   { UNBOUND_PVC("slow", "gold"), 1 }, { UNBOUND_PVC("fast", ""), 1 }, /* what counts */
                   { BOUND_PVC("slow", "gold"), -1 }, { BOUND_PV("slow"), 1 }, { UNBOUND_PV("slow"), 0 });
    remove_object(&w, CLAIMS "/c");
    remove_object(&w, CLAIMS "/e");
    world_settle(&w);
    ASSERT_NUMBERS(&w, { BOUND_PVC("slow", ""), 0 }, { UNBOUND_PVC("fast", ""), 0 }, { BOUND_PV("slow"), 0 },
                   { UNBOUND_PV("slow"), 1 }, { UNBOUND_PVC("slow", "gold"), 1 });
    world_done(&w);
}

/* A binder that begins among objects counts each of them once; so does one that lists them again. */
TEST(what_was_there_before_is_counted_once)
{
    struct world w;

    world_init(&w);
    world_start(&w);
    make_volume(&w, "p", "", HOST_PATH, "");
    make_claim(&w, "c", "", ",'storageClassName':''");
    world_settle(&w);
    world_kill(&w);
    world_start(&w);
    world_settle(&w);
    ASSERT_NUMBERS(&w, { BOUND_PVC("", ""), 1 }, { UNBOUND_PVC("", ""), -1 }, { BOUND_PV(""), 1 },
                   { UNBOUND_PV(""), -1 });
    world_deafen(&w);
    world_hear(&w);
    world_settle(&w);
    ASSERT_NUMBERS(&w, { BOUND_PVC("", ""), 1 }, { BOUND_PV(""), 1 });
    world_done(&w);
}

TEST(searches_are_timed)
{
    struct world w;

    world_init(&w);
    world_start(&w);
    ASSERT_NUMBERS(&w, { "berth_match_seconds_count", 0 });
    make_claim(&w, "c", "", ",'storageClassName':''");
    world_settle(&w);
    ASSERT_NUMBERS(&w, { "berth_match_seconds_count", 1 }, { "berth_pending_claims", 1 });
    make_volume(&w, "p", "", HOST_PATH, "");
    world_settle(&w);
    assert_true(number_of(&w, "berth_match_seconds_count") > 1);
    ASSERT_NUMBERS(&w, { "berth_pending_claims", 0 }, { "berth_bind_seconds_count", 1 },
                   { "berth_match_seconds_sum", 0 }); /* virtual time stands still during a turn */
    world_done(&w);
}

TEST(numbers_outlive_the_binder)
{
    struct world w;

    world_init(&w);
    world_start(&w);
    make_claim(&w, "c", "", ",'storageClassName':''");
    world_settle(&w);
    ASSERT_NUMBERS(&w, { "berth_pending_claims", 1 });
    w.binder = binder_free(w.binder);
    ASSERT_NUMBERS(&w, { "berth_pending_claims", 0 });
    world_done(&w);
}

TEST_MAIN()
