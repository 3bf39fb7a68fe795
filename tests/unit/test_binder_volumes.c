/* Volumes: whose they are, and what follows when their claims go, come back or have another. */
#include "tests/unit/test_binder_objects.h"
#include "tests/unit/test_binder_replay.h"

/* --- Nobody's, or kept by name --- */

static void one_volume(struct world *w)
{
    make_volume(w, "p", "", HOST_PATH, "");
}

static void is_available(struct world *w)
{
    ASSERT_VOLUME(w, "p", "Available", "status/phase");
    assert_writes(w, 1);
    assert_times(0, count_events(w, "p", NULL, NULL));
}

TEST(S64_a_new_volume_becomes_available)
{
    in_both_orders(one_volume, is_available);
}

TEST(S64_the_time_of_the_transition_changes_with_the_phase)
{
    struct world w;
    char before[64];

    world_init(&w);
    one_volume(&w);
    look_at_volume(&w, "p");
    (void)snprintf(before, sizeof before, "%s", got(&w.served, "status/lastPhaseTransitionTime"));
    assert_string_not_equal(before, "-");
    served_pass(&w.served, 7);
    ASSERT_VOLUME(&w, "p", before, "status/lastPhaseTransitionTime");
    world_start(&w);
    world_settle(&w);
    ASSERT_VOLUME(&w, "p", "Available", "status/phase");
    assert_string_not_equal(before, got(&w.served, "status/lastPhaseTransitionTime"));
    world_done(&w);
}

static void one_kept_volume(struct world *w)
{
    make_volume(w, "p", "", HOST_PATH, ref_to("c", ""));
}

TEST(S65_a_volume_kept_by_name_becomes_available)
{
    in_both_orders(one_kept_volume, is_available);
}

/* --- The claim is gone --- */

static void claim_is_gone(struct world *w)
{
    make_volume(w, "p", "", HOST_PATH, ref_to("c", "gone"));
}

static void is_released(struct world *w)
{
    ASSERT_VOLUME(w, "p", "Released", "status/phase");
    ASSERT_GOT(&w->served, "c", "spec/claimRef/name");
    ASSERT_GOT(&w->served, "gone", "spec/claimRef/uid");
    assert_writes(w, 1);
    assert_times(0, count_events(w, "p", NULL, NULL));
    /* A claim by the same name is another claim. */
    make_claim(w, "c", "", "");
    world_settle(w);
    ASSERT_VOLUME(w, "p", "Released", "status/phase");
    ASSERT_GOT(&w->served, "gone", "spec/claimRef/uid");
    ASSERT_CLAIM(w, "c", "Pending", "status/phase");
    ASSERT_GOT(&w->served, "-", "spec/volumeName");
    assert_told(w, "c", "Normal", "FailedBinding",
                "no persistent volumes available for this claim and no storage class is set");
    assert_writes(w, 1);
}

TEST(S66_a_volume_without_its_claim_is_released_and_kept)
{
    in_both_orders(claim_is_gone, is_released);
}

/* A world whose binder sees no claims but those that are there when it starts. */
static void start_blind(struct world *w)
{
    w->is_blind = true;
    w->blind_to = KIND_CLAIM;
    world_start(w);
}

static void restart_seeing(struct world *w)
{
    world_kill(w);
    w->is_blind = false;
    world_recount(w);
    world_start(w);
    world_settle(w);
}

TEST(S67_a_claim_that_only_the_server_knows_keeps_its_volume)
{
    struct world w;

    world_init(&w);
    start_blind(&w);
    make_claim(&w, "c", "", "");
    make_volume(&w, "p", "", HOST_PATH, ref_to_claim(&w, "c"));
    world_settle(&w);
    ASSERT_VOLUME(&w, "p", "Pending", "status/phase");
    assert_writes(&w, 0);
    assert_requests(&w, 1);
    restart_seeing(&w);
    assert_bound(&w, "c", "p");
    assert_writes(&w, 3);
    world_done(&w);
}

TEST(S68_without_an_answer_nothing_is_released)
{
    static const enum tap_fault faults[] = { TAP_ERROR, TAP_REFUSE };

    for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
        struct world w;

        world_init(&w);
        claim_is_gone(&w);
        fail_next(&w, faults[i], "GET " CLAIMS "/c", 3);
        world_start(&w);
        world_still(&w);
        ASSERT_VOLUME(&w, "p", "Pending", "status/phase");
        assert_writes(&w, 0);
        assert_true(w.failing_count < 3);
        world_settle(&w);
        ASSERT_INT(0, w.failing_count);
        ASSERT_VOLUME(&w, "p", "Released", "status/phase");
        assert_writes(&w, 1);
        world_done(&w);
    }
}

/* The cache has an old claim of the name; the server has one that the volume names, or yet another. */
TEST(S69_another_claim_by_the_name_is_looked_up)
{
    for (int is_named = 0; is_named < 2; is_named++) {
        struct world w;
        char uid[64] = "third";

        world_init(&w);
        make_claim(&w, "c", "", "");
        start_blind(&w);
        world_settle(&w);
        drop_claim(&w, "c");
        make_claim(&w, "c", "", ",'volumeName':'p'");
        if (is_named)
            uid_of_last(&w, uid);
        world_recount(&w);
        make_volume(&w, "p", "", HOST_PATH, ref_to("c", uid));
        world_settle(&w);
        ASSERT_VOLUME(&w, "p", is_named ? "Bound" : "Released", "status/phase");
        assert_writes(&w, 1);
        world_done(&w);
    }
}

/* The answer for the old claim arrives after the volume was reserved for another claim. */
TEST(S69_answer_about_an_old_claim_does_not_release_the_volume)
{
    struct world w;

    world_init(&w);
    claim_is_gone(&w);
    fail_next(&w, TAP_LATE, "GET " CLAIMS "/c", 1);
    world_start(&w);
    world_rest(&w);
    assert_non_null(w.tap->late);
    ASSERT_SENT(&w.served, 200, "MERGE", VOLUMES "/p", "{'spec':{'claimRef':null}}");
    make_claim(&w, "d", "", ",'volumeName':'p'");
    world_rest(&w);
    assert_bound(&w, "d", "p");
    world_recount(&w);
    world_deliver_late(&w);
    world_settle(&w);
    assert_bound(&w, "d", "p");
    assert_writes(&w, 0);
    world_done(&w);
}

TEST(S70_released_volumes_ask_for_nothing)
{
    static const char *const phases[] = { "Released", "Failed" };

    for (size_t i = 0; i < ARRAY_LEN(phases); i++) {
        struct world w;
        char body[128];

        world_init(&w);
        claim_is_gone(&w);
        set_phase(&w, "p", phases[i]);
        make_claim(&w, "c", "", "");
        world_start(&w);
        world_settle(&w);
        for (unsigned n = 0; n < 500; n++) {
            (void)snprintf(body, sizeof body, "{'metadata':{'labels':{'n':'%u'}}}", n);
            patch_volume(&w, "p", "", body);
        }
        world_settle(&w);
        assert_requests(&w, 0);
        ASSERT_VOLUME(&w, "p", phases[i], "status/phase");
        world_done(&w);
    }
}

/* --- The claim is there and has no volume --- */

TEST(S71_modes_that_differ_are_told_to_both)
{
    struct world w;

    world_init(&w);
    make_claim(&w, "c", "", ",'volumeMode':'Block'");
    make_volume(&w, "p", "", HOST_PATH, ref_to_claim(&w, "c"));
    world_start(&w);
    world_settle(&w);
    for (unsigned n = 0; n < 5; n++) {
        patch_volume(&w, "p", "",
                     n % 2 ? "{'metadata':{'labels':{'a':'b'}}}" : "{'metadata':{'labels':null}}");
        world_still(&w);
    }
    assert_told(&w, "p", "Warning", "VolumeMismatch",
                "Cannot bind PersistentVolume to requested PersistentVolumeClaim \"c\" due to incompatible "
                "volumeMode.");
    assert_told(&w, "c", "Warning", "VolumeMismatch",
                "Cannot bind PersistentVolume \"p\" to requested PersistentVolumeClaim due to incompatible "
                "volumeMode.");
    assert_writes(&w, 0);
    ASSERT_VOLUME(&w, "p", "Pending", "status/phase");
    ASSERT_CLAIM(&w, "c", "-", "spec/volumeName");
    world_done(&w);
}

static void volume_names_claim(struct world *w)
{
    make_claim(w, "c", "", "");
    make_volume(w, "p", "", HOST_PATH, ref_to_claim(w, "c"));
}

static void is_bound_by_three(struct world *w)
{
    assert_bound(w, "c", "p");
    assert_writes(w, 3); /* never Available on the way */
    assert_told(w, "c", "Normal", "Bound", "Bound to PV p");
    assert_times(0, count_events(w, "p", NULL, NULL));
}

TEST(S72_the_volume_wakes_the_claim_that_it_names)
{
    in_both_orders(volume_names_claim, is_bound_by_three);
}

/* --- The claim has a volume --- */

/* A pair that the binder made, and the binder gone. */
static void bind_first(struct world *w, const char *claim, const char *volume)
{
    make_volume(w, volume, "", HOST_PATH, "");
    make_claim(w, claim, "", "");
    world_start(w);
    world_settle(w);
    assert_bound(w, claim, volume);
    world_kill(w);
    world_recount(w);
}

TEST(S73_the_volume_of_a_bound_claim_becomes_bound)
{
    static const char *const phases[] = { "Available", "Pending", "Released", "Failed" };

    for (size_t i = 0; i < ARRAY_LEN(phases); i++) {
        struct world w;

        world_init(&w);
        bind_first(&w, "c", "p");
        patch_volume(&w, "p", "status", "{'status':{'message':'hm'}}");
        set_phase(&w, "p", phases[i]);
        world_start(&w);
        world_settle(&w);
        assert_bound(&w, "c", "p");
        ASSERT_GOT(&w.served, "-", "status/message");
        assert_writes(&w, 1);
        world_done(&w);
    }
}

/* A second volume that names the claim of a pair. */
static const struct {
    const char *annotation;
    const char *spec;
    const char *uid; /* afterwards */
    const char *name;
    const char *bound_by;
} jilted_rows[] = {
    /* S74 */ { "'" ANN_BOUND_BY_CONTROLLER "':'yes'", "", "-", "-", "-" },
    /* S75 */ { "'a':'b'", "", "-", "c", "-" },
    /* S76 */
    { "'" ANN_BOUND_BY_CONTROLLER "':'yes','" ANN_PROVISIONED_BY "':'" HOST_PATH_PLUGIN "'", "", "-", "-",
      "-" },
    /* S76 */ { "'" ANN_PROVISIONED_BY "':'" HOST_PATH_PLUGIN "'", "", "-", "c", "-" },
    { "'" ANN_BOUND_BY_CONTROLLER "':'yes'", ",'persistentVolumeReclaimPolicy':'Delete'", "-", "-", "-" },
};

TEST(S74_S75_S76_a_volume_whose_claim_has_another_is_free_again)
{
    for (size_t i = 0; i < 2 * ARRAY_LEN(jilted_rows); i++) {
        bool is_early = i % 2;
        size_t row = i / 2;
        char meta[256], spec[512];
        struct world w;

        world_init(&w);
        bind_first(&w, "c", "q");
        (void)snprintf(meta, sizeof meta, ",'annotations':{%s}", jilted_rows[row].annotation);
        (void)snprintf(spec, sizeof spec, "%s%s", ref_to_claim(&w, "c"), jilted_rows[row].spec);
        if (is_early)
            world_start(&w);
        make_volume(&w, "p", meta, HOST_PATH, spec);
        if (!is_early)
            world_start(&w);
        world_settle(&w);
        ASSERT_VOLUME(&w, "p", "Available", "status/phase");
        ASSERT_GOT(&w.served, jilted_rows[row].uid, "spec/claimRef/uid");
        ASSERT_GOT(&w.served, jilted_rows[row].name, "spec/claimRef/name");
        assert_string_equal(annotation(&w, ANN_BOUND_BY_CONTROLLER), jilted_rows[row].bound_by);
        assert_writes(&w, 2);
        assert_bound(&w, "c", "q");
        assert_times(0, count_events(&w, "p", NULL, NULL));
        world_done(&w);
    }
}

TEST(S76_a_provisioned_volume_whose_claim_has_another_is_deleted)
{
    struct world w;

    world_init(&w);
    bind_first(&w, "c", "q");
    world_start(&w);
    make_volume(&w, "p",
                ",'annotations':{'" ANN_PROVISIONED_BY "':'" HOST_PATH_PLUGIN "','" ANN_BOUND_BY_CONTROLLER
                "':'yes'}",
                HOST_PATH, ",'persistentVolumeReclaimPolicy':'Delete','claimRef':null");
    world_settle(&w);
    ASSERT_VOLUME(&w, "p", "Available", "status/phase");
    {
        char body[1024];

        (void)snprintf(body, sizeof body, "{'spec':{%s}}", ref_to_claim(&w, "c") + 1);
        patch_volume(&w, "p", "", body);
    }
    world_settle(&w);
    assert_done(1, scripted.removed);
    assert_goes(&w, "p");
    world_settle(&w);
    assert_bound(&w, "c", "q");
    assert_done(1, scripted.removed);
    world_done(&w);
}

static void two_volumes_name_claim(struct world *w)
{
    make_claim(w, "c", "", ",'storageClassName':'later'");
    make_volume(w, "b", annotated(ANN_BOUND_BY_CONTROLLER, "yes"), HOST_PATH, ref_to_claim(w, "c"));
    make_volume(w, "a", annotated(ANN_BOUND_BY_CONTROLLER, "yes"), HOST_PATH, ref_to_claim(w, "c"));
}

static void one_of_them_is_free(struct world *w)
{
    bool is_a;

    look_at_claim(w, "c");
    is_a = strcmp(got(&w->served, "spec/volumeName"), "a") == 0;
    assert_bound(w, "c", is_a ? "a" : "b");
    assert_string_equal(annotation(w, ANN_BOUND_BY_CONTROLLER), "yes");
    ASSERT_VOLUME(w, is_a ? "b" : "a", "Available", "status/phase");
    ASSERT_GOT(&w->served, "-", "spec/claimRef");
    assert_string_equal(annotation(w, ANN_BOUND_BY_CONTROLLER), "-");
    assert_writes(w, 5); /* three to bind, two to free */
}

TEST(S77_of_two_volumes_for_one_claim_the_loser_is_freed)
{
    in_both_orders(two_volumes_name_claim, one_of_them_is_free);
}

/* --- What administrators do --- */

static void released_by_admin(struct world *w, const char *patch)
{
    world_init(w);
    claim_is_gone(w);
    world_start(w);
    world_settle(w);
    ASSERT_VOLUME(w, "p", "Released", "status/phase");
    patch_volume(w, "p", "", patch);
    world_still(w);
    ASSERT_VOLUME(w, "p", "Available", "status/phase");
}

TEST(S78_a_released_volume_without_reference_is_free)
{
    struct world w;

    released_by_admin(&w, "{'spec':{'claimRef':null}}");
    make_claim(&w, "any", "", "");
    world_still(&w);
    assert_bound(&w, "any", "p");
    world_done(&w);
}

TEST(S79_a_released_volume_without_uid_waits_for_the_name)
{
    struct world w;

    released_by_admin(&w, "{'spec':{'claimRef':{'uid':null}}}");
    make_claim(&w, "other", "", "");
    world_still(&w);
    ASSERT_CLAIM(&w, "other", "Pending", "status/phase");
    make_claim(&w, "c", "", "");
    world_still(&w);
    assert_bound(&w, "c", "p");
    assert_string_equal(annotation(&w, ANN_BOUND_BY_CONTROLLER), "-");
    world_done(&w);
}

/* The new claim may be there first. */
TEST(S79_and_finds_it_waiting)
{
    struct world w;

    world_init(&w);
    claim_is_gone(&w);
    world_start(&w);
    world_settle(&w);
    make_claim(&w, "c", "", "");
    world_settle(&w);
    ASSERT_CLAIM(&w, "c", "Pending", "status/phase");
    patch_volume(&w, "p", "", "{'spec':{'claimRef':{'uid':null}}}");
    world_still(&w);
    assert_bound(&w, "c", "p");
    world_done(&w);
}

TEST(S80_a_claim_that_goes_releases_its_volume_at_once)
{
    struct world w;

    world_init(&w);
    bind_first(&w, "c", "p");
    world_start(&w);
    world_settle(&w);
    assert_writes(&w, 0);
    drop_claim(&w, "c");
    world_still(&w);
    ASSERT_VOLUME(&w, "p", "Released", "status/phase");
    assert_writes(&w, 1);
    assert_done(0, scripted.removed + scripted.recycled);
    world_done(&w);
}

/* Chosen, and gone before it could be reserved, which the cache does not show yet. */
TEST(a_claim_whose_volume_is_gone_comes_back)
{
    struct world w;

    world_init(&w);
    make_volume(&w, "p", "", HOST_PATH, "");
    set_phase(&w, "p", "Available");
    w.is_blind = true;
    w.blind_to = KIND_VOLUME;
    world_start(&w);
    patch_volume(&w, "p", "", "{'metadata':{'finalizers':null}}");
    ASSERT_SENT(&w.served, 200, "DELETE", VOLUMES "/p", NULL);
    make_claim(&w, "c", "", "");
    world_settle(&w);
    assert_true(count_writes(&w, "PATCH " VOLUMES "/p") > 1);
    restart_seeing(&w);
    ASSERT_CLAIM(&w, "c", "Pending", "status/phase");
    assert_told(&w, "c", "Normal", "FailedBinding",
                "no persistent volumes available for this claim and no storage class is set");
    world_done(&w);
}

/* --- Versions --- */

/* The volume as it was just answered, under another version; NULL: its own. */
static struct object *answered_volume(const struct world *w, const char *version)
{
    const char *text = buf_cstr(&w->served.text), *key = "\"resourceVersion\":\"";
    const char *at = strstr(text, key); /* metadata comes first */
    _cleanup_(buf_done_p) struct buf other = BUF_INIT(1 << 20);
    struct object *o = NULL;
    struct json d;

    assert_non_null(at);
    at += strlen(key);
    buf_add_str(&other, (struct str){ text, (size_t)(at - text) });
    buf_add_cstr(&other, version ? version : "");
    buf_add_cstr(&other, version ? strchr(at, '"') : at);
    json_init(&d, 1 << 20);
    ASSERT_OK(object_decode(kind_info(KIND_VOLUME), buf_str(&other), &d, &o, &err));
    json_done(&d);
    return o;
}

static void observe(struct world *w, struct object *o)
{
    informer_observe(w->volumes, o);
    (void)object_unref(o);
    world_settle(w);
    assert_writes(w, 0);
    assert_bound(w, "c", "p");
}

/* The older version, and the one whose version says nothing, show the volume without its owner: believed,
 * they would lead to writes. */
TEST(S81_what_is_older_is_not_believed)
{
    struct object *old, *odd, *same;
    struct world w;

    world_init(&w);
    make_volume(&w, "p", "", HOST_PATH, "");
    set_phase(&w, "p", "Available");
    old = answered_volume(&w, NULL);
    odd = answered_volume(&w, "x");
    make_claim(&w, "c", "", "");
    world_start(&w);
    world_settle(&w);
    assert_bound(&w, "c", "p");
    same = answered_volume(&w, NULL);
    world_recount(&w);
    observe(&w, old);
    observe(&w, same);
    observe(&w, odd);
    world_done(&w);
}

TEST(S82_a_start_among_bound_pairs_writes_nothing)
{
    enum { PAIRS = 1000 };
    struct world w;
    char name[32];

    world_init(&w);
    for (unsigned i = 0; i < PAIRS; i++) {
        (void)snprintf(name, sizeof name, "p%u", i);
        make_volume(&w, name, "", HOST_PATH, "");
        (void)snprintf(name, sizeof name, "c%u", i);
        make_claim(&w, name, "", "");
    }
    world_start(&w);
    world_settle(&w);
    world_kill(&w);
    world_recount(&w);
    world_start(&w);
    world_settle(&w);
    assert_requests(&w, 0);
    ASSERT_SENT(&w.served, 200, "GET", VOLUMES, NULL);
    ASSERT_INT(PAIRS, got_items(&w.served));
    for (unsigned i = 0; i < PAIRS; i += 37) {
        (void)snprintf(name, sizeof name, "c%u", i);
        ASSERT_CLAIM(&w, name, "Bound", "status/phase");
    }
    world_done(&w);
}

static const struct unfit unfit[] = {
    { "S67_a_claim_that_only_the_server_knows_keeps_its_volume", FAULT(CRASH), "a new process knows too" },
    { "S68_without_an_answer_nothing_is_released", FAULT_ANY, "is about a fault of its own" },
    { "S69_another_claim_by_the_name_is_looked_up", FAULT(CRASH), "a new process sees them both" },
    { "S69_answer_about_an_old_claim_does_not_release_the_volume", FAULT_ANY, "is about a fault of its own" },
    { "S71_modes_that_differ_are_told_to_both", FAULT_ANY, "sends nothing" },
    { "a_claim_whose_volume_is_gone_comes_back", FAULT(CRASH), "a new process knows that it is gone" },
    { "S82_a_start_among_bound_pairs_writes_nothing", FAULT_ANY, "a thousand of S1 and S13" },
    { 0 },
};

REPLAYED_MAIN(unfit)
