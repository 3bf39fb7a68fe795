/* Long operations on volumes: provisioning, deleting, attaching, mounting, growing. One at a time for what
 * they touch, and after a failure not at once again.
 *
 * A key says what an operation touches: a volume, and of it one pod's part, one node's part, or all of it.
 * Two keys are in each other's way when the volume is the same and neither the pods nor the nodes tell them
 * apart: a part is in the way of the whole, and of itself. Operations without a volume are in nobody's way
 * and have no delay. A controller of other objects uses their keys as volumes.
 *
 * A start in the way of one that runs is refused with ERR_OP_PENDING, one too soon after a failure with
 * ERR_BACKOFF; both are expected (error_is_expected()), and their texts are the API's. The delay doubles with
 * each failure and is for the operation that failed: another name may start at once. A success forgets the
 * failures; so does a rest of twice the longest delay. Costs: O(log n) in the volumes that something runs or
 * has failed for, and a walk over the few operations of one. */
#ifndef BERTH_MACHINERY_PENDING_OPERATIONS_H
#define BERTH_MACHINERY_PENDING_OPERATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/str.h"
#include "io/loop.h"

#define OPERATION_BACKOFF_NS (500 * NS_PER_MS)
#define OPERATION_BACKOFF_NS_MAX (122 * NS_PER_S)

struct operation;
struct operations;

/* "" for all of them. */
struct operation_key {
    const char *volume;
    const char *pod;
    const char *node;
};

struct operations_options {
    struct loop *loop;
    const struct clock *clock; /* for the texts */
    uint64_t backoff_ns;       /* 0: as above */
    uint64_t backoff_ns_max;
    /* Each name of a key has failures of its own. Otherwise a key has one history: another name that starts
     * during a delay ends it, and one that starts later continues it. */
    bool has_delay_per_name;
    /* An operation of the volume is over and its delay, if any, has passed, and nothing runs that is in its
     * way. On the loop, never from inside operation_end(). It may start the next. When ends crowd, a volume
     * may be reported once too often and still be refused. May be NULL. */
    void (*on_settled)(void *ctx, struct str volume);
    void *ctx;
};

int operations_new(const struct operations_options *o, struct operations **ret, struct error *err);
/* Operations of operations_start() that still run are forgotten: operation_end() must not follow. Those of
 * operations_run() are cancelled: the operation_end() that follows releases what was handed over and reports
 * nothing. Takes NULL. */
struct operations *operations_free(struct operations *all);
DEFINE_CLEANUP(struct operations, operations_free)

/* Says that the operation begins: operation_end() follows. name is a literal. -ERR_OP_PENDING, -ERR_BACKOFF:
 * not now. */
int operations_start(struct operations *all, const struct operation_key *key, const char *name,
                     struct operation **ret, struct error *err);
/* The end of it: r is 0 or -ERR_*, err its text (may be NULL when r is 0). op is gone afterwards. */
void operation_end(struct operation *op, int r, const struct error *err);

/* An operation that owns its context, and may outlive the operations. */
struct operation_work {
    const char *name; /* "provision": a literal */
    /* Begins the work; operation_end() follows, from inside or later, once. */
    void (*start)(void *ctx, struct operation *op);
    /* operations_free(): operation_end() must still come, as soon as may be, or at once from inside. May be
     * NULL. */
    void (*cancel)(void *ctx, struct operation *op);
    /* Called at the end, whatever it was, before anybody may start another. May be NULL. */
    void (*done)(void *ctx, struct str volume, int r, const struct error *err);
    /* Releases ctx; after done. May be NULL. */
    void (*release)(void *ctx);
    void *ctx;
};
/* 0: started, and ctx is the operation's to release. Else as operations_start(); ctx stays the caller's. */
int operations_run(struct operations *all, const struct operation_key *key, const struct operation_work *work,
                   struct error *err);
struct str operation_volume(const struct operation *op);

/* Something runs that is in the way of this key. */
bool operations_is_pending(const struct operations *all, const struct operation_key *key);
/* The last operation for the key had this name, failed, and its delay is not over. ret_until_ns: by the loop;
 * NULL for no interest. */
bool operations_is_waiting(const struct operations *all, const struct operation_key *key, const char *name,
                           uint64_t *ret_until_ns);
/* All that run. */
size_t operations_pending(const struct operations *all);

/* What is known of an operation, for explanations; texts are borrowed. */
struct operation_state {
    const char *name; /* NULL: there is none */
    bool is_running;
    uint64_t began_ns;    /* the last time, by the loop */
    uint64_t retry_at_ns; /* by the loop: no sooner is it tried again; 0: at any time */
    const char *message;  /* of the last failure; "" for none */
    unsigned failures;    /* in a row */
};
/* The operation that decides about a key. False when nothing runs for the key and no failure is remembered.
 */
bool operations_look(const struct operations *all, const struct operation_key *key,
                     struct operation_state *ret);
/* All operations that meet a key, in the order they came. */
typedef void operation_state_fn(void *ctx, const struct operation_state *s);
void operations_each(const struct operations *all, const struct operation_key *key, operation_state_fn *fn,
                     void *ctx);

#endif
