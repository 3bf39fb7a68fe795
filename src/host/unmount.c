/* Unmounting is one system call and needs no mount table: with 10,000 mounts, reading the table would cost
 * more than everything else. Only mounts that a dead server may block are left to a child process, which can
 * be abandoned. */
#include "host/mount_syscall.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "host/safe_path.h"
#include "io/sys.h"

#define OUTPUT_BYTES_MAX 4096
#define FORCE_LIMIT_NS (60 * NS_PER_S)

bool host_is_corrupted_errno(int errnum)
{
    static const int corrupted[] = { ENOTCONN, ESTALE, EIO, EACCES, EHOSTDOWN, EWOULDBLOCK, ENODEV };

    for (size_t i = 0; i < ARRAY_LEN(corrupted); i++)
        if (corrupted[i] == errnum)
            return true;
    return false;
}

int host_path_state(const char *path, enum host_path_state *ret, struct error *err)
{
    const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
    struct statx st;

    if (sys_statx(AT_FDCWD, path, flags, STATX_TYPE, &st) < 0) {
        if (errno != ENOENT && !host_is_corrupted_errno(errno))
            return error_set_errno(err, errno, "cannot examine '%s'", path);
        *ret = errno == ENOENT ? HOST_PATH_MISSING : HOST_PATH_CORRUPTED;
        return 0;
    }
    if (!(st.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT))
        return error_set(err, ERR_UNSUPPORTED, "cannot determine whether '%s' is a mount point", path);
    *ret = st.stx_attributes & STATX_ATTR_MOUNT_ROOT ? HOST_PATH_MOUNTED : HOST_PATH_PLAIN;
    return 0;
}

/* --- Unmounting --- */

static int unmount_fail(enum err code, const char *exit, const char *target, const char *output,
                        struct error *err)
{
    struct str said = str_trim(str_of(output));

    return error_set(err, code, "unmount failed: %s\nUnmounting arguments: %s\nOutput: %.*s\n", exit, target,
                     STR_ARG(said));
}

static int unmount_call(const char *target, int flags, struct error *err)
{
    enum host_path_state state = HOST_PATH_MISSING;
    char output[OUTPUT_BYTES_MAX];
    struct error why = { 0 };
    int errnum, r;

    if (sys_umount2(target, flags | UMOUNT_NOFOLLOW) == 0)
        return 0;
    errnum = errno;
    /* EINVAL: nothing is mounted there, or we lack the privilege. */
    if (errnum == EINVAL && host_path_state(target, &state, &why) == 0 && state == HOST_PATH_PLAIN)
        return 0;
    r = error_set_errno(&why, errnum, "umount: %s", target);
    (void)snprintf(output, sizeof output, "umount: %s: target is busy.", target);
    return unmount_fail((enum err) - r, "exit status 32", target, errnum == EBUSY ? output : why.msg, err);
}

int host_unmount(const struct host_tools *t, const char *target, struct error *err)
{
    (void)t; /* no command is needed */
    return unmount_call(target, 0, err);
}

int host_unmount_lazily(const char *target, struct error *err)
{
    return unmount_call(target, MNT_DETACH, err);
}

/* umount(8) fails for a target where nothing is mounted, with that text. */
static int unmount_run(const struct host_tools *t, const char *const *argv, const char *target,
                       uint64_t limit_ns, struct error *err)
{
    _cleanup_(buf_done_p) struct buf output = BUF_INIT(OUTPUT_BYTES_MAX);
    struct error failure = { 0 };
    char exit[32];
    int code = 0, r;
    struct command c = {
        .what = "umount",
        .argv = argv,
        .path = t->commands_path,
        .limit_ns = limit_ns,
        .output = &output,
        .exit_code = &code,
    };

    r = command_run(&c, &failure);
    if (r < 0)
        return unmount_fail(failure.code, failure.msg, target, buf_cstr(&output), err);
    if (code == 0 || strstr(buf_cstr(&output), "not mounted"))
        return 0;
    (void)snprintf(exit, sizeof exit, "exit status %d", code);
    return unmount_fail(ERR_IO, exit, target, buf_cstr(&output), err);
}

/* Ignores the stop flag: a mount that stays would block everything else. */
int host_unmount_forced(const struct host_tools *t, const char *target, uint64_t limit_ns, struct error *err)
{
    const char *gently[] = { "umount", target, NULL };
    const char *by_force[] = { "umount", "-f", target, NULL };
    int r;

    if (target[0] != '/')
        return error_set(err, ERR_INVALID, "'%s' is not an absolute path", target);
    r = unmount_run(t, gently, target, limit_ns, err);
    if (r == -ERR_TIMEOUT)
        r = unmount_run(t, by_force, target, FORCE_LIMIT_NS, err);
    if (r == -ERR_TIMEOUT)
        r = -(int)(err->code = ERR_UNCERTAIN);
    return r;
}

/* --- Cleanup --- */

/* Removes the mount point: an empty directory, or the empty file of a bind. */
static int remove_empty(const char *path, struct error *err)
{
    struct stat st;

    if (sys_lstat(path, &st) < 0)
        return errno == ENOENT ? 0 : error_set_errno(err, errno, "cannot examine '%s'", path);
    if (!S_ISREG(st.st_mode))
        return host_remove_empty_dir(path, err);
    if (st.st_size > 0)
        return error_set(err, ERR_IO, "cannot remove file '%s': it is not empty", path);
    if (sys_unlink(path) < 0 && errno != ENOENT)
        return error_set_errno(err, errno, "cannot remove file '%s'", path);
    return 0;
}

int host_clean_mount_point(const struct host_tools *t, const char *path, uint64_t limit_ns, struct error *err)
{
    enum host_path_state state = HOST_PATH_MISSING;
    int r = host_path_state(path, &state, err);

    if (r < 0)
        return error_wrap(err, "Error checking path");
    if (state == HOST_PATH_MISSING)
        return 0;
    if (state == HOST_PATH_PLAIN)
        return remove_empty(path, err);
    r = limit_ns ? host_unmount_forced(t, path, limit_ns, err) : host_unmount(t, path, err);
    if (r < 0)
        return r;
    r = host_path_state(path, &state, err);
    if (r < 0)
        return error_wrap(err, "Error checking path");
    if (state == HOST_PATH_MOUNTED || state == HOST_PATH_CORRUPTED) /* another mount was below it */
        return error_set(err, ERR_BUSY, "failed to cleanup mount point %s", path);
    return state == HOST_PATH_MISSING ? 0 : remove_empty(path, err);
}
