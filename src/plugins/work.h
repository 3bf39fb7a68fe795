/* What plugins share: one blocking function on the pool, with a time limit, whose end is a plugin_op's.
 *
 * The limit counts from the beginning and asks: it sets `stop`, which the function looks at. A function that
 * hangs in the kernel is not over, and its op is not done. */
#ifndef BERTH_PLUGINS_WORK_H
#define BERTH_PLUGINS_WORK_H

#include <limits.h>
#include <stdatomic.h>

#include "plugins/plugin.h"

enum plugin_stop { STOP_NONE, STOP_LIMIT, STOP_DROPPED };

struct plugin_work;

struct plugin_task {
    /* On a worker. Sees w->host, w->about, w->guard and w->path, and looks at w->stop. */
    int (*run)(struct plugin_work *w, struct error *err);
    /* On the loop, after run went well: what a provision has to tell. NULL for nothing. */
    int (*tell)(const struct plugin_work *w, struct buf *volume, struct error *err);
};

struct plugin_work {
    struct plugin_host host;
    const struct object *about; /* the volume or the claim; a reference */
    struct host_guard *guard;   /* NULL: the system's directories alone */
    char path[PATH_MAX];        /* the task's */
    atomic_int stop;            /* enum plugin_stop */

    const struct plugin_task *task;
    struct plugin_op *op; /* NULL once it was dropped */
    struct pool_work pooled;
    struct timer limit;
    uint64_t limit_s; /* 0: none */
    struct error err;
};

/* Begins a task for op. Whatever fails is told through op, too. path: NULL for none. */
void plugin_work_begin(const struct plugin_host *h, const struct plugin_task *task,
                       const struct object *about, const char *path, uint64_t limit_s, struct plugin_op *op);

/* Ends an op that never began: the error is told in a later turn. */
void plugin_op_fail(const struct plugin_host *h, struct plugin_op *op, const struct error *err);

/* How long a scrub may take: per_gib_s for each whole GiB, at least min_s. */
uint64_t plugin_scrub_limit_s(const struct volume *v, uint64_t min_s, uint64_t per_gib_s);

#endif
