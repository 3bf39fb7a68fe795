/* Workers of simulated processes: what jobs run on when the kernel is a simulated machine.
 *
 * A worker is a fiber, so that its function can stop in the middle of a call and go on later; the seed
 * decides when. It stops at calls of the kernel (worker_call()) and while it waits (worker_wait()). When its
 * process is killed, what is left of the function runs at once and without effect: every call fails. */
#ifndef BERTH_SIM_WORKER_H
#define BERTH_SIM_WORKER_H

#include "io/pool.h"
#include "sim/machine.h"

struct sim_worker;

/* A call of machines: a pool of the process whose code runs. */
int machine_pool_new(struct sys *k, struct loop *l, struct pool **ret, struct error *err);

/* The process whose code runs, its loop's or a worker's. */
struct sim_process *sim_process_current(void);
/* From here on code of p runs, on p's machine; NULL: of nobody. The one before. */
struct sim_process *sim_process_enter(struct sim_process *p);

/* At each call of the kernel: others may run meanwhile. 0, or the errno with which it fails without effect.
 */
int worker_call(struct machine *m, const char *what, const char *path);

/* A call of this worker's function has failed for a fault. */
bool worker_has_failed(void);

/* The worker that runs; NULL: a loop does. */
struct sim_worker *worker_here(void);
/* Stops until that moment, or until worker_wake(). False: its process was killed. */
bool worker_wait(uint64_t until_ns);
void worker_wake(struct sim_worker *w);

/* As in network.h. */
size_t workers_due(struct sim *s);
void workers_deliver(struct sim *s, size_t which);
uint64_t workers_next_ns(const struct sim *s);
/* Jobs of living processes that take long. */
size_t workers_pending(const struct sim *s);

#endif
