/* The directories of pods: pods/UID below the agent's root. Blocks: for the pool.
 *
 * No link is followed below the root, and what is counted is bounded. */
#ifndef BERTH_NODE_POD_DIR_H
#define BERTH_NODE_POD_DIR_H

#include "base/arena.h"
#include "plugins/plugin.h"

/* Opens pods/: the descriptor, or -ERR_*. ERR_NOT_FOUND when there is none. */
int pods_dir_open(const char *root, struct error *err);
/* The names of the directories in it, sorted, in a: the pods' uids, and whatever else somebody put there. */
int pods_dir_list(int pods, struct arena *a, struct texts *ret, struct error *err);

/* Anything else in pods/ was not made by an agent, and is left alone: lost+found. */
bool pod_uid_is_plausible(const char *name);

/* Removes the directory of one pod once nothing is mounted beneath. Volumes' directories go by rmdir alone: a
 * file that was left in one blocks the removal and is told, instead of being lost. One that is not there is
 * done. `orphaned pod "U" found, but …`; something mounted is ERR_BUSY. */
int pod_dir_remove(const struct volume_env *env, const char *pod_uid, struct error *err);

#endif
