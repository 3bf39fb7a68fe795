/* Connections: their peers, deadlines, limits and streams.
 *
 * Deadlines. The library limits inactivity only, so that a client that sends one byte per minute is never
 * disconnected. Here each request has a deadline by which it must be complete: the first one stranger_ms_max
 * after the connection began, others request_ms_max after their request line, and idle_ms_max after the last
 * answer. Every request sets and clears the deadline, so the timer is moved only when it would fire too late;
 * when it fires too early it is armed again.
 *
 * Strangers. A client is a stranger until an answer says that it is authenticated. Strangers have a limited
 * share of the connections. A new connection is always accepted: above the limit the oldest stranger without
 * a pending answer is disconnected.
 *
 * Ending. The library has no call for it, but notices a socket that has been shut down, whatever its state; a
 * suspended connection is resumed for it.
 *
 * Streams. The library pulls when the socket accepts more. When there is nothing to send, the connection is
 * suspended until wake(); since a suspended connection is not read, its descriptor is watched for a
 * disconnect. */
#include "http/http_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "http/tls.h"

/* The library's buffer for HTTP/1.0 clients, which do not support chunks. */
#define HTTP_STREAM_BLOCK_BYTES 1024
#define HTTP_DOCUMENT_BLOCK_BYTES 16384
/* How many times progress is checked within the time that a client may read nothing. */
#define HTTP_UNREAD_CHECKS 3

struct http_stream {
    struct stream *stream;
    struct http_conn *conn;
    struct fd_watch *watch; /* from the first suspension on */
    bool is_woken;          /* since the last pull began */
};

static void http_conn_check_deadline(void *ctx)
{
    struct http_conn *c = ctx;

    if (loop_now_ns(c->http->loop) >= c->deadline_ns)
        http_conn_end(c);
    else if (c->deadline_ns != UINT64_MAX)
        timer_arm(&c->alarm, c->deadline_ns);
}

void http_conn_set_deadline(struct http_conn *c, uint64_t ms)
{
    if (ms == UINT64_MAX) {
        c->deadline_ns = UINT64_MAX; /* the alarm may fire once without effect */
        return;
    }
    c->deadline_ns = loop_now_ns(c->http->loop) + ms * NS_PER_MS;
    if (!timer_is_armed(&c->alarm) || c->alarm.node.at_ns > c->deadline_ns)
        timer_arm(&c->alarm, c->deadline_ns);
}

/* Replaces the identity that the library has set for the session. False when the connection cannot be served:
 * continuing with the old certificate would cause failures that are hard to diagnose. */
static bool conn_use_identity(struct http_conn *c)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c->mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);

    if (!c->http->identity)
        return true;
    if (!info || !tls_identity_use(c->http->identity, info->tls_session))
        return false;
    c->identity = tls_identity_ref(c->http->identity);
    tls_entry_use(&c->entry, c->fd, info->tls_session);
    return true;
}

static struct http_conn *http_conn_new(struct http *h, struct MHD_Connection *mhd)
{
    struct http_conn *c = calloc(1, sizeof *c);

    if (!c)
        return NULL;
    c->http = h;
    c->mhd = mhd;
    c->fd = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    if (!conn_use_identity(c)) {
        free(c);
        return NULL;
    }
    timer_init(&c->alarm, h->loop, http_conn_check_deadline, c);
    TAILQ_INSERT_TAIL(&h->conns, c, link);
    h->conns_count++;
    c->is_stranger = true;
    TAILQ_INSERT_TAIL(&h->strangers, c, stranger);
    h->strangers_count++;
    http_conn_set_deadline(c, h->stranger_ms_max);
    if (h->strangers_count > h->strangers_max)
        loop_defer(&h->enforce_limits); /* must not run inside the library */
    return c;
}

static void http_conn_leave_strangers(struct http_conn *c)
{
    if (!c->is_stranger)
        return;
    c->is_stranger = false;
    TAILQ_REMOVE(&c->http->strangers, c, stranger);
    c->http->strangers_count--;
}

void http_conn_trust(struct http_conn *c)
{
    const struct http *h = c->http;

    if (h->conns_count - h->strangers_count < h->known_max)
        http_conn_leave_strangers(c);
}

static void http_conn_free(struct http_conn *c)
{
    if (!c)
        return;
    if (c->exchange)
        http_exchange_detach(c); /* the library does not report this when it is out of memory */
    timer_disarm(&c->alarm);
    http_conn_hold(c, 0);
    http_conn_leave_strangers(c);
    TAILQ_REMOVE(&c->http->conns, c, link);
    c->http->conns_count--;
    loop_defer(&c->http->run); /* at its limits the library stops listening, and resumes in its next run */
    (void)peer_free(c->peer);
    (void)tls_identity_unref(c->identity);
    free(c);
}

void http_on_connection(void *ctx, struct MHD_Connection *mhd, void **socket_ctx,
                        enum MHD_ConnectionNotificationCode code)
{
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        *socket_ctx = http_conn_new(ctx, mhd); /* NULL: its first request ends the connection */
    } else {
        http_conn_free(*socket_ctx);
        *socket_ctx = NULL;
    }
}

struct http_conn *http_conn_of(struct MHD_Connection *mhd)
{
    return MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

void http_conn_identify_peer(struct http_conn *c)
{
    const union MHD_ConnectionInfo *info;
    struct error err;

    if (c->is_identified)
        return;
    c->is_identified = true;
    info = MHD_get_connection_info(c->mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    if (info && tls_peer(info->tls_session, &c->peer, &err) < 0)
        c->peer_is_invalid = true;
    (void)socket_local_ip(c->fd, &c->local_ip); /* on failure the address stays unspecified (::) */
}

void http_conn_suspend(struct http_conn *c)
{
    assert(!c->is_suspended);
    MHD_suspend_connection(c->mhd);
    c->is_suspended = true;
}

void http_conn_resume(struct http_conn *c)
{
    assert(c->is_suspended);
    MHD_resume_connection(c->mhd);
    c->is_suspended = false;
    loop_defer(&c->http->run);
}

/* With the handler, or queued: the headers must stay until the answer. */
static bool has_request(const struct http_conn *c)
{
    return c->exchange && !c->exchange->is_answered;
}

static void http_conn_was_ended(struct http_conn *c)
{
    c->is_ended = true;
    http_conn_hold(c, 0); /* released as soon as the library processes it */
    http_conn_leave_strangers(c);
    /* After some bad requests the library no longer polls the socket; but it does check the timeout. */
    (void)MHD_set_connection_option(c->mhd, MHD_CONNECTION_OPTION_TIMEOUT, 1U);
    loop_defer(&c->http->run);
    if (c->is_suspended && !has_request(c))
        http_conn_resume(c);
}

void http_conn_end(struct http_conn *c)
{
    socket_end(c->fd);
    http_conn_was_ended(c);
}

/* Answers that their clients have not read */

#define TAKEN_UNKNOWN UINT64_MAX

static uint64_t http_look_ns(const struct http *h)
{
    return h->unread_ms_max * NS_PER_MS / HTTP_UNREAD_CHECKS;
}

void http_conn_hold(struct http_conn *c, size_t bytes)
{
    struct http *h = c->http;

    if (c->held_bytes)
        TAILQ_REMOVE(&h->holders, c, holding);
    else
        c->acked_bytes = TAKEN_UNKNOWN;
    h->held_bytes += bytes - c->held_bytes;
    c->held_bytes = bytes;
    if (!bytes)
        return;
    c->progress_ns = loop_now_ns(h->loop);
    TAILQ_INSERT_TAIL(&h->holders, c, holding);
    if (!timer_is_armed(&h->stalled))
        timer_arm(&h->stalled, c->progress_ns + http_look_ns(h));
    if (h->held_bytes > h->held_bytes_max)
        loop_defer(&h->enforce_limits); /* must not run inside the library */
}

/* Discards what the client has not read: the kernel's buffers are memory too. */
static void http_conn_abort(struct http_conn *c)
{
    socket_abort(c->fd);
    http_conn_was_ended(c);
}

/* Whether the client has read something since the last call. True for the first call, so that an answer that
 * has just begun is not ended instead of one that is not read at all. Streams record a pull; for other
 * answers only the kernel knows. */
static bool http_conn_has_progress(struct http_conn *c)
{
    uint64_t taken = socket_acked_bytes(c->fd);

    if (taken == c->acked_bytes)
        return false;
    c->acked_bytes = taken;
    http_conn_hold(c, c->held_bytes);
    return true;
}

/* The list is ordered by progress: all entries after the first recent one are more recent. */
void http_on_stalled(void *ctx)
{
    struct http *h = ctx;
    uint64_t now_ns = loop_now_ns(h->loop);
    struct http_conn *c, *next;

    for (c = TAILQ_FIRST(&h->holders); c && c->progress_ns + http_look_ns(h) <= now_ns; c = next) {
        next = TAILQ_NEXT(c, holding);
        if (!http_conn_has_progress(c) && c->progress_ns + h->unread_ms_max * NS_PER_MS <= now_ns)
            http_conn_abort(c);
    }
    if (!TAILQ_EMPTY(&h->holders))
        timer_arm(&h->stalled, now_ns + http_look_ns(h));
}

/* Its request is complete and not answered yet. */
static bool is_being_served(const struct http_conn *c)
{
    return has_request(c) && (c->exchange->is_served || c->exchange->turn.flow);
}

/* Ends the oldest strangers, except those whose request is being served: these end with their answer. */
static void http_end_strangers(struct http *h)
{
    struct http_conn *c, *next;

    for (c = TAILQ_FIRST(&h->strangers); c && h->strangers_count > h->strangers_max; c = next) {
        next = TAILQ_NEXT(c, stranger);
        if (!is_being_served(c))
            http_conn_end(c);
    }
}

void http_on_too_much(void *ctx)
{
    struct http *h = ctx;

    http_end_strangers(h);
    while (h->held_bytes > h->held_bytes_max) {
        struct http_conn *c = TAILQ_FIRST(&h->holders);

        if (!http_conn_has_progress(c))
            http_conn_abort(c);
    }
}

/* Streams */

static void stream_on_event(void *ctx, unsigned events)
{
    struct http_stream *s = ctx;

    (void)events; /* any event means that waiting is useless */
    s->watch = fd_watch_stop(s->watch);
    http_conn_end(s->conn);
}

static void stream_wake(struct stream *stream)
{
    struct http_stream *s = stream->carrier;

    s->is_woken = true;
    if (s->conn->is_suspended)
        http_conn_resume(s->conn);
}

static void stream_cut(struct stream *stream)
{
    struct http_stream *s = stream->carrier;

    http_conn_abort(s->conn);
}

/* Called by the library for more data. */
static ssize_t stream_read(void *ctx, uint64_t at, char *to, size_t room)
{
    struct http_stream *s = ctx;
    struct http_conn *c = s->conn;
    struct error err;
    ssize_t n;

    (void)at;
    if (c->is_ended)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    s->is_woken = false;
    n = s->stream->pull(s->stream, to, room);
    http_conn_hold(c, n != STREAM_END && s->stream->held ? s->stream->held(s->stream) : 0);
    if (n > 0)
        return n;
    if (n < 0)
        return n == STREAM_END ? MHD_CONTENT_READER_END_OF_STREAM : MHD_CONTENT_READER_END_WITH_ERROR;
    if (s->is_woken)
        return 0; /* woken during the pull: the library asks again in its next run */
    if (!s->watch &&
        fd_watch_start(c->http->loop, c->fd, FD_DISCONNECT, stream_on_event, s, &s->watch, &err) < 0)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    http_conn_suspend(c);
    return 0;
}

/* Called by the library at the end of the answer or of the connection. */
static void stream_release(void *ctx)
{
    struct http_stream *s = ctx;

    (void)fd_watch_stop(s->watch);
    s->stream->close(s->stream);
    free(s);
}

struct MHD_Response *http_stream_response(struct http_conn *c, struct stream *stream)
{
    struct http_stream *s = calloc(1, sizeof *s);
    size_t block_bytes = stream->is_document ? HTTP_DOCUMENT_BLOCK_BYTES : HTTP_STREAM_BLOCK_BYTES;
    struct MHD_Response *response = NULL;

    if (s) {
        *s = (struct http_stream){ .stream = stream, .conn = c };
        stream->carrier = s;
        stream->wake = stream_wake;
        stream->cut = stream_cut;
        response =
            MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, block_bytes, stream_read, s, stream_release);
    }
    if (!response) {
        free(s);
        stream->close(stream);
    }
    return response;
}
