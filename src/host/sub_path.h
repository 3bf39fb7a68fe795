/* Part of a volume for a container, created and bound without ever leaving the volume. Blocks: call it from
 * the pool. */
#ifndef BERTH_HOST_SUB_PATH_H
#define BERTH_HOST_SUB_PATH_H

#include "host/mount_syscall.h"

struct sub_path {
    const char *volume_path; /* mount point of the volume */
    const char *path;        /* in the volume; relative */
    const char *volume_name; /* name of its directory */
    const char *container;
    const char *pod_dir; /* <root>/pods/<uid> */
    unsigned index;      /* of the mount in the container's list */
    bool is_read_only;
};

/* Checks the text: refuses absolute paths and ".." as the specification says. Pure. */
int sub_path_check(const char *path, struct error *err);

/* Creates <volume>/<path> if it is missing, with the mode of the volume's root. */
int sub_path_make(const char *volume_path, const char *path, struct error *err);

/* Binds it at <pod_dir>/volume-subpaths/<volume name>/<container>/<index>. An existing bind of the same file
 * stays; anything else is removed first. On failure nothing is left. */
int sub_path_bind(const struct host_tools *t, const struct sub_path *s, char ret[PATH_MAX],
                  struct error *err);

/* Unmounts all binds of the volume, before the volume is unmounted. */
int sub_paths_clean(const struct host_tools *t, const char *pod_dir, const char *volume_name,
                    struct error *err);

#endif
