#include "node/machine.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "host/files.h"

struct facts_job {
    struct job job;
    char *root;
    struct node_facts facts;
};

int node_facts_read(const char *root, struct node_facts *ret, struct error *err)
{
    struct node_facts f = { 0 };
    struct host_usage usage = { 0 };
    int r = host_system_read(&f.system, err);

    if (r == 0)
        r = host_usage_of_fs(root, &usage, err);
    if (r < 0)
        return error_wrap(err, "cannot tell what this machine is");
    f.storage_bytes = usage.capacity;
    *ret = f;
    return 0;
}

static int facts_run(struct job *j, struct error *err)
{
    struct facts_job *x = CONTAINER_OF(j, struct facts_job, job);

    return node_facts_read(x->root, &x->facts, err);
}

static void facts_free(struct job *j)
{
    struct facts_job *x = CONTAINER_OF(j, struct facts_job, job);

    free(x->root);
    free(x);
}

struct job *node_facts_begin(const char *root, struct pool *pool, job_done_fn *done, void *ctx)
{
    static const struct job_type type = { "facts about the machine", facts_run, facts_free };
    struct facts_job *x = calloc(1, sizeof *x);

    if (x)
        x->root = strdup(root);
    if (!x || !x->root) {
        free(x);
        return NULL;
    }
    x->job.type = &type;
    x->job.about = x->root;
    job_begin(&x->job, pool, done, ctx);
    return &x->job;
}

const struct node_facts *node_facts_of(struct job *j)
{
    return &CONTAINER_OF(j, struct facts_job, job)->facts;
}
