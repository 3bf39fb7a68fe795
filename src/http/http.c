/* Drives libmicrohttpd from the loop.
 *
 * libmicrohttpd has its own epoll descriptor, which the loop watches. MHD_run() is called when something is
 * ready there, when the library's timeout has expired, and, deferred, after a connection was resumed: the
 * library processes resumed connections only in its next run. One run may leave work that needs no waiting
 * (an answer is created in one run and finished in the next); a second run in the same callback does most of
 * it, and the rest waits for the next turn, so that a busy library does not block the loop.
 *
 * A run that resumes connections visits all suspended ones, watches included: O(connections) per turn in
 * which a deferred answer is sent. */
#include "http/http.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/head.h"
#include "http/http_int.h"
#include "http/tls.h"
#include "io/clock.h"
#include "io/file.h"
#include "io/poll.h"
#include "io/socket.h"

#define HTTP_RUNS_A_CALL 2
#define HTTP_OPTIONS_MAX 16
/* Descriptors besides those of connections: store, loop, children. */
#define HTTP_OTHER_DESCRIPTORS 256
/* Connections that have been ended and are not closed yet; they are among the other descriptors. */
#define HTTP_ENDING_MAX 64
/* Share of a connection's memory that the request line must leave for headers and answer. */
#define HTTP_HEADERS_SHARE 4

static void http_set_alarm(struct http *h, uint64_t ms)
{
    uint64_t at_ns = loop_now_ns(h->loop) + ms * NS_PER_MS;

    /* An alarm that is too early costs one unnecessary run. */
    if (!timer_is_armed(&h->alarm) || h->alarm.node.at_ns > at_ns)
        timer_arm(&h->alarm, at_ns);
}

static void http_run(void *ctx)
{
    struct http *h = ctx;
    MHD_UNSIGNED_LONG_LONG ms = 0;
    enum MHD_Result has_timeout = MHD_YES;

    assert(!h->is_running);
    h->is_running = true;
    for (unsigned i = 0; i < HTTP_RUNS_A_CALL && has_timeout == MHD_YES && ms == 0; i++) {
        (void)MHD_run(h->daemon); /* fails only for daemons with threads */
        has_timeout = MHD_get_timeout(h->daemon, &ms);
    }
    h->is_running = false;
    if (has_timeout == MHD_YES && ms == 0)
        loop_defer(&h->run);
    else if (has_timeout == MHD_YES)
        http_set_alarm(h, ms);
}

static void http_on_ready(void *ctx, unsigned events)
{
    (void)events;
    http_run(ctx);
}

static void http_on_fair(void *ctx)
{
    struct http *h = ctx;

    if (fair_run_queued(&h->fair))
        loop_defer(&h->run_fair);
}

static void http_on_turn_end(void *ctx)
{
    struct http *h = ctx;

    fair_begin_turn(&h->fair);
}

static void http_on_library_error(void *ctx, const char *fmt, va_list args)
    __attribute__((format(printf, 2, 0)));

static void http_on_library_error(void *ctx, const char *fmt, va_list args)
{
    struct http *h = ctx;

    /* After the start the library reports only errors of clients. */
    if (h->daemon)
        return;
    (void)vsnprintf(h->library_error, sizeof h->library_error, fmt, args); /* truncation is acceptable */
    h->library_error[strcspn(h->library_error, "\n")] = '\0';
}

struct option_list {
    struct MHD_OptionItem items[HTTP_OPTIONS_MAX + 1]; /* terminated by MHD_OPTION_END, which is zero */
    size_t count;
};

static void add_option(struct option_list *l, enum MHD_OPTION option, intptr_t value, const void *pointer)
{
    assert(l->count < HTTP_OPTIONS_MAX);
    l->items[l->count++] = (struct MHD_OptionItem){ option, value, (void *)(uintptr_t)pointer };
}

static void add_tls(struct option_list *l, const struct http_options *o)
{
    add_option(l, MHD_OPTION_HTTPS_MEM_KEY, 0, o->key_pem);
    add_option(l, MHD_OPTION_HTTPS_MEM_CERT, 0, o->cert_pem);
    add_option(l, MHD_OPTION_HTTPS_PRIORITIES, 0, TLS_PRIORITIES);
    if (o->client_ca_pem)
        add_option(l, MHD_OPTION_HTTPS_MEM_TRUST, 0, o->client_ca_pem);
}

static unsigned connections_max(const struct http_options *o)
{
    unsigned wanted = o->connections_max ? o->connections_max : HTTP_CONNECTIONS_MAX;
    size_t allowed = socket_raise_fd_limit((size_t)wanted + HTTP_OTHER_DESCRIPTORS);

    if (allowed >= (size_t)wanted + HTTP_OTHER_DESCRIPTORS)
        return wanted;
    return allowed > (size_t)2 * HTTP_OTHER_DESCRIPTORS ? (unsigned)(allowed - HTTP_OTHER_DESCRIPTORS)
                                                        : HTTP_OTHER_DESCRIPTORS;
}

/* Divides the connections between strangers and others. Returns the library's limit, which is higher than
 * both: connections that have been ended and are not closed yet count there too. */
static unsigned http_share_connections(struct http *h, unsigned total)
{
    unsigned share = total / HTTP_STRANGERS_SHARE;

    h->strangers_max = share < HTTP_STRANGERS_MAX ? share : HTTP_STRANGERS_MAX;
    if (h->strangers_max == 0)
        h->strangers_max = 1;
    h->known_max = total > h->strangers_max ? total - h->strangers_max : 1;
    return h->known_max + h->strangers_max + HTTP_ENDING_MAX;
}

/* The library owns fd from here on, whether it starts or not. */
static int http_start(struct http *h, const struct http_options *o, int fd, struct error *err)
{
    size_t memory_bytes = o->memory_bytes ? o->memory_bytes : HTTP_MEMORY_BYTES;
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    struct option_list options = { 0 };
    const union MHD_DaemonInfo *info;
    struct MHD_Daemon *daemon;

    /* First: receives the errors of the other options. */
    add_option(&options, MHD_OPTION_EXTERNAL_LOGGER, (intptr_t)http_on_library_error, h);
    add_option(&options, MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)http_on_connection, h);
    add_option(&options, MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)http_on_target, h);
    add_option(&options, MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)http_on_completed, h);
    add_option(&options, MHD_OPTION_LISTEN_SOCKET, fd, NULL);
    add_option(&options, MHD_OPTION_CONNECTION_LIMIT, http_share_connections(h, connections_max(o)), NULL);
    add_option(&options, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (intptr_t)memory_bytes, NULL);
    /* Limit of inactivity, for clients that do not read. The other limits are in conn.c. */
    add_option(&options, MHD_OPTION_CONNECTION_TIMEOUT, (intptr_t)((h->idle_ms_max + 999) / 1000), NULL);
    if (http_head_library_is_strict())
        add_option(&options, MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL);
    if (o->key_pem) {
        flags |= MHD_USE_TLS;
        add_tls(&options, o);
    }
    h->target_bytes_max = memory_bytes - memory_bytes / HTTP_HEADERS_SHARE;
    if (h->target_bytes_max > HTTP_TARGET_BYTES_MAX)
        h->target_bytes_max = HTTP_TARGET_BYTES_MAX;
    daemon = MHD_start_daemon(flags, /* port= */ 0, /* accept policy: */ NULL, NULL, http_on_request, h,
                              MHD_OPTION_ARRAY, options.items, MHD_OPTION_END);
    if (!daemon)
        return error_set(err, ERR_INTERNAL, "cannot start the HTTP server: %s", h->library_error);
    h->daemon = daemon;
    info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    return fd_watch_start(h->loop, info->epoll_fd, FD_READ, http_on_ready, h, &h->watch, err);
}

static int http_listen_and_start(struct http *h, const struct http_options *o, struct error *err)
{
    int fd = -1;
    int r;

    if (o->key_pem) {
        r = tls_identity_new(o->key_pem, o->cert_pem, o->client_ca_pem, &h->identity, err);
        if (r < 0)
            return r;
    }
    r = socket_listen(o->address, h->address, &fd, err);
    return r < 0 ? r : http_start(h, o, fd, err);
}

int http_new(const struct http_options *o, struct http **ret, struct error *err)
{
    struct http *h = calloc(1, sizeof *h);
    int r;

    assert(!o->key_pem == !o->cert_pem);
    if (!h)
        return error_no_memory(err);
    h->loop = o->loop;
    h->serve = o->serve;
    h->identify = o->identify;
    h->ctx = o->ctx;
    h->seed = o->seed;
    h->stranger_ms_max = o->stranger_ms_max ? o->stranger_ms_max : HTTP_STRANGER_MS_MAX;
    h->request_ms_max = o->request_ms_max ? o->request_ms_max : HTTP_REQUEST_MS_MAX;
    h->idle_ms_max = o->idle_ms_max ? o->idle_ms_max : HTTP_IDLE_MS_MAX;
    h->unread_ms_max = o->unread_ms_max ? o->unread_ms_max : HTTP_UNREAD_MS_MAX;
    h->held_bytes_max = o->held_bytes_max ? o->held_bytes_max : HTTP_HELD_BYTES_MAX;
    TAILQ_INIT(&h->conns);
    TAILQ_INIT(&h->holders);
    TAILQ_INIT(&h->strangers);
    timer_init(&h->stalled, h->loop, http_on_stalled, h);
    deferred_init(&h->enforce_limits, h->loop, http_on_too_much, h);
    timer_init(&h->alarm, h->loop, http_run, h);
    deferred_init(&h->run, h->loop, http_run, h);
    deferred_init(&h->run_fair, h->loop, http_on_fair, h);
    loop_add_before_sleep(h->loop, &h->on_turn, http_on_turn_end, h);
    fair_init(&h->fair, o->clock ? o->clock : clock_system(), http_on_turn, h);
    r = http_listen_and_start(h, o, err);
    if (r < 0) {
        (void)http_free(h);
        return r;
    }
    *ret = h;
    return 0;
}

struct http *http_free(struct http *h)
{
    struct http_conn *c;

    if (!h)
        return NULL;
    assert(!h->is_running);
    (void)fd_watch_stop(h->watch);
    /* The library cannot end a suspended connection. */
    TAILQ_FOREACH(c, &h->conns, link)
        if (c->is_suspended)
            http_conn_resume(c);
    MHD_stop_daemon(h->daemon);
    assert(TAILQ_EMPTY(&h->conns));
    loop_remove_before_sleep(h->loop, &h->on_turn);
    loop_undefer(&h->run);
    loop_undefer(&h->run_fair);
    loop_undefer(&h->enforce_limits);
    timer_disarm(&h->alarm);
    (void)tls_identity_unref(h->identity);
    timer_disarm(&h->stalled);
    free(h);
    return NULL;
}

int http_set_identity(struct http *h, const char *key_pem, const char *cert_pem, const char *client_ca_pem,
                      struct error *err)
{
    struct tls_identity *identity = NULL;
    int r = tls_identity_new(key_pem, cert_pem, client_ca_pem, &identity, err);

    assert(h->identity);
    if (r < 0)
        return r;
    (void)tls_identity_unref(h->identity);
    h->identity = identity;
    return 0;
}

const char *http_address(const struct http *h)
{
    return h->address;
}

void http_quiesce(struct http *h)
{
    struct http_conn *c;
    int fd;

    assert(!h->is_running);
    if (h->is_quiet)
        return;
    h->is_quiet = true;
    fd = MHD_quiesce_daemon(h->daemon); /* returns the listening socket to us */
    fd_closep(&fd);
    TAILQ_FOREACH(c, &h->conns, link)
        if (!c->exchange)
            http_conn_end(c);
}

unsigned http_connections(const struct http *h)
{
    return h->conns_count;
}

unsigned http_strangers(const struct http *h)
{
    return h->strangers_count;
}
