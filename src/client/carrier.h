/* How requests travel: what client.c asks of a carrier.
 *
 * A carrier makes one attempt at a time for each call, of many: the HTTP one (http.h) over the network, the
 * server's own (apiserver/local_client.h) by a call in this process, the simulator's through its network. A
 * carrier retries nothing and limits nothing: that is client.c's. */
#ifndef BERTH_CLIENT_CARRIER_H
#define BERTH_CLIENT_CARRIER_H

#include "base/str.h"

struct client_answer;
struct client_attempt;
struct client_carrier;
struct client_event;
struct client_request;

/* Embedded in the call; the carrier's while it is under way. */
struct client_attempt {
    const struct client_request *request; /* stays as it is until the end */
    /* An event of a watch; may cancel the attempt, after which the carrier touches it no more. */
    void (*on_event)(struct client_attempt *a, const struct client_event *ev);
    /* The end, once, never from inside start(); the attempt is not the carrier's any more. */
    void (*on_end)(struct client_attempt *a, const struct client_answer *answer);
    /* A `Warning` header of the answer, unquoted: "text". Before the end. */
    void (*on_warning)(struct client_attempt *a, struct str text);
    void *work; /* the carrier's own */
};

struct client_carrier_type {
    /* Takes the attempt. Whatever goes wrong is told by on_end(). */
    void (*start)(struct client_carrier *c, struct client_attempt *a);
    /* Forgets it: nothing is told any more. */
    void (*cancel)(struct client_carrier *c, struct client_attempt *a);
    /* No attempt is under way. */
    void (*free)(struct client_carrier *c);
};

/* Each carrier's struct begins with it. */
struct client_carrier {
    const struct client_carrier_type *type;
};

#endif
