/* The pod directories: pods/UID below the agent's root. Blocking, for the pool.
 *
 * No symbolic link below the root is followed, and all lists are bounded. */
#ifndef BERTH_NODE_POD_DIR_H
#define BERTH_NODE_POD_DIR_H

#include "base/arena.h"
#include "plugins/plugin.h"

/* Opens pods/: the descriptor, or -ERR_*. ERR_NOT_FOUND when there is none. */
int pods_dir_open(const char *root, struct error *err);
/* The sorted names of the directories in pods/, in a: pod UIDs and directories of other origin. */
int pods_dir_list(int pods, struct arena *a, struct texts *ret, struct error *err);

/* False for directories that no agent created, such as lost+found: they are never removed. */
bool pod_uid_is_plausible(const char *name);

/* Removes the directory of one pod if nothing is mounted below it. Volume directories are removed by rmdir
 * only: a leftover file blocks the removal and is reported instead of lost. A missing directory is a success.
 * Errors: `orphaned pod "U" found, but …`; ERR_BUSY for a mount. */
int pod_dir_remove(const struct volume_env *env, const char *pod_uid, struct error *err);

#endif
