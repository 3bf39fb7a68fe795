/* gRPC on a simulated machine: calls (rpc/rpc.h) of its processes to peers behind its sockets.
 *
 * A call takes effect at one moment and its answer comes at another. It may be lost before it arrives or
 * after it was carried out, answered too late, carried out when nobody waits any more, or twice; it may be
 * refused, done by half, or be the peer's last. A peer does one thing at a time about one subject: of a call
 * that comes while an earlier one is not done it says Aborted. Deadlines go by virtual time. */
#ifndef BERTH_SIM_MACHINE_RPC_H
#define BERTH_SIM_MACHINE_RPC_H

#include "rpc/rpc.h"
#include "sim/machine.h"

#define PEER_SUBJECT_BYTES 96
#define PEER_WORDS_BYTES 160

struct machine_peer;

/* A request on its way through a peer. */
struct peer_request {
    const char *method;
    struct str message;
    bool is_half;                 /* only a part of it is done: it fails, or its peer dies of it */
    struct buf answer;            /* a message */
    char words[PEER_WORDS_BYTES]; /* of a failure */
};

struct machine_peer_type {
    /* What the request is about; "": nothing that another one could be about. */
    void (*subject)(void *ctx, const struct peer_request *q, char ret[PEER_SUBJECT_BYTES]);
    /* At the moment when it takes effect. */
    enum rpc_code (*serve)(void *ctx, struct peer_request *q);
    /* The caller is going to hear this code without the peer's doing. May be NULL. */
    void (*on_fate)(void *ctx, const struct peer_request *q, enum rpc_code code);
};

/* Listens at the path for p, which runs on m: a new socket in place of what was there. */
struct machine_peer *machine_listen(struct machine *m, const char *path, struct sim_process *p,
                                    const struct machine_peer_type *type, void *ctx);
/* Nobody listens there any more. Calls that are not done are not done any more. The socket may stay, as it
 * does when its owner is killed. */
struct machine_peer *machine_peer_free(struct machine_peer *x, bool keeps_socket);

/* True while a call is on its way, or worked on, that will have an effect; whether anybody waits for it or
 * not. */
bool machine_expects_call(const struct machine *m, const char *method, const char *subject);

/* --- Calls of the kernel --- */

int machine_rpc_start(struct sys *k, struct rpc_client *x, const struct rpc_request *q, struct rpc_call *c,
                      struct error *err);
void machine_rpc_cancel(struct sys *k, struct rpc_call *c);
/* Ends with the peer, and at a loss of the connection. */
int machine_rpc_watch(struct sys *k, struct rpc_client *client, const char *socket, struct rpc_watch *w,
                      struct error *err);
void machine_rpc_unwatch(struct sys *k, struct rpc_watch *w);
int machine_rpc_wait(struct sys *k, struct rpc_client *x, const struct rpc_request *q, const atomic_int *stop,
                     struct buf *ret, unsigned *ret_code, struct error *err);

/* --- As in network.h; over all machines --- */

size_t calls_due(const struct sim *s);
void calls_deliver(struct sim *s, size_t which);
uint64_t calls_next_ns(const struct sim *s);
/* All calls of a machine end here. */
void calls_drop_all(struct machine *m);

#endif
