/* The host of a simulated world: long operations on named things, which may be slow, fail, hang, or succeed
 * after their timeout.
 *
 * An operation takes effect at one moment, and its end is reported at another. A fault suppresses one of
 * them, or puts a long time between them. If the process that started the operation is killed, the operation
 * may still take effect, like that of a child process or a driver. */
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
    bool is_unreliable; /* operations fail, hang and are slow three times as often */
    /* Called when an operation starts. Set by the scenario; may be NULL. */
    void (*on_begin)(void *ctx, const char *what, const char *name);
    /* Called when an operation takes effect. Set by the scenario; may be NULL. */
    void (*on_effect)(void *ctx, const char *what, const char *name);
    void *ctx;
};

typedef void host_done_fn(void *ctx, int r, const struct error *err);

void host_init(struct sim_host *h, struct sim *s);
void host_done(struct sim_host *h);

/* Starts an operation for a process. done is called once, unless it hangs: host_cancel() ends it then. */
struct host_op *host_start(struct sim_host *h, struct sim_process *p, const char *what, const char *name,
                           host_done_fn *done, void *ctx);
/* The operation ends soon, with a failure. It may still take effect. */
void host_cancel(struct host_op *op);
/* The process was killed: the ends of its operations are not reported. */
void host_lose_process(struct sim_host *h, const struct sim_process *p);

/* As in network.h. */
size_t host_due(struct sim_host *h);
void host_deliver(struct sim_host *h, size_t which);
uint64_t host_next_ns(const struct sim_host *h);
/* The number of operations whose end is still to be reported. */
size_t host_pending(const struct sim_host *h);

#endif
