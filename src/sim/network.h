/* The network between programs and server: requests wait their turn, break, arrive twice; answers and events
 * come late or never.
 *
 * A link is a process's carrier. What it sends is copied: a request that has left arrives, or does not,
 * whatever becomes of its sender. The events of one watch keep their order, as on a connection; everything
 * else may overtake: a write's answer comes before or after the event that it causes. How often answers are
 * late while events flow, and how often events are while answers do, differs from seed to seed; no fault, so
 * it stays when the world heals. */
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
    struct message_list messages; /* on their way, or with something to deliver some time */
    struct message_list resting;  /* with the server, which has said nothing since */
    struct rng late;              /* which answers and events are */
    unsigned late_answers_percent;
    unsigned late_events_percent;
    unsigned sent;
    /* A process sends a request, and waits for its end no more: it has it, gave up, or was killed. Each has a
     * number. Set by the scenario, or NULL. */
    void (*on_send)(void *ctx, const struct sim_process *p, unsigned id, const struct client_request *q);
    void (*on_over)(void *ctx, const struct sim_process *p, unsigned id);
    void *ctx;
};

void network_init(struct network *n, struct sim *s);
/* Every link is gone. */
void network_done(struct network *n);

/* A carrier for a process; the client that it is given to frees it. */
struct sim_link *network_link(struct network *n, struct sim_process *p);

/* What could be delivered now, and the delivery of one of it. */
size_t network_due(struct network *n);
void network_deliver(struct network *n, size_t which);
/* When there is more to deliver; UINT64_MAX when nothing is on its way. */
uint64_t network_next_ns(const struct network *n);

/* The server goes: whoever waits for an answer of it loses the connection. Nothing is with it afterwards. */
void network_lose_server(struct network *n);
/* One watch ends in the middle, of those that are open. */
void network_cut_watch(struct network *n);

#endif
