/* The store: every object by kind, namespace and name, each write with a unique revision.
 *
 * All objects are in memory; this image answers reads. A write is queued, committed with others in one
 * transaction of a durable log on a worker thread, and only then applied to the image, reported to the
 * watchers and acknowledged: acknowledged writes are durable. While a batch commits, the next one is
 * collected, so the cost of a sync is shared.
 *
 * Revisions increase strictly over all kinds; failed writes leave gaps. A ring of the most recent events lets
 * watches resume and lists be read as of an earlier revision; the log keeps what the ring needs, so it
 * survives a restart.
 *
 * Everything here is for the loop thread. Returned objects are borrowed until the next turn of the loop: take
 * a reference to keep one. get is O(log n); a write costs the same, and no more memory than its own object;
 * the ring holds history_count events and their objects before and after, or fewer when those are large. */
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
    size_t history_count; /* events to keep; STORE_HISTORY_COUNT */
    size_t history_bytes; /* limit of their texts; STORE_HISTORY_BYTES */
    size_t batch_max;     /* writes in one transaction; STORE_BATCH_MAX */
    /* Called after each successful transaction with its duration and its number of writes. May be NULL. */
    void (*on_commit)(void *ctx, uint64_t ns, size_t count);
    /* Called when so many writes were refused by the disk. May be NULL. */
    void (*on_refuse)(void *ctx, size_t count);
    void *ctx;
};

/* Creates the directory if it is missing and locks it for this process; ERR_BUSY when another process holds
 * it. Loads everything and blocks meanwhile. A file that is damaged, of another program or of a newer Berth
 * is refused. o: NULL for the defaults. */
int store_open_sqlite(const char *dir, struct loop *l, const struct store_options *o, struct store **ret,
                      struct error *err);
/* Stores nothing and needs no thread: writes complete in a deferred callback, so that it runs in virtual
 * time. */
int store_open_memory(struct loop *l, const struct store_options *o, struct store **ret, struct error *err);
/* Waits for writes in flight and reports each; writes submitted meanwhile are refused with ERR_CANCELLED. All
 * watchers must be removed. Not from a callback of the store. Takes NULL. */
struct store *store_free(struct store *s);
/* Completes writes in flight and reports them; new writes are refused from here on. */
void store_finish(struct store *s);
DEFINE_CLEANUP(struct store, store_free)

/* --- Reading --- */

/* The committed object; NULL when there is none. ns is "" at cluster scope. */
const struct object *store_get(const struct store *s, enum kind k, const char *ns, const char *name);
/* The object as it will be when all writes in flight are committed: what a writer must build on. NULL when it
 * is deleted there. */
const struct object *store_get_newest(const struct store *s, enum kind k, const char *ns, const char *name);
/* The revision of the newest committed write. */
int64_t store_revision(const struct store *s);
/* The number of committed objects of a kind. */
size_t store_count(const struct store *s, enum kind k);
/* Health: 0, or the failure of the last commit; a commit that succeeds clears it. After a failure the store
 * probes the disk every few seconds, so the failure is cleared without further writes. */
int store_check(const struct store *s, struct error *err);
/* NULL when the state in memory is consistent, else what is not: objects under their keys, revisions in
 * order, writes in flight, history. Visits everything; for the simulator. */
const char *store_check_image(const struct store *s);

/* --- Writing --- */

/* The revision for the next write: greater than all before it, and never used twice by one data directory for
 * anything that was acknowledged. */
int64_t store_reserve(struct store *s);

/* The end of a write. On failure neither it nor any later write that is not yet reported has taken effect:
 * err has the reason. After an ERR_IO it may still appear at the next start. */
typedef void store_done_fn(void *ctx, int r, const struct error *err);

/* Embedded by its owner; must not be moved until done is called, which may free it or submit it again. */
struct store_write {
    TAILQ_ENTRY(store_write) link;
    struct store_entry *entry;
    struct object *object;
    struct object *old; /* set when it commits */
    bool is_delete;
    bool grows;       /* needs more space than what it replaces */
    bool is_failed;   /* while a failed batch is processed */
    enum err refused; /* reason, if it was never in flight */
    store_done_fn *done;
    void *ctx;
};

/* Writes o, or deletes it: then o is its last state, and store_get_newest() still shows it. o has a revision
 * from store_reserve(), greater than those submitted before, and is built on what store_get_newest() returns:
 * the store checks neither. It takes a reference of its own. done is called in a later callback: when the
 * write is on disk, in the image and reported to the watchers, or has failed. When a transaction fails, all
 * writes in flight fail with the same error, since later writes may build on earlier ones. A full disk fails
 * only writes that grow, and later writes to the same objects: deletions, objects that become smaller and
 * those that are being deleted use reserved space, until that is used up. */
void store_submit(struct store *s, struct store_write *w, const struct object *o, bool is_delete,
                  store_done_fn *done, void *ctx);

/* --- Iteration --- */

/* Valid within one callback of the loop. Writes may be submitted meanwhile; they are not visible. */
struct store_iter {
    const struct store *store;
    enum kind kind;
    const char *ns;
    struct omap_cursor cursor;
    const struct store_entry *entry; /* the next of the image; NULL at its end */
    const struct store_event **past; /* changes since then, by key; NULL for the newest state */
    size_t past_count;
    size_t past_at;
    /* For a snapshot. */
    const struct store_snapshot *snapshot; /* NULL for none */
    struct omap_cursor version_cursor;
    const struct store_version *version; /* the next version; NULL at the end */
};

/* The committed objects of a kind by (namespace, name), bytewise, from the first that is not before (from_ns,
 * from_name). ns: NULL for all namespaces; it must outlive the iterator. at: 0 for the newest state, else the
 * state at that revision, ERR_GONE when history no longer contains it. */
int store_iter_begin(struct store_iter *it, const struct store *s, enum kind k, const char *ns,
                     struct str from_ns, struct str from_name, int64_t at, struct error *err);
/* The same for a snapshot. ERR_GONE when it is lost. */
int store_iter_begin_snapshot(struct store_iter *it, const struct store_snapshot *snap, const char *ns,
                              struct str from_ns, struct str from_name, struct error *err);
/* NULL at the end. */
const struct object *store_iter_next(struct store_iter *it);
void store_iter_done(struct store_iter *it);

/* --- Snapshots --- */

/* The state of a kind at a revision, which stays readable whatever is written and dropped meanwhile. Embedded
 * by its owner; its fields are private to the store. Replaced states are kept in memory, once for all
 * snapshots, until the snapshots that show them are closed. */
struct store_snapshot {
    TAILQ_ENTRY(store_snapshot) link;
    struct store *store; /* NULL when it is closed */
    enum kind kind;
    int64_t revision;
    bool is_lost; /* out of memory for a replaced state */
};

/* at: 0 for the newest state, else that revision; ERR_GONE when history no longer contains it. Must be closed
 * before the store is freed. */
int store_snapshot_open(struct store *s, enum kind k, int64_t at, struct store_snapshot *ret,
                        struct error *err);
/* Does nothing when it is already closed, or zeroed. */
void store_snapshot_close(struct store_snapshot *snap);
/* The memory that all snapshots together keep allocated. */
size_t store_snapshots_bytes(const struct store *s);

/* --- Watches --- */

/* The effect of one commit on one object. */
struct store_event {
    const struct object *object; /* after; for a deletion the last state, with the deletion's revision */
    const struct object *old;    /* before; NULL for a creation */
    int64_t revision;
    bool is_delete;
};

typedef void store_event_fn(void *ctx, const struct store_event *ev);

/* Embedded by its owner, who removes it before it is freed. The callbacks may watch, unwatch, read and
 * submit. */
struct store_watcher {
    TAILQ_ENTRY(store_watcher) link;
    enum kind kind;
    int64_t after; /* only later revisions are reported */
    store_event_fn *event;
    void (*settled)(void *ctx, int64_t revision);
    void *ctx;
};

/* From now on event is called for each commit to an object of that kind (KIND_COUNT: of every kind), in order
 * of revision, and settled when all events up to that revision have been reported; either may be NULL. The
 * image is at that revision then. */
void store_watch(struct store *s, struct store_watcher *w, enum kind k, store_event_fn *event,
                 void (*settled)(void *ctx, int64_t revision), void *ctx);
void store_unwatch(struct store *s, struct store_watcher *w);

/* Whether to continue with the next event. Must not run the loop. */
typedef bool store_replay_fn(void *ctx, const struct store_event *ev);

/* Calls fn for the events of that kind (KIND_COUNT: of every kind) after a revision, in order, until it
 * returns false. ERR_GONE when history no longer contains all of them. */
int store_replay(const struct store *s, enum kind k, int64_t after, store_replay_fn *fn, void *ctx,
                 struct error *err);
/* The oldest revision after which nothing is missing. */
int64_t store_history_start(const struct store *s);

/* --- Backup: these block, and need no loop --- */

/* The phases of a backup or a restore. */
enum store_phase {
    STORE_CHECKING, /* of a restore: reads the whole backup; total is 0, since progress is unknown */
    STORE_COPYING,
    STORE_PHASE_COUNT,
};

/* Called repeatedly with the bytes done and the total. Phases are reported in their order. */
typedef void store_progress_fn(void *ctx, enum store_phase phase, uint64_t done, uint64_t total);

/* Copies the data directory's database in its present state, also while a server uses it, which continues to
 * write. The file appears complete or not at all; an existing file is replaced. progress may be NULL. */
int store_backup(const char *dir, const char *file, store_progress_fn *progress, void *ctx,
                 struct error *err);
/* Creates a data directory from a backup, which is verified completely first: a damaged one is refused, and
 * nothing is written. The directory must be missing or empty. Revisions continue far above the backup's:
 * revisions that the lost server used after the backup are not used again, and watches from there get
 * ERR_GONE and must list again. */
int store_restore(const char *file, const char *dir, store_progress_fn *progress, void *ctx,
                  struct error *err);

/* Whether any damage to the backup would be detected: backups of older releases have no checksum. */
int store_backup_has_checksum(const char *file, bool *ret, struct error *err);

#endif
