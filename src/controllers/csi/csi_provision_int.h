/* The provisioner of a driver: shared by csi_provision.c (CreateVolume), csi_remove.c (DeleteVolume) and
 * csi_provisioner.c (its life cycle). */
#ifndef BERTH_CONTROLLERS_CSI_CSI_PROVISION_INT_H
#define BERTH_CONTROLLERS_CSI_CSI_PROVISION_INT_H

#include "controllers/csi/csi_capacity.h"
#include "controllers/csi/csi_create_plan.h"
#include "controllers/csi/csi_self_select.h"

#define CSI_PROVISIONER_MANAGER "external-provisioner"
#define CSI_PROVISIONER_FINALIZER "external-provisioner.volume.kubernetes.io/finalizer"
#define ANN_DELETION_SECRET_NAME "volume.kubernetes.io/provisioner-deletion-secret-name"
#define ANN_DELETION_SECRET_NAMESPACE "volume.kubernetes.io/provisioner-deletion-secret-namespace"
#define ANN_MODIFY_SECRET_NAME "volume.kubernetes.io/controller-modify-secret-name"
#define ANN_MODIFY_SECRET_NAMESPACE "volume.kubernetes.io/controller-modify-secret-namespace"
#define CSI_TIMEOUT_NS (10 * NS_PER_S)

struct csi_provisioner {
    struct csi_function_options o;
    struct csi_plan_inputs inputs;
    struct informer *volumes, *attachments, *drivers;
    struct api api;
    struct rng rng;
    struct recorder *recorder;
    struct provisioner *loop;
    struct csi_capacity_publisher *capacity; /* NULL: the driver's capacity is not published */
    struct csi_self_select *self_select;     /* NULL: the driver is not deployed per node */
    struct csi_source_guard *source_guard;
    char identity[512]; /* csiProvisionerIdentity of volumes */
    struct buf record_name;
};

extern const struct provisioner_type csi_storage_type; /* ctx: the csi_provisioner */

uint64_t csi_call_limit_ns(const struct csi_provisioner *p);

/* csi_provision.c */
int csi_provision_prepare(void *ctx, const struct provisioner_request *q, struct buf *memo,
                          enum provision_state *state, struct error *err);
void csi_provision_start(void *ctx, const struct provisioner_request *q, struct provision_call *c);
void csi_provision_cancel(void *ctx, struct provision_call *c);
/* csi_remove.c */
void csi_remove_start(void *ctx, const struct volume *v, const struct storage_class *class,
                      struct removal_call *c);
void csi_remove_cancel(void *ctx, struct removal_call *c);

#endif
