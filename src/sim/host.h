/* The host of a simulated world: long operations on named things, which may be slow, fail, hang, or succeed
 * when nobody waits any more.
 *
 * An operation has an effect at one moment and an end that is told at another; a fault takes away one of the
 * two, or puts a long time between them. When the process that began it is killed the effect may still come,
 * as that of a child process or a driver would. */
#ifndef BERTH_SIM_HOST_H
#define BERTH_SIM_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/error.h"
#include "base/rng.h"
#include "base/str.h"

struct host_op;
struct sim;
struct sim_process;

TAILQ_HEAD(host_op_list, host_op);

struct sim_host {
    struct sim *sim;
    struct rng rng;
    struct host_op_list ops;
    bool is_poor; /* what fails, hangs or is slow does so three times as often */
    /* Somebody begins an operation. Set by the scenario, or NULL. */
    void (*on_begin)(void *ctx, const char *what, const char *name);
    /* What an operation does to the world, at the moment when it does it. Set by the scenario. */
    void (*on_effect)(void *ctx, const char *what, const char *name);
    void *ctx;
};

typedef void host_done_fn(void *ctx, int r, const struct error *err);

void host_init(struct sim_host *h, struct sim *s);
void host_done(struct sim_host *h);

/* Begins it for a process; done comes once, unless it hangs: host_cancel() then ends it. */
struct host_op *host_start(struct sim_host *h, struct sim_process *p, const char *what, const char *name,
                           host_done_fn *done, void *ctx);
/* The end comes soon, if it has not: ERR_CANCELLED. The effect may come all the same. */
void host_cancel(struct host_op *op);
/* The process is gone: its operations' ends are told to nobody. */
void host_lose_process(struct sim_host *h, const struct sim_process *p);

/* As in network.h. */
size_t host_due(struct sim_host *h);
void host_deliver(struct sim_host *h, size_t which);
uint64_t host_next_ns(const struct sim_host *h);
/* Operations of living processes. */
size_t host_pending(const struct sim_host *h);

#endif
