/* What this machine is, as far as its Node says so: read on a worker, since the root's file system may be one
 * that hangs. */
#ifndef BERTH_NODE_MACHINE_H
#define BERTH_NODE_MACHINE_H

#include <stdint.h>

#include "host/system.h"
#include "io/job.h"

struct node_facts {
    struct host_system system;
    uint64_t storage_bytes; /* of the file system that the root is on */
};

/* Blocks: at the start, and on workers. */
int node_facts_read(const char *root, struct node_facts *ret, struct error *err);

/* The same as a job, which is begun; NULL without memory. */
struct job *node_facts_begin(const char *root, struct pool *pool, job_done_fn *done, void *ctx);
/* For its done: what it found. */
const struct node_facts *node_facts_of(struct job *j);

#endif
