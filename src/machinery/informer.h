/* Informers: a local copy of all objects of one kind, with handlers that are notified of changes.
 *
 * An informer lists and watches (reflector.c) into a cache of shared, immutable objects (cache.c) and
 * notifies its handlers. A controller reads the cache instead of the server and does not depend on single
 * events: a missed change shows up as the difference to the next list.
 *
 * Everything runs on the loop. Handlers are called after the cache is up to date, in the order of events,
 * with each object's versions in order; they enqueue work and return. A handler must not free an informer.
 * The cache is in key order, so that results are deterministic. Costs: get O(1); a change O(log n), and once
 * more for each index that has the object. */
#ifndef BERTH_MACHINERY_INFORMER_H
#define BERTH_MACHINERY_INFORMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "api/kind.h"
#include "api/object.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/omap.h"
#include "client/client.h"
#include "io/loop.h"

struct cache_bucket;
struct informer;
struct metrics;

/* A secondary index: the values (none, one or several) under which an object is found. */
typedef void index_emit_fn(void *ctx, struct str value);
struct informer_index {
    const char *name;
    /* Calls emit for each value. Must be deterministic. Duplicate values count once. */
    void (*values)(const struct object *o, index_emit_fn *emit, void *ctx);
};
#define INFORMER_INDEXES_MAX 8

struct informer_options {
    struct loop *loop;
    struct client *client;
    struct metrics *metrics; /* NULL: not counted */
    uint64_t seed;           /* for backoff and timeouts */
    const struct kind_info *kind;
    const char *ns; /* NULL: all */
    const char *label_selector;
    const char *field_selector;
    const struct informer_index *indexes; /* borrowed */
    size_t indexes_count;
    /* Start with a streaming list, for servers that support it; after a timeout the informer falls back to
     * paged lists. */
    bool streams_lists;
};

int informer_new(const struct informer_options *o, struct informer **ret, struct error *err);
/* Sends no further requests and calls no handler. Accepts NULL. */
struct informer *informer_free(struct informer *i);
DEFINE_CLEANUP(struct informer, informer_free)

/* Starts to list and watch. */
void informer_start(struct informer *i);

/* The first list is in the cache and every handler was notified. Stays true. */
bool informer_is_synced(const struct informer *i);
/* The server does not serve this path (404 without a Status); it is retried from time to time. An optional
 * kind then counts as synced and empty, and one warning is logged. */
bool informer_is_not_served(const struct informer *i);

/* Handlers. Any function may be NULL. A handler that is added late is first notified of every cached object.
 */
struct informer_handler {
    void (*on_add)(void *ctx, const struct object *o, bool is_initial);
    void (*on_update)(void *ctx, const struct object *old, const struct object *o);
    /* is_final_unknown: missing from a list; o is the last known state. */
    void (*on_delete)(void *ctx, const struct object *o, bool is_final_unknown);
    /* The informer is synced: called after the adds of the first list. */
    void (*on_synced)(void *ctx);
    void *ctx;
    uint64_t resync_ns; /* 0: never; else at least one second: on_update(o, o) for every object */
    /* Used for on_add and on_update, and for on_delete, where those are NULL. */
    void (*on_upsert)(void *ctx, const struct object *o);
    void (*on_removed)(void *ctx, const struct object *o);

    /* Private to the informer. */
    TAILQ_ENTRY(informer_handler) link;
    struct informer *informer;
    struct timer timer;
    uint64_t since; /* number of the last notice it skips; UINT64_MAX until it got its initial notices */
};
/* Embedded by its owner, who must remove it before freeing it. */
void informer_add_handler(struct informer *i, struct informer_handler *h);
void informer_remove_handler(struct informer_handler *h);

/* --- Reading. Objects are borrowed until the next turn of the loop. --- */

/* NULL if it does not exist. ns is "" at cluster scope. */
const struct object *informer_get(const struct informer *i, const char *ns, const char *name);
/* By "namespace/name" or "name". */
const struct object *informer_get_key(const struct informer *i, struct str key);
size_t informer_count(const struct informer *i);

/* In the order of namespace and name. Any change of the cache invalidates the cursor.
 *
 *     for (o = informer_first(i, &c); o; o = informer_next(&c)) */
struct informer_cursor {
    struct omap_cursor at;
    const struct cache_bucket *bucket; /* of an index; NULL: of the whole cache */
    uint32_t next;                     /* in a small bucket */
};
const struct object *informer_first(const struct informer *i, struct informer_cursor *c);
const struct object *informer_next(struct informer_cursor *c);
/* The first object after "namespace/name" or "name", which need not exist; the first of all for an empty key.
 * For walks over several turns of the loop. */
const struct object *informer_first_after(const struct informer *i, struct str key,
                                          struct informer_cursor *c);
/* The number of changes of the cache: if equal, nothing changed in between. */
uint64_t informer_changes(const struct informer *i);
/* The objects with a value in an index, in the same order; informer_next() continues. */
const struct object *informer_first_by(const struct informer *i, const char *index, struct str value,
                                       struct informer_cursor *c);

/* The error for a missing object: `persistentvolumeclaim "c" not found`. */
int informer_not_found(const struct informer *i, const char *name, struct error *err);

/* --- Observing own writes --- */

/* Takes the object of a write's answer into the cache and notifies handlers, if it is newer than the cached
 * one and the watch is not past it: a late answer never restores an object that the watch saw deleted. */
void informer_observe(struct informer *i, const struct object *o);

/* --- Versions (spec: opaque, but for this) --- */

/* The object's resourceVersion as text; "" when it has none. */
struct str object_version(const struct object *o);
/* -1, 0, 1 for numbers of any length; VERSION_UNORDERED if only equality can be decided. */
#define VERSION_UNORDERED 2
int version_cmp(struct str a, struct str b);

/* --- Shared informers: one per kind, created on first use --- */

struct informers;

int informers_new(const struct informer_options *o, struct informers **ret, struct error *err);
struct informers *informers_free(struct informers *all);
DEFINE_CLEANUP(struct informers, informers_free)
/* All objects of that kind, in all namespaces. After informers_start() only those that exist. The options'
 * kind, ns, selectors and indexes are ignored: use informer_add_index(). NULL without memory. */
struct informer *informers_get(struct informers *all, enum kind k, struct error *err);
/* Before the start. ERR_EXISTS if the informer has an index of that name, also later. Borrowed. */
int informer_add_index(struct informer *i, const struct informer_index *index, struct error *err);
void informers_start(struct informers *all);
bool informers_are_synced(const struct informers *all);
/* The first kind that is not synced, for messages; NULL: all are. */
const struct kind_info *informers_waiting_for(const struct informers *all);

#endif
