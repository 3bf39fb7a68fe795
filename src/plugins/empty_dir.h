/* Directories that live as long as their pod: on disk, in memory, in huge pages. Blocks: for the pool.
 *
 * The volumes that show objects stand in such directories too, so that a directory has a name of its own
 * here: "wrapped_" and the volume's, where it is somebody else's. */
#ifndef BERTH_PLUGINS_EMPTY_DIR_H
#define BERTH_PLUGINS_EMPTY_DIR_H

#include "plugins/plugin.h"

#define EMPTY_DIR_MEMORY "Memory"

struct empty_dir {
    const char *name; /* of what is noted about it */
    const char *path;
    struct pod_empty_dir source;
};

/* Of q the pod, the node and the group count. What is set up stays as it is. */
int empty_dir_set_up(const struct volume_env *env, const struct set_up_request *q, const struct empty_dir *e,
                     struct error *err);
/* The directory with all that is in it; whether something is mounted there is found out. */
int empty_dir_tear_down(const struct volume_env *env, const char *pod_uid, const char *name, const char *path,
                        struct error *err);

/* How large a volume in memory is: what the node can give, less where the pod's limit is less, less where the
 * volume's own is. 0 when nobody says. Pure. */
int64_t empty_dir_memory_bytes(const struct pod_empty_dir *source, const struct pod *pod,
                               const struct node *node);
/* "2Mi": the size of the pages for that medium of the pod. Pure. */
int empty_dir_page_size(const struct pod *pod, const char *medium, struct quantity *ret, struct error *err);

/* Gives a volume in memory that has a size limit another size: the pod was resized. ERR_UNAVAILABLE while it
 * is not set up. */
int empty_dir_resize(const struct volume_env *env, const struct volume_spec *s, const struct pod *pod,
                     int64_t bytes, struct error *err);

/* Slots of a pod_table that all volumes of this making share. */
int empty_dir_path(const struct volume_plugin *self, const char *root, const char *pod_uid, const char *name,
                   const struct volume_spec *spec, char ret[PATH_MAX], struct error *err);
int empty_dir_usage(const struct volume_plugin *self, const struct volume_env *env, const char *path,
                    struct host_usage *ret, struct error *err);

#endif
