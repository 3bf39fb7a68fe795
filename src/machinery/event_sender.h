/* Sends events to the server: a bounded queue, a limited number of requests in flight, and retries while the
 * server does not answer.
 *
 * Requests for one event are sent in order, one at a time, so that a count never overtakes its event. A
 * request without an answer is retried after a delay and keeps its place in flight, so that an outage does
 * not cause a burst. Any answer is final, except for a count whose event is gone: the event is created again.
 *
 * Costs: O(1) and one or two allocations per request. */
#ifndef BERTH_MACHINERY_EVENT_SENDER_H
#define BERTH_MACHINERY_EVENT_SENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "base/error.h"
#include "base/map.h"
#include "base/rng.h"
#include "base/str.h"
#include "client/client.h"
#include "io/loop.h"

struct event_delivery;
struct metric;
struct metrics;

/* Labels of berth_events_total: writes (the first three), and events without a write of their own; an
 * AGGREGATED event shares one. */
enum event_outcome {
    EVENT_CREATED,
    EVENT_PATCHED,
    EVENT_FAILED,
    EVENT_AGGREGATED, /* combined with others, or counted in a series */
    EVENT_FILTERED,   /* rate limit of one object exceeded */
    EVENT_DROPPED,    /* the queue was full */
    EVENT_OUTCOME_COUNT,
};

struct event_sender {
    struct client *client;
    struct loop *loop;
    struct rng rng; /* for delays */
    struct deferred pump;
    struct map events;                                  /* by name -> the first delivery of each event */
    TAILQ_HEAD(event_deliveries, event_delivery) queue; /* those that are not in flight */
    size_t count;                                       /* all deliveries */
    size_t under_way;
    size_t under_way_max;
    struct metric *outcomes[EVENT_OUTCOME_COUNT]; /* NULL: not counted */
    bool is_dropping;                             /* already logged */
};

/* A request. Texts are copied. */
struct event_request {
    const struct kind_info *kind;
    const char *ns;
    const char *name;
    struct str create; /* the whole event in its current state */
    struct str patch;  /* of an event that was created before; empty: it is new */
};

struct recorder_options;
/* Must not move. Nothing to release if it fails. */
int event_sender_init(struct event_sender *sender, const struct recorder_options *o, const struct rng *rng,
                      struct error *err);
/* Unsent events are lost. Accepts a zeroed sender. */
void event_sender_done(struct event_sender *sender);

void event_sender_add(struct event_sender *sender, const struct event_request *q);
void event_sender_count(struct event_sender *sender, enum event_outcome outcome);

static inline bool event_sender_is_idle(const struct event_sender *sender)
{
    return sender->count == 0;
}

#endif
