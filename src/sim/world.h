/* A simulated world, as its parts and scenarios see it. */
#ifndef BERTH_SIM_WORLD_H
#define BERTH_SIM_WORLD_H

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

#define SIM_PROCESSES_MAX 6
/* So that watches that fell behind find out that it is too late. */
#define SIM_HISTORY_COUNT 60

struct sim_process;

/* A program, as it runs in a process of its own. */
struct sim_program {
    const char *name;
    /* A fresh start: whatever it had in memory before is gone. */
    void *(*start)(struct sim_process *p, void *ctx);
    /* It is killed: frees what it had, and does nothing else. */
    void (*kill)(void *state);
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
    uint64_t seed;       /* of this start */
    unsigned starts;     /* so far */
    bool has_work;       /* its loop wants a turn */
    bool has_exited;     /* it wants to end, and is started again as after a crash */
    uint64_t resumes_ns; /* paused until then; 0: it runs */
    uint64_t starts_ns;  /* dead until then */
    uint64_t rejoins_ns; /* cut off from the server until then */
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
    bool has_failed;
    bool is_healed;
    uint32_t step;
    unsigned faults_made;
    uint64_t now_ns;
    uint64_t second_ns;    /* when this second began, … */
    uint32_t second_steps; /* … and the steps in it */
    struct rng schedule;   /* who is next */
    struct rng faults;     /* what goes wrong on a larger scale */
    struct rng work;       /* what people do */
    struct sim_server server;
    struct sim_process processes[SIM_PROCESSES_MAX];
    unsigned processes_count;
    struct network network;
    struct sim_host host;
    void *scenario;    /* its state */
    uint64_t works_ns; /* when somebody changes something next */
};

/* --- For scenarios --- */

/* Something that must never be. The first one counts. */
void sim_fail(struct sim *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A line in the trace. */
void sim_trace(struct sim *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

struct sim_process *sim_spawn(struct sim *s, const struct sim_program *program, void *ctx);
/* It is killed, and starts again at that moment, or when the world heals. */
void sim_halt(struct sim_process *p, uint64_t starts_ns);
/* True while it runs and has not been told to stand still. */
bool sim_process_is_live(const struct sim_process *p);

/* A request of somebody who has a good connection; the answer is traced and forgotten. */
void sim_request(struct sim *s, const struct client_request *q);

/* May this fault happen now: allowed, not healed, and the dice say so, `percent` of 100 times. */
bool sim_has_fault(struct sim *s, struct rng *r, enum sim_fault f, unsigned percent);
/* Its bit is set and the world is not healed. */
bool sim_may_fault(const struct sim *s, enum sim_fault f);

/* Memory, or the end of the process: a simulation that lacks it proves nothing. */
void *sim_alloc(size_t bytes);

#endif
