/* A simulated world: what its parts and the scenarios use. */
#ifndef BERTH_SIM_SIM_WORLD_H
#define BERTH_SIM_SIM_WORLD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "apiserver/server.h"
#include "base/clock.h"
#include "base/rng.h"
#include "client/client.h"
#include "io/loop.h"
#include "sim/host.h"
#include "sim/network.h"
#include "sim/sim.h"
#include "sim/trace.h"
#include "store/store.h"

#define SIM_PROCESSES_MAX 16
#define SIM_MACHINES_MAX 8
/* Small, so that watches which fall behind get an "expired" error. */
#define SIM_HISTORY_COUNT 60

/* How often the memory of processes that have run is checked, and how often expensive checks run, of the
 * whole store and of large indexes. Corrupt memory stays corrupt as a rule: it is found some steps later. */
#define SIM_MEMORY_STEPS 4
#define SIM_THOROUGH_STEPS 256

struct machine;
struct sim_pool;
struct sim_process;

/* A program that runs in a simulated process. */
struct sim_program {
    const char *name;
    /* Starts with empty memory and returns the state of the program. */
    void *(*start)(struct sim_process *p, void *ctx);
    /* The process is killed: only frees the state. */
    void (*kill)(void *state);
    /* Checks the memory of the program once in SIM_MEMORY_STEPS steps, if its code ran in one of them: NULL,
     * or the inconsistency. is_thorough is set once in SIM_THOROUGH_STEPS steps, for expensive checks. May be
     * NULL. */
    const char *(*check)(const void *state, bool is_thorough);
};

struct sim_process {
    struct sim *sim;
    const struct sim_program *program;
    void *ctx;
    void *state; /* NULL: not running */
    struct manual_clock clock;
    struct loop *loop;
    struct sim_link *link;
    struct client *client;
    struct machine *machine;      /* where it runs; NULL: on none */
    TAILQ_HEAD(, sim_pool) pools; /* of its workers */
    bool is_dying;                /* it is being killed: its system calls have no effect */
    uint64_t seed;                /* of this start */
    unsigned starts;              /* so far */
    bool has_work;                /* its loop needs a turn */
    bool has_run;                 /* its code has run since the last check of its memory */
    bool has_exited;              /* it exits after this step, and is restarted like after a crash */
    uint64_t resumes_ns;          /* suspended until then; 0: not suspended */
    uint64_t starts_ns;           /* not running until then */
    uint64_t rejoins_ns;          /* partitioned from the server until then */
};

struct sim_server {
    struct manual_clock clock;
    struct loop *loop;
    struct store *store;
    struct metrics *metrics;
    struct authenticator *authenticator;
    struct apiserver *api; /* NULL: down */
    struct client_carrier *carrier;
    bool has_work;
    uint64_t starts_ns; /* down until then */
    unsigned starts;
};

struct sim {
    struct sim_options options;
    struct trace trace;
    struct error failure;
    char rule[SIM_MESSAGE_BYTES]; /* of the failure */
    bool has_failed;
    bool is_healed;
    uint32_t step;
    unsigned faults_made;
    bool is_muted; /* the current action is omitted: no requests, no lines in the trace */
    uint64_t now_ns;
    uint64_t second_ns;           /* when the current second began */
    uint32_t second_steps;        /* steps in the current second */
    struct rng schedule;          /* who runs next */
    struct rng faults;            /* large faults: of processes, machines and the server */
    unsigned large_fault_divisor; /* of large faults one in so many happens; 0: all. Set by the scenario */
    struct rng work;              /* the workload */
    struct sim_server server;
    struct sim_process processes[SIM_PROCESSES_MAX];
    unsigned processes_count;
    struct network network;
    struct sim_host host;
    struct machine *machines[SIM_MACHINES_MAX];
    unsigned machines_count;
    void *scenario;          /* the state that begin() returned */
    uint64_t next_action_ns; /* when the workload acts next */
};

/* --- For scenarios --- */

/* Reports a violated invariant. The first one fails the run. The format identifies the invariant, together
 * with the text after ": " if the format ends with ": %s" (rule.h). */
void sim_fail(struct sim *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Adds a line to the trace. */
void sim_trace(struct sim *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Adds a quiet line, for frequent events: reports of failures omit it. */
void sim_trace_quietly(struct sim *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

struct sim_process *sim_spawn(struct sim *s, const struct sim_program *program, void *ctx);
/* The same on a machine, whose simulated kernel serves the system calls. */
struct sim_process *sim_spawn_on(struct machine *m, const struct sim_program *program, void *ctx);
/* Kills the process. It is restarted at that moment, or when the world heals. */
void sim_halt(struct sim_process *p, uint64_t starts_ns);
/* Cuts the power of the machine: kills its processes, which are restarted at that moment. */
void sim_reboot(struct machine *m, uint64_t starts_ns);
/* True while the process runs and is not suspended. */
bool sim_process_is_live(const struct sim_process *p);

/* True in the last quarter of the fault phase. A scenario that deletes nothing then sees in its final state
 * what went wrong. */
bool sim_is_last_quarter(const struct sim *s);

/* The state of objects in the server's store, and of files and mounts of machines, at the last check. */
struct sim_mark {
    int64_t revision;
    uint64_t changes;
};
/* True if something was written since the last call with this mark, and at the first call. */
bool sim_has_changed(const struct sim *s, struct sim_mark *m);

/* Sends a request of the workload, over a reliable connection; the answer is only traced. Does nothing in an
 * omitted action, and while the server is down. */
void sim_request(struct sim *s, const struct client_request *q);

/* Draws whether this fault happens now, with a probability of `percent`. False if sim_may_fault() is, or if
 * the fault is omitted by its number. */
bool sim_has_fault(struct sim *s, struct rng *r, enum sim_fault f, unsigned percent);
/* True if the fault is enabled, the world is not healed, and the current action is not omitted. */
bool sim_may_fault(const struct sim *s, enum sim_fault f);

/* Aborts if r is not 0. For calls that fail only without memory. */
void sim_must(int r, const struct error *err);
/* Returns zeroed memory, or aborts: a simulation without memory proves nothing. */
void *sim_alloc(size_t bytes);

#endif
