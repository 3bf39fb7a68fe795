/* The local provisioner: creates PersistentVolumes for file systems and block devices in discovery
 * directories of this machine, erases them after release, and creates them again.
 *
 * An entry of a class's directory becomes one PersistentVolume: a mounted file system, or a link to a block
 * device. Its name is derived from entry, node and class, so that it is the same after every cleanup. Only
 * volumes of this node are touched: those with its identity in their annotation, and those of an earlier
 * registration of the node under the same name, if their disk is known to be the same.
 *
 * A volume records the identity of its disk. An unclaimed volume follows its disk: its capacity is updated,
 * and it is deleted when the disk is gone.
 *
 * Changes of the directories and of the mount table start a pass immediately; every ten seconds everything is
 * scanned anyway, because not all changes cause an event. */
#ifndef BERTH_CONTROLLERS_LOCAL_LOCAL_H
#define BERTH_CONTROLLERS_LOCAL_LOCAL_H

#include "api/storage.h"
#include "host/guard.h"
#include "io/pool.h"
#include "machinery/component_deps.h"

struct local_class {
    const char *name;
    const char *host_dir;     /* the path in volumes; both clean and absolute */
    const char *mount_dir;    /* the path on this machine */
    struct texts cleaner;     /* blockCleanerCommand; empty: quick_reset */
    enum volume_mode mode;    /* volumeMode */
    const char *access_mode;  /* "ReadWriteOnce" */
    const char *fs_type;      /* "" for none */
    const char *name_pattern; /* comma-separated shell patterns */
    const char *selector;     /* additional node selector terms: the content of a JSON array; "" for none */
};

/* Must outlive the pool. */
struct local_config {
    const struct local_class *classes;
    uint32_t classes_count;
    struct texts node_labels; /* nodeLabelsForPV */
    struct kvs labels;        /* labelsForPV */
    bool uses_node_name_only;
    bool sets_owner;         /* setPVOwnerRef */
    uint64_t resync_min_ns;  /* minResyncPeriod */
    const char *ready_taint; /* removed from the node after the first discovery; NULL for none */
};

struct local_options {
    struct component_deps part;
    struct pool *pool;
    const struct local_config *config;
    const char *node_name;         /* borrowed, like the others */
    const struct guard_dirs *dirs; /* never touched: host/guard.h; NULL for none */
    const char *state_dir;         /* for positions of wipes; created on demand */
    const char *commands_path;     /* PATH for cleaners; NULL: the system's */
};

struct local;

int local_new(const struct local_options *o, struct local **ret, struct error *err);
void local_start(struct local *l);
struct local *local_free(struct local *l);
DEFINE_CLEANUP(struct local, local_free)
/* NULL if the state in memory is consistent, else what is wrong. For the simulator. */
const char *local_check(const struct local *l);

#endif
