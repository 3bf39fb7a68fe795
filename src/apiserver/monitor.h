/* A small HTTP server for a process that serves no API: /metrics, /livez, /readyz, /healthz; of a node
 * /stats/volumes.
 *
 * Plain HTTP and no authentication: what it tells is no secret, but it belongs on an address that only the
 * machine or the cluster's own network reaches. */
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
    /* Writes what /stats/volumes answers, as JSON; NULL: there is no such path. */
    void (*write_stats)(void *ctx, struct buf *out);
    void *ctx;
};

int monitor_new(const struct monitor_options *o, struct monitor **ret, struct error *err);
/* Ends every connection. Takes NULL. */
struct monitor *monitor_free(struct monitor *m);
DEFINE_CLEANUP(struct monitor, monitor_free)

/* Where it listens: host:port. */
const char *monitor_address(const struct monitor *m);

#endif
