/* The attacher of a driver: shared by csi_attacher.c (queues and life cycle), csi_attach_call.c (one attach
 * or detach, step by step) and csi_attach_reconcile.c (comparison with the driver's own list). */
#ifndef BERTH_CONTROLLERS_CSI_CSI_ATTACHER_INT_H
#define BERTH_CONTROLLERS_CSI_CSI_ATTACHER_INT_H

#include "api/attachment.h"
#include "api/volume.h"
#include "base/map.h"
#include "base/rng.h"
#include "controllers/csi/csi_function.h"
#include "machinery/api_write.h"
#include "plugins/csi/csi_int.h"

#define CSI_ATTACHER_MANAGER "external-attacher"
#define ANN_CSI_NODE_ID "csi.alpha.kubernetes.io/node-id"
/* Attachments by the name of their volume. */
#define ATTACHMENTS_BY_VOLUME "volume"

struct csi_attach_reconcile;

struct csi_attacher {
    struct csi_function_options o;
    bool is_trivial; /* the driver attaches nothing: attachments are attached at once */
    struct informer *attachments, *volumes, *csi_nodes;
    struct informer_handler attachments_handler, volumes_handler;
    struct controller *controller; /* keys: names of attachments */
    struct controller *releases;   /* keys: names of volumes that are being deleted */
    struct api api;
    struct rng rng;
    struct map forced; /* names of attachments to be synced whatever their status says */
    TAILQ_HEAD(, csi_attach_work) works;
    struct csi_attach_reconcile *reconcile; /* NULL: the driver cannot list what is published */
    char finalizer[128];
    char queue_names[2][CSI_QUEUE_BYTES];
};

/* True if the attachment is one of this driver. */
bool csi_attacher_owns(const struct csi_attacher *a, const struct attachment *va);
/* The id of the node of an attachment, as its CSINode has it; NULL: not there. */
const char *csi_attacher_node_id(const struct csi_attacher *a, const struct attachment *va);
/* The attachment's status does not match the driver: it is synced once more. */
void csi_attacher_force(struct csi_attacher *a, const struct attachment *va);
/* The volume of an attachment with a CSI source, for object_unref(); ret_kept: the object in the API that
 * needs the finalizer, borrowed, NULL for an inline volume. */
int csi_attacher_volume(const struct csi_attacher *a, const struct attachment *va, struct object **ret,
                        const struct object **ret_kept, struct error *err);

/* --- One attach or detach (csi_attach_call.c) --- */

struct csi_attach_work;

/* Ends with controller_finish(). False without memory. */
bool csi_attach_start(struct csi_attacher *a, struct str key, const struct attachment *va);
/* Ends without a callback; what was sent may still take effect. */
void csi_attach_free(struct csi_attach_work *w);
const char *csi_attach_check(const struct csi_attacher *a);

/* --- Comparison with the driver's list (csi_attach_reconcile.c) --- */

int csi_attach_reconcile_new(struct csi_attacher *a, struct csi_attach_reconcile **ret, struct error *err);
void csi_attach_reconcile_start(struct csi_attach_reconcile *c);
struct csi_attach_reconcile *csi_attach_reconcile_free(struct csi_attach_reconcile *c);

#endif
