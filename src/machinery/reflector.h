/* A reflector: lists one kind and watches it from there on, for ever, whatever the server does. Internal to
 * informers.
 *
 * Rounds: a snapshot (a list in pages, or a watch that begins with everything), then watches one after
 * another from where the last one ended, until the server no longer knows that version or the stream makes no
 * sense; then, after a while, the next round. What is known stays known meanwhile: a new snapshot replaces
 * the last one as a whole. */
#ifndef BERTH_MACHINERY_REFLECTOR_H
#define BERTH_MACHINERY_REFLECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "client/client.h"
#include "machinery/cache.h"
#include "machinery/reflector_metrics.h"

#define REFLECTOR_VERSION_BYTES_MAX 256
#define REFLECTOR_PAGE_OBJECTS 500
#define REFLECTOR_BACKOFF_NS_MIN (800 * NS_PER_MS)
#define REFLECTOR_BACKOFF_NS_MAX (30 * NS_PER_S)
#define REFLECTOR_BACKOFF_RESET_NS (120 * NS_PER_S)

/* Who hears of it. Failures are for lack of memory: the next snapshot makes up for them. */
struct reflector_sink {
    /* Everything there is; the sink may take it apart. Newer objects than `version` that are there already
     * came by another way and stay, unless the server has gone back in time (!keeps_newer). */
    int (*replace)(void *ctx, struct cache *snapshot, struct str version, bool keeps_newer,
                   struct error *err);
    /* Added or changed: which, the sink finds out. is_replay: the stream was past this version before. */
    int (*put)(void *ctx, const struct object *o, bool is_replay, struct error *err);
    int (*remove)(void *ctx, const struct object *o, bool is_replay, struct error *err);
    /* The server does not know the path; it is asked again now and then. */
    void (*not_served)(void *ctx, const struct error *why);
    void *ctx;
};

enum reflector_state {
    REFLECTOR_IDLE,      /* not started */
    REFLECTOR_LISTING,   /* a page is on its way */
    REFLECTOR_STREAMING, /* a watch that begins with everything, and has not ended the beginning */
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
    struct timer timer; /* of the next try; of a stream that does not begin */
    struct cache snapshot;

    char version[REFLECTOR_VERSION_BYTES_MAX]; /* as new as everything told so far; "" before the first */
    bool is_version_unavailable;               /* the server has no such version: ask for its newest */

    /* The list under way. */
    char list_version[REFLECTOR_VERSION_BYTES_MAX];
    unsigned pages;
    bool is_unpaged; /* pages expired while they were read */

    /* The watch under way. */
    uint64_t started_ns;
    uint64_t heard_ns; /* the last event, or the start */
    bool has_heard;
    bool is_unordered; /* began without a version: what is added first is in no order */
    bool has_warned;   /* of a stream that does not begin */

    bool streams; /* as long as the server goes along */
    /* Internal errors are watched past for a while; 0: none so far. */
    uint64_t failing_since_ns;

    bool waits_for_watch; /* else for the next round */
    uint64_t backoff_ns;
    uint64_t backoff_at_ns; /* when it was last used */
};

void reflector_init(struct reflector *r, const struct reflector_options *o, struct hash_seed seed);
/* Asks for nothing more and tells nobody anything. Takes one that was never started, and a zeroed one. */
void reflector_done(struct reflector *r);
void reflector_start(struct reflector *r);

static inline struct str reflector_version(const struct reflector *r)
{
    return str_of(r->version);
}

#endif
