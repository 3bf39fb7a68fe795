/* The network between programs and server: requests are delayed, lost or duplicated; answers and events are
 * late or never delivered.
 *
 * A link is the carrier of a process. Requests are copied when they are sent: whether a request arrives does
 * not depend on what happens to its sender. The events of one watch keep their order, as on a connection.
 * Other messages may overtake each other: the answer to a write arrives before or after the event that the
 * write causes. The seed determines how often answers are late while events are prompt, and how often events
 * are late. This is not a fault, so it continues when the world heals. */
#ifndef BERTH_SIM_NETWORK_H
#define BERTH_SIM_NETWORK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/rng.h"
#include "client/carrier.h"

struct message;
struct sim;
struct sim_process;

struct sim_link {
    struct client_carrier carrier;
    struct sim_process *process;
};

TAILQ_HEAD(message_list, message);

struct network {
    struct sim *sim;
    struct rng rng;
    struct message_list messages;
    struct rng late; /* which answers and events are late */
    unsigned late_answers_percent;
    unsigned late_events_percent;
    unsigned sent;
    /* Called when a process sends a request, and when it stops waiting for the answer: answered, cancelled,
     * or the process was killed. `id` identifies the request. Set by the scenario; may be NULL. */
    void (*on_send)(void *ctx, const struct sim_process *p, unsigned id, const struct client_request *q);
    void (*on_over)(void *ctx, const struct sim_process *p, unsigned id);
    void *ctx;
};

void network_init(struct network *n, struct sim *s);
/* Call it after all links were freed. */
void network_done(struct network *n);

/* Returns a carrier for a process. The client that gets it frees it. */
struct sim_link *network_link(struct network *n, struct sim_process *p);

/* The number of messages that can be delivered now; delivers one of them. */
size_t network_due(struct network *n);
void network_deliver(struct network *n, size_t which);
/* The next moment after now at which a message is due; UINT64_MAX: none. */
uint64_t network_next_ns(const struct network *n);

/* The server stops: all requests that it has lose their connection. */
void network_lose_server(struct network *n);
/* Ends one of the open watches, without an end from the server. */
void network_cut_watch(struct network *n);

#endif
