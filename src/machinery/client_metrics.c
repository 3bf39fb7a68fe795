/* Metrics of an API client (rest_client_*).
 *
 * Each attempt is counted in a child metric that is looked up once per method and status code and then kept,
 * because a lookup by labels costs more than the increment. */
#include "machinery/client_metrics.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum method { METHOD_GET, METHOD_POST, METHOD_PATCH, METHOD_DELETE, METHOD_COUNT };

static const char *const method_names[] = {
    [METHOD_GET] = "GET",
    [METHOD_POST] = "POST",
    [METHOD_PATCH] = "PATCH",
    [METHOD_DELETE] = "DELETE",
};
static_assert(ARRAY_LEN(method_names) == METHOD_COUNT, "name every method");

#define CODES_KEPT 600 /* all HTTP status codes in use, and 0 */

struct client_metrics {
    struct client_observer observer;
    struct metric_family *requests;
    struct metric_family *retries;
    struct metric_family *seconds;
    struct metric_family *waits;
    struct metric *requests_of[METHOD_COUNT][CODES_KEPT]; /* NULL: not used yet */
    struct metric *seconds_of[METHOD_COUNT];
    struct metric *waits_of[METHOD_COUNT];
    char host[];
};

static enum method method_of(const char *name)
{
    for (enum method i = 0; i < METHOD_COUNT; i++)
        if (strcmp(method_names[i], name) == 0)
            return i;
    assert(!"not a method");
    return METHOD_GET;
}

static struct metric *child_of_code(const struct client_metrics *m, struct metric_family *f, int code,
                                    const char *method)
{
    char text[16];

    (void)snprintf(text, sizeof text, "%d", code);
    return metric_of(f, code == 0 ? "<error>" : text, method, m->host);
}

static double seconds_of_ns(uint64_t ns)
{
    return (double)ns / (double)NS_PER_S;
}

static void on_attempt(void *ctx, const char *method, int code, uint64_t took_ns)
{
    struct client_metrics *m = ctx;
    enum method i = method_of(method);

    if (code < 0 || code >= CODES_KEPT) {
        metric_add(child_of_code(m, m->requests, code, method), 1);
    } else {
        if (!m->requests_of[i][code])
            m->requests_of[i][code] = child_of_code(m, m->requests, code, method);
        metric_add(m->requests_of[i][code], 1);
    }
    if (took_ns != CLIENT_TOOK_NONE)
        metric_observe(m->seconds_of[i], seconds_of_ns(took_ns));
}

static void on_retry(void *ctx, const char *method, int code)
{
    struct client_metrics *m = ctx;

    metric_add(child_of_code(m, m->retries, code, method), 1);
}

static void on_waited(void *ctx, const char *method, uint64_t waited_ns)
{
    struct client_metrics *m = ctx;

    metric_observe(m->waits_of[method_of(method)], seconds_of_ns(waited_ns));
}

static const char *const request_labels[] = { "code", "method", "host", NULL };
static const char *const retry_labels[] = { "code", "verb", "host", NULL };
static const char *const seconds_labels[] = { "verb", "host", NULL };
static const double bounds[] = { 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60 };

static const struct metric_desc requests_desc = {
    .name = "rest_client_requests_total",
    .help = "Requests to the API server, retries included; code <error> for requests without a response.",
    .type = METRIC_COUNTER,
    .labels = request_labels,
};
static const struct metric_desc retries_desc = {
    .name = "rest_client_request_retries_total",
    .help = "Retried requests, by the result that caused the retry.",
    .type = METRIC_COUNTER,
    .labels = retry_labels,
};
static const struct metric_desc seconds_desc = {
    .name = "rest_client_request_duration_seconds",
    .help = "Time from sending a request to its response, without watches.",
    .type = METRIC_HISTOGRAM,
    .labels = seconds_labels,
    .bounds = bounds,
    .bounds_count = ARRAY_LEN(bounds),
};
static const struct metric_desc waits_desc = {
    .name = "rest_client_rate_limiter_duration_seconds",
    .help = "Time that requests waited for the rate limit of this client.",
    .type = METRIC_HISTOGRAM,
    .labels = seconds_labels,
    .bounds = bounds,
    .bounds_count = ARRAY_LEN(bounds),
};

static int add_families(struct client_metrics *m, struct metrics *registry, struct error *err)
{
    int r = metrics_add_family(registry, &requests_desc, &m->requests, err);

    if (r == 0)
        r = metrics_add_family(registry, &retries_desc, &m->retries, err);
    if (r == 0)
        r = metrics_add_family(registry, &seconds_desc, &m->seconds, err);
    if (r == 0)
        r = metrics_add_family(registry, &waits_desc, &m->waits, err);
    return r;
}

int client_metrics_new(struct metrics *registry, const char *host, struct client_metrics **ret,
                       struct error *err)
{
    size_t host_bytes = strlen(host) + 1;
    _cleanup_(client_metrics_free_p) struct client_metrics *m = calloc(1, sizeof *m + host_bytes);
    int r;

    if (!m)
        return error_no_memory(err);
    memcpy(m->host, host, host_bytes);
    r = add_families(m, registry, err);
    if (r < 0)
        return r;
    for (enum method i = 0; i < METHOD_COUNT; i++) {
        m->seconds_of[i] = metric_of(m->seconds, method_names[i], host);
        m->waits_of[i] = metric_of(m->waits, method_names[i], host);
    }
    m->observer = (struct client_observer){ on_attempt, on_retry, on_waited, m };
    *ret = TAKE(m);
    return 0;
}

struct client_metrics *client_metrics_free(struct client_metrics *m)
{
    free(m);
    return NULL;
}

const struct client_observer *client_metrics_observer(const struct client_metrics *m)
{
    return &m->observer;
}
