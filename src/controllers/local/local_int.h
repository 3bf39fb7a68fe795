/* Internals of the local provisioner. */
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

/* --- discover.c: entries of the discovery directories --- */

enum local_entry_state {
    FOUND_DISK,
    FOUND_NONE,    /* no disk: nothing is mounted, or not a block device */
    FOUND_UNKNOWN, /* could not be examined */
};

/* An entry of a discovery directory. */
struct local_candidate {
    const struct local_class *class;
    const char *name; /* of the entry */
    enum local_entry_state state;
    uint64_t bytes;   /* of a disk, rounded */
    const char *disk; /* identity of the disk (host/disk.h); DISK_ANY_MOUNT for a bare directory; else "" */
    const char *problem; /* why it is not a disk: "is not a mount point" */
};

/* All entries with their texts, ordered by class and name. */
struct local_entries {
    VEC(struct local_candidate) list;
    VEC(const struct local_class *) listed; /* classes whose directory could be read */
    struct arena arena;
};
void local_entries_done(struct local_entries *f);
/* NULL: no such entry, or it matches no pattern. */
const struct local_candidate *local_entries_get(const struct local_entries *f, const struct local_class *k,
                                                const char *name);
/* False: the entries of the class are unknown. */
bool local_entries_has_class(const struct local_entries *f, const struct local_class *k);

struct local_scan {
    struct job job;
    const struct local_config *config;
    struct local_entries entries;
    struct buf failures; /* one line per failure */
};

/* NULL without memory. */
struct local_scan *scan_new(const struct local_config *config);

/* Rounds down to whole GiB from 10 GiB on, to whole MiB from 10 MiB on. */
uint64_t local_round_capacity(uint64_t bytes);
void local_volume_name(const char *entry, const char *node, const char *class, char ret[LOCAL_NAME_BYTES]);
bool local_name_matches(const char *patterns, const char *name);
/* The path of the entry, with links in the path of the directory resolved. */
int local_entry_path(const struct local_class *k, const char *name, char ret[PATH_MAX], struct error *err);
/* The name of the entry that a volume's path names. Pure. */
int local_entry_name(const struct local_class *k, const struct volume *v, char ret[NAME_MAX + 1],
                     struct error *err);

/* --- revise.c: updates of existing volumes --- */

#define LOCAL_PROBLEM_BYTES 1024

/* A change of an existing volume. */
struct revision {
    struct object *volume;             /* as decided on; NULL: no change in progress */
    const char *reason;                /* of the event */
    char problem[LOCAL_PROBLEM_BYTES]; /* "" for none */
    uint64_t bytes;                    /* of the disk */
    const char *disk;                  /* NULL: keep the recorded identity */
    bool is_withdrawn;                 /* delete the volume: it is unclaimed and its disk is gone */
    bool is_reported;                  /* the problem is new, or is resolved */
    bool is_adopted;
    bool is_measured; /* the disk's capacity has changed */
    bool is_resized;  /* the volume gets that capacity */
};

/* Visits the volumes of this node, one request at a time, then calls local_end_pass(). */
void local_revise_all(struct local *l);
void local_drop_revisions(struct local *l);

/* --- clean.c: erasing --- */

#define ERASURES_MAX 2 /* at once: a wipe occupies a worker for hours */

/* A volume that is being erased, or waits for a retry. */
struct local_erasure {
    LIST_ENTRY(local_erasure) link;
    struct local *local;
    struct object *volume;
    struct object *fresh; /* as read from the server before it is erased */
    struct job *job;
    struct api_write write;
    struct timer timer; /* for progress reports */
    unsigned reports;
    struct pace pace; /* since the first report */
    bool is_running;
    unsigned failures;
    uint64_t retry_at_ns;
};

/* Starts to erase released volumes; forgets deleted ones. */
void local_clean_all(struct local *l);
bool local_is_erasing(const struct local *l, const char *volume);
void local_drop_erasures(struct local *l);
/* Collects the metric of wipes. */
void local_collect_wipes(void *local, struct metric_sink *to);
/* Erases a directory or a device, on a worker. */
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
    struct metric_family *wipes; /* NULL: not counted */
    char *identity;              /* "" before the node was found */
    struct timer timer;
    struct job *scan;             /* on the pool */
    struct local_entries entries; /* of the last scan */
    size_t entries_at;            /* next to handle */
    VEC(struct object *) revised; /* volumes of this node to check */
    size_t revised_at;            /* next to handle */
    struct api_write write;       /* of the volume that is created, changed or deleted */
    struct revision revision;     /* the change in progress (revise.c) */
    struct dirwatch **watches;    /* one per class; NULL: not watched */
    struct mount_watch *mounts;
    struct buf failures; /* of the last scan; logged when they change */
    struct rng rng;
    struct api api;
    LIST_HEAD(, local_erasure) erasures;
    struct api_write untaint;
    bool is_untainted;
    bool is_awake;           /* the timer fires after SOON_NS */
    bool is_dirty;           /* something changed during the pass */
    bool is_node_rejected;   /* an error was logged */
    uint64_t waits_since_ns; /* start of the wait for the node; 0: not waiting */
};

/* Starts a pass soon. */
void local_wake(struct local *l);
/* ready_taint.c: once, after a discovery. */
void local_remove_taint(struct local *l);
/* Created by this registration of the node. */
bool local_owns(const struct local *l, const struct volume *v);
const struct node *local_own_node(const struct local *l);
/* NULL if it is not configured. */
const struct local_class *local_class_of(const struct local *l, const char *name);
/* The reclaim policy of the class's volumes; RECLAIM_UNKNOWN: none may be created. */
enum reclaim_policy local_policy_of(const struct local *l, const struct local_class *k);
void local_end_pass(struct local *l);

#endif
