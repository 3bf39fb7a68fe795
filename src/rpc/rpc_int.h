/* Shared by the files of the client. h2.c is a session's HTTP/2, which handles bytes but no socket; session.c
 * is its socket; rpc_client.c finds sessions for calls and reports results; session_watch.c reports the ends
 * of sessions; wait.c is for workers.
 *
 * A call is in at most one of three places: in the list of its session, with a stream; in the list of calls
 * with an event to report; or both, while its answer streams. Callbacks of owners run from
 * client_on_deliver() only, never from within nghttp2. */
#ifndef BERTH_RPC_RPC_INT_H
#define BERTH_RPC_RPC_INT_H

#include <nghttp2/nghttp2.h>
#include <pthread.h>

#include "io/poll.h"
#include "io/socket.h"
#include "io/wakeup.h"
#include "rpc/rpc.h"

#define RPC_WORDS_CLOSED "the connection was closed before an answer was received"
#define RPC_WORDS_TOO_LARGE "received message larger than max"

TAILQ_HEAD(rpc_calls, rpc_call);
TAILQ_HEAD(rpc_sessions, rpc_session);
TAILQ_HEAD(rpc_waiters, rpc_waiter);
TAILQ_HEAD(rpc_watches, rpc_watch);

struct rpc_session {
    struct rpc_client *client;
    TAILQ_ENTRY(rpc_session) link;
    nghttp2_session *h2;
    struct rpc_calls calls;
    size_t calls_count;
    struct rpc_watches watches;
    bool takes_calls;  /* false: it ends with its last call */
    bool cannot_write; /* the peer has closed; what it sent before is still read */
    bool is_dead;      /* no calls; freed by rpc_session_settle() */

    struct socket_id id;
    int fd; /* -1: not connected yet */
    struct fd_watch *watch;
    bool wants_room;
    struct buf out; /* taken from nghttp2, not written to the socket yet */
    struct deferred flush;
    struct timer timer; /* the next attempt to connect, or the end of an idle session */
    char path[];
};

struct rpc_client {
    struct loop *loop;
    struct rpc_sessions sessions;
    size_t sessions_count;
    struct rpc_calls events;
    size_t events_count;
    struct deferred deliver;
    struct rpc_call *current; /* whose owner is being called; NULL after the owner has cancelled it */
    size_t held_bytes;        /* of `in` of all calls */
    struct rpc_waiters waiting;
    void (*observe)(void *ctx, const struct rpc_observed *o);
    void *observe_ctx;

    pthread_mutex_t lock; /* guards the rest, and the state of each waiter */
    struct wakeup *wakeup;
    struct rpc_waiters submitted; /* from workers: to be started, or abandoned */
    bool is_closed;
};

/* --- Calls (rpc_call.c) --- */

/* Copies q into c. */
int rpc_call_prepare(struct rpc_call *c, const struct rpc_request *q, struct error *err);
/* Prepares it to be sent, for the first time or again. */
void rpc_call_rewind(struct rpc_call *c);
void rpc_call_release(struct rpc_call *c);
/* Ends it with a code and a message of our own. */
void rpc_call_fail(struct rpc_call *c, enum rpc_code code, const char *words);
/* The result of a call that has ended. Pure. err: the result's. */
struct rpc_result rpc_call_result(const struct rpc_call *c, struct error *err);
/* Removes the first n bytes of `in`. */
void rpc_call_drop_input(struct rpc_call *c, size_t n);

/* --- HTTP/2 (h2.c) --- */

int rpc_h2_open(struct rpc_session *s, struct error *err);
/* True when c has a stream of s now. */
bool rpc_h2_submit(struct rpc_session *s, struct rpc_call *c);
/* Removes c from s and resets its stream. */
void rpc_h2_reset(struct rpc_call *c);
/* Removes c from s after its stream was closed. why: NGHTTP2_*; REFUSED_STREAM for one that the peer has not
 * processed. */
void rpc_h2_close(struct rpc_call *c, uint32_t why);
/* Updates the stream's window. */
void rpc_h2_acknowledge(struct rpc_call *c);
/* NULL, or why the session must end. */
const char *rpc_h2_feed(struct rpc_session *s, struct str bytes);
const char *rpc_h2_fill(struct rpc_session *s, struct buf *out, size_t bytes);
/* True when the session neither reads nor writes any more. */
bool rpc_h2_is_over(const struct rpc_session *s);

/* The result of a call whose peer sends these bytes and no more. Pure; for tests. */
int rpc_read(struct str sent, struct buf *ret, struct error *err);

/* --- Sessions (session.c) --- */

/* Not connected yet. */
int rpc_session_open(struct rpc_client *client, const char *path, const struct socket_id *id,
                     struct rpc_session **ret, struct error *err);
struct rpc_session *rpc_session_free(struct rpc_session *s);
/* Call it when the session has a call or a watch, which receives a failure. */
void rpc_session_connect(struct rpc_session *s);
/* Reads what has arrived; call rpc_session_settle() afterwards. */
void rpc_session_read(struct rpc_session *s);
/* Sends in a later step of the turn. */
void rpc_session_flush_later(struct rpc_session *s);
/* Frees it when it is no longer used. True: it still exists. */
bool rpc_session_settle(struct rpc_session *s);

/* --- Watches of sessions (session_watch.c) --- */

/* Ends all watches of a session; reported to their owners in a later step of the turn. */
void rpc_watches_end(struct rpc_session *s, const char *why);

/* --- The client (rpc_client.c) --- */

/* The session to the socket that is at the path now, opened if there is none. ERR_UNAVAILABLE: too many. */
int rpc_client_session(struct rpc_client *client, const char *path, struct rpc_session **ret,
                       struct error *err);
/* s has a new call or watch: connects it, or sends. */
void rpc_client_begin_session(struct rpc_session *s);

/* Something happened to c: reports it to the owner in a later step of the turn. */
void rpc_client_add_event(struct rpc_client *client, struct rpc_call *c);
/* c is prepared. Fails like rpc_call_start(); later failures are reported. */
int rpc_client_begin(struct rpc_client *client, struct rpc_call *c, struct error *err);

/* --- Workers (wait.c) --- */

void rpc_wait_on_handed(void *ctx);
/* Ends all waiting calls as cancelled, now and later. */
void rpc_wait_close(struct rpc_client *client);

#endif
