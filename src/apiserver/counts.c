/* Metrics of the API server and its store. Metrics of recent label sets are cached, because looking one up by
 * its labels costs a fifth of a get. */
#include "apiserver/counts.h"

#include <stdio.h>
#include <stdlib.h>

#include "apiserver/server.h"
#include "apiserver/watch.h"
#include "store/store.h"

/* Label values of verbs, as in the stock server's metrics. */
static const char *const verb_labels[VERB_COUNT] = {
    [VERB_CREATE] = "POST", [VERB_DELETE] = "DELETE", [VERB_DELETE_COLLECTION] = "DELETECOLLECTION",
    [VERB_GET] = "GET",     [VERB_LIST] = "LIST",     [VERB_PATCH] = "PATCH",
    [VERB_UPDATE] = "PUT",  [VERB_WATCH] = "WATCH",
};

/* Labels of a response. Every text is a literal or from a table: equal labels have equal pointers. */
struct answer_labels {
    const char *verb;
    const struct resource *resource;
    const char *sub;
    const char *scope;
    const char *dry_run;
    int code;
    bool is_stream; /* has no duration */
};

/* A cached set of metrics: writing labels to find them costs a fifth of a get. */
struct answer_metrics {
    struct answer_labels labels; /* verb is NULL in an empty slot */
    struct metric *requests;
    struct metric *seconds;
};

#define ANSWER_METRICS_KEPT 64 /* a power of two */

struct apiserver_counts {
    struct metric_family *requests;
    struct metric_family *seconds;
    struct answer_metrics kept[ANSWER_METRICS_KEPT]; /* by answer_slot(); a collision replaces the entry */
    struct kind_count {
        const struct apiserver *server;
        enum kind kind;
    } kinds[KIND_COUNT];
};

static double read_reads(void *ctx)
{
    return ((const struct apiserver *)ctx)->reads_in_flight;
}

static double read_writes(void *ctx)
{
    return ((const struct apiserver *)ctx)->writes_in_flight;
}

static double read_watches(void *ctx)
{
    return (double)watches_count(((const struct apiserver *)ctx)->watches);
}

static double read_cuts(void *ctx)
{
    return (double)watches_cut_count(((const struct apiserver *)ctx)->watches);
}

static double read_events(void *ctx)
{
    const struct kind_count *k = ctx;

    return (double)watches_events_count(k->server->watches, k->kind);
}

static double read_objects(void *ctx)
{
    const struct kind_count *k = ctx;

    return (double)store_count(k->server->store, k->kind);
}

static const char *const request_labels[] = { "verb",  "group", "version", "resource", "subresource",
                                              "scope", "code",  "dry_run", NULL };
static const char *const seconds_labels[] = { "verb",        "group", "version", "resource",
                                              "subresource", "scope", NULL };
static const char *const watch_labels[] = { "group", "version", "resource", NULL };
static const char *const kind_labels[] = { "request_kind", NULL };
static const char *const long_labels[] = { "verb", NULL };
static const char *const object_labels[] = { "resource", NULL };
static const double latency_bounds[] = { 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                         0.05,   0.1,     0.25,   0.5,   1,      2.5,   5,    10 };
static const double batch_bounds[] = { 1, 2, 4, 8, 16, 32, 64, 128, 256, 512 };

static int add_requests(struct apiserver *s, struct apiserver_counts *n, struct error *err)
{
    int r = metrics_add_family(s->metrics,
                               &(struct metric_desc){ .name = "apiserver_request_total",
                                                      .help = "Requests answered.",
                                                      .type = METRIC_COUNTER,
                                                      .labels = request_labels },
                               &n->requests, err);
    if (r == 0)
        r = metrics_add_family(
            s->metrics,
            &(struct metric_desc){ .name = "apiserver_request_duration_seconds",
                                   .help = "Time from the complete request to its response.",
                                   .type = METRIC_HISTOGRAM,
                                   .labels = seconds_labels,
                                   .bounds = latency_bounds,
                                   .bounds_count = ARRAY_LEN(latency_bounds) },
            &n->seconds, err);
    return r;
}

static int add_in_flight(struct apiserver *s, struct error *err)
{
    struct metric_family *in_flight = NULL, *long_running = NULL;
    int r = metrics_add_family(s->metrics,
                               &(struct metric_desc){ .name = "apiserver_current_inflight_requests",
                                                      .help = "Requests in flight.",
                                                      .type = METRIC_GAUGE,
                                                      .labels = kind_labels },
                               &in_flight, err);
    if (r == 0)
        r = metrics_add_family(s->metrics,
                               &(struct metric_desc){ .name = "apiserver_longrunning_requests",
                                                      .help = "Open watches.",
                                                      .type = METRIC_GAUGE,
                                                      .labels = long_labels },
                               &long_running, err);
    if (r < 0)
        return r;
    metric_set_reader(metric_of(in_flight, "readOnly"), read_reads, s);
    metric_set_reader(metric_of(in_flight, "mutating"), read_writes, s);
    metric_set_reader(metric_of(long_running, "WATCH"), read_watches, s);
    return 0;
}

static int add_watches(struct apiserver *s, struct apiserver_counts *n, struct error *err)
{
    struct metric_family *events = NULL;
    struct metric *cut = NULL;
    int r = metrics_add_family(s->metrics,
                               &(struct metric_desc){ .name = "apiserver_watch_events_total",
                                                      .help = "Events delivered to watches.",
                                                      .type = METRIC_COUNTER,
                                                      .labels = watch_labels },
                               &events, err);
    if (r == 0)
        r = metrics_add_metric(
            s->metrics,
            &(struct metric_desc){ .name = "berth_watch_cut_total",
                                   .help = "Watches closed because their clients read too slowly.",
                                   .type = METRIC_COUNTER },
            &cut, err);
    if (r < 0)
        return r;
    metric_set_reader(cut, read_cuts, s);
    for (int k = 0; k < KIND_COUNT; k++) {
        const struct kind_info *i = kind_info((enum kind)k);

        metric_set_reader(metric_of(events, i->group, i->version, i->plural), read_events, &n->kinds[k]);
    }
    return 0;
}

static int add_objects(struct apiserver *s, struct apiserver_counts *n, struct error *err)
{
    struct metric_family *objects = NULL;
    int r = metrics_add_family(s->metrics,
                               &(struct metric_desc){ .name = "apiserver_storage_objects",
                                                      .help = "Objects in the store.",
                                                      .type = METRIC_GAUGE,
                                                      .labels = object_labels },
                               &objects, err);

    for (int k = 0; k < KIND_COUNT && r == 0; k++) {
        struct buf resource = BUF_INIT(256);

        if (k == KIND_EVENT_V1)
            continue; /* an alias of another stored kind */
        kind_resource(kind_info((enum kind)k), &resource);
        metric_set_reader(metric_of(objects, buf_cstr(&resource)), read_objects, &n->kinds[k]);
        buf_done(&resource);
    }
    return r;
}

int counts_new(struct apiserver *s, struct apiserver_counts **ret, struct error *err)
{
    struct apiserver_counts *n = calloc(1, sizeof *n);
    int r = n ? add_requests(s, n, err) : error_no_memory(err);

    for (int k = 0; k < KIND_COUNT && n; k++)
        n->kinds[k] = (struct kind_count){ s, (enum kind)k };
    if (r == 0)
        r = add_in_flight(s, err);
    if (r == 0)
        r = add_watches(s, n, err);
    if (r == 0)
        r = add_objects(s, n, err);
    if (r < 0) {
        free(n);
        return r;
    }
    *ret = n;
    return 0;
}

struct apiserver_counts *counts_free(struct apiserver_counts *n)
{
    free(n);
    return NULL;
}

static const char *scope_of(const struct route *r)
{
    if (!r->resource)
        return "";
    if (r->name.len || r->verb == VERB_CREATE)
        return "resource";
    return r->ns.len ? "namespace" : "cluster";
}

static size_t answer_slot(const struct answer_labels *l)
{
    uintptr_t mixed = (uintptr_t)l->verb + (uintptr_t)l->resource * 3 + (uintptr_t)l->sub * 5 +
                      (uintptr_t)l->scope * 7 + (uintptr_t)l->dry_run * 11 + (uintptr_t)l->code * 8;

    return (mixed >> 3 ^ mixed >> 9) & (ANSWER_METRICS_KEPT - 1);
}

static bool labels_eq(const struct answer_labels *a, const struct answer_labels *b)
{
    return a->verb == b->verb && a->resource == b->resource && a->sub == b->sub && a->scope == b->scope &&
           a->dry_run == b->dry_run && a->code == b->code && a->is_stream == b->is_stream;
}

static const struct answer_metrics *find_metrics(struct apiserver_counts *n, const struct answer_labels *l)
{
    struct answer_metrics *kept = &n->kept[answer_slot(l)];
    const struct resource *r = l->resource;
    const char *group = r ? r->group : "", *version = r ? r->version : "", *plural = r ? r->plural : "";
    char code[16];

    if (labels_eq(&kept->labels, l))
        return kept;
    (void)snprintf(code, sizeof code, "%d", l->code);
    kept->labels = *l;
    kept->requests =
        metric_of(n->requests, l->verb, group, version, plural, l->sub, l->scope, code, l->dry_run);
    kept->seconds =
        l->is_stream ? NULL : metric_of(n->seconds, l->verb, group, version, plural, l->sub, l->scope);
    return kept;
}

/* Resources that do not exist are counted without their name: names from clients would fill the table. */
void counts_answered(struct call *c)
{
    const struct resource *r = c->route.resource;
    const struct answer_labels labels = {
        .verb = r                       ? verb_labels[c->route.verb]
                : c->method == HTTP_GET ? "GET"
                                        : "OTHER",
        .resource = r,
        .sub = c->route.sub ? c->route.sub->name : "",
        .scope = scope_of(&c->route),
        .dry_run = params_get(&c->params, "dryRun").len ? "All" : "",
        .code = c->status,
        .is_stream = c->stream != NULL,
    };
    const struct answer_metrics *m = find_metrics(c->server->counts, &labels);
    double seconds = (double)(clock_mono_ns(c->server->clock) - c->started_ns) / (double)NS_PER_S;

    metric_add(m->requests, 1);
    if (m->seconds)
        metric_observe(m->seconds, seconds);
}

void counts_serve(struct call *c)
{
    metrics_write(c->server->metrics, &c->reply);
    call_answer_reply(c, 200, METRICS_CONTENT_TYPE);
}

int store_counts_add(struct metrics *m, struct store_counts *ret, struct error *err)
{
    int r = metrics_add_metric(m,
                               &(struct metric_desc){ .name = "berth_store_commit_seconds",
                                                      .help = "Time to commit a transaction to disk.",
                                                      .type = METRIC_HISTOGRAM,
                                                      .bounds = latency_bounds,
                                                      .bounds_count = ARRAY_LEN(latency_bounds) },
                               &ret->commit_seconds, err);
    if (r < 0)
        return r;
    r = metrics_add_metric(m,
                           &(struct metric_desc){ .name = "berth_store_batch_size",
                                                  .help = "Writes per transaction.",
                                                  .type = METRIC_HISTOGRAM,
                                                  .bounds = batch_bounds,
                                                  .bounds_count = ARRAY_LEN(batch_bounds) },
                           &ret->batch_size, err);
    if (r < 0)
        return r;
    return metrics_add_metric(
        m,
        &(struct metric_desc){ .name = "berth_store_refused_writes_total",
                               .help = "Writes refused because the disk is full or fails.",
                               .type = METRIC_COUNTER },
        &ret->refused, err);
}

void store_counts_commit(void *ctx, uint64_t ns, size_t count)
{
    const struct store_counts *n = ctx;

    metric_observe(n->commit_seconds, (double)ns / (double)NS_PER_S);
    metric_observe(n->batch_size, (double)count);
}

void store_counts_refuse(void *ctx, size_t count)
{
    const struct store_counts *n = ctx;

    metric_add(n->refused, (double)count);
}
