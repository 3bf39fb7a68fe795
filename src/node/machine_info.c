/* Reads the machine information of a Node: the system (host/system.h) and the size of the root's file system,
 * whose statfs() can hang. */
#include "node/machine_info.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "host/files.h"

struct info_job {
    struct job job;
    char *root;
    struct machine_info facts;
};

int machine_info_read(const char *root, struct machine_info *ret, struct error *err)
{
    struct machine_info f = { 0 };
    struct host_usage usage = { 0 };
    int r = host_system_read(&f.system, err);

    if (r == 0)
        r = host_usage_of_fs(root, &usage, err);
    if (r < 0)
        return error_wrap(err, "cannot read machine information");
    f.storage_bytes = usage.capacity;
    *ret = f;
    return 0;
}

static int info_run(struct job *j, struct error *err)
{
    struct info_job *info_job = CONTAINER_OF(j, struct info_job, job);

    return machine_info_read(info_job->root, &info_job->facts, err);
}

static void info_free(struct job *j)
{
    struct info_job *info_job = CONTAINER_OF(j, struct info_job, job);

    free(info_job->root);
    free(info_job);
}

struct job *machine_info_begin(const char *root, struct pool *pool, job_done_fn *done, void *ctx)
{
    static const struct job_type type = { "machine information", info_run, info_free };
    struct info_job *info_job = calloc(1, sizeof *info_job);

    if (info_job)
        info_job->root = strdup(root);
    if (!info_job || !info_job->root) {
        free(info_job);
        return NULL;
    }
    info_job->job.type = &type;
    info_job->job.about = info_job->root;
    job_begin(&info_job->job, pool, done, ctx);
    return &info_job->job;
}

const struct machine_info *machine_info_of(struct job *j)
{
    return &CONTAINER_OF(j, struct info_job, job)->facts;
}
