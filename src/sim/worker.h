/* Workers of simulated processes: they run the jobs of a pool when the kernel is a simulated machine.
 *
 * A worker is a fiber: its function can stop in the middle of a system call and continue later, when the seed
 * decides. It stops at system calls (worker_call()) and while it waits (worker_wait()). When its process is
 * killed, the rest of the function runs at once and without effect: every system call fails. */
#ifndef BERTH_SIM_WORKER_H
#define BERTH_SIM_WORKER_H

#include "io/pool.h"
#include "sim/machine.h"

struct sim_worker;

/* The system call pool_new: a pool of the current process. */
int machine_pool_new(struct sys *k, struct loop *l, struct pool **ret, struct error *err);

/* The process whose code runs, in its loop or in a worker; NULL: none. */
struct sim_process *sim_process_current(void);
/* Makes p the current process, and its machine the current kernel; NULL: none. Returns the previous one. */
struct sim_process *sim_process_enter(struct sim_process *p);

/* Called at each system call: other processes may run meanwhile. Returns 0, or the errno of a call that fails
 * without effect. */
int worker_call(struct machine *m, const char *what, const char *path);

/* True if a system call of the current worker has failed because of a fault. */
bool worker_has_failed(void);

/* The current worker; NULL: a loop runs. */
struct sim_worker *worker_here(void);
/* Stops the current worker until that moment, or until worker_wake(). False: its process was killed. */
bool worker_wait(uint64_t until_ns);
void worker_wake(struct sim_worker *w);

/* As in network.h. */
size_t workers_due(struct sim *s);
void workers_deliver(struct sim *s, size_t which);
uint64_t workers_next_ns(const struct sim *s);
/* The number of long-running jobs of running processes. */
size_t workers_pending(const struct sim *s);

#endif
