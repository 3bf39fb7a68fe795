/* Turns among users: one that asks much waits for its own requests, not the others for them.
 *
 * Requests of one user make up a flow. Within a turn of the loop a flow's requests run at once until they
 * have taken FAIR_FLOW_NS; what comes beyond that, and behind a request that waits already, is queued. The
 * queues are served one request a flow, round and round, for FAIR_ROUND_NS a turn, before the loop looks at
 * its descriptors again. A user that asks little is therefore never further behind than one request of each
 * other user, however many connections and programs those have. Callers without valid credentials are one
 * user; so are all callers of a server without authentication.
 *
 * Flows are FAIR_FLOWS places, found by a hash of who asks: nobody's choice of names makes the table grow.
 * Two users in one place share it, which costs the quiet one its advantage and nothing else. All operations
 * are O(1) and allocate nothing. */
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
    struct fair_flow *flow; /* where it waits; NULL: it does not */
};

TAILQ_HEAD(fair_items, fair_item);

struct fair_flow {
    TAILQ_ENTRY(fair_flow) link; /* in fair.busy while items wait */
    struct fair_items items;
    uint64_t turn; /* the one that used_ns is about */
    uint64_t used_ns;
};

TAILQ_HEAD(fair_flows, fair_flow);

/* Does the request. May submit and cancel others. */
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

/* A new turn of the loop: every flow has its time again. */
void fair_begin_turn(struct fair *f);

/* Runs the item now, or queues it behind its like; true when it was queued. key tells the user. */
bool fair_submit(struct fair *f, struct fair_item *item, uint64_t key);
/* Takes the item out of its queue if it is in one. */
void fair_cancel(struct fair *f, struct fair_item *item);

/* Runs queued items as long as the round lasts. True when some are left. */
bool fair_run_queued(struct fair *f);

#endif
