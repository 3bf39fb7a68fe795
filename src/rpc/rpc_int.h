/* What the files of the client share. h2.c is a session's HTTP/2, which knows bytes but no socket; session.c
 * is its socket; client.c finds sessions for calls and reports what comes of them; wait.c is for workers.
 *
 * A call is in at most one of three places: among the calls of its session, with a stream; among those with
 * an event to report; or both, while its answer streams. Callbacks of owners run from client_on_deliver()
 * only, never from within nghttp2. */
#ifndef BERTH_RPC_RPC_INT_H
#define BERTH_RPC_RPC_INT_H

#include <nghttp2/nghttp2.h>
#include <pthread.h>

#include "io/poll.h"
#include "io/socket.h"
#include "io/wakeup.h"
#include "rpc/rpc.h"

#define RPC_WORDS_CLOSED "the connection was closed before an answer came"
#define RPC_WORDS_TOO_LARGE "received message larger than max"

TAILQ_HEAD(rpc_calls, rpc_call);
TAILQ_HEAD(rpc_sessions, rpc_session);
TAILQ_HEAD(rpc_waiters, rpc_waiter);

struct rpc_session {
    struct rpc_client *client;
    TAILQ_ENTRY(rpc_session) link;
    nghttp2_session *h2;
    struct rpc_calls calls;
    size_t calls_count;
    bool takes_calls;  /* false: ends with its last call */
    bool cannot_write; /* the peer has closed; what it sent before is still read */
    bool is_dead;      /* no calls; freed by rpc_session_settle() */

    struct socket_id id;
    int fd; /* -1: not connected yet */
    struct fd_watch *watch;
    bool wants_room;
    struct buf out; /* taken from nghttp2, not yet by the socket */
    struct deferred flush;
    struct timer timer; /* the next try to connect; the end of an idle session */
    char path[];
};

struct rpc_client {
    struct loop *loop;
    struct rpc_sessions sessions;
    size_t sessions_count;
    struct rpc_calls events;
    size_t events_count;
    struct deferred deliver;
    struct rpc_call *current; /* whose owner is being called; NULL once it has cancelled it */
    size_t held_bytes;        /* of all calls' `in` */
    struct rpc_waiters waiting;

    pthread_mutex_t lock; /* guards the rest, and each waiter's */
    struct wakeup *wakeup;
    struct rpc_waiters handed; /* by workers: to begin, or to give up */
    bool is_closed;
};

/* --- Calls (call.c) --- */

/* Copies q into c. */
int rpc_call_prepare(struct rpc_call *c, const struct rpc_request *q, struct error *err);
/* Ready to be sent, again or for the first time. */
void rpc_call_rewind(struct rpc_call *c);
void rpc_call_release(struct rpc_call *c);
/* Its end, with a code and words of our own. */
void rpc_call_fail(struct rpc_call *c, enum rpc_code code, const char *words);
/* What became of a call that is over. Pure. err: the result's. */
struct rpc_result rpc_call_result(const struct rpc_call *c, struct error *err);
/* Takes the first n bytes off `in`. */
void rpc_call_drop_input(struct rpc_call *c, size_t n);

/* --- HTTP/2 (h2.c) --- */

int rpc_h2_open(struct rpc_session *s, struct error *err);
/* True when c has a stream of s from now on. */
bool rpc_h2_submit(struct rpc_session *s, struct rpc_call *c);
/* c leaves s; the peer is told to stop. */
void rpc_h2_reset(struct rpc_call *c);
/* c leaves s, and is over: its stream is gone. why: NGHTTP2_*, REFUSED_STREAM for one that the peer has not
 * seen. */
void rpc_h2_close(struct rpc_call *c, uint32_t why);
/* Gives the peer its window back. */
void rpc_h2_acknowledge(struct rpc_call *c);
/* NULL, or why the session is over. */
const char *rpc_h2_feed(struct rpc_session *s, struct str bytes);
const char *rpc_h2_fill(struct rpc_session *s, struct buf *out, size_t bytes);
/* True when the session has nothing to say and listens no more. */
bool rpc_h2_is_over(const struct rpc_session *s);

/* What a call would make of a peer that sends these bytes and no more. Pure; for tests. */
int rpc_read(struct str sent, struct buf *ret, struct error *err);

/* --- Sessions (session.c) --- */

/* Without a connection yet. */
int rpc_session_open(struct rpc_client *x, const char *path, const struct socket_id *id,
                     struct rpc_session **ret, struct error *err);
struct rpc_session *rpc_session_free(struct rpc_session *s);
/* Once it has a call, which hears of a failure. */
void rpc_session_connect(struct rpc_session *s);
/* Takes in what has arrived; rpc_session_settle() follows. */
void rpc_session_read(struct rpc_session *s);
/* Sends in a later step of the turn. */
void rpc_session_flush_later(struct rpc_session *s);
/* Frees it when it is of no more use. True: it is still there. */
bool rpc_session_settle(struct rpc_session *s);

/* --- The client (client.c) --- */

/* Something happened to c: its owner hears of it in a later step of the turn. */
void rpc_client_add_event(struct rpc_client *x, struct rpc_call *c);
/* c is prepared. Fails as rpc_call_start(); what fails later is reported. */
int rpc_client_begin(struct rpc_client *x, struct rpc_call *c, struct error *err);

/* --- Workers (wait.c) --- */

void rpc_wait_on_handed(void *ctx);
/* All of them end as cancelled, now and from here on. */
void rpc_wait_close(struct rpc_client *x);

#endif
