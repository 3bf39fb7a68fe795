/* Claims that were bound before: they keep their volume, or are lost. */
#include "tests/unit/test_binder_pairs.h"
#include "tests/unit/test_binder_replay.h"

#define BC_MEMBER "'annotations':{'" ANN_BIND_COMPLETED "':'yes','" ANN_BOUND_BY_CONTROLLER "':'yes'}"
#define BC "," BC_MEMBER
#define NAMED ",'volumeName':'p'"
#define BOUND_STATUS \
    "{'status':{'phase':'Bound','capacity':{'storage':'1Gi'},'accessModes':['ReadWriteOnce']}}"
#define NO_REFERENCE "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"
#define NO_VOLUME "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
#define MISBOUND "Two claims are bound to the same volume, this one is bound incorrectly"

/* c has p, and nothing is left to do. */
static void pair(struct world *w)
{
    world_init(w);
    add_volume(w, "p", "1Gi", RWO, "");
    set_phase(w, "p", "Available");
    add_claim(w, "c", "1Gi", RWO, "");
    world_start(w);
    world_settle(w);
    assert_bound(w, "c", "p");
    forget_writes(w);
}

static void assert_lost(struct world *w, const char *reason, const char *message)
{
    ASSERT_CLAIM(w, "c", "Lost", "status/phase");
    ASSERT_GOT(&w->served, "-", "status/capacity");
    ASSERT_GOT(&w->served, "-", "status/accessModes");
    assert_only_event(w, "c", "Warning", reason, message);
}

/* Any number of further syncs, of this process or another. */
static void sync_again(struct world *w)
{
    forget_writes(w);
    for (int i = 0; i < 5; i++) {
        char body[64];

        (void)snprintf(body, sizeof body, "{'metadata':{'labels':{'n':'%d'}}}", i);
        patch_claim(w, "c", "", body);
    }
    world_settle_for(w, 1000);
    world_kill(w);
    world_start(w);
    world_settle(w);
    assert_writes(w, 0);
}

TEST(S56_the_name_was_taken_away)
{
    for (int is_late = 0; is_late < 2; is_late++) {
        struct world w;

        world_init(&w);
        if (is_late)
            world_start(&w);
        post_claim(&w, "c", BC, "1Gi", RWO, "");
        if (!is_late) {
            patch_claim(&w, "c", "status", BOUND_STATUS);
            world_start(&w);
        }
        world_settle(&w);
        assert_lost(&w, "ClaimLost", NO_REFERENCE);
        assert_written(&w, "c/c/status");
        sync_again(&w);
        assert_lost(&w, "ClaimLost", NO_REFERENCE);
        world_done(&w);
    }
}

TEST(S57_the_volume_is_gone)
{
    struct world w;

    world_init(&w);
    post_claim(&w, "c", BC, "1Gi", RWO, NAMED);
    patch_claim(&w, "c", "status", BOUND_STATUS);
    world_start(&w);
    world_settle(&w);
    assert_lost(&w, "ClaimLost", NO_VOLUME);
    assert_written(&w, "c/c/status");
    sync_again(&w);
    assert_lost(&w, "ClaimLost", NO_VOLUME);
    world_done(&w);
}

TEST(S58_the_volume_forgot_its_claim)
{
    struct world w;

    pair(&w);
    patch_volume(&w, "p", "", "{'metadata':{'annotations':null},'spec':{'claimRef':null}}");
    world_still(&w);
    assert_bound(&w, "c", "p");
    assert_written(&w, "v/p"); /* never Available, where somebody else could take it */
    look_at_volume(&w, "p");
    assert_string_equal(annotation(&w, ANN_BOUND_BY_CONTROLLER), "yes");
    assert_silent(&w, "c");
    assert_times(1, count_events(&w, "c", "Bound", NULL));
    world_done(&w);
}

/* Somebody who waits does not get what a bound claim has. */
TEST(S58_and_another_claim_waits)
{
    for (int is_restarted = 0; is_restarted < 2; is_restarted++) {
        struct world w;

        pair(&w);
        add_claim(&w, "a", "1Gi", RWO, "");
        world_settle(&w);
        if (is_restarted)
            world_kill(&w);
        patch_volume(&w, "p", "", "{'spec':{'claimRef':null}}");
        if (is_restarted)
            world_start(&w);
        world_settle(&w);
        assert_bound(&w, "c", "p");
        assert_waits(&w, "a");
        world_done(&w);
    }
}

TEST(S59_the_volume_is_anothers)
{
    struct world w;

    pair(&w);
    world_kill(&w);
    post_claim(&w, "d", BC, "1Gi", RWO, NAMED);
    patch_claim(&w, "d", "status", BOUND_STATUS);
    world_start(&w);
    world_settle(&w);
    ASSERT_CLAIM(&w, "d", "Lost", "status/phase");
    ASSERT_GOT(&w.served, "-", "status/capacity");
    ASSERT_GOT(&w.served, "-", "status/accessModes");
    assert_only_event(&w, "d", "Warning", "ClaimMisbound", MISBOUND);
    assert_bound(&w, "c", "p");
    assert_written(&w, "c/d/status");
    world_done(&w);
}

TEST(S60_the_volume_is_kept_by_name_only)
{
    struct world w;

    world_init(&w);
    post_claim(&w, "c", BC, "1Gi", RWO, NAMED);
    patch_claim(&w, "c", "status", BOUND_STATUS);
    add_volume(&w, "p", "1Gi", RWO, claim_ref("c", ""));
    set_phase(&w, "p", "Available");
    world_start(&w);
    world_settle(&w);
    assert_lost(&w, "ClaimMisbound", MISBOUND);
    ASSERT_VOLUME(&w, "p", "-", "spec/claimRef/uid");
    assert_written(&w, "c/c/status");
    sync_again(&w);
    assert_lost(&w, "ClaimMisbound", MISBOUND);
    world_done(&w);
}

TEST(S60_its_uid_was_cleared)
{
    struct world w;

    pair(&w);
    patch_volume(&w, "p", "", "{'spec':{'claimRef':{'uid':null}}}");
    world_still(&w);
    assert_lost(&w, "ClaimMisbound", MISBOUND);
    ASSERT_VOLUME(&w, "p", "Available", "status/phase");
    world_done(&w);
}

#define CSI_GOLD(meta)                                                                                  \
    "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'p'" meta "},'spec':{'capacity':{" \
    "'storage':'3Gi'},'accessModes':['ReadWriteOnce'],'csi':{'driver':'d.io','volumeHandle':'h'},"      \
    "'volumeAttributesClassName':'gold'}}"

TEST(S61_a_lost_claim_gets_its_volume_again)
{
    struct world w;

    world_init(&w);
    post_claim(&w, "c", BC, "1Gi", RWO, NAMED);
    world_start(&w);
    world_settle(&w);
    assert_lost(&w, "ClaimLost", NO_VOLUME);
    forget_writes(&w);
    ASSERT_SENT(&w.served, 201, "POST", VOLUMES, CSI_GOLD(""));
    world_still(&w);
    assert_bound(&w, "c", "p");
    ASSERT_CLAIM(&w, "c", "3Gi", "status/capacity/storage");
    ASSERT_GOT(&w.served, "['ReadWriteOnce']", "status/accessModes");
    ASSERT_GOT(&w.served, "-", "status/currentVolumeAttributesClassName");
    look_at_volume(&w, "p");
    assert_string_equal(annotation(&w, ANN_BOUND_BY_CONTROLLER), "yes");
    assert_times(1, count_other_events(&w, "c")); /* the loss */
    world_done(&w);
}

/* A claim that was bound to a volume has it again when it comes back, though another waits and comes first.
 */
TEST(S61_nobody_else_gets_the_volume_of_a_lost_claim)
{
    for (int is_there = 0; is_there < 2; is_there++) {
        struct world w;

        world_init(&w);
        add_claim(&w, "a", "1Gi", RWO, "");
        post_claim(&w, "c", BC, "1Gi", RWO, NAMED);
        if (is_there)
            add_volume(&w, "p", "1Gi", RWO, "");
        world_start(&w);
        world_settle(&w);
        if (!is_there)
            add_volume(&w, "p", "1Gi", RWO, "");
        world_settle(&w);
        assert_bound(&w, "c", "p");
        ASSERT_CLAIM(&w, "a", "Pending", "status/phase");
        world_done(&w);
    }
}

/* The binder sees no volumes but those that are there when it starts. */
static void start_blind(struct world *w)
{
    w->is_blind = true;
    w->blind_to = KIND_VOLUME;
    world_start(w);
}

TEST(S57_a_volume_that_only_the_server_knows_is_not_lost)
{
    struct world w;

    world_init(&w);
    start_blind(&w);
    add_volume(&w, "p", "1Gi", RWO, "");
    post_claim(&w, "c", BC, "1Gi", RWO, NAMED);
    world_settle(&w);
    assert_bound(&w, "c", "p");
    assert_silent(&w, "c");
    world_done(&w);
}

/* Another binder knows better; this one does not take the word back. */
TEST(S61_a_volume_that_only_the_cache_knows_is_not_found_again)
{
    struct world w;

    pair(&w);
    world_kill(&w);
    start_blind(&w);
    world_settle(&w);
    delete_volume(&w, "p");
    patch_claim(&w, "c", "status", "{'status':{'phase':'Lost','capacity':null,'accessModes':null}}");
    world_settle(&w);
    ASSERT_CLAIM(&w, "c", "Lost", "status/phase");
    assert_writes(&w, 0);
    world_done(&w);
}

TEST(S59_a_volume_that_was_given_to_the_claim_behind_our_back)
{
    struct world w;
    char uid[64], body[1024];

    world_init(&w);
    add_volume(&w, "p", "1Gi", RWO, claim_ref("d", "another"));
    set_phase(&w, "p", "Released");
    start_blind(&w);
    post_claim(&w, "c", "", "1Gi", RWO, ",'storageClassName':'none'");
    uid_of_claim(&w, "c", uid);
    (void)snprintf(body, sizeof body, "{'spec':{%s}}", claim_ref("c", uid) + 1);
    patch_volume(&w, "p", "", body);
    set_phase(&w, "p", "Bound");
    patch_claim(&w, "c", "", "{'metadata':{" BC_MEMBER "},'spec':{'volumeName':'p'}}");
    world_settle(&w);
    assert_bound(&w, "c", "p");
    assert_times(0, count_events(&w, "c", "ClaimMisbound", NULL));
    world_done(&w);
}

TEST(S62_a_volume_that_goes_takes_its_claim_along)
{
    struct world w;

    pair(&w);
    delete_volume(&w, "p");
    world_still(&w);
    assert_lost(&w, "ClaimLost", NO_VOLUME);
    assert_written(&w, "c/c/status");
    world_settle(&w);
    assert_lost(&w, "ClaimLost", NO_VOLUME);
    world_done(&w);
}

TEST(S63_the_mark_was_taken_away)
{
    struct world w;

    pair(&w);
    patch_claim(&w, "c", "", "{'metadata':{'annotations':{'" ANN_BIND_COMPLETED "':null}}}");
    world_still(&w);
    assert_bound(&w, "c", "p");
    ASSERT_CLAIM(&w, "c", "1Gi", "status/capacity/storage");
    assert_written(&w, "c/c");
    assert_silent(&w, "c");
    assert_times(1, count_events(&w, "c", "Bound", NULL));
    world_done(&w);
}

static const struct unfit unfit[] = {
    { 0 },
};

REPLAYED_MAIN(unfit)
