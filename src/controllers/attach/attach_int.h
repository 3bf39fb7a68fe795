/* The parts of the attach controller: what is wanted (inputs), what is (worlds, recover, verify),
 * what follows (reconcile, operate, node_status), and the two ways to attach (csi_attach, plugin_attach). */
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
    struct attach_metrics *metrics; /* NULL: nothing is counted */
    struct operations *operations;
    struct attach_state state;
    TAILQ_HEAD(, attach_op) ops;
    TAILQ_HEAD(, verification) verifications;
    struct omap csi_works; /* by the names of their attachments */
    TAILQ_HEAD(, attach_slot) waiting_slots;
    unsigned slots_held; /* taken */
    bool is_granting;
    bool is_stopping;
    struct deferred pass;
    struct timer populate_timer;
    VEC(struct object *) awaiting; /* pods with a volume whose driver has not answered yet; references */
    struct timer awaiting_timer;
    struct timer verify_timer;
    uint64_t all_pods_at_ns; /* when all pods were last looked at */
    uint64_t changes;        /* of pairs */
};

/* An annotation that changes with each write that must change something: whatever was sent before, on an
 * older version, is refused from there on. */
#define ATTACH_FENCE "volumes.berth.io/attach-fence"
#define ATTACH_FENCE_BYTES 40
void attach_fence_number(struct attach *a, char to[static ATTACH_FENCE_BYTES]);

/* Something is marked: a pass follows. */
void attach_wake(struct attach *a);

/* --- Requests take turns --- */

/* Of thousands of volumes, so many requests are on their way at once: a client with a limit would let the
 * rest grow too old. Embedded, zeroed. */
struct attach_slot {
    TAILQ_ENTRY(attach_slot) link;
    void (*go)(struct attach_slot *t);
    enum { SLOT_NONE, SLOT_WAITING, SLOT_HELD } state;
};
#define ATTACH_REQUESTS_MAX 256

/* go is called when it is its turn, which may be at once. */
void attach_slot_acquire(struct attach *a, struct attach_slot *t, void (*go)(struct attach_slot *t));
/* The next one's. Takes one that has none. */
void attach_slot_release(struct attach *a, struct attach_slot *t);

/* --- Ways to attach --- */

struct attacher;

/* One call of an attacher. Embedded by its owner, zeroed; stays where it is until done or dropped. */
struct attach_work {
    /* Once, on the loop, never from within the call that began it. */
    void (*done)(struct attach_work *w, int r, const struct error *err);
    struct attach *attach;
    const struct attacher *attacher;
    const struct volume_plugin *plugin; /* a reference; NULL for CSI */
    struct held_spec spec;              /* may be unknown for a detach */
    char *volume;                       /* its unique name */
    char *node;

    /* Of an attach that went well, the device; of one that failed with ERR_EXISTS, the node that the volume
     * is attached to. NULL for none. */
    char *device;
    bool is_attached; /* of a verify */

    void *work; /* the attacher's */
    struct deferred later;
    struct error failure; /* of what could not be begun; told later */
};

struct attacher {
    void (*attach)(struct attach_work *w);
    void (*detach)(struct attach_work *w);
    /* ERR_UNSUPPORTED: nobody knows. */
    void (*verify)(struct attach_work *w);
    /* Nobody waits any more. What was begun may go on. */
    void (*drop)(struct attach_work *w);
};

extern const struct attacher csi_attacher;
extern const struct attacher plugin_attacher;

/* The name of what is attached is a copy, as the rest. */
int attach_work_init(struct attach_work *w, struct attach *a, const struct held_spec *spec,
                     const char *volume, const char *node, struct error *err);
/* Drops what runs. Takes a zeroed one. */
void attach_work_done(struct attach_work *w);

/* It could not be begun, and done says so. */
void attach_work_fail(struct attach_work *w, const struct error *err);

/* Who attaches this volume. */
struct attacher_choice {
    const struct attacher *attacher; /* NULL: it is not attachable */
    const struct volume_plugin *plugin;
};

/* On that node. The unique name is appended to ret_name, which may be NULL. spec is migrated. */
int attacher_select(struct attach *a, const struct held_spec *spec, const char *node,
                    struct attacher_choice *ret, struct buf *ret_name, struct error *err);
/* The same for a volume that is to be detached: it may not be attachable any more, and its spec not known. */
int attacher_select_detacher(struct attach *a, const struct attach_volume *v, struct attacher_choice *ret,
                             struct error *err);
void attach_work_use(struct attach_work *w, const struct attacher_choice *m);

/* driver^handle of a volume that a CSI driver serves; false: none does. */
bool csi_attach_volume_name(const struct held_spec *spec, struct buf *ret);
/* Something happened to the attachment of that name. */
void csi_attach_on_event(struct attach *a, const char *name);
void csi_attach_init(struct attach *a);
void csi_attach_done(struct attach *a);

/* --- What is wanted --- */

/* Asks for the cache of pods, with its indexes. */
int attach_handlers_open(struct attach *a, struct error *err);
void attach_handlers_start(struct attach *a);
void attach_handlers_stop(struct attach *a);
/* Every volume of the pod that can be attached is wanted, or none. */
void attach_handlers_pod(struct attach *a, const struct pod *p);
void attach_handlers_all_pods(struct attach *a);

/* --- What is --- */

void attach_recover(struct attach *a);
/* What an inherited Node lists in a newer version than attach_recover() saw is attached, too: the cache of a
 * process that has just become leader may be behind what the leader before it wrote. */
void attach_recover_listed(struct attach *a, const struct attach_node *n, const struct node *is);
/* Attachments that are there and that nobody here knows of may be attached. */
void attach_recover_attachments(struct attach *a);
void attach_verify_start(struct attach *a);
void attach_verify_stop(struct attach *a);

/* --- What follows --- */

void attach_reconcile(struct attach *a, struct attach_volume *v);

/* Both start, or say why not: error_is_expected(). */
int attach_op_attach(struct attach *a, struct attach_pair *p, struct error *err);
int attach_op_detach(struct attach *a, struct attach_pair *p, const struct attacher_choice *m, bool verifies,
                     struct error *err);
void attach_op_stop(struct attach *a);
/* Every operation has a busy pair, and no two the same; their number goes into *ret_count. */
const char *attach_op_check(const struct attach *a, size_t *ret_count);

void attach_status_init(struct attach_node *n);
void attach_status_done(struct attach_node *n);
/* What is said of it has changed, or may have. */
void attach_status_mark(struct attach_node *n);
/* The same, and it is to be certain that nothing which was sent before can undo it. */
void attach_status_fence(struct attach_node *n);
/* Writes what is marked. */
void attach_status_write(struct attach *a);
/* Its Node changed, and is the one that it was: whether volumes are in its status that this process put
 * there.
 */
void attach_status_hear(struct attach_node *n, const struct node *is);
/* What was reported, is not any more, and is not known to be detached is remembered in an annotation of the
 * node: a list of unique names, as JSON. It goes there with the status that reports it no longer, before
 * anything is detached. CSI volumes are not in it: they have their VolumeAttachments. */
#define ANN_MAY_BE_ATTACHED "volumes.berth.io/may-be-attached"
bool attach_status_is_annotated(const struct attach_pair *p);

/* --- Numbers. All of them do nothing where nothing is counted. --- */

int attach_metrics_new(struct attach *a, struct error *err);
void attach_metrics_free(struct attach *a);
/* The plugin of a volume by its unique name, "kubernetes.io/csi:DRIVER" for CSI; NULL without memory. */
char *attach_metrics_label(const char *name);
/* Sets what the volume's pairs are counted in. */
void attach_metrics_volume(struct attach *a, struct attach_volume *v);
void attach_metrics_wanted(const struct attach_pair *p, int more);
void attach_metrics_actual(const struct attach_pair *p, int more);
void attach_metrics_pod(const struct attach_pair *p, int more);
void attach_metrics_forced(struct attach *a, const char *reason);
struct attach_operation {
    const char *label; /* of the plugin */
    const char *name;
    uint64_t began_ns;
    bool has_failed;
    bool is_migrated;
};
void attach_metrics_operation(struct attach *a, const struct attach_operation *operation);

#endif
