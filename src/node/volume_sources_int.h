/* The data structures of volume_sources: pods with the objects they use, and waits. Internal to
 * volume_sources*.c. */
#ifndef BERTH_NODE_VOLUME_SOURCES_INT_H
#define BERTH_NODE_VOLUME_SOURCES_INT_H

#include <sys/queue.h>

#include "base/omap.h"
#include "base/rng.h"
#include "base/vec.h"
#include "machinery/api_write.h"
#include "node/volume_sources.h"
#include "plugins/content.h"
#include "plugins/tokens.h"

struct shown_object;
struct shown_pod;
struct shown_token;

/* An item of a fetch that waits for its object or its token. */
TAILQ_HEAD(content_waits, content_wait);
struct content_wait {
    TAILQ_ENTRY(content_wait) link; /* in the queue that ends the wait */
    struct volume_sources_fetch *fetch;
    struct volume_content *item;
    struct content_waits *queue; /* NULL: not waiting */
    struct shown_object *object; /* it waits for one of the two */
    struct shown_token *token;
};

/* A watched object. */
struct shown_object {
    enum kind kind;
    char *ns;
    char *name;
    struct volume_sources *contents;
    struct informer *informer;
    struct informer_handler handler;
    bool is_synced;
    bool is_missed; /* a fetch timed out on it: its pods are notified when it appears */
    struct content_waits waits;
    VEC(struct shown_pod *) pods;
};

/* A token of a pod, identified by audience and lifetime. */
struct shown_token {
    TAILQ_ENTRY(shown_token) link;
    struct shown_pod *pod;
    struct arena arena; /* of the key */
    struct token_key key;
    struct api_write request;
    struct timer refresh;
    struct content_waits waits;
};

/* A pod and the objects it uses. */
struct shown_pod {
    struct volume_sources *contents;
    char *uid;
    VEC(struct shown_object *) objects;
    TAILQ_HEAD(, shown_token) tokens;
    unsigned tokens_count;
    TAILQ_ENTRY(shown_pod) changed; /* while is_changed */
    bool is_changed;
};

struct volume_sources {
    struct volume_sources_options o;
    struct api api;
    struct rng rng;        /* for the times of token renewal */
    struct rng seeds;      /* of informers: forked, never drawn from */
    struct omap pods;      /* struct shown_pod by uid */
    struct omap objects;   /* struct shown_object by kind, namespace, name */
    struct tokens *tokens; /* of all pods */
    struct timer expiry;   /* drops expired tokens, while there are any */
    TAILQ_HEAD(, shown_pod) changed;
    struct deferred tell;
    unsigned fetches; /* in flight */
};

/* Interval for removing expired tokens. */
#define TOKENS_EXPIRY_NS (60 * NS_PER_S)
/* Time after expiry when they are removed. */
#define TOKENS_KEPT_NS ((int64_t)(3600 * NS_PER_S))

/* --- volume_sources.c --- */

/* A token was added: starts the expiry timer. */
void volume_sources_watch_expiry(struct volume_sources *c);

/* Notifies the pod at the end of this loop iteration. */
void shown_pod_mark(struct shown_pod *p);
/* Appends the item to this queue. */
void content_wait_begin(struct content_wait *w, struct content_waits *queue);
/* The item has its content, or its failure. */
void content_wait_end(struct content_wait *w);
/* Sets an error whose code means that nothing has begun, whatever the code of the cause. */
void content_item_fail(struct volume_content *item, const struct error *err);

/* --- volume_sources_token.c --- */

/* NULL when the pod does not use it yet. */
struct shown_token *shown_token_find(const struct shown_pod *p, const struct content_need *n);
/* NULL without memory. */
struct shown_token *shown_token_new(struct shown_pod *p, const struct object *pod,
                                    const struct content_need *n);
/* Fills the item at once, or lets it wait. */
void shown_token_fetch(struct shown_token *t, struct content_wait *w);
/* Fetching failed for this item: uses the old token until it expires. */
void shown_token_fall_back(struct shown_token *t, struct content_wait *w, const struct error *cause);
void shown_token_free(struct shown_token *t);

#endif
