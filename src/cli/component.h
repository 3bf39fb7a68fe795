/* A part of the control plane as a process of its own, in front of any Kubernetes API server that a
 * kubeconfig names: what `berth controllers` and `berth scheduler` share.
 *
 * The order of a start: the configuration (wrong: the end), the monitor, the server's version (asked until it
 * answers), the caches, then, with --leader-elect, the lease, and the work. A process that waits for any of
 * these is alive and not ready. The order of a stop: the lease is given back, the last events go out, the
 * end; a lease that is lost ends the process with 1, and whoever watches over it starts it anew. */
#ifndef BERTH_CLI_COMPONENT_H
#define BERTH_CLI_COMPONENT_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/cli.h"
#include "cli/controllers_flags.h"
#include "cli/flags.h"
#include "cli/logging.h"
#include "cli/node_flags.h"

#define COMPONENT_LEASE_NAMESPACE "kube-system"

struct component {
    const struct cli_verb *verb;
    const char *lease; /* its name, and who its events are from */
    unsigned parts;    /* manager.h */
};

/* Of all of them; what a verb has no flag for stays unset. */
struct component_settings {
    const char *kubeconfig;
    const char *context;
    const char *lease_ns;
    const char *lease_duration;
    const char *renew_deadline;
    const char *retry_period;
    const char *metrics;
    const char *qps;
    const char *burst;
    const char *scheduler_name;
    const char *bind_timeout;
    struct node_flags node;
    struct controllers_flags controllers;
    const char *config;
    const char *log_level;
    const char *log_format;
    bool is_elected;
};

/* The flags that every component has, at the end of its table. */
#define COMPONENT_LEASE_GROUP "Leader election"
#define COMPONENT_MONITOR_GROUP "Metrics and limits"
#define COMPONENT_FLAG(field, name, value, help) FLAG(struct component_settings, field, name, value, help)
#define COMPONENT_FLAG_IN(group, field, name, value, help) \
    FLAG_IN(group, struct component_settings, field, name, value, help)
#define COMPONENT_SERVER_FLAGS                                                                             \
    COMPONENT_FLAG_IN(FLAGS_SERVER, kubeconfig, "kubeconfig", "FILE",                                      \
                      "which server, and as whom; else $KUBECONFIG, ~/.kube/config, or what a pod finds"), \
        COMPONENT_FLAG_IN(FLAGS_SERVER, context, "context", "NAME",                                        \
                          "another than the current context of the kubeconfig")
#define COMPONENT_LEASE_FLAGS                                                                              \
    FLAG_ON_IN(COMPONENT_LEASE_GROUP, struct component_settings, is_elected, "leader-elect",               \
               "work only while holding a lease: of several, one"),                                        \
        COMPONENT_FLAG_IN(COMPONENT_LEASE_GROUP, lease_ns, "leader-elect-namespace", "NS",                 \
                          "where the lease is; default " COMPONENT_LEASE_NAMESPACE),                       \
        COMPONENT_FLAG_IN(COMPONENT_LEASE_GROUP, lease_duration, "leader-elect-lease-duration", "SECONDS", \
                          "how long others wait for a leader that is silent; default 15"),                 \
        COMPONENT_FLAG_IN(COMPONENT_LEASE_GROUP, renew_deadline, "leader-elect-renew-deadline", "SECONDS", \
                          "how long a leader tries to renew before it gives up; default 10"),              \
        COMPONENT_FLAG_IN(COMPONENT_LEASE_GROUP, retry_period, "leader-elect-retry-period", "SECONDS",     \
                          "how long between two tries; default 2")
#define COMPONENT_MONITOR_FLAGS                                                                          \
    COMPONENT_FLAG_IN(COMPONENT_MONITOR_GROUP, metrics, "metrics", "ADDR:PORT",                          \
                      "where /metrics, /livez, /readyz and /healthz are served, in plain HTTP; default " \
                      "nowhere"),                                                                        \
        COMPONENT_FLAG_IN(COMPONENT_MONITOR_GROUP, qps, "kube-api-qps", "N",                             \
                          "requests a second; default 200, 0 for no limit"),                             \
        COMPONENT_FLAG_IN(COMPONENT_MONITOR_GROUP, burst, "kube-api-burst", "N",                         \
                          "requests that may go at once; default 400"),                                  \
        CLI_LOG_FLAGS(struct component_settings)
#define COMPONENT_FLAGS COMPONENT_SERVER_FLAGS, COMPONENT_LEASE_FLAGS, COMPONENT_MONITOR_FLAGS

/* Runs until it is told to stop; argv as a verb gets it. Returns the exit status. */
int component_run(const struct component *type, int argc, char **argv);

#endif
