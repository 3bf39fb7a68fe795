#include "apiserver/monitor.h"

#include <string.h>

#include "apiserver/health.h"
#include "apiserver/http.h"
#include "apiserver/route.h"
#include "machinery/health.h"
#include "machinery/metrics.h"

/* A scraper and a few probes; requests are short. */
#define CONNECTIONS_MAX 64
#define MEMORY_BYTES ((size_t)16 << 10)

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

static void serve(void *ctx, struct call *c)
{
    const struct monitor *m = ctx;
    struct error err;

    if (route_parse(c, &err) < 0) {
        call_answer_text(c, 400, call_text(c, "%s\n", err.msg));
    } else if (!has_path(m, c->route.path)) {
        call_answer_text(c, 404, "404 page not found\n");
    } else if (c->method != HTTP_GET && c->method != HTTP_HEAD) {
        call_add_header(c, "Allow", "GET, HEAD");
        call_answer_text(c, 405, "405 method not allowed\n");
    } else if (strcmp(c->route.path, "/metrics") == 0) {
        metrics_write(m->metrics, &c->reply);
        call_answer_reply(c, 200, METRICS_CONTENT_TYPE);
    } else if (strcmp(c->route.path, STATS_PATH) == 0) {
        m->write_stats(m->ctx, &c->reply);
        call_answer_json_reply(c, 200);
    } else {
        health_serve(m->health, c);
    }
}

int monitor_new(const struct monitor_options *o, struct monitor **ret, struct error *err)
{
    _cleanup_(monitor_free_p) struct monitor *m = calloc(1, sizeof *m);
    struct http_options h = { .loop = o->loop,
                              .address = o->address,
                              .serve = serve,
                              .ctx = m,
                              .seed = o->seed,
                              .has_no_users = true,
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
