/* The snapshotter of a driver: shared by csi_snapshotter.c (its queue and life cycle), csi_snapshot_call.c
 * (one step for one content) and csi_snapshot_record.c (creations without a known result). */
#ifndef BERTH_CONTROLLERS_CSI_CSI_SNAPSHOTTER_INT_H
#define BERTH_CONTROLLERS_CSI_CSI_SNAPSHOTTER_INT_H

#include "base/map.h"
#include "base/rng.h"
#include "controllers/call_record.h"
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
    struct call_record *record;
    bool is_loaded;       /* the record was read */
    struct map creations; /* csi_snapshot_creation by the name of the content */
    char component[320];
    char record_name[640];
};

/* --- One step (csi_snapshot_call.c) --- */

struct csi_snapshot_work;

/* Ends with controller_finish(). False without memory. CSI_SNAPSHOT_REST: the content is gone, and a creation
 * for it has no known result. */
bool csi_snapshot_start(struct csi_snapshotter *s, struct str key, const struct snapshot_content *c,
                        enum csi_snapshot_step step);
/* Ends without a callback; what was sent may still take effect. */
void csi_snapshot_free(struct csi_snapshot_work *w);
/* False: no step is in progress for the content. */
bool csi_snapshot_explain(const struct csi_snapshotter *s, const char *name, struct csi_work_state *ret);
const char *csi_snapshot_check(const struct csi_snapshotter *s);

/* --- Creations without a known result (csi_snapshot_record.c) --- */

/* The content as recorded; NULL: none. The content may not exist any more. */
const struct object *csi_snapshot_creation(const struct csi_snapshotter *s, struct str key);
/* w->done() follows when it is durable. */
int csi_snapshot_creation_begin(struct csi_snapshotter *s, const struct object *content,
                                struct call_record_write *w, struct error *err);
/* The result is known. Accepts a key without a creation. */
void csi_snapshot_creation_end(struct csi_snapshotter *s, struct str key);
int csi_snapshot_record_open(struct csi_snapshotter *s, struct error *err);
void csi_snapshot_record_close(struct csi_snapshotter *s);

#endif
