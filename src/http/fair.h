/* Fair queuing: a user with many requests delays its own requests, not those of others.
 *
 * The requests of one user form a flow. Within a turn of the loop a flow's requests run at once until they
 * have used FAIR_FLOW_NS; further requests, and those after a queued one, are queued. The queues are served
 * round-robin, one request per flow, for FAIR_ROUND_NS per turn, before the loop polls its descriptors again.
 * So a user with few requests waits for at most one request of each other user, however many connections and
 * programs those have. Callers without valid credentials are one user; so are all callers of a server without
 * authentication.
 *
 * Flows are FAIR_FLOWS slots, selected by a hash of the user: user names cannot make the table grow. Two
 * users in one slot share it, and lose only the fairness between them. All operations are O(1) and allocate
 * nothing. */
#ifndef BERTH_HTTP_FAIR_H
#define BERTH_HTTP_FAIR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/clock.h"

#define FAIR_FLOWS 1024
#define FAIR_FLOW_NS (2 * NS_PER_MS)
#define FAIR_ROUND_NS (5 * NS_PER_MS)

struct fair_flow;

/* Embedded by a request. */
struct fair_item {
    TAILQ_ENTRY(fair_item) link;
    struct fair_flow *flow; /* the queue it is in; NULL: none */
};

TAILQ_HEAD(fair_items, fair_item);

struct fair_flow {
    TAILQ_ENTRY(fair_flow) link; /* in fair.busy while items are queued */
    struct fair_items items;
    uint64_t turn; /* the turn that used_ns belongs to */
    uint64_t used_ns;
};

TAILQ_HEAD(fair_flows, fair_flow);

/* Runs the request. May submit and cancel others. */
typedef void fair_run_fn(void *ctx, struct fair_item *item);

struct fair {
    const struct clock *clock;
    fair_run_fn *run;
    void *ctx;
    uint64_t turn;
    struct fair_flows busy;
    struct fair_flow flows[FAIR_FLOWS];
};

void fair_init(struct fair *f, const struct clock *clock, fair_run_fn *run, void *ctx);

/* Begins a new turn of the loop: resets the time of every flow. */
void fair_begin_turn(struct fair *f);

/* Runs the item now, or queues it in its flow; true when it was queued. key: a hash of the user. */
bool fair_submit(struct fair *f, struct fair_item *item, uint64_t key);
/* Removes the item from its queue if it is in one. */
void fair_cancel(struct fair *f, struct fair_item *item);

/* Runs queued items until the round ends. True when some are left. */
bool fair_run_queued(struct fair *f);

#endif
