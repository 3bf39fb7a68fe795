/* The world: who gets to run next, how time passes, what goes wrong on a larger scale.
 *
 * A step is one delivery, one turn of one loop, or a leap of time to the next moment at which anything is
 * due. Nothing else moves. */
#include "sim/world.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apiserver/authenticate.h"
#include "apiserver/local_client.h"
#include "apiserver/store_facts.h"
#include "client/request.h"
#include "machinery/metrics.h"

#define START_NS NS_PER_S
#define START_REAL_NS (INT64_C(1800000000) * (int64_t)NS_PER_S)
/* After the healing everything must be well within this, and stay so for a while. */
#define SETTLE_NS (1800 * NS_PER_S)
#define QUIET_NS (700 * NS_PER_S)
/* In one second of virtual time: far above the busiest, and soon reached by whoever runs on the spot. */
#define SECOND_STEPS_MAX 2500

void *sim_alloc(size_t bytes)
{
    void *p = calloc(1, bytes);

    if (!p)
        abort();
    return p;
}

/* What cannot fail but for lack of memory. */
static void must(int r, const struct error *err)
{
    if (r == 0)
        return;
    (void)fprintf(stderr, "berth: sim: %s\n", err->msg);
    abort();
}

/* --- Words --- */

void sim_trace(struct sim *s, const char *fmt, ...)
{
    char line[2 * TRACE_LINE_BYTES];
    int at = snprintf(line, sizeof line, "%u %" PRIu64 ".%06" PRIu64 " ", s->step, s->now_ns / NS_PER_S,
                      s->now_ns % NS_PER_S / NS_PER_US);
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(line + at, sizeof line - (size_t)at, fmt, args);
    va_end(args);
    trace_add(&s->trace, line);
}

void sim_fail(struct sim *s, const char *fmt, ...)
{
    char text[ERROR_MSG_BYTES_MAX];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    sim_trace(s, "WRONG: %s", text);
    if (s->has_failed)
        return;
    s->has_failed = true;
    (void)error_set(&s->failure, ERR_INTERNAL, "%s", text);
}

bool sim_may_fault(const struct sim *s, enum sim_fault f)
{
    return !s->is_healed && (s->options.faults & (1U << f));
}

bool sim_has_fault(struct sim *s, struct rng *r, enum sim_fault f, unsigned percent)
{
    /* The dice are thrown either way: leaving out a fault shifts nothing but what it did. */
    bool is_drawn = rng_chance(r, percent);

    if (!is_drawn || !sim_may_fault(s, f))
        return false;
    s->faults_made++;
    return true;
}

/* --- The server --- */

static void server_start(struct sim *s)
{
    struct sim_server *v = &s->server;
    struct apiserver_options o = { .loop = v->loop,
                                   .clock = &v->clock.clock,
                                   .store = v->store,
                                   .authenticator = v->authenticator,
                                   .seed = s->options.seed + ++v->starts,
                                   .address = "sim",
                                   .event_ttl_seconds = 3600 };
    struct error err;

    v->metrics = metrics_new((struct hash_seed){ 1, s->options.seed });
    if (!v->metrics)
        abort();
    o.metrics = v->metrics;
    must(apiserver_new(&o, &v->api, &err), &err);
    must(local_client_new(v->api, NULL, &v->carrier, &err), &err);
    v->starts_ns = 0;
    v->has_work = true;
    sim_trace(s, "server starts");
}

/* What it has taken in it carries out, but nobody hears of it. */
static void server_stop(struct sim *s)
{
    struct sim_server *v = &s->server;

    if (!v->api)
        return;
    sim_trace(s, "server stops");
    network_lose_server(&s->network);
    while (loop_poll(v->loop))
        ;
    v->carrier->type->free(v->carrier);
    v->carrier = NULL;
    v->api = apiserver_free(v->api);
    v->metrics = metrics_free(v->metrics);
}

static void server_init(struct sim *s)
{
    struct sim_server *v = &s->server;
    struct store_options o = { .history_count = SIM_HISTORY_COUNT };
    struct authenticator_options a = { .clock = &v->clock.clock, .is_insecure = true };
    struct error err;

    manual_clock_init(&v->clock, s->now_ns, START_REAL_NS);
    must(loop_new(&v->clock.clock, &v->loop, &err), &err);
    must(store_open_memory(v->loop, &o, &v->store, &err), &err);
    a.facts = store_facts(v->store);
    must(authenticator_new(&a, &v->authenticator, &err), &err);
    server_start(s);
}

static void server_done(struct sim *s)
{
    struct sim_server *v = &s->server;

    server_stop(s);
    v->store = store_free(v->store);
    v->authenticator = authenticator_free(v->authenticator);
    v->loop = loop_free(v->loop);
}

/* --- Processes --- */

bool sim_process_is_live(const struct sim_process *p)
{
    return p->state && p->resumes_ns <= p->sim->now_ns;
}

static void process_start(struct sim_process *p)
{
    struct sim *s = p->sim;
    struct client_options o = { 0 };
    struct error err;

    sim_trace(s, "%s starts", p->program->name);
    p->starts++;
    p->starts_ns = 0;
    p->resumes_ns = 0;
    p->seed = rng_u64(&s->schedule);
    must(loop_new(&p->clock.clock, &p->loop, &err), &err);
    p->link = network_link(&s->network, p);
    o.loop = p->loop;
    o.carrier = &p->link->carrier;
    must(client_new(&o, &p->client, &err), &err);
    p->state = p->program->start(p, p->ctx);
    p->has_work = true;
}

static void process_kill(struct sim_process *p)
{
    if (!p->state)
        return;
    sim_trace(p->sim, "%s is killed", p->program->name);
    p->program->kill(p->state);
    p->state = NULL;
    host_lose_process(&p->sim->host, p);
    p->client = client_free(p->client);
    p->link = NULL; /* the client's */
    p->loop = loop_free(p->loop);
    p->has_work = false;
}

struct sim_process *sim_spawn(struct sim *s, const struct sim_program *program, void *ctx)
{
    struct sim_process *p = &s->processes[s->processes_count++];

    assert(s->processes_count <= SIM_PROCESSES_MAX);
    *p = (struct sim_process){ .sim = s, .program = program, .ctx = ctx };
    manual_clock_init(&p->clock, s->now_ns, START_REAL_NS);
    process_start(p);
    return p;
}

void sim_halt(struct sim_process *p, uint64_t starts_ns)
{
    process_kill(p);
    p->starts_ns = starts_ns;
    p->resumes_ns = 0;
}

/* --- Time --- */

static void earlier(uint64_t at_ns, uint64_t now_ns, uint64_t *next_ns)
{
    if (at_ns > now_ns && at_ns < *next_ns)
        *next_ns = at_ns;
}

static uint64_t next_moment(const struct sim *s)
{
    uint64_t next = UINT64_MAX, at;

    if (s->server.api && loop_next_timer_ns(s->server.loop, &at))
        earlier(at, s->now_ns, &next);
    for (unsigned i = 0; i < s->processes_count; i++) {
        const struct sim_process *p = &s->processes[i];

        if (sim_process_is_live(p) && loop_next_timer_ns(p->loop, &at))
            earlier(at, s->now_ns, &next);
        earlier(p->resumes_ns, s->now_ns, &next);
        earlier(p->starts_ns, s->now_ns, &next);
        earlier(p->rejoins_ns, s->now_ns, &next);
    }
    earlier(s->server.starts_ns, s->now_ns, &next);
    earlier(network_next_ns(&s->network), s->now_ns, &next);
    earlier(host_next_ns(&s->host), s->now_ns, &next);
    if (!s->is_healed)
        earlier(s->works_ns, s->now_ns, &next);
    return next;
}

/* Somebody's turn when time has passed: everybody's, or theirs whose timers are due. */
static bool is_woken(const struct sim *s, const struct loop *l)
{
    uint64_t at;

    return !s->options.scenario->is_sparing || (loop_next_timer_ns(l, &at) && at <= s->now_ns);
}

static void leap(struct sim *s, uint64_t to_ns)
{
    uint64_t by = to_ns - s->now_ns;

    s->now_ns = to_ns;
    manual_clock_advance(&s->server.clock, by);
    s->server.has_work = s->server.has_work || is_woken(s, s->server.loop);
    for (unsigned i = 0; i < s->processes_count; i++) {
        struct sim_process *p = &s->processes[i];

        manual_clock_advance(&p->clock, by);
        p->has_work = p->has_work || (p->state && is_woken(s, p->loop));
        if (!p->state && p->starts_ns <= s->now_ns)
            process_start(p);
    }
    if (!s->server.api && s->server.starts_ns <= s->now_ns)
        server_start(s);
}

/* --- Large faults --- */

static struct sim_process *any_process(struct sim *s)
{
    return s->processes_count ? &s->processes[rng_below(&s->faults, s->processes_count)] : NULL;
}

static void fault_crash(struct sim *s, struct sim_process *p)
{
    sim_halt(p, s->now_ns + 1 + rng_below(&s->faults, 20 * NS_PER_S));
}

static void fault_pause(struct sim *s, struct sim_process *p)
{
    p->resumes_ns = s->now_ns + rng_below(&s->faults, 60 * NS_PER_S);
    sim_trace(s, "%s stands still", p->program->name);
}

static void fault_restart(struct sim *s)
{
    server_stop(s);
    s->server.starts_ns = s->now_ns + 1 + rng_below(&s->faults, 30 * NS_PER_S);
}

static void fault_clock(struct sim *s, struct sim_process *p)
{
    int64_t by = (int64_t)rng_below(&s->faults, 7200) - 3600;

    manual_clock_set_real(&p->clock, p->clock.real_ns + by * (int64_t)NS_PER_S);
    sim_trace(s, "%s's wall clock jumps by %" PRId64 " s", p->program->name, by);
}

static void make_faults(struct sim *s)
{
    struct sim_process *p = any_process(s);

    /* One throw a step; each fault comes about once in so many hundred. */
    if (p && rng_below(&s->faults, 4) == 0) {
        if (sim_has_fault(s, &s->faults, FAULT_CRASH, 1) && p->state)
            fault_crash(s, p);
        if (sim_has_fault(s, &s->faults, FAULT_PAUSE, 1) && p->state)
            fault_pause(s, p);
        if (sim_has_fault(s, &s->faults, FAULT_PARTITION, 1))
            p->rejoins_ns = s->now_ns + rng_below(&s->faults, 60 * NS_PER_S);
        if (sim_has_fault(s, &s->faults, FAULT_CLOCK, 1))
            fault_clock(s, p);
        if (rng_below(&s->faults, 4) == 0 && sim_has_fault(s, &s->faults, FAULT_RESTART, 1) && s->server.api)
            fault_restart(s);
        if (sim_has_fault(s, &s->faults, FAULT_CUT, 8))
            network_cut_watch(&s->network);
    }
}

/* The bad day is over: everybody runs, everything arrives. */
static void heal(struct sim *s)
{
    sim_trace(s, "healed");
    s->is_healed = true;
    if (!s->server.api)
        server_start(s);
    for (unsigned i = 0; i < s->processes_count; i++) {
        struct sim_process *p = &s->processes[i];

        p->resumes_ns = p->rejoins_ns = 0;
        if (!p->state)
            process_start(p);
    }
}

/* --- Steps --- */

/* Who could run: the server, the processes, what is to be delivered, whoever changes things. */
static size_t runnable(struct sim *s, size_t *ret_network, size_t *ret_host)
{
    size_t count = s->server.has_work && s->server.api;

    for (unsigned i = 0; i < s->processes_count; i++)
        count += s->processes[i].has_work && sim_process_is_live(&s->processes[i]);
    *ret_network = network_due(&s->network);
    *ret_host = host_due(&s->host);
    return count + *ret_network + *ret_host;
}

static void run_loop(struct sim *s, size_t which)
{
    if (s->server.has_work && s->server.api && which-- == 0) {
        s->server.has_work = loop_poll(s->server.loop);
        return;
    }
    for (unsigned i = 0; i < s->processes_count; i++) {
        struct sim_process *p = &s->processes[i];

        if (p->has_work && sim_process_is_live(p) && which-- == 0) {
            p->has_work = loop_poll(p->loop);
            return;
        }
    }
    assert(!"somebody can run");
}

static void work(struct sim *s)
{
    const struct sim_scenario *c = s->options.scenario;

    s->works_ns = s->now_ns + rng_below(&s->work, 3 * NS_PER_S);
    if (c->work)
        c->work(s->scenario);
}

/* Somebody who is always ready, and never done: a key that comes again and again without a delay. */
static void count_step(struct sim *s)
{
    uint32_t max =
        s->options.scenario->second_steps_max ? s->options.scenario->second_steps_max : SECOND_STEPS_MAX;

    s->step++;
    if (s->now_ns - s->second_ns >= NS_PER_S) {
        s->second_ns = s->now_ns;
        s->second_steps = 0;
    }
    if (++s->second_steps > max && !s->options.scenario->may_fight)
        sim_fail(s, "does not come to rest: %u steps in a second", max);
}

/* False when there is nothing left to do before limit_ns. */
static bool step(struct sim *s, uint64_t limit_ns)
{
    size_t in_network, at_host, count, which;
    uint64_t next;

    count_step(s);
    if (!s->is_healed)
        make_faults(s);
    if (!s->is_healed && s->works_ns <= s->now_ns) {
        work(s);
        return true;
    }
    count = runnable(s, &in_network, &at_host);
    if (count == 0) {
        next = next_moment(s);
        if (next > limit_ns)
            return false;
        leap(s, next);
        return true;
    }
    which = rng_below(&s->schedule, count);
    if (which < in_network)
        network_deliver(&s->network, which);
    else if (which < in_network + at_host)
        host_deliver(&s->host, which - in_network);
    else
        run_loop(s, which - in_network - at_host);
    return true;
}

/* Whoever runs a program starts it again when it ends. */
static void reap(struct sim *s)
{
    for (unsigned i = 0; i < s->processes_count; i++) {
        struct sim_process *p = &s->processes[i];

        if (!p->has_exited)
            continue;
        process_kill(p);
        p->has_exited = false;
        p->starts_ns = s->now_ns + NS_PER_S;
    }
}

static void check(struct sim *s)
{
    reap(s);
    if (s->options.scenario->check)
        s->options.scenario->check(s->scenario);
}

static void bad_day(struct sim *s)
{
    unsigned days = s->options.scenario->days ? s->options.scenario->days : 1;

    while (s->step < (uint64_t)s->options.steps * days && !s->has_failed) {
        if (!step(s, UINT64_MAX))
            break;
        check(s);
    }
}

static bool is_settled(struct sim *s, struct error *err)
{
    if (host_pending(&s->host))
        return error_set(err, ERR_BUSY, "host operations go on") == 0;
    return s->options.scenario->settled(s->scenario, err) == 0;
}

/* Runs until nothing moves before that moment. */
static void run_until(struct sim *s, uint64_t until_ns)
{
    while (!s->has_failed && step(s, until_ns))
        check(s);
    if (s->now_ns < until_ns)
        leap(s, until_ns);
}

static void good_day(struct sim *s)
{
    uint64_t limit_ns = s->now_ns + SETTLE_NS;
    struct error err;

    heal(s);
    do {
        run_until(s, s->now_ns + 10 * NS_PER_S);
    } while (!s->has_failed && !is_settled(s, &err) && s->now_ns < limit_ns);
    if (s->has_failed)
        return;
    if (!is_settled(s, &err)) {
        sim_fail(s, "not settled %" PRIu64 " s after the healing: %s", SETTLE_NS / NS_PER_S, err.msg);
        return;
    }
    sim_trace(s, "settled");
    run_until(s, s->now_ns + QUIET_NS);
    if (!s->has_failed && !is_settled(s, &err)) /* a sweep may have begun at this very moment */
        run_until(s, s->now_ns + 10 * NS_PER_S);
    if (!s->has_failed && !is_settled(s, &err))
        sim_fail(s, "was settled and is not any more: %s", err.msg);
}

/* --- Requests of people --- */

struct sim_call {
    struct client_attempt attempt;
    struct sim *sim;
    struct client_request request;
    struct arena arena;
};

static void on_call_end(struct client_attempt *a, const struct client_answer *answer)
{
    struct sim_call *c = CONTAINER_OF(a, struct sim_call, attempt);

    sim_trace(c->sim, "somebody's request: %d %s", answer->http_status,
              answer->r < 0 ? answer->error.msg : "");
    arena_done(&c->arena);
    free(c);
}

static void on_call_warning(struct client_attempt *a, struct str text)
{
    (void)a;
    (void)text;
}

void sim_request(struct sim *s, const struct client_request *q)
{
    struct sim_call *c;
    struct error err;

    if (!s->server.api)
        return;
    c = sim_alloc(sizeof *c);
    c->sim = s;
    c->arena = ARENA_INIT((size_t)1 << 20);
    c->request = *q;
    must(request_own_texts(&c->request, &c->arena, &err), &err);
    c->attempt = (struct client_attempt){ .request = &c->request,
                                          .on_end = on_call_end,
                                          .on_warning = on_call_warning };
    s->server.has_work = true;
    s->server.carrier->type->start(s->server.carrier, &c->attempt);
}

/* --- A run --- */

static void sim_init(struct sim *s, const struct sim_options *o)
{
    struct rng root;

    *s = (struct sim){ .options = *o, .now_ns = START_NS };
    trace_init(&s->trace, o->is_traced);
    rng_init(&root, o->seed);
    rng_fork(&root, "schedule", &s->schedule);
    rng_fork(&root, "faults", &s->faults);
    rng_fork(&root, "work", &s->work);
    network_init(&s->network, s);
    host_init(&s->host, s);
    server_init(s);
    while (loop_poll(s->server.loop))
        ; /* the first namespaces are made */
    s->scenario = o->scenario->begin(s);
}

static void sim_done(struct sim *s)
{
    for (unsigned i = 0; i < s->processes_count; i++)
        process_kill(&s->processes[i]);
    s->options.scenario->end(s->scenario);
    network_done(&s->network);
    server_done(s);
    host_done(&s->host);
    trace_done(&s->trace);
}

static void report(const struct sim *s, struct sim_report *ret)
{
    struct buf text = BUF_INIT((size_t)TRACE_LINES * TRACE_LINE_BYTES);

    *ret = (struct sim_report){ .has_failed = s->has_failed,
                                .step = s->step,
                                .at_ns = s->now_ns,
                                .digest = s->trace.digest,
                                .faults_made = s->faults_made };
    if (!s->has_failed)
        return;
    (void)snprintf(ret->message, sizeof ret->message, "%s", s->failure.msg);
    trace_write(&s->trace, &text);
    ret->trace = buf_take(&text);
}

void sim_run(const struct sim_options *o, struct sim_report *ret)
{
    struct sim *s = sim_alloc(sizeof *s);

    sim_init(s, o);
    bad_day(s);
    if (!s->has_failed)
        good_day(s);
    report(s, ret);
    sim_done(s);
    free(s);
}
