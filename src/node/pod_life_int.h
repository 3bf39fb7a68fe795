/* What the files of a pod's life share. */
#ifndef BERTH_NODE_POD_LIFE_INT_H
#define BERTH_NODE_POD_LIFE_INT_H

#include "io/job.h"
#include "io/process.h"
#include "node/pod_life.h"

/* --- pod_life.c --- */

struct loop *life_loop(const struct node_pod *p);
/* Failures of the stage before, and its timer, are over. */
void life_set_stage(struct node_pod *p, enum pod_stage next);
/* The stage goes on by itself: nothing is to be begun now. */
bool life_is_busy(const struct pod_life *l);
/* The stage's timer comes after a delay that grows with each failure in a row. */
void life_try_later(struct node_pod *p);

/* done gets the pod, and has to forget life.job. */
void life_begin_job(struct node_pod *p, struct job *j, job_done_fn *done);
/* Writes the state file as it is in memory; false, and err, when that could not be begun. */
bool life_begin_write(struct node_pod *p, job_done_fn *done, struct error *err);

/* False when it could not be started: that is told, and tried later. done has to forget life.hook. */
bool life_start_hook(struct node_pod *p, bool is_teardown, process_done_fn done);
void life_hook_failed(struct node_pod *p, const struct error *err);

/* --- pod_start.c --- */

void life_look_at_volumes(struct node_pod *p);
/* The wait is long enough to be said, or too long. */
void life_check_wait(struct node_pod *p);
void life_prepare_again(struct node_pod *p);
/* The hook's setup; then the word on disk that it went well. */
void life_continue_setup(struct node_pod *p);
void life_look_at_ready(struct node_pod *p);

/* --- pod_end.c --- */

void life_enter_teardown(struct node_pod *p);
/* Both may be the end of p. */
void life_look_at_teardown(struct node_pod *p);
void life_look_at_cleanup(struct node_pod *p);

/* --- pod_room.c --- */

/* It has waited long: perhaps the node has no room for its volumes. */
void life_check_room(struct node_pod *p);

#endif
