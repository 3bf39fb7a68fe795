/* The server's metrics, for /metrics. */
#ifndef BERTH_APISERVER_COUNTS_H
#define BERTH_APISERVER_COUNTS_H

#include <stddef.h>
#include <stdint.h>

#include "apiserver/api_call.h"
#include "machinery/metrics.h"

struct apiserver_counts;

/* Registers the server's metrics in s->metrics. */
int counts_new(struct apiserver *s, struct apiserver_counts **ret, struct error *err);
struct apiserver_counts *counts_free(struct apiserver_counts *n);

/* Counts an answered call. */
void counts_answered(struct call *c);
/* GET /metrics. */
void counts_serve(struct call *c);

/* Metrics of the store, which is created before the server: for store_options.on_commit and on_refuse. */
struct store_counts {
    struct metric *commit_seconds;
    struct metric *batch_size;
    struct metric *refused;
};
int store_counts_add(struct metrics *m, struct store_counts *ret, struct error *err);
void store_counts_commit(void *ctx, uint64_t ns, size_t count);
void store_counts_refuse(void *ctx, size_t count);

#endif
