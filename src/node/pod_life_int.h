/* Shared by the files that implement a pod's life (pod_life.c, pod_start.c, pod_end.c). */
#ifndef BERTH_NODE_POD_LIFE_INT_H
#define BERTH_NODE_POD_LIFE_INT_H

#include "io/job.h"
#include "io/process.h"
#include "node/pod_life.h"

/* --- pod_life.c --- */

struct loop *life_loop(const struct node_pod *p);
/* Resets the failures and the timer of the previous stage. */
void life_set_stage(struct node_pod *p, enum pod_stage next);
/* A step is in progress: nothing may be started now. */
bool life_is_busy(const struct pod_life *l);
/* Arms the stage's timer with a delay that increases with each consecutive failure. */
void life_try_later(struct node_pod *p);

/* done gets the pod, and must clear life.job. */
void life_begin_job(struct node_pod *p, struct job *j, job_done_fn *done);
/* Writes the state file from memory; false and err when the job could not be started. */
bool life_begin_write(struct node_pod *p, job_done_fn *done, struct error *err);
/* Writes that the pod is not ready. Its end syncs the pod; after a failure failed_to_withdraw is set. */
void life_withdraw_ready(struct node_pod *p);

/* False when the hook could not be started: this is reported and retried. done must clear life.hook. */
bool life_start_hook(struct node_pod *p, bool is_teardown, process_done_fn done);
void life_hook_failed(struct node_pod *p, const struct error *err);

/* --- pod_start.c --- */

void life_check_volumes(struct node_pod *p);
/* The wait has lasted long enough for the condition, or for an event. */
void life_check_wait(struct node_pod *p);
void life_check_prepare(struct node_pod *p);
void life_prepare_again(struct node_pod *p);
void life_check_setup(struct node_pod *p);
/* The hook's setup, then the write that records its success. */
void life_continue_setup(struct node_pod *p);
void life_check_ready(struct node_pod *p);

/* --- pod_end.c --- */

void life_enter_teardown(struct node_pod *p);
/* Both may free p. */
void life_check_teardown(struct node_pod *p);
void life_check_cleanup(struct node_pod *p);

/* --- pod_capacity.c --- */

/* The pod has waited long: checks whether a volume limit is the reason. */
void life_check_room(struct node_pod *p);

#endif
