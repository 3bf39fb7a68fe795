/* The simulated world: scheduling of steps, virtual time, and large faults.
 *
 * A step is one delivery (of the network, the host, a worker, a child process or a gRPC call), one turn of
 * one event loop, one action of the workload, or an advance of time to the next moment at which something is
 * due. Nothing else changes the world. Virtual time advances only when nothing can run.
 *
 * Invariants: random numbers come from the generators of struct sim, whether or not a fault is enabled, so
 * that a seed gives the same run in every build. At most one process runs at a time (sim_process_enter()).
 *
 * Cost: every step counts what is due in each part, O(messages + operations + processes). */
#include "sim/sim_world.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apiserver/authenticate.h"
#include "apiserver/local_client.h"
#include "apiserver/store_lookup.h"
#include "base/log.h"
#include "client/client_request.h"
#include "machinery/metrics.h"
#include "sim/file_tree.h"
#include "sim/machine_rpc.h"
#include "sim/rule.h"
#include "sim/worker.h"

#define START_NS NS_PER_S
#define START_REAL_NS (INT64_C(1800000000) * (int64_t)NS_PER_S)
/* The recovery phase: the final state must be reached within SETTLE_NS, and kept for QUIET_NS. One in
 * LONG_QUIET_EVERY seeds keeps it until each watch has ended once and each periodic check has run; so do
 * seeds with work in progress after QUIET_NS. */
#define SETTLE_NS (1800 * NS_PER_S)
#define QUIET_NS (100 * NS_PER_S)
#define LONG_QUIET_NS (700 * NS_PER_S)
#define LONG_QUIET_EVERY 4
/* In one second of virtual time: far above what scenarios need, and soon reached by a busy loop. */
#define SECOND_STEPS_MAX 2500

void *sim_alloc(size_t bytes)
{
    void *p = calloc(1, bytes);

    if (!p)
        abort();
    return p;
}

void sim_must(int r, const struct error *err)
{
    if (r == 0)
        return;
    (void)fprintf(stderr, "berth: sim: %s\n", err->msg);
    abort();
}

/* --- Trace and failures --- */

/* Writes a number with at least so many digits, then a character; returns the end. */
static char *append_number(char *to, uint64_t n, unsigned digits, char then)
{
    to += trace_put_number(to, n, digits);
    *to = then;
    return to + 1;
}

static void __attribute__((format(printf, 3, 0)))
add_line(struct sim *s, bool is_quiet, const char *fmt, va_list args)
{
    char line[2 * TRACE_LINE_BYTES], *at = line;
    size_t len;

    if (s->is_muted)
        return;
    at = append_number(at, s->step, 1, ' ');
    at = append_number(at, s->now_ns / NS_PER_S, 1, '.');
    at = append_number(at, s->now_ns % NS_PER_S / NS_PER_US, 6, ' ');
    len = (size_t)(at - line);
    len += trace_format(at, sizeof line - len, fmt, args);
    s->trace.tail->is_healed = s->is_healed;
    s->trace.tail->step = s->step;
    s->trace.tail->at_ns = s->now_ns;
    trace_add(&s->trace, (struct str){ line, len }, is_quiet);
}

void sim_trace(struct sim *s, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    add_line(s, /* is_quiet= */ false, fmt, args);
    va_end(args);
}

void sim_trace_quietly(struct sim *s, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    add_line(s, /* is_quiet= */ true, fmt, args);
    va_end(args);
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
    rule_of_failure(fmt, text, s->rule, sizeof s->rule);
    (void)error_set(&s->failure, ERR_INTERNAL, "%s", text);
}

bool sim_may_fault(const struct sim *s, enum sim_fault f)
{
    return !s->is_healed && !s->is_muted && (s->options.faults & (1U << f));
}

static bool is_omitted(const struct numbers *without, uint32_t number)
{
    return without && numbers_has(without, number);
}

bool sim_has_fault(struct sim *s, struct rng *r, enum sim_fault f, unsigned percent)
{
    /* Drawn in any case: omitting a fault does not shift the random numbers. */
    bool is_drawn = rng_chance(r, percent);
    struct run_counts *c = &s->trace.tail->counts;

    if (!is_drawn || !sim_may_fault(s, f) || is_omitted(s->options.without_faults, ++c->faults_numbered))
        return false;
    s->faults_made++;
    c->made_of[f]++;
    sim_trace(s, "fault %" PRIu32 ": %s", c->faults_numbered, fault_names[f]);
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
    sim_must(apiserver_new(&o, &v->api, &err), &err);
    sim_must(local_client_new(v->api, NULL, &v->carrier, &err), &err);
    v->starts_ns = 0;
    v->has_work = true;
    sim_trace(s, "server starts");
}

/* The server processes the requests that it has received; their senders get no answer. */
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
    sim_must(loop_new(&v->clock.clock, &v->loop, &err), &err);
    sim_must(store_open_memory(v->loop, &o, &v->store, &err), &err);
    a.lookup = store_lookup(v->store);
    sim_must(authenticator_new(&a, &v->authenticator, &err), &err);
    server_start(s);
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
    struct sim_process *before = sim_process_enter(p);
    struct error err;

    sim_trace(s, "%s starts", p->program->name);
    p->starts++;
    p->starts_ns = 0;
    p->resumes_ns = 0;
    p->seed = rng_u64(&s->schedule);
    sim_must(loop_new(&p->clock.clock, &p->loop, &err), &err);
    p->link = network_link(&s->network, p);
    o.loop = p->loop;
    o.carrier = &p->link->carrier;
    sim_must(client_new(&o, &p->client, &err), &err);
    p->state = p->program->start(p, p->ctx);
    p->has_work = true;
    (void)sim_process_enter(before);
}

static void process_kill(struct sim_process *p)
{
    struct sim_process *before;

    if (!p->state)
        return;
    sim_trace(p->sim, "%s is killed", p->program->name);
    before = sim_process_enter(p);
    p->is_dying = true;
    if (p->machine)
        children_lose_process(p->machine, p);
    p->program->kill(p->state);
    if (p->machine)
        machine_lose_process(p->machine, p);
    p->is_dying = false;
    (void)sim_process_enter(before);
    p->state = NULL;
    host_lose_process(&p->sim->host, p);
    p->client = client_free(p->client);
    p->link = NULL; /* the client's */
    p->loop = loop_free(p->loop);
    p->has_work = false;
}

static struct sim_process *process_spawn(struct sim *s, struct machine *m, const struct sim_program *program,
                                         void *ctx)
{
    struct sim_process *p = &s->processes[s->processes_count++];

    assert(s->processes_count <= SIM_PROCESSES_MAX);
    *p = (struct sim_process){ .sim = s, .machine = m, .program = program, .ctx = ctx };
    TAILQ_INIT(&p->pools);
    manual_clock_init(&p->clock, s->now_ns, START_REAL_NS);
    process_start(p);
    return p;
}

struct sim_process *sim_spawn(struct sim *s, const struct sim_program *program, void *ctx)
{
    return process_spawn(s, NULL, program, ctx);
}

struct sim_process *sim_spawn_on(struct machine *m, const struct sim_program *program, void *ctx)
{
    return process_spawn(m->sim, m, program, ctx);
}

void sim_halt(struct sim_process *p, uint64_t starts_ns)
{
    process_kill(p);
    p->starts_ns = starts_ns;
    p->resumes_ns = 0;
}

void sim_reboot(struct machine *m, uint64_t starts_ns)
{
    for (unsigned i = 0; i < m->sim->processes_count; i++)
        if (m->sim->processes[i].machine == m)
            sim_halt(&m->sim->processes[i], starts_ns);
    machine_reboot(m);
}

/* --- Time --- */

static void take_earlier_ns(uint64_t at_ns, uint64_t now_ns, uint64_t *next_ns)
{
    if (at_ns > now_ns && at_ns < *next_ns)
        *next_ns = at_ns;
}

static uint64_t find_next_moment_ns(const struct sim *s)
{
    uint64_t next = UINT64_MAX, at;

    if (s->server.api && loop_next_timer_ns(s->server.loop, &at))
        take_earlier_ns(at, s->now_ns, &next);
    for (unsigned i = 0; i < s->processes_count; i++) {
        const struct sim_process *p = &s->processes[i];

        if (sim_process_is_live(p) && loop_next_timer_ns(p->loop, &at))
            take_earlier_ns(at, s->now_ns, &next);
        take_earlier_ns(p->resumes_ns, s->now_ns, &next);
        take_earlier_ns(p->starts_ns, s->now_ns, &next);
        take_earlier_ns(p->rejoins_ns, s->now_ns, &next);
    }
    take_earlier_ns(s->server.starts_ns, s->now_ns, &next);
    take_earlier_ns(network_next_ns(&s->network), s->now_ns, &next);
    take_earlier_ns(host_next_ns(&s->host), s->now_ns, &next);
    take_earlier_ns(workers_next_ns(s), s->now_ns, &next);
    take_earlier_ns(children_next_ns(s), s->now_ns, &next);
    take_earlier_ns(calls_next_ns(s), s->now_ns, &next);
    if (!s->is_healed)
        take_earlier_ns(s->next_action_ns, s->now_ns, &next);
    return next;
}

/* Whether a loop gets a turn after time has advanced: always, or only with a due timer. */
static bool gets_turn_after_advance(const struct sim *s, const struct loop *l)
{
    uint64_t at;

    return !s->options.scenario->wakes_due_only || (loop_next_timer_ns(l, &at) && at <= s->now_ns);
}

static void advance_time(struct sim *s, uint64_t to_ns)
{
    uint64_t by = to_ns - s->now_ns;

    s->now_ns = to_ns;
    manual_clock_advance(&s->server.clock, by);
    s->server.has_work = s->server.has_work || gets_turn_after_advance(s, s->server.loop);
    for (unsigned i = 0; i < s->processes_count; i++) {
        struct sim_process *p = &s->processes[i];

        manual_clock_advance(&p->clock, by);
        p->has_work = p->has_work || (p->state && gets_turn_after_advance(s, p->loop));
        if (!p->state && p->starts_ns <= s->now_ns)
            process_start(p);
    }
    if (!s->server.api && s->server.starts_ns <= s->now_ns)
        server_start(s);
}

/* --- Large faults --- */

/* All processes of a machine have the same wall clock. */
static void inject_clock_jump(struct sim *s, const struct sim_process *p)
{
    int64_t by = (int64_t)rng_below(&s->faults, 7200) - 3600;

    for (unsigned i = 0; i < s->processes_count; i++) {
        struct sim_process *q = &s->processes[i];

        if (q == p || (p->machine && q->machine == p->machine))
            manual_clock_set_real(&q->clock, q->clock.real_ns + by * (int64_t)NS_PER_S);
    }
    sim_trace(s, "%s's wall clock jumps by %" PRId64 " s", p->machine ? p->machine->name : p->program->name,
              by);
}

static uint64_t fault_phase_steps(const struct sim *s)
{
    unsigned factor = s->options.scenario->steps_factor ? s->options.scenario->steps_factor : 1;

    return (uint64_t)s->options.steps * factor;
}

bool sim_is_last_quarter(const struct sim *s)
{
    return s->step > fault_phase_steps(s) * 3 / 4;
}

static void inject_large_faults(struct sim *s)
{
    struct sim_process *p;

    if (s->large_fault_divisor && rng_below(&s->faults, s->large_fault_divisor) > 0)
        return;
    p = s->processes_count ? &s->processes[rng_below(&s->faults, s->processes_count)] : NULL;
    /* Drawn once per step: each fault happens once in a few hundred steps. */
    if (p && rng_below(&s->faults, 4) == 0) {
        if (sim_has_fault(s, &s->faults, FAULT_CRASH, 1) && p->state)
            sim_halt(p, s->now_ns + 1 + rng_below(&s->faults, 20 * NS_PER_S));
        if (sim_has_fault(s, &s->faults, FAULT_PAUSE, 1) && p->state) {
            p->resumes_ns = s->now_ns + rng_below(&s->faults, 60 * NS_PER_S);
            sim_trace(s, "%s is suspended", p->program->name);
        }
        if (sim_has_fault(s, &s->faults, FAULT_PARTITION, 1))
            p->rejoins_ns = s->now_ns + rng_below(&s->faults, 60 * NS_PER_S);
        if (sim_has_fault(s, &s->faults, FAULT_CLOCK, 1))
            inject_clock_jump(s, p);
        if (rng_below(&s->faults, 4) == 0 && sim_has_fault(s, &s->faults, FAULT_RESTART, 1) &&
            s->server.api) {
            server_stop(s);
            s->server.starts_ns = s->now_ns + 1 + rng_below(&s->faults, 30 * NS_PER_S);
        }
        if (sim_has_fault(s, &s->faults, FAULT_CUT, 8))
            network_cut_watch(&s->network);
    }
    if (s->machines_count > 0 && rng_below(&s->faults, 20) == 0 &&
        sim_has_fault(s, &s->faults, FAULT_REBOOT, 1))
        sim_reboot(s->machines[rng_below(&s->faults, s->machines_count)],
                   s->now_ns + 1 + rng_below(&s->faults, 120 * NS_PER_S));
}

/* Ends the fault phase: starts everything that is down, and ends pauses and partitions. */
static void begin_recovery(struct sim *s)
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

/* How many deliveries of each part are due. */
struct turn_counts {
    size_t network, host, workers, children, calls;
};

static size_t count_runnable(struct sim *s, struct turn_counts *ret)
{
    size_t count = s->server.has_work && s->server.api;

    for (unsigned i = 0; i < s->processes_count; i++)
        count += s->processes[i].has_work && sim_process_is_live(&s->processes[i]);
    ret->network = network_due(&s->network);
    ret->host = host_due(&s->host);
    ret->workers = workers_due(s);
    ret->children = children_due(s);
    ret->calls = calls_due(s);
    return count + ret->network + ret->host + ret->workers + ret->children + ret->calls;
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
            (void)sim_process_enter(p);
            p->has_work = loop_poll(p->loop);
            (void)sim_process_enter(NULL);
            return;
        }
    }
    assert(!"a loop can run");
}

static void run_workload(struct sim *s)
{
    const struct sim_scenario *c = s->options.scenario;
    struct run_counts *counts = &s->trace.tail->counts;

    s->next_action_ns = s->now_ns + rng_below(&s->work, 3 * NS_PER_S);
    s->is_muted = is_omitted(s->options.without_actions, ++counts->actions_numbered);
    counts->actions_done += !s->is_muted;
    sim_trace_quietly(s, "action %" PRIu32, counts->actions_numbered);
    if (c->work)
        c->work(s->scenario);
    s->is_muted = false;
}

/* Fails the run on a busy loop, for example a key that is requeued without delay. */
static void count_step(struct sim *s)
{
    uint32_t max =
        s->options.scenario->second_steps_max ? s->options.scenario->second_steps_max : SECOND_STEPS_MAX;

    s->step++;
    if (s->now_ns - s->second_ns >= NS_PER_S) {
        s->second_ns = s->now_ns;
        s->second_steps = 0;
    }
    if (++s->second_steps > max && !s->options.scenario->may_livelock)
        sim_fail(s, "busy loop: %u steps in one second", max);
}

static void run_turn(struct sim *s, const struct turn_counts *turns, size_t which)
{
    if (which < turns->network) {
        network_deliver(&s->network, which);
        return;
    }
    which -= turns->network;
    if (which < turns->host) {
        host_deliver(&s->host, which);
        return;
    }
    which -= turns->host;
    if (which < turns->workers) {
        workers_deliver(s, which);
        return;
    }
    which -= turns->workers;
    if (which < turns->children) {
        children_deliver(s, which);
        return;
    }
    which -= turns->children;
    if (which < turns->calls)
        calls_deliver(s, which);
    else
        run_loop(s, which - turns->calls);
}

/* False if nothing is due before limit_ns. */
static bool run_step(struct sim *s, uint64_t limit_ns)
{
    struct turn_counts turns;
    size_t count, which;
    uint64_t next;

    count_step(s);
    if (!s->is_healed)
        inject_large_faults(s);
    if (!s->is_healed && s->next_action_ns <= s->now_ns) {
        run_workload(s);
        return true;
    }
    count = count_runnable(s, &turns);
    if (count == 0) {
        next = find_next_moment_ns(s);
        if (next > limit_ns)
            return false;
        advance_time(s, next);
        return true;
    }
    which = rng_below(&s->schedule, count);
    run_turn(s, &turns, which);
    return true;
}

/* A program that exits is restarted after a second, as a service manager would do it. */
static void restart_exited(struct sim *s)
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

/* Checks the memory of processes that have run since the last check; if thorough, of all, and the store. */
static void check_memory(struct sim *s)
{
    bool is_thorough = s->step % SIM_THOROUGH_STEPS == 0;
    const char *wrong = is_thorough ? store_check_image(s->server.store) : NULL;

    static_assert(SIM_THOROUGH_STEPS % SIM_MEMORY_STEPS == 0, "what costs much is a part of it");
    if (s->step % SIM_MEMORY_STEPS != 0)
        return;
    if (wrong)
        sim_fail(s, "in the memory of the store: %s", wrong);
    for (unsigned i = 0; i < s->processes_count; i++) {
        struct sim_process *p = &s->processes[i];

        if (!p->state || !p->program->check || !(p->has_run || is_thorough))
            continue;
        p->has_run = false;
        wrong = p->program->check(p->state, is_thorough);
        if (wrong)
            sim_fail(s, "in the memory of %s: %s", p->program->name, wrong);
    }
}

bool sim_has_changed(const struct sim *s, struct sim_mark *m)
{
    struct sim_mark now = { store_revision(s->server.store), tree_changes() };
    bool is_new = now.revision != m->revision || now.changes != m->changes;

    *m = now;
    return is_new;
}

static void run_checks(struct sim *s)
{
    restart_exited(s);
    check_memory(s);
    if (s->options.scenario->check)
        s->options.scenario->check(s->scenario);
}

/* The run has failed, or its trace is longer than asked for. */
static bool is_over(const struct sim *s)
{
    return s->has_failed || (s->options.lines_max && s->trace.tail->count > s->options.lines_max);
}

static bool is_settled(struct sim *s, struct error *err)
{
    if (host_pending(&s->host) || workers_pending(s))
        return error_set(err, ERR_BUSY, "host operations are in progress") == 0;
    return s->options.scenario->settled(s->scenario, err) == 0;
}

/* Runs until nothing is due before that moment. */
static void run_until(struct sim *s, uint64_t until_ns)
{
    while (!is_over(s) && run_step(s, until_ns))
        run_checks(s);
    if (s->now_ns < until_ns)
        advance_time(s, until_ns);
}

static void run_recovery_phase(struct sim *s)
{
    uint64_t limit_ns = s->now_ns + SETTLE_NS, settled_ns;
    struct error err;

    begin_recovery(s);
    do {
        run_until(s, s->now_ns + 10 * NS_PER_S);
    } while (!is_over(s) && !is_settled(s, &err) && s->now_ns < limit_ns);
    if (is_over(s))
        return;
    if (!is_settled(s, &err)) {
        sim_fail(s, "not settled %" PRIu64 " s after the healing: %s", SETTLE_NS / NS_PER_S, err.msg);
        (void)snprintf(s->rule, sizeof s->rule, "not settled"); /* one rule, whatever is missing */
        return;
    }
    sim_trace(s, "settled");
    settled_ns = s->now_ns;
    run_until(s, settled_ns + (s->options.seed % LONG_QUIET_EVERY == 0 ? LONG_QUIET_NS : QUIET_NS));
    if (!is_over(s) && !is_settled(s, &err)) /* a call that was postponed for minutes may have been made */
        run_until(s, settled_ns + LONG_QUIET_NS);
    if (!is_over(s) && !is_settled(s, &err)) /* a periodic sync may have just begun */
        run_until(s, s->now_ns + 10 * NS_PER_S);
    if (!is_over(s) && !is_settled(s, &err))
        sim_fail(s, "was settled and is not any more: %s", err.msg);
}

/* --- Requests of the workload --- */

struct sim_call {
    struct client_attempt attempt;
    struct sim *sim;
    struct client_request request;
    struct arena arena;
};

static void on_call_end(struct client_attempt *a, const struct client_answer *answer)
{
    struct sim_call *c = CONTAINER_OF(a, struct sim_call, attempt);

    sim_trace(c->sim, "workload request: %d %s", answer->http_status, answer->r < 0 ? answer->error.msg : "");
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

    if (!s->server.api || s->is_muted)
        return;
    c = sim_alloc(sizeof *c);
    c->sim = s;
    c->arena = ARENA_INIT((size_t)1 << 20);
    c->request = *q;
    sim_must(request_own_texts(&c->request, &c->arena, &err), &err);
    c->attempt = (struct client_attempt){ .request = &c->request,
                                          .on_end = on_call_end,
                                          .on_warning = on_call_warning };
    s->server.has_work = true;
    s->server.carrier->type->start(s->server.carrier, &c->attempt);
}

/* --- A run --- */

/* Log lines of programs are printed with the trace, but are not part of the digest. */
static void print_log(void *ctx, const char *line, size_t len)
{
    const struct sim_process *p = sim_process_current();
    char text[LOG_LINE_BYTES_MAX + 64];

    (void)ctx;
    (void)snprintf(text, sizeof text, "    %s %s: %.*s", p && p->machine ? p->machine->name : "",
                   p ? p->program->name : "server", (int)len - 1, line); /* without its end */
    trace_remark(text);
}

static void sim_init(struct sim *s, const struct sim_options *o)
{
    struct rng root;

    *s = (struct sim){ .options = *o, .now_ns = START_NS };
    trace_init(&s->trace, o->is_traced, o->tail);
    rng_init(&root, o->seed);
    rng_fork(&root, "schedule", &s->schedule);
    rng_fork(&root, "faults", &s->faults);
    rng_fork(&root, "work", &s->work);
    network_init(&s->network, s);
    host_init(&s->host, s);
    server_init(s);
    while (loop_poll(s->server.loop))
        ; /* creates the first namespaces */
    s->scenario = o->scenario->begin(s);
}

static void fill_report(const struct sim *s, struct sim_report *ret)
{
    struct buf text = BUF_INIT((size_t)(TRACE_LINES + 1) * TRACE_LINE_BYTES);

    *ret = (struct sim_report){ .has_failed = s->has_failed,
                                .step = s->step,
                                .at_ns = s->now_ns,
                                .digest = s->trace.digest,
                                .faults_made = s->faults_made,
                                .counts = s->trace.tail->counts,
                                .is_healed = s->is_healed,
                                .lines = s->trace.tail->count };
    if (!s->has_failed)
        return;
    (void)snprintf(ret->message, sizeof ret->message, "%s", s->failure.msg);
    (void)snprintf(ret->rule, sizeof ret->rule, "%s", s->rule);
    trace_write(s->trace.tail, &text);
    ret->trace = buf_take(&text);
}

void sim_run(const struct sim_options *o, struct sim_report *ret)
{
    struct sim *s = sim_alloc(sizeof *s);
    const struct logger logger = { .level = LOG_LEVEL_INFO,
                                   .clock = &s->server.clock.clock,
                                   .sink = print_log };

    if (o->is_traced)
        log_install(&logger);
    sim_init(s, o);
    while (s->step < fault_phase_steps(s) && !is_over(s) && run_step(s, UINT64_MAX))
        run_checks(s);
    if (!is_over(s) && !o->skips_recovery)
        run_recovery_phase(s);
    fill_report(s, ret);
    s->is_muted = true; /* the trace is complete */
    for (unsigned i = 0; i < s->processes_count; i++)
        process_kill(&s->processes[i]);
    o->scenario->end(s->scenario);
    for (unsigned i = 0; i < s->machines_count; i++)
        s->machines[i] = machine_free(s->machines[i]);
    network_done(&s->network);
    server_stop(s);
    s->server.store = store_free(s->server.store);
    s->server.authenticator = authenticator_free(s->server.authenticator);
    s->server.loop = loop_free(s->server.loop);
    host_done(&s->host);
    trace_done(&s->trace);
    if (o->is_traced)
        log_install(NULL);
    free(s);
}
