/* A gRPC server on a Unix socket: unary methods from a table, served on the loop, without threads.
 *
 * A handler receives the unpacked request and answers at once or later, in any order. A call that its client
 * cancels, whose deadline passes or whose connection ends is cancelled: a handler that answers later is
 * notified, and no longer has the call.
 *
 * Input of clients is bounded: connections, streams per connection, a request, the bytes of all requests and
 * answers together, headers per call, and the time in which a request must arrive and an answer must be read.
 * A client that does not read what it is sent is not read either. When all connections are in use, a new one
 * replaces the one that has been without calls the longest; if all have calls, it is closed.
 *
 * What is not gRPC is answered with a status, and what is not HTTP/2 with GOAWAY. No compression, no TLS. */
#ifndef BERTH_RPC_RPC_SERVER_H
#define BERTH_RPC_RPC_SERVER_H

#include <protobuf-c/protobuf-c.h>

#include "base/clock.h"
#include "rpc/rpc.h"

#define RPC_SERVER_CONNS_MAX 64
#define RPC_SERVER_STREAMS_MAX 256
#define RPC_SERVER_REQUEST_BYTES_MAX ((size_t)4 << 20)
#define RPC_SERVER_STALL_NS (30 * NS_PER_S)

struct rpc_server;
/* A call that is being served. */
struct rpc_served;

/* Must call one of rpc_served_answer(), rpc_served_fail(), rpc_served_defer(). The request is valid until it
 * returns. It must not free the server. */
typedef void rpc_serve_fn(void *ctx, struct rpc_served *c, const ProtobufCMessage *request);

struct rpc_method {
    const char *name; /* "/csi.v1.Controller/CreateVolume" */
    const ProtobufCMessageDescriptor *request;
    const ProtobufCMessageDescriptor *answer;
    rpc_serve_fn *serve;
};

struct rpc_server_options {
    struct loop *loop;
    const char *path;                 /* of the socket, of any length; see socket_listen_unix() */
    const struct rpc_method *methods; /* borrowed */
    size_t methods_count;
    void *ctx;                /* for the handlers */
    unsigned conns_max;       /* 0: RPC_SERVER_CONNS_MAX */
    unsigned streams_max;     /* per connection; 0: RPC_SERVER_STREAMS_MAX */
    size_t request_bytes_max; /* 0: RPC_SERVER_REQUEST_BYTES_MAX */
    size_t held_bytes_max;    /* of all requests and answers; 0: RPC_HELD_BYTES_MAX */
    uint64_t stall_ns;        /* for a request to arrive, for an answer to be read; 0: RPC_SERVER_STALL_NS */
};

/* Listens when it returns. ERR_BUSY: the path is in use. */
int rpc_server_new(const struct rpc_server_options *o, struct rpc_server **ret, struct error *err);
/* Cancels all calls, closes all connections and removes the socket, unless another has replaced it. Takes
 * NULL. */
struct rpc_server *rpc_server_free(struct rpc_server *s);
DEFINE_CLEANUP(struct rpc_server, rpc_server_free)

unsigned rpc_server_connections(const struct rpc_server *s);

/* Both end the handler's use of c. The answer is of the method's type; one that is too large becomes
 * ResourceExhausted. code: not RPC_OK. */
void rpc_served_answer(struct rpc_served *c, const ProtobufCMessage *answer);
void rpc_served_fail(struct rpc_served *c, enum rpc_code code, const char *words);
/* The answer comes later. If the call is cancelled first, cancelled(owner) is called, once, on the loop; c is
 * invalid from then on. It must not free the server. */
void rpc_served_defer(struct rpc_served *c, void (*cancelled)(void *owner), void *owner);

#endif
