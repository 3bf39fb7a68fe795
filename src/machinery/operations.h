/* Operations: long work for a key, one at a time, and after a failure not at once again.
 *
 * Mounting, provisioning, attaching: begun by a controller, carried out by workers or drivers, ended by an
 * event on the loop. A second start for a key that is busy is refused with ERR_OP_PENDING, one too soon after
 * a failure with ERR_BACKOFF; both are expected (error_is_expected()). The controller's key comes back by
 * itself: on_settled() is told when a key may be tried again.
 *
 * Another operation for a key that failed may start at once: the delay belongs to the operation's name. So
 * does a success, which forgets the failures of its own name. Failures are forgotten too when nobody has
 * tried again for twice the longest delay. Costs: O(log n) in the keys that run or have failed. */
#ifndef BERTH_MACHINERY_OPERATIONS_H
#define BERTH_MACHINERY_OPERATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/str.h"
#include "io/loop.h"

struct operation;
struct operations;

#define OPERATION_BACKOFF_NS (500 * NS_PER_MS)
#define OPERATION_BACKOFF_NS_MAX (122 * NS_PER_S)

struct operations_options {
    struct loop *loop;
    const struct clock *clock; /* for the words of ERR_BACKOFF */
    uint64_t backoff_ns;       /* 0: as above */
    uint64_t backoff_ns_max;
    /* The key's operation is over and its delay, if any, has passed. On the loop, never from inside
     * operation_end(). It may start the next. When ends crowd, a key may be told once too often and
     * still be refused. Not told once operations_stop() was called. May be NULL. */
    void (*on_settled)(void *ctx, struct str key);
    void *ctx;
};

struct operation_work {
    const char *name; /* "provision": a literal */
    /* Begins the work; operation_end() follows, from inside or later, once. */
    void (*start)(void *ctx, struct operation *op);
    /* operations_stop() or operations_free(): operation_end() must still come, as soon as may be, or at once
     * from inside. May be NULL. */
    void (*cancel)(void *ctx, struct operation *op);
    /* Told at the end, whatever it was, before anybody may start another. May be NULL. */
    void (*done)(void *ctx, struct str key, int r, const struct error *err);
    /* Releases ctx; after done. May be NULL. */
    void (*release)(void *ctx);
    void *ctx;
};

int operations_new(const struct operations_options *o, struct operations **ret, struct error *err);
/* Those under way are cancelled and forgotten: the operation_end() that follows releases what was handed over
 * and tells nobody anything. Takes NULL. */
struct operations *operations_free(struct operations *all);
DEFINE_CLEANUP(struct operations, operations_free)

/* 0: started, and ctx is the operations' to release. Else -ERR_OP_PENDING, -ERR_BACKOFF, -ERR_CANCELLED
 * (shutting down) or -ERR_NO_MEMORY; ctx stays the caller's. */
int operations_start(struct operations *all, struct str key, const struct operation_work *work,
                     struct error *err);
/* The end of it: r is 0 or -ERR_*, err its words (may be NULL when r is 0). op is gone afterwards. */
void operation_end(struct operation *op, int r, const struct error *err);
struct str operation_key(const struct operation *op);

bool operations_is_pending(const struct operations *all, struct str key);
size_t operations_pending(const struct operations *all);
/* When all that failed for a key may be tried again; 0 for now. For explanations. */
uint64_t operations_retry_at_ns(const struct operations *all, struct str key);
/* What is known of a key's operations, by name; in no order that means anything. For explanations. */
struct operation_state {
    const char *name;
    bool is_running;
    uint64_t began_ns;    /* of the one that runs, by the loop */
    unsigned failures;    /* in a row */
    uint64_t retry_at_ns; /* by the loop; 0: now */
    const char *message;  /* of the last failure; "" for none. Borrowed for the call. */
};
typedef void operation_state_fn(void *ctx, const struct operation_state *s);
void operations_each_of(const struct operations *all, struct str key, operation_state_fn *fn, void *ctx);
/* Failures of a key are forgotten; what waited may be tried again, and that is told. */
void operations_forget(struct operations *all, struct str key);

/* No more starts; cancels what is under way; drained when the last has ended. */
void operations_stop(struct operations *all);
bool operations_are_drained(const struct operations *all);

#endif
