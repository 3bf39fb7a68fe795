/* What the node holds: pods, volumes, and the volumes of the pods, each with what is wanted and what is.
 *
 * Bookkeeping only: nothing here mounts, asks or decides. Records are in the order of their names, so that
 * nothing depends on chance, and stay as long as something is wanted or there. */
#ifndef BERTH_NODE_WORLD_H
#define BERTH_NODE_WORLD_H

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

enum attach_state {
    ATTACH_NO,        /* it needs not be attached */
    ATTACH_YES,       /* it is attachable, and attached as far as this node knows */
    ATTACH_UNCERTAIN, /* it may be: found after a restart and not known yet, or the answer did not come */
};

TAILQ_HEAD(node_mounts, node_mount);

/* A volume on this node, under its unique name. */
struct node_volume {
    char *name;
    const struct volume_plugin *plugin; /* a reference */

    /* Wanted, while a mount is. */
    struct held_spec wanted;
    bool is_attachable;    /* as the plugin says of it now */
    bool has_device;       /* it has a device step */
    const char *waits_for; /* as said last: a literal; NULL for nothing */
    struct wait_log wait;  /* the same in the log */
    bool is_reported;      /* in the node's status as in use, and that is acknowledged */
    uint64_t wanted_bytes; /* the PersistentVolume's size; 0: not known */

    /* What is. */
    bool is_held; /* the rest means something: it is attached, or needs not be */
    struct held_spec spec;
    enum attach_state attach;
    char *device_path;          /* "" for none; never NULL */
    enum mount_state device;    /* volume_set_device() */
    char *device_mount_path;    /* "" for none; of a block volume, where it is mapped for all pods */
    bool device_is_mount_point; /* something was mounted right there when the device step was done */
    uint64_t device_look;       /* so many looks at the mount table had begun by then: mount_check.h */
    uint64_t bytes;             /* how large it was when last heard of; 0: not known */
    bool refuses_growth;        /* in use it cannot grow: no more tries while it is held */
    bool failed_to_grow;        /* for good, at some size */
    bool is_found;              /* on disk after a restart, or its mount was lost, and not set up since */

    struct node_mounts mounts; /* those that were tried last are last */
};

/* A volume for a pod. */
struct node_mount {
    TAILQ_ENTRY(node_mount) of_volume;
    TAILQ_ENTRY(node_mount) of_pod;
    struct node_volume *volume;
    struct node_pod *pod;

    /* Wanted. */
    bool is_wanted;
    struct held_spec wanted;
    VEC(char *) outer_names; /* what the pod calls it, sorted: one claim may have several names */
    bool is_block;           /* for devices, not for mounts */
    int64_t group;           /* a supplemental group that comes with it; -1 for none */
    uint64_t wanted_ns;      /* since when */

    /* What is. */
    enum mount_state state; /* mount_set_state() */
    struct held_spec spec;
    bool was_block;
    bool needs_remount; /* its contents may have changed */
    bool is_found;      /* on disk after a restart, or its mount was lost, and not set up since */
    char *path;         /* where the pod finds it; of a block volume the link; "" until it is there */
    char *mount_point;  /* below the node's root, where something was mounted when it was set up; "": none */
    uint64_t look;      /* so many looks at the mount table had begun by then: mount_check.h */
    int64_t held_group; /* as group was when it was set up */
    int64_t held_bytes; /* how large it was made then; 0: its size does not follow from the pod */
};

struct world {
    struct omap volumes; /* struct node_volume by name */
    struct omap pods;    /* struct node_pod by uid */
};

void world_init(struct world *w);
/* Frees volumes and mounts; the pods are the agent's. */
void world_done(struct world *w);

/* NULL when there is none. */
struct node_volume *world_find_volume(const struct world *w, const char *name);
/* Made when there is none; NULL without memory. */
struct node_volume *world_add_volume(struct world *w, const char *name, const struct volume_plugin *p);
struct node_mount *world_find_mount(const struct node_volume *v, const char *pod_uid);
struct node_mount *world_add_mount(struct node_volume *v, struct node_pod *p);

/* One more name that the pod has for it; false without memory. */
bool mount_add_name(struct node_mount *m, const char *name);
/* Nobody wants it any more. */
void mount_unwant(struct node_mount *m);
/* Frees the mount when it is neither wanted nor there, and its volume when it is not held either and has no
 * mounts; true when the mount is gone. */
bool world_drop_mount(struct world *w, struct node_mount *m);
bool world_drop_volume(struct world *w, struct node_volume *v);

/* A mount of it is wanted. */
bool volume_is_wanted(const struct node_volume *v);
/* Its PersistentVolume is larger than it was, and the node has a part in that. */
bool volume_has_to_grow(const struct node_volume *v);
/* Its device step may have been taken. */
static inline bool volume_has_device_mounted(const struct node_volume *v)
{
    return v->device != MOUNT_NONE;
}

/* The only ways to change how far it is mounted. */
void mount_set_state(struct node_mount *m, enum mount_event event);
void volume_set_device(struct node_volume *v, enum mount_event event);

/* Replaces an allocated text; keeps the old one without memory. */
void world_set_text(char **at, const char *text);

#endif
