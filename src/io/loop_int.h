/* For the other files of io/ only: the libuv loop behind a loop.
 *
 * libuv lets go of a handle in a later turn. So whoever adds handles allocates them, frees them in their
 * close callback, and has closed them all before loop_free(), which then waits for those callbacks. */
#ifndef BERTH_IO_LOOP_INT_H
#define BERTH_IO_LOOP_INT_H

#include <uv.h>

#include "io/loop.h"

uv_loop_t *loop_uv(struct loop *l);

TAILQ_HEAD(job_list, job);
/* Begun and not ended: io/job.c's. */
struct job_list *loop_jobs(struct loop *l);

#endif
