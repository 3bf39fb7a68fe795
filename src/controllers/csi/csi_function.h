/* What the controllers of one CSI driver have in common: provisioner, attacher, resizer, …, each the part of
 * one stock sidecar.
 *
 * A function is created when its driver is ready and has the capabilities for it, and it works while it
 * holds the lease of the sidecar that it replaces (csi_controllers.c). It is freed when the lease or the
 * driver is lost, at any time, and created again later: everything that it must remember is in API objects
 * or in the record of calls (call_record.h). */
#ifndef BERTH_CONTROLLERS_CSI_CSI_FUNCTION_H
#define BERTH_CONTROLLERS_CSI_CSI_FUNCTION_H

#include "controllers/csi/csi_peer.h"
#include "machinery/component_deps.h"

struct provisioner_loop;

/* Options of a driver: section csi.drivers.NAME of the settings. Zero: the default, which
 * csi_driver_settings_complete() fills in; a function gets them complete. */
struct csi_driver_settings {
    const char *name;
    bool is_off;                     /* no controller for this driver */
    const char *socket;              /* of its controller service; NULL: the registered one */
    const char *endpoint;            /* of its node service, without a registrar; NULL: none */
    uint64_t timeout_ns;             /* of CreateVolume, DeleteVolume, ControllerExpandVolume: 10 s */
    uint64_t attach_timeout_ns;      /* 15 s */
    uint64_t snapshot_timeout_ns;    /* 1 min */
    uint64_t retry_ns, retry_ns_max; /* 1 s, 5 min */
    uint64_t reconcile_ns;           /* of attachments: 1 min */
    uint64_t capacity_poll_ns;       /* 1 min */
    uint64_t health_poll_ns;         /* 1 min */
    const char *default_fs_type;     /* "" for none */
    const char *capacity_namespace;  /* of CSIStorageCapacity objects; "kube-system" */
    const char *name_prefix;         /* "pvc" */
    bool has_strict_topology;
    bool has_no_immediate_topology;
    bool has_extra_metadata; /* of CreateVolume and CreateSnapshot */
    bool has_extra_modify_metadata;
    bool has_capacity_for_immediate;
    bool has_no_capacity; /* else published for drivers with GET_CAPACITY and CSIDriver storageCapacity */
    bool has_publish_readonly; /* csi.readOnly of volumes with the only mode ReadOnlyMany */
    bool is_node_deployment;
    unsigned creates_max, others_max;
};

/* Borrowed; outlives the function. */
struct csi_function_options {
    struct component_deps part; /* the informers have all kinds that functions read, and are synced */
    struct csi_peer *peer;      /* ready */
    const struct csi_driver_settings *settings; /* complete */
    const struct provisioner_loop *loop;        /* of the provisioner (controllers/provisioner) */
    const char *record_ns;                      /* namespace of the records of calls, and of leases */
    const char *node_name;                      /* of a node deployment: this node; NULL: the whole cluster */
    const char *identity;                       /* of this process, for csiProvisionerIdentity */
    const char *pod_name;                       /* of this process, in record_ns; NULL: it is in no pod */
};

struct csi_function_type {
    const char *name; /* "provisioner" */
    bool is_per_node; /* also works for one node of a driver that is deployed per node, without a lease */
    /* The name of the lease for a driver, in the namespace of leases. */
    int (*lease_name)(const char *driver, struct buf *ret, struct error *err);
    /* Before the caches start: requests those that it reads, with their indexes. NULL: it reads none. */
    int (*prepare)(const struct component_deps *part, struct error *err);
    /* The driver has the capabilities; asked when it is ready. */
    bool (*is_wanted)(const struct csi_peer *p, const struct csi_driver_settings *s);
    int (*new)(const struct csi_function_options *o, void **ret, struct error *err);
    void (*start)(void *function);
    void (*free)(void *function);
    /* NULL if its state in memory is consistent, else what is wrong. */
    const char *(*check)(const void *function);
    /* Adds what only the function knows of an object: when it is tried next, and a failure from before the
     * function began. ret has the calls that the driver's peer knows, if any. False: the object is not its
     * own. Texts are borrowed. May be NULL. */
    bool (*explain)(const void *function, const struct object *about, struct csi_work_state *ret);
};

/* Name of a queue of a driver, in metrics: "csi-attach/DRIVER". */
#define CSI_QUEUE_BYTES 128
void csi_queue_name(const char *queue, const struct csi_peer *p, char to[static CSI_QUEUE_BYTES]);

extern const struct csi_function_type csi_provisioner_type; /* and publisher of capacity */
extern const struct csi_function_type csi_attacher_type;
extern const struct csi_function_type csi_resizer_type; /* and modifier */
extern const struct csi_function_type csi_health_type;
extern const struct csi_function_type csi_snapshotter_type;

#endif
