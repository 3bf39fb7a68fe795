/* Local volumes made from what is mounted, or linked, in discovery directories of this machine; cleaned when
 * they are released, and offered anew.
 *
 * An entry of a class's directory becomes one PersistentVolume: a file system that is mounted there, or a
 * block device behind a link. Its name follows from entry, node and class, so that it is the same after every
 * cleaning. Only volumes of this node are touched: those with its identity in their annotation, and those of
 * an earlier registration of the node under the same name, once their disk is known to be the same.
 *
 * The volume records its disk. One that nobody has follows its disk: its capacity, and whether it exists.
 *
 * What happens to the directories and to the mount table is heard of at once; every ten seconds all is looked
 * at anyway, since not everything can be heard of. */
#ifndef BERTH_CONTROLLERS_LOCAL_LOCAL_H
#define BERTH_CONTROLLERS_LOCAL_LOCAL_H

#include "api/storage.h"
#include "host/guard.h"
#include "io/pool.h"
#include "machinery/component_deps.h"

struct local_class {
    const char *name;
    const char *host_dir;     /* as volumes name it; both clean and absolute */
    const char *mount_dir;    /* as it is seen here */
    struct texts cleaner;     /* blockCleanerCommand; none: quick_reset */
    enum volume_mode mode;    /* volumeMode */
    const char *access_mode;  /* "ReadWriteOnce" */
    const char *fs_type;      /* "" for none */
    const char *name_pattern; /* shell patterns with commas between */
    const char *selector;     /* more node selector terms, as the inside of a JSON array; "" for none */
};

/* Lives until the pool is gone. */
struct local_config {
    const struct local_class *classes;
    uint32_t classes_count;
    struct texts node_labels; /* nodeLabelsForPV */
    struct kvs labels;        /* labelsForPV */
    bool uses_node_name_only;
    bool sets_owner;         /* setPVOwnerRef */
    uint64_t resync_min_ns;  /* minResyncPeriod */
    const char *ready_taint; /* the node loses it after the first discovery; NULL for none */
};

struct local_options {
    struct component_deps part;
    struct pool *pool;
    const struct local_config *config;
    const char *node_name;         /* borrowed, as the rest */
    const struct guard_dirs *dirs; /* never touched: host/guard.h; NULL for none */
    const char *state_dir;         /* for positions of wipes; made when it is needed */
    const char *commands_path;     /* the PATH of cleaners; NULL: the system's */
};

struct local;

int local_new(const struct local_options *o, struct local **ret, struct error *err);
void local_start(struct local *l);
struct local *local_free(struct local *l);
DEFINE_CLEANUP(struct local, local_free)
/* NULL when what it has in memory fits together, else what does not. For the simulator. */
const char *local_check(const struct local *l);

#endif
