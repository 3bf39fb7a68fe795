/* A job whose end is the end of a plugin_op: for the work that plugins do for the binder. */
#ifndef BERTH_PLUGINS_PLUGIN_JOB_H
#define BERTH_PLUGINS_PLUGIN_JOB_H

#include <limits.h>

#include "io/job.h"
#include "plugins/plugin.h"

struct plugin_job {
    struct job job;

    /* For its function. */
    struct plugin_host host;
    struct object *about;     /* the volume or the claim; a reference */
    struct host_guard *guard; /* NULL: the system's directories only */
    char path[PATH_MAX];      /* of the function */
    struct buf volume;        /* of the function: the result of a provision */

    struct plugin_op *op;
};

static inline struct plugin_job *plugin_job_of(struct job *j)
{
    return CONTAINER_OF(j, struct plugin_job, job);
}

/* Starts a job of that type for op and takes its guard. All failures are reported through op, a missing
 * worker as ERR_BUSY. path: NULL for none. limit_s: 0 for none. */
void plugin_job_begin(const struct plugin_host *h, const struct job_type *type, const struct object *about,
                      const char *path, uint64_t limit_s, struct plugin_op *op);
/* The free function of all these types. */
void plugin_job_free(struct job *j);

/* Ends an op that was never started: the error is reported in a later turn. */
void plugin_op_fail(const struct plugin_host *h, struct plugin_op *op, const struct error *err);

/* The time limit of a scrub: per_gib_s for each whole GiB, at least min_s. */
uint64_t plugin_scrub_limit_s(const struct volume *v, uint64_t min_s, uint64_t per_gib_s);

#endif
