/* State of a running program, shared by daemon.c, embedded.c, remote.c and report.c. */
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

/* The API server in this process, in the order of creation. */
struct embedded {
    struct store_counts store_counts;
    struct store *store;
    struct pki_options pki_options;
    struct pki pki;
    struct authenticator *authenticator;
    struct http *http;
    struct apiserver *server;
    struct pki_renewal *renewal;
    struct client *client;           /* used by the components */
    char reachable[HOST_FACT_BYTES]; /* as --listen, but never a wildcard address */
    char advertised[HOST_FACT_BYTES +
                    SOCKET_ADDRESS_BYTES]; /* the same with the port that it really listens on */
};

#define REMOTE_TEXT_BYTES 256

/* Another API server, and the lease of this process there. */
struct remote {
    struct client_config config;
    struct client_metrics *counts;
    struct client *client; /* used by the components */
    struct client *own;    /* used by the process itself: its lease */
    /* The request for the version, repeated until it is answered; then the request for the status. */
    struct client_call call;
    struct timer retry_timer;
    struct rng rng;
    unsigned failures;
    struct server_version version;
    char identity[IO_HOST_NAME_BYTES + UID_BYTES];
    struct recorder *recorder; /* events of the lease */
    struct leader *leader;     /* NULL: no leader election */
    struct timer lease_timer;
    char logged_holder[REMOTE_TEXT_BYTES];
    char logged_reason[REMOTE_TEXT_BYTES];
    uint64_t flush_until_ns; /* 0: the leader has not stopped yet */
};

/* The CSI controllers of a node agent, with an identity of their own. Zeroed: there are none. */
struct csi_beside {
    struct client_config config;
    struct client *client;
    struct components *components; /* NULL: the server has not been reached, or they were stopped */
    struct components *stopped;
};

/* The state of a program, in the order of creation. */
struct daemon {
    const struct daemon_program *program;
    const struct daemon_settings *settings;
    char host[IO_HOST_NAME_BYTES];
    uint64_t seed;
    struct loop *loop;
    struct metrics *metrics;
    struct embedded embedded; /* zeroed unless the program has the server */
    struct remote remote;     /* zeroed if it has */
    struct health *health;    /* zeroed if it has */
    struct monitor *monitor;
    struct csi_beside csi_beside;
    struct components *components; /* NULL: none, or the server has not been reached, or they were stopped */
    struct components *stopped;    /* stopped, but their workers may still run */
    struct supervised supervised;
    struct timer stop_timer;
    uint64_t stop_at_ns;
    bool is_stopping;
    bool has_failed; /* the reason is in the log */
    /* For the ready message of a server. */
    struct timer ready_timer;
    uint64_t ready_until_ns;
    char url[sizeof "https://" + SOCKET_ADDRESS_BYTES];
    char data_path[PATH_MAX]; /* absolute */
    char kubeconfig[PATH_MAX + 16];
    char user[IO_USER_NAME_BYTES];
};

/* Stops the process: everything is asked to stop, and has up to 4 seconds. */
void daemon_stop(struct daemon *d);
/* The server has answered. status: its /status; empty when it has none. */
void daemon_reached(struct daemon *d, const struct server_status *status);

/* --- embedded.c --- */

/* Must be closed after a failure too, as the others below. */
int embedded_open(struct daemon *d, struct error *err);
void embedded_close(struct embedded *s);
/* Accepts no more requests; those in flight are completed. */
void embedded_stop(struct embedded *s);
bool embedded_is_quiet(const struct embedded *s);

/* --- remote.c; a zeroed one counts as stopped --- */

/* Reads the kubeconfig and sends nothing. */
int remote_open(struct daemon *d, struct error *err);
void remote_close(struct remote *c);
/* Requests the server's version, with retries, until it answers, then the status of a Berth server:
 * daemon_reached() follows once. Failures are logged. ctx: the daemon. */
void remote_reach(void *ctx);
/* Tries to acquire the lease; the components start when it is held. */
void remote_begin(struct daemon *d);
/* Releases the lease. */
void remote_stop(struct remote *c);
/* The lease is released, or cannot be, and the last events were sent, or timed out. */
bool remote_is_over(const struct daemon *d);
/* "leading", "standing by: leader is X"; "working" without leader election. */
void remote_describe(const struct remote *c, char *ret, size_t ret_bytes);

/* A client of the server that a kubeconfig names. */
int remote_open_client(struct daemon *d, const struct client_config *config, double qps, unsigned burst,
                       struct client **ret, struct error *err);

/* --- csi_beside.c --- */

/* Reads the kubeconfig, if there is one, and sends nothing. After remote_open(). */
int csi_beside_open(struct daemon *d, struct error *err);
/* After the components of the node agent were opened. */
int csi_beside_begin(struct daemon *d, struct error *err);
/* Before those are stopped. */
void csi_beside_stop(struct csi_beside *n);
void csi_beside_close(struct csi_beside *n);
/* Waits for the workers. */
void csi_beside_free(struct csi_beside *n);

/* --- report.c: health, status and ready message --- */

/* Responses of the servers; ctx is the daemon. */
void report_write_stats(void *ctx, struct buf *out);
int report_explain(void *ctx, const char *path, bool all, struct buf *out, struct sliced_answer **ret,
                   struct error *err);
void report_write_status(void *ctx, struct buf *out);

/* The checks of /readyz, /livez and /healthz, for a process without a server. */
int report_add_checks(struct daemon *d, struct error *err);
/* Notifies the service manager from now on. */
int report_supervise(struct daemon *d, struct error *err);
/* Reports a server as ready when its components are ready, or after a while. */
int report_await_ready(struct daemon *d, struct error *err);
/* Only the end is reported from now on. */
void report_stopping(struct daemon *d);

#endif
