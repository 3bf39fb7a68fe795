/* gRPC on a simulated machine: calls (rpc/rpc.h) of its processes to peers behind its sockets.
 *
 * A call takes effect at one moment, and its answer arrives at another. A call may be lost before it arrives
 * or after it took effect, be answered too late, take effect after the caller has stopped waiting, arrive
 * twice, be rejected, take effect partially, or crash its peer. A peer performs one operation per subject at
 * a time: it rejects a call with Aborted while an earlier one about the same subject is pending. Deadlines
 * are in virtual time. */
#ifndef BERTH_SIM_MACHINE_RPC_H
#define BERTH_SIM_MACHINE_RPC_H

#include <protobuf-c/protobuf-c.h>

#include "rpc/rpc.h"
#include "sim/machine.h"

#define PEER_SUBJECT_BYTES 96
#define PEER_WORDS_BYTES 160

struct machine_peer;

/* A request that a peer processes. */
struct peer_request {
    const char *method;
    struct str message;
    bool is_partial;              /* it takes effect only partially: it fails, or its peer crashes */
    struct buf answer;            /* the message of the response */
    char words[PEER_WORDS_BYTES]; /* the text of a failure */
};

/* The message of the request. NULL, and the run fails, if it is invalid. */
ProtobufCMessage *peer_request_read(const struct machine *m, const struct peer_request *q,
                                    const ProtobufCMessageDescriptor *type);
void peer_request_answer(struct peer_request *q, const ProtobufCMessage *m);
/* Fails the request; returns the code. */
enum rpc_code peer_request_reject(struct peer_request *q, enum rpc_code code, const char *words);

struct machine_peer_type {
    /* Writes the subject of the request, for example a volume; "": it conflicts with no other request. */
    void (*subject)(void *ctx, const struct peer_request *q, char ret[PEER_SUBJECT_BYTES]);
    /* Called when the request takes effect. */
    enum rpc_code (*serve)(void *ctx, struct peer_request *q);
    /* A fault replaces the peer's answer by a code: returns this one, or another that does not contradict the
     * peer's state. has_effect: the request takes effect nevertheless. May be NULL: that code. */
    enum rpc_code (*force_code)(void *ctx, const struct peer_request *q, enum rpc_code code, bool has_effect);
    /* The caller is about to get this result, perhaps after the end of the peer: ctx outlives it. May be
     * NULL. */
    void (*on_end)(void *ctx, const struct peer_request *q, enum rpc_code code);
};

/* Creates a socket at the path, replacing an old one; p, which runs on m, listens there. */
struct machine_peer *machine_listen(struct machine *m, const char *path, struct sim_process *p,
                                    const struct machine_peer_type *type, void *ctx);
/* Stops listening. Pending calls fail without effect. keeps_socket: the file stays, as after a kill. */
struct machine_peer *machine_peer_free(struct machine_peer *peer, bool keeps_socket);

/* True while a call is pending that will take effect, whether or not its caller still waits for it. */
bool machine_expects_call(const struct machine *m, const char *method, const char *subject);

/* The same for any call with a subject. */
bool machine_expects_calls(const struct machine *m);

/* --- System calls --- */

int machine_rpc_start(struct sys *k, struct rpc_client *client, const struct rpc_request *q,
                      struct rpc_call *c, struct error *err);
void machine_rpc_cancel(struct sys *k, struct rpc_call *c);
/* Ends with the peer, and at a loss of the connection. */
int machine_rpc_watch(struct sys *k, struct rpc_client *client, const char *socket, struct rpc_watch *w,
                      struct error *err);
void machine_rpc_unwatch(struct sys *k, struct rpc_watch *w);
int machine_rpc_wait(struct sys *k, struct rpc_client *client, const struct rpc_request *q,
                     const atomic_int *stop, struct buf *ret, unsigned *ret_code, struct error *err);

/* --- As in network.h, for all machines --- */

size_t calls_due(const struct sim *s);
void calls_deliver(struct sim *s, size_t which);
uint64_t calls_next_ns(const struct sim *s);
/* Frees all calls of a machine. */
void calls_drop_all(struct machine *m);

#endif
