/* The settings of the programs of daemon.h: texts as the command line or the configuration file has them, and
 * the values derived from them.
 *
 * One struct serves all programs: a setting that a program has no flag for stays unset and takes its default.
 */
#ifndef BERTH_DAEMON_SETTINGS_H
#define BERTH_DAEMON_SETTINGS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "daemon/csi_settings.h"
#include "daemon/provisioners.h"
#include "io/socket.h"

#define DAEMON_ADDRESS "127.0.0.1:7443"
#define DAEMON_LEASE_NAMESPACE "kube-system"

struct daemon_program;

/* The values of a flag that may be repeated: as the command line keeps them (cli/flags.h). */
#define DAEMON_VALUES_MAX 256
struct daemon_values {
    const char *items[DAEMON_VALUES_MAX];
    size_t count;
};

/* Texts are borrowed; NULL: not given. */
struct daemon_settings {
    /* For the API server in this process. */
    const char *data;
    const char *listen;
    const char *without;
    const char *event_ttl;
    const char *token_file;
    bool is_insecure;
    /* For a program against another server. */
    const char *kubeconfig;
    const char *context;
    const char *metrics;
    const char *qps;
    const char *burst;
    const char *lease_ns;
    const char *lease_duration;
    const char *renew_deadline;
    const char *retry_period;
    bool is_elected;
    /* For components. */
    struct {
        const char
            *flex_dir; /* also of the node agent; created if missing. NULL: FLEX_DIR, which is not created */
        const char *attach_sync_period;
        bool has_no_attach_sync;
        bool has_no_forced_detach; /* volumes of failed nodes stay attached */
        bool has_hostpath_provisioner;
    } controllers;
    const char *scheduler_name;
    const char *bind_timeout;
    struct {
        const char *name;
        const char *root;
        const char *hook;
        const char *static_pods;
        const char *sync;
        const char *csi_kubeconfig; /* of the CSI controllers of this node; NULL: it has none */
        bool attaches_itself;
    } node;
    struct provisioner_settings provisioners; /* has no flag */
    struct csi_settings csi;                  /* the same, except its sockets */
    struct daemon_values csi_endpoints;       /* URLs of sockets, also separated by commas */
    /* For every program. */
    const char *config;
    const char *log_level;
    const char *log_format;

    /* Filled in by daemon_settings_check(). */
    unsigned parts; /* of the program, except those that --without names */
    uint64_t event_ttl_seconds;
    uint64_t rate, rate_burst;                                      /* requests per second; 0: no limit */
    uint64_t lease_duration_ns, renew_deadline_ns, retry_period_ns; /* 0: the default */
    uint64_t attach_sync_ns;                                        /* 0: never */
    uint64_t bind_timeout_ns;
    uint64_t node_sync_ns;
    char data_dir[PATH_MAX];
    char state_dir[PATH_MAX + 16]; /* state of the cleaning of local volumes */
    char node_root[PATH_MAX + 16];
    char address[SOCKET_ADDRESS_BYTES];
};

/* ERR_INVALID with a message for the user when a setting is wrong. Defaults of texts may point into *s
 * afterwards: it must not be moved. */
int daemon_settings_check(const struct daemon_program *p, struct daemon_settings *s, struct error *err);
void daemon_settings_done(struct daemon_settings *s);

/* The data directory: --data (flag; NULL when not given), else $BERTH_DATA, else /var/lib/berth for root and
 * $HOME/.local/share/berth for other users. */
int daemon_data_dir(const char *flag, char ret[PATH_MAX], struct error *err);
/* 0 when this user may write there, or it does not exist yet; otherwise an error that names the owner and the
 * remedy. */
int daemon_data_dir_check(const char *dir, struct error *err);

#endif
