/* The contents of volumes: ConfigMaps, Secrets and tokens, fetched for the call that sets a volume up, and
 * watched while a pod uses them.
 *
 * An object is watched by name, which is what a node is authorized to do, from the first volume that uses it
 * to the last. Most fetches are therefore served from memory, and changes reach the pod's files at once.
 * Tokens of the pod are cached (plugins/tokens.h) and renewed in time.
 *
 * Nothing here logs, and no error contains the content of a Secret or a token. */
#ifndef BERTH_NODE_VOLUME_SOURCES_H
#define BERTH_NODE_VOLUME_SOURCES_H

#include "api/csi.h"
#include "machinery/component_deps.h"
#include "plugins/plugin.h"

/* Timeout of a fetch: missing items then fail as if they had never begun. */
#define CONTENTS_WAIT_NS (30 * NS_PER_S)
/* Maximum number of objects and tokens per pod: each object costs a watch. */
#define CONTENTS_POD_MAX 512
/* Interval between attempts to renew a token. */
#define CONTENTS_TOKEN_RETRY_NS (60 * NS_PER_S)

struct content_wait;
struct volume_sources;

struct volume_sources_options {
    struct component_deps part;
    /* An object that the pod uses was changed, created or deleted, or a token must be renewed: the pod's
     * volumes must be set up again. On the loop, once for all changes of an iteration. */
    void (*changed)(void *ctx, const char *pod_uid);
    void *ctx;
};

int volume_sources_new(const struct volume_sources_options *o, struct volume_sources **ret,
                       struct error *err);
/* All fetches must have ended. Accepts NULL. */
struct volume_sources *volume_sources_free(struct volume_sources *c);
DEFINE_CLEANUP(struct volume_sources, volume_sources_free)

/* One fetch, embedded by its owner, zeroed before its first use. A finished fetch owns everything it refers
 * to and may outlive the volume_sources. */
struct volume_sources_fetch {
    /* Called once, on the loop, never from inside volume_sources_fetch(). Failures are in r and err of each
     * item; the fetch itself fails only when out of memory. */
    void (*done)(struct volume_sources_fetch *f, int r, const struct error *err);
    /* After done, until volume_sources_fetch_end(): for set_up_request. */
    struct volume_content *items;
    uint32_t count;

    /* Private. */
    struct volume_sources *contents; /* NULL: not in flight */
    struct object *pod;
    struct arena arena;
    struct deferred later;
    struct timer limit;
    struct content_wait *waits; /* one per item */
    unsigned waiting;           /* of them */
    bool has_failed;            /* no memory */
};

/* Fetches the contents of the volume s of this pod. From now on changes of them are reported for the pod,
 * until volume_sources_drop_pod(). */
void volume_sources_fetch(struct volume_sources *c, const struct object *pod, const struct volume_spec *s,
                          struct volume_sources_fetch *f);
/* Fetches tokens of this pod for a driver: one item per token, in order. */
void volume_sources_fetch_tokens(struct volume_sources *c, const struct object *pod,
                                 const struct token_request *requests, uint32_t count,
                                 struct volume_sources_fetch *f);
/* Ends a fetch, finished or not, without calling done, and frees its items. Accepts a zeroed one. */
void volume_sources_fetch_end(struct volume_sources_fetch *f);

/* The pod uses no objects any more. Its fetches in flight end with an error. */
void volume_sources_drop_pod(struct volume_sources *c, const char *pod_uid);

#endif
