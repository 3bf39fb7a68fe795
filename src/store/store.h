/* The store: every object by kind, namespace and name, each write with a revision of its own.
 *
 * All of it is in memory; that image answers the reads. A write is queued, goes with its neighbours into one
 * transaction of a durable log on a worker thread, and only then into the image, to the watchers and back to
 * its writer: acknowledged means on disk. While a batch commits the next one gathers, so the price of a sync
 * is shared by whoever waits for it.
 *
 * Revisions grow strictly over all kinds; failed writes leave gaps. A ring of the most recent events lets
 * watches resume and lists be read as they were; the log keeps what the ring needs, so it survives a restart.
 *
 * Everything here is for the loop thread. Objects that are returned are borrowed until the next turn of the
 * loop: take a reference to keep one. get is O(log n); a write costs the same, and no more than its own
 * object in memory; the ring holds history_count events and the objects they went from and to, or fewer when
 * those are large. */
#ifndef BERTH_STORE_STORE_H
#define BERTH_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "api/kind.h"
#include "api/object.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/omap.h"
#include "base/str.h"
#include "io/loop.h"

#define STORE_HISTORY_COUNT 10000
#define STORE_HISTORY_BYTES ((size_t)128 << 20)
#define STORE_BATCH_MAX 512

struct store;
struct store_entry;
struct store_version;

/* Zeroes are the defaults. */
struct store_options {
    size_t history_count; /* events to remember; STORE_HISTORY_COUNT */
    size_t history_bytes; /* and no more than this much of texts; STORE_HISTORY_BYTES */
    size_t batch_max;     /* writes in one transaction; STORE_BATCH_MAX */
    /* After each transaction that succeeded: how long it took and how many writes it had. May be NULL. */
    void (*on_commit)(void *ctx, uint64_t ns, size_t count);
    /* So many writes were refused by the disk. May be NULL. */
    void (*on_refuse)(void *ctx, size_t count);
    void *ctx;
};

/* Makes the directory when it is missing and takes it for this process alone; ERR_BUSY when another has it.
 * Loads everything: blocks for as long. A file that is damaged, foreign or of a newer Berth is refused.
 * o: NULL for the defaults. */
int store_open_sqlite(const char *dir, struct loop *l, const struct store_options *o, struct store **ret,
                      struct error *err);
/* Keeps nothing and needs no thread: writes are done in a deferred callback, so that it runs in virtual time.
 */
int store_open_memory(struct loop *l, const struct store_options *o, struct store **ret, struct error *err);
/* Waits for what is in flight and reports each write; what is submitted meanwhile is refused with
 * ERR_CANCELLED. Every watcher is gone by now. Not from a callback of the store. Takes NULL. */
struct store *store_free(struct store *s);
/* Ends what is under way and tells those who wait for it; nothing new is taken from here on. */
void store_finish(struct store *s);
DEFINE_CLEANUP(struct store, store_free)

/* --- Reading --- */

/* The committed object; NULL when there is none. ns is "" at cluster scope. */
const struct object *store_get(const struct store *s, enum kind k, const char *ns, const char *name);
/* What it will be when all that is in flight has committed: what a writer must build on. NULL when it is
 * deleted there. */
const struct object *store_get_newest(const struct store *s, enum kind k, const char *ns, const char *name);
/* Of the newest committed write. */
int64_t store_revision(const struct store *s);
/* How many objects of a kind are committed. */
size_t store_count(const struct store *s, enum kind k);
/* Health: 0, or the failure of the last commit; a commit that succeeds clears it. After a failure the store
 * tries the disk by itself every few seconds, so this also ends when nobody writes. */
int store_check(const struct store *s, struct error *err);

/* --- Writing --- */

/* The revision for the next write: greater than all before it, and never given out twice by one data
 * directory for anything that was acknowledged. */
int64_t store_reserve(struct store *s);

/* The end of a write. On failure nothing of it has happened, nor of any write submitted after it and not yet
 * reported: err says why. After an ERR_IO it may yet surface at the next start. */
typedef void store_done_fn(void *ctx, int r, const struct error *err);

/* Embedded by its owner; must stay where it is until done is called, which may free or submit it again. */
struct store_write {
    TAILQ_ENTRY(store_write) link;
    struct store_entry *entry;
    struct object *object;
    struct object *old; /* set when it commits */
    bool is_delete;
    bool grows;       /* takes more room than what it replaces */
    bool is_failed;   /* while a failed batch is taken apart */
    enum err refused; /* it never got in flight */
    store_done_fn *done;
    void *ctx;
};

/* Writes o, or deletes it: then o is its last state, and store_get_newest() still shows it. o carries a
 * revision from store_reserve(), greater than those submitted before, and is built on what store_get_newest()
 * shows: the store checks neither. It takes a reference of its own. done comes in a later callback: when the
 * write is on disk, in the image and told to the watchers, or has failed. Whenever a transaction fails, all
 * that is in flight fails with the same error, since later writes may build on earlier ones. A full disk
 * fails only what grows, and what follows it on the same object: deletions, objects that become smaller and
 * those that are being deleted use room that is kept for them, until that is used up. */
void store_submit(struct store *s, struct store_write *w, const struct object *o, bool is_delete,
                  store_done_fn *done, void *ctx);

/* --- Iterating --- */

/* Lives within one callback of the loop. Writes may be submitted meanwhile; they do not show. */
struct store_iter {
    const struct store *store;
    enum kind kind;
    const char *ns;
    struct omap_cursor cursor;
    const struct store_entry *entry; /* the next of the image; NULL at its end */
    const struct store_event **past; /* what changed since, by key; NULL when the newest state is asked for */
    size_t past_count;
    size_t past_at;
    /* Of a snapshot. */
    const struct store_snapshot *snapshot; /* NULL for none */
    struct omap_cursor version_cursor;
    const struct store_version *version; /* the next one; NULL at the end */
};

/* The committed objects of a kind by (namespace, name), bytewise, from the first that is not before
 * (from_ns, from_name). ns: NULL for all namespaces; it must live as long as the iterator. at: 0 for the
 * newest state, else the state as it was at that revision, ERR_GONE when history no longer holds it. */
int store_iter_begin(struct store_iter *it, const struct store *s, enum kind k, const char *ns,
                     struct str from_ns, struct str from_name, int64_t at, struct error *err);
/* The same as of a snapshot. ERR_GONE when it is lost. */
int store_iter_begin_snapshot(struct store_iter *it, const struct store_snapshot *snap, const char *ns,
                              struct str from_ns, struct str from_name, struct error *err);
/* NULL at the end. */
const struct object *store_iter_next(struct store_iter *it);
void store_iter_done(struct store_iter *it);

/* --- Snapshots --- */

/* The state of a kind at a revision, which stays readable however much is written and forgotten meanwhile.
 * Embedded by its owner; everything in it is the store's. What is replaced in the meantime is kept in memory,
 * once for all snapshots, until those that show it are closed. */
struct store_snapshot {
    TAILQ_ENTRY(store_snapshot) link;
    struct store *store; /* NULL when it is closed */
    enum kind kind;
    int64_t revision;
    bool is_lost; /* there was no memory for what was replaced */
};

/* at: 0 for the newest state, else that revision; ERR_GONE when history no longer holds it. To be closed
 * before the store is freed. */
int store_snapshot_open(struct store *s, enum kind k, int64_t at, struct store_snapshot *ret,
                        struct error *err);
/* Does nothing when it is closed already, or zeroed. */
void store_snapshot_close(struct store_snapshot *snap);
/* How much memory all snapshots together keep from being freed. */
size_t store_snapshots_bytes(const struct store *s);

/* --- Watching --- */

/* What one commit did to one object. */
struct store_event {
    const struct object *object; /* after; of a deletion the last state, with the deletion's revision */
    const struct object *old;    /* before; NULL when it was created */
    int64_t revision;
    bool is_delete;
};

typedef void store_event_fn(void *ctx, const struct store_event *ev);

/* Embedded by its owner, who unwatches before it goes. The callbacks may watch, unwatch, read and submit. */
struct store_watcher {
    TAILQ_ENTRY(store_watcher) link;
    enum kind kind;
    int64_t after; /* told of nothing up to here */
    store_event_fn *event;
    void (*settled)(void *ctx, int64_t revision);
    void *ctx;
};

/* From now on event is called for each commit to an object of that kind (KIND_COUNT: of every kind), in order
 * of revision, and settled when all events up to that revision have been told; either may be NULL. By then
 * the image is at that revision. */
void store_watch(struct store *s, struct store_watcher *w, enum kind k, store_event_fn *event,
                 void (*settled)(void *ctx, int64_t revision), void *ctx);
void store_unwatch(struct store *s, struct store_watcher *w);

/* Whether to go on with the next event. Must not come back to the loop. */
typedef bool store_replay_fn(void *ctx, const struct store_event *ev);

/* Calls fn for the events of that kind (KIND_COUNT: of every kind) after a revision, in order, until it says
 * that this is enough. ERR_GONE when history no longer holds all of them. */
int store_replay(const struct store *s, enum kind k, int64_t after, store_replay_fn *fn, void *ctx,
                 struct error *err);
/* The oldest revision after which nothing is missing. */
int64_t store_history_start(const struct store *s);

/* --- Backup: these block, and need no loop --- */

/* What a backup, or a restore, is at. */
enum store_phase {
    STORE_CHECKING, /* of a restore: reads the whole backup; total is 0, since nobody knows how far it is */
    STORE_COPYING,
    STORE_PHASE_COUNT,
};

/* So many bytes of the total are done, again and again. The phases come in their order. */
typedef void store_progress_fn(void *ctx, enum store_phase phase, uint64_t done, uint64_t total);

/* A copy of the data directory's database as it is at this moment, also while a server runs on it, which goes
 * on writing. The file appears whole or not at all; one that is there is replaced. progress may be NULL. */
int store_backup(const char *dir, const char *file, store_progress_fn *progress, void *ctx,
                 struct error *err);
/* Makes a data directory from a backup, all of which is checked first: a damaged one is refused, and nothing
 * is written. The directory is missing or empty. Revisions go on far above the backup's: what the lost server
 * gave out after the backup is not given out again, and whoever watches from there is told to list anew. */
int store_restore(const char *file, const char *dir, store_progress_fn *progress, void *ctx,
                  struct error *err);

/* Whether any damage to the backup would show: backups of older releases have no checksum. */
int store_backup_has_checksum(const char *file, bool *ret, struct error *err);

#endif
