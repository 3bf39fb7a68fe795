/* Provisioning: volumes made for claims, by a plugin or by somebody outside. */
#include "tests/unit/test_binder_objects.h"
#include "tests/unit/test_binder_replay.h"

#define GOLD ",'storageClassName':'gold'"
#define DELAYED ",'volumeBindingMode':'WaitForFirstConsumer'"
#define OUTSIDE(name)                                                                                   \
    "Waiting for a volume to be created either by the external provisioner '" name                      \
    "' or manually by the system administrator. If volume creation is delayed, please verify that the " \
    "provisioner is running and correctly registered."

/* "pvc-UID" of the claim. */
static const char *volume_of_claim(struct world *w, const char *claim)
{
    static char name[128];
    char uid[64];

    look_at_claim(w, claim);
    uid_of_last(w, uid);
    (void)snprintf(name, sizeof name, "pvc-%s", uid);
    return name;
}

static bool has_volume(struct world *w, const char *name)
{
    char path[256];

    (void)snprintf(path, sizeof path, VOLUMES "/%s", name);
    return send_request(&w->served, "GET", path, NULL) == 200;
}

/* --- A plugin makes it --- */

static void claim_of_class(struct world *w)
{
    make_class(w, "gold", HOST_PATH_PLUGIN, "");
    make_claim(w, "c", "", GOLD);
}

static void is_provisioned(struct world *w)
{
    const char *volume = volume_of_claim(w, "c");
    char text[256];

    assert_bound(w, "c", volume);
    assert_done(1, scripted.provisioned);
    assert_string_equal(annotation(w, ANN_BOUND_BY_CONTROLLER), "yes");
    assert_string_equal(annotation(w, ANN_PROVISIONED_BY), HOST_PATH_PLUGIN);
    assert_string_equal(annotation(w, "made"), "yes");
    ASSERT_GOT(&w->served, "gold", "spec/storageClassName");
    ASSERT_GOT(&w->served, "Delete", "spec/persistentVolumeReclaimPolicy");
    ASSERT_GOT(&w->served, "PersistentVolumeClaim", "spec/claimRef/kind");
    ASSERT_GOT(&w->served, "v1", "spec/claimRef/apiVersion");
    ASSERT_GOT(&w->served, "default", "spec/claimRef/namespace");
    ASSERT_GOT(&w->served, "['" FINALIZER_RECLAIM "','" FINALIZER_VOLUME_PROTECTION "']",
               "metadata/finalizers");
    (void)snprintf(text, sizeof text, "Successfully provisioned volume %s using " HOST_PATH_PLUGIN, volume);
    assert_told(w, "c", "Normal", "ProvisioningSucceeded", text);
    assert_told(w, "c", "Normal", "Provisioning", NULL);
    (void)snprintf(text, sizeof text, "Bound to PV %s", volume);
    assert_told(w, "c", "Normal", "Bound", text);
    assert_times(3, count_events(w, "c", NULL, NULL));
    look_at_claim(w, "c");
    assert_string_equal(annotation(w, ANN_PROVISIONER), HOST_PATH_PLUGIN);
    assert_string_equal(annotation(w, ANN_PROVISIONER_BETA), HOST_PATH_PLUGIN);
    assert_string_equal(annotation(w, ANN_MIGRATED_TO), "-");
    assert_writes(w, 5); /* annotation, volume, and three to bind */
    assert_number(1, number_of(w, "volume_operation_total_seconds_count{plugin_name=\"" HOST_PATH_PLUGIN
                                  "\",operation_name=\"provision\"}"));
}

TEST(S95_a_plugin_makes_the_volume)
{
    in_both_orders(claim_of_class, is_provisioned);
}

TEST(S96_a_volume_to_be_kept_has_no_reclaim_finalizer)
{
    struct world w;

    world_init(&w);
    make_class(&w, "gold", HOST_PATH_PLUGIN, ",'reclaimPolicy':'Retain'");
    make_claim(&w, "c", "", GOLD);
    world_start(&w);
    world_settle(&w);
    assert_bound(&w, "c", volume_of_claim(&w, "c"));
    look_at_volume(&w, volume_of_claim(&w, "c"));
    ASSERT_GOT(&w.served, "Retain", "spec/persistentVolumeReclaimPolicy");
    ASSERT_GOT(&w.served, "['" FINALIZER_VOLUME_PROTECTION "']", "metadata/finalizers");
    assert_writes(&w, 5);
    world_done(&w);
}

/* Moves time until the plugin was asked that often; when that was. */
static uint64_t pass_until_checked(struct world *w, unsigned count)
{
    uint64_t next;

    world_still(w);
    while (scripted.checked < count) {
        assert_true(loop_next_timer_ns(w->served.loop, &next));
        manual_clock_advance(&w->served.clock, next - w->served.clock.mono_ns);
        world_still(w);
    }
    assert_done(count, scripted.checked);
    return w->served.clock.mono_ns;
}

TEST(S97_a_provisioner_that_cannot_be_had_is_tried_ever_more_seldom)
{
    static const unsigned delays_ms[] = { 500, 1000, 2000, 4000, 8000, 16000, 32000, 64000, 122000, 122000 };
    struct world w;
    uint64_t at_ns;

    world_init(&w);
    w.options.host.provisions_host_path = false;
    claim_of_class(&w);
    world_start(&w);
    at_ns = pass_until_checked(&w, 1);
    assert_told(&w, "c", "Warning", "ProvisioningFailed",
                "Failed to create provisioner: no provisioning here");
    assert_times(0, count_events(&w, "c", "Provisioning", NULL));
    for (unsigned i = 0; i < ARRAY_LEN(delays_ms); i++) {
        uint64_t next_ns = pass_until_checked(&w, i + 2), took_ms = (next_ns - at_ns) / NS_PER_MS;

        if (took_ms < delays_ms[i] || took_ms > delays_ms[i] + 10)
            fail_msg("try %u after %u ms, expected %u", i + 2, (unsigned)took_ms, delays_ms[i]);
        at_ns = next_ns;
    }
    assert_times(1, count_events(&w, "c", "ProvisioningFailed", NULL)); /* one, counted up */
    assert_writes(&w, 1);
    assert_number(11, number_of(&w, "volume_operation_errors_total{plugin_name=\"" HOST_PATH_PLUGIN
                                    "\",operation_name=\"provision\"}"));
    world_done(&w);
}

static void selected_claim(struct world *w, const char *node)
{
    make_class(w, "gold", HOST_PATH_PLUGIN, DELAYED);
    make_claim(w, "c", annotated(ANN_SELECTED_NODE, node), GOLD);
    ASSERT_SENT(&w->served, 201, "POST", NODES, "{'apiVersion':'v1','kind':'Node','metadata':{'name':'n1'}}");
}

TEST(S98_a_node_that_cannot_be_served_is_given_back)
{
    struct world w;

    world_init(&w);
    selected_claim(&w, "n1");
    scripted.fails = 1;
    scripted.fails_with = ERR_IO;
    scripted.says = "no room";
    world_start(&w);
    world_settle(&w);
    assert_told(&w, "c", "Warning", "ProvisioningFailed",
                "Failed to provision volume with StorageClass \"gold\": no room");
    look_at_claim(&w, "c");
    assert_string_equal(annotation(&w, ANN_SELECTED_NODE), "-");
    assert_done(1, scripted.provisioned);
    assert_writes(&w, 2);
    assert_told(&w, "c", "Normal", "WaitForFirstConsumer",
                "waiting for first consumer to be created before binding");
    /* The scheduler selects anew. */
    patch_claim(&w, "c", "", "{'metadata':{'annotations':{'" ANN_SELECTED_NODE "':'n1'}}}");
    world_settle(&w);
    assert_bound(&w, "c", volume_of_claim(&w, "c"));
    world_done(&w);
}

TEST(S98_without_a_node_it_is_only_told)
{
    struct world w;

    world_init(&w);
    claim_of_class(&w);
    scripted.fails = 2;
    scripted.fails_with = ERR_IO;
    scripted.says = "no room";
    world_start(&w);
    world_settle(&w);
    assert_times(1, count_events(&w, "c", "ProvisioningFailed",
                                 "Failed to provision volume with StorageClass \"gold\": no room"));
    assert_times(2, count_told(&w, "c", "ProvisioningFailed"));
    assert_bound(&w, "c", volume_of_claim(&w, "c"));
    assert_done(3, scripted.provisioned);
    assert_writes(&w, 5);
    world_done(&w);
}

TEST(S99_an_unknown_node_is_told_and_kept)
{
    struct world w;

    world_init(&w);
    selected_claim(&w, "n9");
    world_start(&w);
    world_still(&w);
    assert_told(&w, "c", "Warning", "ProvisioningFailed", "Failed to get target node: node \"n9\" not found");
    world_settle(&w);
    assert_done(0, scripted.provisioned);
    look_at_claim(&w, "c");
    assert_string_equal(annotation(&w, ANN_SELECTED_NODE), "n9");
    ASSERT_SENT(&w.served, 201, "POST", NODES, "{'apiVersion':'v1','kind':'Node','metadata':{'name':'n9'}}");
    world_settle_for(&w, 300);
    assert_bound(&w, "c", volume_of_claim(&w, "c"));
    world_done(&w);
}

TEST(S100_a_data_source_is_not_for_plugins)
{
    struct world w;

    world_init(&w);
    make_class(&w, "gold", HOST_PATH_PLUGIN, "");
    make_claim(&w, "c", "", GOLD ",'dataSource':{'kind':'PersistentVolumeClaim','name':'src'}");
    world_start(&w);
    world_still(&w);
    assert_told(
        &w, "c", "Warning", "ProvisioningFailed",
        "plugin \"kubernetes.io/host-path\" is not a CSI plugin. Only CSI plugin can provision a claim "
        "with a datasource");
    world_settle(&w);
    assert_times(1, count_events(&w, "c", NULL, NULL));
    assert_writes(&w, 0);
    assert_done(0, scripted.provisioned);
    assert_true(number_of(&w, "volume_operation_errors_total{plugin_name=\"" HOST_PATH_PLUGIN
                              "\",operation_name=\"provision\"}") >= 1);
    world_done(&w);
}

/* Row 9a: whoever fills volumes says whose they are. */
TEST(S114_a_volume_that_was_filled_is_bound)
{
    struct world w;

    world_init(&w);
    make_class(&w, "gold", "vendor.io/x", "");
    make_claim(&w, "c", "", GOLD ",'dataSourceRef':{'apiGroup':'x.io','kind':'Filler','name':'f'}");
    make_volume(&w, "empty", "", HOST_PATH, GOLD);
    world_start(&w);
    world_settle(&w);
    ASSERT_CLAIM(&w, "c", "-", "spec/volumeName");
    ASSERT_VOLUME(&w, "empty", "Available", "status/phase");
    char spec[1024];
    (void)snprintf(spec, sizeof spec, "%s" GOLD, ref_to_claim(&w, "c"));
    make_volume(&w, "filled", annotated(ANN_PROVISIONED_BY, "vendor.io/x"), HOST_PATH, spec);
    world_settle(&w);
    assert_bound(&w, "c", "filled");
    world_done(&w);
}

TEST(S101_mount_options_are_refused)
{
    struct world w;

    world_init(&w);
    make_class(&w, "gold", HOST_PATH_PLUGIN, ",'mountOptions':['ro','nosuid']");
    make_claim(&w, "c", "", GOLD);
    world_start(&w);
    world_still(&w);
    assert_told(
        &w, "c", "Warning", "ProvisioningFailed",
        "Mount options are not supported by the provisioner but StorageClass \"gold\" has mount options "
        "[ro nosuid]");
    assert_done(0, scripted.checked + scripted.provisioned);
    world_done(&w);
}

/* The built-in plugin's own words. */
TEST(S102_host_path_makes_no_block_volumes_and_none_when_disabled)
{
    static const struct {
        bool is_enabled;
        const char *spec;
        const char *says;
    } rows[] = {
        { true, GOLD ",'volumeMode':'Block'",
          "Failed to provision volume with StorageClass \"gold\": kubernetes.io/host-path does not support "
          "block "
          "volume provisioning" },
        { false, GOLD,
          "Failed to create provisioner: provisioning in volume plugin \"kubernetes.io/host-path\" is "
          "disabled" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world w;

        world_init(&w);
        w.options.plugins = plugins_builtin;
        w.options.host.provisions_host_path = rows[i].is_enabled;
        make_class(&w, "gold", HOST_PATH_PLUGIN, "");
        make_claim(&w, "c", "", rows[i].spec);
        world_start(&w);
        world_still(&w);
        assert_told(&w, "c", "Warning", "ProvisioningFailed", rows[i].says);
        ASSERT_CLAIM(&w, "c", "Pending", "status/phase");
        world_done(&w);
    }
}

/* --- Saving it --- */

TEST(S103_a_volume_that_could_not_be_saved_is_saved_later)
{
    static const enum tap_fault faults[] = { TAP_ERROR, TAP_LOSE };

    for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
        uint64_t began_ns;
        struct world w;

        world_init(&w);
        claim_of_class(&w);
        fail_next(&w, faults[i], "POST " VOLUMES, 1);
        world_start(&w);
        world_still(&w);
        began_ns = w.served.clock.mono_ns;
        assert_times(0, count_events(&w, "c", "ProvisioningSucceeded", NULL));
        /* Lost was the answer, not the volume: binding need not wait. */
        ASSERT_CLAIM(&w, "c", faults[i] == TAP_LOSE ? "Bound" : "Pending", "status/phase");
        world_settle_for(&w, 9);
        assert_times(0, count_events(&w, "c", "ProvisioningSucceeded", NULL));
        world_settle_for(&w, 10);
        assert_true(w.served.clock.mono_ns - began_ns >= 10 * NS_PER_S);
        assert_times(1, count_told(&w, "c", "ProvisioningSucceeded"));
        assert_times(0, count_events(&w, "c", "ProvisioningFailed", NULL));
        assert_bound(&w, "c", volume_of_claim(&w, "c"));
        assert_done(1, scripted.provisioned);
        assert_done(0, scripted.removed);
        assert_done(2, count_writes(&w, "POST " VOLUMES));
        world_done(&w);
    }
}

TEST(S104_what_cannot_be_saved_is_removed)
{
    struct world w;

    world_init(&w);
    claim_of_class(&w);
    fail_next(&w, TAP_ERROR, "POST " VOLUMES, 5);
    world_start(&w);
    world_settle_for(&w, 39);
    assert_done(4, count_writes(&w, "POST " VOLUMES));
    assert_done(0, scripted.removed);
    world_settle_for(&w, 10);
    assert_done(1, scripted.removed);
    assert_told(&w, "c", "Warning", "ProvisioningFailed",
                "Error creating provisioned PV object for claim default/c: tapped. Deleting the volume.");
    assert_times(0, count_events(&w, "c", "ProvisioningCleanupFailed", NULL));
    /* Then from the beginning. */
    world_settle(&w);
    assert_bound(&w, "c", volume_of_claim(&w, "c"));
    assert_done(2, scripted.provisioned);
    assert_done(1, scripted.removed);
    world_done(&w);
}

TEST(S105_what_can_neither_be_saved_nor_removed_is_told)
{
    struct world w;

    world_init(&w);
    claim_of_class(&w);
    fail_next(&w, TAP_ERROR, "POST " VOLUMES, 5);
    world_start(&w);
    world_still(&w);
    assert_done(1, scripted.provisioned);
    scripted.fails = 5;
    scripted.fails_with = ERR_IO;
    scripted.says = "stuck";
    world_settle_for(&w, 79);
    assert_done(4, scripted.removed);
    assert_times(0, count_events(&w, "c", "ProvisioningCleanupFailed", NULL));
    world_settle_for(&w, 10);
    assert_done(5, scripted.removed);
    assert_told(&w, "c", "Warning", "ProvisioningFailed",
                "Error creating provisioned PV object for claim default/c: tapped. Deleting the volume.");
    assert_told(&w, "c", "Warning", "ProvisioningCleanupFailed",
                "Error cleaning provisioned volume for claim default/c: stuck. Please delete manually.");
    world_still(&w); /* no delay: the next try has begun */
    assert_done(2, scripted.provisioned);
    assert_bound(&w, "c", volume_of_claim(&w, "c"));
    world_done(&w);
}

/* The first answer is lost, the volume is bound, and the server says no to all further tries. */
TEST(S105_storage_in_use_is_not_cleaned_up)
{
    struct world w;

    world_init(&w);
    claim_of_class(&w);
    fail_next(&w, TAP_LOSE, "POST " VOLUMES, 1);
    world_start(&w);
    world_still(&w);
    assert_bound(&w, "c", volume_of_claim(&w, "c"));
    fail_next(&w, TAP_ERROR, "POST " VOLUMES, 4);
    world_settle(&w);
    ASSERT_INT(0, w.failing_count);
    assert_done(0, scripted.removed);
    assert_bound(&w, "c", volume_of_claim(&w, "c"));
    assert_times(0, count_events(&w, "c", "ProvisioningFailed", NULL));
    assert_times(1, count_told(&w, "c", "ProvisioningSucceeded"));
    world_done(&w);
}

/* When the server does not even say whether the volume is there, nothing is removed before it does. */
TEST(S105_nothing_is_cleaned_up_blindly)
{
    struct world w;

    world_init(&w);
    claim_of_class(&w);
    fail_next(&w, TAP_ERROR, "POST " VOLUMES, 5);
    world_start(&w);
    world_settle_for(&w, 35);
    assert_done(4, count_writes(&w, "POST " VOLUMES));
    w.failing = ""; /* the last try, and two looks */
    w.failing_count = 3;
    world_settle_for(&w, 15);
    ASSERT_INT(1, w.failing_count);
    assert_done(0, scripted.removed);
    world_settle_for(&w, 25);
    assert_done(1, scripted.removed);
    world_settle(&w);
    assert_bound(&w, "c", volume_of_claim(&w, "c"));
    world_done(&w);
}

TEST(S106_a_volume_that_is_there_is_not_made_again)
{
    struct world w;

    world_init(&w);
    claim_of_class(&w);
    make_volume(&w, volume_of_claim(&w, "c"), "", HOST_PATH, ",'storageClassName':'another'");
    world_start(&w);
    world_settle(&w);
    assert_done(0, scripted.checked + scripted.provisioned);
    assert_times(0, count_events(&w, "c", NULL, NULL));
    ASSERT_CLAIM(&w, "c", "Pending", "status/phase");
    assert_writes(&w, 2); /* Available, and the annotation */
    assert_requests_below(&w, 10);
    world_done(&w);
}

/* --- Nobody, or somebody outside --- */

static void claim_without_provisioner(struct world *w)
{
    make_class(w, "gold", "kubernetes.io/no-provisioner", "");
    make_claim(w, "c", "", GOLD);
}

static void nobody_is_found(struct world *w)
{
    assert_told(w, "c", "Warning", "ProvisioningFailed",
                "no volume plugin matched name: kubernetes.io/no-provisioner");
    assert_times(1, count_events(w, "c", NULL, NULL));
    assert_writes(w, 0);
}

TEST(S107_without_provisioner_it_is_told)
{
    in_both_orders(claim_without_provisioner, nobody_is_found);
}

/* A plugin that cannot provision. */
TEST(S107_a_plugin_without_the_ability_is_told)
{
    struct world w;

    world_init(&w);
    w.options.plugins = plugins_builtin;
    make_class(&w, "gold", "kubernetes.io/nfs", "");
    make_claim(&w, "c", "", GOLD);
    world_start(&w);
    world_settle(&w);
    assert_told(&w, "c", "Warning", "ProvisioningFailed", "no provisionable volume plugin matched");
    assert_writes(&w, 0);
    world_done(&w);
}

TEST(S108_S109_somebody_outside_is_asked_once)
{
    static const struct {
        const char *provisioner;
        const char *asked;
        const char *says;
    } rows[] = {
        { "vendor.io/x", "vendor.io/x", OUTSIDE("vendor.io/x") },
        { "kubernetes.io/aws-ebs", "ebs.csi.aws.com", OUTSIDE("ebs.csi.aws.com") },
    };

    for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
        struct world w;

        world_init(&w);
        if (i % 2)
            world_start(&w);
        make_class(&w, "gold", rows[i / 2].provisioner, "");
        make_claim(&w, "c", "", GOLD);
        if (i % 2 == 0)
            world_start(&w);
        world_settle(&w);
        look_at_claim(&w, "c");
        assert_string_equal(annotation(&w, ANN_PROVISIONER), rows[i / 2].asked);
        assert_string_equal(annotation(&w, ANN_PROVISIONER_BETA), rows[i / 2].asked);
        assert_string_equal(annotation(&w, ANN_MIGRATED_TO), "-");
        assert_writes(&w, 1);
        patch_claim(&w, "c", "", "{'metadata':{'labels':{'a':'b'}}}");
        world_settle(&w);
        assert_writes(&w, 1);
        assert_told(&w, "c", "Normal", "ExternalProvisioning", rows[i / 2].says);
        assert_times(1, count_events(&w, "c", NULL, NULL));
        ASSERT_CLAIM(&w, "c", "Pending", "status/phase");
        world_done(&w);
    }
}

TEST(S108_what_cannot_be_saved_is_told)
{
    struct world w;

    world_init(&w);
    make_class(&w, "gold", "vendor.io/x", "");
    make_claim(&w, "c", "", GOLD);
    fail_next(&w, TAP_ERROR, "PATCH " CLAIMS "/c", 1);
    world_start(&w);
    world_still(&w);
    assert_told(&w, "c", "Warning", "ProvisioningFailed", "Error saving claim: tapped");
    world_settle(&w);
    look_at_claim(&w, "c");
    assert_string_equal(annotation(&w, ANN_PROVISIONER), "vendor.io/x");
    assert_times(1, count_told(&w, "c", "ProvisioningFailed"));
    world_done(&w);
}

TEST(S110_the_mark_of_migration_follows_the_provisioner)
{
    static const struct {
        const char *annotations;
        const char *migrated_to;
        unsigned writes;
    } rows[] = {
        { "'" ANN_PROVISIONER "':'kubernetes.io/aws-ebs'", "ebs.csi.aws.com", 1 },
        { "'" ANN_PROVISIONER_BETA "':'kubernetes.io/gce-pd'", "pd.csi.storage.gke.io", 1 },
        { "'" ANN_PROVISIONER "':'vendor.io/x','" ANN_PROVISIONER_BETA "':'kubernetes.io/gce-pd'", "-", 0 },
        { "'" ANN_PROVISIONER "':'kubernetes.io/aws-ebs','" ANN_MIGRATED_TO "':'ebs.csi.aws.com'",
          "ebs.csi.aws.com", 0 },
        { "'" ANN_PROVISIONER "':'kubernetes.io/aws-ebs','" ANN_MIGRATED_TO "':'wrong'", "ebs.csi.aws.com",
          1 },
        { "'" ANN_PROVISIONER "':'vendor.io/x','" ANN_MIGRATED_TO "':'ebs.csi.aws.com'", "-", 1 },
        { "'" ANN_PROVISIONER "':'vendor.io/x','" ANN_MIGRATED_TO "':''", "", 0 },
        { "'" ANN_MIGRATED_TO "':'ebs.csi.aws.com'", "ebs.csi.aws.com", 0 },
        { "", "-", 0 },
    };

    for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
        char meta[512];
        struct world w;

        world_init(&w);
        if (i % 2)
            world_start(&w);
        (void)snprintf(meta, sizeof meta, "%s%s%s", rows[i / 2].annotations[0] ? ",'annotations':{" : "",
                       rows[i / 2].annotations, rows[i / 2].annotations[0] ? "}" : "");
        make_claim(&w, "c", meta, "");
        if (i % 2 == 0)
            world_start(&w);
        world_settle(&w);
        look_at_claim(&w, "c");
        assert_string_equal(annotation(&w, ANN_MIGRATED_TO), rows[i / 2].migrated_to);
        assert_writes(&w, rows[i / 2].writes);
        world_done(&w);
    }
}

/* --- While it is made --- */

TEST(S111_a_claim_that_goes_meanwhile_leaves_nothing_behind)
{
    struct world w;
    char volume[128];

    world_init(&w);
    claim_of_class(&w);
    (void)snprintf(volume, sizeof volume, "%s", volume_of_claim(&w, "c"));
    scripted.is_slow = true;
    world_start(&w);
    world_settle(&w);
    assert_done(1, scripted.provisioned);
    drop_claim(&w, "c");
    world_settle(&w);
    assert_false(has_volume(&w, volume));
    scripted.is_slow = false;
    scripted_finish();
    world_settle(&w);
    assert_done(1, scripted.removed);
    assert_let_go(&w, volume);
    assert_goes(&w, volume);
    world_settle(&w);
    assert_done(1, scripted.provisioned);
    assert_done(1, scripted.removed);
    world_done(&w);
}

TEST(S112_static_binders_provision_nothing)
{
    static const char *const provisioners[] = { HOST_PATH_PLUGIN, "vendor.io/x" };

    for (size_t i = 0; i < ARRAY_LEN(provisioners); i++) {
        struct world w;

        world_init(&w);
        w.options.is_static = true;
        make_class(&w, "gold", provisioners[i], "");
        make_claim(&w, "c", "", GOLD);
        world_start(&w);
        world_settle(&w);
        assert_requests(&w, 0);
        assert_done(0, scripted.provisioned);
        assert_times(0, count_events(&w, "c", NULL, NULL));
        world_done(&w);
    }
}

TEST(S113_one_operation_however_often_the_claim_is_looked_at)
{
    struct world w;
    char body[128];

    world_init(&w);
    claim_of_class(&w);
    scripted.is_slow = true;
    world_start(&w);
    world_settle(&w);
    for (unsigned i = 0; i < 10; i++) {
        (void)snprintf(body, sizeof body, "{'metadata':{'labels':{'n':'%u'}}}", i);
        patch_claim(&w, "c", "", body);
        world_still(&w);
    }
    assert_done(1, scripted.provisioned);
    scripted.is_slow = false;
    scripted_finish();
    world_settle(&w);
    assert_done(1, scripted.provisioned);
    assert_bound(&w, "c", volume_of_claim(&w, "c"));
    assert_writes(&w, 5);
    assert_told(&w, "c", "Normal", "ProvisioningSucceeded", NULL);
    world_done(&w);
}

TEST(S114_what_somebody_outside_made_is_bound)
{
    struct world w;
    char spec[1024];

    world_init(&w);
    make_class(&w, "gold", "vendor.io/x", "");
    make_claim(&w, "c", "", GOLD);
    world_start(&w);
    world_settle(&w);
    world_recount(&w);
    (void)snprintf(spec, sizeof spec, "%s%s,'persistentVolumeReclaimPolicy':'Delete'", ref_to_claim(&w, "c"),
                   GOLD);
    make_volume(&w, "made",
                ",'finalizers':['" FINALIZER_EXTERNAL_RECLAIM "'],'annotations':{'" ANN_PROVISIONED_BY
                "':'vendor.io/x'}",
                HOST_PATH, spec);
    world_still(&w);
    assert_bound(&w, "c", "made");
    assert_writes(&w, 3);
    assert_string_equal(annotation(&w, ANN_BOUND_BY_CONTROLLER), "-");
    ASSERT_GOT(&w.served, "['" FINALIZER_EXTERNAL_RECLAIM "','" FINALIZER_VOLUME_PROTECTION "']",
               "metadata/finalizers");
    assert_number(1, number_of(&w, "volume_operation_total_seconds_count{plugin_name=\"vendor.io/x\","
                                   "operation_name=\"provision\"}"));
    world_done(&w);
}

static const struct unfit unfit[] = {
    { "S97_a_provisioner_that_cannot_be_had_is_tried_ever_more_seldom", FAULT_ANY, "measures times" },
    { "S98_a_node_that_cannot_be_served_is_given_back", FAULT(REFUSE) | FAULT(ERROR) | FAULT(CONFLICT),
      "a node that could not be given back is tried again, and serves then" },
    { "S103_a_volume_that_could_not_be_saved_is_saved_later", FAULT_ANY, "is about a fault of its own" },
    { "S104_what_cannot_be_saved_is_removed", FAULT_ANY, "is about a fault of its own" },
    { "S105_what_can_neither_be_saved_nor_removed_is_told", FAULT_ANY, "is about a fault of its own" },
    { "S105_storage_in_use_is_not_cleaned_up", FAULT_ANY, "is about a fault of its own" },
    { "S105_nothing_is_cleaned_up_blindly", FAULT_ANY, "is about a fault of its own" },
    { "S108_what_cannot_be_saved_is_told", FAULT_ANY, "is about a fault of its own" },
    { 0 },
};

REPLAYED_MAIN(unfit)
