/* Many claims and volumes at once, while answers come later than the events that they cause: who gets a
 * volume with a write in flight, who waits for it, and who is woken. */
#include "tests/unit/test_binder_objects.h"
#include "tests/unit/test_binder_replay.h"

#define MANY 300
#define NAME_BYTES 253
#define GOLD ",'storageClassName':'gold'"
#define AVAILABLE_OF_P "PATCH " VOLUMES "/p/status"

/* A name as long as the API allows. Lives until the next call. */
static const char *long_name(const char *kind, unsigned number)
{
    static char name[NAME_BYTES + 1];
    int len = snprintf(name, sizeof name, "%s%u", kind, number);

    memset(name + len, 'x', (size_t)(NAME_BYTES - len));
    return name;
}

static unsigned count_claims(struct world *w, const char *phase)
{
    unsigned count = 0;
    char path[64];

    ASSERT_SENT(&w->served, 200, "GET", CLAIMS, NULL);
    for (size_t i = 0, n = got_items(&w->served); i < n; i++) {
        (void)snprintf(path, sizeof path, "items/%zu/status/phase", i);
        count += strcmp(got(&w->served, path), phase) == 0;
    }
    return count;
}

static unsigned count_reasons(struct world *w, const char *reason)
{
    unsigned count = 0;
    char path[64];

    ASSERT_SENT(&w->served, 200, "GET", "/api/v1/events", NULL);
    for (size_t i = 0, n = got_items(&w->served); i < n; i++) {
        (void)snprintf(path, sizeof path, "items/%zu/reason", i);
        count += strcmp(got(&w->served, path), reason) == 0;
    }
    return count;
}

static unsigned count_matches(const struct world *w)
{
    return (unsigned)number_of(w, "berth_match_seconds_count");
}

/* The binder runs, volume p is Available on the server and in the cache, and the answer to the write that
 * made it so is still to come. */
static void begin_late(struct world *w, const char *rest)
{
    world_init(w);
    world_start(w);
    fail_next(w, TAP_LATE, AVAILABLE_OF_P, 1);
    add_volume(w, "p", "1Gi", RWO, rest);
    world_rest(w);
    assert_non_null(w->tap->late);
    ASSERT_VOLUME(w, "p", "Available", "status/phase");
}

static void end_late(struct world *w)
{
    world_deliver_late(w);
    world_settle(w);
}

TEST(one_of_many_claims_waits_for_a_volume_that_is_being_written)
{
    struct world w;

    begin_late(&w, "");
    for (unsigned i = 0; i < MANY; i++)
        add_claim(&w, long_name("c", i), "1Gi", RWO, "");
    world_rest(&w);
    ASSERT_INT(MANY, count_claims(&w, "Pending"));
    ASSERT_INT(MANY - 1,
               count_reasons(&w, "FailedBinding")); /* one waits, and there is nothing for the rest */
    end_late(&w);
    ASSERT_INT(1, count_claims(&w, "Bound"));
    ASSERT_VOLUME(&w, "p", "Bound", "status/phase");
    ASSERT_INT(MANY - 1, count_reasons(&w, "FailedBinding"));
    assert_true(count_matches(&w) < MANY + 10);
    world_done(&w);
}

TEST(many_claims_that_name_a_volume_that_is_being_written)
{
    struct world w;

    begin_late(&w, "");
    for (unsigned i = 0; i < MANY; i++)
        add_claim(&w, long_name("c", i), "1Gi", RWO, ",'volumeName':'p'");
    world_rest(&w);
    for (unsigned i = 0; i < MANY; i++) /* each waits once, however often it is looked at */
        patch_claim(&w, long_name("c", i), "", "{'metadata':{'labels':{'looked':'at'}}}");
    world_rest(&w);
    ASSERT_INT(MANY, count_claims(&w, "Pending"));
    ASSERT_INT(0, count_reasons(&w, "FailedBinding"));
    end_late(&w);
    ASSERT_INT(1, count_claims(&w, "Bound"));
    ASSERT_INT(MANY - 1, count_reasons(&w, "FailedBinding"));
    world_done(&w);
}

/* With a class that provisions, too: the first claim waits, the second is provisioned for. */
TEST(nobody_provisions_for_the_claim_that_waits)
{
    struct world w;

    begin_late(&w, GOLD);
    make_class(&w, "gold", HOST_PATH_PLUGIN, "");
    make_claim(&w, "c", "", GOLD);
    world_rest(&w);
    ASSERT_INT(0, scripted.provisioned);
    ASSERT_INT(0, count_events(&w, "c", NULL, NULL));
    look_at_claim(&w, "c");
    assert_string_equal(annotation(&w, ANN_PROVISIONER), "-");
    make_claim(&w, "d", "", GOLD);
    world_rest(&w);
    ASSERT_INT(1, scripted.provisioned);
    ASSERT_CLAIM(&w, "d", "Bound", "status/phase");
    end_late(&w);
    assert_bound(&w, "c", "p");
    ASSERT_INT(1, scripted.provisioned);
    ASSERT_INT(1, count_events(&w, "c", NULL, NULL)); /* Bound */
    world_done(&w);
}

/* A volume that was released, and that somebody has freed by hand, while the write of Available is under way:
 * neither the cache nor the server has it yet. */
TEST(a_claim_that_comes_while_a_volume_becomes_available)
{
    static const char *const phases[] = { "Released", "Failed" };

    for (size_t i = 0; i < ARRAY_LEN(phases); i++) {
        struct world w;

        world_init(&w);
        make_class(&w, "gold", HOST_PATH_PLUGIN, "");
        add_volume(&w, "p", "1Gi", RWO, GOLD);
        set_phase(&w, "p", phases[i]);
        w.is_blind = true; /* to the event, too */
        w.blind_to = KIND_VOLUME;
        fail_next(&w, TAP_LATE, AVAILABLE_OF_P, 1);
        world_start(&w);
        world_rest(&w);
        assert_non_null(w.tap->late);
        make_claim(&w, "c", "", GOLD);
        world_rest(&w);
        ASSERT_INT(0, count_events(&w, "c", NULL, NULL));
        ASSERT_INT(0, scripted.provisioned);
        world_deliver_late(&w);
        world_rest(&w);
        assert_bound(&w, "c", "p");
        ASSERT_INT(0, scripted.provisioned);
        world_done(&w);
    }
}

/* The write comes to nothing, and the volume is not free after all: the claim is not left waiting for it. */
TEST(a_write_that_the_claim_waited_for_fails)
{
    struct world w;

    begin_late(&w, "");
    add_claim(&w, "c", "1Gi", RWO, "");
    world_rest(&w);
    ASSERT_INT(0, count_events(&w, "c", NULL, NULL));
    set_phase(&w, "p", "Failed");
    world_rest(&w);
    fail_next(&w, TAP_ERROR, AVAILABLE_OF_P, 1);
    world_deliver_late(&w);
    world_rest(&w);
    ASSERT_CLAIM(&w, "c", "Pending", "status/phase");
    world_settle(&w);
    assert_bound(&w, "c", "p");
    world_done(&w);
}

TEST(the_claim_that_waits_is_deleted)
{
    struct world w;

    begin_late(&w, "");
    add_claim(&w, "a", "1Gi", RWO, "");
    world_rest(&w);
    add_claim(&w, "b", "1Gi", RWO, "");
    world_rest(&w);
    ASSERT_INT(1, count_events(&w, "b", "FailedBinding", NO_VOLUMES));
    drop_claim(&w, "a");
    world_rest(&w);
    end_late(&w);
    assert_bound(&w, "b", "p");
    world_done(&w);
}

/* It is another claim by the same name that is there when the write has ended: held for the one that is gone,
 * the volume would be nobody's. */
TEST(the_claim_that_waits_is_made_again)
{
    struct world w;

    begin_late(&w, "");
    add_claim(&w, "a", "1Gi", RWO, "");
    world_rest(&w);
    world_deafen(&w);
    drop_claim(&w, "a");
    add_claim(&w, "a", "1Gi", RWO, "");
    world_hear(&w);
    world_settle_for(&w, 10); /* the list shows another uid */
    assert_non_null(w.tap->late);
    end_late(&w);
    assert_bound(&w, "a", "p");
    world_done(&w);
}

/* While it waits a smaller volume comes, which is the better match: the other one is for the next claim. */
TEST(the_claim_that_waits_takes_another_volume)
{
    struct world w;

    world_init(&w);
    world_start(&w);
    fail_next(&w, TAP_LATE, AVAILABLE_OF_P, 1);
    add_volume(&w, "p", "2Gi", RWO, "");
    world_rest(&w);
    add_claim(&w, "a", "1Gi", RWO, "");
    world_rest(&w);
    add_claim(&w, "b", "1Gi", RWO, ",'selector':{'matchLabels':{'for':'b'}}");
    world_rest(&w);
    patch_volume(&w, "p", "", "{'metadata':{'labels':{'for':'b'}}}");
    world_rest(&w);
    add_volume(&w, "q", "1Gi", RWO, "");
    world_rest(&w);
    end_late(&w);
    assert_bound(&w, "a", "q");
    assert_bound(&w, "b", "p");
    world_done(&w);
}

/* First come, first served, whether the claim names the volume or not. */
TEST(a_claim_that_names_the_volume_waits_for_it_too)
{
    struct world w;

    begin_late(&w, "");
    add_claim(&w, "a", "1Gi", RWO, ",'volumeName':'p'");
    add_claim(&w, "b", "1Gi", RWO, "");
    world_rest(&w);
    ASSERT_INT(1, count_events(&w, "b", "FailedBinding", NO_VOLUMES));
    end_late(&w);
    assert_bound(&w, "a", "p");
    add_volume(&w, "q", "1Gi", RWO, "");
    world_settle(&w);
    assert_bound(&w, "b", "q");
    world_done(&w);
}

/* Everything was made before the binder starts: it begins with what its caches show, and nobody is told that
 * there is nothing. */
TEST(a_backlog_is_bound_without_a_word)
{
    char name[16];
    struct world w;

    world_init(&w);
    for (unsigned i = 0; i < 5; i++) {
        (void)snprintf(name, sizeof name, "p%u", i);
        add_volume(&w, name, "1Gi", RWO, "");
        name[0] = 'c';
        add_claim(&w, name, "1Gi", RWO, "");
    }
    world_start(&w);
    world_settle(&w);
    ASSERT_INT(5, count_claims(&w, "Bound"));
    ASSERT_INT(0, count_reasons(&w, "FailedBinding"));
    assert_writes(&w, 20); /* four for a pair */
    world_done(&w);
}

static const struct unfit unfit[] = {
    { "one_of_many_claims_waits_for_a_volume_that_is_being_written", FAULT_ANY,
      "is about a fault of its own" },
    { "many_claims_that_name_a_volume_that_is_being_written", FAULT_ANY, "is about a fault of its own" },
    { "nobody_provisions_for_the_claim_that_waits", FAULT_ANY, "is about a fault of its own" },
    { "a_claim_that_comes_while_a_volume_becomes_available", FAULT_ANY, "is about a fault of its own" },
    { "a_write_that_the_claim_waited_for_fails", FAULT_ANY, "is about a fault of its own" },
    { "the_claim_that_waits_is_deleted", FAULT_ANY, "is about a fault of its own" },
    { "the_claim_that_waits_is_made_again", FAULT_ANY, "is about a fault of its own" },
    { "the_claim_that_waits_takes_another_volume", FAULT_ANY, "is about a fault of its own" },
    { "a_claim_that_names_the_volume_waits_for_it_too", FAULT_ANY, "is about a fault of its own" },
    { 0 },
};

REPLAYED_MAIN(unfit)
