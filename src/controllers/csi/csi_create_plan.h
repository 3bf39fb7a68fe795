/* What a CreateVolume asks for: decided once from a claim, its class and the nodes, recorded before the first
 * call, and sent again unchanged until the result is known. Secrets are references: their values are read
 * before each call. */
#ifndef BERTH_CONTROLLERS_CSI_CSI_CREATE_PLAN_H
#define BERTH_CONTROLLERS_CSI_CSI_CREATE_PLAN_H

#include <rpc/proto/csi.pb-c.h>

#include "controllers/csi/csi_function.h"
#include "controllers/csi/csi_parameters.h"
#include "controllers/csi/csi_source.h"
#include "controllers/csi/csi_topology.h"
#include "controllers/provisioner_type.h"
#include "plugins/csi/csi_int.h"

#define CSI_PLAN_BYTES_MAX ((size_t)1 << 20)

struct csi_create_plan {
    int64_t bytes;
    uint8_t modes; /* ACCESS_* */
    bool is_block;
    bool is_scheduled; /* for a selected node: a refusal for lack of resources is a reason for another */
    bool has_single_modes;
    const char *fs_type;          /* "" for none */
    const char *attributes_class; /* "" for none */
    struct texts mount_flags;
    struct kvs parameters;
    struct kvs mutable_parameters;
    struct secret_ref secrets[CSI_SECRET_USE_COUNT];
    struct csi_topology topology;
    struct csi_data_source source;
};

/* What plans are decided from. */
struct csi_plan_inputs {
    const struct csi_peer *peer;
    const struct csi_driver_settings *settings;
    const struct informer *nodes, *csi_nodes;
    const struct informer *attributes_classes; /* NULL: the server has none */
    struct csi_source_caches sources;
    struct rng *rng;
};

/* *state as for provisioner_type.prepare(). Texts are in the arena, or borrowed from the objects. */
int csi_create_plan(struct arena *a, const struct csi_plan_inputs *in, const struct provisioner_request *q,
                    struct csi_create_plan *ret, enum provision_state *state, struct error *err);

/* As JSON, and back. */
void csi_create_plan_write(struct buf *out, const struct csi_create_plan *p);
int csi_create_plan_read(struct arena *a, struct str text, struct csi_create_plan *ret, struct error *err);

/* The request. name is borrowed; secret: of the provisioner, NULL for none. */
int csi_create_message(struct arena *a, const struct csi_create_plan *p, const char *name,
                       const struct secret *secret, Csi__V1__CreateVolumeRequest *m, struct error *err);

#endif
