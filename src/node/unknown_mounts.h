/* Mounts in volume directories that belong to no volume of this agent: left over from an earlier agent, with
 * a volume that cannot be reconstructed (damaged data file, missing plugin, unreadable directory).
 *
 * The volume of such a mount is unknown; its plugin is usually known. While the mount exists, all volumes of
 * that plugin that were in volumesInUse at start stay there, so that none is detached while it may be
 * mounted. Only an administrator can unmount it; an event and a condition of the Node name the path. Internal
 * to node/. */
#ifndef BERTH_NODE_UNKNOWN_MOUNTS_H
#define BERTH_NODE_UNKNOWN_MOUNTS_H

#include <stdbool.h>

#include "api/node.h"
#include "base/vec.h"
#include "node/mount_snapshot.h"

struct agent;

struct unknown_mount {
    char *path;
    char *plugin;  /* "": unknown, may be any */
    bool is_known; /* it belongs to a record now */
};

struct unknown_mounts {
    VEC(struct unknown_mount) all; /* by path */
    VEC(const char *) plugins;     /* of all of them, without duplicates; texts of `all` */
    bool has_any_plugin;           /* the plugin of at least one is unknown */
    VEC(char *) in_use; /* volumesInUse of the Node at start, sorted; empty without unknown mounts */
    char *words;        /* for the condition; NULL: none */
};

void unknown_mounts_done(struct unknown_mounts *u);

/* Called once, after the volumes on disk were added to the records and before any operation. False when out
 * of memory: then nothing is known. */
bool unknown_mounts_find(struct agent *a, const struct mount_snapshot *k);
/* A record has a mount at this path. */
void unknown_mounts_claim(struct agent *a, const char *path);
/* Removes those that are no longer mounted or belong to a record now. */
void unknown_mounts_check(struct agent *a, const struct mount_snapshot *k);
/* Takes volumesInUse of the Node as the earlier agent left it. False when out of memory. */
bool unknown_mounts_take_in_use(struct agent *a, const struct node *n);

/* True when the volume was in volumesInUse at start and one of the mounts may belong to it. */
bool unknown_mounts_keep(const struct agent *a, const char *unique_name);
/* Records an event on the Node and a log line, if there are any. */
void unknown_mounts_report(struct agent *a, const struct object *node);

#endif
