/* A running program: what daemon.c starts and stops, and report.c speaks of. */
#ifndef BERTH_DAEMON_DAEMON_INT_H
#define BERTH_DAEMON_DAEMON_INT_H

#include "api/uid.h"
#include "apiserver/counts.h"
#include "apiserver/monitor.h"
#include "apiserver/pki.h"
#include "apiserver/server.h"
#include "base/rng.h"
#include "client/config.h"
#include "daemon/components.h"
#include "daemon/daemon.h"
#include "daemon/supervised.h"
#include "host/system.h"
#include "io/env.h"
#include "io/hostname.h"
#include "machinery/health.h"
#include "machinery/leader.h"
#include "machinery/server_version.h"

/* The API server in this process, in the order it is made. */
struct embedded {
    struct store_counts store_counts;
    struct store *store;
    struct pki_options pki_options;
    struct pki pki;
    struct authenticator *authenticator;
    struct http *http;
    struct apiserver *server;
    struct pki_renewal *renewal;
    struct client *client;                                   /* of the components */
    char reachable[HOST_FACT_BYTES];                         /* as --listen, but never "all addresses" */
    char advertised[HOST_FACT_BYTES + SOCKET_ADDRESS_BYTES]; /* the same with the port that it really has */
};

#define REMOTE_SAID_BYTES 256

/* Another API server, and the lease of this process there. */
struct remote {
    struct client_config config;
    struct client_metrics *counts;
    struct client *client; /* of the components */
    struct client *own;    /* of the process: its lease */
    /* The question for the version, asked until it is answered; then the one for the status. */
    struct client_call call;
    struct timer retry_timer;
    struct rng rng;
    unsigned failures;
    struct server_version version;
    char identity[IO_HOST_NAME_BYTES + UID_BYTES];
    struct recorder *recorder; /* of the lease's events */
    struct leader *leader;     /* NULL: nobody is elected */
    struct timer look_timer;
    char said_holder[REMOTE_SAID_BYTES];
    char said_trouble[REMOTE_SAID_BYTES];
    uint64_t flush_until_ns; /* 0: the term is not over yet */
};

/* What runs, in the order it is made. */
struct daemon {
    const struct daemon_program *program;
    const struct daemon_settings *settings;
    char host[IO_HOST_NAME_BYTES];
    uint64_t seed;
    struct loop *loop;
    struct metrics *metrics;
    struct embedded embedded; /* zeroed unless the program has the server */
    struct remote remote;     /* zeroed if it has */
    struct health *health;    /* the same */
    struct monitor *monitor;
    struct components *components; /* NULL: none, or the server has not been reached, or they were stopped */
    struct components *stopped;    /* whose workers may not have ended */
    struct supervised supervised;
    struct timer stop_timer;
    uint64_t stop_at_ns;
    bool is_stopping;
    bool has_failed; /* the log says why */
    /* Of the ready message of a server. */
    struct timer ready_timer;
    uint64_t ready_until_ns;
    char url[sizeof "https://" + SOCKET_ADDRESS_BYTES];
    char data_path[PATH_MAX]; /* absolute */
    char kubeconfig[PATH_MAX + 16];
    char user[IO_USER_NAME_BYTES];
};

/* Ends the process: everything that runs is asked to stop, and has a while for it. */
void daemon_stop(struct daemon *d);
/* The server has answered. status: what it says of itself; empty when it does not. */
void daemon_reached(struct daemon *d, const struct server_status *status);

/* --- embedded.c --- */

/* To be closed after a failure, too, as the others below. */
int embedded_open(struct daemon *d, struct error *err);
void embedded_close(struct embedded *s);
/* Takes no more requests; those under way come to their end. */
void embedded_stop(struct embedded *s);
bool embedded_is_quiet(const struct embedded *s);

/* --- remote.c; a zeroed one is over --- */

/* Reads the configuration and asks nobody anything. */
int remote_open(struct daemon *d, struct error *err);
void remote_close(struct remote *c);
/* Asks for the server's version, again and again, until it answers, then for the status of a server of Berth:
 * daemon_reached() follows once. What goes wrong is logged. ctx: the daemon. */
void remote_reach(void *ctx);
/* Tries to lead; the components start when it does. */
void remote_begin(struct daemon *d);
/* Gives the lease back. */
void remote_stop(struct remote *c);
/* The lease is given back, or cannot be, and the last events have gone out, or had their time. */
bool remote_is_over(const struct daemon *d);
/* "leading", "standing by: leader is X"; "working" where nobody is elected. */
void remote_describe(const struct remote *c, char *ret, size_t ret_bytes);

/* --- report.c: what the process says of itself --- */

/* Answers of the servers; ctx is the daemon. */
void report_write_stats(void *ctx, struct buf *out);
int report_explain(void *ctx, const char *path, bool all, struct buf *out, struct slow_answer **ret,
                   struct error *err);
void report_write_status(void *ctx, struct buf *out);

/* The checks of /readyz and its like, for a process without a server. */
int report_add_checks(struct daemon *d, struct error *err);
/* Tells the supervisor from now on. */
int report_supervise(struct daemon *d, struct error *err);
/* Announces a server once its components are ready, or after a while. */
int report_await_ready(struct daemon *d, struct error *err);
/* Nothing but the end is told any more. */
void report_stopping(struct daemon *d);

#endif
