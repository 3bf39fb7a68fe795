/* An operation on a volume: begun on the loop, a row of blocking stages on workers with marks in the world
 * between them, ended on the loop. For the files of node/ alone.
 *
 * A stage is a job of its own with copies and references of all that it needs, since the agent may go while
 * it runs. The records of the world stay as long as an operation for them is under way. */
#ifndef BERTH_NODE_OPERATE_H
#define BERTH_NODE_OPERATE_H

#include "io/job.h"
#include "node/csi.h"
#include "node/expand.h"
#include "node/node_int.h"
#include "plugins/block.h"

#define STAGE_ABOUT_BYTES 512

struct op_warning;
struct stage;

struct node_op {
    TAILQ_ENTRY(node_op) link;
    struct agent *agent;
    struct operation *pending;
    const char *name;           /* "volume_mount": a literal */
    struct node_volume *volume; /* NULL: it is not in the world */
    struct node_mount *mount;   /* NULL: of the volume as a whole */
    uint64_t began_ns;
    struct stage *stage; /* under way; NULL */
    struct expand_run *expand;
    struct api_write read;
    bool is_remount;
    bool is_wait; /* its failures are a wait, which its volume's wait_log tells of */
};

/* Begins one; NULL when it is not its time: another is under way, or it failed a while ago. */
struct node_op *node_op_begin(struct agent *a, struct node_volume *v, struct node_mount *m,
                              const struct operation_key *key, const char *name);
/* Its end: err says why when r < 0. Frees op. */
void node_op_end(struct node_op *op, int r, const struct error *err);
/* The same with an event for the pod's people: `PREFIX for volume "NAME" : ERROR`. */
void node_op_fail(struct node_op *op, const char *reason, const char *prefix, int r, const struct error *err);

typedef int stage_fn(struct stage *s, struct error *err);
typedef void stage_done_fn(struct node_op *op, struct stage *s, int r, const struct error *err);

/* The step of a stage that was taken last. Those that touch what the operation is about leave it uncertain
 * when they fail; the others leave it as it was. */
enum stage_step {
    STEP_NONE,
    STEP_WAIT_FOR_ATTACH,
    STEP_MAP_WAIT_FOR_ATTACH,
    STEP_DEVICE_MOUNT_PATH,
    STEP_MOUNT_DEVICE,  /* touches the device */
    STEP_SET_UP_DEVICE, /* the same of a block volume */
    STEP_MAP_POD_DEVICE,
    STEP_MAP_BLOCK, /* touches the device and the pod's link */
    STEP_CLEAN_SUB_PATHS,
    STEP_TEAR_DOWN,   /* touches the pod's volume */
    STEP_UNMAP_BLOCK, /* the same of a block volume */
    STEP_UNMAP_POD_DEVICE,
    STEP_UNMOUNT_DEVICE_BEGIN,
    STEP_CHECK_REFERENCES,
    STEP_UNMOUNT_DEVICE, /* touches the device */
    STEP_CHECK_UNBOUND,
    STEP_UNMAP_DEVICE, /* touches the device */
    STEP_COUNT,
};

/* What a worker sees. */
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
    struct contents_fetch fetch;
    struct csi_fetch csi;
    struct block_paths block;
    char device_path[PATH_MAX];
    char mount_path[PATH_MAX];
    enum format_failure why;
    int64_t bytes; /* how large a volume whose size follows from the pod is to be; else 0 */
    bool resizes;  /* it is, or may be, set up with another size */
    enum stage_step step;
    bool waits_for_attach;
    bool mounts_device;
    bool is_block;
    bool is_mount_point; /* something is mounted where the step has put it */
    bool must_mount;     /* it was so before, and was lost: without it the step has failed */
    _Atomic(struct op_warning *) warnings; /* newest first */
};

/* Of the mount, as it is wanted, or with is_wanted false as it is. NULL without memory. */
struct stage *stage_new(struct node_op *op, const struct volume_plugin *p, const struct held_spec *spec,
                        const char *name, const char *pod_uid);
/* One that was not begun. */
void stage_free(struct stage *s);
void stage_begin(struct stage *s, stage_fn *fn, stage_done_fn *done);
/* The same for a mount that is wanted, with what a CSI driver is to be told at this step, which is fetched
 * first. For volumes of other plugins nothing is. */
void stage_begin_step(struct stage *s, enum csi_step step, stage_fn *fn, stage_done_fn *done);
/* What was fetched; NULL for volumes of other plugins. */
const struct csi_request *stage_csi(const struct stage *s);

/* Its step has begun to change what the operation is about. */
bool stage_has_touched(const struct stage *s);
/* The words of an event when its step failed: "MountVolume.MountDevice failed". */
const char *stage_prefix(const struct stage *s);

#endif
