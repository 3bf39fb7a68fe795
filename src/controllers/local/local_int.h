/* What the files of the local provisioner share. */
#ifndef BERTH_CONTROLLERS_LOCAL_LOCAL_INT_H
#define BERTH_CONTROLLERS_LOCAL_LOCAL_INT_H

#include <sys/queue.h>

#include "api/local_volume.h"
#include "api/node.h"
#include "api/volume.h"
#include "base/pace.h"
#include "base/rng.h"
#include "base/vec.h"
#include "controllers/local/local.h"
#include "host/disk.h"
#include "host/files.h"
#include "host/wipe.h"
#include "io/job.h"
#include "machinery/api_write.h"
#include "plugins/reclaim_guard.h"

#define LOCAL_FIELD_MANAGER "berth-local-provisioner"
#define LOCAL_NAME_BYTES 32 /* "local-pv-" and eight digits */
#define LOCAL_BODY_BYTES_MAX ((size_t)1 << 20)
#define LOCAL_ENTRIES_MAX 4096 /* of one directory */

struct local;

/* --- discover.c: what is there --- */

enum restored_state {
    FOUND_DISK,
    FOUND_NONE,    /* certainly none: nothing is mounted there, or it is something else */
    FOUND_UNKNOWN, /* it could not be examined */
};

/* An entry of a discovery directory. */
struct local_candidate {
    const struct local_class *class;
    const char *name; /* of the entry */
    enum restored_state state;
    uint64_t bytes;      /* of a disk: rounded, */
    const char *disk;    /* and which: host/disk.h; of a bare directory DISK_ANY_MOUNT; else "" */
    const char *problem; /* of what is none: "is not a mount point" */
};

/* All of them, in the order of classes and names, with their texts. */
struct finds {
    VEC(struct local_candidate) list;
    VEC(const struct local_class *) listed; /* the classes whose directory could be read */
    struct arena arena;
};
void finds_done(struct finds *f);
/* NULL: there is no such entry, or it matches no pattern. */
const struct local_candidate *finds_get(const struct finds *f, const struct local_class *k, const char *name);
/* False: nothing is known of the class's entries. */
bool finds_has_class(const struct finds *f, const struct local_class *k);

struct local_scan {
    struct job job;
    const struct local_config *config;
    struct finds finds;
    struct buf failures; /* a line each */
};

/* NULL without memory. */
struct local_scan *scan_new(const struct local_config *config);

/* Down to whole GiB from 10 GiB on, to whole MiB from 10 MiB on. */
uint64_t local_round_capacity(uint64_t bytes);
void local_volume_name(const char *entry, const char *node, const char *class, char ret[LOCAL_NAME_BYTES]);
bool local_name_matches(const char *patterns, const char *name);
/* Where the directory is, once no link is on the way, and the entry in it. */
int local_entry_path(const struct local_class *k, const char *name, char ret[PATH_MAX], struct error *err);
/* The name of the entry that a volume's path means. Pure. */
int local_entry_name(const struct local_class *k, const struct volume *v, char ret[NAME_MAX + 1],
                     struct error *err);

/* --- revise.c: what became of the disks of volumes that are there --- */

#define LOCAL_PROBLEM_BYTES 1024

/* What is to change about a volume. */
struct revision {
    struct object *volume;             /* as it was when that was decided; NULL: nothing is under way */
    const char *reason;                /* of the problem's event */
    char problem[LOCAL_PROBLEM_BYTES]; /* with its disk; "" for none */
    uint64_t bytes;                    /* of its disk */
    const char *disk;                  /* NULL: the record stays */
    bool is_withdrawn;                 /* deleted: nobody has it, and its disk is not there */
    bool is_reported;                  /* the problem is news, or that it is over */
    bool is_adopted;
    bool is_measured; /* the disk's capacity is news */
    bool is_resized;  /* the volume gets it */
};

/* Goes through this node's volumes, one request at a time; local_end_pass() is its end. */
void local_revise_all(struct local *l);
void local_drop_revisions(struct local *l);

/* --- clean.c: erasing --- */

#define CLEANINGS_MAX 2 /* at once: a wipe holds a worker for hours */

/* A volume that is being cleaned, or waits for another try. */
struct local_cleaning {
    LIST_ENTRY(local_cleaning) link;
    struct local *local;
    struct object *volume;
    struct object *fresh; /* the same as the server has it, before it is cleaned */
    struct job *job;
    struct api_write write;
    struct timer timer; /* tells how far it is */
    unsigned tells;
    struct pace pace; /* since it was first told */
    bool is_running;
    unsigned failures;
    uint64_t retry_at_ns;
};

/* Cleans what is released; forgets what is gone. */
void local_clean_all(struct local *l);
bool local_is_cleaning(const struct local *l, const char *volume);
void local_drop_cleanings(struct local *l);
/* For the metric of wipes. */
void local_collect_wipes(void *local, struct metric_sink *to);
/* The inside of a directory or a device, on a worker. */
struct clean_job {
    struct job job;
    const struct local_class *class;
    struct object *volume;
    struct host_guard *guard;
    char *state_dir;
    const char *commands_path;
    uint64_t seed;
    struct wipe_progress where;
};

/* --- local.c --- */

struct local {
    struct local_options o;
    struct informer *volumes, *classes, *nodes;
    struct informer_handler volumes_handler, classes_handler;
    struct recorder *recorder;
    struct metric_family *wipes; /* NULL: nothing is counted */
    char *identity;              /* "" before the node was seen */
    struct timer timer;
    struct job *scan;             /* on the pool */
    struct finds finds;           /* of the last scan, and the */
    size_t finds_at;              /* first that has not been looked at */
    VEC(struct object *) revised; /* volumes of this node, and the */
    size_t revised_at;            /* first that has not been looked at */
    struct api_write write;       /* of the volume that is being created, changed or deleted */
    struct revision revision;     /* what that change is, while revise.c makes it */
    struct dirwatch **watches;    /* a class each; NULL: not watched now */
    struct mount_watch *mounts;
    struct buf failures; /* of the last scan: told when they change */
    struct rng rng;
    struct api api;
    LIST_HEAD(, local_cleaning) cleanings;
    struct api_write untaint;
    bool is_untainted;
    bool is_awake;           /* the timer fires soon */
    bool is_dirty;           /* something happened during the pass */
    bool is_node_rejected;   /* why nothing is done */
    uint64_t waits_since_ns; /* for the node; 0: it does not */
};

/* A pass is to come soon. */
void local_wake(struct local *l);
/* ready_taint.c: after a discovery, once. */
void local_remove_taint(struct local *l);
/* Created by this registration of the node. */
bool local_owns(const struct local *l, const struct volume *v);
const struct node *local_own_node(const struct local *l);
/* NULL for one that is not in the settings. */
const struct local_class *local_class_of(const struct local *l, const char *name);
/* What becomes of the class's volumes; RECLAIM_UNKNOWN when none may be created. */
enum reclaim_policy local_policy_of(const struct local *l, const struct local_class *k);
void local_end_pass(struct local *l);

#endif
