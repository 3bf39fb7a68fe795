/* A small HTTP server for a process that serves no API: /metrics, /livez, /readyz, /healthz; /stats/volumes
 * of a node.
 *
 * Plain HTTP without authentication: the data is not secret, but the address should only be reachable from
 * the machine or the cluster's own network. */
#ifndef BERTH_APISERVER_MONITOR_H
#define BERTH_APISERVER_MONITOR_H

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/siphash.h"
#include "io/loop.h"

struct health;
struct metrics;
struct monitor;

struct monitor_options {
    struct loop *loop;
    const char *address;           /* "127.0.0.1:9090", "[::1]:0": port 0 is any free one */
    const struct metrics *metrics; /* both outlive the monitor */
    const struct health *health;
    struct hash_seed seed; /* secret */
    /* Writes the response of /stats/volumes, as JSON; NULL: the path does not exist. */
    void (*write_stats)(void *ctx, struct buf *out);
    void *ctx;
};

int monitor_new(const struct monitor_options *o, struct monitor **ret, struct error *err);
/* Closes all connections. Accepts NULL. */
struct monitor *monitor_free(struct monitor *m);
DEFINE_CLEANUP(struct monitor, monitor_free)

/* The address it listens on: host:port. */
const char *monitor_address(const struct monitor *m);

#endif
