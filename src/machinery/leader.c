/* Implementation of leader election. One request is in flight at a time; enum step says what its answer
 * means:
 *
 *   renew ──fails──► get ──ours or free──► take       any other outcome waits for the next try
 *                     └──not found──► create
 *
 * While leading, tries are grouped into rounds: a round starts retry_ns after the last success and ends with
 * the next success, or with the term after renew_ns. Two times are kept apart. observed_at_ns is when a
 * record was first seen here; the lease of another holder expires relative to that. good_until_ns counts from
 * when our own write was *sent*: another instance that saw the write before its answer arrived here must not
 * find the lease expired while we still rely on it. Both use the monotonic clock of this process, never the
 * clock of a server.
 *
 * Costs: one patch per retry_ns while leading; one read every 1 to 2.2 wait_ns while waiting. */
#include "machinery/leader.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_out.h"
#include "api/lease.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/mutant.h"
#include "base/reach.h"
#include "base/rng.h"
#include "machinery/informer.h"
#include "machinery/metrics.h"
#include "machinery/recorder.h"

#define FIELD_MANAGER "berth-leader-election"
#define BODY_BYTES_MAX ((size_t)16 << 10)
#define TEXTS_BYTES_MAX ((size_t)4 << 10)
/* Time after the expiry of the lease until the health check fails. */
#define CHECK_SLACK_NS (20 * NS_PER_S)
/* Tries to release the lease at the end of a term, after conflicts. */
#define RELEASE_TRIES_MAX 5

enum step { STEP_RENEW, STEP_GET, STEP_CREATE, STEP_TAKE, STEP_RELEASE };

struct leader {
    struct leader_options o; /* texts in the arena */
    struct arena arena;
    enum leader_state state;
    enum step step; /* of the request in flight */
    struct client_call call;
    struct timer timer;    /* for the next try */
    struct timer deadline; /* of the round, or of the release */
    struct deferred end;   /* a stop without a lease to release */
    struct rng rng;
    int64_t lease_seconds;
    struct object *lease;    /* as last seen; NULL: not yet */
    uint64_t observed_at_ns; /* when its current record was first seen */
    uint64_t sent_at_ns;     /* of the write in flight */
    uint64_t good_until_ns;  /* of our own lease */
    uint64_t round_began_ns;
    char *standby;         /* the holder that on_standby() was told of; NULL: none */
    unsigned releases;     /* tries to release so far */
    struct metric *status; /* NULL: not counted */
    struct error trouble;
};

/* --- The record of a Lease --- */

struct lease_record {
    const char *holder;       /* borrowed; "": not held */
    int64_t duration_seconds; /* 0 to INT32_MAX, like the transitions */
    int64_t transitions;
    struct timestamp acquired;
    struct timestamp renewed;
};

/* Other writers may have stored any number. */
static int64_t clamp_int32(int64_t n)
{
    return n < 0 ? 0 : n > INT32_MAX ? INT32_MAX : n;
}

static struct lease_record lease_record_of(const struct lease *l)
{
    return (struct lease_record){ .holder = l->holder,
                                  .duration_seconds = clamp_int32(l->duration_seconds),
                                  .transitions = clamp_int32(l->transitions),
                                  .acquired = l->acquired,
                                  .renewed = l->renewed };
}

/* True if no field that an election writes differs, and both are the same object. */
static bool lease_record_is_same(const struct lease *a, const struct lease *b)
{
    return strcmp(a->obj.uid, b->obj.uid) == 0 && strcmp(a->holder, b->holder) == 0 &&
           a->duration_seconds == b->duration_seconds && a->transitions == b->transitions &&
           timestamp_cmp(a->acquired, b->acquired) == 0 && timestamp_cmp(a->renewed, b->renewed) == 0;
}

static void write_spec(const struct lease_record *r, struct buf *out)
{
    json_out_object(out, "spec");
    json_out_text(out, "holderIdentity", r->holder);
    json_out_int(out, "leaseDurationSeconds", r->duration_seconds);
    json_out_time_micro(out, "acquireTime", r->acquired);
    json_out_time_micro(out, "renewTime", r->renewed);
    json_out_int(out, "leaseTransitions", r->transitions);
    json_out_end_object(out);
}

/* The body of a create. Failures are kept in the buffer. */
static void lease_record_write(const struct lease_record *r, const char *ns, const char *name,
                               struct buf *out)
{
    json_out_object(out, NULL);
    json_out_text(out, "apiVersion", "coordination.k8s.io/v1");
    json_out_text(out, "kind", "Lease");
    json_out_object(out, "metadata");
    json_out_text(out, "name", name);
    json_out_text(out, "namespace", ns);
    json_out_end_object(out);
    write_spec(r, out);
    json_out_end_object(out);
}

/* A merge patch for exactly this version of the lease. */
static void lease_record_write_patch(const struct lease_record *r, const struct lease *seen, struct buf *out)
{
    json_out_object(out, NULL);
    json_out_object(out, "metadata");
    json_out_text(out, "uid", seen->obj.uid);
    if (!MUTANT("leader-writes-over-others"))
        json_out_str(out, "resourceVersion", object_version(&seen->obj));
    json_out_end_object(out);
    write_spec(r, out);
    json_out_end_object(out);
}

/* --- States --- */

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
    reach_move(REACH_LEADER, LEADER_STATE_COUNT, l->state, next);
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

/* Steps 1 and 4: the last seen record has not expired by our own clock. */
static bool seen_is_fresh(const struct leader *l)
{
    uint64_t duration_ns = (uint64_t)lease_record_of(lease_seen(l)).duration_seconds * NS_PER_S;

    return l->observed_at_ns + duration_ns > now_ns(l);
}

/* --- Observing --- */

/* Keeps the newest version of the lease, for its resourceVersion; the expiry is only extended if its record
 * has changed. */
static void observe_lease(struct leader *l, struct object *o, uint64_t at_ns)
{
    const struct lease *seen = lease_seen(l);

    if (!seen || !lease_record_is_same(seen, CONTAINER_OF(o, struct lease, obj)))
        l->observed_at_ns = at_ns;
    (void)object_unref(l->lease);
    l->lease = object_ref(o);
}

/* --- Writing --- */

static struct timestamp wall_now(const struct leader *l)
{
    return timestamp_of_ns(clock_real_ns(l->o.clock));
}

/* A record with this process as holder: the current term if it is ours, else a new one. */
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

/* Lease requests bypass the rate limit and the gate, because the gate depends on the lease. Without memory
 * for the body an empty one is sent and refused, which is handled as a failure. */
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

/* --- Ends of a term --- */

static void record_event(struct leader *l, const char *what)
{
    if (l->o.recorder && l->lease)
        recorder_event(l->o.recorder, l->lease, EVENT_NORMAL, "LeaderElection", "%s %s", l->o.identity, what);
}

/* Must be the last call of its caller: the callback may do anything except free the leader. */
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
        (void)error_set(&l->trouble, ERR_TIMEOUT, "request timed out");
    if (is_leading)
        end_lost(l);
    else
        end_released(l);
}

/* --- Tries --- */

static void wait_for_next(struct leader *l)
{
    uint64_t delay_ns = l->o.retry_ns;

    if (l->state == LEADER_TRYING) /* so that many instances do not read in step */
        delay_ns = l->o.wait_ns + rng_below(&l->rng, l->o.wait_ns / 5 * 6 + 1);
    timer_arm_after(&l->timer, delay_ns);
}

static void on_failed(struct leader *l)
{
    if (l->state == LEADER_LEADING && now_ns(l) - l->round_began_ns >= l->o.renew_ns)
        end_lost(l);
    else
        wait_for_next(l);
}

/* Our write was accepted. */
static void on_won(struct leader *l, struct object *o)
{
    observe_lease(l, o, l->sent_at_ns);
    if (!is_ours(l)) {
        (void)error_set(&l->trouble, ERR_INTERNAL, "server stored a different holder than requested");
        on_failed(l);
        return;
    }
    l->good_until_ns = l->sent_at_ns + (uint64_t)l->lease_seconds * NS_PER_S;
    if (MUTANT("leader-counts-from-answer"))
        l->good_until_ns += now_ns(l) - l->sent_at_ns;
    if (now_ns(l) >= l->good_until_ns) {
        /* This process was suspended for so long that the lease has expired. */
        (void)error_set(&l->trouble, ERR_TIMEOUT, "response arrived after the lease expired");
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

/* True if the lease still has the current term of this process. */
static bool is_same_term(const struct leader *l, struct object *o)
{
    const struct lease *seen = lease_seen(l), *now = CONTAINER_OF(o, struct lease, obj);

    return strcmp(now->holder, l->o.identity) == 0 && (!seen || seen->transitions == now->transitions);
}

/* Without memory the holder may be reported again. */
static void report_standby(struct leader *l)
{
    const char *holder = lease_seen(l)->holder;

    if (!l->o.on_standby || l->state != LEADER_TRYING || (l->standby && strcmp(l->standby, holder) == 0))
        return;
    free(l->standby);
    l->standby = strdup(holder);
    l->o.on_standby(l->o.ctx, holder);
}

static void on_got(struct leader *l, struct object *o)
{
    bool is_term_over = l->state == LEADER_LEADING && !is_same_term(l, o);

    observe_lease(l, o, now_ns(l));
    if (is_term_over) {
        (void)error_set(&l->trouble, ERR_CONFLICT, "lease lost, it is held by '%s'", lease_seen(l)->holder);
        end_lost(l);
    } else if (lease_seen(l)->holder[0] && !is_ours(l) && seen_is_fresh(l) &&
               !MUTANT("leader-takes-over-at-once")) {
        l->trouble.msg[0] = '\0'; /* held by another instance, as expected */
        report_standby(l);
        on_failed(l);
    } else {
        send_ours(l, STEP_TAKE);
    }
}

/* The lease does not exist. While leading, it is only created again before the deleted one would have
 * expired, because another instance may have led with a new one since. */
static void on_absent(struct leader *l)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(BODY_BYTES_MAX);
    struct lease_record r;

    if (l->state == LEADER_LEADING && !leader_is_valid(l)) {
        (void)error_set(&l->trouble, ERR_NOT_FOUND, "lease does not exist");
        end_lost(l);
        return;
    }
    l->lease = object_unref(l->lease); /* nothing is known of a deleted lease: the expiry starts again */
    r = record_of_ours(l);
    lease_record_write(&r, l->o.ns, l->o.name, &body);
    send_request(l, STEP_CREATE, CLIENT_CREATE, &body);
}

static void on_try_answer(struct leader *l, const struct client_answer *a)
{
    if (l->step == STEP_GET && a->r == -ERR_NOT_FOUND) {
        on_absent(l);
    } else if (a->r < 0 || !a->object) {
        if (a->r < 0)
            l->trouble = a->error;
        else
            (void)error_set(&l->trouble, ERR_INTERNAL, "response contains no lease");
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

/* Starts a try with its first request. */
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

/* --- Releasing --- */

static void release_lease(struct leader *l)
{
    struct lease_record r = lease_record_of(lease_seen(l));

    r.holder = "";
    r.duration_seconds = 1;
    r.acquired = r.renewed = wall_now(l);
    l->releases++;
    send_patch(l, STEP_RELEASE, &r);
}

/* Waits for a write that was in flight at the stop: it may have made this process the holder. */
static void on_release_answer(struct leader *l, const struct client_answer *a)
{
    bool may_be_ours = a->may_have_happened || client_is_conflict(a);

    if (a->r < 0)
        l->trouble = a->error;
    if (a->r == 0 && a->object && l->step != STEP_RELEASE) {
        observe_lease(l, a->object, now_ns(l));
        if (is_ours(l) && l->releases < RELEASE_TRIES_MAX)
            release_lease(l);
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

void leader_stop(struct leader *l)
{
    bool was_leading = l->state == LEADER_LEADING;

    if (l->state == LEADER_RELEASING || l->state == LEADER_OVER)
        return;
    set_state(l, LEADER_RELEASING);
    timer_arm_after(&l->deadline, l->o.renew_ns / 2);
    l->trouble.msg[0] = '\0';
    if (was_leading) {
        /* if the renewal took effect, the release gets a conflict and reads the lease */
        client_cancel(&l->call);
        record_event(l, "stopped leading");
        if (l->lease)
            release_lease(l);
        else
            send_get(l);
    } else if (!client_call_is_active(&l->call) || (l->step != STEP_CREATE && l->step != STEP_TAKE)) {
        client_cancel(&l->call);
        loop_defer(&l->end);
    }
}

/* --- Lifecycle --- */

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
        .help = "1 if this process holds the lease of that name, else 0.",
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

int leader_new(const struct leader_options *o, struct leader **ret, struct error *err)
{
    _cleanup_(leader_free_p) struct leader *l = calloc(1, sizeof *l);
    int r;

    assert(o->identity[0] != '\0'); /* an empty identity means: not held */
    if (!l)
        return error_no_memory(err);
    l->o = *o;
    l->o.lease_ns = o->lease_ns ? o->lease_ns : LEADER_LEASE_NS;
    l->o.renew_ns = o->renew_ns ? o->renew_ns : LEADER_RENEW_NS;
    l->o.retry_ns = o->retry_ns ? o->retry_ns : LEADER_RETRY_NS;
    l->o.wait_ns = o->wait_ns ? o->wait_ns : l->o.retry_ns;
    l->lease_seconds = (int64_t)(l->o.lease_ns / NS_PER_S);
    timer_init(&l->timer, o->loop, on_timer, l);
    timer_init(&l->deadline, o->loop, on_deadline, l);
    deferred_init(&l->end, o->loop, end_released, l);
    rng_init(&l->rng, o->seed);
    r = leader_check_times(o->lease_ns, o->renew_ns, o->retry_ns, err);
    l->arena = ARENA_INIT(TEXTS_BYTES_MAX);
    l->o.ns = arena_dup(&l->arena, str_of(o->ns));
    l->o.name = arena_dup(&l->arena, str_of(o->name));
    l->o.identity = arena_dup(&l->arena, str_of(o->identity));
    if (r == 0)
        r = arena_check(&l->arena, err);
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
    if (l->status)
        metric_set(l->status, 0);
    arena_done(&l->arena);
    free(l->standby);
    free(l);
    return NULL;
}

/* --- Queries --- */

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
    (void)error_set(err, ERR_CANCELLED, "not leader of lease '%s/%s', write refused", l->o.ns, l->o.name);
    return false;
}

const char *leader_holder(const struct leader *l)
{
    return l->lease ? lease_seen(l)->holder : "";
}

const char *leader_last_error(const struct leader *l)
{
    return l->trouble.msg;
}

int leader_check(const struct leader *l, struct error *err)
{
    if (l->state == LEADER_LEADING && now_ns(l) > l->good_until_ns + CHECK_SLACK_NS)
        return error_set(err, ERR_UNAVAILABLE, "failed election to renew leadership on lease %s", l->o.name);
    return 0;
}
