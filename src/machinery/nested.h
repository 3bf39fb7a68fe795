/* Operations on volumes: attaching, mounting, growing. One at a time for what they touch, and after a failure
 * not at once again.
 *
 * A key says what an operation touches: a volume, and of it one pod's part, one node's part, or all of it.
 * Two keys are in each other's way when the volume is the same and neither the pods nor the nodes tell them
 * apart: a part is in the way of the whole, and of itself. Operations without a volume are in nobody's way.
 *
 * An operation that failed may not start again before its delay is over; another one of the same key may, and
 * the delay is forgotten then. The texts of refusals are the API's. Failures are forgotten after twice the
 * longest delay. Costs: O(log n) in the volumes, and a walk over the few keys of one. */
#ifndef BERTH_MACHINERY_NESTED_H
#define BERTH_MACHINERY_NESTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "io/loop.h"

#define NESTED_BACKOFF_NS (500 * NS_PER_MS)
#define NESTED_BACKOFF_NS_MAX (122 * NS_PER_S)

struct nested;
struct nested_op;

/* "" for all of them. */
struct nested_key {
    const char *volume;
    const char *pod;
    const char *node;
};

struct nested_options {
    struct loop *loop;
    const struct clock *clock; /* for the words */
    /* Something ended, or a delay is over: others may start now. On the loop, once for any number of ends.
     * May be NULL. */
    void (*on_settled)(void *ctx);
    void *ctx;
};

int nested_new(const struct nested_options *o, struct nested **ret, struct error *err);
/* Nobody is told anything; nested_end() of what still runs must not follow. Takes NULL. */
struct nested *nested_free(struct nested *n);
DEFINE_CLEANUP(struct nested, nested_free)

/* Says that the operation begins: nested_end() follows. name is a literal. -ERR_OP_PENDING, -ERR_BACKOFF: not
 * now, error_is_expected(). */
int nested_start(struct nested *n, const struct nested_key *key, const char *name, struct nested_op **ret,
                 struct error *err);
/* r is 0 or -ERR_*, err its words (NULL when r is 0). op is gone afterwards. */
void nested_end(struct nested_op *op, int r, const struct error *err);

/* Something runs that is in the way of this key. */
bool nested_is_pending(const struct nested *n, const struct nested_key *key);
/* The last operation for the key had this name, failed, and its delay is not over. ret_until_ns: by the loop;
 * NULL for no interest. */
bool nested_is_waiting(const struct nested *n, const struct nested_key *key, const char *name,
                       uint64_t *ret_until_ns);
/* What the last operation that failed for the key complained of, while that is remembered; else NULL. */
const char *nested_complaint(const struct nested *n, const struct nested_key *key);
/* What is known of the operation that decides about a key; texts are borrowed. */
struct nested_state {
    const char *name; /* NULL: there is none */
    bool is_running;
    uint64_t retry_at_ns;  /* by the loop: no sooner is it tried again; 0: at any time */
    const char *complaint; /* of the last failure; "" for none */
    unsigned failures;     /* in a row */
};
/* For explanations. False when nothing runs for the key and no failure is remembered. */
bool nested_look(const struct nested *n, const struct nested_key *key, struct nested_state *ret);
/* All that run. */
size_t nested_pending(const struct nested *n);

#endif
