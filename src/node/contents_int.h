/* The insides of contents: pods with what they show, and what is waited for. For contents*.c alone. */
#ifndef BERTH_NODE_CONTENTS_INT_H
#define BERTH_NODE_CONTENTS_INT_H

#include <sys/queue.h>

#include "base/omap.h"
#include "base/rng.h"
#include "base/vec.h"
#include "machinery/write.h"
#include "node/contents.h"
#include "plugins/content.h"
#include "plugins/tokens.h"

struct shown_object;
struct shown_pod;
struct shown_token;

/* An item of a fetch that has to wait for its object or its token. */
TAILQ_HEAD(content_waits, content_wait);
struct content_wait {
    TAILQ_ENTRY(content_wait) link; /* of whoever settles it */
    struct contents_fetch *fetch;
    struct volume_content *item;
    struct content_waits *queue; /* NULL: it does not wait, or not any more */
    struct shown_object *object; /* what it waits for: one of the two */
    struct shown_token *token;
};

/* An object under watch. */
struct shown_object {
    enum kind kind;
    char *ns;
    char *name;
    struct contents *contents;
    struct informer *informer;
    struct informer_handler handler;
    bool is_synced;
    bool is_missed; /* some fetch gave up on it: its pods are to hear when it comes */
    struct content_waits waits;
    VEC(struct shown_pod *) pods;
};

/* A token of a pod: which one is its audience's and life's. */
struct shown_token {
    TAILQ_ENTRY(shown_token) link;
    struct shown_pod *pod;
    struct arena arena; /* of the key */
    struct token_key key;
    struct api_write request;
    struct timer refresh;
    struct content_waits waits;
};

/* A pod with what it shows. */
struct shown_pod {
    struct contents *contents;
    char *uid;
    VEC(struct shown_object *) objects;
    TAILQ_HEAD(, shown_token) tokens;
    unsigned tokens_count;
    TAILQ_ENTRY(shown_pod) changed; /* while is_changed */
    bool is_changed;
};

struct contents {
    struct contents_options o;
    struct rng rng;        /* of tokens' moments */
    struct rng seeds;      /* of informers: forked, never drawn from */
    struct omap pods;      /* struct shown_pod by uid */
    struct omap objects;   /* struct shown_object by kind, namespace, name */
    struct tokens *tokens; /* of all pods */
    struct timer expiry;   /* drops those that have expired, while there are any */
    TAILQ_HEAD(, shown_pod) changed;
    struct deferred tell;
    unsigned fetches; /* under way */
};

/* How often tokens that have expired are looked for. */
#define TOKENS_EXPIRY_NS (60 * NS_PER_S)
/* So long after their end they are dropped. */
#define TOKENS_KEPT_NS ((int64_t)(3600 * NS_PER_S))

/* --- contents.c --- */

/* There is a token: it may expire. */
void contents_watch_expiry(struct contents *c);

/* The pod is told, once this turn is over. */
void shown_pod_mark(struct shown_pod *p);
/* The item waits in this queue from here on. */
void content_wait_begin(struct content_wait *w, struct content_waits *queue);
/* The item has what it waited for, or its failure. */
void content_wait_end(struct content_wait *w);
/* The code says that nothing has begun, whatever the cause's does. */
void content_item_fail(struct volume_content *item, const struct error *err);

/* --- contents_token.c --- */

/* NULL when the pod has not shown it so far. */
struct shown_token *shown_token_find(const struct shown_pod *p, const struct content_need *n);
/* NULL without memory. */
struct shown_token *shown_token_new(struct shown_pod *p, const struct object *pod,
                                    const struct content_need *n);
/* Fills the item at once, or has it wait. */
void shown_token_fetch(struct shown_token *t, struct content_wait *w);
/* Fetching has failed for this item: the old token while it lives. */
void shown_token_fall_back(struct shown_token *t, struct content_wait *w, const struct error *cause);
void shown_token_free(struct shown_token *t);

#endif
