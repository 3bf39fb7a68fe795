/* Informers: what the server has of one kind, kept here, and told to whoever wants to know.
 *
 * An informer lists and watches (reflector.c) into a cache of shared, immutable objects (cache.c) and tells
 * its handlers what changed. A controller reads the cache instead of asking the server, and needs to have
 * seen no event: whatever was missed shows up as the difference to the next list.
 *
 * Everything happens on the loop. Handlers are called after the cache is up to date, in the order of events,
 * each object's versions in order; they mark work and return. No handler frees an informer. The cache is in
 * the order of keys, so that nothing depends on chance. Costs: get O(1), a change O(log n) and one more for
 * each index that the object is in. */
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

/* A secondary index: the texts under which an object is found, none, one or several. */
typedef void index_emit_fn(void *ctx, struct str value);
struct informer_index {
    const char *name;
    /* Calls emit for each value. Pure: the same object gives the same values. A value given twice counts
     * once. */
    void (*values)(const struct object *o, index_emit_fn *emit, void *ctx);
};
#define INFORMER_INDEXES_MAX 8

struct informer_options {
    struct loop *loop;
    struct client *client;
    struct metrics *metrics; /* NULL: nothing is counted */
    uint64_t seed;           /* of backoff and timeouts */
    const struct kind_info *kind;
    const char *ns; /* NULL: all */
    const char *label_selector;
    const char *field_selector;
    const struct informer_index *indexes; /* borrowed */
    size_t indexes_count;
    /* Begin with a streaming list, for servers that are known to serve it; a server that does not is listed
     * the old way after a while. */
    bool streams_lists;
};

int informer_new(const struct informer_options *o, struct informer **ret, struct error *err);
/* Asks the server nothing more, tells nobody anything. Takes NULL. */
struct informer *informer_free(struct informer *i);
DEFINE_CLEANUP(struct informer, informer_free)

/* From here on it lists and watches. */
void informer_start(struct informer *i);

/* The first list is in the cache and every handler has heard of it. It stays true. */
bool informer_is_synced(const struct informer *i);
/* The path is not served by this server (404 without a Status); it is tried again now and then. A kind that
 * is optional counts as synced and empty then, and a warning is logged once. */
bool informer_is_not_served(const struct informer *i);

/* Handlers. Any of the three may be NULL. Added late, a handler hears of every cached object first. */
struct informer_handler {
    void (*on_add)(void *ctx, const struct object *o, bool is_initial);
    void (*on_update)(void *ctx, const struct object *old, const struct object *o);
    /* is_final_unknown: it was gone from a list; o is what was known last. */
    void (*on_delete)(void *ctx, const struct object *o, bool is_final_unknown);
    /* The informer became synced: comes after the adds of the first list. */
    void (*on_synced)(void *ctx);
    void *ctx;
    uint64_t resync_ns; /* 0: never; else at least a second: on_update(o, o) for every object */

    /* The informer's. */
    TAILQ_ENTRY(informer_handler) link;
    struct informer *informer;
    struct timer timer;
    uint64_t since; /* hears what is newer than this; UINT64_MAX until it has heard what was there before */
};
/* Embedded by its owner, who removes it before it goes. */
void informer_add_handler(struct informer *i, struct informer_handler *h);
void informer_remove_handler(struct informer_handler *h);

/* --- Reading. Objects are borrowed until the next turn of the loop. --- */

/* NULL when it is not there. ns is "" at cluster scope. */
const struct object *informer_get(const struct informer *i, const char *ns, const char *name);
/* By "namespace/name" or "name". */
const struct object *informer_get_key(const struct informer *i, struct str key);
size_t informer_count(const struct informer *i);

/* In the order of namespace and name. Any change to the cache makes the cursor stale.
 *
 *     for (o = informer_first(i, &c); o; o = informer_next(&c)) */
struct informer_cursor {
    struct omap_cursor at;
    const struct cache_bucket *bucket; /* of an index; NULL: of the whole cache */
    uint32_t next;                     /* in a small bucket */
};
const struct object *informer_first(const struct informer *i, struct informer_cursor *c);
const struct object *informer_next(struct informer_cursor *c);
/* The first behind "namespace/name" or "name", whether or not there is such an object; the very first for an
 * empty key. For whoever walks over the cache in several turns of the loop. */
const struct object *informer_first_after(const struct informer *i, struct str key,
                                          struct informer_cursor *c);
/* Counts the changes of the cache: an equal count means that nothing changed in between. */
uint64_t informer_changes(const struct informer *i);
/* Those that an index has under a value, in the same order; informer_next() goes on. */
const struct object *informer_first_by(const struct informer *i, const char *index, struct str value,
                                       struct informer_cursor *c);

/* What an informer that has no such object says: `persistentvolumeclaim "c" not found`. */
int informer_not_found(const struct informer *i, const char *name, struct error *err);

/* --- Writing: reading what one wrote --- */

/* The object that a write was answered with. Taken into the cache, and told, when it is newer than what is
 * there and the watch has not come that far: a late answer never brings back what the watch has seen go. */
void informer_observe(struct informer *i, const struct object *o);

/* --- Versions (spec: opaque, but for this) --- */

/* The object's resourceVersion as text; "" when it has none. */
struct str object_version(const struct object *o);
/* -1, 0, 1 for numbers of any length; VERSION_UNORDERED where only equality means something. */
#define VERSION_UNORDERED 2
int version_cmp(struct str a, struct str b);

/* --- Shared informers: one a kind, made when somebody first asks for it --- */

struct informers;

int informers_new(const struct informer_options *o, struct informers **ret, struct error *err);
struct informers *informers_free(struct informers *all);
DEFINE_CLEANUP(struct informers, informers_free)
/* Everything of that kind, in all namespaces. Before informers_start() only. The options' kind, ns, selectors
 * and indexes are not used: indexes are added by informer_add_index(). NULL without memory. */
struct informer *informers_get(struct informers *all, enum kind k, struct error *err);
/* Before the start. ERR_EXISTS when the informer has an index of that name. Borrowed. */
int informer_add_index(struct informer *i, const struct informer_index *index, struct error *err);
void informers_start(struct informers *all);
bool informers_are_synced(const struct informers *all);
/* The first one that is not synced, for messages; NULL. */
const struct kind_info *informers_waiting_for(const struct informers *all);

#endif
