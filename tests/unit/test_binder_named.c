/* Binding: claims that name their volume. */
#include "tests/unit/test_binder_pairs.h"
#include "tests/unit/test_binder_replay.h"

#define NAMED ",'volumeName':'p'"

/* Who says that it bound them. */
static void assert_marks(struct world *w, const char *volume, const char *claim)
{
    look_at_volume(w, "p");
    assert_string_equal(annotation(w, ANN_BOUND_BY_CONTROLLER), volume);
    look_at_claim(w, "c");
    assert_string_equal(annotation(w, ANN_BOUND_BY_CONTROLLER), claim);
    assert_string_equal(annotation(w, ANN_BIND_COMPLETED), "yes");
}

/* The claim names p and has nothing of it. */
static void assert_refused(struct world *w)
{
    ASSERT_CLAIM(w, "c", "Pending", "status/phase");
    ASSERT_GOT(&w->served, "p", "spec/volumeName");
    ASSERT_GOT(&w->served, "-", "status/capacity");
    ASSERT_GOT(&w->served, "-", "status/accessModes");
    assert_string_equal(annotation(w, ANN_BIND_COMPLETED), "-");
}

TEST(S42_named_volume_missing)
{
    struct world w;

    world_init(&w);
    world_start(&w);
    add_claim(&w, "c", "1Gi", RWO, NAMED);
    world_settle(&w);
    assert_refused(&w);
    assert_silent(&w, "c");
    assert_writes(&w, 0);
    add_volume(&w, "p", "1Gi", RWO, "");
    world_still(&w);
    assert_bound(&w, "c", "p");
    assert_silent(&w, "c");
    world_done(&w);
}

TEST(S42_a_status_without_the_volume_is_taken_back)
{
    struct world w;

    world_init(&w);
    add_claim(&w, "c", "1Gi", RWO, NAMED);
    patch_claim(&w, "c", "status",
                "{'status':{'phase':'Bound','capacity':{'storage':'1Gi'},'accessModes':['ReadWriteOnce']}}");
    world_start(&w);
    world_settle(&w);
    assert_refused(&w);
    assert_written(&w, "c/c/status");
    assert_silent(&w, "c");
    world_done(&w);
}

TEST(S43_named_volume_free)
{
    for (int is_late = 0; is_late < 2; is_late++) {
        struct world w;

        world_init(&w);
        if (is_late)
            world_start(&w);
        add_volume(&w, "p", "1Gi", RWO, "");
        if (!is_late)
            set_phase(&w, "p", "Available");
        add_volume(&w, "a", "1Gi", RWO, "");
        add_claim(&w, "c", "1Gi", RWO, NAMED);
        if (!is_late)
            world_start(&w);
        world_settle(&w);
        assert_bound(&w, "c", "p");
        assert_marks(&w, "yes", "-");
        ASSERT_VOLUME(&w, "a", "Available", "status/phase");
        assert_writes(&w, is_late ? 6 : 5);
        world_done(&w);
    }
}

TEST(S44_named_volume_kept_by_name)
{
    for (int is_late = 0; is_late < 2; is_late++) {
        struct world w;

        world_init(&w);
        if (is_late)
            world_start(&w);
        add_volume(&w, "p", "1Gi", RWO, claim_ref("c", ""));
        if (!is_late)
            set_phase(&w, "p", "Available");
        add_claim(&w, "c", "1Gi", RWO, NAMED);
        if (!is_late)
            world_start(&w);
        world_settle(&w);
        assert_bound(&w, "c", "p");
        assert_marks(&w, "-", "-");
        assert_writes(&w, is_late ? 5 : 4);
        world_done(&w);
    }
}

/* What is the claim's already is not measured. */
TEST(S44_kept_and_too_small)
{
    struct world w;

    world_init(&w);
    add_volume(&w, "p", "1Gi", RWO, claim_ref("c", ""));
    add_claim(&w, "c", "5Gi", RWO, NAMED);
    world_start(&w);
    world_settle(&w);
    assert_bound(&w, "c", "p");
    ASSERT_CLAIM(&w, "c", "1Gi", "status/capacity/storage");
    assert_silent(&w, "c");
    world_done(&w);
}

TEST(S45_named_volume_has_the_claims_uid)
{
    struct world w;
    char uid[64];

    world_init(&w);
    add_claim(&w, "c", "1Gi", RWO, NAMED);
    uid_of_claim(&w, "c", uid);
    add_volume(&w, "p", "1Gi", RWO, claim_ref("c", uid));
    set_phase(&w, "p", "Available");
    world_start(&w);
    world_settle(&w);
    assert_bound(&w, "c", "p");
    assert_marks(&w, "-", "-");
    assert_written(&w, "v/p/status c/c c/c/status");
    world_done(&w);
}

/* p is d's. */
static void taken(struct world *w)
{
    add_volume(w, "p", "1Gi", RWO, "");
    set_phase(w, "p", "Available");
    add_claim(w, "d", "1Gi", RWO, "");
    world_start(w);
    world_settle(w);
    assert_bound(w, "d", "p");
    forget_writes(w);
}

TEST(S46_named_volume_is_anothers)
{
    struct world w;

    world_init(&w);
    taken(&w);
    add_claim(&w, "c", "1Gi", RWO, NAMED);
    world_settle(&w);
    assert_refused(&w);
    assert_only_event(&w, "c", "Warning", "FailedBinding",
                      "volume \"p\" already bound to a different claim.");
    assert_bound(&w, "d", "p");
    assert_writes(&w, 0);
    world_done(&w);
}

/* It is the claim's at last, by name only: nothing but the volume itself tells. */
TEST(S46_named_volume_is_given_to_the_claim)
{
    struct world w;

    world_init(&w);
    add_volume(&w, "p", "1Gi", RWO, claim_ref("d", ""));
    add_claim(&w, "c", "1Gi", RWO, NAMED);
    world_start(&w);
    world_settle(&w);
    assert_refused(&w);
    patch_volume(&w, "p", "", "{'spec':{'claimRef':{'name':'c'}}}");
    world_still(&w);
    assert_bound(&w, "c", "p");
    assert_marks(&w, "-", "-");
    world_done(&w);
}

TEST(S47_named_volume_is_anothers_though_we_bound_it)
{
    struct overheard heard;
    struct world w;

    world_init(&w);
    taken(&w);
    overhear(&heard, &w);
    post_claim(&w, "c", ",'annotations':{'" ANN_BOUND_BY_CONTROLLER "':'yes'}", "1Gi", RWO, NAMED);
    patch_claim(&w, "c", "status",
                "{'status':{'phase':'Bound','capacity':{'storage':'1Gi'},'accessModes':['ReadWriteOnce']}}");
    world_settle(&w);
    assert_true(overheard_count(&heard,
                                "invalid binding of claim \\\"default/c\\\" to volume \\\"p\\\": volume "
                                "already claimed by \\\"default/d\\\"") > 3);
    overhear_done(&heard);
    ASSERT_CLAIM(&w, "c", "Bound", "status/phase");
    ASSERT_GOT(&w.served, "1Gi", "status/capacity/storage");
    assert_only_event(&w, "c", "Warning", "FailedBinding",
                      "volume \"p\" already bound to a different claim.");
    assert_writes(&w, 0);
    world_done(&w);
}

struct named_row {
    const char *label;
    const char *size;
    const char *volume; /* its spec */
    const char *modes;
    const char *claim; /* its spec */
    const char *says;
};

#define CANNOT "Cannot bind to requested volume \"p\": "

static void check_named(const struct named_row *row, bool is_deleting)
{
    for (int is_late = 0; is_late < 2; is_late++) {
        char message[256], spec[256];
        struct world w;

        note_row(row->label, is_late);
        (void)snprintf(message, sizeof message, CANNOT "%s", row->says);
        (void)snprintf(spec, sizeof spec, NAMED "%s", row->claim);
        world_init(&w);
        if (is_late)
            world_start(&w);
        add_volume(&w, "p", row->size, RWO, row->volume);
        if (!is_late)
            set_phase(&w, "p", "Available");
        if (is_deleting)
            mark_volume(&w, "p");
        add_claim(&w, "c", "2Gi", row->modes, spec);
        if (!is_late)
            world_start(&w);
        world_settle(&w);
        assert_refused(&w);
        assert_only_event(&w, "c", "Warning", "VolumeMismatch", message);
        ASSERT_VOLUME(&w, "p", "Available", "status/phase");
        ASSERT_GOT(&w.served, "-", "spec/claimRef");
        assert_writes(&w, is_late ? 1 : 0);
        world_done(&w);
    }
}

TEST(S48_S49_S50_S51_named_volume_does_not_fit)
{
    static const struct named_row rows[] = {
        { "S48", "1Gi", "", RWO, "", "requested PV is too small" },
        { "S48 and the rest", "1Gi", ",'volumeMode':'Block'", RWX, ",'storageClassName':'gold'",
          "requested PV is too small" },
        { "S49 the claim's", "2Gi", "", RWO, ",'storageClassName':'gold'",
          "storageClassName does not match" },
        { "S49 the volume's", "2Gi", ",'storageClassName':'gold','volumeMode':'Block'", RWO, "",
          "storageClassName does not match" },
        { "S50", "2Gi", ",'volumeMode':'Block'", RWX, ",'volumeAttributesClassName':'gold'",
          "volumeAttributesClassName does not match" },
        { "S51 mode", "2Gi", ",'volumeMode':'Block'", RWX, "", "incompatible volumeMode" },
        { "S51 access", "2Gi", "", RWO "," RWX, "", "incompatible accessMode" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        check_named(&rows[i], false);
}

TEST(S52_named_volume_is_going)
{
    static const struct named_row row = {
        "S52", "1Gi", "", RWO, "", "the volume is marked for deletion \"p\""
    };

    check_named(&row, true);
}

TEST(S48_named_volume_grows)
{
    struct world w;

    world_init(&w);
    world_start(&w);
    add_volume(&w, "p", "1Gi", RWO, "");
    add_claim(&w, "c", "2Gi", RWO, NAMED);
    world_settle(&w);
    assert_refused(&w);
    patch_volume(&w, "p", "", "{'spec':{'capacity':{'storage':'2Gi'}}}");
    world_still(&w);
    assert_bound(&w, "c", "p");
    world_done(&w);
}

TEST(S53_named_volume_without_the_labels)
{
    struct world w;

    world_init(&w);
    add_volume(&w, "p", "1Gi", RWO, "");
    add_claim(&w, "c", "1Gi", RWO, NAMED ",'selector':{'matchLabels':{'foo':'true'}}");
    world_start(&w);
    world_settle(&w);
    assert_bound(&w, "c", "p");
    assert_silent(&w, "c");
    world_done(&w);
}

TEST(S54_whole_bytes)
{
    for (int is_named = 0; is_named < 2; is_named++) {
        struct world w;

        world_init(&w);
        world_start(&w);
        add_volume(&w, "p", "1200m", RWO, "");
        add_claim(&w, "c", "1500m", RWO, is_named ? NAMED : "");
        world_settle(&w);
        if (is_named)
            assert_bound(&w, "c", "p");
        else
            assert_waits(&w, "c");
        world_done(&w);
    }
}

TEST(S55_named_volume_of_a_class_that_waits)
{
    for (int is_late = 0; is_late < 2; is_late++) {
        struct world w;

        world_init(&w);
        ASSERT_SENT(&w.served, 201, "POST", CLASSES,
                    "{'apiVersion':'storage.k8s.io/v1','kind':'StorageClass','metadata':{'name':'late'},"
                    "'provisioner':'kubernetes.io/no-provisioner','volumeBindingMode':"
                    "'WaitForFirstConsumer'}");
        if (is_late)
            world_start(&w);
        add_volume(&w, "p", "1Gi", RWO, ",'storageClassName':'late'");
        add_claim(&w, "c", "1Gi", RWO, NAMED ",'storageClassName':'late'");
        if (!is_late)
            world_start(&w);
        world_still(&w);
        assert_bound(&w, "c", "p");
        assert_silent(&w, "c");
        world_done(&w);
    }
}

static const struct unfit unfit[] = {
    { 0 },
};

REPLAYED_MAIN(unfit)
