/* The internals of a store, for the files of store/ and their tests. */
#ifndef BERTH_STORE_STORE_INT_H
#define BERTH_STORE_STORE_INT_H

#include "base/vec.h"
#include "io/pool.h"
#include "store/log.h"
#include "store/store.h"

/* A transaction also ends at this size, so that the log's journal stays bounded. */
#define STORE_BATCH_BYTES_MAX ((size_t)16 << 20)
/* So many writes of one turn of the loop are started as a batch at once. */
#define STORE_EAGER_COUNT 8
/* Rows are dropped in chunks of this size, so that no write waits long for a drop. */
#define STORE_DROP_COUNT 1024
/* Delay after a failed commit until the log is probed, and between probes. */
#define STORE_RETRY_NS (5 * NS_PER_S)

/* Minimum interval between log lines about refused writes, per cause. */
#define STORE_REFUSAL_LOG_NS (10 * NS_PER_S)
/* An object that is being deleted may grow by this much on a full disk: deletionTimestamp, conditions. */
#define STORE_DELETING_BYTES_MAX 1024

/* --- The image: entries by kind and key --- */

/* A key that exists or is being created. At least one of object and newest is set. */
struct store_entry {
    struct object *object;      /* committed; NULL while its creation is in flight */
    struct store_write *newest; /* the last one in flight; NULL for none */
    uint32_t ns_len;
    uint32_t name_len;
    char key[]; /* namespace, NUL, name: bytewise order is the order of lists */
};

struct store_image {
    struct omap kinds[KIND_COUNT];
    size_t counts[KIND_COUNT]; /* of committed objects */
};

/* The start of a search; not NUL-terminated, of any length. */
struct store_key {
    struct str ns;
    struct str name;
};

void store_image_init(struct store_image *m);
void store_image_done(struct store_image *m);
struct store_entry *store_image_find(const struct store_image *m, enum kind k, struct store_key key);
/* The first entry that is not before key, and a cursor at it. */
struct store_entry *store_image_from(const struct store_image *m, enum kind k, struct store_key key,
                                     struct omap_cursor *ret);
/* Finds or creates the entry; NULL when out of memory. */
struct store_entry *store_image_ensure(struct store_image *m, enum kind k, struct store_key key);
/* Removes and frees the entry when it is no longer used. */
void store_image_release(struct store_image *m, enum kind k, struct store_entry *e);
/* Sets the entry's object to o (NULL: none), whose reference is taken; returns the old one with its
 * reference. */
struct object *store_image_set(struct store_image *m, enum kind k, struct store_entry *e, struct object *o);

struct store_key store_key_of(const char *ns, const char *name);
struct store_key store_entry_key(const struct store_entry *e);
int store_key_cmp(struct store_key a, struct store_key b);
/* The order of keys in 64 bits, as base/omap.h needs it. */
uint64_t store_key_rank(struct store_key key);

/* --- The ring of recent events --- */

struct store_history {
    struct store_event *events; /* each with references to its objects */
    size_t cap;
    size_t first;
    size_t count;
    size_t bytes; /* of the texts of the objects after the events */
    size_t bytes_max;
    int64_t start; /* the revision of the last event that was dropped; all after it are present */
};

int store_history_init(struct store_history *h, size_t cap, size_t bytes_max, struct error *err);
void store_history_done(struct store_history *h);
/* Makes room for an event of so many bytes: moves the oldest one with its references to *ret_gone. False when
 * there is room. */
bool store_history_pop(struct store_history *h, size_t bytes, struct store_event *ret_gone);
/* Takes references of its own. There must be room. */
void store_history_push(struct store_history *h, const struct store_event *ev);
void store_event_done(struct store_event *ev);
/* The index of the first event after a revision; h->count when there is none. */
size_t store_history_after(const struct store_history *h, int64_t revision);
const struct store_event *store_history_at(const struct store_history *h, size_t index);
/* 0 when every event after the revision is present. */
int store_history_check(const struct store_history *h, int64_t revision, struct error *err);

/* --- Past states for snapshots --- */

/* A key's state before the commit of revision `until`. */
struct store_version {
    TAILQ_ENTRY(store_version) link;
    struct object *object; /* a reference; if it did not exist: the one that was created */
    int64_t until;
    bool was_there;
};

TAILQ_HEAD(store_versions, store_version);
TAILQ_HEAD(store_snapshots, store_snapshot);

/* Of one kind. */
struct store_past {
    struct omap versions; /* by key and `until` */
    struct store_versions by_until;
    struct store_snapshots snapshots; /* by revision */
};

void store_past_init(struct store_past *p);
/* Keeps the replaced state, when a snapshot needs it. */
void store_past_note(struct store *s, const struct store_event *ev);
/* The first version that is not before key and is valid at `after` or later; a cursor at it. */
const struct store_version *store_past_from(const struct store_past *p, struct store_key key, int64_t after,
                                            struct omap_cursor *ret);

/* --- The store --- */

TAILQ_HEAD(store_writes, store_write);
TAILQ_HEAD(store_watchers, store_watcher);

struct store {
    struct loop *loop;
    struct store_options options;
    struct store_log log;
    struct pool *pool; /* one worker; NULL when the log does not block */
    int lock_fd;

    struct store_image image;
    struct store_history history;
    struct store_past pasts[KIND_COUNT];
    size_t past_bytes; /* of all versions in them */
    int64_t revision;  /* newest committed */
    int64_t reserved;  /* newest reserved */
    int64_t submitted;

    struct store_writes queue;   /* for the next batch */
    size_t queued;               /* how many those are */
    struct store_writes batch;   /* being committed */
    struct store_writes refused; /* only to be reported */
    struct deferred flush;

    /* The running work: read by the worker, not changed before its end. */
    struct pool_work work;
    bool is_busy;
    struct store_row *rows; /* batch_max of them */
    size_t rows_count;
    bool rows_grow; /* some of them */
    uint64_t started_ns;
    int64_t dropping[STORE_DROP_COUNT];
    size_t dropping_count;
    struct store_log_meta meta;
    struct error work_err;

    /* Superseded rows, in the order in which they were superseded. They must be dropped in that order: the
     * row of a deletion without the deleted object is harmless, but not the reverse. */
    VEC(int64_t) drops;
    size_t drops_at;      /* dropped up to here */
    bool drops_lost;      /* out of memory for one: none after it may be dropped in this run */
    bool drops_must_wait; /* the log has failed: not before it has accepted a batch */
    bool was_drop;        /* the last work was a drop: a batch goes first */
    bool is_closing;
    bool is_delivering;        /* callbacks of writers and watchers are running */
    struct error last_failure; /* ERR_NONE when the last commit succeeded */
    bool is_full; /* it failed because the disk is full: only removals are accepted until there is space */
    struct timer retry; /* armed after a failure */
    bool must_probe;    /* the log is to be probed */

    /* Refused writes by cause, for log lines: the code of the error; ERR_NONE for a full disk. */
    struct store_refusals {
        uint64_t count; /* not logged yet */
        bool is_logged; /* at logged_ns, the last time */
        uint64_t logged_ns;
    } refusals[ERR_COUNT];

    struct store_watchers watchers[KIND_COUNT + 1]; /* by kind; the last for every kind */
    struct store_watcher *walk;                     /* the next one to be notified */
};

/* A store on any log. Takes ownership of log and descriptor, also on failure. threaded: the log blocks and
 * gets a worker. */
int store_new(struct loop *l, const struct store_options *o, struct store_log log, bool threaded, int lock_fd,
              struct store **ret, struct error *err);

/* Fills image and history from the log. */
int store_load(struct store *s, struct error *err);
/* Refuses what store_load() would refuse, and keeps nothing. tick is called periodically. */
int store_check_log(const struct store_log *log, void (*tick)(void *ctx), void *ctx, struct error *err);

/* Adds the event to history, and records the rows of the log that it supersedes. */
void store_remember(struct store *s, const struct store_event *ev);
/* An event has left the ring: the row it superseded is no longer needed, nor, for a deletion, its own. */
void store_forget(struct store *s, const struct object *old, int64_t revision, bool is_delete);

/* Notify the watchers of one commit, and that all of a batch have been reported. */
void store_notify(struct store *s, const struct store_event *ev);
void store_notify_settled(struct store *s);

#endif
