/* A reflector: lists one kind, then watches it, and recovers from every failure of the server. Internal to
 * informers.
 *
 * Rounds: a list (in pages, or streamed by a watch), then watches, each from where the last one ended, until
 * the server no longer has that version or the stream is invalid; then, after a delay, the next round. The
 * cache keeps its content meanwhile: a new list replaces it as a whole. */
#ifndef BERTH_MACHINERY_REFLECTOR_H
#define BERTH_MACHINERY_REFLECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "client/client.h"
#include "machinery/cache.h"

#define REFLECTOR_VERSION_BYTES_MAX 256
#define REFLECTOR_PAGE_OBJECTS 500
#define REFLECTOR_BACKOFF_NS_MIN (800 * NS_PER_MS)
#define REFLECTOR_BACKOFF_NS_MAX (30 * NS_PER_S)
#define REFLECTOR_BACKOFF_RESET_NS (120 * NS_PER_S)

struct metric;
struct metrics;

/* Metrics of reflectors and caches, by resource. */
enum reflector_count {
    REFLECTOR_LISTS,         /* berth_reflector_lists_total */
    REFLECTOR_WATCHES,       /* berth_reflector_watches_total */
    REFLECTOR_SHORT_WATCHES, /* berth_reflector_watch_short_total */
    REFLECTOR_EXPIRED,       /* berth_reflector_relist_expired_total */
    REFLECTOR_STALE,         /* berth_reflector_stale_events_total */
    REFLECTOR_UNREADABLE,    /* berth_watch_decode_errors_total */
    CACHE_OBJECTS,           /* berth_cache_objects */
    CACHE_SYNCED,            /* berth_cache_synced */
    REFLECTOR_COUNT_COUNT,
};

/* All NULL: not counted. */
struct reflector_metrics {
    struct metric *of[REFLECTOR_COUNT_COUNT];
};

/* Registers or finds the families. m: NULL for none. */
int reflector_metrics_init(struct reflector_metrics *rm, struct metrics *m, const struct kind_info *k,
                           struct error *err);
void reflector_metrics_add(const struct reflector_metrics *rm, enum reflector_count what, double amount);

/* The receiver. Its functions fail only for lack of memory; the next list repairs that. */
struct reflector_sink {
    /* The complete list; the sink may take it apart. Objects newer than `version` that are already cached
     * were delivered by another path and stay, unless the server went back in time (!keeps_newer). */
    int (*replace)(void *ctx, struct cache *snapshot, struct str version, bool keeps_newer,
                   struct error *err);
    /* Added or changed; the sink finds out which. is_replay: the stream was past this version before. */
    int (*put)(void *ctx, const struct object *o, bool is_replay, struct error *err);
    int (*remove)(void *ctx, const struct object *o, bool is_replay, struct error *err);
    /* The server does not serve the path; it is retried from time to time. */
    void (*not_served)(void *ctx, const struct error *why);
    void *ctx;
};

enum reflector_state {
    REFLECTOR_IDLE,      /* not started */
    REFLECTOR_LISTING,   /* a page is requested */
    REFLECTOR_STREAMING, /* a watch that is still sending its initial events */
    REFLECTOR_WATCHING,
    REFLECTOR_WAITING, /* for the next try */
    REFLECTOR_STATE_COUNT,
};

/* Texts are borrowed. */
struct reflector_options {
    struct loop *loop;
    struct client *client;
    struct rng rng;
    const struct kind_info *kind;
    const char *ns;
    const char *label_selector;
    const char *field_selector;
    bool streams_lists;
    struct reflector_sink sink;
    const struct reflector_metrics *metrics;
};

struct reflector {
    struct reflector_options o;
    enum reflector_state state;
    struct client_call call;
    struct timer timer; /* for the next try, or for a stream without initial events */
    struct cache snapshot;

    char version[REFLECTOR_VERSION_BYTES_MAX]; /* as new as everything delivered so far; "": none */
    bool is_version_unavailable;               /* the server does not have this version: request the newest */

    /* The list in progress. */
    char list_version[REFLECTOR_VERSION_BYTES_MAX];
    unsigned pages;
    bool is_unpaged; /* pages expired while they were read */

    /* The watch in progress. */
    uint64_t started_ns;
    uint64_t event_at_ns; /* the last event, or the start */
    bool has_event;
    bool is_unordered; /* started without a version: the first adds are in no order */
    bool has_warned;   /* about a stream without initial events */

    bool streams; /* until the server turns out not to support it */
    /* Internal errors are tolerated for a while; 0: none so far. */
    uint64_t failing_since_ns;

    bool waits_for_watch; /* else for the next round */
    uint64_t backoff_ns;
    uint64_t backoff_at_ns; /* when it was last used */
};

void reflector_init(struct reflector *r, const struct reflector_options *o, struct hash_seed seed);
/* Sends no further requests and calls no function of the sink. Accepts one that was never started or is
 * zeroed. */
void reflector_done(struct reflector *r);
void reflector_start(struct reflector *r);

static inline struct str reflector_version(const struct reflector *r)
{
    return str_of(r->version);
}

#endif
