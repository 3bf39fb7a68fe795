/* The snapshotter of a driver: shared by csi_snapshotter.c (its queue and life cycle) and csi_snapshot_call.c
 * (one step for one content). */
#ifndef BERTH_CONTROLLERS_CSI_CSI_SNAPSHOTTER_INT_H
#define BERTH_CONTROLLERS_CSI_CSI_SNAPSHOTTER_INT_H

#include "base/rng.h"
#include "controllers/csi/csi_function.h"
#include "controllers/csi/csi_parameters.h"
#include "controllers/csi/csi_snapshot_plan.h"
#include "plugins/csi/csi_int.h"

#define CSI_SNAPSHOTTER_MANAGER "csi-snapshotter"

struct csi_snapshotter {
    struct csi_function_options o;
    struct informer *contents, *classes;
    struct informer_handler contents_handler;
    struct controller *controller; /* keys: names of contents */
    struct recorder *recorder;
    struct api api;
    struct rng rng;
    TAILQ_HEAD(, csi_snapshot_work) works;
    char component[320];
};

/* --- One step (csi_snapshot_call.c) --- */

struct csi_snapshot_work;

/* Ends with controller_finish(). False without memory. */
bool csi_snapshot_start(struct csi_snapshotter *s, struct str key, const struct snapshot_content *c,
                        enum csi_snapshot_step step);
/* Ends without a callback; what was sent may still take effect. */
void csi_snapshot_free(struct csi_snapshot_work *w);
/* False: no step is in progress for the content. */
bool csi_snapshot_explain(const struct csi_snapshotter *s, const char *name, struct csi_work_state *ret);
const char *csi_snapshot_check(const struct csi_snapshotter *s);

#endif
