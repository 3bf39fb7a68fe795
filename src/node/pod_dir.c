/* Removes pod directories. The mount table is checked before anything is removed, so that a directory with a
 * mount stays untouched. Everything is then accessed by descriptor from pods/ on, without following symbolic
 * links and without crossing mounts. Volume directories are removed by rmdir only, since a file in one may be
 * user data; the rest, and temporary files beside a CSI volume, belong to the agent and are removed. */
#include "node/pod_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "api/quote.h"
#include "host/dirs.h"
#include "host/mount_table.h"
#include "host/safe_path.h"
#include "io/file.h"
#include "plugins/block.h"
#include "plugins/csi/csi_plugin.h"
#include "plugins/layout.h"

#define PODS_MAX 16384
#define ENTRIES_MAX 4096 /* of a directory below a pod's */
#define LIST_BYTES_MAX ((size_t)4 << 20)
#define TEXT_BYTES 300
#define CSI_DIR "kubernetes.io~csi"

int pods_dir_open(const char *root, struct error *err)
{
    char path[PATH_MAX];
    int fd;

    if (snprintf(path, sizeof path, "%s/pods", root) >= (int)sizeof path)
        return error_set(err, ERR_INVALID, "path '%s' is too long", root);
    fd = host_open_dir(AT_FDCWD, path, HOST_OPEN_ANY_MOUNT);
    return fd < 0 ? error_set_errno(err, -fd, "cannot open directory '%s'", path) : fd;
}

int pods_dir_list(int pods, struct arena *a, struct texts *ret, struct error *err)
{
    int r = host_list_below(pods, ".", HOST_LIST_DIRS, a, PODS_MAX, ret, err);

    return r < 0 ? error_wrap(err, "pods directory") : 0;
}

bool pod_uid_is_plausible(const char *name)
{
    static const char others[] = "-_.";

    for (const char *at = name; *at; at++)
        if (!((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9') ||
              (at > name && strchr(others, *at))))
            return false;
    return true;
}

/* --- Removing --- */

struct removal {
    const struct volume_env *env;
    const struct mount_table *mounts;
    const char *uid;
    char path[PATH_MAX]; /* of the pod's directory */
    int pods;
    int pod;
    struct arena arena;
};

static int list_dir(struct removal *m, const char *dir, unsigned kinds, struct texts *ret, struct error *err)
{
    struct texts names = { 0 };
    int r = host_list_below(m->pod, dir, kinds, &m->arena, ENTRIES_MAX, &names, err);

    if (r < 0 && r != -ERR_NOT_FOUND)
        return error_wrap(err, "cannot list '%s'", m->path);
    *ret = names;
    return 0;
}

static int fail_mounted(const char *where, struct error *err)
{
    char text[TEXT_BYTES];

    return error_set(err, ERR_BUSY, "something is still mounted at %s",
                     quote_text(text, sizeof text, str_of(where)));
}

/* A block device is bound in a directory of its plugin; the link in the pod's directory is the only reference
 * to it. */
static int check_devices(struct removal *m, struct error *err)
{
    struct texts plugins = { 0 }, names = { 0 };
    char dir[2 * NAME_MAX], plugin[NAME_MAX + 1];
    struct block_paths paths;
    int r = list_dir(m, "volumeDevices", HOST_LIST_DIRS, &plugins, err);

    for (uint32_t i = 0; r == 0 && i < plugins.count; i++) {
        (void)snprintf(dir, sizeof dir, "volumeDevices/%s", plugins.items[i]);
        r = list_dir(m, dir, HOST_LIST_LINKS, &names, err);
        if (r == 0)
            r = layout_unescape(plugins.items[i], plugin, err);
        for (uint32_t k = 0; r == 0 && k < names.count; k++) {
            r = strcmp(plugin, CSI_PLUGIN) == 0
                    ? csi_block_paths(/* self= */ NULL, m->env->root, names.items[k], m->uid, &paths, err)
                    : block_paths_of(m->env->root, plugin, names.items[k], m->uid, &paths, err);
            if (r == 0 && mount_table_find(m->mounts, paths.global_file))
                r = fail_mounted(paths.global_file, err);
        }
    }
    return r;
}

static int fail_rmdir(const struct removal *m, const char *dir, const char *name, int errnum,
                      struct error *err)
{
    return error_set_errno(err, errnum, "failed to rmdir() volume at path %s/%s/%s", m->path, dir, name);
}

/* The agent may have been killed while it wrote the data file of a CSI volume. */
static void discard_temporaries(struct removal *m, int volume)
{
    struct error ignored; /* the removal of the directory reports what is left */
    struct texts names = { 0 };

    (void)host_list_below(volume, ".", HOST_LIST_OTHERS, &m->arena, ENTRIES_MAX, &names, &ignored);
    for (uint32_t i = 0; i < names.count; i++)
        if (str_has_prefix(str_of(names.items[i]), IO_TMP_PREFIX))
            (void)host_remove_at(volume, names.items[i], m->path, m->env->stop, &ignored);
}

/* The volumes of one plugin. A CSI volume has one more directory level. */
static int remove_volumes_of(struct removal *m, const char *plugin, struct error *err)
{
    _cleanup_(fd_closep) int fd = -1;
    char dir[2 * NAME_MAX];
    struct texts names = { 0 };
    int r;

    (void)snprintf(dir, sizeof dir, "volumes/%s", plugin);
    r = list_dir(m, dir, HOST_LIST_ALL, &names, err);
    if (r < 0)
        return r;
    fd = host_open_dir(m->pod, dir, 0);
    if (fd < 0)
        return error_set_errno(err, -fd, "cannot open directory '%s/%s'", m->path, dir);
    for (uint32_t i = 0; i < names.count; i++) {
        if (strcmp(plugin, CSI_DIR) == 0) {
            _cleanup_(fd_closep) int volume = host_open_dir(fd, names.items[i], 0);
            if (volume >= 0)
                discard_temporaries(m, volume);
            r = volume < 0 ? 0 : host_remove_empty_at(volume, "mount");
        }
        if (r == 0)
            r = host_remove_empty_at(fd, names.items[i]);
        if (r < 0)
            return fail_rmdir(m, dir, names.items[i], -r, err);
    }
    return 0;
}

/* Removes directories only, and only empty ones. */
static int remove_volumes(struct removal *m, struct error *err)
{
    _cleanup_(fd_closep) int fd = -1;
    struct texts plugins = { 0 };
    int r = list_dir(m, "volumes", HOST_LIST_ALL, &plugins, err);

    for (uint32_t i = 0; r == 0 && i < plugins.count; i++)
        r = remove_volumes_of(m, plugins.items[i], err);
    if (r < 0)
        return r;
    fd = host_open_dir(m->pod, "volumes", 0);
    if (fd == -ENOENT)
        return 0;
    if (fd < 0)
        return error_set_errno(err, -fd, "cannot open directory '%s/volumes'", m->path);
    for (uint32_t i = 0; i < plugins.count; i++) {
        r = host_remove_empty_at(fd, plugins.items[i]);
        if (r < 0)
            return fail_rmdir(m, "volumes", plugins.items[i], -r, err);
    }
    r = host_remove_empty_at(m->pod, "volumes");
    return r < 0 ? error_set_errno(err, -r, "cannot remove directory '%s/volumes'", m->path) : 0;
}

/* Removes the rest: plugin data, links, subPath directories, the state file. */
static int remove_rest(struct removal *m, struct error *err)
{
    struct texts names = { 0 };
    int r = list_dir(m, ".", HOST_LIST_ALL, &names, err);

    for (uint32_t i = 0; r == 0 && i < names.count; i++) {
        char path[PATH_MAX + NAME_MAX + 2];

        if (strcmp(names.items[i], "volumes") == 0)
            return error_set(err, ERR_BUSY, "'%s/volumes' was created again during removal", m->path);
        (void)snprintf(path, sizeof path, "%s/%s", m->path, names.items[i]);
        r = host_remove_at(m->pod, names.items[i], path, m->env->stop, err);
    }
    return r;
}

static int remove_opened(struct removal *m, struct error *err)
{
    int r = check_devices(m, err);

    if (r == 0)
        r = remove_volumes(m, err);
    if (r == 0)
        r = remove_rest(m, err);
    if (r < 0)
        return r;
    r = host_remove_empty_at(m->pods, m->uid);
    return r < 0 ? error_set_errno(err, -r, "cannot remove directory '%s'", m->path) : 0;
}

static int remove_pod(const struct volume_env *env, const struct mount_table *mounts, const char *uid,
                      struct error *err)
{
    _cleanup_(fd_closep) int pods = -1, pod = -1;
    struct removal m = { .env = env, .mounts = mounts, .uid = uid, .arena = ARENA_INIT(LIST_BYTES_MAX) };
    const struct mount_entry *where = NULL;
    int r = layout_pod_dir(env->root, uid, m.path, err);

    if (r < 0)
        return r;
    if (mount_table_has_below(mounts, m.path, /* at_too= */ true, &where))
        return fail_mounted(where->target, err);
    pods = pods_dir_open(env->root, err);
    if (pods < 0)
        return pods == -ERR_NOT_FOUND ? 0 : pods;
    pod = host_open_dir(pods, uid, 0);
    if (pod == -ENOENT)
        return 0;
    if (pod < 0)
        return error_set_errno(err, -pod, "cannot open directory '%s'", m.path);
    m.pods = pods;
    m.pod = pod;
    r = remove_opened(&m, err);
    arena_done(&m.arena);
    return r;
}

int pod_dir_remove(const struct volume_env *env, const char *pod_uid, struct error *err)
{
    _cleanup_(mount_table_free_p) struct mount_table *own = NULL;
    struct error why = { 0 };
    char text[TEXT_BYTES];
    int r = env->mounts ? 0 : mount_table_read(&own, &why);

    if (r == 0)
        r = remove_pod(env, env->mounts ? env->mounts : own, pod_uid, &why);
    if (r == 0)
        return 0;
    return error_set(err, why.code, "orphaned pod %s found, but %s",
                     quote_text(text, sizeof text, str_of(pod_uid)), why.msg);
}
