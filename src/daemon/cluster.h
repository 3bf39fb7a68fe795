/* The way to a cluster from the command line: which server, as whom, and whether it is there.
 *
 * Two clients to one server. `client` does the work: it has the limit, and a gate while leaders are elected.
 * `own` is for what a process does about itself, its lease and the events of that, which neither may hold
 * up. */
#ifndef BERTH_DAEMON_CLUSTER_H
#define BERTH_DAEMON_CLUSTER_H

#include <stdbool.h>

#include "base/error.h"
#include "base/rng.h"
#include "client/client.h"
#include "client/config.h"
#include "io/loop.h"

struct client_metrics;
struct metrics;
struct server_version;

struct cluster_options {
    struct loop *loop;
    struct metrics *metrics;
    const char *kubeconfig; /* NULL: as the environment says */
    const char *context;    /* NULL: the current one */
    double qps;             /* 0: no limit */
    unsigned burst;
    uint64_t seed;
    /* The server has answered for the first time. */
    void (*on_reached)(void *ctx, const struct server_version *version);
    void *ctx;
};

struct cluster {
    struct cluster_options o;
    struct client_config config;
    struct client_metrics *counts;
    struct client *client;
    struct client *own;
    /* The question for the version, asked until it is answered. */
    struct client_call call;
    struct timer retry;
    struct rng rng;
    unsigned failures;
    bool is_reached;
};

/* Reads the configuration and asks nobody anything. Zeroed before; cluster_close() also after a failure. */
int cluster_open(const struct cluster_options *o, struct cluster *ret, struct error *err);
/* Nobody uses the clients any more. */
void cluster_close(struct cluster *c);

/* Asks for the server's version, again and again, until it answers: on_reached() follows once. What goes
 * wrong is logged. */
void cluster_reach(struct cluster *c);

#endif
