/* Binding: claims without a volume's name. */
#include "tests/unit/test_binder_pairs.h"
#include "tests/unit/test_binder_replay.h"

#define BBC "'annotations':{'" ANN_BOUND_BY_CONTROLLER "':'yes'}"
#define BC "'annotations':{'" ANN_BIND_COMPLETED "':'yes','" ANN_BOUND_BY_CONTROLLER "':'yes'}"

static void s1(struct world *w)
{
    add_volume(w, "p", "1Gi", RWO, "");
    set_phase(w, "p", "Available");
    add_claim(w, "c", "1Gi", RWO, "");
}

static void assert_s1(struct world *w)
{
    assert_bound(w, "c", "p");
    look_at_claim(w, "c");
    ASSERT_GOT(&w->served, "1Gi", "status/capacity/storage");
    ASSERT_GOT(&w->served, "['ReadWriteOnce']", "status/accessModes");
    assert_string_equal(annotation(w, ANN_BOUND_BY_CONTROLLER), "yes");
    look_at_volume(w, "p");
    ASSERT_GOT(&w->served, "PersistentVolumeClaim", "spec/claimRef/kind");
    ASSERT_GOT(&w->served, "v1", "spec/claimRef/apiVersion");
    ASSERT_GOT(&w->served, "default", "spec/claimRef/namespace");
    assert_string_not_equal(got(&w->served, "spec/claimRef/resourceVersion"), "-");
    assert_string_equal(annotation(w, ANN_BOUND_BY_CONTROLLER), "yes");
    assert_silent(w, "c");
    assert_silent(w, "p");
    assert_times(1, count_events(w, "c", "Bound", "Bound to PV p"));
}

TEST(S1_a_claim_gets_the_volume_that_fits)
{
    struct world w;

    world_init(&w);
    s1(&w);
    world_start(&w);
    world_settle(&w);
    assert_s1(&w);
    assert_written(&w, "v/p v/p/status c/c c/c/status");
    world_done(&w);
}

TEST(S1_with_the_binder_there_first)
{
    struct world w;

    world_init(&w);
    world_start(&w);
    add_volume(&w, "p", "1Gi", RWO, "");
    add_claim(&w, "c", "1Gi", RWO, "");
    world_still(&w);
    assert_s1(&w);
    assert_written(&w, "v/p/status v/p v/p/status c/c c/c/status");
    world_done(&w);
}

/* The event is one of our own server's. */
TEST(S1_elsewhere_nobody_is_told)
{
    static const struct server_version others[] = { { 0 }, { 1, 30, false }, { 1, 37, false } };

    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        struct world w;

        world_init(&w);
        w.server = others[i];
        add_volume(&w, "p", "1Gi", RWO, "");
        add_claim(&w, "c", "1Gi", RWO, "");
        world_start(&w);
        world_settle(&w);
        assert_bound(&w, "c", "p");
        assert_times(0, count_events(&w, "c", "Bound", NULL));
        assert_silent(&w, "c");
        assert_writes(&w, 4);
        world_done(&w);
    }
}

TEST(S2_nothing_to_bind)
{
    struct world w;

    world_init(&w);
    add_claim(&w, "c", "1Gi", RWO, "");
    world_start(&w);
    world_settle(&w);
    assert_waits(&w, "c");
    assert_writes(&w, 0);
    assert_only_event(&w, "c", "Normal", "FailedBinding", NO_VOLUMES);
    world_done(&w);
}

TEST(S2_says_so_again_after_five_minutes_only)
{
    struct world w;

    world_init(&w);
    world_start(&w);
    add_claim(&w, "c", "1Gi", RWO, "");
    for (int i = 0; i < 10; i++) {
        char body[64];

        (void)snprintf(body, sizeof body, "{'metadata':{'labels':{'n':'%d'}}}", i);
        patch_claim(&w, "c", "", body);
    }
    world_settle(&w);
    assert_only_event(&w, "c", "Normal", "FailedBinding", NO_VOLUMES);
    manual_clock_advance(&w.served.clock, 301 * NS_PER_S);
    patch_claim(&w, "c", "", "{'metadata':{'labels':{'n':'x'}}}");
    world_settle(&w);
    assert_times(1, count_events(&w, "c", "FailedBinding", NO_VOLUMES));
    ASSERT_GOT(&w.served, "2", "items/0/count");
    assert_writes(&w, 0);
    world_done(&w);
}

/* Made again before anybody saw that it was gone. */
TEST(S2_a_claim_made_again_is_told_about_again)
{
    struct world w;
    struct sent gone, made;
    char uid[64];

    world_init(&w);
    world_start(&w);
    add_claim(&w, "c", "1Gi", RWO, "");
    patch_claim(&w, "c", "", "{'metadata':{'finalizers':null}}");
    world_settle(&w);
    send_begin(&w.served, &gone, "DELETE", CLAIMS "/c", NULL);
    send_begin(&w.served, &made, "POST", CLAIMS,
               "{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'name':'c'}," CLAIM_SPEC "}");
    ASSERT_INT(200, sent_wait(&gone));
    ASSERT_INT(201, sent_wait(&made));
    sent_done(&gone);
    sent_done(&made);
    world_settle(&w);
    uid_of_claim(&w, "c", uid);
    ASSERT_SENT(&w.served, 200, "GET", "/api/v1/events", NULL);
    ASSERT_INT(2, got_items(&w.served));
    assert_true(strcmp(got(&w.served, "items/0/involvedObject/uid"), uid) == 0 ||
                strcmp(got(&w.served, "items/1/involvedObject/uid"), uid) == 0);
    world_done(&w);
}

TEST(S3_a_status_without_a_volume_is_taken_back)
{
    struct world w;

    world_init(&w);
    add_claim(&w, "c", "1Gi", RWO, "");
    patch_claim(&w, "c", "status",
                "{'status':{'phase':'Bound','capacity':{'storage':'1Gi'},'accessModes':['ReadWriteOnce'],"
                "'currentVolumeAttributesClassName':'gold'}}");
    world_start(&w);
    world_settle(&w);
    assert_waits(&w, "c");
    ASSERT_CLAIM(&w, "c", "-", "status/currentVolumeAttributesClassName");
    assert_written(&w, "c/c/status");
    assert_only_event(&w, "c", "Normal", "FailedBinding", NO_VOLUMES);
    world_done(&w);
}

/* --- Reserved --- */

TEST(S6_a_volume_kept_by_name)
{
    for (int is_late = 0; is_late < 2; is_late++) {
        struct world w;

        world_init(&w);
        if (is_late)
            world_start(&w);
        add_volume(&w, "p", "10Gi", RWO, claim_ref("c", ""));
        add_volume(&w, "q", "1Gi", RWO, "");
        if (!is_late)
            set_phase(&w, "q", "Available");
        add_claim(&w, "c", "1Gi", RWO, "");
        if (!is_late)
            world_start(&w);
        world_settle(&w);
        assert_bound(&w, "c", "p");
        look_at_volume(&w, "p");
        assert_string_equal(annotation(&w, ANN_BOUND_BY_CONTROLLER), "-");
        look_at_claim(&w, "c");
        assert_string_equal(annotation(&w, ANN_BOUND_BY_CONTROLLER), "yes");
        ASSERT_GOT(&w.served, "10Gi", "status/capacity/storage");
        ASSERT_VOLUME(&w, "q", "Available", "status/phase");
        assert_writes(&w, is_late ? 6 : 4);
        world_done(&w);
    }
}

TEST(S7_a_volume_kept_by_uid)
{
    for (int is_late = 0; is_late < 2; is_late++) {
        struct world w;
        char uid[64];

        world_init(&w);
        if (is_late)
            world_start(&w);
        add_claim(&w, "c", "1Gi", RWO, "");
        uid_of_claim(&w, "c", uid);
        add_volume(&w, "p", "10Gi", RWO, claim_ref("c", uid));
        add_volume(&w, "q", "1Gi", RWO, "");
        if (!is_late) {
            set_phase(&w, "q", "Available");
            world_start(&w);
        }
        world_still(&w);
        assert_bound(&w, "c", "p");
        look_at_volume(&w, "p");
        assert_string_equal(annotation(&w, ANN_BOUND_BY_CONTROLLER), "-");
        assert_written(&w, is_late ? "v/p/status c/c c/c/status v/q/status" : "v/p/status c/c c/c/status");
        world_done(&w);
    }
}

TEST(S8_a_volume_kept_for_another)
{
    struct world w;

    world_init(&w);
    add_volume(&w, "p", "1Gi", RWO, claim_ref("other", ""));
    set_phase(&w, "p", "Available");
    add_claim(&w, "c", "1Gi", RWO, "");
    world_start(&w);
    world_settle(&w);
    assert_waits(&w, "c");
    assert_only_event(&w, "c", "Normal", "FailedBinding", NO_VOLUMES);
    ASSERT_VOLUME(&w, "p", "Available", "status/phase");
    ASSERT_GOT(&w.served, "other", "spec/claimRef/name");
    ASSERT_GOT(&w.served, "-", "spec/claimRef/uid");
    assert_writes(&w, 0);
    world_done(&w);
}

TEST(S9_a_volume_of_the_claims_forerunner)
{
    struct world w;

    world_init(&w);
    add_volume(&w, "p", "1Gi", RWO, claim_ref("c", "old"));
    set_phase(&w, "p", "Released");
    add_claim(&w, "c", "1Gi", RWO, "");
    world_start(&w);
    world_settle(&w);
    assert_waits(&w, "c");
    assert_only_event(&w, "c", "Normal", "FailedBinding", NO_VOLUMES);
    ASSERT_VOLUME(&w, "p", "Released", "status/phase");
    ASSERT_GOT(&w.served, "old", "spec/claimRef/uid");
    assert_requests(&w, 0);
    world_done(&w);
}

/* The states that a crash leaves: what is left to do, and nothing else, is done. */
TEST(S10_S11_S12_after_a_crash)
{
    static const char *const rest[] = { "v/p/status c/c c/c/status", "c/c c/c/status", "c/c/status" };

    for (size_t i = 0; i < ARRAY_LEN(rest); i++) {
        struct world w;
        char uid[64];

        world_init(&w);
        add_claim(&w, "c", "1Gi", RWO, "");
        uid_of_claim(&w, "c", uid);
        post_volume(&w, "p", "," BBC, "1Gi", RWO, HOST_PATH, claim_ref("c", uid));
        patch_volume(&w, "p", "", "{'spec':{'claimRef':{'resourceVersion':'1'}}}");
        set_phase(&w, "p", i > 0 ? "Bound" : "Available");
        if (i > 1)
            patch_claim(&w, "c", "", "{'metadata':{" BC "},'spec':{'volumeName':'p'}}");
        world_start(&w);
        world_settle(&w);
        assert_s1(&w);
        assert_written(&w, rest[i]);
        world_done(&w);
    }
}

TEST(S12_the_volumes_phase_was_lost)
{
    struct world w;
    char uid[64];

    world_init(&w);
    add_claim(&w, "c", "1Gi", RWO, "");
    uid_of_claim(&w, "c", uid);
    post_volume(&w, "p", "," BBC, "1Gi", RWO, HOST_PATH, claim_ref("c", uid));
    set_phase(&w, "p", "Available");
    patch_claim(&w, "c", "", "{'metadata':{" BC "},'spec':{'volumeName':'p'}}");
    world_start(&w);
    world_settle(&w);
    assert_bound(&w, "c", "p");
    assert_written(&w, "v/p/status c/c/status");
    world_done(&w);
}

TEST(S13_a_finished_pair_costs_nothing)
{
    struct world w;

    world_init(&w);
    s1(&w);
    world_start(&w);
    world_settle(&w);
    forget_writes(&w);
    for (int i = 0; i < 20; i++) {
        char body[64];

        (void)snprintf(body, sizeof body, "{'metadata':{'labels':{'n':'%d'}}}", i);
        patch_claim(&w, "c", "", body);
        patch_volume(&w, "p", "", body);
    }
    world_settle_for(&w, 2000);
    world_kill(&w);
    world_start(&w);
    world_settle(&w);
    assert_requests(&w, 0);
    assert_s1(&w);
    world_done(&w);
}

/* --- Which one --- */

struct volume_row {
    const char *name;
    const char *size;
    const char *modes;
    const char *meta;
    const char *spec;
};

struct match_row {
    const char *label;
    struct volume_row volumes[3];
    const char *size;
    const char *modes;
    const char *meta;
    const char *spec;
    const char *bound; /* NULL: none */
};

static void make_volumes(struct world *w, const struct match_row *row, bool is_started)
{
    for (size_t i = 0; i < ARRAY_LEN(row->volumes) && row->volumes[i].name; i++) {
        const struct volume_row *v = &row->volumes[i];

        post_volume(w, v->name, v->meta ? v->meta : "", v->size, v->modes ? v->modes : RWO, HOST_PATH,
                    v->spec ? v->spec : "");
        if (!is_started)
            set_phase(w, v->name, "Available");
    }
}

static void make_row_claim(struct world *w, const struct match_row *row)
{
    post_claim(w, "c", row->meta ? row->meta : "", row->size ? row->size : "1Gi",
               row->modes ? row->modes : RWO, row->spec ? row->spec : "");
}

enum row_order { BINDER_LAST, BINDER_FIRST, CLAIM_BEFORE_VOLUMES, ROW_ORDER_COUNT };

static void run_row(struct world *w, const struct match_row *row, enum row_order order)
{
    if (order != BINDER_LAST)
        world_start(w);
    if (order == CLAIM_BEFORE_VOLUMES)
        make_row_claim(w, row);
    make_volumes(w, row, order != BINDER_LAST);
    if (order == BINDER_FIRST)
        world_still(w); /* all of them are Available: there is a choice */
    if (order != CLAIM_BEFORE_VOLUMES)
        make_row_claim(w, row);
    if (order == BINDER_LAST)
        world_start(w);
    world_settle(w);
}

/* With several volumes the first that comes is taken when the claim was there before. */
static bool row_has_order(const struct match_row *row, enum row_order order)
{
    return order != CLAIM_BEFORE_VOLUMES || !row->volumes[1].name;
}

static void check_row(struct world *w, const struct match_row *row)
{
    if (row->bound) {
        assert_bound(w, "c", row->bound);
    } else {
        assert_waits(w, "c");
    }
    for (size_t i = 0; i < ARRAY_LEN(row->volumes) && row->volumes[i].name; i++) {
        if (row->bound && strcmp(row->volumes[i].name, row->bound) == 0)
            continue;
        ASSERT_VOLUME(w, row->volumes[i].name, "Available", "status/phase");
        ASSERT_GOT(&w->served, "-", "spec/claimRef/uid");
    }
}

static void check_rows(const struct match_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (enum row_order order = 0; order < ROW_ORDER_COUNT; order++) {
            struct world w;

            if (!row_has_order(&rows[i], order))
                continue;
            note_row(rows[i].label, (int)order);
            world_init(&w);
            run_row(&w, &rows[i], order);
            check_row(&w, &rows[i]);
            world_done(&w);
        }
    }
}
#define CHECK_ROWS(rows) check_rows(rows, ARRAY_LEN(rows))

#define KEPT ",'claimRef':{'namespace':'default','name':'c'}"
#define GOLD ",'storageClassName':'gold'"
#define SCB(class) ",'annotations':{'" ANN_CLASS_BETA "':'" class "'}"
#define LABELS(l) ",'labels':{" l "}"
#define SELECT(e) ",'selector':{" e "}"
#define EXPRESSION(e) SELECT("'matchExpressions':[{" e "}]")

TEST(S4_S5_S34_S35_sizes)
{
    static const struct match_row rows[] = {
        { "S4 the smallest", { { "a", "10Gi" }, { "b", "1Gi" }, { "c", "5Gi" } }, .bound = "b" },
        { "S5 what is large enough", { { "a", "1Gi" }, { "b", "5Gi" } }, .size = "2Gi", .bound = "b" },
        { "none is", { { "a", "1Gi" }, { "b", "5Gi" } }, .size = "6Gi" },
        { "S34 another unit", { { "p", "1024Mi" } }, .bound = "p" },
        { "S34 ten, not two", { { "p", "1G" } } },
        { "S35 by name", { { "b", "1Gi" }, { "a", "1024Mi" } }, .bound = "a" },
    };

    CHECK_ROWS(rows);
}

TEST(S5_the_claim_says_what_it_got)
{
    struct world w;

    world_init(&w);
    add_volume(&w, "a", "1Gi", RWO, "");
    add_volume(&w, "b", "5Gi", RWO, "");
    world_start(&w);
    world_still(&w);
    add_claim(&w, "c", "2Gi", RWO, "");
    world_settle(&w);
    assert_bound(&w, "c", "b");
    ASSERT_CLAIM(&w, "c", "{'storage':'5Gi'}", "status/capacity");
    ASSERT_GOT(&w.served, "2Gi", "spec/resources/requests/storage");
    world_done(&w);
}

TEST(S14_S15_S16_selectors)
{
    static const struct match_row rows[] = {
        { "S14 labelled",
          { { "p", "1Gi", .meta = LABELS("'foo':'true'") } },
          .spec = SELECT("'matchLabels':{'foo':'true'}"),
          .bound = "p" },
        { "S14 without", { { "p", "1Gi" } }, .spec = SELECT("'matchLabels':{'foo':'true'}") },
        { "S14 the larger one is",
          { { "p", "1Gi" }, { "q", "9Gi", .meta = LABELS("'foo':'true'") } },
          .spec = SELECT("'matchLabels':{'foo':'true'}"),
          .bound = "q" },
        { "S15 NotIn what is not there",
          { { "p", "1Gi" } },
          .spec = EXPRESSION("'key':'k','operator':'NotIn','values':['x']"),
          .bound = "p" },
        { "S15 Exists, empty",
          { { "p", "1Gi", .meta = LABELS("'k':''") } },
          .spec = EXPRESSION("'key':'k','operator':'Exists'"),
          .bound = "p" },
        { "S15 DoesNotExist, empty",
          { { "p", "1Gi", .meta = LABELS("'k':''") } },
          .spec = EXPRESSION("'key':'k','operator':'DoesNotExist'") },
        { "S16 any", { { "p", "1Gi", .meta = LABELS("'k':'v'") } }, .spec = SELECT(""), .bound = "p" },
    };

    CHECK_ROWS(rows);
}

TEST(S18_S19_S28_kept_for_the_claim)
{
    static const struct match_row rows[] = {
        { "S18 whatever its labels and class",
          { { "p", "1Gi", .spec = KEPT GOLD } },
          .spec = SELECT("'matchLabels':{'foo':'true'}"),
          .bound = "p" },
        { "S19 too small", { { "p", "1Gi", .spec = KEPT }, { "q", "5Gi" } }, .size = "2Gi", .bound = "q" },
        { "S19 and no other", { { "p", "1Gi", .spec = KEPT } }, .size = "2Gi" },
        { "S28 fewer modes first",
          { { "p", "1Gi", RWO "," ROX, .spec = KEPT }, { "q", "1Gi" } },
          .bound = "q" },
        { "S29 kept, of another mode", { { "p", "1Gi", .spec = KEPT ",'volumeMode':'Block'" } } },
        { "S31 kept, of another attributes class",
          { { "p", "1Gi", .spec = KEPT } },
          .spec = ",'volumeAttributesClassName':'gold'" },
    };

    CHECK_ROWS(rows);
}

/* Row 9a: a volume that is there is not filled from anything. One that names the claim comes from whoever
 * fills it, or from somebody who knows better; and a claim may name one. */
TEST(row_9a_data_sources)
{
#define SOURCE ",'dataSource':{'kind':'PersistentVolumeClaim','name':'old'}"
    static const struct match_row rows[] = {
        { "free", { { "p", "1Gi" } }, .spec = SOURCE },
        { "of its class", { { "p", "1Gi", .spec = GOLD } }, .spec = GOLD SOURCE },
        { "for a populator",
          { { "p", "1Gi" } },
          .spec = ",'dataSourceRef':{'apiGroup':'x.io','kind':'Filler','name':'f'}" },
        { "kept", { { "p", "1Gi" }, { "q", "9Gi", .spec = KEPT } }, .spec = SOURCE, .bound = "q" },
        { "named", { { "p", "1Gi" }, { "q", "9Gi" } }, .spec = SOURCE ",'volumeName':'q'", .bound = "q" },
    };

    CHECK_ROWS(rows);
}

TEST(S24_S25_S26_S27_access_modes)
{
    static const struct match_row rows[] = {
        { "S24 the fewest",
          { { "a", "10Gi", RWO "," ROX }, { "b", "10Gi", RWO }, { "z", "10Gi", RWO "," ROX "," RWX } },
          .bound = "b" },
        { "S24 the next",
          { { "a", "10Gi", RWO "," ROX }, { "z", "10Gi", RWO "," ROX "," RWX } },
          .bound = "a" },
        { "S24 the last", { { "z", "10Gi", RWO "," ROX "," RWX } }, .bound = "z" },
        { "S25 in this order",
          { { "a", "10Gi", RWX "," RWO }, { "b", "10Gi", RWO "," RWX "," ROX } },
          .modes = RWX "," RWO,
          .bound = "a" },
        { "S25 or that",
          { { "a", "10Gi", RWX "," RWO }, { "b", "10Gi", RWO "," RWX "," ROX } },
          .modes = RWO "," RWX,
          .bound = "a" },
        { "S26 fewer beats smaller",
          { { "a", "10Gi", RWO "," ROX }, { "b", "20Gi", ROX } },
          .modes = ROX,
          .bound = "b" },
        { "S27 alone", { { "p", "1Gi", RWOP } }, .modes = RWOP, .bound = "p" },
        { "S27 without", { { "p", "1Gi", RWO } }, .modes = RWOP },
        { "an unknown set", { { "p", "1Gi", ROX } } },
    };

    CHECK_ROWS(rows);
}

TEST(S29_S30_S31_S32_S33_modes_and_classes)
{
    static const struct match_row rows[] = {
        { "S29 Block", { { "p", "1Gi" } }, .spec = ",'volumeMode':'Block'" },
        { "S29 Filesystem", { { "p", "1Gi", .spec = ",'volumeMode':'Block'" } } },
        { "S29 said", { { "p", "1Gi", .spec = ",'volumeMode':'Filesystem'" } }, .bound = "p" },
        { "S29 both Block",
          { { "p", "1Gi", .spec = ",'volumeMode':'Block'" } },
          .spec = ",'volumeMode':'Block'",
          .bound = "p" },
        { "S31 none for gold", { { "p", "1Gi" } }, .spec = ",'volumeAttributesClassName':'gold'" },
        { "S31 empty is none", { { "p", "1Gi" } }, .spec = ",'volumeAttributesClassName':''", .bound = "p" },
        { "S32 gold", { { "a", "10Gi", .spec = GOLD }, { "b", "1Gi" } }, .spec = GOLD, .bound = "a" },
        { "S32 the empty class",
          { { "a", "1Gi", .spec = GOLD }, { "b", "10Gi" } },
          .spec = ",'storageClassName':''",
          .bound = "b" },
        { "S32 no class", { { "a", "1Gi", .spec = GOLD }, { "b", "10Gi" } }, .bound = "b" },
        { "S32 gold or nothing", { { "b", "10Gi" } }, .spec = GOLD },
        { "S33 the claim's annotation",
          { { "a", "9Gi", .spec = GOLD }, { "b", "1Gi", .spec = ",'storageClassName':'silver'" } },
          .meta = SCB("gold"),
          .spec = ",'storageClassName':'silver'",
          .bound = "a" },
        { "S33 the volume's",
          { { "a", "9Gi", .meta = SCB("gold") }, { "b", "1Gi", .meta = SCB(""), .spec = GOLD } },
          .spec = GOLD,
          .bound = "a" },
    };

    CHECK_ROWS(rows);
}

#define PLANTED_VOLUME(modes, rest)                                                                        \
    "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'p','uid':'u2','resourceVersion':'%"  \
    "lld'"                                                                                                 \
    ",'creationTimestamp':'2023-11-14T22:13:20Z'},'spec':{'capacity':{'storage':'1Gi'},'accessModes':"     \
    "[" modes "],'volumeMode':'Filesystem','persistentVolumeReclaimPolicy':'Retain','hostPath':{'path':'/" \
    "x','type':''}}" rest "}"

/* The server takes no such volume, nor any change to it: what is tried is all there is to see. */
TEST(S27_beside_other_modes)
{
    struct world w;

    world_init(&w);
    plant(&w, KIND_VOLUME, PLANTED_VOLUME(RWO "," RWOP, ",'status':{'phase':'Available'}"));
    add_claim(&w, "c", "1Gi", RWOP, "");
    world_start(&w);
    world_still(&w);
    assert_written(&w, "v/p");
    assert_silent(&w, "c");
    world_done(&w);
}

TEST(S24_one_after_another)
{
    static const char *const expected[] = { "b", "a", "z" };
    struct world w;

    world_init(&w);
    add_volume(&w, "a", "10Gi", RWO "," ROX, "");
    add_volume(&w, "b", "10Gi", RWO, "");
    add_volume(&w, "z", "10Gi", RWO "," ROX "," RWX, "");
    world_start(&w);
    world_settle(&w);
    for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
        char name[2] = { (char)('k' + i), '\0' };

        add_claim(&w, name, "1Gi", RWO, "");
        world_settle(&w);
        assert_bound(&w, name, expected[i]);
    }
    world_done(&w);
}

TEST(S30_the_attributes_class_becomes_the_current_one)
{
    struct world w;

    world_init(&w);
    ASSERT_SENT(&w.served, 201, "POST", VOLUMES,
                "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'p'},'spec':{'capacity':{"
                "'storage':'1Gi'},'accessModes':['ReadWriteOnce'],'csi':{'driver':'d.io','volumeHandle':'h'},"
                "'volumeAttributesClassName':'gold'}}");
    add_claim(&w, "c", "1Gi", RWO, ",'volumeAttributesClassName':'gold'");
    world_start(&w);
    world_settle(&w);
    assert_bound(&w, "c", "p");
    ASSERT_CLAIM(&w, "c", "gold", "status/currentVolumeAttributesClassName");
    world_done(&w);
}

/* --- Selectors that make no sense --- */

#define WRONG_CLAIM                                                                                         \
    "{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'name':'c','namespace':'default','uid':" \
    "'u1','resourceVersion':'%lld','creationTimestamp':'2023-11-14T22:13:20Z'},'spec':{'accessModes':["     \
    "'ReadWriteOnce'],'volumeMode':'Filesystem','resources':{'requests':{'storage':'1Gi'}},'selector':{"    \
    "'matchExpressions':[{'key':'k','operator':'Near'}]}},'status':{'phase':'Pending'}}"

TEST(S17_a_selector_that_cannot_be_evaluated)
{
    struct overheard heard;
    struct world w;

    world_init(&w);
    add_volume(&w, "p", "1Gi", RWO, "");
    set_phase(&w, "p", "Available");
    plant(&w, KIND_CLAIM, WRONG_CLAIM);
    overhear(&heard, &w);
    world_start(&w);
    world_settle(&w);
    assert_true(overheard_count(&heard,
                                "error finding PV for claim \\\"default/c\\\": error creating internal "
                                "label selector for claim: default/c: ") > 3); /* again and again */
    overhear_done(&heard);
    assert_waits(&w, "c");
    assert_writes(&w, 0);
    assert_silent(&w, "c");
    forget_writes(&w);
    delete_volume(&w, "p");
    world_settle(&w);
    assert_only_event(&w, "c", "Normal", "FailedBinding", NO_VOLUMES);
    assert_writes(&w, 0);
    world_done(&w);
}

TEST(S17_and_no_volume)
{
    struct world w;

    world_init(&w);
    plant(&w, KIND_CLAIM, WRONG_CLAIM);
    world_start(&w);
    world_settle(&w);
    assert_waits(&w, "c");
    assert_only_event(&w, "c", "Normal", "FailedBinding", NO_VOLUMES);
    world_done(&w);
}

/* --- Phases --- */

/* What was let go is taken back by the volume's own sync, once the claim names it. */
TEST(S20_kept_in_whatever_phase)
{
    static const char *const phases[] = { "Pending", "Available", "Released", "Failed" };
    static const char *const orders[] = { "v/p v/p/status c/c c/c/status", "v/p v/p/status c/c c/c/status",
                                          "v/p c/c v/p/status c/c/status", "v/p c/c v/p/status c/c/status" };

    for (size_t i = 0; i < ARRAY_LEN(phases); i++) {
        struct world w;

        world_init(&w);
        add_volume(&w, "p", "1Gi", RWO, claim_ref("c", ""));
        set_phase(&w, "p", phases[i]);
        add_claim(&w, "c", "1Gi", RWO, "");
        world_start(&w);
        world_settle(&w);
        assert_bound(&w, "c", "p");
        assert_written(&w, orders[i]);
        world_done(&w);
    }
}

/* Such a volume becomes Available first, and is then taken. */
TEST(S21_not_before_it_is_available)
{
    static const char *const phases[] = { "Failed", "Released" };

    for (size_t i = 0; i < ARRAY_LEN(phases); i++) {
        struct world w;

        world_init(&w);
        add_volume(&w, "p", "1Gi", RWO, "");
        set_phase(&w, "p", phases[i]);
        add_claim(&w, "c", "1Gi", RWO, "");
        w.fault_at = 1;
        w.fault = TAP_ERROR;
        world_start(&w);
        world_still(&w);
        assert_waits(&w, "c");
        ASSERT_VOLUME(&w, "p", phases[i], "status/phase");
        ASSERT_GOT(&w.served, "-", "spec/claimRef");
        world_settle(&w);
        assert_bound(&w, "c", "p");
        assert_written(&w, "v/p/status v/p/status v/p v/p/status c/c c/c/status");
        world_done(&w);
    }
}

/* A volume that nobody has written to yet: that it is to become Available is known without the write. */
TEST(S21_before_it_is_available)
{
    for (int has_phase = 0; has_phase < 2; has_phase++) {
        struct world w;

        world_init(&w);
        if (has_phase)
            add_volume(&w, "p", "1Gi", RWO, "");
        else
            plant(&w, KIND_VOLUME, PLANTED_VOLUME(RWO, ""));
        ASSERT_VOLUME(&w, "p", has_phase ? "Pending" : "-", "status/phase");
        add_claim(&w, "c", "1Gi", RWO, "");
        world_start(&w);
        world_settle(&w);
        assert_s1(&w); /* and nobody was told of a failure */
        assert_written(&w, "v/p v/p/status c/c c/c/status");
        world_done(&w);
    }
}

TEST(S22_a_volume_that_comes_later)
{
    struct world w;

    world_init(&w);
    world_start(&w);
    add_claim(&w, "c", "1Gi", RWO, "");
    world_settle(&w);
    assert_only_event(&w, "c", "Normal", "FailedBinding", NO_VOLUMES);
    add_volume(&w, "p", "1Gi", RWO, "");
    world_still(&w);
    assert_bound(&w, "c", "p");
    assert_written(&w, "v/p v/p/status c/c c/c/status");
    world_done(&w);
}

/* What makes a volume fit may also be a change to it. */
TEST(S22_a_volume_that_fits_later)
{
    static const struct {
        const char *spec; /* of the claim */
        const char *change;
    } rows[] = {
        { SELECT("'matchLabels':{'foo':'true'}"), "{'metadata':{'labels':{'foo':'true'}}}" },
        { "", "{'spec':{'capacity':{'storage':'2Gi'}}}" },
        { "", "{'spec':{'accessModes':['ReadWriteOnce','ReadWriteMany'],'capacity':{'storage':'2Gi'}}}" },
        { "", "{'spec':{'storageClassName':'','capacity':{'storage':'3Gi'}}}" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world w;

        world_init(&w);
        world_start(&w);
        add_volume(&w, "p", "1Gi", RWO, "");
        add_claim(&w, "c", rows[i].spec[0] ? "1Gi" : "2Gi", RWO, rows[i].spec);
        world_settle(&w);
        assert_waits(&w, "c");
        patch_volume(&w, "p", "", rows[i].change);
        world_still(&w);
        assert_bound(&w, "c", "p");
        world_done(&w);
    }
}

/* A volume that wakes a claim which takes another is not forgotten. */
TEST(S22_volumes_for_several_that_wait)
{
    struct world w;

    world_init(&w);
    w.is_open = true;
    world_start(&w);
    add_claim(&w, "a", "1Gi", RWO, "");
    add_claim(&w, "b", "3Gi", RWO, "");
    add_claim(&w, "c", "2Gi", RWO, "");
    world_settle(&w);
    world_kill(&w);
    add_volume(&w, "p", "3Gi", RWO, "");
    add_volume(&w, "q", "3Gi", RWO, "");
    add_volume(&w, "r", "3Gi", RWO, "");
    world_start(&w);
    world_still(&w);
    for (const char *name = "abc"; *name; name++) {
        char claim[2] = { *name, '\0' };

        ASSERT_CLAIM(&w, claim, "Bound", "status/phase");
    }
    assert_writes(&w, 12); /* the volumes need not become Available first */
    world_done(&w);
}

/* All volumes come at once: each finds somebody. */
TEST(S22_many_that_wait_and_many_that_come)
{
    struct sent sent[60];
    char body[512], name[16];
    struct world w;

    world_init(&w);
    world_start(&w);
    for (unsigned i = 0; i < ARRAY_LEN(sent); i++) {
        (void)snprintf(name, sizeof name, "c%u", i);
        add_claim(&w, name, i % 2 ? "1Gi" : "2Gi", RWO, "");
    }
    world_settle(&w);
    for (unsigned i = 0; i < ARRAY_LEN(sent); i++) {
        (void)snprintf(
            body, sizeof body,
            "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'p%u'}," VOLUME_SPEC "}", i);
        send_begin(&w.served, &sent[i], "POST", VOLUMES, body);
    }
    for (unsigned i = 0; i < ARRAY_LEN(sent); i++) {
        ASSERT_INT(201, sent_wait(&sent[i]));
        sent_done(&sent[i]);
    }
    world_still(&w);
    for (unsigned i = 0; i < ARRAY_LEN(sent); i++) {
        (void)snprintf(name, sizeof name, "c%u", i);
        ASSERT_CLAIM(&w, name, "Bound", "status/phase");
        ASSERT_GOT(&w.served, "5Gi", "status/capacity/storage");
    }
    assert_writes(&w, 4 * ARRAY_LEN(sent));
    world_done(&w);
}

/* The volume that a claim was to have goes to another when that comes to nothing. */
TEST(S22_a_promise_that_failed)
{
    static const enum tap_fault faults[] = { TAP_ERROR, TAP_CONFLICT, TAP_GONE, TAP_LOSE, TAP_REFUSE };

    for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
        struct world w;

        world_init(&w);
        s1(&w);
        w.fault_at = 1;
        w.fault = faults[i];
        world_start(&w);
        world_settle(&w);
        assert_s1(&w);
        world_done(&w);
    }
}

TEST(S22_a_promise_to_a_claim_that_goes)
{
    struct world w;

    world_init(&w);
    add_claim(&w, "a", "2Gi", RWO, "");
    patch_claim(&w, "a", "", "{'metadata':{'finalizers':null}}");
    add_claim(&w, "b", "1Gi", RWO, "");
    world_start(&w);
    world_settle(&w);
    w.fault_at = 1;
    w.fault = TAP_ERROR;
    add_volume(&w, "p", "2Gi", RWO, "");
    world_still(&w);
    assert_written(&w, "v/p");
    assert_waits(&w, "a");
    ASSERT_SENT(&w.served, 200, "DELETE", CLAIMS "/a", NULL);
    world_still(&w);
    assert_bound(&w, "b", "p");
    world_done(&w);
}

TEST(S22_a_free_volume_that_only_delayed_claims_could_use)
{
    struct world w;

    world_init(&w);
    ASSERT_SENT(&w.served, 201, "POST", CLASSES,
                "{'apiVersion':'storage.k8s.io/v1','kind':'StorageClass','metadata':{'name':'late'},"
                "'provisioner':'kubernetes.io/no-provisioner','volumeBindingMode':'WaitForFirstConsumer'}");
    world_start(&w);
    add_claim(&w, "a", "1Gi", RWO, ",'storageClassName':'late'");
    add_claim(&w, "b", "1Gi", RWO, ",'storageClassName':'late'");
    world_settle(&w);
    add_volume(&w, "p", "1Gi", RWO, ",'storageClassName':'late'");
    world_settle(&w); /* or it does not come to rest */
    assert_waits(&w, "a");
    assert_waits(&w, "b");
    assert_written(&w, "v/p/status");
    world_done(&w);
}

TEST(S23_a_volume_that_is_going)
{
    for (int is_kept = 0; is_kept < 2; is_kept++) {
        struct world w;

        world_init(&w);
        add_volume(&w, "p", "1Gi", RWO, is_kept ? claim_ref("c", "") : "");
        set_phase(&w, "p", "Available");
        mark_volume(&w, "p");
        add_claim(&w, "c", "1Gi", RWO, "");
        world_start(&w);
        world_settle(&w);
        assert_waits(&w, "c");
        assert_only_event(&w, "c", "Normal", "FailedBinding", NO_VOLUMES);
        assert_writes(&w, 0);
        world_done(&w);
    }
}

/* --- Many --- */

TEST(S36_two_claims_and_one_volume)
{
    for (int is_late = 0; is_late < 2; is_late++) {
        struct world w;

        world_init(&w);
        w.is_open = true;
        add_claim(&w, "b", "1Gi", RWO, "");
        add_claim(&w, "a", "1Gi", RWO, "");
        if (is_late)
            world_start(&w);
        add_volume(&w, "p", "1Gi", RWO, "");
        if (!is_late) {
            set_phase(&w, "p", "Available");
            world_start(&w);
        }
        world_settle(&w);
        look_at_volume(&w, "p");
        if (strcmp(got(&w.served, "spec/claimRef/name"), "a") == 0) {
            assert_bound(&w, "a", "p");
            assert_waits(&w, "b");
        } else {
            assert_bound(&w, "b", "p");
            assert_waits(&w, "a");
        }
        assert_writes(&w, 4);
        world_done(&w);
    }
}

TEST(S37_a_hundred_pairs)
{
    struct world w;

    world_init(&w);
    for (unsigned i = 0; i < 100; i++) {
        char name[16], size[16];

        (void)snprintf(name, sizeof name, "p%u", i * 37 % 100);
        (void)snprintf(size, sizeof size, "%uGi", i * 37 % 100 + 1);
        add_volume(&w, name, size, RWO, "");
        set_phase(&w, name, "Available");
        (void)snprintf(name, sizeof name, "c%u", i * 61 % 100);
        (void)snprintf(size, sizeof size, "%uGi", i * 61 % 100 + 1);
        add_claim(&w, name, size, RWO, "");
    }
    world_start(&w);
    world_settle(&w);
    for (unsigned i = 0; i < 100; i++) {
        char claim[16], volume[16];

        (void)snprintf(claim, sizeof claim, "c%u", i);
        (void)snprintf(volume, sizeof volume, "p%u", i);
        assert_bound(&w, claim, volume);
    }
    assert_writes(&w, 400); /* and none that conflicted */
    world_done(&w);
}

/* --- What the claim says of its volume --- */

#define SIZED_VOLUME(size)                                                                                   \
    "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'p','uid':'u2','resourceVersion':'%"    \
    "lld'"                                                                                                   \
    ",'creationTimestamp':'2023-11-14T22:13:20Z'},'spec':{" size "'accessModes':['ReadWriteOnce'],"          \
    "'volumeMode':'Filesystem','persistentVolumeReclaimPolicy':'Retain','hostPath':{'path':'/x','type':''}," \
    "'claimRef':{'namespace':'default','name':'c','uid':'u1'}},'status':{'phase':'Bound'}}"

/* The server takes no such objects and no change to them, so they are as the third write leaves them. */
TEST(S38_a_volume_without_a_size)
{
    struct overheard heard;
    struct world w;

    world_init(&w);
    plant(&w, KIND_CLAIM,
          "{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'name':'c','namespace':'default',"
          "'uid':'u1','resourceVersion':'%lld','creationTimestamp':'2023-11-14T22:13:20Z'," BC
          "},'spec':{'accessModes':['ReadWriteOnce'],'volumeMode':'Filesystem','resources':{'requests':{"
          "'storage':'0'}},'volumeName':'p'},'status':{'phase':'Pending'}}");
    plant(&w, KIND_VOLUME, SIZED_VOLUME(""));
    overhear(&heard, &w);
    world_start(&w);
    world_settle(&w);
    assert_true(overheard_count(&heard, "PersistentVolume \\\"p\\\" is without a storage capacity") > 3);
    overhear_done(&heard);
    assert_writes(&w, 0);
    ASSERT_CLAIM(&w, "c", "Pending", "status/phase");
    ASSERT_GOT(&w.served, "-", "status/accessModes");
    assert_silent(&w, "c");
    ASSERT_VOLUME(&w, "p", "Bound", "status/phase");
    plant(&w, KIND_VOLUME, SIZED_VOLUME("'capacity':{'storage':'1Gi'},"));
    world_still(&w);
    assert_written(&w, "c/c/status");
    ASSERT_CLAIM(&w, "c", "Bound", "status/phase");
    ASSERT_GOT(&w.served, "1Gi", "status/capacity/storage");
    world_done(&w);
}

TEST(S39_a_volume_that_is_being_resized)
{
    static const struct {
        const char *meta;
        const char *says;
    } rows[] = {
        { ",'annotations':{'" ANN_PRE_RESIZE_CAPACITY "':'1Gi'}", "1Gi" },
        { ",'annotations':{'" ANN_PRE_RESIZE_CAPACITY "':'much'}", "2Gi" },
        { "", "2Gi" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world w;

        world_init(&w);
        post_volume(&w, "p", rows[i].meta, "2Gi", RWO, HOST_PATH, "");
        add_claim(&w, "c", "1Gi", RWO, "");
        world_start(&w);
        world_settle(&w);
        assert_bound(&w, "c", "p");
        ASSERT_CLAIM(&w, "c", rows[i].says, "status/capacity/storage");
        assert_writes(&w, 4);
        world_done(&w);
    }
}

TEST(S40_S41_a_volume_that_changes_later)
{
    struct world w;

    world_init(&w);
    s1(&w);
    world_start(&w);
    world_settle(&w);
    forget_writes(&w);
    patch_volume(&w, "p", "", "{'spec':{'capacity':{'storage':'2Gi'}}}");
    world_settle(&w);
    ASSERT_CLAIM(&w, "c", "1Gi", "status/capacity/storage");
    assert_writes(&w, 0);
    patch_volume(&w, "p", "", "{'spec':{'accessModes':['ReadOnlyMany','ReadWriteOnce']}}");
    world_still(&w);
    ASSERT_CLAIM(&w, "c", "['ReadOnlyMany','ReadWriteOnce']", "status/accessModes");
    assert_written(&w, "c/c/status");
    patch_volume(&w, "p", "", "{'spec':{'accessModes':['ReadWriteOnce','ReadOnlyMany']}}");
    world_still(&w);
    ASSERT_CLAIM(&w, "c", "['ReadWriteOnce','ReadOnlyMany']", "status/accessModes");
    ASSERT_GOT(&w.served, "1Gi", "status/capacity/storage");
    assert_times(1, count_events(&w, "c", "Bound", NULL));
    world_done(&w);
}

static const struct unfit unfit[] = {
    { "S4_S5_S34_S35_sizes", FAULT_ANY, "matches otherwise than S1, S6 and S22, and writes the same" },
    { "S14_S15_S16_selectors", FAULT_ANY, "matches otherwise than S1, S6 and S22, and writes the same" },
    { "S18_S19_S28_kept_for_the_claim", FAULT_ANY,
      "matches otherwise than S1, S6 and S22, and writes the same" },
    { "S24_S25_S26_S27_access_modes", FAULT_ANY,
      "matches otherwise than S1, S6 and S22, and writes the same" },
    { "S29_S30_S31_S32_S33_modes_and_classes", FAULT_ANY,
      "matches otherwise than S1, S6 and S22, and writes the same" },
    { "S21_not_before_it_is_available", FAULT_ANY, "is about a fault of its own" },
    { "S22_a_promise_to_a_claim_that_goes", FAULT_ANY, "is about a fault of its own" },
    { "S22_many_that_wait_and_many_that_come", FAULT_ANY,
      "many of what S22_volumes_for_several_that_wait has" },
    { "S37_a_hundred_pairs", FAULT_ANY, "a hundred of S1" },
    { 0 },
};

REPLAYED_MAIN(unfit)
