/* Single operations on paths. Replacement is durable: file, rename and directory are synced in this order. */
#include "io/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "io/end_signal.h"
#include "io/file.h"
#include "io/random.h"
#include "io/sys.h"

int io_exists(const char *path, bool *ret, struct error *err)
{
    struct stat st;
    bool is_present = sys_lstat(path, &st) == 0;

    if (!is_present && errno != ENOENT)
        return error_set_errno(err, errno, "cannot examine '%s'", path);
    *ret = is_present;
    return 0;
}

int io_mode(const char *path, mode_t *ret, struct error *err)
{
    struct stat st;

    if (sys_stat(path, &st) < 0)
        return error_set_errno(err, errno, "cannot examine '%s'", path);
    *ret = st.st_mode & 07777;
    return 0;
}

int io_may_write_dir(const char *dir, bool *ret, uid_t *ret_owner, struct error *err)
{
    struct stat st;

    if (sys_stat(dir, &st) < 0 || (sys_access(dir, W_OK | X_OK) < 0 && errno != EACCES))
        return error_set_errno(err, errno, "cannot write to '%s'", dir);
    *ret = sys_access(dir, W_OK | X_OK) == 0;
    *ret_owner = st.st_uid;
    return 0;
}

int io_absolute(const char *path, char ret[PATH_MAX], struct error *err)
{
    char dir[PATH_MAX] = "";
    int n;

    if (path[0] != '/' && !getcwd(dir, sizeof dir))
        return error_set_errno(err, errno,
                               "cannot determine the working directory for the relative path '%s'", path);
    n = snprintf(ret, PATH_MAX, "%s%s%s", dir, path[0] == '/' || strcmp(dir, "/") == 0 ? "" : "/", path);
    if (n < 0 || n >= PATH_MAX)
        return error_set_errno(err, ENAMETOOLONG, "cannot use '%s'", path);
    return 0;
}

bool io_is_same_file(const char *a, const char *b)
{
    struct stat x, y;

    return sys_stat(a, &x) == 0 && sys_stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Entries that a directory may have and still counts as empty. */
static bool is_ignored_entry(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, IO_LOCK_NAME) == 0 ||
           str_has_prefix(str_of(name), IO_TMP_PREFIX);
}

int io_dir_is_empty(const char *dir, bool *ret, struct error *err)
{
    _cleanup_(sys_closedirp) struct sys_dir *d = sys_opendir(dir);
    const struct dirent *e;

    if (!d && errno == ENOENT) {
        *ret = true;
        return 0;
    }
    if (!d)
        return error_set_errno(err, errno, "cannot open directory '%s'", dir);
    errno = 0;
    while ((e = sys_readdir(d)) && is_ignored_entry(e->d_name))
        errno = 0;
    if (!e && errno != 0)
        return error_set_errno(err, errno, "cannot read directory '%s'", dir);
    *ret = !e;
    return 0;
}

/* "DIR/.berth-tmp-XXXX" with 64 random bits. */
static int tmp_name(const char *dir, size_t dir_len, char ret[PATH_MAX], struct error *err)
{
    uint64_t id;
    int n, r = io_random(&id, sizeof id, err);

    if (r < 0)
        return r;
    n = snprintf(ret, PATH_MAX, "%.*s" IO_TMP_PREFIX "%016" PRIx64, (int)dir_len, dir, id);
    if (n < 0 || n >= PATH_MAX)
        return error_set_errno(err, ENAMETOOLONG, "cannot create a temporary name in '%.*s'", (int)dir_len,
                               dir);
    return 0;
}

static int tmp_name_beside(const char *path, char ret[PATH_MAX], struct error *err)
{
    const char *slash = strrchr(path, '/');

    return tmp_name(path, slash ? (size_t)(slash + 1 - path) : 0, ret, err);
}

static int tmp_create_beside(const char *path, const char *name, struct error *err)
{
    int fd = sys_open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd < 0)
        return error_set_errno(err, errno, "cannot create a temporary file beside '%s'", path);
    fd_closep(&fd);
    return 0;
}

int io_tmp_file_beside(const char *path, char ret[PATH_MAX], struct error *err)
{
    char name[PATH_MAX];
    int r = tmp_name_beside(path, name, err);

    if (r == 0)
        r = tmp_create_beside(path, name, err);
    if (r == 0)
        memcpy(ret, name, sizeof name);
    return r;
}

#define GUARDED_MAX 4

/* Read by the signal handler. */
static char guarded_names[GUARDED_MAX][PATH_MAX];

static void discard_guarded(void)
{
    for (size_t i = 0; i < ARRAY_LEN(guarded_names); i++)
        if (guarded_names[i][0])
            (void)sys_unlink(guarded_names[i]); /* best effort */
}

void io_unguard_tmp(void)
{
    end_signal_remove(discard_guarded);
}

int io_guarded_tmp_file_beside(const char *path, const char *const *endings, size_t count, char ret[PATH_MAX],
                               struct error *err)
{
    char name[PATH_MAX];
    int r = tmp_name_beside(path, name, err);

    if (r < 0)
        return r;
    memset(guarded_names, 0, sizeof guarded_names);
    for (size_t i = 0; i < count && i < ARRAY_LEN(guarded_names); i++) {
        int n = snprintf(guarded_names[i], PATH_MAX, "%s%s", name, endings[i]);
        if (n < 0 || n >= PATH_MAX)
            guarded_names[i][0] = '\0'; /* an empty name: nothing to delete */
    }
    end_signal_add(discard_guarded); /* registered before the file exists */
    r = tmp_create_beside(path, name, err);
    if (r < 0)
        io_unguard_tmp();
    else
        memcpy(ret, name, sizeof name);
    return r;
}

static int sync_path(const char *path, int flags, struct error *err)
{
    int fd = sys_open(path, O_RDONLY | O_CLOEXEC | flags, 0);
    int r = 0;

    if (fd < 0)
        return error_set_errno(err, errno, "cannot open '%s'", path);
    if (sys_fsync(fd) < 0)
        r = error_set_errno(err, errno, "cannot sync '%s'", path);
    fd_closep(&fd);
    return r;
}

int io_move_into_place(const char *file, const char *path, struct error *err)
{
    const char *slash = strrchr(path, '/');
    char dir[PATH_MAX];
    int n = slash ? snprintf(dir, sizeof dir, "%.*s/", (int)(slash - path), path)
                  : snprintf(dir, sizeof dir, ".");
    int r;

    if (n < 0 || (size_t)n >= sizeof dir)
        return error_set_errno(err, ENAMETOOLONG, "cannot replace '%s'", path);
    r = sync_path(file, 0, err);
    if (r < 0)
        return r;
    if (sys_rename(file, path) < 0)
        return error_set_errno(err, errno, "cannot rename '%s' to '%s'", file, path);
    return sync_path(dir, O_DIRECTORY, err);
}

void io_discard_file(const char *path)
{
    (void)sys_unlink(path); /* best effort */
}

int io_tmp_dir_below(const char *parent, char ret[PATH_MAX], struct error *err)
{
    char dir[PATH_MAX], name[PATH_MAX];
    int n = snprintf(dir, sizeof dir, "%s/", parent);
    int r;

    if (n < 0 || (size_t)n >= sizeof dir)
        return error_set_errno(err, ENAMETOOLONG, "cannot create a directory in '%s'", parent);
    r = tmp_name(dir, (size_t)n, name, err);
    if (r < 0)
        return r;
    if (sys_mkdir(name, 0700) < 0)
        return error_set_errno(err, errno, "cannot create a directory in '%s'", parent);
    memcpy(ret, name, sizeof name);
    return 0;
}

void io_discard_dir(const char *dir)
{
    _cleanup_(sys_closedirp) struct sys_dir *d = sys_opendir(dir);
    const struct dirent *e;

    while (d && (e = sys_readdir(d)))
        (void)sys_unlinkat(sys_dirfd(d), e->d_name, 0); /* fails for directories, "." and "..": they stay */
    (void)sys_rmdir(dir);
}
