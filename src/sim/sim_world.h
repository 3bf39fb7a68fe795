/* A simulated world, as its parts and scenarios see it. */
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
/* So that watches that fell behind find out that it is too late. */
#define SIM_HISTORY_COUNT 60

/* How often the memory of processes that have run is looked at, and what costs much: the whole store, large
 * indexes. What does not fit together there stays so, as a rule: it is found some steps later. */
#define SIM_MEMORY_STEPS 4
#define SIM_THOROUGH_STEPS 256

struct machine;
struct sim_pool;
struct sim_process;

/* A program, as it runs in a process of its own. */
struct sim_program {
    const char *name;
    /* A fresh start: whatever it had in memory before is gone. */
    void *(*start)(struct sim_process *p, void *ctx);
    /* It is killed: frees what it had, and does nothing else. */
    void (*kill)(void *state);
    /* Every SIM_MEMORY_STEPS steps, if its code ran in one of them: NULL when what it has in memory fits
     * together, else what does not. thorough: every SIM_THOROUGH_STEPS steps, for what costs more. NULL:
     * nothing is looked at. */
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
    struct machine *machine;      /* where it runs; NULL: nowhere in particular */
    TAILQ_HEAD(, sim_pool) pools; /* its workers */
    bool is_dying;                /* it is being killed: its calls have no effect */
    uint64_t seed;                /* of this start */
    unsigned starts;              /* so far */
    bool has_work;                /* its loop wants a turn */
    bool has_run;                 /* its code, since its memory was last looked at */
    bool has_exited;              /* it wants to end, and is started again as after a crash */
    uint64_t resumes_ns;          /* paused until then; 0: it runs */
    uint64_t starts_ns;           /* dead until then */
    uint64_t rejoins_ns;          /* cut off from the server until then */
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
    bool is_muted; /* the act that is gone through is left out: no requests, no lines in the trace */
    uint64_t now_ns;
    uint64_t second_ns;    /* when this second began, … */
    uint32_t second_steps; /* … and the steps in it */
    struct rng schedule;   /* who is next */
    struct rng faults;     /* what goes wrong on a larger scale */
    unsigned calm;         /* only one in so many of those happens; 0: all. Set by the scenario */
    struct rng work;       /* what people do */
    struct sim_server server;
    struct sim_process processes[SIM_PROCESSES_MAX];
    unsigned processes_count;
    struct network network;
    struct sim_host host;
    struct machine *machines[SIM_MACHINES_MAX];
    unsigned machines_count;
    void *scenario;    /* its state */
    uint64_t works_ns; /* when somebody changes something next */
};

/* --- For scenarios --- */

/* Something that must never be. The first one counts. The format is the invariant's identity, and so is the
 * text behind ": " where it ends with ": %s". */
void sim_fail(struct sim *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A line in the trace. */
void sim_trace(struct sim *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* One that reports of failures are without: what goes on all the time. */
void sim_trace_quietly(struct sim *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

struct sim_process *sim_spawn(struct sim *s, const struct sim_program *program, void *ctx);
/* The same on a machine, which is its kernel; NULL: none. */
struct sim_process *sim_spawn_on(struct machine *m, const struct sim_program *program, void *ctx);
/* It is killed, and starts again at that moment, or when the world heals. */
void sim_halt(struct sim_process *p, uint64_t starts_ns);
/* The machine loses its power: whatever ran there is killed, and starts again at that moment. */
void sim_reboot(struct machine *m, uint64_t starts_ns);
/* True while it runs and has not been told to stand still. */
bool sim_process_is_live(const struct sim_process *p);

/* The last quarter of the steps before the healing. If people delete nothing then, what has gone wrong is seen
 * in the end. */
bool sim_is_last_quarter(const struct sim *s);

/* What was there when somebody looked last: objects in the server's store, files and mounts of machines. */
struct sim_mark {
    int64_t revision;
    uint64_t changes;
};

/* True when there is something to look at again: it was written to since the last call, or this is the first.
 */
bool sim_has_changed(const struct sim *s, struct sim_mark *m);

/* A request of somebody who has a good connection; the answer is traced and forgotten. Nothing in an act that
 * is left out, as while the server is down. */
void sim_request(struct sim *s, const struct client_request *q);

/* May this fault happen now: allowed, not healed, not left out, and the dice say so, `percent` of 100 times.
 */
bool sim_has_fault(struct sim *s, struct rng *r, enum sim_fault f, unsigned percent);
/* Its bit is set, the world is not healed, and no act is left out now. */
bool sim_may_fault(const struct sim *s, enum sim_fault f);

/* 0, or the end of the process: what cannot fail but for lack of memory. */
void sim_must(int r, const struct error *err);
/* Memory, or the end of the process: a simulation that lacks it proves nothing. */
void *sim_alloc(size_t bytes);

#endif
