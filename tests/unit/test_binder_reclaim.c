/* Reclaiming: what becomes of volumes whose claims are gone, and that nothing else is touched. */
#include "tests/unit/test_binder_objects.h"
#include "tests/unit/test_binder_replay.h"

#define GOLD ",'storageClassName':'gold'"
#define DELETES ",'persistentVolumeReclaimPolicy':'Delete'"
#define RECYCLES ",'persistentVolumeReclaimPolicy':'Recycle'"
#define LOCAL                                                                                             \
    "'local':{'path':'/x'},'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':" \
    "'k','operator':'Exists'}]}]}}"
#define NFS "'nfs':{'server':'s','path':'/x'}"
#define CSI "'csi':{'driver':'d.io','volumeHandle':'h'}"

/* A volume whose claim is gone. */
static void make_orphan(struct world *w, const char *meta, const char *source, const char *policy)
{
    char spec[1024];

    (void)snprintf(spec, sizeof spec, "%s%s", ref_to("c", "gone"), policy);
    make_volume(w, "p", meta, source, spec);
}

/* A pair, made by the plugin: the volume's name. */
static void provision_first(struct world *w, char volume[static 128])
{
    char uid[64];

    make_class(w, "gold", HOST_PATH_PLUGIN, "");
    make_claim(w, "c", "", GOLD);
    uid_of_last(w, uid);
    (void)snprintf(volume, 128, "pvc-%s", uid);
    world_start(w);
    world_settle(w);
    assert_bound(w, "c", volume);
    world_recount(w);
}

/* --- Delete --- */

TEST(S115_storage_and_object_go)
{
    struct world w;
    char volume[128];

    world_init(&w);
    provision_first(&w, volume);
    drop_claim(&w, "c");
    world_still(&w);
    assert_done(1, scripted.removed);
    assert_writes(&w, 3); /* Released, the finalizer, the deletion */
    assert_done(1, count_writes(&w, "DELETE "));
    assert_told(&w, volume, "Normal", "VolumeDeleted", NULL);
    assert_times(1, count_events(&w, volume, NULL, NULL));
    world_settle_for(&w, 1000); /* whatever holds the object, it is left alone */
    assert_writes(&w, 3);
    assert_goes(&w, volume);
    world_settle(&w);
    assert_done(1, scripted.removed);
    assert_number(1, number_of(&w, "volume_operation_total_seconds_count{plugin_name=\"" HOST_PATH_PLUGIN
                                   "\",operation_name=\"delete\"}"));
    world_done(&w);
}

static void deletable_orphan(struct world *w)
{
    make_orphan(w, "", HOST_PATH, DELETES);
}

static void orphan_is_gone(struct world *w)
{
    assert_done(1, scripted.removed);
    assert_writes(w, 2);
    assert_goes(w, "p");
}

TEST(S115_a_volume_made_by_hand_too)
{
    in_both_orders(deletable_orphan, orphan_is_gone);
}

/* The same name again is another volume. */
TEST(S115_a_volume_of_the_same_name_is_reclaimed_on_its_own)
{
    struct world w;

    world_init(&w);
    deletable_orphan(&w);
    world_start(&w);
    world_settle(&w);
    orphan_is_gone(&w);
    deletable_orphan(&w);
    world_settle(&w);
    assert_done(2, scripted.removed);
    assert_goes(&w, "p");
    world_done(&w);
}

TEST(S115_an_object_that_does_not_go_is_tried_again)
{
    static const char *const requests[] = { ("DELETE " VOLUMES "/p"), ("PATCH " VOLUMES "/p?"),
                                            ("GET " VOLUMES "/p") };

    for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
        struct world w;

        world_init(&w);
        make_orphan(&w,
                    ",'finalizers':['" FINALIZER_RECLAIM "'],'annotations':{'" ANN_PROVISIONED_BY
                    "':'" HOST_PATH_PLUGIN "'}",
                    HOST_PATH, DELETES);
        fail_next(&w, TAP_ERROR, requests[i], 1);
        world_start(&w);
        world_settle(&w);
        ASSERT_INT(0, w.failing_count);
        assert_true(scripted.removed <= 2);
        assert_goes(&w, "p");
        world_done(&w);
    }
}

TEST(S116_a_deleter_that_fails_is_tried_again)
{
    struct world w;

    world_init(&w);
    deletable_orphan(&w);
    scripted.fails = 2;
    scripted.fails_with = ERR_IO;
    scripted.says = "no disk";
    world_start(&w);
    world_still(&w);
    ASSERT_VOLUME(&w, "p", "Failed", "status/phase");
    ASSERT_GOT(&w.served, "no disk", "status/message");
    assert_told(&w, "p", "Warning", "VolumeFailedDelete", "no disk");
    assert_done(1, scripted.removed);
    world_settle(&w);
    assert_done(3, scripted.removed);
    assert_times(
        1, count_told(&w, "p", "VolumeFailedDelete")); /* told with the phase, which was Failed already */
    assert_number(2, number_of(&w, "volume_operation_errors_total{plugin_name=\"" HOST_PATH_PLUGIN
                                   "\",operation_name=\"delete\"}"));
    assert_goes(&w, "p");
    world_done(&w);
}

TEST(S117_storage_in_use_is_left_for_later)
{
    struct world w;

    world_init(&w);
    deletable_orphan(&w);
    scripted.fails = 1;
    scripted.fails_with = ERR_BUSY;
    scripted.says = "in use";
    world_start(&w);
    world_still(&w);
    assert_told(&w, "p", "Normal", "VolumeDelete", "in use");
    assert_let_go(&w, "p");
    assert_writes(&w, 1);
    world_settle(&w);
    assert_done(2, scripted.removed);
    assert_goes(&w, "p");
    world_done(&w);
}

/* Nobody here can delete it. */
TEST(S118_S119_without_a_deleter_the_volume_fails)
{
    static const struct {
        const char *meta;
        const char *source;
        const char *says;
    } rows[] = {
        { "", LOCAL, "error getting deleter volume plugin for volume \"p\": no volume plugin matched" },
        { "", NFS,
          "error getting deleter volume plugin for volume \"p\": no deletable volume plugin matched" },
        { ",'annotations':{'" ANN_PROVISIONED_BY "':'kubernetes.io/nfs'}", NFS,
          "no deletable volume plugin matched" },
        { ",'annotations':{'" ANN_PROVISIONED_BY "':'kubernetes.io/old'}", HOST_PATH,
          "no volume plugin matched name: kubernetes.io/old" },
    };

    for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
        struct world w;

        world_init(&w);
        w.options.plugins = plugins_builtin;
        if (i % 2)
            world_start(&w);
        make_orphan(&w, rows[i / 2].meta, rows[i / 2].source, DELETES);
        if (i % 2 == 0)
            world_start(&w);
        world_settle(&w);
        ASSERT_VOLUME(&w, "p", "Failed", "status/phase");
        ASSERT_GOT(&w.served, rows[i / 2].says, "status/message");
        assert_told(&w, "p", "Warning", "VolumeFailedDelete", rows[i / 2].says);
        assert_times(1, count_events(&w, "p", NULL, NULL));
        assert_false(is_deleting(&w, "p"));
        world_done(&w);
    }
}

/* Somebody else's to delete. */
TEST(S120_S121_what_others_delete_is_only_released)
{
    static const struct {
        const char *meta;
        const char *source;
        unsigned writes;
    } rows[] = {
        /* S120 */ { "", CSI, 1 },
        { ",'annotations':{'" ANN_PROVISIONED_BY "':'vendor.io/x'}", HOST_PATH, 1 },
        { ",'annotations':{'" ANN_PROVISIONED_BY "':'vendor.io/x'}", LOCAL, 1 },
        /* S121 */ { ",'annotations':{'" ANN_MIGRATED_TO "':'ebs.csi.aws.com'}", HOST_PATH, 1 },
        { ",'annotations':{'" ANN_PROVISIONED_BY "':'kubernetes.io/aws-ebs'}", HOST_PATH, 2 },
    };

    for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
        struct world w;

        world_init(&w);
        if (i % 2)
            world_start(&w);
        make_orphan(&w, rows[i / 2].meta, rows[i / 2].source, DELETES);
        if (i % 2 == 0)
            world_start(&w);
        world_settle(&w);
        ASSERT_VOLUME(&w, "p", "Released", "status/phase");
        assert_writes(&w, rows[i / 2].writes);
        assert_requests(&w, w.writes + 1); /* for the claim */
        assert_done(0, scripted.removed);
        assert_times(0, count_events(&w, "p", NULL, NULL));
        world_done(&w);
    }
}

/* The caches show a volume that is to be reclaimed; the server has another story by now. */
TEST(S122_what_is_not_released_any_more_is_not_touched)
{
    static const char *const policies[] = { DELETES, RECYCLES };
    enum { FREED, TAKEN, NAMED, KEPT, GONE, STORIES };

    for (unsigned i = 0; i < STORIES * ARRAY_LEN(policies); i++) {
        unsigned story = i / ARRAY_LEN(policies);
        char body[1024];
        struct world w;

        world_init(&w);
        make_claim(&w, "d", "", ",'volumeName':'p'");
        make_orphan(&w, "", HOST_PATH, policies[i % ARRAY_LEN(policies)]);
        set_phase(&w, "p", "Released");
        fail_next(&w, TAP_ERROR, "GET " VOLUMES "/p", 1);
        w.is_blind = true;
        w.blind_to = KIND_VOLUME;
        world_start(&w);
        world_still(&w);
        ASSERT_INT(0, w.failing_count);
        if (story == FREED) {
            patch_volume(&w, "p", "", "{'spec':{'claimRef':null}}");
        } else if (story == TAKEN) {
            (void)snprintf(body, sizeof body, "{'spec':{%s}}", ref_to_claim(&w, "d") + 1);
            patch_volume(&w, "p", "", body);
        } else if (story == NAMED) {
            patch_volume(&w, "p", "", "{'spec':{'claimRef':{'uid':null}}}");
        } else if (story == KEPT) {
            patch_volume(&w, "p", "", "{'spec':{'persistentVolumeReclaimPolicy':'Retain'}}");
        } else {
            patch_volume(&w, "p", "", "{'metadata':{'finalizers':null}}");
            ASSERT_SENT(&w.served, 200, "DELETE", VOLUMES "/p", NULL);
        }
        world_settle(&w);
        assert_done(0, scripted.removed + scripted.recycled);
        assert_done(0, count_writes(&w, "DELETE "));
        assert_times(0, count_events(&w, "p", NULL, NULL));
        world_done(&w);
    }
}

/* How long somebody outside took counts, under the name that the class has for him. */
TEST(S120_the_time_of_others_is_measured)
{
    struct world w;

    world_init(&w);
    make_class(&w, "gold", "vendor.io/x", "");
    make_orphan(&w, annotated(ANN_PROVISIONED_BY, "another.io/y"), HOST_PATH, DELETES GOLD);
    world_start(&w);
    world_settle(&w);
    patch_volume(&w, "p", "", "{'metadata':{'finalizers':null}}");
    ASSERT_SENT(&w.served, 200, "DELETE", VOLUMES "/p", NULL);
    world_settle(&w);
    assert_number(1, number_of(&w, "volume_operation_total_seconds_count{plugin_name=\"vendor.io/x\","
                                   "operation_name=\"delete\"}"));
    world_done(&w);
}

TEST(S123_an_unknown_policy_fails_the_volume)
{
    struct world w;

    world_init(&w);
    plant(&w, KIND_VOLUME,
          "'name':'p','uid':'u1'},'apiVersion':'v1','kind':'PersistentVolume','spec':{'capacity':{'storage':"
          "'1Gi'},'accessModes':[" RWO "]," HOST_PATH ",'persistentVolumeReclaimPolicy':'Shred','claimRef':{"
          "'namespace':'default','name':'c','uid':'gone'}},'status':{'phase':'Bound'}}");
    world_start(&w);
    world_settle(&w);
    ASSERT_VOLUME(&w, "p", "Failed", "status/phase");
    ASSERT_GOT(&w.served, "Volume has unrecognized PersistentVolumeReclaimPolicy", "status/message");
    assert_told(&w, "p", "Warning", "VolumeUnknownReclaimPolicy",
                "Volume has unrecognized PersistentVolumeReclaimPolicy");
    assert_writes(&w, 2);
    assert_done(0, scripted.removed + scripted.recycled);
    world_done(&w);
}

TEST(S124_a_volume_that_is_deleted_first_goes_with_its_storage)
{
    struct world w;
    char volume[128], path[256];

    world_init(&w);
    provision_first(&w, volume);
    (void)snprintf(path, sizeof path, VOLUMES "/%s", volume);
    ASSERT_SENT(&w.served, 200, "DELETE", path, NULL);
    world_settle(&w);
    assert_true(is_deleting(&w, volume));
    ASSERT_GOT(&w.served, "Bound", "status/phase");
    assert_writes(&w, 0);
    assert_done(0, scripted.removed);
    drop_claim(&w, "c");
    world_settle(&w);
    assert_done(1, scripted.removed);
    assert_goes(&w, volume);
    world_done(&w);
}

/* --- Finalizers --- */

TEST(S125_the_finalizer_follows_the_policy)
{
    struct world w;
    char volume[128], path[256];

    world_init(&w);
    provision_first(&w, volume);
    patch_volume(&w, volume, "", "{'spec':{'persistentVolumeReclaimPolicy':'Retain'}}");
    world_still(&w);
    ASSERT_VOLUME(&w, volume, "['" FINALIZER_VOLUME_PROTECTION "']", "metadata/finalizers");
    assert_writes(&w, 1);
    patch_volume(&w, volume, "", "{'spec':{'persistentVolumeReclaimPolicy':'Delete'}}");
    world_still(&w);
    ASSERT_VOLUME(&w, volume, "['" FINALIZER_VOLUME_PROTECTION "','" FINALIZER_RECLAIM "']",
                  "metadata/finalizers");
    assert_writes(&w, 2);
    patch_volume(&w, volume, "", "{'spec':{'persistentVolumeReclaimPolicy':'Recycle'}}");
    world_still(&w);
    ASSERT_VOLUME(&w, volume, "['" FINALIZER_VOLUME_PROTECTION "']", "metadata/finalizers");
    assert_writes(&w, 3);
    /* None for what is going. */
    (void)snprintf(path, sizeof path, VOLUMES "/%s", volume);
    ASSERT_SENT(&w.served, 200, "DELETE", path, NULL);
    patch_volume(&w, volume, "", "{'spec':{'persistentVolumeReclaimPolicy':'Delete'}}");
    world_settle(&w);
    ASSERT_VOLUME(&w, volume, "['" FINALIZER_VOLUME_PROTECTION "']", "metadata/finalizers");
    assert_writes(&w, 3);
    world_done(&w);
}

TEST(S126_whose_finalizers_are_whose)
{
    static const struct {
        const char *by;
        const char *finalizer;
        const char *policy;
        const char *finalizers; /* afterwards, besides the protection */
        const char *migrated_to;
    } rows[] = {
        { "vendor.io/x", FINALIZER_EXTERNAL_RECLAIM, "Delete", "'" FINALIZER_EXTERNAL_RECLAIM "',", "-" },
        { "vendor.io/x", FINALIZER_RECLAIM, "Retain", "'" FINALIZER_RECLAIM "',", "-" },
        { HOST_PATH_PLUGIN, FINALIZER_EXTERNAL_RECLAIM, "Retain", "", "-" },
        { "kubernetes.io/aws-ebs", FINALIZER_RECLAIM, "Delete", "", "ebs.csi.aws.com" },
        { "kubernetes.io/aws-ebs", FINALIZER_EXTERNAL_RECLAIM, "Delete", "'" FINALIZER_EXTERNAL_RECLAIM "',",
          "ebs.csi.aws.com" },
    };

    for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
        char meta[512], policy[128], expected[512];
        struct world w;

        world_init(&w);
        if (i % 2)
            world_start(&w);
        (void)snprintf(meta, sizeof meta,
                       ",'finalizers':['%s'],'annotations':{'" ANN_PROVISIONED_BY "':'%s'}",
                       rows[i / 2].finalizer, rows[i / 2].by);
        (void)snprintf(policy, sizeof policy, ",'persistentVolumeReclaimPolicy':'%s'", rows[i / 2].policy);
        make_volume(&w, "p", meta, HOST_PATH, policy);
        if (i % 2 == 0)
            world_start(&w);
        world_settle(&w);
        (void)snprintf(expected, sizeof expected, "[%s'" FINALIZER_VOLUME_PROTECTION "']",
                       rows[i / 2].finalizers);
        ASSERT_VOLUME(&w, "p", expected, "metadata/finalizers");
        ASSERT_GOT(&w.served, "Available", "status/phase");
        assert_string_equal(annotation(&w, ANN_MIGRATED_TO), rows[i / 2].migrated_to);
        world_done(&w);
    }
}

/* Both at once: theirs goes, ours comes. */
TEST(S126_a_volume_that_came_back_from_a_driver)
{
    struct world w;

    world_init(&w);
    make_volume(&w, "p",
                ",'finalizers':['" FINALIZER_EXTERNAL_RECLAIM "'],'annotations':{'" ANN_PROVISIONED_BY
                "':'" HOST_PATH_PLUGIN "','" ANN_MIGRATED_TO "':'d.io'}",
                HOST_PATH, DELETES);
    world_start(&w);
    world_settle(&w);
    ASSERT_VOLUME(&w, "p", "['" FINALIZER_VOLUME_PROTECTION "','" FINALIZER_RECLAIM "']",
                  "metadata/finalizers");
    assert_string_equal(annotation(&w, ANN_MIGRATED_TO), "-");
    world_done(&w);
}

/* --- Recycle --- */

TEST(S127_a_recycled_volume_is_available_again)
{
    for (unsigned i = 0; i < 4; i++) {
        bool is_ours = i / 2;
        struct world w;

        world_init(&w);
        if (i % 2)
            world_start(&w);
        make_orphan(&w, is_ours ? annotated(ANN_BOUND_BY_CONTROLLER, "yes") : "", HOST_PATH, RECYCLES);
        if (i % 2 == 0)
            world_start(&w);
        world_settle(&w);
        assert_done(1, scripted.recycled);
        assert_done(0, scripted.removed);
        ASSERT_VOLUME(&w, "p", "Available", "status/phase");
        ASSERT_GOT(&w.served, is_ours ? "-" : "c", "spec/claimRef/name");
        ASSERT_GOT(&w.served, "-", "spec/claimRef/uid");
        assert_string_equal(annotation(&w, ANN_BOUND_BY_CONTROLLER), "-");
        assert_told(&w, "p", "Normal", "VolumeRecycled", "Volume recycled");
        assert_told(&w, "p", "Normal", "VolumeReclaimed", NULL);
        assert_times(2, count_events(&w, "p", NULL, NULL));
        assert_writes(&w, 3);
        /* And of use: to anybody, or to the claim that it is kept for. */
        make_claim(&w, is_ours ? "any" : "c", "", "");
        world_settle(&w);
        assert_bound(&w, is_ours ? "any" : "c", "p");
        world_done(&w);
    }
}

TEST(S127_what_could_not_be_saved_is_recycled_again)
{
    struct world w;

    world_init(&w);
    make_orphan(&w, "", HOST_PATH, RECYCLES);
    set_phase(&w, "p", "Released");
    fail_next(&w, TAP_ERROR, "PATCH " VOLUMES "/p?", 1);
    world_start(&w);
    world_settle(&w);
    assert_done(2, scripted.recycled);
    ASSERT_VOLUME(&w, "p", "Available", "status/phase");
    world_done(&w);
}

TEST(S128_a_recycler_that_fails_is_tried_again)
{
    struct world w;

    world_init(&w);
    make_orphan(&w, "", HOST_PATH, RECYCLES);
    scripted.fails = 2;
    scripted.fails_with = ERR_IO;
    scripted.says = "stuck";
    world_start(&w);
    world_still(&w);
    if (plan.fault == TAP_NONE) { /* else it is over by now */
        ASSERT_VOLUME(&w, "p", "Failed", "status/phase");
        ASSERT_GOT(&w.served, "Recycle failed: stuck", "status/message");
    }
    assert_told(&w, "p", "Warning", "VolumeFailedRecycle", "Recycle failed: stuck");
    world_settle(&w);
    assert_done(3, scripted.recycled);
    ASSERT_VOLUME(&w, "p", "Available", "status/phase");
    ASSERT_GOT(&w.served, "-", "status/message");
    assert_times(1, count_told(&w, "p", "VolumeFailedRecycle"));
    world_done(&w);
}

static void orphan_without_recycler(struct world *w)
{
    make_orphan(w, "", CSI, RECYCLES);
}

static void recycler_is_missed(struct world *w)
{
    ASSERT_VOLUME(w, "p", "Failed", "status/phase");
    ASSERT_GOT(&w->served, "No recycler plugin found for the volume!", "status/message");
    assert_told(w, "p", "Warning", "VolumeFailedRecycle", "No recycler plugin found for the volume!");
    assert_writes(w, 2);
}

TEST(S129_without_a_recycler_the_volume_fails)
{
    in_both_orders(orphan_without_recycler, recycler_is_missed);
}

TEST(S130_pods_that_use_the_name_keep_the_volume)
{
    struct world w;

    world_init(&w);
    make_pod(&w, "b", "c", "n1");
    set_pod_phase(&w, "b", "Running");
    make_pod(&w, "a", "c", "");
    make_pod(&w, "over", "c", "n1");
    set_pod_phase(&w, "over", "Succeeded");
    make_pod(&w, "foreign", "d", "n1");
    make_orphan(&w, "", HOST_PATH, RECYCLES);
    world_start(&w);
    world_still(&w);
    assert_told(&w, "p", "Normal", "VolumeFailedRecycle", "Volume is used by pods: default/a,default/b");
    world_settle(&w);
    assert_times(1, count_events(&w, "p", NULL, NULL));
    ASSERT_VOLUME(&w, "p", "Released", "status/phase");
    assert_done(0, scripted.recycled);
    assert_writes(&w, 1);
    /* Until they are over. */
    set_pod_phase(&w, "a", "Failed");
    set_pod_phase(&w, "b", "Succeeded");
    world_settle_for(&w, 130);
    assert_done(1, scripted.recycled);
    ASSERT_VOLUME(&w, "p", "Available", "status/phase");
    world_done(&w);
}

TEST(S131_pods_of_another_claim_or_over_do_not)
{
    for (int has_claim = 0; has_claim < 2; has_claim++) {
        struct world w;

        world_init(&w);
        if (has_claim)
            make_claim(&w, "c", "", ",'storageClassName':'none'");
        make_pod(&w, "a", "c", "n1");
        set_pod_phase(&w, "a", has_claim ? "Running" : "Succeeded");
        make_orphan(&w, annotated(ANN_BOUND_BY_CONTROLLER, "yes"), HOST_PATH, RECYCLES);
        world_start(&w);
        world_settle(&w);
        assert_done(1, scripted.recycled);
        assert_told(&w, "p", "Normal", "VolumeRecycled", "Volume recycled");
        assert_times(0, count_events(&w, "p", "VolumeFailedRecycle", NULL));
        ASSERT_VOLUME(&w, "p", "Available", "status/phase");
        world_done(&w);
    }
}

/* --- What must not be touched --- */

#define PINNED                                                                                      \
    HOST_PATH                                                                                       \
    ",'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'k','operator':" \
    "'In','values':['here']}]}]}}"

static void make_node(struct world *w, const char *name, const char *value)
{
    char body[512];

    (void)snprintf(body, sizeof body,
                   "{'apiVersion':'v1','kind':'Node','metadata':{'name':'%s','labels':{'k':'%s'}}}", name,
                   value);
    ASSERT_SENT(&w->served, 201, "POST", "/api/v1/nodes", body);
}

static void make_machine_n1(struct world *w, const char *value)
{
    world_init(w);
    w->options.reclaim.node_name = "n1";
    make_node(w, "n1", value);
    make_node(w, "n2", "here");
}

/* Data that is on another machine is not looked for on this one. */
TEST(reclaiming_another_machines_volume_is_refused)
{
    static const struct {
        const char *policy, *reason, *prefix;
    } rows[] = { { DELETES, "VolumeFailedDelete", "" },
                 { RECYCLES, "VolumeFailedRecycle", "Recycle failed: " } };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world w;
        char words[256];

        make_machine_n1(&w, "there");
        make_orphan(&w, "", PINNED, rows[i].policy);
        world_start(&w);
        world_settle(&w);
        (void)snprintf(words, sizeof words,
                       "%sits data is on another machine: node \"n1\" of this machine does not match its "
                       "node affinity",
                       rows[i].prefix);
        ASSERT_VOLUME(&w, "p", "Failed", "status/phase");
        ASSERT_GOT(&w.served, words, "status/message");
        assert_told(&w, "p", "Warning", rows[i].reason, words);
        assert_done(0, scripted.removed + scripted.recycled);
        world_done(&w);
    }
}

TEST(reclaiming_a_pinned_volume_needs_a_node)
{
    struct world w;

    world_init(&w);
    make_orphan(&w, "", PINNED, RECYCLES);
    world_start(&w);
    world_settle(&w);
    ASSERT_VOLUME(&w, "p", "Failed", "status/phase");
    assert_told(&w, "p", "Warning", "VolumeFailedRecycle",
                "Recycle failed: the volume has a node affinity and no node agent runs in this process: "
                "cannot determine whether its data is on this machine");
    assert_done(0, scripted.recycled);
    world_done(&w);
}

TEST(reclaiming_this_machines_volume_goes_on)
{
    struct world w;

    make_machine_n1(&w, "here");
    make_orphan(&w, "", PINNED, DELETES);
    world_start(&w);
    world_settle(&w);
    orphan_is_gone(&w);
    world_done(&w);
}

/* Another volume has the same directory, or one in it: its data stays. One that is on another machine, or on
 * another server, has nothing to do with it. */
TEST(reclaiming_knows_of_the_other_volumes)
{
    static const struct {
        const char *source, *words;
    } rows[] = {
        { "'nfs':{'server':'s','path':'/x/y'}", "'/x' contains the path of volume \"q\"" },
        { "'nfs':{'server':'s','path':'/x'}", "'/x' is also the path of volume \"q\"" },
        { "'nfs':{'server':'s','path':'/'}", NULL },
        { "'nfs':{'server':'t','path':'/x'}", NULL },
        { "'nfs':{'server':'s','path':'/"
          "x'},'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions'"
          ":[{'key':'k','operator':'In','values':['there']}]}]}}",
          NULL },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world w;

        make_machine_n1(&w, "here");
        scripted.is_guarded = true;
        make_volume(&w, "q", "", rows[i].source, "");
        make_orphan(&w, "", "'nfs':{'server':'s','path':'/x'}", DELETES);
        world_start(&w);
        world_settle(&w);
        if (rows[i].words) {
            ASSERT_VOLUME(&w, "p", "Failed", "status/phase");
            assert_told(&w, "p", "Warning", "VolumeFailedDelete", rows[i].words);
            ASSERT_SENT(&w.served, 200, "MERGE", VOLUMES "/q", "{'metadata':{'finalizers':null}}");
            ASSERT_SENT(&w.served, 200, "DELETE", VOLUMES "/q", NULL);
            world_settle_for(&w, 130);
        }
        assert_goes(&w, "p"); /* by itself, once nothing stands against it */
        world_done(&w);
    }
}

static const struct unfit unfit[] = {
    { "S115_an_object_that_does_not_go_is_tried_again", FAULT_ANY, "is about a fault of its own" },
    { "S122_what_is_not_released_any_more_is_not_touched", FAULT_ANY, "is about a fault of its own" },
    { "S127_what_could_not_be_saved_is_recycled_again", FAULT_ANY, "is about a fault of its own" },
    { 0 },
};

REPLAYED_MAIN(unfit)
