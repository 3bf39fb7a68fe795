/* Numbers for Prometheus: counters, gauges and histograms, and the text a scraper reads.
 *
 * A family has a name, a help text, a type and names of labels; it is registered once, at start-up. For each
 * set of label values it has a child, the metric itself. Whoever counts keeps the child: counting is then an
 * addition, without looking anything up or allocating. Finding a child costs a hash lookup.
 *
 * Everything is bounded: a family has at most children_max children, and what comes beyond (as does a label
 * value that is too long or no UTF-8, or that memory lacks for) is counted in one more child, whose labels
 * all say "other". So finding a child never fails. Children are never taken away.
 *
 * Values are doubles: whole numbers are exact up to 2^53. No locks: the loop's thread only. */
#ifndef BERTH_MACHINERY_METRICS_H
#define BERTH_MACHINERY_METRICS_H

#include <stddef.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/siphash.h"

#define METRIC_CHILDREN_MAX 1000
#define METRIC_LABELS_BYTES_MAX 1024

enum metric_type {
    METRIC_COUNTER,
    METRIC_GAUGE,
    METRIC_HISTOGRAM,
    METRIC_TYPE_COUNT,
};

/* What a family is. The texts and bounds are borrowed for as long as the registry lives: literals. */
struct metric_desc {
    const char *name;
    const char *help;
    enum metric_type type;
    const char *const *labels; /* names, ends with NULL; NULL for none */
    const double *bounds;      /* of a histogram's buckets, upwards, without the infinite one */
    size_t bounds_count;
    size_t children_max; /* 0: METRIC_CHILDREN_MAX */
};

struct metrics;
struct metric_family;
struct metric;

typedef double metric_read_fn(void *ctx);

/* The seed of the hash tables is secret: label values may come from outside. NULL when there is no memory. */
struct metrics *metrics_new(struct hash_seed seed);
struct metrics *metrics_free(struct metrics *m);
DEFINE_CLEANUP(struct metrics, metrics_free)

/* Fails with ERR_EXISTS when the name is taken, ERR_INVALID when names or bounds are not as Prometheus wants
 * them. */
int metrics_add_family(struct metrics *m, const struct metric_desc *desc, struct metric_family **ret,
                       struct error *err);
/* The same for a family of several owners, such as one queue among many: whoever comes first registers it,
 * the others get what is there. They must agree on type and labels. */
int metrics_share_family(struct metrics *m, const struct metric_desc *desc, struct metric_family **ret,
                         struct error *err);
/* A family without labels, and its one child. */
int metrics_add_metric(struct metrics *m, const struct metric_desc *desc, struct metric **ret,
                       struct error *err);

/* The child with these label values, as many as the family has labels:
 *
 *     struct metric *errors = metric_of(requests, "GET", "pods", "500"); */
#define metric_of(family, ...) metric_child((family), (const char *const[]){ __VA_ARGS__, NULL })
struct metric *metric_child(struct metric_family *f, const char *const *values);

/* Counters (never down) and gauges. */
void metric_add(struct metric *m, double amount);
/* Gauges; counters whose count is kept elsewhere. */
void metric_set(struct metric *m, double value);
/* Histograms. */
void metric_observe(struct metric *m, double value);
/* From now on the value of a counter or gauge is what read() says when it is asked for; NULL: what was set
 * and added, again. */
void metric_set_reader(struct metric *m, metric_read_fn *read, void *ctx);

/* A family whose samples come and go: they are asked for when they are written, and nothing is kept. collect
 * calls metric_emit() for each, in the order they are to stand in, no labels twice; what is beyond the
 * family's bounds is left out. NULL: there are none, as when whoever knew them is gone. */
struct metric_sink;
typedef void metric_collect_fn(void *ctx, struct metric_sink *to);
void metric_set_collector(struct metric_family *f, metric_collect_fn *collect, void *ctx);
#define metric_emit(sink, value, ...) \
    metric_emit_sample((sink), (value), (const char *const[]){ __VA_ARGS__, NULL })
void metric_emit_sample(struct metric_sink *to, double value, const char *const *values);

/* The value of a counter or gauge, the sum of a histogram. */
double metric_value(const struct metric *m);
/* How many values a histogram has. */
uint64_t metric_count(const struct metric *m);

/* Appends everything in the text format 0.0.4: families by name, children by their labels, "other" last.
 * Families without a child are left out. */
void metrics_write(const struct metrics *m, struct buf *out);
#define METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* A number as Prometheus reads it back: whole ones plain, others in the fewest digits that say which. */
void metrics_write_number(double value, struct buf *out);

#endif
