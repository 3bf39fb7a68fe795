/* The group's rights over a tree, given from the leaves up to the root.
 *
 * What is changed is what was opened: an entry is opened without its links (O_PATH), examined, and changed
 * through that descriptor, so that no name can be exchanged for a link to something outside in between. What
 * already is as it should be is not written to: a second walk costs an open and a look at each entry. */
#include "host/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "host/safe_path.h"
#include "host/walk.h"
#include "io/file.h"

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

/* fd may be an O_PATH one, which fchmod() does not take; /proc leads to the file itself. */
static void change(int fd, const struct stat *st, const struct ownership *o)
{
    mode_t now = st->st_mode & MODE_BITS, mode = now | mask_of(o, S_ISDIR(st->st_mode));
    char self[32];

    /* What cannot be changed is passed over. The kernel may clear set-user-ID bits with the group, which the
     * mode, set afterwards, puts back. */
    if (st->st_gid != o->gid)
        (void)!fchownat(fd, "", (uid_t)-1, o->gid, AT_EMPTY_PATH);
    else if (mode == now)
        return;
    if (S_ISLNK(st->st_mode))
        return;
    (void)snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    (void)!chmod(self, mode);
}

static int own_file(void *ctx, const struct walk *w, int dir, const char *name, struct error *err)
{
    _cleanup_(closep) int fd = host_open_below(dir, name, O_PATH, 0);
    struct owning *own = ctx;
    struct stat st;

    if (fd == -ENOENT || fd == -EXDEV) /* gone; something is mounted there */
        return 0;
    if (fd < 0)
        return walk_fail(w, -fd, "open", name, err);
    /* A directory that just came was not walked: it is its maker's. */
    if (fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode))
        change(fd, &st, own->o);
    check_progress(own);
    return 0;
}

static int own_dir(void *ctx, const struct walk *w, int fd, struct error *err)
{
    struct owning *own = ctx;
    struct stat st;

    (void)w;
    (void)err;
    if (fstat(fd, &st) == 0)
        change(fd, &st, own->o);
    check_progress(own);
    return 0;
}

static bool is_owned(int fd, const struct ownership *o)
{
    mode_t mask = mask_of(o, /* is_dir= */ true);
    struct stat st;

    return fstat(fd, &st) == 0 && st.st_gid == o->gid && (st.st_mode & mask) == mask;
}

int host_own(const char *path, const struct ownership *o, bool *ret_walked, struct error *err)
{
    struct owning own = { .o = o };
    struct walk_visitor visitor = { own_file, own_dir, &own };
    _cleanup_(closep) int fd = host_open_dir(AT_FDCWD, path, HOST_OPEN_ANY_MOUNT);
    int r = 0;

    if (fd == -ELOOP || fd == -ENOTDIR)
        return error_set(err, ERR_INVALID, "'%s' is not a directory, or leads through a symbolic link", path);
    if (fd < 0)
        return error_set_errno(err, -fd, "cannot open directory '%s'", path);
    if (o->is_guarded)
        r = host_guard_check_owner(o->dirs, fd, path, err);
    if (r < 0)
        return error_wrap(err, "cannot give the volume to group %u", (unsigned)o->gid);
    if (o->on_root_mismatch && is_owned(fd, o)) {
        *ret_walked = false;
        return 0;
    }
    if (o->clock)
        own.tell_at_ns = clock_mono_ns(o->clock) + PROGRESS_FIRST_NS;
    r = walk_tree_take(take_fd(&fd), path, o->stop, &visitor, err);
    if (r < 0)
        return error_wrap(err, "cannot change the group of '%s'", path);
    *ret_walked = true;
    return 0;
}
