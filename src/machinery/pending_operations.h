/* Long operations on volumes: provision, delete, attach, mount, expand. Conflicting operations never run at
 * once, and a failed one is retried only after a delay.
 *
 * A key says what an operation touches: a volume, and of it one pod's part, one node's part, or all of it.
 * Two keys conflict if the volume is the same and neither pod nor node distinguishes them: a part conflicts
 * with the whole and with itself. Operations without a volume never conflict and have no delay. A controller
 * of other objects uses their keys as volumes.
 *
 * A start that conflicts with a running operation fails with ERR_OP_PENDING, one too soon after a failure
 * with ERR_BACKOFF; both are expected (error_is_expected()), and their texts are those of the API. The delay
 * doubles with each failure and applies to the operation that failed: another name may start immediately. A
 * success resets the failures, as does twice the longest delay without a start. Costs: O(log n) in the number
 * of volumes with running or failed operations, and a walk over the few operations of one volume. */
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

struct pending_operation;
struct operations;

/* "" means all of them. */
struct operation_key {
    const char *volume;
    const char *pod;
    const char *node;
};

struct operations_options {
    struct loop *loop;
    const struct clock *clock; /* for message texts */
    uint64_t backoff_ns;       /* 0: the default */
    uint64_t backoff_ns_max;
    /* Each name of a key has its own failures. Otherwise a key has one history: another name that starts
     * during a delay ends it, and one that starts later continues it. */
    bool has_delay_per_name;
    /* An operation of the volume has ended, its delay has passed and no conflicting one is running. Called
     * from the loop, never from inside operation_end(). It may start the next operation. A volume may be
     * reported once too often, and the start may still be refused. May be NULL. */
    void (*on_settled)(void *ctx, struct str volume);
    void *ctx;
};

int operations_new(const struct operations_options *o, struct operations **ret, struct error *err);
/* Running operations of operations_start() are forgotten: operation_end() must not follow. Those of
 * operations_run() are cancelled: the operation_end() that follows releases their ctx and reports nothing.
 * Accepts NULL. */
struct operations *operations_free(struct operations *all);
DEFINE_CLEANUP(struct operations, operations_free)

/* Records that the operation starts: operation_end() must follow. name is a literal. -ERR_OP_PENDING,
 * -ERR_BACKOFF: not now. */
int operations_start(struct operations *all, const struct operation_key *key, const char *name,
                     struct pending_operation **ret, struct error *err);
/* Ends an operation: r is 0 or -ERR_*, err its text (may be NULL if r is 0). Frees op. */
void operation_end(struct pending_operation *op, int r, const struct error *err);

/* An operation that owns its context and may outlive `struct operations`. */
struct operation_work {
    const char *name; /* "provision": a literal */
    /* Starts the work; operation_end() follows exactly once, from inside or later. */
    void (*start)(void *ctx, struct pending_operation *op);
    /* Called by operations_free(): operation_end() must still follow, soon or from inside. May be NULL. */
    void (*cancel)(void *ctx, struct pending_operation *op);
    /* Called at every end, before another operation may start. May be NULL. */
    void (*done)(void *ctx, struct str volume, int r, const struct error *err);
    /* Releases ctx, after done(). May be NULL. */
    void (*release)(void *ctx);
    void *ctx;
};
/* 0: started, and the operation releases ctx. Else like operations_start(); ctx stays with the caller. */
int operations_run(struct operations *all, const struct operation_key *key, const struct operation_work *work,
                   struct error *err);
struct str operation_volume(const struct pending_operation *op);

/* A running operation conflicts with this key. */
bool operations_is_pending(const struct operations *all, const struct operation_key *key);
/* The last operation for the key had this name and failed, and its delay has not passed. ret_until_ns: loop
 * time; may be NULL. */
bool operations_is_waiting(const struct operations *all, const struct operation_key *key, const char *name,
                           uint64_t *ret_until_ns);
/* The number of running operations. */
size_t operations_pending(const struct operations *all);
/* NULL if all operations are consistent with their state and no two conflict; else what is wrong. */
const char *operations_check(const struct operations *all);

/* The state of an operation, for explanations; texts are borrowed. */
struct operation_state {
    const char *name; /* NULL: there is none */
    bool is_running;
    uint64_t began_ns;    /* of the last start, loop time */
    uint64_t retry_at_ns; /* loop time: not retried before; 0: at any time */
    const char *message;  /* of the last failure; "": none */
    unsigned failures;    /* consecutive */
};
/* The operation that decides about a key. False if none runs for the key and no failure is recorded. */
bool operations_inspect(const struct operations *all, const struct operation_key *key,
                        struct operation_state *ret);
/* All operations that conflict with a key, in start order. */
typedef void operation_state_fn(void *ctx, const struct operation_state *s);
void operations_each(const struct operations *all, const struct operation_key *key, operation_state_fn *fn,
                     void *ctx);

#endif
