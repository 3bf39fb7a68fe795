/* Part of a volume for a container, made and bound without ever leaving the volume. Blocks: for the pool. */
#ifndef BERTH_HOST_SUB_PATH_H
#define BERTH_HOST_SUB_PATH_H

#include "host/mount.h"

struct sub_path {
    const char *volume_path; /* where the volume is */
    const char *path;        /* in it; relative */
    const char *volume_name; /* its directory's name */
    const char *container;
    const char *pod_dir; /* <root>/pods/<uid> */
    unsigned index;      /* of the mount in the container's list */
    bool is_read_only;
};

/* As text: the spec's refusals of absolute paths and "..". Pure. */
int sub_path_check(const char *path, struct error *err);

/* Makes <volume>/<path> where it is missing, with the mode of the volume's root. */
int sub_path_make(const char *volume_path, const char *path, struct error *err);

/* Binds it at <pod_dir>/volume-subpaths/<volume name>/<container>/<index>. What is bound there already and is
 * the same file stays; anything else goes first. On failure nothing is left. */
int sub_path_bind(const struct host_tools *t, const struct sub_path *s, char ret[PATH_MAX],
                  struct error *err);

/* Ends all binds of the volume, before it is torn down. */
int sub_paths_clean(const struct host_tools *t, const char *pod_dir, const char *volume_name,
                    struct error *err);

#endif
