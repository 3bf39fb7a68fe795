/* Orphaned pod directories: found, and removed by the rules of pod_dir.h. Directories that cannot be removed
 * are counted and logged with the reason. */
#ifndef BERTH_NODE_ORPHANS_H
#define BERTH_NODE_ORPHANS_H

#include "io/pool.h"
#include "machinery/component_deps.h"
#include "node/pod_dir.h"

struct orphans;

enum pod_hold {
    POD_HOLD_NONE,
    POD_HOLD_VOLUMES, /* the pod is unknown, and a volume of it may be mounted: kept, counted as a failure */
    POD_HOLD_KNOWN,   /* the pod is known or running */
};

struct orphans_options {
    struct component_deps part;
    struct pool *pool;
    const struct volume_env *env;                          /* without stop; copied for each scan */
    enum pod_hold (*hold)(void *ctx, const char *pod_uid); /* asked on the loop */
    void *ctx;
};

int orphans_new(const struct orphans_options *o, struct orphans **ret, struct error *err);
/* Accepts NULL. */
struct orphans *orphans_free(struct orphans *o);
DEFINE_CLEANUP(struct orphans, orphans_free)

/* Requests a scan. Scans are at least two seconds apart: requests in between are merged. Failed removals are
 * retried automatically. */
void orphans_start(struct orphans *o);
void orphans_scan(struct orphans *o);

#endif
