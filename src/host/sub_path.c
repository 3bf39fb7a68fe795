/* Sub paths of volumes. A pod that writes to the volume may replace anything in it at any time, so nothing is
 * checked and then used by name: the kernel resolves the path below the volume's open directory and refuses
 * to leave it (openat2), and the resulting descriptor is what is bound. Links are followed as long as they
 * stay in the volume.
 *
 * The target of the bind is below the pod's directory, which only this agent writes to. */
#include "host/sub_path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "api/quote.h"
#include "base/cleanup.h"
#include "host/files.h"
#include "host/safe_path.h"
#include "io/file.h"
#include "io/sys.h"

#define SUB_PATHS "volume-subpaths"
#define DIR_MODE 0750
#define FILE_MODE 0640
#define MODE_BITS 07777
#define TEXT_BYTES 200
#define STACKED_MAX 16 /* mounts stacked at a target */

int sub_path_check(const char *path, struct error *err)
{
    if (path[0] == '/')
        return error_set(err, ERR_INVALID, "error SubPath `%s` must not be an absolute path", path);
    for (struct str rest = str_of(path); rest.s;)
        if (str_is(str_next(&rest, '/'), ".."))
            return error_set(err, ERR_INVALID, "unable to provision SubPath `%s`: must not contain '..'",
                             path);
    return 0;
}

/* The path of the volume itself may contain links: the pod did not choose it. */
static int open_volume(const char *path, int *ret, struct error *err)
{
    int fd = sys_open(path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);

    if (fd < 0)
        return error_set_errno(err, errno, "cannot open volume '%s'", path);
    *ret = fd;
    return 0;
}

/* Creating */

struct making {
    const char *volume_path;
    const char *path;
    int volume;
    int at; /* the directory reached so far */
    mode_t mode;
};

static void making_done(struct making *m)
{
    fd_closep(&m->volume);
    fd_closep(&m->at);
}

static int refuse_outside(const struct making *m, struct error *err)
{
    return error_set(err, ERR_DENIED, "path %s/%s is outside of allowed base %s", m->volume_path, m->path,
                     m->volume_path);
}

/* Creates a missing directory: its descriptor, or a negative error. A link that appears there meanwhile is an
 * attack. */
static int make_one(const struct making *m, const char *name, struct error *err)
{
    _cleanup_(fd_closep) int fd = -1;
    bool is_new = sys_mkdirat(m->at, name, 0700) == 0;

    if (!is_new && errno != EEXIST)
        return error_set_errno(err, errno, "cannot create directory '%s' in '%s'", m->path, m->volume_path);
    fd = host_open_dir(m->at, name, HOST_OPEN_ANY_MOUNT);
    if (fd == -ELOOP || fd == -ENOTDIR)
        return error_set(err, ERR_DENIED, "unexpected symlink found %s/%s", m->volume_path, m->path);
    if (fd < 0)
        return error_set_errno(err, -fd, "cannot open directory '%s' in '%s'", m->path, m->volume_path);
    if (is_new && sys_fchmod(fd, m->mode) < 0) /* regardless of the umask */
        return error_set_errno(err, errno, "cannot set the mode of '%s' in '%s'", m->path, m->volume_path);
    return take_fd(&fd);
}

/* A link in the path is resolved from the volume's root, with the components before it: `so_far`. */
static int follow_link(const struct making *m, struct str so_far, struct error *err)
{
    char prefix[PATH_MAX];
    int fd;

    (void)snprintf(prefix, sizeof prefix, "%.*s", STR_ARG(so_far));
    fd = host_open_within(m->volume, prefix);
    if (fd == -EXDEV)
        return refuse_outside(m, err);
    if (fd < 0)
        return error_set_errno(err, -fd, "cannot follow link '%s' in '%s'", prefix, m->volume_path);
    return fd;
}

/* The next component: a descriptor (O_PATH if it exists), or a negative error. */
static int step_down(const struct making *m, struct str part, struct str so_far, struct error *err)
{
    char name[NAME_MAX + 1];
    struct stat st;
    int fd;

    if (part.len > NAME_MAX)
        return error_set(err, ERR_INVALID, "SubPath '%s' has a name that is too long", m->path);
    (void)snprintf(name, sizeof name, "%.*s", STR_ARG(part));
    fd = sys_openat(m->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
    if (fd < 0 && errno == ENOENT)
        return make_one(m, name, err);
    if (fd < 0)
        return error_set_errno(err, errno, "cannot open '%s' in '%s'", m->path, m->volume_path);
    if (sys_fstat(fd, &st) < 0 || !S_ISLNK(st.st_mode))
        return fd;
    (void)sys_close(fd);
    return follow_link(m, so_far, err);
}

static int make_all(struct making *m, struct error *err)
{
    for (struct str rest = str_of(m->path); rest.s;) {
        struct str part = str_next(&rest, '/');
        if (part.len == 0 || str_is(part, "."))
            continue;
        int next = step_down(m, part, (struct str){ m->path, (size_t)(part.s + part.len - m->path) }, err);
        if (next < 0)
            return next;
        (void)sys_close(m->at);
        m->at = next;
    }
    return 0;
}

int sub_path_make(const char *volume_path, const char *path, struct error *err)
{
    _cleanup_(making_done) struct making m = { volume_path, path, -1, -1, 0 };
    struct stat st;
    int r = sub_path_check(path, err);

    if (r == 0 && strlen(path) >= PATH_MAX)
        r = error_set(err, ERR_INVALID, "SubPath has %zu bytes, more than %d", strlen(path), PATH_MAX - 1);
    if (r == 0)
        r = open_volume(volume_path, &m.volume, err);
    if (r < 0)
        return r;
    m.at = sys_dup(m.volume);
    if (m.at < 0 || sys_fstat(m.volume, &st) < 0)
        return error_set_errno(err, errno, "cannot examine volume '%s'", volume_path);
    m.mode = st.st_mode & MODE_BITS;
    return make_all(&m, err);
}

/* Binding */

static int open_source(const struct sub_path *s, int *ret, struct error *err)
{
    char volume[TEXT_BYTES], path[TEXT_BYTES], inside[PATH_MAX];
    _cleanup_(fd_closep) int base = -1;
    int r = open_volume(s->volume_path, &base, err), fd;

    if (r < 0)
        return r;
    /* O_PATH does not trigger an automount: entering the directory does. */
    if (snprintf(inside, sizeof inside, "%s/.", s->path) < (int)sizeof inside) {
        int entered = host_open_within(base, inside);
        fd_closep(&entered);
    }
    fd = host_open_within(base, s->path);
    if (fd == -EXDEV)
        return error_set(err, ERR_DENIED, "subpath %s not within volume path %s",
                         quote_text(path, sizeof path, str_of(s->path)),
                         quote_text(volume, sizeof volume, str_of(s->volume_path)));
    if (fd < 0)
        return error_set_errno(err, -fd, "cannot open '%s' in '%s'", s->path, s->volume_path);
    *ret = fd;
    return 0;
}

/* A single component that is not "." or "..". */
static int check_name(const char *name, struct error *err)
{
    if (name[0] == '\0' || strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return error_set(err, ERR_INVALID, "'%s' is not a valid name of a directory", name);
    return 0;
}

/* Removes the last `levels` components. */
static void remove_components(char *path, unsigned levels)
{
    for (; levels > 0; levels--)
        *strrchr(path, '/') = '\0';
}

static int target_path(const struct sub_path *s, char ret[PATH_MAX], struct error *err)
{
    int r = check_name(s->volume_name, err), n;

    if (r == 0)
        r = check_name(s->container, err);
    if (r < 0)
        return r;
    n = snprintf(ret, PATH_MAX, "%s/" SUB_PATHS "/%s/%s/%u", s->pod_dir, s->volume_name, s->container,
                 s->index);
    if (n < 0 || n >= PATH_MAX)
        return error_set(err, ERR_INVALID, "a path below '%s' is too long", s->pod_dir);
    return 0;
}

/* A bind that a crash prevented from becoming read-only does not count. */
static bool is_bound(const char *target, const struct stat *source, bool is_read_only)
{
    struct statvfs fs;
    struct stat st;

    return sys_lstat(target, &st) == 0 && st.st_dev == source->st_dev && st.st_ino == source->st_ino &&
           (!is_read_only || (sys_statvfs(target, &fs) == 0 && (fs.f_flag & ST_RDONLY)));
}

static int make_target(const char *target, bool is_dir, struct error *err)
{
    int fd;

    if (is_dir)
        return host_make_path(target, DIR_MODE, err);
    fd = sys_open(target, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
    if (fd < 0)
        return error_set_errno(err, errno, "cannot create file '%s'", target);
    (void)sys_close(fd); /* nothing was written */
    return 0;
}

/* Prepares a target that the source can be bound on, and removes what is in the way; 1 when it is bound
 * already. */
static int prepare_target(const struct host_tools *t, const char *target, const struct stat *source,
                          bool is_read_only, struct error *err)
{
    bool is_dir = S_ISDIR(source->st_mode);
    enum host_path_state state;
    struct stat st;

    for (unsigned i = 0; i < STACKED_MAX; i++) {
        int r = host_path_state(target, &state, err);
        if (r < 0)
            return r;
        if (state == HOST_PATH_MISSING)
            return make_target(target, is_dir, err);
        if (state == HOST_PATH_PLAIN && sys_lstat(target, &st) == 0 &&
            (is_dir ? S_ISDIR(st.st_mode) : S_ISREG(st.st_mode)))
            return 0; /* of the kind that the source can be bound on */
        if (state == HOST_PATH_MOUNTED && is_bound(target, source, is_read_only))
            return 1;
        r = state == HOST_PATH_PLAIN ? host_clean_mount_point(t, target, 0, err)
                                     : host_unmount_lazily(target, err);
        if (r < 0)
            return r;
    }
    return error_set(err, ERR_BUSY, "too many mounts are stacked at '%s'", target);
}

static int bind_source(const struct host_tools *t, const struct sub_path *s, int source, const char *target,
                       struct error *err)
{
    static const char *const options[] = { "bind", "ro" };
    char parent[PATH_MAX];
    struct stat st;
    int r;

    if (sys_fstat(source, &st) < 0)
        return error_set_errno(err, errno, "cannot examine '%s' in '%s'", s->path, s->volume_path);
    (void)snprintf(parent, sizeof parent, "%s", target);
    remove_components(parent, 1);
    r = host_make_path(parent, DIR_MODE, err);
    if (r == 0)
        r = prepare_target(t, target, &st, s->is_read_only, err);
    if (r != 0)
        return r < 0 ? r : 0;
    return host_bind_fd(t, source, target, (struct texts){ options, s->is_read_only ? 2 : 1 }, err);
}

/* Removes the target, and the directories that were created for it if they are empty. */
static void undo_bind(const struct host_tools *t, const char *target)
{
    struct error ignored = { 0 }; /* the failure that led here is the one to report */
    char path[PATH_MAX];

    if (host_clean_mount_point(t, target, 0, &ignored) < 0)
        return;
    (void)snprintf(path, sizeof path, "%s", target);
    for (int i = 0; i < 3; i++) {
        remove_components(path, 1);
        if (sys_rmdir(path) < 0)
            return;
    }
}

int sub_path_bind(const struct host_tools *t, const struct sub_path *s, char ret[PATH_MAX], struct error *err)
{
    _cleanup_(fd_closep) int source = -1;
    char target[PATH_MAX];
    int r = sub_path_check(s->path, err);

    if (r == 0)
        r = target_path(s, target, err);
    if (r < 0)
        return r;
    r = open_source(s, &source, err);
    if (r == 0)
        r = bind_source(t, s, source, target, err);
    if (r < 0) {
        undo_bind(t, target);
        return r;
    }
    memcpy(ret, target, strlen(target) + 1);
    return 0;
}

/* Removing */

typedef int entry_fn(const struct host_tools *t, const char *path, struct error *err);

/* Calls fn for every entry of the directory, then removes it. A missing directory is not an error. */
static int clean_dir(const struct host_tools *t, const char *path, entry_fn *fn, struct error *err)
{
    int fd = host_open_dir(AT_FDCWD, path, HOST_OPEN_ANY_MOUNT), r = 0;
    struct sys_dir *dir = fd < 0 ? NULL : sys_fdopendir(fd);
    char entry[PATH_MAX];
    const struct dirent *e;

    if (fd == -ENOENT)
        return 0;
    if (!dir) {
        r = error_set_errno(err, fd < 0 ? -fd : errno, "cannot list '%s'", path);
        fd_closep(&fd);
        return r;
    }
    while (r == 0 && (e = sys_readdir(dir))) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        int n = snprintf(entry, sizeof entry, "%s/%s", path, e->d_name);
        r = n < (int)sizeof entry ? fn(t, entry, err)
                                  : error_set(err, ERR_INVALID, "a path below '%s' is too long", path);
    }
    sys_closedir(dir);
    return r < 0 ? r : host_remove_empty_dir(path, err);
}

static int clean_bind(const struct host_tools *t, const char *path, struct error *err)
{
    return host_clean_mount_point(t, path, 0, err);
}

static int clean_container(const struct host_tools *t, const char *path, struct error *err)
{
    return clean_dir(t, path, clean_bind, err);
}

int sub_paths_clean(const struct host_tools *t, const char *pod_dir, const char *volume_name,
                    struct error *err)
{
    char path[PATH_MAX];
    int r = check_name(volume_name, err), n;

    if (r < 0)
        return r;
    n = snprintf(path, sizeof path, "%s/" SUB_PATHS "/%s", pod_dir, volume_name);
    if (n < 0 || n >= (int)sizeof path)
        return error_set(err, ERR_INVALID, "a path below '%s' is too long", pod_dir);
    r = clean_dir(t, path, clean_container, err);
    if (r < 0)
        return r;
    remove_components(path, 1);
    (void)sys_rmdir(path); /* other volumes of the pod may use it */
    return 0;
}
