/* Machine information for the Node's status. Read on a worker, since the root's file system may hang. */
#ifndef BERTH_NODE_MACHINE_INFO_H
#define BERTH_NODE_MACHINE_INFO_H

#include <stdint.h>

#include "host/system.h"
#include "io/job.h"

struct machine_info {
    struct host_system system;
    uint64_t storage_bytes; /* of the file system that the root is on */
};

/* Blocking: call at start or on a worker. */
int machine_info_read(const char *root, struct machine_info *ret, struct error *err);

/* Starts the same as a job; NULL when out of memory. */
struct job *machine_info_begin(const char *root, struct pool *pool, job_done_fn *done, void *ctx);
/* The result, for the job's done callback. */
const struct machine_info *machine_info_of(struct job *j);

#endif
