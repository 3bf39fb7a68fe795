/* libcurl's multi interface on the loop: libcurl requests watches of sockets and a timer.
 *
 * libcurl must not be called from inside its own callbacks, so these only record; on_moved() is called
 * afterwards, when everything is allowed. Costs are libcurl's: constant per event on a socket. */
#include "client/client_http_int.h"

#include <assert.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "io/poll.h"

struct http_socket {
    TAILQ_ENTRY(http_socket) link;
    struct http_multi *multi;
    curl_socket_t fd;
    struct fd_watch *watch;
};

static void multi_act(struct http_multi *m, curl_socket_t fd, int events)
{
    int running;

    /* Fails only when out of memory; the affected transfers end with an error. */
    (void)curl_multi_socket_action(m->curl, fd, events, &running);
    m->on_moved(m->ctx, m);
}

static void socket_on_event(void *ctx, unsigned events)
{
    const struct http_socket *s = ctx;
    int seen = 0;

    seen |= events & FD_READ ? CURL_CSELECT_IN : 0;
    seen |= events & FD_WRITE ? CURL_CSELECT_OUT : 0;
    seen |= events & FD_ERROR ? CURL_CSELECT_IN | CURL_CSELECT_OUT | CURL_CSELECT_ERR : 0;
    multi_act(s->multi, s->fd, seen);
}

static void socket_free(struct http_socket *s)
{
    if (!s)
        return;
    s->watch = fd_watch_stop(s->watch);
    TAILQ_REMOVE(&s->multi->sockets, s, link);
    free(s);
}

static int socket_new(struct http_multi *m, curl_socket_t fd, struct http_socket **ret, struct error *err)
{
    struct http_socket *s = calloc(1, sizeof *s);

    if (!s)
        return error_no_memory(err);
    s->multi = m;
    s->fd = fd;
    TAILQ_INSERT_TAIL(&m->sockets, s, link);
    (void)curl_multi_assign(m->curl, fd, s); /* cannot fail: libcurl has just passed the socket */
    *ret = s;
    return 0;
}

static int multi_watch(struct http_multi *m, curl_socket_t fd, int what, struct http_socket *s,
                       struct error *err)
{
    unsigned events = 0;
    int r = s ? 0 : socket_new(m, fd, &s, err);

    if (r < 0)
        return r;
    events |= what & CURL_POLL_IN ? FD_READ : 0;
    events |= what & CURL_POLL_OUT ? FD_WRITE : 0;
    assert(events);
    return s->watch ? fd_watch_update(s->watch, events, err)
                    : fd_watch_start(m->loop, fd, events, socket_on_event, s, &s->watch, err);
}

/* libcurl would end all transfers, also later ones, on a failure here. Only this one must end. */
static int multi_on_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *socket)
{
    struct http_multi *m = ctx;
    struct error err;

    if (what == CURL_POLL_REMOVE) {
        socket_free(socket);
        (void)curl_multi_assign(m->curl, fd, NULL);
    } else if (multi_watch(m, fd, what, socket, &err) < 0) {
        m->on_stuck(m->ctx, easy, &err);
    }
    return 0;
}

static void multi_on_timer(void *ctx)
{
    multi_act(ctx, CURL_SOCKET_TIMEOUT, 0);
}

static int multi_set_timer(CURLM *curl, long timeout_ms, void *ctx)
{
    struct http_multi *m = ctx;

    (void)curl;
    if (timeout_ms < 0)
        timer_disarm(&m->timer);
    else
        timer_arm_after(&m->timer, (uint64_t)timeout_ms * NS_PER_MS);
    return 0;
}

int http_multi_init(struct http_multi *m, long connections_max, struct error *err)
{
    bool ok = true;

    TAILQ_INIT(&m->sockets);
    timer_init(&m->timer, m->loop, multi_on_timer, m);
    m->curl = curl_multi_init();
    if (!m->curl)
        return error_no_memory(err);
    ok &= curl_multi_setopt(m->curl, CURLMOPT_SOCKETFUNCTION, multi_on_socket) == CURLM_OK;
    ok &= curl_multi_setopt(m->curl, CURLMOPT_SOCKETDATA, m) == CURLM_OK;
    ok &= curl_multi_setopt(m->curl, CURLMOPT_TIMERFUNCTION, multi_set_timer) == CURLM_OK;
    ok &= curl_multi_setopt(m->curl, CURLMOPT_TIMERDATA, m) == CURLM_OK;
    ok &= curl_multi_setopt(m->curl, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX) == CURLM_OK;
    ok &= curl_multi_setopt(m->curl, CURLMOPT_MAX_HOST_CONNECTIONS, connections_max) == CURLM_OK;
    ok &= curl_multi_setopt(m->curl, CURLMOPT_MAXCONNECTS, connections_max) == CURLM_OK;
    return ok ? 0 : error_set(err, ERR_UNSUPPORTED, "this libcurl cannot be driven by an event loop");
}

void http_multi_done(struct http_multi *m)
{
    struct http_socket *next;

    if (!m->curl)
        return;
    /* Idle connections are closed without callbacks. */
    (void)curl_multi_setopt(m->curl, CURLMOPT_SOCKETFUNCTION, (curl_socket_callback)NULL);
    (void)curl_multi_setopt(m->curl, CURLMOPT_TIMERFUNCTION, (curl_multi_timer_callback)NULL);
    for (struct http_socket *s = TAILQ_FIRST(&m->sockets); s; s = next) {
        next = TAILQ_NEXT(s, link);
        socket_free(s);
    }
    timer_disarm(&m->timer);
    (void)curl_multi_cleanup(m->curl);
    m->curl = NULL;
}
