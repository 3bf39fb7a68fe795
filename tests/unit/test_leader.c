/* Leader election: several processes, each with a loop and a clock of its own, on one server.
 *
 * Time passes for all of them in small steps, except for one that stands still. After every step at most one
 * of them may believe that it leads. */
#include "tests/unit/test_served.h"

#include "apiserver/local_client.h"
#include "client/client.h"
#include "machinery/leader.h"

#define RUNNERS_MAX 3
#define STEP_NS (50 * NS_PER_MS)
#define LEASE "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/berth-controllers"
#define HOUR_S 3600

/* What a runner's way to the server does with its requests. */
enum way { WAY_OPEN, WAY_REFUSES, WAY_HANGS, WAY_LOSES_ANSWERS, WAY_IS_SLOW };
#define SLOW_NS (4 * NS_PER_S) /* an answer takes, of the 5 s that it may */

struct link {
    struct client_carrier base;
    struct client_carrier *inner;
    struct loop *loop;
    enum way way;
    struct object *lie; /* what answers hold instead of the truth; NULL: they do not */
    unsigned sent;
};

struct passage {
    struct client_attempt attempt;
    struct client_attempt *outer;
    struct link *link;
    struct deferred refuse;
    struct timer late;
    struct client_answer held;
    struct object *object; /* a reference, for the answer held */
    bool is_with_inner;
};

struct runner {
    struct manual_clock clock;
    struct loop *loop;
    struct link *link;
    struct client *client;
    struct metrics *metrics;
    struct leader *leader;
    unsigned standbys;
    char standby[64];
    bool is_still; /* SIGSTOP */
    unsigned started;
    unsigned stopped;
    bool is_lost;
};

struct race {
    struct served w;
    struct runner runners[RUNNERS_MAX];
};

/* --- The way to the server --- */

static void passage_end(struct passage *p, const struct client_answer *a)
{
    struct client_attempt *outer = p->outer;
    struct object *object = p->object;
    struct client_answer answer = *a;

    loop_undefer(&p->refuse);
    free(p);
    outer->on_end(outer, &answer);
    (void)object_unref(object);
}

static void passage_late(void *ctx)
{
    struct passage *p = ctx;

    passage_end(p, &p->held);
}

static void passage_refuse(void *ctx)
{
    struct client_answer a = { .r = -ERR_UNAVAILABLE, .retry_after_seconds = -1 };

    (void)error_set(&a.error, ERR_UNAVAILABLE, "connection refused");
    passage_end(ctx, &a);
}

static void passage_on_end(struct client_attempt *a, const struct client_answer *answer)
{
    struct passage *p = CONTAINER_OF(a, struct passage, attempt);

    p->is_with_inner = false;
    if (p->link->way == WAY_IS_SLOW) {
        assert_true(answer->r == 0); /* what an error points to would have to be kept, too */
        p->held = *answer;
        p->object = object_ref(answer->object);
        timer_arm_after(&p->late, SLOW_NS);
    } else if (p->link->way != WAY_LOSES_ANSWERS) {
        struct client_answer told = *answer;

        if (p->link->lie && told.object)
            told.object = p->link->lie;
        passage_end(p, &told);
    }
}

static void passage_on_warning(struct client_attempt *a, struct str text)
{
    (void)a;
    (void)text;
}

static void link_start(struct client_carrier *c, struct client_attempt *outer)
{
    struct link *l = CONTAINER_OF(c, struct link, base);
    struct passage *p = calloc(1, sizeof *p);

    assert_non_null(p);
    l->sent++;
    p->outer = outer;
    p->link = l;
    p->attempt = (struct client_attempt){ .request = outer->request,
                                          .on_end = passage_on_end,
                                          .on_warning = passage_on_warning };
    deferred_init(&p->refuse, l->loop, passage_refuse, p);
    timer_init(&p->late, l->loop, passage_late, p);
    outer->work = p;
    if (l->way == WAY_REFUSES) {
        loop_defer(&p->refuse);
    } else if (l->way != WAY_HANGS) {
        p->is_with_inner = true;
        l->inner->type->start(l->inner, &p->attempt);
    }
}

static void link_cancel(struct client_carrier *c, struct client_attempt *outer)
{
    struct link *l = CONTAINER_OF(c, struct link, base);
    struct passage *p = outer->work;

    if (p->is_with_inner)
        l->inner->type->cancel(l->inner, &p->attempt);
    loop_undefer(&p->refuse);
    timer_disarm(&p->late);
    (void)object_unref(p->object);
    free(p);
}

static void link_free(struct client_carrier *c)
{
    struct link *l = CONTAINER_OF(c, struct link, base);

    l->inner->type->free(l->inner);
    free(l);
}

static const struct client_carrier_type link_type = { link_start, link_cancel, link_free };

/* --- The processes --- */

static void on_started(void *ctx)
{
    ((struct runner *)ctx)->started++;
}

static void on_stopped(void *ctx, bool is_lost)
{
    struct runner *p = ctx;

    p->stopped++;
    p->is_lost = is_lost;
}

static void runner_elect(struct runner *p, const char *identity, uint64_t seed)
{
    struct leader_options o = { .loop = p->loop,
                                .clock = &p->clock.clock,
                                .client = p->client,
                                .metrics = p->metrics,
                                .seed = seed,
                                .ns = "kube-system",
                                .name = "berth-controllers",
                                .identity = identity,
                                .on_started = on_started,
                                .on_stopped = on_stopped,
                                .ctx = p };

    ASSERT_OK(leader_new(&o, &p->leader, &err));
}

/* A process whose clocks say what they like; its requests have a limit so that writes can be made to wait. */
static struct runner *runner_init(struct race *r, size_t at, uint64_t mono_s, int64_t real_ahead_s)
{
    static const char *const names[RUNNERS_MAX] = { "a_1", "b_2", "c_3" };
    struct runner *p = &r->runners[at];
    struct link *l = calloc(1, sizeof *l);

    assert_non_null(l);
    manual_clock_init(&p->clock, mono_s * NS_PER_S, r->w.clock.real_ns + real_ahead_s * (int64_t)NS_PER_S);
    ASSERT_OK(loop_new(&p->clock.clock, &p->loop, &err));
    *l = (struct link){ .base = { &link_type }, .loop = p->loop };
    ASSERT_OK(local_client_new(r->w.server, NULL, &l->inner, &err));
    p->link = l;
    ASSERT_OK(
        client_new(&(struct client_options){ .loop = p->loop, .carrier = &l->base, .qps = 0.1, .burst = 1 },
                   &p->client, &err));
    p->metrics = metrics_new((struct hash_seed){ at, 1 });
    assert_non_null(p->metrics);
    runner_elect(p, names[at], at + 1);
    client_set_gate(p->client, leader_gate, p->leader);
    return p;
}

/* kill -9: nothing is said to anybody. */
static void runner_kill(struct runner *p)
{
    uint64_t at_ns;

    p->leader = leader_free(p->leader);
    assert_false(p->loop && (loop_poll(p->loop) || loop_next_timer_ns(p->loop, &at_ns)));
    p->client = client_free(p->client);
    p->metrics = metrics_free(p->metrics);
    p->loop = loop_free(p->loop);
    *p = (struct runner){ 0 };
}

static void race_init(struct race *r)
{
    *r = (struct race){ 0 };
    served_init(&r->w);
}

static void race_done(struct race *r)
{
    for (size_t i = 0; i < RUNNERS_MAX; i++)
        runner_kill(&r->runners[i]);
    served_done(&r->w);
}

static unsigned race_leaders(const struct race *r)
{
    unsigned n = 0;

    for (size_t i = 0; i < RUNNERS_MAX; i++)
        n += r->runners[i].leader && leader_is_valid(r->runners[i].leader);
    return n;
}

/* What has to be said goes back and forth until nobody has more to say: a round that was idle for each in its
 * turn may still have left something for one that had its turn before. */
static void race_settle(struct race *r)
{
    for (unsigned idle = 0; idle < 3; idle++) {
        bool is_busy = loop_poll(r->w.loop);

        for (size_t i = 0; i < RUNNERS_MAX; i++)
            if (r->runners[i].loop && !r->runners[i].is_still)
                is_busy |= loop_poll(r->runners[i].loop);
        assert_true(race_leaders(r) <= 1);
        if (is_busy)
            idle = 0;
    }
}

static void race_pass(struct race *r, uint64_t ns)
{
    for (uint64_t passed = 0; passed < ns; passed += STEP_NS) {
        manual_clock_advance(&r->w.clock, STEP_NS);
        for (size_t i = 0; i < RUNNERS_MAX; i++)
            if (r->runners[i].loop)
                manual_clock_advance(&r->runners[i].clock, STEP_NS);
        race_settle(r);
    }
}

/* How long until the runner leads; fails after a minute. */
static uint64_t race_until_leads(struct race *r, const struct runner *p)
{
    uint64_t began_ns = r->w.clock.mono_ns;

    while (!leader_is_valid(p->leader)) {
        race_pass(r, STEP_NS);
        if (r->w.clock.mono_ns - began_ns > 60 * NS_PER_S)
            fail_msg("nobody takes over");
    }
    return r->w.clock.mono_ns - began_ns;
}

static void race_start(struct race *r, struct runner *p)
{
    leader_start(p->leader);
    race_settle(r);
}

static double status_of(const struct runner *p)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(65536);
    const char *at;

    metrics_write(p->metrics, &out);
    at = strstr(buf_cstr(&out), "leader_election_master_status{name=\"berth-controllers\"} ");
    assert_non_null(at);
    return strtod(strchr(at, '}') + 1, NULL);
}

#define ASSERT_SPEC(r, expected, field)                \
    do {                                               \
        ASSERT_SENT(&(r)->w, 200, "GET", LEASE, NULL); \
        ASSERT_GOT(&(r)->w, expected, "spec/" field);  \
    } while (0)

/* --- Long leases of a process that rests, and their holders --- */

static void on_standby(void *ctx, const char *holder)
{
    struct runner *p = ctx;

    p->standbys++;
    (void)snprintf(p->standby, sizeof p->standby, "%s", holder);
}

static void runner_elect_long(struct runner *p, const char *identity)
{
    struct leader_options o = { .loop = p->loop,
                                .clock = &p->clock.clock,
                                .client = p->client,
                                .seed = 7,
                                .ns = "kube-system",
                                .name = "berth-controllers",
                                .identity = identity,
                                .lease_ns = 180 * NS_PER_S,
                                .renew_ns = 120 * NS_PER_S,
                                .retry_ns = 60 * NS_PER_S,
                                .wait_ns = 5 * NS_PER_S,
                                .on_started = on_started,
                                .on_stopped = on_stopped,
                                .on_standby = on_standby,
                                .ctx = p };

    p->leader = leader_free(p->leader);
    client_set_gate(p->client, NULL, NULL);
    ASSERT_OK(leader_new(&o, &p->leader, &err));
}

/* One write a minute; whoever waits for the lease of another looks every few seconds. */
TEST(long_lease_is_renewed_rarely_and_taken_over_soon)
{
    _cleanup_(race_done) struct race r;
    struct runner *a, *b;
    uint64_t next;

    race_init(&r);
    a = runner_init(&r, 0, 500, 0);
    race_start(&r, a);
    b = runner_init(&r, 1, 10, 0);
    runner_elect_long(b, "b_2");
    race_start(&r, b);
    race_pass(&r, 60 * NS_PER_S);
    ASSERT_INT(1, b->standbys); /* told once, not at every look */
    ASSERT_STR("a_1", b->standby);
    runner_kill(a);
    assert_true(race_until_leads(&r, b) <= LEADER_LEASE_NS + 11 * NS_PER_S + 2 * STEP_NS);
    assert_true(loop_next_timer_ns(b->loop, &next));
    ASSERT_INT(60, (next - b->clock.mono_ns + NS_PER_S / 2) / NS_PER_S);
    race_pass(&r, 600 * NS_PER_S);
    ASSERT_INT(1, b->started);
    ASSERT_INT(0, b->stopped);
}

/* A process that starts again under its own name has nothing to wait for. */
TEST(same_identity_takes_its_lease_over_at_once)
{
    _cleanup_(race_done) struct race r;
    struct runner *a;

    race_init(&r);
    a = runner_init(&r, 0, 500, 0);
    runner_elect_long(a, "same");
    race_start(&r, a);
    ASSERT_INT(1, a->started);
    runner_elect_long(a, "same");
    race_start(&r, a);
    ASSERT_INT(2, a->started);
    ASSERT_INT(0, a->standbys);
}

/* The owner of a lost lease stands for election again, in the same process. */
TEST(lost_lease_can_be_won_again)
{
    _cleanup_(race_done) struct race r;
    struct runner *a;

    race_init(&r);
    a = runner_init(&r, 0, 500, 0);
    runner_elect_long(a, "a_1");
    race_start(&r, a);
    ASSERT_SENT(&r.w, 200, "MERGE", LEASE, "{'spec':{'holderIdentity':'stock','leaseDurationSeconds':15}}");
    race_pass(&r, 61 * NS_PER_S);
    ASSERT_INT(1, a->stopped);
    assert_true(a->is_lost);
    runner_elect_long(a, "a_1");
    race_start(&r, a);
    ASSERT_INT(1, a->standbys);
    race_pass(&r, 30 * NS_PER_S);
    ASSERT_INT(2, a->started);
}

/* --- Scenarios --- */

/* machinery-47 */
TEST(fresh_lease_is_created_and_renewed)
{
    _cleanup_(race_done) struct race r;
    struct runner *a;

    race_init(&r);
    a = runner_init(&r, 0, 500, 0);
    ASSERT_STR("", leader_holder(a->leader));
    ASSERT_INT(LEADER_IDLE, leader_state(a->leader));
    race_start(&r, a);
    ASSERT_INT(1, a->started);
    ASSERT_INT(LEADER_LEADING, leader_state(a->leader));
    ASSERT_STR("a_1", leader_holder(a->leader));
    assert_true(status_of(a) > 0);
    ASSERT_SENT(&r.w, 200, "GET", LEASE, NULL);
    ASSERT_GOT(
        &r.w,
        "{'holderIdentity':'a_1','leaseDurationSeconds':15,'acquireTime':'2023-11-14T22:13:20.000000Z',"
        "'renewTime':'2023-11-14T22:13:20.000000Z','leaseTransitions':0}",
        "spec");
    ASSERT_INT(2, a->link->sent); /* the read that found nothing, and the write */
    race_pass(&r, 20 * NS_PER_S);
    ASSERT_INT(12, a->link->sent); /* one request a renewal */
    ASSERT_SPEC(&r, "2023-11-14T22:13:40.000000Z", "renewTime");
    ASSERT_GOT(&r.w, "2023-11-14T22:13:20.000000Z", "spec/acquireTime");
    ASSERT_GOT(&r.w, "0", "spec/leaseTransitions");
    ASSERT_INT(1, a->started);
    ASSERT_INT(0, a->stopped);
    ASSERT_STR("", leader_last_error(a->leader));
    ASSERT_OK(leader_check(a->leader, &err));
}

/* machinery-48: three processes, the one that leads is killed. */
TEST(killed_holder_is_succeeded)
{
    for (uint64_t wait_s = 0; wait_s < 8; wait_s++) {
        _cleanup_(race_done) struct race r;
        struct runner *b;
        uint64_t took_ns;

        race_init(&r);
        race_start(&r, runner_init(&r, 0, 500, 0));
        b = runner_init(&r, 1, 90000, 0);
        race_start(&r, b);
        race_pass(&r, 10 * NS_PER_S + wait_s * 300 * NS_PER_MS);
        ASSERT_INT(LEADER_TRYING, leader_state(b->leader));
        ASSERT_STR("a_1", leader_holder(b->leader));
        assert_true(status_of(b) == 0);
        runner_kill(&r.runners[0]);
        took_ns = race_until_leads(&r, b);
        /* It saw the last change up to 4.4 s after it was made, or had just seen the one before. */
        assert_true(took_ns > 15 * NS_PER_S - 2 * NS_PER_S);
        assert_true(took_ns <= 15 * NS_PER_S + 8800 * NS_PER_MS + STEP_NS);
        ASSERT_SPEC(&r, "b_2", "holderIdentity");
        ASSERT_GOT(&r.w, "1", "spec/leaseTransitions");
        ASSERT_STR(got(&r.w, "spec/renewTime"), got(&r.w, "spec/acquireTime"));
        ASSERT_INT(1, b->started);
    }
}

/* machinery-48, counted as the spec has it: from what the successor saw itself. */
TEST(takeover_comes_after_the_whole_lease_and_at_most_two_tries)
{
    _cleanup_(race_done) struct race r;
    struct runner *b;
    uint64_t took_ns;

    race_init(&r);
    race_start(&r, runner_init(&r, 0, 500, 0));
    runner_kill(&r.runners[0]);
    b = runner_init(&r, 1, 90000, 0);
    race_start(&r, b); /* sees it now, and it never changes again */
    took_ns = race_until_leads(&r, b);
    assert_true(took_ns >= 15 * NS_PER_S);
    assert_true(took_ns <= 15 * NS_PER_S + 4400 * NS_PER_MS + STEP_NS);
}

/* machinery-49 */
TEST(clock_that_is_ahead_steals_nothing)
{
    _cleanup_(race_done) struct race r;
    struct runner *ahead, *behind;

    race_init(&r);
    race_start(&r, runner_init(&r, 0, 500, 0));
    ahead = runner_init(&r, 1, 3, HOUR_S);
    behind = runner_init(&r, 2, 70000, -HOUR_S);
    race_start(&r, ahead);
    race_start(&r, behind);
    race_pass(&r, 120 * NS_PER_S);
    ASSERT_INT(0, ahead->started);
    ASSERT_INT(0, behind->started);
    ASSERT_SPEC(&r, "a_1", "holderIdentity");
    ASSERT_GOT(&r.w, "0", "spec/leaseTransitions");
}

/* machinery-50 */
TEST(old_lease_is_waited_for_all_the_same)
{
    _cleanup_(race_done) struct race r;
    struct runner *b;

    race_init(&r);
    ASSERT_SENT(&r.w, 201, "POST", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases",
                "{'metadata':{'name':'berth-controllers'},'spec':{'holderIdentity':'x_9',"
                "'leaseDurationSeconds':15,'acquireTime':'2023-11-14T20:00:00.000000Z',"
                "'renewTime':'2023-11-14T21:13:20.000000Z','leaseTransitions':4}}");
    b = runner_init(&r, 1, 90000, 0);
    race_start(&r, b);
    ASSERT_STR("x_9", leader_holder(b->leader));
    race_pass(&r, 14900 * NS_PER_MS);
    ASSERT_INT(0, b->started);
    (void)race_until_leads(&r, b);
    ASSERT_SPEC(&r, "5", "leaseTransitions");
}

/* machinery-51 */
TEST(clean_stop_hands_over)
{
    _cleanup_(race_done) struct race r;
    struct runner *a, *b;

    race_init(&r);
    a = runner_init(&r, 0, 500, 0);
    b = runner_init(&r, 1, 90000, 0);
    race_start(&r, a);
    race_start(&r, b);
    race_pass(&r, 7 * NS_PER_S);
    leader_stop(a->leader);
    assert_false(leader_is_valid(a->leader));
    race_settle(&r);
    ASSERT_INT(1, a->stopped);
    assert_false(a->is_lost);
    ASSERT_STR("", leader_last_error(a->leader));
    ASSERT_INT(LEADER_OVER, leader_state(a->leader));
    assert_true(status_of(a) == 0);
    ASSERT_SENT(&r.w, 200, "GET", LEASE, NULL);
    ASSERT_GOT(&r.w,
               "{'holderIdentity':'','leaseDurationSeconds':1,'acquireTime':'2023-11-14T22:13:27.000000Z',"
               "'renewTime':'2023-11-14T22:13:27.000000Z','leaseTransitions':0}",
               "spec");
    assert_true(race_until_leads(&r, b) <= 4400 * NS_PER_MS + STEP_NS);
    ASSERT_SPEC(&r, "1", "leaseTransitions");
    leader_stop(a->leader);
    race_pass(&r, NS_PER_S);
    ASSERT_INT(1, a->stopped);
}

/* machinery-52: refused and silent servers alike. */
TEST(unreachable_server_ends_the_term)
{
    for (enum way way = WAY_REFUSES; way <= WAY_HANGS; way++) {
        _cleanup_(race_done) struct race r;
        struct runner *a;

        race_init(&r);
        a = runner_init(&r, 0, 500, 0);
        race_start(&r, a);
        a->link->way = way;
        race_pass(&r, 11900 * NS_PER_MS);
        ASSERT_INT(0, a->stopped);
        assert_true(leader_last_error(a->leader)[0] != '\0' || way == WAY_HANGS);
        race_pass(&r, 100 * NS_PER_MS);
        ASSERT_INT(1, a->stopped);
        assert_true(a->is_lost);
        assert_false(leader_is_valid(a->leader));
        assert_true(leader_last_error(a->leader)[0] != '\0');
        a->link->way = WAY_OPEN;
        a->link->sent = 0;
        race_pass(&r, 60 * NS_PER_S);
        ASSERT_INT(0, a->link->sent); /* no second term */
        ASSERT_INT(1, a->started);
        ASSERT_INT(1, a->stopped);
        ASSERT_SPEC(&r, "a_1", "holderIdentity");
    }
}

/* A request that is under way at the deadline changes nothing. */
TEST(deadline_does_not_wait_for_answers)
{
    _cleanup_(race_done) struct race r;
    struct runner *a;

    race_init(&r);
    a = runner_init(&r, 0, 500, 0);
    race_start(&r, a);
    a->link->way = WAY_REFUSES;
    race_pass(&r, 5 * NS_PER_S);
    a->link->way = WAY_HANGS;
    race_pass(&r, 6900 * NS_PER_MS);
    ASSERT_INT(0, a->stopped);
    race_pass(&r, 100 * NS_PER_MS);
    ASSERT_INT(1, a->stopped);
    assert_true(a->is_lost);
}

/* A shorter failure is got over, and so is one that eats the answers of writes that were made. */
TEST(failures_within_the_deadline_are_got_over)
{
    for (enum way way = WAY_REFUSES; way <= WAY_LOSES_ANSWERS; way++) {
        _cleanup_(race_done) struct race r;
        struct runner *a;

        race_init(&r);
        a = runner_init(&r, 0, 500, 0);
        race_start(&r, a);
        a->link->way = way;
        race_pass(&r, 6 * NS_PER_S);
        a->link->way = WAY_OPEN;
        race_pass(&r, 30 * NS_PER_S);
        ASSERT_INT(LEADER_LEADING, leader_state(a->leader));
        ASSERT_INT(1, a->started);
        ASSERT_SPEC(&r, "0", "leaseTransitions");
        assert_true(leader_is_valid(a->leader));
    }
}

static void on_write(void *ctx, const struct client_answer *a)
{
    *(int *)ctx = a->r;
}

static void write_map(struct runner *p, struct client_call *call, const char *name, int *ret)
{
    char body[100];

    (void)snprintf(body, sizeof body, "{\"metadata\":{\"name\":\"%s\"}}", name);
    client_send(p->client, call,
                &(struct client_request){ .verb = CLIENT_CREATE,
                                          .kind = kind_info(KIND_CONFIG_MAP),
                                          .ns = "default",
                                          .body = str_of(body) },
                on_write, ret);
}

/* machinery-53: one write leaves, one waits for the limit while the process stands still. */
TEST(writes_of_an_old_term_are_dropped)
{
    _cleanup_(race_done) struct race r;
    struct client_call calls[2] = { 0 };
    struct runner *a, *b;
    int first = 1, second = 1;

    race_init(&r);
    a = runner_init(&r, 0, 500, 0);
    b = runner_init(&r, 1, 90000, 0);
    race_start(&r, a);
    race_start(&r, b);
    write_map(a, &calls[0], "one", &first);
    write_map(a, &calls[1], "two", &second);
    race_settle(&r);
    ASSERT_INT(0, first);
    ASSERT_INT(1, second);
    a->is_still = true;
    race_pass(&r, 60 * NS_PER_S);
    ASSERT_INT(1, b->started);
    assert_false(leader_is_valid(a->leader)); /* before any of its timers fired */
    assert_true(leader_is_valid(b->leader));
    ASSERT_ERR(ERR_UNAVAILABLE, leader_check(a->leader, &err));
    ASSERT_STR("failed election to renew leadership on lease berth-controllers", err.msg);
    a->is_still = false;
    race_settle(&r);
    ASSERT_INT(-ERR_CANCELLED, second);
    ASSERT_SENT(&r.w, 200, "GET", MAPS "/one", NULL);
    ASSERT_SENT(&r.w, 404, "GET", MAPS "/two", NULL);
    race_pass(&r, NS_PER_S);
    ASSERT_INT(1, a->stopped);
    assert_true(a->is_lost);
    ASSERT_STR("lease lost, it is held by 'b_2'", leader_last_error(a->leader));
    ASSERT_SPEC(&r, "b_2", "holderIdentity");
    ASSERT_OK(leader_check(a->leader, &err));
}

static void stand_still_inside(void *ctx)
{
    struct runner *p = ctx;

    assert_true(leader_is_valid(p->leader));
    assert_true(leader_gate(p->leader, &err));
    manual_clock_advance(&p->clock, 14900 * NS_PER_MS);
    assert_true(leader_is_valid(p->leader));
    manual_clock_advance(&p->clock, 100 * NS_PER_MS);
    assert_false(leader_is_valid(p->leader));
    assert_false(leader_gate(p->leader, &err));
    ASSERT_STR("not leader of lease 'kube-system/berth-controllers', write refused", err.msg);
    manual_clock_advance(&p->clock, 20 * NS_PER_S);
    ASSERT_OK(leader_check(p->leader, &err));
    manual_clock_advance(&p->clock, 1);
    ASSERT_ERR(ERR_UNAVAILABLE, leader_check(p->leader, &err));
}

/* In the middle of a callback, with the turn's time long past. */
TEST(validity_is_of_this_very_moment)
{
    _cleanup_(race_done) struct race r;
    struct deferred d;
    struct runner *a;

    race_init(&r);
    a = runner_init(&r, 0, 500, 0);
    race_start(&r, a);
    deferred_init(&d, a->loop, stand_still_inside, a);
    loop_defer(&d);
    (void)loop_poll(a->loop);
}

/* Nobody else led meanwhile: the lease proves it, and the term goes on. */
TEST(pause_that_nobody_used_is_forgiven)
{
    _cleanup_(race_done) struct race r;
    struct runner *a;

    race_init(&r);
    a = runner_init(&r, 0, 500, 0);
    race_start(&r, a);
    race_pass(&r, NS_PER_S);
    a->is_still = true;
    race_pass(&r, 60 * NS_PER_S);
    assert_false(leader_is_valid(a->leader));
    a->is_still = false;
    race_settle(&r);
    assert_true(leader_is_valid(a->leader));
    ASSERT_INT(1, a->started);
    ASSERT_INT(0, a->stopped);
    ASSERT_SPEC(&r, "0", "leaseTransitions");
}

/* What others saw at once we heard of 4 s later: our trust ends when theirs does, not 4 s after. */
TEST(late_answers_make_the_lease_no_longer)
{
    for (unsigned seed = 0; seed < 10; seed++) {
        _cleanup_(race_done) struct race r;
        struct runner *a, *b;

        race_init(&r);
        a = runner_init(&r, 0, 500, 0);
        b = runner_init(&r, 1, 90000 + seed, 0);
        race_start(&r, a);
        race_pass(&r, seed * (200 * NS_PER_MS));
        race_start(&r, b);
        race_pass(&r, 1950 * NS_PER_MS - seed * (200 * NS_PER_MS));
        a->link->way = WAY_IS_SLOW;
        race_pass(&r, 50 * NS_PER_MS); /* the renewal goes out, and is seen */
        ASSERT_INT(3, a->link->sent);
        a->link->way = WAY_REFUSES;
        race_pass(&r, 14900 * NS_PER_MS);
        assert_true(leader_is_valid(a->leader));
        race_pass(&r, 100 * NS_PER_MS);
        assert_false(leader_is_valid(a->leader));
        ASSERT_INT(LEADER_LEADING, leader_state(a->leader)); /* and still trying */
        (void)race_until_leads(&r, b);
        race_pass(&r, NS_PER_S);
        ASSERT_INT(1, a->stopped);
    }
}

/* machinery-54 */
TEST(edited_lease_is_kept)
{
    _cleanup_(race_done) struct race r;
    struct runner *a;

    race_init(&r);
    a = runner_init(&r, 0, 500, 0);
    race_start(&r, a);
    race_pass(&r, NS_PER_S);
    ASSERT_SENT(&r.w, 200, "MERGE", LEASE, "{'metadata':{'labels':{'team':'storage'}}}");
    a->link->sent = 0;
    race_pass(&r, 1500 * NS_PER_MS);
    ASSERT_INT(3, a->link->sent); /* the conflict, a read, the write */
    ASSERT_INT(LEADER_LEADING, leader_state(a->leader));
    ASSERT_SPEC(&r, "a_1", "holderIdentity");
    ASSERT_GOT(&r.w, "storage", "metadata/labels/team");
    ASSERT_GOT(&r.w, "2023-11-14T22:13:22.000000Z", "spec/renewTime");
    race_pass(&r, 2 * NS_PER_S);
    ASSERT_INT(4, a->link->sent);
}

/* machinery-55 */
TEST(times_that_do_not_fit)
{
    static const struct {
        uint64_t lease_ms, renew_ms, retry_ms;
        const char *words;
    } rows[] = {
        { 10000, 10000, 2000, "leaseDuration must be greater than renewDeadline" },
        { 9999, 0, 0, "leaseDuration must be greater than renewDeadline" },
        { 0, 15000, 0, "leaseDuration must be greater than renewDeadline" },
        { 15000, 10000, 8334, "renewDeadline must be greater than retryPeriod*JitterFactor" },
        { 15000, 12000, 10000, "renewDeadline must be greater than retryPeriod*JitterFactor" },
        { 0, 2000, 0, "renewDeadline must be greater than retryPeriod*JitterFactor" },
        { 999, 500, 100, "leaseDuration must be a second or more, and fit in 32 bits" },
        { 2147483648000, 500, 100, "leaseDuration must be a second or more, and fit in 32 bits" },
        { 15000, 10000, 8333, NULL },
        { 1000, 999, 1, NULL },
        { 0, 0, 0, NULL },
    };
    struct leader_options o = { .ns = "n", .name = "l", .identity = "i" };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct leader *l = NULL;
        int got_r;

        o.lease_ns = rows[i].lease_ms * NS_PER_MS;
        o.renew_ns = rows[i].renew_ms * NS_PER_MS;
        o.retry_ns = rows[i].retry_ms * NS_PER_MS;
        got_r = leader_new(&o, &l, &err);
        if (rows[i].words) {
            ASSERT_INT(-ERR_INVALID, got_r);
            ASSERT_STR(rows[i].words, err.msg);
            assert_null(l);
        } else {
            ASSERT_OK(got_r);
        }
        (void)leader_free(l);
    }
}

/* --- Besides --- */

/* Somebody deletes the lease: while ours is good it is made again. */
TEST(deleted_lease_is_made_again)
{
    _cleanup_(race_done) struct race r;
    struct runner *a;

    race_init(&r);
    a = runner_init(&r, 0, 500, 0);
    race_start(&r, a);
    race_pass(&r, NS_PER_S);
    ASSERT_SENT(&r.w, 200, "DELETE", LEASE, NULL);
    race_pass(&r, 3 * NS_PER_S);
    ASSERT_SPEC(&r, "a_1", "holderIdentity");
    ASSERT_INT(1, a->started);
    ASSERT_INT(LEADER_LEADING, leader_state(a->leader));
    /* But not by one who stood still: others may have come and gone with a lease of their own. */
    a->is_still = true;
    ASSERT_SENT(&r.w, 200, "DELETE", LEASE, NULL);
    race_pass(&r, 60 * NS_PER_S);
    a->is_still = false;
    race_settle(&r);
    ASSERT_INT(1, a->stopped);
    assert_true(a->is_lost);
    ASSERT_SENT(&r.w, 404, "GET", LEASE, NULL);
}

/* The lease names another, or another term: whoever wrote that, we do not lead any more. */
TEST(lease_taken_away_ends_the_term)
{
    static const char *const rows[] = { "{'spec':{'holderIdentity':'x_9'}}", "{'spec':{'holderIdentity':''}}",
                                        "{'spec':{'leaseTransitions':7}}" };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(race_done) struct race r;
        struct runner *a;

        race_init(&r);
        a = runner_init(&r, 0, 500, 0);
        race_start(&r, a);
        race_pass(&r, NS_PER_S);
        ASSERT_SENT(&r.w, 200, "MERGE", LEASE, rows[i]);
        race_pass(&r, 2 * NS_PER_S);
        ASSERT_INT(1, a->stopped);
        assert_true(a->is_lost);
    }
}

/* Numbers that no election writes. */
TEST(strange_leases_are_borne)
{
    static const struct {
        const char *spec;
        const char *transitions;
    } rows[] = {
        { "{}", "1" },
        { "{'holderIdentity':'x','leaseDurationSeconds':1,'leaseTransitions':2147483647}", "2147483647" },
        { "{'holderIdentity':'x'}", "1" },
        { "{'leaseDurationSeconds':2147483647,'leaseTransitions':0}", "1" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(race_done) struct race r;
        struct runner *a;
        char body[300];

        race_init(&r);
        (void)snprintf(body, sizeof body, "{'metadata':{'name':'berth-controllers'},'spec':%s}",
                       rows[i].spec);
        ASSERT_SENT(&r.w, 201, "POST", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases", body);
        a = runner_init(&r, 0, 500, 0);
        race_start(&r, a);
        assert_true(race_until_leads(&r, a) < 6 * NS_PER_S);
        ASSERT_SPEC(&r, rows[i].transitions, "leaseTransitions");
    }
}

/* A holder that never dies by its own word is believed. */
TEST(long_lease_is_respected)
{
    _cleanup_(race_done) struct race r;
    struct runner *a;

    race_init(&r);
    ASSERT_SENT(&r.w, 201, "POST", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases",
                "{'metadata':{'name':'berth-controllers'},'spec':{'holderIdentity':'x',"
                "'leaseDurationSeconds':2147483647}}");
    a = runner_init(&r, 0, 500, 0);
    race_start(&r, a);
    race_pass(&r, 100 * NS_PER_S);
    ASSERT_INT(0, a->started);
}

/* The write that made us the holder was answered to nobody: the next try finds out. */
TEST(lost_answers_do_not_lose_the_lease)
{
    _cleanup_(race_done) struct race r;
    struct runner *a;

    race_init(&r);
    a = runner_init(&r, 0, 500, 0);
    leader_start(a->leader);
    while (a->link->sent < 2) /* its write is on the way */
        (void)loop_poll(r.w.loop);
    a->link->way = WAY_LOSES_ANSWERS;
    race_pass(&r, 4 * NS_PER_S);
    ASSERT_SPEC(&r, "a_1", "holderIdentity");
    race_pass(&r, 4 * NS_PER_S);
    ASSERT_INT(0, a->started);
    a->link->way = WAY_OPEN;
    (void)race_until_leads(&r, a);
    ASSERT_SPEC(&r, "0", "leaseTransitions");
}

/* Stopped at moments when there is nothing to give back, or nobody to give it to. */
TEST(stops_at_any_moment)
{
    _cleanup_(race_done) struct race r;
    struct runner *a, *b, *c;

    race_init(&r);
    a = runner_init(&r, 0, 500, 0);
    leader_stop(a->leader);
    runner_kill(&r.runners[0]); /* before it is told: nobody hears of it */

    a = runner_init(&r, 0, 500, 0);
    leader_stop(a->leader);    /* never started */
    ASSERT_INT(0, a->stopped); /* told on the loop */
    race_settle(&r);
    ASSERT_INT(1, a->stopped);
    assert_false(a->is_lost);

    b = runner_init(&r, 1, 500, 0);
    leader_start(b->leader);
    leader_stop(b->leader); /* its first read is on the way */
    race_settle(&r);
    ASSERT_INT(1, b->stopped);
    ASSERT_INT(0, b->started);
    ASSERT_SENT(&r.w, 404, "GET", LEASE, NULL);

    c = runner_init(&r, 2, 500, 0);
    leader_start(c->leader);
    while (c->link->sent < 2) /* its write is on the way */
        (void)loop_poll(r.w.loop);
    leader_stop(c->leader);
    race_settle(&r);
    ASSERT_INT(1, c->stopped);
    ASSERT_INT(0, c->started);
    ASSERT_SPEC(&r, "", "holderIdentity");
}

/* A release that does not get through is given up in time, and says so. */
TEST(release_is_given_up)
{
    static const struct {
        enum way way;
        uint64_t ms;
    } rows[] = { { WAY_REFUSES, 50 }, { WAY_HANGS, 5000 }, { WAY_LOSES_ANSWERS, 5000 } };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(race_done) struct race r;
        struct runner *a;

        race_init(&r);
        a = runner_init(&r, 0, 500, 0);
        race_start(&r, a);
        race_pass(&r, NS_PER_S);
        a->link->way = rows[i].way;
        leader_stop(a->leader);
        race_pass(&r, rows[i].ms * NS_PER_MS);
        ASSERT_INT(1, a->stopped);
        assert_false(a->is_lost);
        assert_true(leader_last_error(a->leader)[0] != '\0');
    }
}

/* A renewal is on its way when the stop comes: the release meets its effect and looks again. */
TEST(release_meets_a_renewal)
{
    _cleanup_(race_done) struct race r;
    struct runner *a;

    race_init(&r);
    a = runner_init(&r, 0, 500, 0);
    race_start(&r, a);
    ASSERT_SENT(&r.w, 200, "MERGE", LEASE, "{'metadata':{'labels':{'a':'b'}}}");
    a->link->sent = 0;
    leader_stop(a->leader);
    race_settle(&r);
    ASSERT_INT(3, a->link->sent);
    ASSERT_INT(1, a->stopped);
    ASSERT_SPEC(&r, "", "holderIdentity");
    ASSERT_STR("", leader_last_error(a->leader));
}

/* Another has it by now: what is not ours is not given back. */
TEST(release_leaves_what_is_not_ours)
{
    _cleanup_(race_done) struct race r;
    struct runner *a;

    race_init(&r);
    a = runner_init(&r, 0, 500, 0);
    race_start(&r, a);
    ASSERT_SENT(&r.w, 200, "MERGE", LEASE, "{'spec':{'holderIdentity':'x_9'}}");
    leader_stop(a->leader);
    race_settle(&r);
    ASSERT_INT(1, a->stopped);
    assert_false(a->is_lost);
    ASSERT_SPEC(&r, "x_9", "holderIdentity");
}

/* The process stood still between its write and the answer: the lease it won has run out. */
TEST(term_that_is_over_before_it_begins)
{
    _cleanup_(race_done) struct race r;
    struct runner *a;

    race_init(&r);
    a = runner_init(&r, 0, 500, 0);
    leader_start(a->leader);
    while (a->link->sent < 2)
        (void)loop_poll(r.w.loop);
    manual_clock_advance(&a->clock, 15 * NS_PER_S);
    while (a->link->sent == 2 && leader_last_error(a->leader)[0] == '\0')
        (void)loop_poll(r.w.loop);
    ASSERT_STR("response arrived after the lease expired", leader_last_error(a->leader));
    ASSERT_INT(0, a->started);
    (void)race_until_leads(&r, a);
    ASSERT_SPEC(&r, "0", "leaseTransitions");
}

/* A server that says yes and stores something else. */
TEST(lease_that_is_not_what_was_sent)
{
    _cleanup_(race_done) struct race r;
    _cleanup_(object_unref_p) struct object *lie = NULL;
    _cleanup_(json_done_p) struct json scratch;
    struct runner *a;

    json_init(&scratch, 65536);
    ASSERT_OK(object_decode(kind_info(KIND_LEASE),
                            str_of("{\"metadata\":{\"name\":\"berth-controllers\"},"
                                   "\"spec\":{\"holderIdentity\":\"x_9\"}}"),
                            &scratch, &lie, &err));
    race_init(&r);
    a = runner_init(&r, 0, 500, 0);
    a->link->lie = lie;
    race_start(&r, a);
    ASSERT_INT(2, a->link->sent);
    ASSERT_INT(0, a->started);
    ASSERT_STR("server stored a different holder than requested", leader_last_error(a->leader));
    a->link->lie = NULL;
    (void)race_until_leads(&r, a);
}

/* Three take turns for a while, each killed or stopped in turn; race_settle() watches that never two lead. */
TEST(many_terms)
{
    _cleanup_(race_done) struct race r;
    unsigned terms = 0;

    race_init(&r);
    for (size_t i = 0; i < RUNNERS_MAX; i++)
        race_start(&r, runner_init(&r, i, 100 * i + 1, (int64_t)i * 1000 - 500));
    for (unsigned round = 0; round < 24; round++) {
        size_t at = round % RUNNERS_MAX;
        uint64_t began_ns = r.w.clock.mono_ns;

        if (round % 2)
            runner_kill(&r.runners[at]);
        else
            leader_stop(r.runners[at].leader);
        race_pass(&r, (500 + round * 613 % 3000) * NS_PER_MS);
        runner_kill(&r.runners[at]);
        race_start(&r, runner_init(&r, at, 7 * round + 1, 0));
        while (race_leaders(&r) == 0) {
            race_pass(&r, STEP_NS);
            assert_true(r.w.clock.mono_ns - began_ns < 60 * NS_PER_S);
        }
        terms++;
    }
    ASSERT_INT(24, terms);
}

TEST_MAIN()
