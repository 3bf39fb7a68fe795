/* An operation on a volume: started on the loop, a sequence of blocking stages on workers with updates of the
 * records between them, ended on the loop. Internal to node/.
 *
 * A stage is a job with copies and references of everything it needs, since the agent may be freed while it
 * runs. Records are not freed while an operation on them is in flight. */
#ifndef BERTH_NODE_VOLUME_OPS_H
#define BERTH_NODE_VOLUME_OPS_H

#include "io/job.h"
#include "node/csi.h"
#include "node/node_expand.h"
#include "node/node_int.h"
#include "plugins/block.h"

#define STAGE_ABOUT_BYTES 512

struct op_warning;
struct stage;

struct node_op {
    TAILQ_ENTRY(node_op) link;
    struct agent *agent;
    struct pending_operation *pending;
    const char *name;           /* "volume_mount": a literal */
    struct node_volume *volume; /* NULL: it has no record */
    struct node_mount *mount;   /* NULL: for the volume as a whole */
    uint64_t began_ns;
    struct stage *stage; /* in flight; NULL */
    struct expand_run *expand;
    struct api_write read;
    bool is_remount;
    bool is_wait; /* its failures are waits, logged by the volume's wait_log */
};

/* Starts an operation; NULL when another is in flight or its backoff has not expired. */
struct node_op *node_op_begin(struct agent *a, struct node_volume *v, struct node_mount *m,
                              const struct operation_key *key, const char *name);
/* Ends it: err is the reason when r < 0. Frees op. */
void node_op_end(struct node_op *op, int r, const struct error *err);
/* The same with an event on the pod: `PREFIX for volume "NAME" : ERROR`. */
void node_op_fail(struct node_op *op, const char *reason, const char *prefix, int r, const struct error *err);

typedef int stage_fn(struct stage *s, struct error *err);
typedef void stage_done_fn(struct node_op *op, struct stage *s, int r, const struct error *err);

/* The last step of a stage. Steps that change the subject of the operation leave it uncertain when they fail;
 * the others leave it unchanged. */
enum stage_step {
    STEP_NONE,
    STEP_WAIT_FOR_ATTACH,
    STEP_MAP_WAIT_FOR_ATTACH,
    STEP_DEVICE_MOUNT_PATH,
    STEP_MOUNT_DEVICE,  /* changes the device */
    STEP_SET_UP_DEVICE, /* the same of a block volume */
    STEP_MAP_POD_DEVICE,
    STEP_MAP_BLOCK, /* changes the device and the pod's link */
    STEP_CLEAN_SUB_PATHS,
    STEP_TEAR_DOWN,   /* changes the pod's volume */
    STEP_UNMAP_BLOCK, /* the same of a block volume */
    STEP_UNMAP_POD_DEVICE,
    STEP_UNMOUNT_DEVICE_BEGIN,
    STEP_CHECK_REFERENCES,
    STEP_UNMOUNT_DEVICE, /* changes the device */
    STEP_CHECK_UNBOUND,
    STEP_UNMAP_DEVICE, /* changes the device */
    STEP_COUNT,
};

/* The data of the worker. */
struct stage {
    struct job job;
    char about[STAGE_ABOUT_BYTES];
    struct node_op *op;
    stage_fn *fn;
    stage_done_fn *done;
    struct volume_env env;
    char *root;                         /* of env: the work may outlive the agent */
    const struct volume_plugin *plugin; /* a reference */
    struct held_spec spec;
    struct object *pod;
    struct object *node;
    char *pod_uid;
    char *name; /* of the spec */
    struct set_up_request request;
    struct volume_sources_fetch fetch;
    struct csi_fetch csi;
    struct block_paths block;
    char device_path[PATH_MAX];
    char mount_path[PATH_MAX];
    enum format_failure why;
    int64_t bytes; /* the requested size of a volume whose size depends on the pod; otherwise 0 */
    bool resizes;  /* set up with another size, or possibly so */
    enum stage_step step;
    bool waits_for_attach;
    bool mounts_device;
    bool is_block;
    bool is_gone;        /* nothing exists at its path; */
    bool is_there;       /* something exists there, */
    bool is_mount_point; /* and is a mount point */
    bool must_mount;     /* it was one before and was lost: without a mount the step fails */
    _Atomic(struct op_warning *) warnings; /* newest first */
};

/* For the mount as wanted, or with is_wanted false as it is mounted. NULL when out of memory. */
struct stage *stage_new(struct node_op *op, const struct volume_plugin *p, const struct held_spec *spec,
                        const char *name, const char *pod_uid);
/* Frees a stage that was not started. */
void stage_free(struct stage *s);
void stage_begin(struct stage *s, stage_fn *fn, stage_done_fn *done);
/* The same for a wanted mount, after the data for the CSI driver was fetched. Other plugins need no fetch. */
void stage_begin_step(struct stage *s, enum csi_step step, stage_fn *fn, stage_done_fn *done);
/* The fetched data; NULL for volumes of other plugins. */
const struct csi_request *stage_csi(const struct stage *s);

/* The step may have changed the subject of the operation. */
bool stage_has_touched(const struct stage *s);
/* The event's prefix when its step failed: "MountVolume.MountDevice failed". */
const char *stage_prefix(const struct stage *s);

#endif
