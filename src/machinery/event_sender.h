/* Sends events to the server: a bounded queue, some requests at once, patient while nobody answers.
 *
 * Requests for one event leave in the order they were added, one after the other: no count overtakes the
 * event it is of. A request that no server answered is tried again after a while and keeps its place among
 * those under way, so that an outage is not met with a thousand requests; whatever a server says is final,
 * but for a count whose event is gone: the event is made anew.
 *
 * Costs: O(1) for each request, an allocation or two. */
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

/* What berth_events_total counts: writes (the first three), and events that led to no write of their own,
 * or, AGGREGATED, to one that they share. */
enum event_outcome {
    EVENT_CREATED,
    EVENT_PATCHED,
    EVENT_FAILED,
    EVENT_AGGREGATED, /* combined with others, or counted in a series */
    EVENT_FILTERED,   /* too many about one object */
    EVENT_DROPPED,    /* the queue was full */
    EVENT_OUTCOME_COUNT,
};

struct event_sender {
    struct client *client;
    struct loop *loop;
    struct rng rng; /* of delays */
    struct deferred pump;
    struct map events;                                  /* by name -> the first delivery of each */
    TAILQ_HEAD(event_deliveries, event_delivery) queue; /* of those, the ones that are not under way */
    size_t count;                                       /* all of them */
    size_t under_way;
    size_t under_way_max;
    struct metric *outcomes[EVENT_OUTCOME_COUNT]; /* NULL: not counted */
    bool is_dropping;                             /* and has said so */
};

/* What is to be written. Texts are copied. */
struct event_request {
    const struct kind_info *kind;
    const char *ns;
    const char *name;
    struct str create; /* the whole event as it is now */
    struct str patch;  /* of one that was made before; empty: it is new */
};

struct recorder_options;
/* Stays where it is. Nothing to release when it fails. */
int event_sender_init(struct event_sender *x, const struct recorder_options *o, const struct rng *rng,
                      struct error *err);
/* What was not sent is lost. Takes a zeroed one too. */
void event_sender_done(struct event_sender *x);

void event_sender_add(struct event_sender *x, const struct event_request *q);
void event_sender_count(struct event_sender *x, enum event_outcome outcome);

static inline bool event_sender_is_idle(const struct event_sender *x)
{
    return x->count == 0;
}

#endif
