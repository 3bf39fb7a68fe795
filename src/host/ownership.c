/* Gives a group access to a tree, from the leaves up to the root.
 *
 * An entry is opened without following links (O_PATH), examined, and changed through that descriptor, so that
 * it cannot be replaced by a link to something outside in between. Entries that are already correct are not
 * written to: a second walk costs an open and a stat per entry. */
#include "host/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "host/safe_path.h"
#include "host/tree_walk.h"
#include "io/file.h"
#include "io/sys.h"

#define MODE_BITS 07777
#define FILE_MASK 0660
#define FILE_MASK_READ_ONLY 0440
#define DIR_MASK (S_ISGID | 0110)
#define PROGRESS_FIRST_NS (30 * NS_PER_S)
#define PROGRESS_NEXT_NS (60 * NS_PER_S)
#define CLOCK_EVERY 64 /* entries */

struct owning {
    const struct ownership *o;
    uint64_t done;
    uint64_t tell_at_ns;
};

static mode_t mask_of(const struct ownership *o, bool is_dir)
{
    return (o->is_read_only ? FILE_MASK_READ_ONLY : FILE_MASK) | (is_dir ? DIR_MASK : 0);
}

static void check_progress(struct owning *w)
{
    const struct ownership *o = w->o;

    w->done++;
    if (!o->progress || !o->clock || w->done % CLOCK_EVERY != 0 || clock_mono_ns(o->clock) < w->tell_at_ns)
        return;
    w->tell_at_ns = clock_mono_ns(o->clock) + PROGRESS_NEXT_NS;
    o->progress(o->ctx, w->done);
}

/* fd may be an O_PATH descriptor, which fchmod() refuses; the path in /proc refers to the file itself. */
static void change_entry(int fd, const struct stat *st, const struct ownership *o)
{
    mode_t now = st->st_mode & MODE_BITS, mode = now | mask_of(o, S_ISDIR(st->st_mode));
    char self[32];

    /* Entries that cannot be changed are skipped. The kernel may clear set-user-ID bits with the group; the
     * mode, set afterwards, restores them. */
    if (st->st_gid != o->gid)
        (void)!sys_fchownat(fd, "", (uid_t)-1, o->gid, AT_EMPTY_PATH);
    else if (mode == now)
        return;
    if (S_ISLNK(st->st_mode))
        return;
    (void)snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    (void)!sys_chmod(self, mode);
}

static int own_file(void *ctx, const struct tree_walk *w, int dir, const char *name, struct error *err)
{
    _cleanup_(fd_closep) int fd = host_open_below(dir, name, O_PATH, 0);
    struct owning *own = ctx;
    struct stat st;

    if (fd == -ENOENT || fd == -EXDEV) /* removed meanwhile, or a mount point */
        return 0;
    if (fd < 0)
        return tree_walk_fail(w, -fd, "open", name, err);
    /* A new directory was not walked: it belongs to its creator. */
    if (sys_fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode))
        change_entry(fd, &st, own->o);
    check_progress(own);
    return 0;
}

static int own_dir(void *ctx, const struct tree_walk *w, int fd, struct error *err)
{
    struct owning *own = ctx;
    struct stat st;

    (void)w;
    (void)err;
    if (sys_fstat(fd, &st) == 0)
        change_entry(fd, &st, own->o);
    check_progress(own);
    return 0;
}

int host_own(const char *path, const struct ownership *o, bool *ret_walked, struct error *err)
{
    struct owning own = { .o = o };
    struct tree_walk_visitor visitor = { own_file, own_dir, &own };
    _cleanup_(fd_closep) int fd = host_open_dir(AT_FDCWD, path, HOST_OPEN_ANY_MOUNT);
    mode_t mask = mask_of(o, /* is_dir= */ true);
    struct stat st;
    int r = 0;

    if (fd == -ELOOP || fd == -ENOTDIR)
        return error_set(err, ERR_INVALID, "'%s' is not a directory, or leads through a symbolic link", path);
    if (fd < 0)
        return error_set_errno(err, -fd, "cannot open directory '%s'", path);
    if (o->is_guarded)
        r = host_guard_check_owner(o->dirs, fd, path, err);
    if (r < 0)
        return error_wrap(err, "cannot give the volume to group %u", (unsigned)o->gid);
    if (o->on_root_mismatch && sys_fstat(fd, &st) == 0 && st.st_gid == o->gid &&
        (st.st_mode & mask) == mask) {
        *ret_walked = false;
        return 0;
    }
    if (o->clock)
        own.tell_at_ns = clock_mono_ns(o->clock) + PROGRESS_FIRST_NS;
    r = tree_walk_run_take(take_fd(&fd), path, o->stop, &visitor, err);
    if (r < 0)
        return error_wrap(err, "cannot change the group of '%s'", path);
    *ret_walked = true;
    return 0;
}
