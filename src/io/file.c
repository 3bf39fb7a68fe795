/* Atomic replacement, bounded reads, directories and locks.
 *
 * A file is replaced by writing a temporary file in the same directory, fsync, rename and fsync of the
 * directory, so a crash leaves the old or the new file whole. Each replacement costs two disk flushes. Locks
 * belong to open descriptors, so the kernel releases them when the process dies. */
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/poll.h> /* <poll.h> would find io/poll.h */
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "io/random.h"
#include "io/sys.h"

#define IO_TMP_NAME_BYTES (sizeof IO_TMP_PREFIX + 16)
#define IO_READ_CHUNK_BYTES 16384
#define IO_PID_TEXT_BYTES 24
/* How long the lock of a dead holder is awaited, and the polling interval. */
#define IO_LOCK_WAIT_MS 2000
#define IO_LOCK_LOOK_MS 5

void fd_closep(const int *fd)
{
    if (*fd >= 0)
        (void)sys_close(*fd); /* no remedy here: writers sync before */
}

/* Writes all of data; 0 or -errno. */
static int write_all(int fd, const void *data, size_t len)
{
    const char *at = data;

    while (len > 0) {
        ssize_t n = sys_write(fd, at, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        at += n;
        len -= (size_t)n;
    }
    return 0;
}

/* Reads up to size bytes of the file, for small ones; the count or -errno. */
static ssize_t read_some(int fd, void *data, size_t size)
{
    ssize_t n;

    do
        n = sys_read(fd, data, size);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

/* Replacing */

/* Creates a file under an unpredictable name, accessible to its owner only until it is complete. */
static int tmp_create(int dirfd, char name[IO_TMP_NAME_BYTES], int *ret_fd, struct error *err)
{
    uint64_t id;
    int fd, r;

    r = io_random(&id, sizeof id, err);
    if (r < 0)
        return r;
    (void)snprintf(name, IO_TMP_NAME_BYTES, IO_TMP_PREFIX "%016" PRIx64, id);
    fd = sys_openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_set_errno(err, errno, "cannot create a temporary file");
    *ret_fd = fd;
    return 0;
}

static int tmp_fill(int fd, const void *data, size_t len, mode_t mode, struct error *err)
{
    int r = write_all(fd, data, len);

    if (r < 0)
        return error_set_errno(err, -r, "cannot write %zu bytes", len);
    if (sys_fchmod(fd, mode) < 0)
        return error_set_errno(err, errno, "cannot set mode %04o", (unsigned)mode);
    if (sys_fsync(fd) < 0)
        return error_set_errno(err, errno, "cannot sync");
    return 0;
}

/* Gives the complete file its name. is_new: only if there is none; a link is exclusive where a rename that
 * does not replace is not supported: NFS. */
static int tmp_rename(int dirfd, const char *tmp, const char *name, bool is_new, struct error *err)
{
    struct stat st;

    if (is_new && sys_linkat(dirfd, tmp, dirfd, name) == 0) {
        (void)sys_unlinkat(dirfd, tmp, 0); /* a second name that is left over is a temporary file */
        return 0;
    }
    if (is_new && (errno == EEXIST || sys_fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0))
        return error_set_errno(err, EEXIST, "cannot give the new file its name");
    if (sys_renameat(dirfd, tmp, dirfd, name) < 0)
        return error_set_errno(err, errno, "cannot rename the new file into place");
    return 0;
}

static int replace_at(int dirfd, const char *name, const void *data, size_t len, mode_t mode, bool is_new,
                      struct error *err)
{
    _cleanup_(fd_closep) int fd = -1;
    char tmp[IO_TMP_NAME_BYTES];
    int r;

    r = tmp_create(dirfd, tmp, &fd, err);
    if (r < 0)
        return r;
    r = tmp_fill(fd, data, len, mode, err);
    if (r == 0)
        r = tmp_rename(dirfd, tmp, name, is_new, err);
    if (r < 0) {
        (void)sys_unlinkat(dirfd, tmp, 0); /* the first failure is the one to report */
        return r;
    }
    if (sys_fsync(dirfd) < 0)
        return error_set_errno(err, errno, "cannot sync its directory");
    return 0;
}

static bool is_file_name(const char *name)
{
    return name[0] != '\0' && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

int io_replace_file_at(int dirfd, const char *name, const void *data, size_t len, mode_t mode,
                       struct error *err)
{
    int r;

    if (!is_file_name(name))
        return error_set(err, ERR_INVALID, "'%s' is not the name of a file", name);
    r = replace_at(dirfd, name, data, len, mode, /* is_new= */ false, err);
    if (r < 0)
        return error_wrap(err, "cannot replace '%s'", name);
    return 0;
}

int io_create_file_at(int dirfd, const char *name, const void *data, size_t len, mode_t mode,
                      struct error *err)
{
    int r;

    if (!is_file_name(name))
        return error_set(err, ERR_INVALID, "'%s' is not the name of a file", name);
    r = replace_at(dirfd, name, data, len, mode, /* is_new= */ true, err);
    if (r < 0)
        return error_wrap(err, "cannot create '%s'", name);
    return 0;
}

/* Opens the directory of path: the part before its last '/', or the working directory. */
static int open_parent(const char *path, int *ret_fd, struct error *err)
{
    const char *slash = strrchr(path, '/');
    char dir[PATH_MAX];
    int n = slash ? snprintf(dir, sizeof dir, "%.*s/", (int)(slash - path), path)
                  : snprintf(dir, sizeof dir, ".");
    int fd;

    if (n < 0 || (size_t)n >= sizeof dir)
        return error_set_errno(err, ENAMETOOLONG, "cannot open the directory of '%s'", path);
    fd = sys_open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0)
        return error_set_errno(err, errno, "cannot open directory '%s'", dir);
    *ret_fd = fd;
    return 0;
}

int io_replace_file(const char *path, const void *data, size_t len, mode_t mode, struct error *err)
{
    _cleanup_(fd_closep) int dirfd = -1;
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    int r;

    if (!is_file_name(name))
        return error_set(err, ERR_INVALID, "'%s' is not the name of a file", path);
    r = open_parent(path, &dirfd, err);
    if (r == 0)
        r = replace_at(dirfd, name, data, len, mode, /* is_new= */ false, err);
    if (r < 0)
        return error_wrap(err, "cannot replace '%s'", path);
    return 0;
}

/* Reading */

int io_read_fd(int fd, const char *path, size_t bytes_max, struct buf *ret, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(bytes_max);
    char chunk[IO_READ_CHUNK_BYTES];
    ssize_t n;

    while ((n = read_some(fd, chunk, sizeof chunk)) > 0) {
        buf_add(&text, chunk, (size_t)n); /* text.failed is checked below */
        if (text.failed == ERR_TOO_LARGE)
            return error_set(err, ERR_TOO_LARGE, "'%s' is larger than %zu bytes", path, bytes_max);
        if (text.failed)
            return error_no_memory(err);
    }
    if (n < 0)
        return error_set_errno(err, (int)-n, "cannot read '%s'", path);
    buf_done(ret);
    *ret = text;
    text = BUF_INIT(0);
    return 0;
}

int io_read_file(const char *path, size_t bytes_max, struct buf *ret, struct error *err)
{
    _cleanup_(fd_closep) int fd = sys_open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY, 0);

    if (fd < 0)
        return error_set_errno(err, errno, "cannot open '%s'", path);
    return io_read_fd(fd, path, bytes_max, ret, err);
}

/* Directories */

static int sync_parent(const char *path, struct error *err)
{
    _cleanup_(fd_closep) int fd = -1;
    int r = open_parent(path, &fd, err);

    if (r < 0)
        return r;
    if (sys_fsync(fd) < 0)
        return error_set_errno(err, errno, "cannot sync the directory of '%s'", path);
    return 0;
}

static int make_dir(const char *path, mode_t mode, struct error *err)
{
    struct stat st;

    if (sys_mkdir(path, mode) == 0)
        return sync_parent(path, err);
    if (errno != EEXIST)
        return error_set_errno(err, errno, "cannot create directory '%s'", path);
    if (sys_stat(path, &st) < 0)
        return error_set_errno(err, errno, "cannot examine '%s'", path);
    if (!S_ISDIR(st.st_mode))
        return error_set(err, ERR_EXISTS, "cannot create directory '%s': a file of that name exists", path);
    return 0;
}

int io_mkdirs(const char *path, mode_t mode, struct error *err)
{
    char prefix[PATH_MAX];
    size_t len = strlen(path);

    if (len == 0)
        return error_set(err, ERR_INVALID, "cannot create a directory without a name");
    if (len >= sizeof prefix)
        return error_set_errno(err, ENAMETOOLONG, "cannot create directory '%s'", path);
    memcpy(prefix, path, len + 1);
    while (len > 1 && prefix[len - 1] == '/')
        prefix[--len] = '\0';
    for (size_t i = 1; i <= len; i++) {
        int r;
        if (prefix[i] != '\0' && (prefix[i] != '/' || prefix[i - 1] == '/'))
            continue;
        prefix[i] = '\0';
        r = make_dir(prefix, mode, err);
        if (r < 0)
            return r;
        prefix[i] = path[i];
    }
    return 0;
}

/* Locking */

/* The byte range that is locked: far beyond the end of the file and the bytes that SQLite locks. */
#define LOCK_RANGE_START ((off_t)1 << 62)

/* A kind of lock. take: 0 or -errno, without waiting. holder: the process that holds it; 0 when unknown. */
struct lock_kind {
    int (*take)(int fd);
    uint64_t (*holder)(int fd);
};

static int flock_take(int fd)
{
    return sys_flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : -errno;
}

/* The holder wrote its process id after it had locked the file. Before that, or if the write failed, the file
 * is empty or stale. */
static uint64_t flock_holder(int fd)
{
    char text[IO_PID_TEXT_BYTES];
    uint64_t pid;
    ssize_t n = pread(fd, text, sizeof text, 0);

    return n > 0 && str_to_uint64(str_trim((struct str){ text, (size_t)n }), &pid) ? pid : 0;
}

static const struct lock_kind flock_kind = { flock_take, flock_holder };

/* The length of the locked range encodes the holder's process id: the kernel does not report it for locks of
 * this kind, and the id cannot be written into a file of another program. */
static struct flock range_of(off_t bytes)
{
    return (
        struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCK_RANGE_START, .l_len = bytes };
}

static int range_take(int fd)
{
    struct flock range = range_of((off_t)getpid());
    int r = fcntl(fd, F_OFD_SETLK, &range) == 0 ? 0 : -errno;

    return r == -EACCES || r == -EAGAIN ? -EWOULDBLOCK : r;
}

static uint64_t range_holder(int fd)
{
    struct flock range = range_of(1);

    return fcntl(fd, F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK && range.l_len > 0
               ? (uint64_t)range.l_len
               : 0;
}

static const struct lock_kind range_kind = { range_take, range_holder };

static int lock_refused(const char *path, uint64_t pid, struct error *err)
{
    if (pid)
        return error_set(err, ERR_BUSY, "'%s' is in use by process %" PRIu64, path, pid);
    return error_set(err, ERR_BUSY, "'%s' is in use by another process", path);
}

static bool process_is_dead(uint64_t pid)
{
    return pid > 0 && pid <= INT_MAX && kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

/* 0 or -errno. Children that a killed process was about to start hold its lock until they reach exec(): wait
 * for them, otherwise a restart right after the kill would be refused. */
static int lock_try(int fd, const struct lock_kind *kind)
{
    for (int waited_ms = 0;; waited_ms += IO_LOCK_LOOK_MS) {
        int r = kind->take(fd);
        if (r == -EINTR)
            continue;
        if (r != -EWOULDBLOCK || waited_ms >= IO_LOCK_WAIT_MS || !process_is_dead(kind->holder(fd)))
            return r;
        (void)poll(NULL, 0, IO_LOCK_LOOK_MS);
    }
}

/* Overwrites the old id and truncates afterwards: this works on a full disk. */
static int lock_write_pid(int fd)
{
    char text[IO_PID_TEXT_BYTES];
    int n = snprintf(text, sizeof text, "%jd\n", (intmax_t)getpid());
    int r = lseek(fd, 0, SEEK_SET) < 0 ? -errno : write_all(fd, text, (size_t)n);

    if (r == 0 && ftruncate(fd, n) < 0)
        r = -errno;
    return r;
}

int io_wait_for_lock(const char *path, int *ret_fd, struct error *err)
{
    _cleanup_(fd_closep) int fd = sys_open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    int r;

    if (fd < 0)
        return error_set_errno(err, errno, "cannot open '%s'", path);
    do
        r = sys_flock(fd, LOCK_EX);
    while (r < 0 && errno == EINTR);
    if (r < 0)
        return error_set_errno(err, errno, "cannot lock '%s'", path);
    *ret_fd = take_fd(&fd);
    return 0;
}

int io_lock_dir(const char *dir, int *ret_fd, struct error *err)
{
    _cleanup_(fd_closep) int fd = -1;
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/" IO_LOCK_NAME, dir);
    int r;

    if (n < 0 || (size_t)n >= sizeof path)
        return error_set_errno(err, ENAMETOOLONG, "cannot lock '%s'", dir);
    fd = sys_open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_set_errno(err, errno, "cannot open '%s'", path);
    r = lock_try(fd, &flock_kind);
    if (r == -EWOULDBLOCK)
        return lock_refused(dir, flock_holder(fd), err);
    if (r < 0)
        return error_set_errno(err, -r, "cannot lock '%s'", path);
    r = lock_write_pid(fd);
    if (r < 0)
        return error_set_errno(err, -r, "cannot write to '%s'", path);
    *ret_fd = take_fd(&fd);
    return 0;
}

int io_lock_file(const char *path, int *ret_fd, struct error *err)
{
    _cleanup_(fd_closep) int fd = sys_open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0);
    int r;

    if (fd < 0 && errno == ELOOP)
        return error_set(err, ERR_INVALID, "'%s' is a symbolic link: replace it with the file itself", path);
    if (fd < 0)
        return error_set_errno(err, errno, "cannot open '%s'", path);
    r = lock_try(fd, &range_kind);
    if (r == -EWOULDBLOCK)
        return lock_refused(path, range_holder(fd), err);
    if (r < 0)
        return error_set_errno(err, -r, "cannot lock '%s'", path);
    *ret_fd = take_fd(&fd);
    return 0;
}
