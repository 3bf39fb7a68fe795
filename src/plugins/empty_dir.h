/* Directories that exist as long as their pod: on disk, in memory, in huge pages. Blocking: call it on the
 * pool.
 *
 * Volumes that show objects use such directories too. So a directory has its own name here: "wrapped_" and
 * the volume's name, if another plugin uses it. */
#ifndef BERTH_PLUGINS_EMPTY_DIR_H
#define BERTH_PLUGINS_EMPTY_DIR_H

#include "plugins/plugin.h"

#define EMPTY_DIR_MEMORY "Memory"

struct empty_dir {
    const char *name; /* of its marker */
    const char *path;
    struct pod_empty_dir source;
};

/* Only the pod, the node and the group of q are used. A volume that is set up stays as it is. */
int empty_dir_set_up(const struct volume_env *env, const struct set_up_request *q, const struct empty_dir *e,
                     struct error *err);
/* Removes the directory with its contents, and unmounts it if something is mounted. */
int empty_dir_tear_down(const struct volume_env *env, const char *pod_uid, const char *name, const char *path,
                        struct error *err);

/* The size of a volume in memory: the node's allocatable memory, the pod's limit or the volume's own limit,
 * whichever is least. 0: unknown. Pure. */
int64_t empty_dir_memory_bytes(const struct pod_empty_dir *source, const struct pod *pod,
                               const struct node *node);
/* "2Mi": the page size for that medium of the pod. Pure. */
int empty_dir_page_size(const struct pod *pod, const char *medium, struct quantity *ret, struct error *err);

/* Changes the size of a volume in memory with a size limit, after a resize of the pod. ERR_UNAVAILABLE if it
 * is not set up. */
int empty_dir_resize(const struct volume_env *env, const struct volume_spec *s, const struct pod *pod,
                     int64_t bytes, struct error *err);

/* A slot of pod_table for all volumes that use such directories. */
int empty_dir_usage(const struct volume_plugin *self, const struct volume_env *env, const char *path,
                    struct host_usage *ret, struct error *err);

#endif
