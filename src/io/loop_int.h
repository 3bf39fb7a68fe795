/* The libuv loop of a loop, for the files of io/ only.
 *
 * libuv releases a handle in a later turn. So handles are allocated, freed in their close callback, and all
 * closed before loop_free(), which then waits for those callbacks. */
#ifndef BERTH_IO_LOOP_INT_H
#define BERTH_IO_LOOP_INT_H

#include <uv.h>

#include "io/loop.h"

uv_loop_t *loop_uv(struct loop *l);

TAILQ_HEAD(job_list, job);
/* Jobs that have begun and not ended; used by io/job.c. */
struct job_list *loop_jobs(struct loop *l);

#endif
