/* The notices that an informer's handlers have not received yet, in one queue. Internal to informers.
 *
 * A change of the cache adds a notice, and the outermost caller then delivers the notices in order, each to
 * every handler. So the order is kept if a handler changes the cache (informer_observe()) or adds and removes
 * handlers: what it causes is delivered after what was queued before.
 *
 * Notices are numbered, and a handler remembers the number at which it was added: it gets its own notices
 * about all cached objects first, then all newer notices. */
#ifndef BERTH_MACHINERY_NOTICES_H
#define BERTH_MACHINERY_NOTICES_H

#include "base/vec.h"
#include "machinery/informer.h"

enum notice_type { NOTICE_ADD, NOTICE_UPDATE, NOTICE_DELETE, NOTICE_SYNCED };

struct notice {
    enum notice_type type;
    bool flag;             /* of an addition: initial; of a deletion: final state unknown */
    uint64_t number;       /* only for handlers that were added before it */
    uint64_t only;         /* only for the handler added with this number; 0: for all */
    struct object *old;    /* of an update and a deletion */
    struct object *object; /* of an addition and an update */
};

/* Zeroed, then notices_init(). */
struct notices {
    TAILQ_HEAD(, informer_handler) handlers; /* in the order they were added */
    struct informer_handler *next;           /* the next to get the current notice */
    VEC(struct notice) queue;
    size_t at;       /* the next to deliver */
    uint64_t number; /* the last one assigned */
    bool is_delivering;
    bool is_synced; /* NOTICE_SYNCED was delivered */
};

void notices_init(struct notices *n);
/* No handler may be left. */
void notices_done(struct notices *n);

/* Makes room for more notices, before a change, so that no change goes unnoticed. */
int notices_reserve(struct notices *n, size_t count, struct error *err);
/* There must be room. Takes references to old and o (each may be NULL); `what` has the rest. */
void notices_add(struct notices *n, struct notice what, const struct object *old, const struct object *o);
/* Drops the notices from `at` on. */
void notices_cut(struct notices *n, size_t at);
/* Delivers all notices; does nothing if a delivery is in progress. */
void notices_deliver(struct notices *n);

/* The number of a new handler, for notices that are only for it. */
static inline uint64_t notices_next_number(struct notices *n)
{
    return ++n->number;
}
void notices_add_handler(struct notices *n, struct informer_handler *h);
/* At any time, also while it is being notified. */
void notices_remove_handler(struct notices *n, struct informer_handler *h);

#endif
