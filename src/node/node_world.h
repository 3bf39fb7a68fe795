/* The records of the node: pods, volumes, and the mounts of volumes for pods, each with desired and actual
 * state.
 *
 * Bookkeeping only: no I/O and no decisions. Records are sorted by name, so that the order of operations is
 * deterministic, and exist while they are wanted or mounted. */
#ifndef BERTH_NODE_NODE_WORLD_H
#define BERTH_NODE_NODE_WORLD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "api/object.h"
#include "base/omap.h"
#include "base/vec.h"
#include "node/mount_state.h"
#include "node/wait_log.h"
#include "plugins/held_spec.h"

struct node_mount;
struct node_pod;
struct node_volume;

enum node_attach_state {
    ATTACH_NO,        /* does not need to be attached */
    ATTACH_YES,       /* attachable, and attached as far as this node knows */
    ATTACH_UNCERTAIN, /* may be: found after a restart and not verified yet, or the attach call timed out */
};

TAILQ_HEAD(node_mounts, node_mount);

/* A volume on this node, under its unique name. */
struct node_volume {
    char *name;
    const struct volume_plugin *plugin; /* a reference */

    /* The desired state, while a mount is wanted. */
    struct held_spec wanted;
    bool is_attachable;    /* as the plugin reports now */
    bool has_device;       /* it has a device step */
    const char *waits_for; /* as last reported: a literal; NULL for nothing */
    struct wait_log wait;  /* the same in the log */
    bool is_reported;      /* acknowledged by the server in volumesInUse */
    bool was_withdrawn;    /* from volumesInUse, since the agent last asked whether the volume is attached */
    uint64_t wanted_bytes; /* the PersistentVolume's size; 0: not known */

    /* The actual state. */
    bool is_held; /* the fields below are valid: the volume is attached, or need not be */
    struct held_spec spec;
    enum node_attach_state attach;
    char *device_path;          /* "" for none; never NULL */
    enum mount_state device;    /* volume_set_device() */
    char *device_mount_path;    /* "" for none; of a block volume, where it is mapped for all pods */
    bool device_is_mount_point; /* a mount existed at that path after the device step */
    uint64_t device_snapshot;   /* snapshots_begun at that time: mount_check.h */
    uint64_t bytes;             /* last known size; 0: unknown */
    bool refuses_growth;        /* cannot be expanded while in use: no more attempts while it is held */
    bool failed_to_grow;        /* infeasible, at some size */
    bool is_found;    /* found on disk after a restart, or its mount was lost, and not set up since */
    bool was_mounted; /* when it was found */

    struct node_mounts mounts; /* most recently tried ones last */
};

/* A volume for a pod. */
struct node_mount {
    TAILQ_ENTRY(node_mount) of_volume;
    TAILQ_ENTRY(node_mount) of_pod;
    struct node_volume *volume;
    struct node_pod *pod;

    /* The desired state. */
    bool is_wanted;
    struct held_spec wanted;
    VEC(char *) outer_names; /* its names in the pod, sorted: a claim may be used under several names */
    bool is_block;           /* used as a device, not as a mount */
    int64_t group;           /* a supplemental group of the volume; -1 for none */
    uint64_t wanted_ns;      /* since when */

    /* The actual state. */
    enum mount_state state; /* mount_set_state() */
    struct held_spec spec;
    bool was_block;
    bool needs_remount;       /* its content may have changed */
    bool is_found;            /* found on disk after a restart, or its mount was lost, and not set up since */
    char *path;               /* its path for the pod; for a block volume the link; "" until it exists */
    char *mount_point;        /* the mount point below the node's root when it was set up; "": none */
    uint64_t snapshot_number; /* snapshots_begun at that time: mount_check.h */
    int64_t held_group;       /* the value of group when it was set up */
    int64_t held_bytes;       /* its size when it was set up; 0: the size does not depend on the pod */
};

struct node_world {
    struct omap volumes; /* struct node_volume by name */
    struct omap pods;    /* struct node_pod by uid */
};

void node_world_init(struct node_world *w);
/* Frees volumes and mounts; the agent owns the pods. */
void node_world_done(struct node_world *w);

/* NULL when there is none. */
struct node_volume *node_world_find_volume(const struct node_world *w, const char *name);
/* Creates the record if it does not exist; NULL when out of memory. */
struct node_volume *node_world_add_volume(struct node_world *w, const char *name,
                                          const struct volume_plugin *p);
struct node_mount *node_world_find_mount(const struct node_volume *v, const char *pod_uid);
struct node_mount *node_world_add_mount(struct node_volume *v, struct node_pod *p);

/* Adds a name of the volume in the pod; false when out of memory. */
bool mount_add_name(struct node_mount *m, const char *name);
/* The mount is no longer wanted. */
void mount_unwant(struct node_mount *m);
/* Frees the mount if it is neither wanted nor mounted, and its volume if that is not held and has no mounts.
 * True when the mount was freed. */
bool node_world_drop_mount(struct node_world *w, struct node_mount *m);
bool node_world_drop_volume(struct node_world *w, struct node_volume *v);

/* True when a mount of the volume is wanted. */
bool volume_is_wanted(const struct node_volume *v);
/* The PersistentVolume has grown, and the node has to expand the file system. */
bool volume_has_to_grow(const struct node_volume *v);
/* The device step may have been performed. */
static inline bool volume_has_device_mounted(const struct node_volume *v)
{
    return v->device != MOUNT_NONE;
}

/* The only functions that change the mount state. */
void mount_set_state(struct node_mount *m, enum mount_event event);
void volume_set_device(struct node_volume *v, enum mount_event event);

/* NULL when pods, volumes and mounts are consistent, otherwise the violated invariant. For the simulator. */
const char *node_world_check(const struct node_world *w);

/* Replaces an allocated text; keeps the old one when out of memory. */
void node_world_set_text(char **at, const char *text);

#endif
