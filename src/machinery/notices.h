/* What an informer's handlers are still to hear, in one queue. Internal to informers.
 *
 * Whatever changes the cache puts a notice of it here, and the outermost caller then hands the notices out,
 * one after another, each to every handler. So a handler that changes the cache itself (informer_observe()),
 * or adds and removes handlers, disturbs no order: what it caused comes after what was there.
 *
 * Notices are numbered, and so is the moment each handler was added: a handler hears what is newer than
 * itself, after notices of its own about all that was there. */
#ifndef BERTH_MACHINERY_NOTICES_H
#define BERTH_MACHINERY_NOTICES_H

#include "base/vec.h"
#include "machinery/informer.h"

enum notice_type { NOTICE_ADD, NOTICE_UPDATE, NOTICE_DELETE, NOTICE_SYNCED };

struct notice {
    enum notice_type type;
    bool flag;             /* of an addition: initial; of a deletion: final state unknown */
    uint64_t number;       /* for handlers from before it */
    uint64_t only;         /* for the handler that was added then; 0: for all */
    struct object *old;    /* of an update and a deletion */
    struct object *object; /* of an addition and an update */
};

/* Zeroed, then notices_init(). */
struct notices {
    TAILQ_HEAD(, informer_handler) handlers; /* as they were added */
    struct informer_handler *next;           /* to hear the notice being handed out */
    VEC(struct notice) queue;
    size_t at;       /* the next to be handed out */
    uint64_t number; /* the last one given out */
    bool is_telling;
    bool is_synced; /* NOTICE_SYNCED is out */
};

void notices_init(struct notices *n);
/* No handler is left. */
void notices_done(struct notices *n);

/* Room for so many more: made before a change, so that nothing happens untold. */
int notices_reserve(struct notices *n, size_t count, struct error *err);
/* There is room. References to old and o (each may be NULL) are taken; `what` says the rest. */
void notices_add(struct notices *n, struct notice what, const struct object *old, const struct object *o);
/* Forgets those from `at` on. */
void notices_cut(struct notices *n, size_t at);
/* Hands out all there are; nothing when that is under way already. */
void notices_tell(struct notices *n);

/* A handler's first number is for notices that are for it alone. */
static inline uint64_t notices_next_number(struct notices *n)
{
    return ++n->number;
}
void notices_add_handler(struct notices *n, struct informer_handler *h);
/* At any moment, also while it is being told. */
void notices_remove_handler(struct notices *n, struct informer_handler *h);

#endif
