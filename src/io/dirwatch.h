/* Watching a directory for changes of its entries.
 *
 * An event is a hint, not a state: callers read the directory again and compare. So they scan once after
 * dirwatch_start(), and an event may stand for several changes, or for one that was undone. Reported are
 * entries that are created, deleted, renamed, closed after writing, or change their attributes; a file that
 * is written and kept open is reported when it is closed. Each name is reported once per turn; beyond
 * DIRWATCH_NAMES_MAX names, or when the kernel's queue overflows, one RESCAN replaces them.
 *
 * When the directory itself is deleted, renamed or unmounted, or another directory takes its path, also
 * because a directory above was renamed, the last event is GONE: stop the watch, and start a new one when the
 * path exists again. Not detected: a change of an intermediate link, and a mount on top of the directory. A
 * caller that must detect these also polls.
 *
 * Uses inotify and not uv_fs_event, which drops the kernel's overflow event and reports the removal of the
 * directory as a change of an entry of that name. Costs one inotify instance per watch (the default limit is
 * 128 per user), and a wakeup for each entry that is deleted or renamed in a directory above. */
#ifndef BERTH_IO_DIRWATCH_H
#define BERTH_IO_DIRWATCH_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "io/loop.h"

#define DIRWATCH_NAMES_MAX 64

struct dirwatch;

enum dirwatch_event {
    DIRWATCH_CHANGED, /* the entry `name` */
    DIRWATCH_RESCAN,  /* any entry */
    DIRWATCH_GONE,    /* the directory; the last event */
};

/* name is borrowed, and NULL except for CHANGED. May stop the watch. */
typedef void (*dirwatch_fn)(void *ctx, enum dirwatch_event event, const char *name);

int dirwatch_start(struct loop *l, const char *path, dirwatch_fn fn, void *ctx, struct dirwatch **ret,
                   struct error *err);
/* The same for a directory that may not exist yet; path is absolute. If it does not exist (*ret_is_present:
 * false), the nearest existing directory above is watched, and the only event is GONE: the next directory on
 * the path was created, or the watched one was removed. Start a new watch then, as after any GONE. */
int dirwatch_start_nearest(struct loop *l, const char *path, dirwatch_fn fn, void *ctx, struct dirwatch **ret,
                           bool *ret_is_present, struct error *err);
/* No event is reported after it. Takes NULL. */
struct dirwatch *dirwatch_stop(struct dirwatch *w);
DEFINE_CLEANUP(struct dirwatch, dirwatch_stop)

#endif
