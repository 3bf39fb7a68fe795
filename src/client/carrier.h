/* How requests are sent: the interface between client.c and a carrier.
 *
 * A carrier makes attempts for many calls, one at a time for each call: the HTTP carrier (client_http.h) over
 * the network, the server's own (apiserver/local_client.h) by a call in this process, the simulator's through
 * its network. Retries and limits are in client.c, not in the carrier. */
#ifndef BERTH_CLIENT_CARRIER_H
#define BERTH_CLIENT_CARRIER_H

#include "base/str.h"

struct client_answer;
struct client_attempt;
struct client_carrier;
struct client_event;
struct client_request;

/* Embedded in the call; owned by the carrier while it is in flight. */
struct client_attempt {
    const struct client_request *request; /* not changed until the end */
    /* Reports an event of a watch. May cancel the attempt, after which the carrier must not touch it. */
    void (*on_event)(struct client_attempt *a, const struct client_event *ev);
    /* Reports the end, once, never from inside start(); the carrier no longer owns the attempt. */
    void (*on_end)(struct client_attempt *a, const struct client_answer *answer);
    /* A `Warning` header of the answer, unquoted: "text". Before the end. */
    void (*on_warning)(struct client_attempt *a, struct str text);
    void *work; /* the carrier's data */
};

struct client_carrier_type {
    /* Takes the attempt. All failures are reported by on_end(). */
    void (*start)(struct client_carrier *c, struct client_attempt *a);
    /* Drops the attempt: nothing is reported any more. */
    void (*cancel)(struct client_carrier *c, struct client_attempt *a);
    /* No attempt is in flight. */
    void (*free)(struct client_carrier *c);
};

/* The first member of each carrier's struct. */
struct client_carrier {
    const struct client_carrier_type *type;
};

#endif
