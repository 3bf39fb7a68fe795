/* What volumes show: ConfigMaps, Secrets and tokens, fetched for the call that sets a volume up, and watched
 * while a pod shows them.
 *
 * An object is watched from the first volume that shows it to the last, by its name alone, which is what a
 * node may do; so a fetch is mostly a look into memory, and a change reaches the pod's files at once. Of
 * tokens the pod's own are kept (plugins/tokens.h) and fetched again in time.
 *
 * Nothing here logs, and no error shows what a Secret or a token holds. */
#ifndef BERTH_NODE_CONTENTS_H
#define BERTH_NODE_CONTENTS_H

#include "api/csi.h"
#include "machinery/parts.h"
#include "plugins/plugin.h"

/* A fetch waits so long for the server; what it has not by then has failed, as if it had never begun. */
#define CONTENTS_WAIT_NS (30 * NS_PER_S)
/* Objects and tokens of one pod: each object costs a watch. */
#define CONTENTS_POD_MAX 512
/* Between two tries to have a token renewed. */
#define CONTENTS_TOKEN_RETRY_NS (60 * NS_PER_S)

struct content_wait;
struct contents;

struct contents_options {
    struct part_options part;
    /* An object that the pod shows has changed, has come or has gone, or a token wants to be fetched again:
     * the pod's volumes are to be set up anew. On the loop, once for all that changed in a turn. */
    void (*changed)(void *ctx, const char *pod_uid);
    void *ctx;
};

int contents_new(const struct contents_options *o, struct contents **ret, struct error *err);
/* Fetches under way were ended before. Takes NULL. */
struct contents *contents_free(struct contents *c);
DEFINE_CLEANUP(struct contents, contents_free)

/* One fetch, embedded by its owner, zeroed before its first use. One that is done holds all that it needs and
 * may outlive the contents. */
struct contents_fetch {
    /* Once, on the loop, never from inside contents_fetch(). What could not be had is in its item's r and
     * err: the fetch itself fails only without memory. */
    void (*done)(struct contents_fetch *f, int r, const struct error *err);
    /* After done, until contents_fetch_end(): for set_up_request. */
    struct volume_content *items;
    uint32_t count;

    /* The module's. */
    struct contents *contents; /* NULL: nothing is under way */
    struct object *pod;
    struct arena arena;
    struct deferred later;
    struct timer limit;
    struct content_wait *waits; /* one an item */
    unsigned waiting;           /* of them */
    bool has_failed;            /* no memory */
};

/* Of the volume s of this pod. From now on the pod is told of changes, until contents_drop_pod(). */
void contents_fetch(struct contents *c, const struct object *pod, const struct volume_spec *s,
                    struct contents_fetch *f);
/* Tokens of this pod, for a driver: an item each, in their order. */
void contents_fetch_tokens(struct contents *c, const struct object *pod, const struct token_request *requests,
                           uint32_t count, struct contents_fetch *f);
/* Ends a fetch, done or not: nobody is told; the items are gone. Takes a zeroed one. */
void contents_fetch_end(struct contents_fetch *f);

/* The pod shows nothing any more. What a fetch of it still waits for it does not get. */
void contents_drop_pod(struct contents *c, const char *pod_uid);

#endif
