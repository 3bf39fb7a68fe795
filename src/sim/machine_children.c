/* Child processes on a simulated machine: commands that take effect at one moment and end at another.
 *
 * Both moments, and whether the command fails, are drawn when it is started. A child survives its parent: the
 * command of a killed process may still take effect. A child is freed when its end was reported, when its
 * owner drops it, or when the machine reboots. Every call visits all children; there are few. */
#include "sim/machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "sim/sim_world.h"
#include "sim/worker.h"

#define CHILD_BYTES_MAX ((size_t)1 << 21)
#define CHILD_OUT_BYTES_MAX 65536
#define STOP_LOOK_NS NS_PER_S /* how often a waiting worker checks whether it was cancelled */

/* Started by a loop, which gets `done`, or by a worker, which waits. */
struct process {
    TAILQ_ENTRY(process) link;
    struct machine *machine;
    struct sim_process *owner; /* NULL: it was killed */
    struct sim_worker *worker; /* the one that waits for it; NULL: none */
    const struct machine_program *program;
    struct arena arena;
    const char **argv;
    const char **env;
    struct str input;
    uint64_t began_ns;
    uint64_t effect_ns; /* UINT64_MAX: no effect, or it has happened */
    uint64_t end_ns;    /* UINT64_MAX: it hangs */
    uint64_t limit_ns;  /* when it is terminated */
    bool fails;         /* it exits with an error, with or without effect */
    bool has_ended;     /* result is valid */
    struct process_result result;
    struct buf out;
    process_done_fn done;
    void *ctx;
};

static const char **copy_list(struct arena *a, const char *const *list)
{
    size_t count = 0;
    const char **all;

    while (list && list[count])
        count++;
    all = arena_array(a, count + 1, sizeof *all);
    if (!all)
        abort();
    for (size_t i = 0; i < count; i++)
        all[i] = arena_dup(a, str_of(list[i]));
    all[count] = NULL;
    return all;
}

static const char *find_path_variable(const char *const *env)
{
    for (; env && *env; env++)
        if (strncmp(*env, "PATH=", 5) == 0)
            return *env + 5;
    return "";
}

/* Searches PATH as execvp() does. NULL: there is no such program. */
static const struct machine_program *find_program(struct machine *m, const char *name, const char *dirs)
{
    struct str rest = str_of(dirs);
    char path[PATH_MAX];

    for (size_t i = 0; i < m->programs.count; i++)
        if (strcmp(m->programs.items[i].path, name) == 0)
            return &m->programs.items[i];
    while (rest.s && !strchr(name, '/')) {
        struct str dir = str_next(&rest, ':');

        (void)snprintf(path, sizeof path, "%.*s/%s", STR_ARG(dir), name);
        for (size_t i = 0; i < m->programs.count; i++)
            if (strcmp(m->programs.items[i].path, path) == 0)
                return &m->programs.items[i];
    }
    return NULL;
}

static void draw_child_times(struct process *c)
{
    struct machine *m = c->machine;
    struct sim *s = m->sim;
    unsigned dice = (unsigned)rng_below(&m->rng, 100);

    c->effect_ns = s->now_ns + rng_below(&m->rng, 20 * NS_PER_MS);
    c->end_ns = c->effect_ns + rng_below(&m->rng, 20 * NS_PER_MS);
    if (dice < 4 && sim_has_fault(s, &m->rng, FAULT_HOST, 100))
        c->end_ns += rng_below(&m->rng, 100 * NS_PER_S);
    else if (dice < 6 && sim_has_fault(s, &m->rng, FAULT_HOST, 100))
        c->end_ns = UINT64_MAX;
    else if (dice < 10 && sim_has_fault(s, &m->rng, FAULT_HOST, 100))
        c->fails = true;
    if (c->fails && rng_chance(&m->rng, 50))
        c->effect_ns = UINT64_MAX;
}

static int child_new(struct machine *m, const struct process_spec *spec, struct process **ret,
                     struct error *err)
{
    const struct machine_program *program = find_program(m, spec->argv[0], find_path_variable(spec->env));
    struct process *c;

    if (!program || sim_process_current()->is_dying)
        return error_set(err, ERR_NOT_FOUND, "cannot start '%s': command not found in PATH", spec->argv[0]);
    c = sim_alloc(sizeof *c);
    *c = (struct process){ .machine = m, .owner = sim_process_current(), .program = program };
    c->arena = ARENA_INIT(CHILD_BYTES_MAX);
    c->argv = copy_list(&c->arena, spec->argv);
    c->env = copy_list(&c->arena, spec->env);
    c->input = str_of(arena_dup(&c->arena, spec->input));
    c->out = BUF_INIT(CHILD_OUT_BYTES_MAX);
    c->began_ns = m->sim->now_ns;
    c->limit_ns = c->began_ns + spec->limit_ns;
    c->result.limit_ns = spec->limit_ns;
    draw_child_times(c);
    TAILQ_INSERT_TAIL(&m->children, c, link);
    sim_trace(m->sim, "%s starts %s %s", m->name, c->argv[0], c->argv[1] ? c->argv[1] : "");
    *ret = c;
    return 0;
}

static void child_free(struct process *c)
{
    TAILQ_REMOVE(&c->machine->children, c, link);
    arena_done(&c->arena);
    buf_done(&c->out);
    free(c);
}

/* --- Effect and end --- */

static void child_take_effect(struct process *c)
{
    c->effect_ns = UINT64_MAX;
    c->machine->child_began_ns = c->began_ns;
    c->result.exit_code = c->program->run(c->machine, c->program->ctx, c->argv, c->env, c->input, &c->out);
    sim_trace(c->machine->sim, "%s: %s %s: %d", c->machine->name, c->argv[0], c->argv[1] ? c->argv[1] : "",
              c->result.exit_code);
    if (c->fails)
        c->result.exit_code = 1;
}

/* Terminates the child by a signal: it does not take effect any more. */
static void child_terminate(struct process *c)
{
    c->effect_ns = UINT64_MAX;
    c->end_ns = c->machine->sim->now_ns;
    c->result.exit_code = -1;
    c->result.term_signal = 15;
}

static void child_end(struct process *c)
{
    process_done_fn done = c->done;
    void *ctx = c->ctx;
    struct sim_process *before;

    c->result.out = c->result.err = buf_str(&c->out);
    if (c->fails && c->result.term_signal == 0)
        c->result.exit_code = 1;
    c->has_ended = true;
    if (c->worker) {
        worker_wake(c->worker); /* the worker frees the child */
        return;
    }
    if (!c->owner || !done) {
        child_free(c);
        return;
    }
    before = sim_process_enter(c->owner);
    c->owner->has_work = true;
    done(ctx, &c->result);
    (void)sim_process_enter(before);
    child_free(c);
}

static bool is_child_due(const struct process *c)
{
    uint64_t now_ns = c->machine->sim->now_ns;

    if (c->has_ended)
        return false;
    if (c->effect_ns <= now_ns)
        return true;
    if (c->owner && !sim_process_is_live(c->owner))
        return false;
    return c->end_ns <= now_ns || (c->limit_ns <= now_ns && !c->result.timed_out);
}

static struct process *find_due_child(const struct sim *s, size_t *which)
{
    struct process *c;

    for (unsigned i = 0; i < s->machines_count; i++)
        TAILQ_FOREACH(c, &s->machines[i]->children, link)
            if (is_child_due(c) && (*which)-- == 0)
                return c;
    return NULL;
}

size_t children_due(const struct sim *s)
{
    size_t which = SIZE_MAX;

    (void)find_due_child(s, &which);
    return SIZE_MAX - which;
}

void children_deliver(struct sim *s, size_t which)
{
    struct process *c = find_due_child(s, &which);

    if (c->effect_ns <= s->now_ns) {
        child_take_effect(c);
    } else if (c->end_ns <= s->now_ns) {
        child_end(c);
    } else {
        c->result.timed_out = true;
        child_terminate(c);
    }
}

uint64_t children_next_ns(const struct sim *s)
{
    uint64_t next = UINT64_MAX;
    const struct process *c;

    for (unsigned i = 0; i < s->machines_count; i++)
        TAILQ_FOREACH(c, &s->machines[i]->children, link) {
            uint64_t times[] = { c->effect_ns, c->end_ns, c->limit_ns };

            for (size_t t = 0; t < ARRAY_LEN(times) && !c->has_ended; t++)
                if (times[t] > s->now_ns && times[t] < next)
                    next = times[t];
        }
    return next;
}

/* The owner was killed: the end is not reported. */
void children_lose_process(struct machine *m, const struct sim_process *p)
{
    struct process *c;

    TAILQ_FOREACH(c, &m->children, link)
        if (c->owner == p) {
            c->owner = NULL;
            c->done = NULL;
            if (c->end_ns == UINT64_MAX)
                c->end_ns = c->limit_ns;
        }
}

void children_kill_all(struct machine *m)
{
    struct process *next = TAILQ_FIRST(&m->children);

    while (next) {
        struct process *c = next;

        next = TAILQ_NEXT(c, link);
        child_free(c);
    }
}

/* --- io/process.h --- */

int machine_process_run(struct sys *k, struct loop *l, const struct process_spec *spec, process_done_fn done,
                        void *ctx, struct process **ret, struct error *err)
{
    int r = child_new(machine_of(k), spec, ret, err);

    (void)l;
    if (r < 0)
        return r;
    (*ret)->done = done;
    (*ret)->ctx = ctx;
    return 0;
}

void machine_process_cancel(struct sys *k, struct process *c)
{
    (void)k;
    if (c->result.term_signal == 0 && !c->has_ended) {
        c->result.cancelled = true;
        child_terminate(c);
    }
}

/* Kills the child, except while its owner is being killed: then the child continues. */
void machine_process_drop(struct sys *k, struct process *c)
{
    (void)k;
    if (c->owner && c->owner->is_dying)
        c->done = NULL;
    else
        child_free(c);
}

int machine_process_wait(struct sys *k, const struct process_spec *spec, const atomic_int *stop,
                         process_done_fn done, void *ctx, struct error *err)
{
    struct process *c = NULL;
    int r = child_new(machine_of(k), spec, &c, err);

    if (r < 0)
        return r;
    c->worker = worker_here();
    while (!c->has_ended) {
        if (!worker_wait(machine_of(k)->sim->now_ns + STOP_LOOK_NS)) { /* killed; the child continues */
            c->worker = NULL;
            children_lose_process(machine_of(k), sim_process_current());
            return error_set(err, ERR_CANCELLED, "%s was cancelled", spec->argv[0]);
        }
        if (stop && atomic_load(stop) != 0)
            machine_process_cancel(k, c);
    }
    done(ctx, &c->result);
    child_free(c);
    return 0;
}
