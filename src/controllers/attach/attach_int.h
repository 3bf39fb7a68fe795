/* Internals of the attach controller. Desired state: attach_handlers.c. Actual state: attach_state.c,
 * recover.c, verify.c. Actions: attach_reconcile.c, attach_ops.c, attached_report.c. The two attachers:
 * csi_attach.c, plugin_attach.c. */
#ifndef BERTH_CONTROLLERS_ATTACH_ATTACH_INT_H
#define BERTH_CONTROLLERS_ATTACH_ATTACH_INT_H

#include "api/attachment.h"
#include "api/csi.h"
#include "api/pod.h"
#include "controllers/attach/attach.h"
#include "controllers/attach/attach_state.h"
#include "machinery/pending_operations.h"
#include "plugins/csi/request.h"

#define ATTACH_MANAGER "berth-attach-detach"
#define UNIQUE_NAME_BYTES_MAX ((size_t)64 << 10)

/* Names of operations. */
#define OP_ATTACH "volume_attach"
#define OP_DETACH "volume_detach"
#define OP_VERIFY "verify_volumes_are_attached_per_node"

struct attach_op;
struct attach_metrics;
struct attach_slot;
struct verification;

struct attach {
    struct attach_options o;
    struct informer *pods;
    struct informer *nodes;
    struct informer *claims;
    struct informer *volumes;
    struct informer *csi_drivers;
    struct informer *attachments;
    struct informer_handler pods_handler;
    struct informer_handler nodes_handler;
    struct informer_handler claims_handler;
    struct informer_handler volumes_handler;
    struct informer_handler attachments_handler;
    struct recorder *recorder;
    struct api api;
    struct attach_metrics *metrics; /* NULL: not counted */
    struct operations *operations;
    struct attach_state state;
    TAILQ_HEAD(, attach_op) ops;
    TAILQ_HEAD(, verification) verifications;
    struct omap csi_works; /* by the name of the VolumeAttachment */
    TAILQ_HEAD(, attach_slot) waiting_slots;
    unsigned slots_held; /* at most ATTACH_REQUESTS_MAX */
    bool is_granting;
    bool is_stopping;
    struct {
        unsigned listed; /* kinds that were read */
        struct api_write read;
        struct timer retry;
        void (*done)(struct attach *a);
    } start; /* recover.c */
    struct deferred pass;
    struct timer populate_timer;
    VEC(struct object *) awaiting; /* pods with a volume whose driver is not initialized; references */
    struct timer awaiting_timer;
    struct timer verify_timer;
    uint64_t all_pods_at_ns; /* when all pods were last evaluated */
    uint64_t changes;        /* counter of state changes, for pairs and fences */
};

/* An annotation with a new value in each fencing write. The write changes the version of the object, so that
 * the server refuses delayed writes that were based on an older version. */
#define ATTACH_FENCE "volumes.berth.io/attach-fence"
#define ATTACH_FENCE_BYTES 40
void attach_fence_number(struct attach *a, char to[static ATTACH_FENCE_BYTES]);

/* Schedules a pass. */
void attach_wake(struct attach *a);

/* --- Limit of requests in flight --- */

/* Limits the requests in flight to ATTACH_REQUESTS_MAX: with thousands of volumes, requests would otherwise
 * exceed their deadline in the queue of a rate-limited client. Embedded, zeroed. */
struct attach_slot {
    TAILQ_ENTRY(attach_slot) link;
    void (*go)(struct attach_slot *t);
    enum { SLOT_NONE, SLOT_WAITING, SLOT_HELD } state;
};
#define ATTACH_REQUESTS_MAX 256

/* Calls go() as soon as a slot is free, possibly from inside. */
void attach_slot_acquire(struct attach *a, struct attach_slot *t, void (*go)(struct attach_slot *t));
/* Passes the slot to the next waiter. Accepts a slot that is not held. */
void attach_slot_release(struct attach *a, struct attach_slot *t);

/* --- Attachers --- */

struct attacher;

/* A call of an attacher. Embedded by its owner, zeroed; must not move until it is done or dropped. */
struct attach_work {
    /* Called once, from the loop, never from inside the call that started the work. */
    void (*done)(struct attach_work *w, int r, const struct error *err);
    struct attach *attach;
    const struct attacher *attacher;
    const struct volume_plugin *plugin; /* a reference; NULL for CSI */
    struct held_spec spec;              /* may be unknown for a detach */
    char *volume;                       /* its unique name */
    char *node;

    /* After a successful attach, the device; after a failure with ERR_EXISTS, the node that the volume is
     * attached to. NULL for none. */
    char *device;
    bool is_attached; /* result of a verification */

    void *work; /* private to the attacher */
    struct deferred later;
    struct error failure; /* of a call that could not be started; reported later */
};

struct attacher {
    void (*attach)(struct attach_work *w);
    void (*detach)(struct attach_work *w);
    /* ERR_UNSUPPORTED: cannot be determined. */
    void (*verify)(struct attach_work *w);
    /* done() is not called any more. Started work may continue. */
    void (*drop)(struct attach_work *w);
};

extern const struct attacher csi_attacher;
extern const struct attacher plugin_attacher;

/* Copies its arguments. */
int attach_work_init(struct attach_work *w, struct attach *a, const struct held_spec *spec,
                     const char *volume, const char *node, struct error *err);
/* Drops running work. Accepts a zeroed one. */
void attach_work_done(struct attach_work *w);

/* Reports, from the loop, that the work could not be started. */
void attach_work_fail(struct attach_work *w, const struct error *err);

/* The attacher of a volume. */
struct attacher_choice {
    const struct attacher *attacher; /* NULL: not attachable */
    const struct volume_plugin *plugin;
};

/* The attacher for the volume on that node. The unique name is appended to ret_name, which may be NULL. spec
 * is already migrated. */
int attacher_select(struct attach *a, const struct held_spec *spec, const char *node,
                    struct attacher_choice *ret, struct buf *ret_name, struct error *err);
/* The same for a detach: the volume may no longer be attachable, and its spec may be unknown. */
int attacher_select_detacher(struct attach *a, const struct attach_volume *v, struct attacher_choice *ret,
                             struct error *err);
void attach_work_use(struct attach_work *w, const struct attacher_choice *m);

/* Writes DRIVER^HANDLE. False if the volume is not a CSI volume. */
bool csi_attach_volume_name(const struct held_spec *spec, struct buf *ret);
/* The attachment of that name was added, changed or deleted. */
void csi_attach_on_event(struct attach *a, const char *name);
void csi_attach_init(struct attach *a);
void csi_attach_done(struct attach *a);

/* --- Desired state --- */

/* Requests the cache of pods with its indexes. */
int attach_handlers_open(struct attach *a, struct error *err);
void attach_handlers_start(struct attach *a);
void attach_handlers_stop(struct attach *a);
/* Adds the pod to the pairs of its attachable volumes, or removes a terminated pod from all pairs. */
void attach_handlers_pod(struct attach *a, const struct pod *p);
void attach_handlers_all_pods(struct attach *a);

/* --- Actual state --- */

/* done() is called once the actual state is known. */
void attach_recover(struct attach *a, void (*done)(struct attach *a));
void attach_recover_stop(struct attach *a);
/* Marks volumes as attached that a newer version of an unwritten Node lists: a new leader's cache may be
 * older than the last writes of the previous leader. */
void attach_recover_listed(struct attach *a, const struct attach_node *n, const struct node *is);
/* Volumes with a VolumeAttachment that this process does not know may be attached: their state becomes
 * uncertain. */
void attach_recover_attachments(struct attach *a);
void attach_verify_start(struct attach *a);
void attach_verify_stop(struct attach *a);

/* --- Actions --- */

void attach_reconcile(struct attach *a, struct attach_volume *v);

/* Both start the operation, or return the reason why not; see error_is_expected(). */
int attach_op_attach(struct attach *a, struct attach_pair *p, struct error *err);
int attach_op_detach(struct attach *a, struct attach_pair *p, const struct attacher_choice *m, bool verifies,
                     struct error *err);
void attach_op_stop(struct attach *a);
/* Checks that every operation has its own busy pair; their number is stored in *ret_count. */
const char *attach_op_check(const struct attach *a, size_t *ret_count);

void attach_status_init(struct attach_node *n);
void attach_status_done(struct attach_node *n);
/* The status of the node may have to be written. */
void attach_status_mark(struct attach_node *n);
/* The same, and no write that was sent before may take effect afterwards. */
void attach_status_fence(struct attach_node *n);
/* Writes the status of all marked nodes. */
void attach_status_write(struct attach *a);
/* The same Node has changed: checks whether its status still lists the volumes that this process reported. */
void attach_status_observe(struct attach_node *n, const struct node *is);
/* An annotation of the Node, a JSON array of unique names: volumes that were reported as attached, are no
 * longer reported, and are not known to be detached. It is written together with the status that no longer
 * reports them, before anything is detached. CSI volumes have VolumeAttachments instead. */
#define ANN_MAY_BE_ATTACHED "volumes.berth.io/may-be-attached"
bool attach_status_is_annotated(const struct attach_pair *p);

/* --- Metrics. All functions do nothing without metrics. --- */

int attach_metrics_new(struct attach *a, struct error *err);
void attach_metrics_free(struct attach *a);
/* The plugin of a volume by its unique name, "kubernetes.io/csi:DRIVER" for CSI; NULL without memory. */
char *attach_metrics_label(const char *name);
/* Sets the metrics in which the volume's pairs are counted. */
void attach_metrics_volume(struct attach *a, struct attach_volume *v);
void attach_metrics_wanted(const struct attach_pair *p, int more);
void attach_metrics_actual(const struct attach_pair *p, int more);
void attach_metrics_pod(const struct attach_pair *p, int more);
void attach_metrics_forced(struct attach *a, const char *reason);
struct attach_operation {
    const char *label; /* the plugin */
    const char *name;
    uint64_t began_ns;
    bool has_failed;
    bool is_migrated;
};
void attach_metrics_operation(struct attach *a, const struct attach_operation *operation);

#endif
