/* gRPC calls to peers behind Unix sockets: CSI drivers, their registrars, container runtimes.
 *
 * A client keeps one HTTP/2 session per socket path on the event loop; all calls to that path share it, up to
 * RPC_CALLS_MAX at a time, and end in any order. The session is opened by the first call or watch, and closed
 * RPC_IDLE_NS after the last one. A session is abandoned when the peer ends it, violates the protocol, or
 * another socket replaces the one at the path: calls in flight stay on it, the next call opens a new one. A
 * call that the peer certainly has not processed (a refused stream, a request that was not sent completely)
 * is sent once more on a new session.
 *
 * Input of a peer is bounded: a message by RPC_MESSAGE_BYTES_MAX or less, all buffered messages of a client
 * by RPC_HELD_BYTES_MAX, headers by RPC_HEADERS_BYTES_MAX per call, frames by nghttp2. No compression, no
 * TLS.
 *
 * Failures read `rpc error: code = NAME desc = …`. Codes after which a call may have taken effect, or may
 * later, are ERR_UNCERTAIN: Canceled, DeadlineExceeded, ResourceExhausted, Aborted, Unavailable. An answer
 * that is not gRPC, or no answer, is Unavailable. All other codes: the call has ended and failed. */
#ifndef BERTH_RPC_RPC_H
#define BERTH_RPC_RPC_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "io/loop.h"

#define RPC_MESSAGE_BYTES_MAX ((size_t)16 << 20)
#define RPC_HELD_BYTES_MAX ((size_t)64 << 20)
#define RPC_HEADERS_BYTES_MAX ((size_t)64 << 10)
#define RPC_CALLS_MAX 1024 /* per session, calls that wait for the peer's limit included */
#define RPC_SESSIONS_MAX 256
#define RPC_IDLE_NS (60 * NS_PER_S)

enum rpc_code {
    RPC_OK,
    RPC_CANCELLED,
    RPC_UNKNOWN,
    RPC_INVALID_ARGUMENT,
    RPC_DEADLINE_EXCEEDED,
    RPC_NOT_FOUND,
    RPC_ALREADY_EXISTS,
    RPC_PERMISSION_DENIED,
    RPC_RESOURCE_EXHAUSTED,
    RPC_FAILED_PRECONDITION,
    RPC_ABORTED,
    RPC_OUT_OF_RANGE,
    RPC_UNIMPLEMENTED,
    RPC_INTERNAL,
    RPC_UNAVAILABLE,
    RPC_DATA_LOSS,
    RPC_UNAUTHENTICATED,
    RPC_CODE_COUNT,
};

/* "InvalidArgument": as gRPC writes it, also for an unknown code. */
const char *rpc_code_name(enum rpc_code code);
/* -ERR_* of a status that is not OK, with its message as above. Unknown codes are RPC_UNKNOWN. Pure. */
int rpc_failure(uint64_t code, const char *words, struct error *err);

/* --- Clients: on the loop --- */

struct rpc_client;

int rpc_client_new(struct loop *l, struct rpc_client **ret, struct error *err);
/* Ends all sessions. Calls of rpc_wait() end as cancelled, now and later; others must have been cancelled
 * before. Nothing of the client is left on the loop. Also for a closed one. */
void rpc_client_close(struct rpc_client *client);
/* Closes it. No thread may be in rpc_wait(). Takes NULL. */
struct rpc_client *rpc_client_free(struct rpc_client *client);
DEFINE_CLEANUP(struct rpc_client, rpc_client_free)

/* --- Calls: on the loop --- */

/* name: lower case, without the prefix "grpc-", without ":". value: printable ASCII. */
struct rpc_metadata {
    const char *name;
    const char *value;
};

/* Copied by the functions that take one. */
struct rpc_request {
    const char *socket; /* its path, of any length */
    const char *method; /* "/csi.v1.Node/NodeStageVolume" */
    struct str message;
    uint64_t limit_ns;       /* from the start to the status; 0: no limit */
    size_t answer_bytes_max; /* of one message; 0: RPC_MESSAGE_BYTES_MAX */
    const struct rpc_metadata *metadata;
    size_t metadata_count;
    const char *note; /* of rpc_wait(): for the observer, cut to RPC_NOTE_BYTES; NULL: not observed */
};
#define RPC_NOTE_BYTES 128

struct rpc_result {
    int r; /* 0 or -ERR_* of code */
    enum rpc_code code;
    bool is_own;             /* of a failure: the code is this client's, the peer has sent none */
    bool is_unsent;          /* of an own failure: the peer has not received the request */
    struct str message;      /* the answer of a call without on_message; else empty */
    const char *words;       /* the peer's status message, complete; err has what fits */
    const struct error *err; /* as of r */
};

struct rpc_session;

/* Embedded by its owner, zeroed before its first use; must not be moved until done or cancelled. */
struct rpc_call {
    /* Called once, on the loop, never from within rpc_call_start(). May free the call or start it again.
     * result is valid until it returns. */
    void (*done)(struct rpc_call *c, const struct rpc_result *result);
    /* For a streaming answer: called for each message, in order, before done. May cancel or hold the call.
     * NULL: the answer is one message, and part of the result. */
    void (*on_message)(struct rpc_call *c, struct str message);

    /* Private to rpc/. */
    struct rpc_client *client;   /* NULL: not started */
    struct rpc_session *session; /* NULL: its end is to be reported */
    TAILQ_ENTRY(rpc_call) link;  /* in the session's calls */
    TAILQ_ENTRY(rpc_call) event; /* in the calls with something to report */
    bool has_event;
    bool is_held;
    bool is_closed; /* by the peer, by the end of the connection, by the deadline */
    bool is_retried;
    bool has_own_status; /* by rpc_call_fail() */
    int32_t stream;
    uint32_t reset; /* error code of the peer's RST_STREAM; 0: none */
    struct arena arena;
    const char *socket;
    const char *method;
    struct rpc_metadata *metadata;
    size_t metadata_count;
    size_t answer_bytes_max;
    uint64_t limit_ns;
    struct timer limit;
    struct buf out; /* prefix and message */
    size_t sent;
    struct buf in;         /* prefixes and messages, as received */
    size_t unacknowledged; /* bytes of `in` that the stream's window does not include yet */
    size_t headers_bytes;
    uint64_t http_status;
    uint64_t status; /* UINT64_MAX until it is received */
    struct buf words;
};

/* done is called unless this fails. ERR_TOO_LARGE: the message is larger than RPC_MESSAGE_BYTES_MAX.
 * ERR_UNAVAILABLE: too many calls or sessions; nothing was sent. */
int rpc_call_start(struct rpc_client *client, const struct rpc_request *q, struct rpc_call *c,
                   struct error *err);
/* Ends the call without a callback; the peer is asked to stop. Also for a call that is not started. */
void rpc_call_cancel(struct rpc_call *c);

/* Back-pressure of a streaming answer: on_message is not called until the call is resumed, and the peer can
 * send at most one window more. */
void rpc_call_hold(struct rpc_call *c);
void rpc_call_resume(struct rpc_call *c);

static inline bool rpc_call_is_active(const struct rpc_call *c)
{
    return c->client != NULL;
}

/* --- Watched sessions: on the loop --- */

/* Keeps the session to a socket open, and reports its end: a restarted peer is noticed without a call. An
 * idle session costs no wake-up. Embedded by its owner, zeroed before its first use; must not be moved until
 * it has ended. */
struct rpc_watch {
    /* Called once, on the loop, never from within rpc_watch_start(): the session could not be opened, has
     * ended, or takes no more calls. May start the watch again or free its owner. */
    void (*ended)(struct rpc_watch *w, const char *why);

    /* Private to rpc/. */
    struct rpc_client *client;   /* NULL: not started */
    struct rpc_session *session; /* NULL: its end is to be reported */
    TAILQ_ENTRY(rpc_watch) link; /* in the session's watches */
    struct deferred end;
    struct error why;
};

/* ended is called unless this fails. ERR_UNAVAILABLE: too many sessions. */
int rpc_watch_start(struct rpc_client *client, const char *socket, struct rpc_watch *w, struct error *err);
/* Without a callback. Also for a watch that is not started. */
void rpc_watch_stop(struct rpc_watch *w);

static inline bool rpc_watch_is_active(const struct rpc_watch *w)
{
    return w->client != NULL;
}

/* --- Calls: on a worker --- */

/* Makes one call and waits for its answer. Never on the loop thread: the loop makes the call, the worker
 * sleeps. Its limit is real time, whatever the loop's clock. stop: any value but 0 ends the wait as
 * cancelled, within RPC_STOP_POLL_MS; NULL for none. The answer replaces the contents of *ret, an initialised
 * buffer whose limit becomes RPC_MESSAGE_BYTES_MAX. ret_code is always set; RPC_UNAVAILABLE for a call that
 * was not made. */
#define RPC_STOP_POLL_MS 20
/* A call of a worker has ended. */
struct rpc_observed {
    const char *note;
    const char *method;
    enum rpc_code code;
    uint64_t duration_ns;
};
/* On the loop, for each call of rpc_wait() with a note that was handed to the loop. NULL: no observer. */
void rpc_client_observe(struct rpc_client *client, void (*fn)(void *ctx, const struct rpc_observed *o),
                        void *ctx);
int rpc_wait(struct rpc_client *client, const struct rpc_request *q, const atomic_int *stop, struct buf *ret,
             enum rpc_code *ret_code, struct error *err);

#endif
