/* Prometheus metrics: counters, gauges and histograms, and their text format.
 *
 * A family has a name, a help text, a type and label names; it is registered once, at startup. For each set
 * of label values it has a child, the metric itself. Callers keep the child: counting is then an addition,
 * without lookup or allocation. A lookup costs one hash lookup.
 *
 * Everything is bounded: a family has at most children_max children. Values beyond that (and label values
 * that are too long, not UTF-8, or for which there is no memory) are counted in one extra child whose labels
 * are all "other". So a lookup never fails. Children are never removed.
 *
 * Values are doubles: integers are exact up to 2^53. No locks: only for the thread of the loop. */
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

/* Describes a family. Texts and bounds are borrowed for the lifetime of the registry: literals. */
struct metric_desc {
    const char *name;
    const char *help;
    enum metric_type type;
    const char *const *labels; /* names, ends with NULL; NULL for none */
    const double *bounds;      /* of a histogram's buckets, increasing, without +Inf */
    size_t bounds_count;
    size_t children_max; /* 0: METRIC_CHILDREN_MAX */
};

struct metrics;
struct metric_family;
struct metric;

typedef double metric_read_fn(void *ctx);

/* The seed of the hash tables is secret, because label values may come from outside. NULL without memory. */
struct metrics *metrics_new(struct hash_seed seed);
struct metrics *metrics_free(struct metrics *m);
DEFINE_CLEANUP(struct metrics, metrics_free)

/* ERR_EXISTS if the name is taken, ERR_INVALID if names or bounds are not valid for Prometheus. */
int metrics_add_family(struct metrics *m, const struct metric_desc *desc, struct metric_family **ret,
                       struct error *err);
/* The same for a family with several owners, such as the work queues: the first caller registers it, the
 * others get the existing one. Type and labels must be equal. */
int metrics_share_family(struct metrics *m, const struct metric_desc *desc, struct metric_family **ret,
                         struct error *err);
/* A family without labels, and its only child. */
int metrics_add_metric(struct metrics *m, const struct metric_desc *desc, struct metric **ret,
                       struct error *err);

/* The child with these label values, one per label of the family:
 *
 *     struct metric *errors = metric_of(requests, "GET", "pods", "500"); */
#define metric_of(family, ...) metric_child((family), (const char *const[]){ __VA_ARGS__, NULL })
struct metric *metric_child(struct metric_family *f, const char *const *values);

/* Counters (only increase) and gauges. */
void metric_add(struct metric *m, double amount);
/* Gauges, and counters whose value is kept elsewhere. */
void metric_set(struct metric *m, double value);
/* Histograms. */
void metric_observe(struct metric *m, double value);
/* The value of a counter or gauge is read by read() when needed; NULL: the stored value again. */
void metric_set_reader(struct metric *m, metric_read_fn *read, void *ctx);

/* A family whose samples change: they are collected when the metrics are written, and nothing is kept.
 * collect calls metric_emit() for each sample, in output order, each set of labels once; samples beyond the
 * family's limit are left out. NULL: none, for example when the owner has been freed. */
struct metric_sink;
typedef void metric_collect_fn(void *ctx, struct metric_sink *to);
void metric_set_collector(struct metric_family *f, metric_collect_fn *collect, void *ctx);
#define metric_emit(sink, value, ...) \
    metric_emit_sample((sink), (value), (const char *const[]){ __VA_ARGS__, NULL })
void metric_emit_sample(struct metric_sink *to, double value, const char *const *values);

/* The value of a counter or gauge, the sum of a histogram. */
double metric_value(const struct metric *m);
/* The number of values in a histogram. */
uint64_t metric_count(const struct metric *m);

/* Appends all metrics in text format 0.0.4: families by name, children by labels, "other" last. Families
 * without children are left out. */
void metrics_write(const struct metrics *m, struct buf *out);
#define METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* A number in Prometheus format: integers plain, others with the fewest digits that identify the value. */
void metrics_write_number(double value, struct buf *out);

#endif
