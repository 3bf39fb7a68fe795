/* Workers as fibers, and the current process.
 *
 * A worker is new, stopped or finished. A step starts it or continues it until it stops again; a finished
 * worker is reported on the loop of its process in a later step. The fault of a system call is drawn when the
 * worker makes it. Calls of loops are never delayed and never fail.
 *
 * Invariant: the current process (process_here) and the current kernel (sys_enter()) are always set together.
 *
 * Cost: workers_due(), workers_deliver() and workers_next_ns() visit all workers. */
#include "sim/worker.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/reach.h"
#include "io/fiber.h"
#include "sim/sim_world.h"

/* A function that does not end although all its system calls fail would block the kill of its process. */
#define DYING_CALLS_MAX 100000
/* The longest burst of errors of a machine, and the share of calls that fail meanwhile. */
#define BURST_NS (500 * NS_PER_MS)
#define BURST_PERCENT 20
#define LONG_NS (5 * NS_PER_S)

enum worker_state { WORKER_NEW, WORKER_STOPPED, WORKER_FINISHED };

struct sim_worker {
    TAILQ_ENTRY(sim_worker) link;
    struct sim_pool *pool;
    struct pool_work *work;
    enum worker_state state;
    int result;
    uint64_t began_ns;
    uint64_t wakes_ns;
    unsigned dying_calls;
    bool has_failed;
    struct fiber *fiber;         /* NULL: not started, or finished */
    struct sim_process *process; /* the current process of the worker, while it is stopped */
};

/* A pool of one process. */
struct sim_pool {
    TAILQ_ENTRY(sim_pool) link;
    struct pool_runner runner;
    struct sim_process *process;
    TAILQ_HEAD(, sim_worker) workers;
};

static struct sim_process *process_here;
static struct sim_worker *this_worker; /* NULL: a loop runs */

struct sim_process *sim_process_current(void)
{
    return process_here;
}

struct sim_worker *worker_here(void)
{
    return this_worker;
}

bool worker_has_failed(void)
{
    return this_worker && this_worker->has_failed;
}

static void set_process(struct sim_process *p)
{
    process_here = p;
    (void)sys_enter(p && p->machine ? &p->machine->sys : NULL);
}

struct sim_process *sim_process_enter(struct sim_process *p)
{
    struct sim_process *before = process_here;

    if (p)
        p->has_run = true;
    set_process(p);
    return before;
}

/* --- Stop and continue --- */

static void worker_main(void *arg)
{
    struct sim_worker *w = arg;

    (void)sim_process_enter(w->pool->process);
    w->result = w->work->work(w->work->ctx);
    w->state = WORKER_FINISHED;
}

/* Runs the worker until it stops or finishes, then restores the current process. States that it reaches are
 * not counted. */
static void worker_run(struct sim_worker *w)
{
    struct sim_worker *worker_before = this_worker;
    struct sim_process *process_before = process_here;
    struct reach *reach_before = reach_here;

    if (w->state == WORKER_NEW) {
        w->state = WORKER_STOPPED;
        w->fiber = fiber_new(worker_main, w);
        if (!w->fiber)
            abort(); /* a simulation without memory proves nothing */
    }
    this_worker = w;
    reach_here = NULL;
    set_process(w->process);
    if (!fiber_run(w->fiber))
        w->fiber = fiber_free(w->fiber);
    w->process = process_here;
    set_process(process_before);
    reach_here = reach_before;
    this_worker = worker_before;
}

bool worker_wait(uint64_t until_ns)
{
    struct sim_worker *w = this_worker;

    assert(w);
    if (w->pool->process->is_dying)
        return false;
    w->wakes_ns = until_ns;
    fiber_stop(w->fiber);
    return !w->pool->process->is_dying;
}

void worker_wake(struct sim_worker *w)
{
    w->wakes_ns = w->pool->process->sim->now_ns;
}

/* An error, single or in a burst. */
static bool draw_error(struct machine *m, unsigned dice)
{
    struct sim *s = m->sim;
    bool is_first = dice < 4 && sim_has_fault(s, &m->rng, FAULT_HOST, 100);

    if (is_first && m->has_bursts)
        m->fails_until_ns = s->now_ns + rng_below(&m->rng, BURST_NS);
    return is_first ||
           (s->now_ns < m->fails_until_ns && sim_has_fault(s, &m->rng, FAULT_HOST, BURST_PERCENT));
}

/* Draws what happens to a system call: it fails, hangs, is slow, or succeeds at once. */
static int draw_call_fault(struct machine *m, const char *what, const char *path)
{
    struct sim *s = m->sim;
    uint64_t now_ns = s->now_ns;
    bool is_slow = rng_below(&m->rng, 12) == 0;
    unsigned dice = (unsigned)rng_below(&m->rng, 1000);

    if (draw_error(m, dice)) {
        sim_trace(s, "%s: %s %s fails", m->name, what, path);
        this_worker->has_failed = true;
        return EIO;
    }
    if (dice < 6 && sim_has_fault(s, &m->rng, FAULT_HOST, 100)) {
        sim_trace(s, "%s: %s %s hangs", m->name, what, path);
        return worker_wait(now_ns + rng_below(&m->rng, 300 * NS_PER_S)) ? 0 : EIO;
    }
    if (is_slow)
        return worker_wait(now_ns + rng_below(&m->rng, 5 * NS_PER_MS)) ? 0 : EIO;
    return 0;
}

int worker_call(struct machine *m, const char *what, const char *path)
{
    struct sim_worker *w = this_worker;

    if (process_here && process_here->is_dying) {
        if (w && ++w->dying_calls > DYING_CALLS_MAX) {
            sim_fail(m->sim, "%s: a killed process does not stop calling %s", m->name, what);
            abort();
        }
        return EIO;
    }
    return w ? draw_call_fault(m, what, path) : 0;
}

/* --- The pool of a process --- */

static struct sim_pool *pool_of(struct pool_runner *r)
{
    return CONTAINER_OF(r, struct sim_pool, runner);
}

static int runner_submit(struct pool_runner *r, struct pool_work *work, struct error *err)
{
    struct sim_pool *p = pool_of(r);
    struct sim_worker *w = sim_alloc(sizeof *w);
    struct sim *s = p->process->sim;

    (void)err;
    w->pool = p;
    w->work = work;
    w->began_ns = s->now_ns;
    w->wakes_ns = s->now_ns + rng_below(&p->process->machine->rng, NS_PER_MS);
    TAILQ_INSERT_TAIL(&p->workers, w, link);
    return 0;
}

static bool runner_cancel(struct pool_runner *r, struct pool_work *work)
{
    struct sim_worker *w;

    TAILQ_FOREACH(w, &pool_of(r)->workers, link)
        if (w->work == work && w->state == WORKER_NEW) {
            w->state = WORKER_FINISHED;
            w->result = -ERR_CANCELLED;
            w->wakes_ns = 0;
            return true;
        }
    return false;
}

/* Reports the result to the owner of the job and frees the worker. */
static void worker_end(struct sim_worker *w)
{
    struct pool_work *work = w->work;
    int result = w->result;

    TAILQ_REMOVE(&w->pool->workers, w, link);
    free(w);
    work->state = POOL_WORK_IDLE;
    work->done(work->ctx, result);
}

static void runner_free(struct pool_runner *r)
{
    struct sim_pool *p = pool_of(r);
    struct sim_worker *w;

    while ((w = TAILQ_FIRST(&p->workers))) {
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): a freed worker is not in the list */
        if (w->state == WORKER_NEW) {
            w->state = WORKER_FINISHED;
            w->result = -ERR_CANCELLED;
        }
        while (w->state != WORKER_FINISHED)
            worker_run(w);
        worker_end(w);
    }
    TAILQ_REMOVE(&p->process->pools, p, link);
    free(p);
}

static const struct pool_runner_type runner_type = { runner_submit, runner_cancel, runner_free };

int machine_pool_new(struct sys *k, struct loop *l, struct pool **ret, struct error *err)
{
    struct sim_pool *p = sim_alloc(sizeof *p);

    (void)k;
    p->runner.type = &runner_type;
    p->process = sim_process_current();
    TAILQ_INIT(&p->workers);
    TAILQ_INSERT_TAIL(&p->process->pools, p, link);
    return pool_new_with(l, &p->runner, ret, err);
}

/* --- Turns --- */

static bool is_due(const struct sim *s, const struct sim_worker *w)
{
    return w->state == WORKER_FINISHED || w->wakes_ns <= s->now_ns;
}

/* The first worker of a running process for which fn returns true; NULL: none. */
static struct sim_worker *find_worker(const struct sim *s, bool (*fn)(void *ctx, struct sim_worker *w),
                                      void *ctx)
{
    struct sim_pool *pool;
    struct sim_worker *w;

    for (unsigned i = 0; i < s->processes_count; i++) {
        const struct sim_process *p = &s->processes[i];

        if (!p->machine || !sim_process_is_live(p))
            continue;
        TAILQ_FOREACH(pool, &p->pools, link)
            TAILQ_FOREACH(w, &pool->workers, link)
                if (fn(ctx, w))
                    return w;
    }
    return NULL;
}

static bool take_due(void *ctx, struct sim_worker *w)
{
    size_t *which = ctx;

    return is_due(w->pool->process->sim, w) && (*which)-- == 0;
}

size_t workers_due(struct sim *s)
{
    size_t which = SIZE_MAX;

    (void)find_worker(s, take_due, &which);
    return SIZE_MAX - which;
}

void workers_deliver(struct sim *s, size_t which)
{
    struct sim_worker *w = find_worker(s, take_due, &which);
    struct sim_process *p = w->pool->process, *before;

    if (w->state != WORKER_FINISHED) {
        worker_run(w);
        return;
    }
    before = sim_process_enter(p);
    p->has_work = true;
    worker_end(w);
    (void)sim_process_enter(before);
}

static bool take_earliest_ns(void *ctx, struct sim_worker *w)
{
    uint64_t *next = ctx;

    if (w->wakes_ns > w->pool->process->sim->now_ns && w->wakes_ns < *next)
        *next = w->wakes_ns;
    return false;
}

uint64_t workers_next_ns(const struct sim *s)
{
    uint64_t next = UINT64_MAX;

    (void)find_worker(s, take_earliest_ns, &next);
    return next;
}

static bool count_long(void *ctx, struct sim_worker *w)
{
    if (w->pool->process->sim->now_ns - w->began_ns > LONG_NS)
        ++*(size_t *)ctx;
    return false;
}

size_t workers_pending(const struct sim *s)
{
    size_t count = 0;

    (void)find_worker(s, count_long, &count);
    return count;
}
