/* The model of a CSI driver with a Controller service: a process with a socket, and the storage that it
 * manages (storage.h).
 *
 * The storage survives the process: a restarted driver knows all volumes, and may have other capabilities.
 * Calls are idempotent. The model fails the run on a call that the protocol forbids: the same volume, or a
 * volume whose creation has not ended, requested with other arguments; a volume deleted while a node has it
 * or while its claim is bound to it; another modification before the end of the last one is known; a volume
 * published that does not exist, or changed that never existed. It refuses to publish an exclusive volume to
 * a second node, or a volume outside of its zone. */
#ifndef BERTH_SIM_CSI_BACKEND_H
#define BERTH_SIM_CSI_BACKEND_H

#include "sim/csi_driver.h"

#define BACKEND_SOCKET "/csi/csi.sock"
/* The mutable parameter of volumes. The driver does not know the value BACKEND_BAD_TIER. */
#define BACKEND_TIER_KEY "tier"
#define BACKEND_BAD_TIER "bad"

/* A volume that was requested. It is kept after its deletion. */
struct backend_volume {
    TAILQ_ENTRY(backend_volume) link;
    char id[64];
    struct storage_volume *disk; /* NULL: it does not exist */
    struct buf create;           /* the request of a volume that exists or may exist; empty: none */
    struct buf modify;           /* the request whose end is not known; empty: none */
    int64_t requested_bytes;     /* by `create` */
    char tier[16];
    const char *zone;      /* NULL: accessible everywhere */
    uint64_t published_ns; /* when a node got it last */
    bool is_expand_barred; /* a call was answered that it cannot be expanded while a node has it */
};

struct csi_backend {
    struct sim_storage *storage;
    struct machine *machine;   /* of the process */
    const char *const *zones;  /* of the nodes, by number; NULL: no topology */
    bool expands_offline;      /* not while a node has the volume */
    bool needs_node_expansion; /* of the file system */
    bool may_make_smaller;     /* sometimes a new volume is smaller than requested */
    bool changes_abilities;    /* of each start */

    /* Set by csi_backend_begin(): */
    struct sim_process *process;
    struct machine_peer *service;
    TAILQ_HEAD(, backend_volume) volumes;
    struct rng rng;
    bool has_modify, has_list, has_single_modes; /* of this start */
};

/* Starts the process. The first fields are set by the caller. */
void csi_backend_begin(struct csi_backend *b);
void csi_backend_end(struct csi_backend *b);

/* NULL: never requested. */
struct backend_volume *csi_backend_find(struct csi_backend *b, const char *id);

#endif
