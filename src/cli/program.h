/* The verbs that keep running: their flags, and one way from the command line into daemon.h. */
#ifndef BERTH_CLI_PROGRAM_H
#define BERTH_CLI_PROGRAM_H

#include <stddef.h>

#include "cli/cli.h"
#include "cli/flags.h"
#include "daemon/daemon.h"
#include "plugins/flex/prober.h"

#define PROGRAM_NODE_GROUP "This node"
#define PROGRAM_LEASE_GROUP "Leader election"
#define PROGRAM_MONITOR_GROUP "Metrics and limits"

#define PROGRAM_FLAG(field, name, value, help) FLAG(struct daemon_settings, field, name, value, help)
#define PROGRAM_FLAG_IN(group, field, name, value, help) \
    FLAG_IN(group, struct daemon_settings, field, name, value, help)
#define PROGRAM_SWITCH_IN(group, field, name, help) \
    FLAG_ON_IN(group, struct daemon_settings, field, name, help)

/* Of every program. example: a setting that its file may have, "data: DIR"; more: "" or what else it has. */
#define PROGRAM_CONFIG_FLAG(example, more) \
    PROGRAM_FLAG(config, "config", "FILE", \
                 "YAML with these settings by name (" example ")" more "; the command line wins")
#define PROGRAM_LOG_FLAGS                                           \
    PROGRAM_FLAG_IN(FLAGS_LOG, log_level, "log-level", "LEVEL",     \
                    "error, warn, info (default), debug or trace"), \
        PROGRAM_FLAG_IN(FLAGS_LOG, log_format, "log-format", "FORMAT", "text (default) or json")

/* Of those that use drivers; the aliases are the names of a kubelet and of a controller manager. */
#define PROGRAM_FLEX_FLAG(group_)                                                     \
    {                                                                                 \
        .name = "flex-dir", .type = FLAG_TEXT, .group = (group_),                     \
        .aliases = { "volume-plugin-dir", "flex-volume-plugin-dir" }, .value = "DIR", \
        .help = "where FlexVolume drivers are; default " FLEX_DIR,                    \
        .offset = offsetof(struct daemon_settings, controllers.flex_dir)              \
    }
#define PROGRAM_CONTROLLERS_FLAGS(group)                                                                  \
    PROGRAM_SWITCH_IN(group, controllers.has_hostpath_provisioner, "enable-hostpath-provisioner",         \
                      "provision hostPath volumes, for tests"),                                           \
        PROGRAM_FLEX_FLAG(group),                                                                         \
        PROGRAM_FLAG_IN(group, controllers.attach_sync_period, "attach-detach-reconcile-sync-period",     \
                        "SECONDS", "how often it is verified what is attached; default 60, 0 for never"), \
        PROGRAM_SWITCH_IN(group, controllers.has_no_attach_sync, "disable-attach-detach-reconcile-sync",  \
                          "do not verify what is attached"),                                              \
        PROGRAM_SWITCH_IN(                                                                                \
            group, controllers.has_no_forced_detach, "disable-force-detach-on-timeout",                   \
            "never detach from a dead node that was using a volume, unless it is tainted out of service")
#define PROGRAM_BIND_TIMEOUT_FLAG(group)                            \
    PROGRAM_FLAG_IN(group, bind_timeout, "bind-timeout", "SECONDS", \
                    "how long a pod waits for its volumes on a node before it is tried anew; default 600")
/* All but the name and the root, whose defaults differ. */
#define PROGRAM_NODE_FLAGS                                                                               \
    PROGRAM_FLAG_IN(PROGRAM_NODE_GROUP, node.hook, "pod-hook", "CMD",                                    \
                    "a command that runs pods: called with setup and teardown, the pod on its standard " \
                    "input"),                                                                            \
        PROGRAM_FLAG_IN(PROGRAM_NODE_GROUP, node.static_pods, "static-pods", "DIR",                      \
                        "a directory of manifests: each is a pod of this node"),                         \
        PROGRAM_FLAG_IN(PROGRAM_NODE_GROUP, node.sync, "sync-frequency", "SECONDS",                      \
                        "how often a pod's volumes are looked at without a cause; default 60"),          \
        PROGRAM_SWITCH_IN(PROGRAM_NODE_GROUP, node.attaches_itself, "node-attaches",                     \
                          "the node attaches its volumes itself instead of waiting for the controller")

/* Of those in front of another server. */
#define PROGRAM_SERVER_FLAGS                                                                             \
    PROGRAM_FLAG_IN(FLAGS_SERVER, kubeconfig, "kubeconfig", "FILE",                                      \
                    "which server, and as whom; else $KUBECONFIG, ~/.kube/config, or what a pod finds"), \
        PROGRAM_FLAG_IN(FLAGS_SERVER, context, "context", "NAME",                                        \
                        "another than the current context of the kubeconfig")
#define PROGRAM_LEASE_FLAGS                                                                            \
    PROGRAM_SWITCH_IN(PROGRAM_LEASE_GROUP, is_elected, "leader-elect",                                 \
                      "work only while holding a lease: of several, one"),                             \
        PROGRAM_FLAG_IN(PROGRAM_LEASE_GROUP, lease_ns, "leader-elect-namespace", "NS",                 \
                        "where the lease is; default " DAEMON_LEASE_NAMESPACE),                        \
        PROGRAM_FLAG_IN(PROGRAM_LEASE_GROUP, lease_duration, "leader-elect-lease-duration", "SECONDS", \
                        "how long others wait for a leader that is silent; default 15"),               \
        PROGRAM_FLAG_IN(PROGRAM_LEASE_GROUP, renew_deadline, "leader-elect-renew-deadline", "SECONDS", \
                        "how long a leader tries to renew before it gives up; default 10"),            \
        PROGRAM_FLAG_IN(PROGRAM_LEASE_GROUP, retry_period, "leader-elect-retry-period", "SECONDS",     \
                        "how long between two tries; default 2")
#define PROGRAM_MONITOR_FLAGS                                                                          \
    PROGRAM_FLAG_IN(PROGRAM_MONITOR_GROUP, metrics, "metrics", "ADDR:PORT",                            \
                    "where /metrics, /livez, /readyz and /healthz are served, in plain HTTP; default " \
                    "nowhere"),                                                                        \
        PROGRAM_FLAG_IN(PROGRAM_MONITOR_GROUP, qps, "kube-api-qps", "N",                               \
                        "requests a second; default 200, 0 for no limit"),                             \
        PROGRAM_FLAG_IN(PROGRAM_MONITOR_GROUP, burst, "kube-api-burst", "N",                           \
                        "requests that may go at once; default 400")

/* A file of settings: YAML with the flags by name, and the sections that the program's components have. What
 * is set already stays: the command line wins. doc: initialized; the settings borrow its texts. Errors begin
 * with the path: `settings in 'PATH': …`. */
#define PROGRAM_FILE_BYTES_MAX ((size_t)1 << 20)
int program_read_file(struct json *doc, const char *path, const struct daemon_program *program,
                      const struct flag *flags, struct daemon_settings *s, struct error *err);

/* Runs until it is told to stop; argv as a verb gets it. Returns the exit status. */
int program_run(const struct cli_verb *verb, const struct daemon_program *program, int argc, char **argv);

#endif
