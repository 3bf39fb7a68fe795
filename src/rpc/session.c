/* The socket of a session: connecting, reading, writing, closing.
 *
 * Invariant: a session is freed only by rpc_session_settle() (and with its client), which every callback of
 * the loop calls last; so no code below nghttp2 or an owner's callback uses a freed session. */
#include "rpc/rpc_int.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "io/file.h"

#define READ_BYTES 32768
#define READS_MAX 8 /* per turn */
#define OUT_BYTES 65536
#define OUT_BYTES_MAX ((size_t)1 << 20)
#define CONNECT_RETRY_NS (10 * NS_PER_MS)

/* Ends all calls: those that the peer cannot have received completely are sent again by client_on_deliver().
 */
static void rpc_session_fail(struct rpc_session *s, const char *words)
{
    struct rpc_call *c;

    s->is_dead = true;
    s->takes_calls = false;
    while ((c = TAILQ_FIRST(&s->calls))) {
        if (s->fd < 0 || c->sent == c->out.len)
            rpc_call_fail(c, RPC_UNAVAILABLE, words);
        rpc_h2_close(c, NGHTTP2_REFUSED_STREAM);
    }
    rpc_watches_end(s, words);
}

/* --- Reading and writing --- */

void rpc_session_read(struct rpc_session *s)
{
    uint8_t data[READ_BYTES];

    for (unsigned i = 0; i < READS_MAX && !s->is_dead && s->fd >= 0; i++) {
        ssize_t n = socket_read(s->fd, data, sizeof data);
        const char *wrong;

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0) {
            rpc_session_fail(s, RPC_WORDS_CLOSED);
            return;
        }
        wrong = rpc_h2_feed(s, (struct str){ (const char *)data, (size_t)n });
        if (wrong)
            rpc_session_fail(s, wrong);
        if ((size_t)n < sizeof data)
            return;
    }
}

/* Writes pending bytes. A peer that has closed may have answered before: its answer is read first. */
static void rpc_session_write(struct rpc_session *s)
{
    while (!s->is_dead && !s->cannot_write) {
        const char *wrong = rpc_h2_fill(s, &s->out, OUT_BYTES);
        ssize_t n;

        if (wrong)
            rpc_session_fail(s, wrong);
        if (wrong || s->out.len == 0)
            return;
        n = socket_write(s->fd, s->out.data, s->out.len);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n < 0) {
            s->cannot_write = true;
            s->takes_calls = false;
            rpc_session_read(s);
            return;
        }
        memmove(s->out.data, s->out.data + n, s->out.len - (size_t)n);
        buf_cut(&s->out, s->out.len - (size_t)n);
    }
}

static void rpc_session_flush(struct rpc_session *s)
{
    struct error ignored = { 0 };
    bool wants_room;

    if (s->is_dead || s->fd < 0)
        return;
    rpc_session_write(s);
    if (s->is_dead)
        return;
    if (s->out.len == 0 && rpc_h2_is_over(s)) {
        rpc_session_fail(s, "the peer does not speak HTTP/2");
        return;
    }
    wants_room = s->out.len > 0 && !s->cannot_write;
    if (wants_room != s->wants_room &&
        fd_watch_update(s->watch, wants_room ? FD_READ | FD_WRITE : FD_READ, &ignored) == 0)
        s->wants_room = wants_room;
}

/* --- Callbacks of the loop --- */

static void rpc_session_on_flush(void *ctx)
{
    struct rpc_session *s = ctx;

    rpc_session_flush(s);
    (void)rpc_session_settle(s);
}

void rpc_session_flush_later(struct rpc_session *s)
{
    if (s->client)
        loop_defer(&s->flush);
}

static void rpc_session_on_fd(void *ctx, unsigned events)
{
    struct rpc_session *s = ctx;

    if (events & (FD_READ | FD_ERROR))
        rpc_session_read(s);
    if (events & FD_ERROR)
        rpc_session_fail(s, RPC_WORDS_CLOSED);
    rpc_session_flush(s);
    (void)rpc_session_settle(s);
}

/* When the peer's queue of connections is full there is no event for free space: retries by timer. */
void rpc_session_connect(struct rpc_session *s)
{
    struct error err = { 0 };
    int r = socket_connect_unix(s->path, &s->fd, &err);

    if (r == -ERR_BUSY) {
        timer_arm_after(&s->timer, CONNECT_RETRY_NS);
        return;
    }
    if (r == 0)
        r = fd_watch_start(s->client->loop, s->fd, FD_READ, rpc_session_on_fd, s, &s->watch, &err);
    if (r < 0) {
        fd_closep(&s->fd);
        s->fd = -1;
        rpc_session_fail(s, err.msg);
    }
    rpc_session_flush_later(s);
}

static void rpc_session_on_timer(void *ctx)
{
    struct rpc_session *s = ctx;

    if (s->fd < 0)
        rpc_session_connect(s);
    else
        s->takes_calls = false; /* idle for long enough */
    (void)rpc_session_settle(s);
}

/* --- Life --- */

bool rpc_session_settle(struct rpc_session *s)
{
    if (!s->takes_calls)
        rpc_watches_end(s, "the session takes no more calls");
    if (s->calls_count == 0 && TAILQ_EMPTY(&s->watches) && (s->is_dead || !s->takes_calls || s->fd < 0)) {
        (void)rpc_session_free(s);
        return false;
    }
    if (s->fd >= 0 && (s->calls_count > 0 || !TAILQ_EMPTY(&s->watches)))
        timer_disarm(&s->timer);
    else if (s->fd >= 0 && !timer_is_armed(&s->timer))
        timer_arm_after(&s->timer, RPC_IDLE_NS);
    return true;
}

int rpc_session_open(struct rpc_client *client, const char *path, const struct socket_id *id,
                     struct rpc_session **ret, struct error *err)
{
    size_t len = strlen(path) + 1;
    struct rpc_session *s = calloc(1, sizeof *s + len);
    int r;

    if (!s)
        return error_no_memory(err);
    memcpy(s->path, path, len);
    s->client = client;
    s->id = *id;
    s->fd = -1;
    s->out = BUF_INIT(OUT_BYTES_MAX);
    deferred_init(&s->flush, client->loop, rpc_session_on_flush, s);
    timer_init(&s->timer, client->loop, rpc_session_on_timer, s);
    TAILQ_INIT(&s->watches);
    TAILQ_INSERT_TAIL(&client->sessions, s, link);
    client->sessions_count++;
    r = rpc_h2_open(s, err);
    if (r < 0) {
        (void)rpc_session_free(s);
        return r;
    }
    *ret = s;
    return 0;
}

struct rpc_session *rpc_session_free(struct rpc_session *s)
{
    assert(s->calls_count == 0 && TAILQ_EMPTY(&s->watches));
    TAILQ_REMOVE(&s->client->sessions, s, link);
    s->client->sessions_count--;
    loop_undefer(&s->flush);
    timer_disarm(&s->timer);
    nghttp2_session_del(s->h2);
    s->watch = fd_watch_stop(s->watch);
    fd_closep(&s->fd);
    buf_done(&s->out);
    free(s);
    return NULL;
}
