/* Directory watches on inotify, one instance per watch.
 *
 * Besides the directory, every directory above it is watched, since inotify does not report that a parent was
 * renamed. Events of one turn are collected, at most DIRWATCH_READS_MAX reads and DIRWATCH_NAMES_MAX names,
 * and reported without duplicates. After GONE nothing is reported. */
#include "io/dirwatch.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "io/file.h"
#include "io/loop_int.h"
#include "io/sys.h"

#define DIRWATCH_MASK                                                                                    \
    (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE_SELF | \
     IN_MOVE_SELF | IN_ONLYDIR | IN_EXCL_UNLINK)
/* For the directories above: only events that may move the directory to another path. */
#define DIRWATCH_ABOVE_MASK \
    (IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)
#define DIRWATCH_ABOVE_MAX 32
/* For a directory above an awaited one: events that may create the next directory on the path. */
#define DIRWATCH_AWAIT_MASK (IN_CREATE | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)
/* Retries when directories appear or disappear between the check and the watch. */
#define DIRWATCH_TRIES_MAX 16
#define DIRWATCH_READ_BYTES 16384
/* Reads per turn: about 2,000 events with short names. The rest is read in the next turn. */
#define DIRWATCH_READS_MAX 4

/* A directory above, and the component of the path that is its entry. */
struct above {
    int wd;
    const char *part;
    size_t len;
};

struct dirwatch {
    uv_poll_t poll;
    int fd;
    int wd; /* watch descriptor of the directory */
    struct above above[DIRWATCH_ABOVE_MAX];
    size_t above_count;
    bool stopped;
    dirwatch_fn fn;
    void *ctx;
    dev_t dev; /* the directory that was at path when the watch began */
    ino_t ino;

    /* Summary of one turn's events. */
    bool gone;
    bool rescan;
    size_t names_count;
    char names[DIRWATCH_NAMES_MAX][NAME_MAX + 1];

    char awaited[NAME_MAX + 1]; /* the only entry of interest until it is a directory; "": all entries */
    char path[];                /* without '/' at the end */
};

static void dirwatch_on_closed(uv_handle_t *handle)
{
    struct dirwatch *w = CONTAINER_OF(handle, struct dirwatch, poll);

    free(w);
}

/* O(n) for at most DIRWATCH_NAMES_MAX names. */
static void dirwatch_add_name(struct dirwatch *w, const char *name)
{
    size_t len = strnlen(name, NAME_MAX);

    for (size_t i = 0; i < w->names_count; i++)
        if (strncmp(w->names[i], name, NAME_MAX) == 0)
            return;
    if (w->names_count == DIRWATCH_NAMES_MAX) {
        w->rescan = true;
        return;
    }
    memcpy(w->names[w->names_count], name, len);
    w->names[w->names_count++][len] = '\0';
}

static bool dirwatch_is_in_place(const struct dirwatch *w)
{
    struct stat st;

    return stat(w->path, &st) == 0 && st.st_dev == w->dev && st.st_ino == w->ino;
}

static bool dirwatch_has_awaited(const struct dirwatch *w)
{
    char path[PATH_MAX];
    struct stat st;
    int n = snprintf(path, sizeof path, "%s/%s", w->path, w->awaited);

    return w->awaited[0] && n > 0 && (size_t)n < sizeof path && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool dirwatch_event_is_above(const struct above *a, const struct inotify_event *event)
{
    return event->wd == a->wd &&
           (event->len == 0 || (strncmp(event->name, a->part, a->len) == 0 && event->name[a->len] == '\0'));
}

static void dirwatch_note(struct dirwatch *w, const struct inotify_event *event)
{
    for (size_t i = 0; i < w->above_count && !w->gone; i++)
        w->gone = dirwatch_event_is_above(&w->above[i], event) && !dirwatch_is_in_place(w);
    if (event->mask & IN_Q_OVERFLOW) {
        w->rescan = true; /* the event that the directory is gone may be among the lost ones */
        w->gone = w->gone || !dirwatch_is_in_place(w) || dirwatch_has_awaited(w);
    } else if (event->wd != w->wd) {
        return;
    } else if (event->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED)) {
        w->gone = true;
    } else if (w->awaited[0]) {
        if (event->len > 0 && strcmp(event->name, w->awaited) == 0)
            w->gone = w->gone || dirwatch_has_awaited(w);
    } else if (event->len > 0) {
        dirwatch_add_name(w, event->name);
    } else {
        w->rescan = true; /* its own attributes */
    }
}

/* Reads pending events, within the turn's budget. An error of the descriptor ends the watch as if the
 * directory were gone. */
static void dirwatch_read(struct dirwatch *w)
{
    _Alignas(struct inotify_event) char data[DIRWATCH_READ_BYTES];

    for (unsigned i = 0; i < DIRWATCH_READS_MAX && !w->gone; i++) {
        ssize_t n = read(w->fd, data, sizeof data);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            w->gone = true;
            return;
        }
        for (size_t at = 0; at < (size_t)n;) {
            const struct inotify_event *event = (const void *)(data + at);
            dirwatch_note(w, event);
            at += sizeof *event + event->len;
        }
    }
}

/* The callback may stop the watch at any point; the struct is freed when libuv has closed its handle. */
static void dirwatch_report(struct dirwatch *w)
{
    size_t names_count = w->rescan || w->gone ? 0 : w->names_count;
    bool rescan = w->rescan && !w->gone && !w->awaited[0];

    w->names_count = 0;
    w->rescan = false;
    for (size_t i = 0; i < names_count && !w->stopped; i++)
        w->fn(w->ctx, DIRWATCH_CHANGED, w->names[i]);
    if (rescan && !w->stopped)
        w->fn(w->ctx, DIRWATCH_RESCAN, NULL);
    if (w->gone && !w->stopped) {
        (void)uv_poll_stop(&w->poll);
        w->fn(w->ctx, DIRWATCH_GONE, NULL);
    }
}

static void dirwatch_on_readable(uv_poll_t *poll, int status, int events)
{
    struct dirwatch *w = CONTAINER_OF(poll, struct dirwatch, poll);

    (void)events;
    if (status < 0)
        w->gone = true;
    else
        dirwatch_read(w);
    dirwatch_report(w);
}

/* The kernel reports the deletion of a directory only after its last descriptor is closed, and a changed link
 * target or a rename further up not at all; events of the directories above reveal both. Best effort: a
 * directory that may be searched but not read cannot be watched. */
static void dirwatch_add_above(struct dirwatch *w)
{
    char dir[PATH_MAX];
    int n = snprintf(dir, sizeof dir, "%s", w->path);

    if (n < 0 || (size_t)n >= sizeof dir)
        return;
    for (size_t end = (size_t)n; end > 0 && w->above_count < DIRWATCH_ABOVE_MAX;) {
        size_t at = end;
        while (at > 0 && w->path[at - 1] != '/')
            at--;
        dir[at] = '\0';
        int wd = inotify_add_watch(w->fd, at > 0 ? dir : ".", DIRWATCH_ABOVE_MASK);
        if (wd >= 0 && end > at)
            w->above[w->above_count++] = (struct above){ wd, w->path + at, end - at };
        for (end = at; end > 0 && w->path[end - 1] == '/';)
            end--;
    }
}

/* Fills in what follows from the path. On failure the caller closes w->fd.
 *
 * Order: first watches on the directories above, then stat() of the directory, then its own watch. Any
 * replacement in between causes an event, after which the directory no longer has the identity that was
 * recorded. With a link in the path one of the directories above may be the directory itself: its watch is
 * then extended. */
static int dirwatch_open(struct dirwatch *w)
{
    uint32_t mask = w->awaited[0] ? DIRWATCH_AWAIT_MASK : DIRWATCH_MASK;
    struct stat st;

    w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (w->fd < 0)
        return -errno;
    dirwatch_add_above(w);
    if (stat(w->path, &st) < 0)
        return -errno;
    w->wd = inotify_add_watch(w->fd, w->path, mask | IN_MASK_ADD);
    if (w->wd < 0)
        return -errno;
    w->dev = st.st_dev;
    w->ino = st.st_ino;
    return 0;
}

static struct dirwatch *dirwatch_new(const char *path, const char *awaited, dirwatch_fn fn, void *ctx)
{
    size_t len = strlen(path);
    struct dirwatch *w = calloc(1, sizeof *w + len + 1);

    if (!w)
        return NULL;
    memcpy(w->path, path, len);
    while (len > 1 && w->path[len - 1] == '/')
        w->path[--len] = '\0';
    (void)snprintf(w->awaited, sizeof w->awaited, "%s", awaited); /* a component of a path: always fits */
    w->fn = fn;
    w->ctx = ctx;
    return w;
}

/* 0, or a negative errno. */
static int dirwatch_begin(struct loop *l, const char *path, const char *awaited, dirwatch_fn fn, void *ctx,
                          struct dirwatch **ret)
{
    struct dirwatch *w = dirwatch_new(path, awaited, fn, ctx);
    int r;

    if (!w)
        return -ENOMEM;
    r = dirwatch_open(w);
    if (r == 0)
        r = uv_poll_init(loop_uv(l), &w->poll, w->fd);
    if (r < 0) {
        fd_closep(&w->fd);
        free(w);
        return r;
    }
    r = uv_poll_start(&w->poll, UV_READABLE, dirwatch_on_readable);
    if (r < 0)
        (void)dirwatch_stop(w);
    else
        *ret = w;
    return r;
}

int dirwatch_start(struct loop *l, const char *path, dirwatch_fn fn, void *ctx, struct dirwatch **ret,
                   struct error *err)
{
    int r;

    if (sys_here)
        return sys_here->calls->dirwatch_start(sys_here, l, path, false, fn, ctx, ret, NULL, err);
    r = dirwatch_begin(l, path, /* awaited= */ "", fn, ctx, ret);
    return r < 0 ? error_set_errno(err, -r, "cannot watch directory '%s'", path) : 0;
}

/* --- Directories that do not exist yet --- */

/* Removes the last component from an absolute path; false when it has none. */
static bool remove_last_component(char *path, char ret_part[NAME_MAX + 1])
{
    char *end = path + strlen(path), *slash;

    while (end > path + 1 && end[-1] == '/')
        *--end = '\0';
    slash = strrchr(path, '/');
    if (!slash || slash[1] == '\0')
        return false;
    (void)snprintf(ret_part, NAME_MAX + 1, "%s", slash + 1); /* always fits: no entry has a longer name */
    slash[slash == path ? 1 : 0] = '\0';
    return true;
}

/* Watches first, then checks whether the awaited directory was created meanwhile: -EAGAIN. Else 0 or a
 * negative errno. */
static int dirwatch_begin_nearest(struct loop *l, const char *path, dirwatch_fn fn, void *ctx,
                                  struct dirwatch **ret)
{
    char dir[PATH_MAX], awaited[NAME_MAX + 1] = "";
    struct dirwatch *w;
    int r, n = snprintf(dir, sizeof dir, "%s", path);

    if (n < 0 || (size_t)n >= sizeof dir)
        return -ENAMETOOLONG;
    do
        r = dirwatch_begin(l, dir, awaited, fn, ctx, &w);
    while ((r == -ENOENT || r == -ENOTDIR) && remove_last_component(dir, awaited));
    if (r < 0)
        return r;
    if (dirwatch_has_awaited(w)) {
        (void)dirwatch_stop(w);
        return -EAGAIN;
    }
    *ret = w;
    return 0;
}

int dirwatch_start_nearest(struct loop *l, const char *path, dirwatch_fn fn, void *ctx, struct dirwatch **ret,
                           bool *ret_is_present, struct error *err)
{
    int r = -EAGAIN;

    assert(path[0] == '/');
    if (sys_here)
        return sys_here->calls->dirwatch_start(sys_here, l, path, true, fn, ctx, ret, ret_is_present, err);
    for (unsigned i = 0; i < DIRWATCH_TRIES_MAX && r == -EAGAIN; i++)
        r = dirwatch_begin_nearest(l, path, fn, ctx, ret);
    if (r < 0)
        return error_set_errno(err, -r, "cannot watch for directory '%s'", path);
    *ret_is_present = (*ret)->awaited[0] == '\0';
    return 0;
}

struct dirwatch *dirwatch_stop(struct dirwatch *w)
{
    if (!w)
        return NULL;
    if (sys_here)
        return sys_here->calls->dirwatch_stop(sys_here, w);
    assert(!w->stopped);
    w->stopped = true;
    uv_close((uv_handle_t *)&w->poll, dirwatch_on_closed); /* removes it from epoll at once, */
    (void)close(w->fd);                                    /* so the descriptor can be closed too */
    return NULL;
}
