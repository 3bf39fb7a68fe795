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
    struct http *http;
};

static void serve(void *ctx, struct call *c)
{
    const struct monitor *m = ctx;
    struct error err;

    if (route_parse(c, &err) < 0) {
        call_answer_text(c, 400, call_text(c, "%s\n", err.msg));
    } else if (strcmp(c->route.path, "/metrics") != 0 && !health_has_path(str_of(c->route.path))) {
        call_answer_text(c, 404, "404 page not found\n");
    } else if (c->method != HTTP_GET && c->method != HTTP_HEAD) {
        call_add_header(c, "Allow", "GET, HEAD");
        call_answer_text(c, 405, "405 method not allowed\n");
    } else if (strcmp(c->route.path, "/metrics") == 0) {
        metrics_write(m->metrics, &c->reply);
        call_answer_reply(c, 200, METRICS_CONTENT_TYPE);
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
                              .memory_bytes = MEMORY_BYTES,
                              .connections_max = CONNECTIONS_MAX };
    int r;

    if (!m)
        return error_no_memory(err);
    m->metrics = o->metrics;
    m->health = o->health;
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
