/* A small HTTP server for metrics and health of a process without an API server. Limited to 64 connections;
 * every request is answered immediately from memory. */
#include "apiserver/monitor.h"

#include <string.h>

#include "apiserver/health.h"
#include "http/http.h"
#include "http/target.h"
#include "machinery/health.h"
#include "machinery/metrics.h"

/* A scraper and a few probes; requests are short. */
#define CONNECTIONS_MAX 64
#define MEMORY_BYTES ((size_t)16 << 10)
#define ARENA_BYTES_MAX ((size_t)16 << 20)
#define ANSWER_BYTES_MAX ((size_t)1 << 30)

struct monitor {
    const struct metrics *metrics;
    const struct health *health;
    void (*write_stats)(void *ctx, struct buf *out);
    void *ctx;
    struct http *http;
};

static bool has_path(const struct monitor *m, const char *path)
{
    return strcmp(path, "/metrics") == 0 || health_has_path(str_of(path)) ||
           (m->write_stats && strcmp(path, STATS_PATH) == 0);
}

static void answer_text(struct http_answer *a, int status, const char *text)
{
    a->status = status;
    a->content_type = "text/plain; charset=utf-8";
    buf_add_cstr(a->body, text);
}

static void answer_request(const struct monitor *m, const struct http_request *r, struct arena *arena,
                           struct http_answer *a)
{
    struct http_target t;
    struct error err;

    if (http_target_parse(r->target, arena, &t, &err) < 0) {
        answer_text(a, 400, err.msg);
        buf_add_char(a->body, '\n');
    } else if (!has_path(m, t.path)) {
        answer_text(a, 404, "404 page not found\n");
    } else if (r->method != HTTP_GET && r->method != HTTP_HEAD) {
        answer_text(a, 405, "405 method not allowed\n");
    } else if (strcmp(t.path, "/metrics") == 0) {
        a->content_type = METRICS_CONTENT_TYPE;
        metrics_write(m->metrics, a->body);
    } else if (strcmp(t.path, STATS_PATH) == 0) {
        a->content_type = "application/json";
        m->write_stats(m->ctx, a->body);
        buf_add_char(a->body, '\n');
    } else {
        const char *text;
        int status = health_text(m->health, t.path, &t.params, arena, &text);

        answer_text(a, status, text);
    }
}

static void add_refusal_headers(struct http_answer *a)
{
    static const struct http_header headers[] = { { "Allow", "GET, HEAD" },
                                                  { "X-Content-Type-Options", "nosniff" } };

    if (a->status < 400)
        return;
    a->headers = a->status == 405 ? headers : headers + 1;
    a->headers_count = a->status == 405 ? 2 : 1;
}

static void monitor_serve(void *ctx, struct http_request *r)
{
    _cleanup_(arena_done_p) struct arena arena = ARENA_INIT(ARENA_BYTES_MAX);
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(ANSWER_BYTES_MAX);
    /* There are no users: every client counts as known. */
    struct http_answer answer = { .status = 200, .body = &body, .client_is_known = true };

    answer_request(ctx, r, &arena, &answer);
    add_refusal_headers(&answer);
    if (body.failed) {
        buf_clear(&body);
        answer.status = 500;
        answer.content_type = "text/plain";
        buf_add_cstr(&body, "response exceeds the size limit of this server\n");
    }
    http_answer(r, &answer);
}

int monitor_new(const struct monitor_options *o, struct monitor **ret, struct error *err)
{
    _cleanup_(monitor_free_p) struct monitor *m = calloc(1, sizeof *m);
    struct http_options h = { .loop = o->loop,
                              .address = o->address,
                              .serve = monitor_serve,
                              .ctx = m,
                              .seed = o->seed,
                              .memory_bytes = MEMORY_BYTES,
                              .connections_max = CONNECTIONS_MAX };
    int r;

    if (!m)
        return error_no_memory(err);
    m->metrics = o->metrics;
    m->health = o->health;
    m->write_stats = o->write_stats;
    m->ctx = o->ctx;
    r = http_new(&h, &m->http, err);
    if (r < 0)
        return r;
    *ret = TAKE(m);
    return 0;
}

struct monitor *monitor_free(struct monitor *m)
{
    if (!m)
        return NULL;
    m->http = http_free(m->http);
    free(m);
    return NULL;
}

const char *monitor_address(const struct monitor *m)
{
    return http_address(m->http);
}
