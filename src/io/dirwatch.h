/* Watching a directory for changes of its entries.
 *
 * An event says where to look, not what is there: callers read the directory (again) and compare. So they
 * begin with a scan after dirwatch_start(), and an event may stand for many changes or for one that is over.
 * Reported are entries that appear, vanish, are renamed in or out, are closed after writing, or change their
 * attributes; a file that is written and kept open is not, until it is closed. Each name comes once a turn;
 * beyond DIRWATCH_NAMES_MAX names, or when the kernel's queue overflows, they melt into one RESCAN.
 *
 * When the directory itself is deleted, renamed away or unmounted, or another takes its place at the path,
 * also because a directory above was renamed, the last event is GONE: stop the watch, and start a new one
 * when the path is there again. What is not seen: a change on the way of a link to its target, and a mount on
 * top. Whoever must not miss that looks from time to time.
 *
 * inotify directly instead of uv_fs_event, which drops the kernel's overflow notice and reports the end of
 * the directory as if an entry of that name had changed. Costs one inotify instance a watch (a user has 128
 * by default), and a wakeup for each entry that leaves or is renamed in a directory above. */
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
    DIRWATCH_GONE,    /* the directory; nothing follows */
};

/* name is borrowed, and NULL for all but CHANGED. May stop the watch. */
typedef void (*dirwatch_fn)(void *ctx, enum dirwatch_event event, const char *name);

int dirwatch_start(struct loop *l, const char *path, dirwatch_fn fn, void *ctx, struct dirwatch **ret,
                   struct error *err);
/* The same for a directory that need not be there yet; path is absolute. Without it (*ret_is_there: false)
 * the nearest directory above is watched, and the only event is GONE: the next directory on the way has
 * appeared, or the one above has gone. Start anew then, as after any GONE. */
int dirwatch_start_nearest(struct loop *l, const char *path, dirwatch_fn fn, void *ctx, struct dirwatch **ret,
                           bool *ret_is_there, struct error *err);
/* No event comes after it. Takes NULL. */
struct dirwatch *dirwatch_stop(struct dirwatch *w);
DEFINE_CLEANUP(struct dirwatch, dirwatch_stop)

#endif
