/* One request at a time is under way, and what it is (enum step) says what its answer means:
 *
 *   renew ──fails──► get ──ours or free──► take       waits for the next try on any other outcome
 *                     └──not found──► create
 *
 * While leading, tries come in rounds: a round begins retry_ns after the last success and ends with the next
 * one, or with the term when renew_ns have passed. Two moments are kept apart on purpose. observed_at_ns is
 * when a record was first seen here; another's lease runs out from there. good_until_ns counts from when our
 * own write was *sent*: whoever saw it earlier than its answer came back to us must not find the lease run
 * out while we still trust it. Both are monotonic time of the clock handed in, never of a server.
 *
 * Costs: a renewal is one patch every retry_ns; somebody who waits reads the lease every 1 to 2.2 retry_ns.
 */
#include "machinery/leader.h"

#include <assert.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/mutant.h"
#include "base/rng.h"
#include "machinery/lease_record.h"
#include "machinery/metrics.h"
#include "machinery/recorder.h"

#define FIELD_MANAGER "berth-leader-election"
#define BODY_BYTES_MAX ((size_t)16 << 10)
#define TEXTS_BYTES_MAX ((size_t)4 << 10)
/* Beyond the lease's end before health says so. */
#define CHECK_SLACK_NS (20 * NS_PER_S)
/* Reads and writes again after conflicts, at the end of a term. */
#define RELEASE_TRIES_MAX 5

enum step { STEP_RENEW, STEP_GET, STEP_CREATE, STEP_TAKE, STEP_RELEASE };

struct leader {
    struct leader_options o; /* texts in the arena */
    struct arena arena;
    enum leader_state state;
    enum step step; /* of the call */
    struct client_call call;
    struct timer timer;    /* the next try */
    struct timer deadline; /* of the round, or of the release */
    struct deferred end;   /* a stop that has nothing to give back */
    struct rng rng;
    int64_t lease_seconds;
    struct object *lease;    /* as last seen; NULL before */
    uint64_t observed_at_ns; /* when what it records was first seen */
    uint64_t sent_at_ns;     /* the write under way */
    uint64_t good_until_ns;  /* our own lease */
    uint64_t round_began_ns;
    unsigned releases;     /* tried so far */
    struct metric *status; /* NULL: nobody counts */
    struct error trouble;
};

static void leader_try(struct leader *l);
static void on_answer(void *ctx, const struct client_answer *a);

static const bool may_follow[LEADER_STATE_COUNT][LEADER_STATE_COUNT] = {
    [LEADER_IDLE] = { [LEADER_TRYING] = true, [LEADER_RELEASING] = true },
    [LEADER_TRYING] = { [LEADER_LEADING] = true, [LEADER_RELEASING] = true },
    [LEADER_LEADING] = { [LEADER_RELEASING] = true, [LEADER_OVER] = true },
    [LEADER_RELEASING] = { [LEADER_OVER] = true },
};

static void set_state(struct leader *l, enum leader_state next)
{
    assert(may_follow[l->state][next]);
    l->state = next;
    if (l->status)
        metric_set(l->status, next == LEADER_LEADING ? 1 : 0);
    timer_disarm(&l->timer);
    timer_disarm(&l->deadline);
}

static uint64_t now_ns(const struct leader *l)
{
    if (MUTANT("leader-reads-the-wall-clock"))
        return (uint64_t)clock_real_ns(l->o.clock);
    return clock_mono_ns(l->o.clock);
}

static const struct lease *lease_seen(const struct leader *l)
{
    return l->lease ? CONTAINER_OF(l->lease, struct lease, obj) : NULL;
}

static bool is_ours(const struct leader *l)
{
    return l->lease && strcmp(lease_seen(l)->holder, l->o.identity) == 0;
}

/* Steps 1 and 4: what was seen last has not run out by our own clock. */
static bool seen_is_fresh(const struct leader *l)
{
    uint64_t duration_ns = (uint64_t)lease_record_of(lease_seen(l)).duration_seconds * NS_PER_S;

    return l->observed_at_ns + duration_ns > now_ns(l);
}

/* --- What is seen --- */

/* Keeps the newest version of the lease for its resourceVersion; the clock of its holder starts anew only
 * when what it records has changed. */
static void observe(struct leader *l, struct object *o, uint64_t at_ns)
{
    const struct lease *seen = lease_seen(l);

    if (!seen || !lease_record_is_same(seen, CONTAINER_OF(o, struct lease, obj)))
        l->observed_at_ns = at_ns;
    (void)object_unref(l->lease);
    l->lease = object_ref(o);
}

/* --- What is written --- */

static struct timestamp wall_now(const struct leader *l)
{
    return timestamp_of_ns(clock_real_ns(l->o.clock));
}

/* Ours from now on: kept as it began when it is ours already, else a new term. */
static struct lease_record record_of_ours(const struct leader *l)
{
    struct lease_record r = l->lease ? lease_record_of(lease_seen(l)) : (struct lease_record){ 0 };

    if (!is_ours(l)) {
        r.acquired = wall_now(l);
        r.transitions += l->lease && r.transitions < INT32_MAX;
    }
    r.holder = l->o.identity;
    r.duration_seconds = l->lease_seconds;
    r.renewed = wall_now(l);
    return r;
}

static struct lease_record record_of_nobody(const struct leader *l)
{
    struct lease_record r = lease_record_of(lease_seen(l));

    r.holder = "";
    r.duration_seconds = 1;
    r.acquired = r.renewed = wall_now(l);
    return r;
}

/* The lease goes around the limit and the gate: it is what the gate depends on. A body without memory goes
 * out empty and is refused, which is a failure like any other. */
static void send_request(struct leader *l, enum step step, enum client_verb verb, const struct buf *body)
{
    struct client_request q = { .verb = verb,
                                .kind = &lease_kind,
                                .ns = l->o.ns,
                                .name = verb == CLIENT_CREATE ? NULL : l->o.name,
                                .patch = CLIENT_PATCH_MERGE,
                                .deadline_ns = l->o.renew_ns / 2,
                                .is_urgent = true };

    if (body) {
        q.body = buf_str(body);
        q.field_manager = FIELD_MANAGER;
    }
    l->step = step;
    l->sent_at_ns = now_ns(l);
    client_send(l->o.client, &l->call, &q, on_answer, l);
}

static void send_get(struct leader *l)
{
    send_request(l, STEP_GET, CLIENT_GET, /* body= */ NULL);
}

static void send_create(struct leader *l)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(BODY_BYTES_MAX);
    struct lease_record r;

    l->lease = object_unref(l->lease); /* whatever was seen is gone: the count starts anew */
    r = record_of_ours(l);
    lease_record_write(&r, l->o.ns, l->o.name, &body);
    send_request(l, STEP_CREATE, CLIENT_CREATE, &body);
}

static void send_patch(struct leader *l, enum step step, const struct lease_record *r)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(BODY_BYTES_MAX);

    lease_record_write_patch(r, lease_seen(l), &body);
    send_request(l, step, CLIENT_PATCH, &body);
}

static void send_ours(struct leader *l, enum step step)
{
    struct lease_record r = record_of_ours(l);

    send_patch(l, step, &r);
}

/* --- The ends --- */

static void record_event(struct leader *l, const char *what)
{
    if (l->o.recorder && l->lease)
        recorder_event(l->o.recorder, l->lease, EVENT_NORMAL, "LeaderElection", "%s %s", l->o.identity, what);
}

/* The last thing done here: whoever hears of it may do what it likes, but for freeing us. */
static void end_lost(struct leader *l)
{
    client_cancel(&l->call);
    set_state(l, LEADER_OVER);
    record_event(l, "stopped leading");
    l->o.on_stopped(l->o.ctx, /* is_lost= */ true);
}

static void end_released(void *ctx)
{
    struct leader *l = ctx;

    client_cancel(&l->call);
    loop_undefer(&l->end);
    set_state(l, LEADER_OVER);
    l->o.on_stopped(l->o.ctx, /* is_lost= */ false);
}

static void on_deadline(void *ctx)
{
    struct leader *l = ctx;
    bool is_leading = l->state == LEADER_LEADING;

    if (l->trouble.msg[0] == '\0')
        (void)error_set(&l->trouble, ERR_TIMEOUT, "no answer in time");
    if (is_leading)
        end_lost(l);
    else
        end_released(l);
}

/* --- A try and its answer --- */

static void wait_for_next(struct leader *l)
{
    uint64_t wait_ns = l->o.retry_ns;

    if (l->state == LEADER_TRYING)
        wait_ns += rng_below(&l->rng, l->o.retry_ns / 5 * 6 + 1); /* so that many do not ask in step */
    timer_arm_after(&l->timer, wait_ns);
}

static void on_failed(struct leader *l)
{
    if (l->state == LEADER_LEADING && now_ns(l) - l->round_began_ns >= l->o.renew_ns)
        end_lost(l);
    else
        wait_for_next(l);
}

/* Our write was answered. */
static void on_won(struct leader *l, struct object *o)
{
    observe(l, o, l->sent_at_ns);
    if (!is_ours(l)) {
        (void)error_set(&l->trouble, ERR_INTERNAL, "the server stored another holder than it was sent");
        on_failed(l);
        return;
    }
    l->good_until_ns = l->sent_at_ns + (uint64_t)l->lease_seconds * NS_PER_S;
    if (MUTANT("leader-counts-from-answer"))
        l->good_until_ns += now_ns(l) - l->sent_at_ns;
    if (now_ns(l) >= l->good_until_ns) {
        /* We stood still for so long that it is no good any more. */
        (void)error_set(&l->trouble, ERR_TIMEOUT, "the answer came after the lease had run out");
        on_failed(l);
        return;
    }
    l->trouble.msg[0] = '\0';
    timer_disarm(&l->deadline);
    if (l->state == LEADER_LEADING) {
        wait_for_next(l);
        return;
    }
    set_state(l, LEADER_LEADING);
    wait_for_next(l);
    record_event(l, "became leader");
    l->o.on_started(l->o.ctx);
}

/* Whether the term that we are in is still the one the lease tells of. */
static bool is_same_term(const struct leader *l, struct object *o)
{
    const struct lease *seen = lease_seen(l), *now = CONTAINER_OF(o, struct lease, obj);

    return strcmp(now->holder, l->o.identity) == 0 && (!seen || seen->transitions == now->transitions);
}

static void on_got(struct leader *l, struct object *o)
{
    bool is_term_over = l->state == LEADER_LEADING && !is_same_term(l, o);

    observe(l, o, now_ns(l));
    if (is_term_over) {
        (void)error_set(&l->trouble, ERR_CONFLICT, "the lease was taken from us; its holder is '%s'",
                        lease_seen(l)->holder);
        end_lost(l);
    } else if (lease_seen(l)->holder[0] && !is_ours(l) && seen_is_fresh(l) &&
               !MUTANT("leader-takes-over-at-once")) {
        l->trouble.msg[0] = '\0'; /* another leads, as it should be */
        on_failed(l);
    } else {
        send_ours(l, STEP_TAKE);
    }
}

/* There is no lease. While we lead, it is made again only as long as the one that is gone would be good: who
 * knows who led with another one since. */
static void on_absent(struct leader *l)
{
    if (l->state == LEADER_LEADING && !leader_is_valid(l)) {
        (void)error_set(&l->trouble, ERR_NOT_FOUND, "the lease is gone");
        end_lost(l);
    } else {
        send_create(l);
    }
}

static void on_try_answer(struct leader *l, const struct client_answer *a)
{
    if (l->step == STEP_GET && a->r == -ERR_NOT_FOUND) {
        on_absent(l);
    } else if (a->r < 0 || !a->object) {
        if (a->r < 0)
            l->trouble = a->error;
        else
            (void)error_set(&l->trouble, ERR_INTERNAL, "the answer holds no lease");
        if (l->step == STEP_RENEW)
            send_get(l);
        else
            on_failed(l);
    } else if (l->step == STEP_GET) {
        on_got(l, a->object);
    } else {
        on_won(l, a->object);
    }
}

/* One try, from its first request on. */
static void leader_try(struct leader *l)
{
    if (is_ours(l) && seen_is_fresh(l))
        send_ours(l, STEP_RENEW);
    else
        send_get(l);
}

static void on_timer(void *ctx)
{
    struct leader *l = ctx;

    if (l->state == LEADER_LEADING && !timer_is_armed(&l->deadline)) {
        l->round_began_ns = now_ns(l);
        timer_arm_after(&l->deadline, l->o.renew_ns);
    }
    leader_try(l);
}

/* --- Giving back --- */

static void release(struct leader *l)
{
    struct lease_record r = record_of_nobody(l);

    l->releases++;
    send_patch(l, STEP_RELEASE, &r);
}

/* A write of ours that was under way when the stop came is waited for: it may have made us the holder. */
static void on_release_answer(struct leader *l, const struct client_answer *a)
{
    bool may_be_ours = a->may_have_happened || client_is_conflict(a);

    if (a->r < 0)
        l->trouble = a->error;
    if (a->r == 0 && a->object && l->step != STEP_RELEASE) {
        observe(l, a->object, now_ns(l));
        if (is_ours(l) && l->releases < RELEASE_TRIES_MAX)
            release(l);
        else
            end_released(l);
    } else if (a->r < 0 && may_be_ours && l->step != STEP_GET) {
        send_get(l);
    } else {
        if (a->r == 0)
            l->trouble.msg[0] = '\0';
        end_released(l);
    }
}

static void on_answer(void *ctx, const struct client_answer *a)
{
    struct leader *l = ctx;

    if (l->state == LEADER_RELEASING)
        on_release_answer(l, a);
    else
        on_try_answer(l, a);
}

static bool is_taking(const struct leader *l)
{
    return client_call_is_active(&l->call) && (l->step == STEP_CREATE || l->step == STEP_TAKE);
}

void leader_stop(struct leader *l)
{
    bool was_leading = l->state == LEADER_LEADING;

    if (l->state == LEADER_RELEASING || l->state == LEADER_OVER)
        return;
    set_state(l, LEADER_RELEASING);
    timer_arm_after(&l->deadline, l->o.renew_ns / 2);
    l->trouble.msg[0] = '\0';
    if (was_leading) {
        client_cancel(&l->call); /* if it was a renewal that got through, ours meets a conflict and looks */
        record_event(l, "stopped leading");
        if (l->lease)
            release(l);
        else
            send_get(l);
    } else if (!is_taking(l)) {
        client_cancel(&l->call);
        loop_defer(&l->end);
    }
}

/* --- Life --- */

void leader_start(struct leader *l)
{
    assert(l->state == LEADER_IDLE);
    set_state(l, LEADER_TRYING);
    leader_try(l);
}

/* retryPeriod is stretched by up to 1.2 of itself while waiting; a round must hold more than one try. */
int leader_check_times(uint64_t lease_ns, uint64_t renew_ns, uint64_t retry_ns, struct error *err)
{
    lease_ns = lease_ns ? lease_ns : LEADER_LEASE_NS;
    renew_ns = renew_ns ? renew_ns : LEADER_RENEW_NS;
    retry_ns = retry_ns ? retry_ns : LEADER_RETRY_NS;
    if (lease_ns < NS_PER_S || lease_ns / NS_PER_S > INT32_MAX)
        return error_set(err, ERR_INVALID, "leaseDuration must be a second or more, and fit in 32 bits");
    if (lease_ns <= renew_ns)
        return error_set(err, ERR_INVALID, "leaseDuration must be greater than renewDeadline");
    if (renew_ns / 6 <= retry_ns / 5)
        return error_set(err, ERR_INVALID, "renewDeadline must be greater than retryPeriod*JitterFactor");
    return 0;
}

static int add_metric(struct leader *l, struct error *err)
{
    static const char *const labels[] = { "name", NULL };
    static const struct metric_desc desc = {
        .name = "leader_election_master_status",
        .help = "Whether this process leads by the lease of that name (1) or waits (0).",
        .type = METRIC_GAUGE,
        .labels = labels,
    };
    struct metric_family *family;
    int r = metrics_share_family(l->o.metrics, &desc, &family, err);

    if (r < 0)
        return r;
    l->status = metric_of(family, l->o.name);
    metric_set(l->status, 0);
    return 0;
}

static int copy_texts(struct leader *l, struct error *err)
{
    l->arena = ARENA_INIT(TEXTS_BYTES_MAX);
    l->o.ns = arena_dup(&l->arena, str_of(l->o.ns));
    l->o.name = arena_dup(&l->arena, str_of(l->o.name));
    l->o.identity = arena_dup(&l->arena, str_of(l->o.identity));
    return arena_check(&l->arena, err);
}

int leader_new(const struct leader_options *o, struct leader **ret, struct error *err)
{
    _cleanup_(leader_free_p) struct leader *l = calloc(1, sizeof *l);
    int r;

    assert(o->identity[0] != '\0'); /* the empty one is nobody's */
    if (!l)
        return error_no_memory(err);
    l->o = *o;
    l->o.lease_ns = o->lease_ns ? o->lease_ns : LEADER_LEASE_NS;
    l->o.renew_ns = o->renew_ns ? o->renew_ns : LEADER_RENEW_NS;
    l->o.retry_ns = o->retry_ns ? o->retry_ns : LEADER_RETRY_NS;
    l->lease_seconds = (int64_t)(l->o.lease_ns / NS_PER_S);
    timer_init(&l->timer, o->loop, on_timer, l);
    timer_init(&l->deadline, o->loop, on_deadline, l);
    deferred_init(&l->end, o->loop, end_released, l);
    rng_init(&l->rng, o->seed);
    r = leader_check_times(o->lease_ns, o->renew_ns, o->retry_ns, err);
    if (r == 0)
        r = copy_texts(l, err);
    if (r == 0 && o->metrics)
        r = add_metric(l, err);
    if (r < 0)
        return r;
    *ret = TAKE(l);
    return 0;
}

struct leader *leader_free(struct leader *l)
{
    if (!l)
        return NULL;
    client_cancel(&l->call);
    timer_disarm(&l->timer);
    timer_disarm(&l->deadline);
    loop_undefer(&l->end);
    (void)object_unref(l->lease);
    arena_done(&l->arena);
    free(l);
    return NULL;
}

/* --- Questions --- */

enum leader_state leader_state(const struct leader *l)
{
    return l->state;
}

bool leader_is_valid(const struct leader *l)
{
    return l->state == LEADER_LEADING &&
           (now_ns(l) < l->good_until_ns || MUTANT("leader-believes-its-state"));
}

bool leader_gate(void *leader, struct error *err)
{
    const struct leader *l = leader;

    if (leader_is_valid(l))
        return true;
    (void)error_set(err, ERR_CANCELLED, "not leading by lease '%s/%s': nothing is written", l->o.ns,
                    l->o.name);
    return false;
}

const char *leader_holder(const struct leader *l)
{
    return l->lease ? lease_seen(l)->holder : "";
}

const char *leader_trouble(const struct leader *l)
{
    return l->trouble.msg;
}

int leader_check(const struct leader *l, struct error *err)
{
    if (l->state == LEADER_LEADING && now_ns(l) > l->good_until_ns + CHECK_SLACK_NS)
        return error_set(err, ERR_UNAVAILABLE, "failed election to renew leadership on lease %s", l->o.name);
    return 0;
}
