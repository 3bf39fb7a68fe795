/* Faults of several kinds and at several times, the lives of volumes from one end to the other; like all
 * tests of the binder those are also played with a fault at every request (test_binder_replay.h): whatever
 * happens to any one request, the world ends as it would have ended without it. */
#include "tests/unit/test_binder_replay.h"

/* --- Lives: objects, a start, something that happens then, an end --- */

struct life {
    void (*before)(struct world *w);
    void (*after)(struct world *w); /* once everything is at rest; NULL: nothing */
    void (*check)(struct world *w);
};

#define NO_FINALIZERS "{'metadata':{'finalizers':null}}"
#define RECLAIM(policy) ",'persistentVolumeReclaimPolicy':'" policy "'"

static void volume_without_guard(struct world *w, const char *name, const char *extra)
{
    add_volume(w, name, "1Gi", RWO, extra);
    patch_volume(w, name, "", NO_FINALIZERS);
}

static void add_class(struct world *w, const char *name, const char *provisioner, const char *extra)
{
    char body[1024];

    (void)snprintf(body, sizeof body,
                   "{'apiVersion':'storage.k8s.io/v1','kind':'StorageClass','metadata':{'name':'%s'%s},"
                   "'provisioner':'%s'%s}",
                   name,
                   strcmp(extra, "default") == 0
                       ? ",'annotations':{'storageclass.kubernetes.io/is-default-class':'true'}"
                       : "",
                   provisioner, extra[0] == ',' ? extra : "");
    ASSERT_SENT(&w->served, 201, "POST", CLASSES, body);
}

/* Nobody uses it: protection lets it go at once. */
static void delete_claim(struct world *w, const char *name)
{
    char path[512];

    patch_claim(w, name, "", NO_FINALIZERS);
    (void)snprintf(path, sizeof path, CLAIMS "/%s", name);
    ASSERT_SENT(&w->served, 200, "DELETE", path, NULL);
}

static void delete_volume(struct world *w, const char *name)
{
    char path[512];

    patch_volume(w, name, "", NO_FINALIZERS);
    (void)snprintf(path, sizeof path, VOLUMES "/%s", name);
    ASSERT_SENT(&w->served, 200, "DELETE", path, NULL);
}

static void uid_of_claim(struct world *w, const char *name, char to[static 64])
{
    look_at_claim(w, name);
    uid_of_last(w, to);
}

/* The volume is made over to the claim as the scheduler or an external provisioner would. */
static void add_volume_of(struct world *w, const char *name, const char *claim, bool is_ours,
                          const char *extra)
{
    char uid[64], body[2048];

    uid_of_claim(w, claim, uid);
    (void)snprintf(body, sizeof body,
                   "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'%s'%s},'spec':{"
                   "'capacity':{'storage':'1Gi'},'accessModes':['ReadWriteOnce']," HOST_PATH ",'claimRef':{"
                   "'kind':'PersistentVolumeClaim','apiVersion':'v1','namespace':'default','name':'%s',"
                   "'uid':'%s'}%s}}",
                   name, is_ours ? ",'annotations':{'" ANN_BOUND_BY_CONTROLLER "':'yes'}" : "", claim, uid,
                   extra);
    ASSERT_SENT(&w->served, 201, "POST", VOLUMES, body);
    patch_volume(w, name, "", NO_FINALIZERS);
}

static bool has_volume(struct world *w, const char *name)
{
    char path[512];

    (void)snprintf(path, sizeof path, VOLUMES "/%s", name);
    return send_request(&w->served, "GET", path, NULL) == 200;
}

/* Plain. */
static void plain_before(struct world *w)
{
    volume_without_guard(w, "p", "");
    add_claim(w, "c", "1Gi", RWO, "");
}

static void plain_check(struct world *w)
{
    assert_bound(w, "c", "p");
    assert_string_equal(annotation(w, ANN_BOUND_BY_CONTROLLER), "yes");
}

/* The scheduler finds the volume. */
static void delayed_before(struct world *w)
{
    add_class(w, "late", "kubernetes.io/no-provisioner", ",'volumeBindingMode':'WaitForFirstConsumer'");
    volume_without_guard(w, "p", ",'storageClassName':'late'");
    add_claim(w, "c", "1Gi", RWO, ",'storageClassName':'late'");
}

static void delayed_after(struct world *w)
{
    char uid[64], body[512];

    ASSERT_CLAIM(w, "c", "Pending", "status/phase");
    uid_of_claim(w, "c", uid);
    (void)snprintf(body, sizeof body,
                   "{'metadata':{'annotations':{'" ANN_BOUND_BY_CONTROLLER "':'yes'}},'spec':{'claimRef':{"
                   "'kind':'PersistentVolumeClaim','apiVersion':'v1','namespace':'default','name':'c',"
                   "'uid':'%s'}}}",
                   uid);
    patch_volume(w, "p", "", body);
}

/* What becomes of the volume when the claim goes. */
static void delete_before(struct world *w)
{
    volume_without_guard(w, "p", RECLAIM("Delete"));
    add_claim(w, "c", "1Gi", RWO, "");
}

static void claim_goes(struct world *w)
{
    assert_bound(w, "c", "p");
    delete_claim(w, "c");
}

static void delete_check(struct world *w)
{
    assert_false(has_volume(w, "p"));
    assert_true(scripted.removed >= 1);
}

static void recycle_before(struct world *w)
{
    volume_without_guard(w, "p", RECLAIM("Recycle"));
    add_claim(w, "c", "1Gi", RWO, "");
}

static void recycle_check(struct world *w)
{
    ASSERT_VOLUME(w, "p", "Available", "status/phase");
    ASSERT_GOT(&w->served, "-", "spec/claimRef");
    assert_true(scripted.recycled >= 1);
}

/* Two volumes for one claim. */
static void unbind_before(struct world *w)
{
    add_claim(w, "c", "1Gi", RWO, "");
    add_volume_of(w, "p", "c", true, "");
    add_volume_of(w, "q", "c", true, "");
    add_volume_of(w, "r", "c", false, "");
}

static void unbind_check(struct world *w)
{
    assert_bound(w, "c", "p");
    ASSERT_VOLUME(w, "q", "Available", "status/phase");
    ASSERT_GOT(&w->served, "-", "spec/claimRef");
    ASSERT_VOLUME(w, "r", "Available", "status/phase");
    ASSERT_GOT(&w->served, "c", "spec/claimRef/name");
    ASSERT_GOT(&w->served, "-", "spec/claimRef/uid");
}

/* The volume goes, and comes back. */
static void lost_after(struct world *w)
{
    assert_bound(w, "c", "p");
    delete_volume(w, "p");
    world_settle(w);
    ASSERT_CLAIM(w, "c", "Lost", "status/phase");
    volume_without_guard(w, "p", "");
}

/* The claim is gone when the volume has just been made over to it. */
static void jilted_before(struct world *w)
{
    add_claim(w, "c", "5Gi", RWO, "");
    add_volume_of(w, "q", "c", false, RECLAIM("Recycle")); /* too small: it stays at that */
    delete_claim(w, "c");
    add_claim(w, "c", "5Gi", RWO, ""); /* another of that name */
}

static void jilted_check(struct world *w)
{
    ASSERT_VOLUME(w, "q", "Available", "status/phase");
    ASSERT_GOT(&w->served, "c", "spec/claimRef/name");
    ASSERT_GOT(&w->served, "-", "spec/claimRef/uid");
    ASSERT_CLAIM(w, "c", "Pending", "status/phase");
}

/* Once with everything there when the binder starts, once with the binder there before everything. */
static void live(const struct life *life)
{
    for (int is_early = 0; is_early < 2; is_early++) {
        struct world w;

        world_init(&w);
        if (is_early)
            world_start(&w);
        life->before(&w);
        if (!is_early)
            world_start(&w);
        world_settle(&w);
        if (life->after) {
            life->after(&w);
            world_settle(&w);
        }
        life->check(&w);
        assert_true(binder_is_idle(w.binder));
        world_done(&w);
    }
}

#define LIFE(name, before, after, check)                          \
    TEST(name)                                                    \
    {                                                             \
        static const struct life life = { before, after, check }; \
                                                                  \
        live(&life);                                              \
    }

LIFE(a_volume_that_the_scheduler_found, delayed_before, delayed_after, plain_check)
LIFE(a_volume_bound_and_deleted, delete_before, claim_goes, delete_check)
LIFE(a_volume_bound_and_recycled, recycle_before, claim_goes, recycle_check)
LIFE(three_volumes_for_one_claim, unbind_before, NULL, unbind_check)
LIFE(a_volume_lost_and_found, plain_before, lost_after, plain_check)
LIFE(a_volume_for_the_claims_forerunner, jilted_before, NULL, jilted_check)

/* --- By number --- */

TEST(S145_a_conflict_at_each_of_the_four_writes)
{
    struct world w;

    for (unsigned at = 1; at <= 4; at++) {
        world_init(&w);
        plain_before(&w);
        set_phase(&w, "p", "Available");
        w.fault = TAP_CONFLICT;
        w.fault_at = at;
        world_start(&w);
        world_settle_for(&w, 1); /* at once: no backoff */
        assert_bound(&w, "c", "p");
        ASSERT_INT(5, w.writes);
        ASSERT_INT(1, count_events(&w, "c", "Bound", "Bound to PV p"));
        ASSERT_INT(0, count_events(&w, "c", "FailedBinding", NULL));
        world_done(&w);
    }
}

TEST(S146_killed_after_each_of_the_four_writes)
{
    struct world w;

    for (unsigned at = 1; at <= 4; at++) {
        world_init(&w);
        plain_before(&w);
        set_phase(&w, "p", "Available");
        w.fault = TAP_CRASH;
        w.fault_at = at;
        world_start(&w);
        world_settle(&w);
        assert_bound(&w, "c", "p");
        ASSERT_INT(4, w.writes); /* none is made again */
        world_done(&w);
    }
}

TEST(S147_errors_for_a_while)
{
    struct world w;

    world_init(&w);
    plain_before(&w);
    add_volume(&w, "q", "2Gi", RWO, "");
    add_claim(&w, "d", "2Gi", RWO, "");
    w.fault = TAP_ERROR;
    w.fault_at = 1;
    w.fault_to = 20;
    world_start(&w);
    world_settle(&w);
    assert_true(w.requests > 20);
    assert_true(w.requests < 60);
    assert_bound(&w, "c", "p");
    assert_bound(&w, "d", "q");
    world_done(&w);
}

TEST(S148_a_delete_that_no_watch_told)
{
    struct world w;

    world_init(&w);
    plain_before(&w);
    world_start(&w);
    world_settle(&w);
    assert_bound(&w, "c", "p");
    world_deafen(&w);
    delete_claim(&w, "c");
    world_settle_for(&w, 1);
    ASSERT_VOLUME(&w, "p", "Bound", "status/phase"); /* it does not know */
    world_hear(&w);
    world_settle(&w);
    ASSERT_VOLUME(&w, "p", "Released", "status/phase");
    /* The same for a volume: its claim has lost it. */
    volume_without_guard(&w, "q", "");
    add_claim(&w, "d", "1Gi", RWO, "");
    world_settle(&w);
    assert_bound(&w, "d", "q");
    world_deafen(&w);
    delete_volume(&w, "q");
    world_hear(&w);
    world_settle(&w);
    ASSERT_CLAIM(&w, "d", "Lost", "status/phase");
    world_done(&w);
}

TEST(S149_another_claim_of_the_same_name)
{
    struct world w;

    for (int is_told = 0; is_told < 2; is_told++) {
        world_init(&w);
        plain_before(&w);
        world_start(&w);
        world_settle(&w);
        assert_bound(&w, "c", "p");
        volume_without_guard(&w, "q", "");
        world_settle(&w);
        if (!is_told)
            world_deafen(&w);
        delete_claim(&w, "c");
        add_claim(&w, "c", "1Gi", RWO, "");
        if (!is_told)
            world_hear(&w);
        world_settle(&w);
        ASSERT_VOLUME(&w, "p", "Released", "status/phase");
        assert_bound(&w, "c", "q");
        world_done(&w);
    }
}

TEST(S150_an_answer_after_the_end)
{
    struct world w;

    world_init(&w);
    plain_before(&w);
    set_phase(&w, "p", "Available");
    w.fault = TAP_LATE;
    w.fault_at = 1;
    world_start(&w);
    world_still(&w);
    assert_non_null(w.tap->late);
    delete_volume(&w, "p");
    world_still(&w);
    world_deliver_late(&w);
    world_settle(&w);
    /* Were the volume back in the cache, the claim would be told that it has one. */
    ASSERT_CLAIM(&w, "c", "-", "spec/volumeName");
    ASSERT_GOT(&w.served, "Pending", "status/phase");
    ASSERT_INT(1, w.writes);
    ASSERT_INT(1, count_events(&w, "c", "FailedBinding", NULL));
    volume_without_guard(&w, "p", "");
    world_settle(&w);
    assert_bound(&w, "c", "p");
    world_done(&w);
}

/* The claim goes after each of the requests that bind it. */
TEST(a_claim_goes_while_it_is_bound)
{
    struct world w;

    for (unsigned at = 1; at <= 4; at++) {
        struct sent x;
        unsigned turns = 0;

        world_init(&w);
        plain_before(&w);
        patch_claim(&w, "c", "", NO_FINALIZERS);
        set_phase(&w, "p", "Available");
        world_start(&w);
        while (w.requests < at) {
            (void)loop_poll(w.served.loop);
            assert_true(++turns < 10000);
        }
        send_begin(&w.served, &x, "DELETE", CLAIMS "/c", NULL);
        (void)sent_wait(&x);
        sent_done(&x);
        world_settle(&w);
        ASSERT_VOLUME(&w, "p", "Released", "status/phase");
        ASSERT_INT(404, send_request(&w.served, "GET", CLAIMS "/c", NULL));
        assert_true(w.requests < 12);
        world_done(&w);
    }
}

static const struct unfit unfit[] = {
    { "S145_a_conflict_at_each_of_the_four_writes", FAULT_ANY, "is about a fault of its own" },
    { "S146_killed_after_each_of_the_four_writes", FAULT_ANY, "is about a fault of its own" },
    { "S147_errors_for_a_while", FAULT_ANY, "is about a fault of its own" },
    { "S150_an_answer_after_the_end", FAULT_ANY, "is about a fault of its own" },
    { "a_claim_goes_while_it_is_bound", FAULT_ANY, "is about a fault of its own" },
    { 0 },
};

REPLAYED_MAIN(unfit)
