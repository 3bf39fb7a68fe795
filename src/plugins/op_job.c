/* Runs the work of a plugin_op as a job on the pool, and reports failures to start from the loop. */
#include "plugins/op_job.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define GIB ((uint64_t)1 << 30)
#define LIMIT_S_MAX ((uint64_t)365 * 24 * 3600) /* a limit from an exbibyte would overflow the clock */
#define VOLUME_BYTES_MAX 65536

void op_job_free(struct job *j)
{
    struct op_job *job = op_job_of(j);

    (void)object_unref((struct object *)(uintptr_t)job->about);
    job->guard = host_guard_free(job->guard);
    buf_done(&job->volume);
    free(job);
}

static void op_job_done(void *ctx, struct job *j, int r, const struct error *err)
{
    struct op_job *job = op_job_of(j);
    struct plugin_op *op = ctx;
    struct error why = *err;

    op->work = NULL;
    op->drop = NULL;
    if (j->state == JOB_REFUSED)
        r = -(int)(why.code = ERR_BUSY); /* retry later */
    if (r == 0 && job->volume.len) {
        buf_add_str(&op->volume, buf_str(&job->volume));
        r = buf_check(&op->volume, "provisioned volume", &why);
    }
    op->done(op, r, &why);
}

static void op_job_drop(struct plugin_op *op)
{
    op->drop = NULL;
    op->work = job_drop(op->work);
}

void op_job_begin(const struct plugin_host *h, const struct job_type *type, const struct object *about,
                  const char *path, uint64_t limit_s, struct plugin_op *op)
{
    struct op_job *job = calloc(1, sizeof *job);
    struct error err = { 0 };

    assert(!op->drop);
    if (!job) {
        (void)error_no_memory(&err);
        plugin_op_fail(h, op, &err);
        return;
    }
    job->host = *h;
    job->about = object_ref(about);
    job->guard = TAKE(op->guard);
    job->volume = BUF_INIT(VOLUME_BYTES_MAX);
    if (path)
        (void)snprintf(job->path, sizeof job->path, "%s", path); /* a cleaned path fits */
    job->job.type = type;
    job->job.about = about->name;
    job->job.limit_ns = limit_s * NS_PER_S;
    op->work = &job->job;
    op->drop = op_job_drop;
    job_begin(&job->job, h->pool, op_job_done, op);
}

/* Failures */

static void failure_on_turn(void *ctx)
{
    struct plugin_op *op = ctx;
    struct error err = op->failure;

    op->drop = NULL;
    op->done(op, -(int)err.code, &err);
}

static void failure_drop(struct plugin_op *op)
{
    op->drop = NULL;
    loop_undefer(&op->later);
}

void plugin_op_fail(const struct plugin_host *h, struct plugin_op *op, const struct error *err)
{
    assert(!op->drop);
    op->failure = *err;
    op->drop = failure_drop;
    deferred_init(&op->later, h->loop, failure_on_turn, op);
    loop_defer(&op->later);
}

uint64_t plugin_scrub_limit_s(const struct volume *v, uint64_t min_s, uint64_t per_gib_s)
{
    int64_t bytes = quantity_value(&v->capacity);
    uint64_t limit_s = bytes > 0 ? (uint64_t)bytes / GIB * per_gib_s : 0;

    if (limit_s < min_s)
        limit_s = min_s;
    return limit_s < LIMIT_S_MAX ? limit_s : LIMIT_S_MAX;
}
