/* What a program of daemon.h may be told: texts as the command line or a file of settings has them, and the
 * values that come of them.
 *
 * One struct for all programs: what a program has no flag for stays unset and takes its default. */
#ifndef BERTH_DAEMON_SETTINGS_H
#define BERTH_DAEMON_SETTINGS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "daemon/provisioners.h"
#include "io/socket.h"

#define DAEMON_ADDRESS "127.0.0.1:7443"
#define DAEMON_LEASE_NAMESPACE "kube-system"

struct daemon_program;

/* Texts are borrowed; NULL: not given. */
struct daemon_settings {
    /* Of the API server in this process. */
    const char *data;
    const char *listen;
    const char *without;
    const char *event_ttl;
    const char *token_file;
    bool is_insecure;
    /* Of a program in front of another server. */
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
    /* Of components. */
    struct {
        const char *flex_dir; /* of a node, too; made if it is missing. NULL: FLEX_DIR, which is not made */
        const char *attach_sync_period;
        bool has_no_attach_sync;
        bool has_no_forced_detach; /* dead nodes keep their volumes until somebody says they are off */
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
        bool attaches_itself;
    } node;
    struct provisioner_settings provisioners; /* has no flag */
    /* Of every program. */
    const char *config;
    const char *log_level;
    const char *log_format;

    /* Filled in by daemon_settings_check(). */
    unsigned parts; /* of the program, without those that --without names */
    uint64_t event_ttl_seconds;
    uint64_t rate, rate_burst;                                      /* of requests per second; 0: no limit */
    uint64_t lease_duration_ns, renew_deadline_ns, retry_period_ns; /* 0: the default */
    uint64_t attach_sync_ns;                                        /* 0: never */
    uint64_t bind_timeout_ns;
    uint64_t node_sync_ns;
    char data_dir[PATH_MAX];
    char state_dir[PATH_MAX + 16]; /* of the cleaning of local volumes */
    char node_root[PATH_MAX + 16];
    char address[SOCKET_ADDRESS_BYTES];
};

/* ERR_INVALID with the words for a person when a setting is wrong. Texts that were not given and have a
 * default may point into *s afterwards: it stays where it is. */
int daemon_settings_check(const struct daemon_program *p, struct daemon_settings *s, struct error *err);
void daemon_settings_done(struct daemon_settings *s);

/* Where the data is: what --data says (flag; NULL when it was not given), else $BERTH_DATA, else
 * /var/lib/berth for root and $HOME/.local/share/berth for everybody else. */
int daemon_data_dir(const char *flag, char ret[PATH_MAX], struct error *err);
/* 0 when this user may write there, or it is not there yet; else whose it is and what to do. */
int daemon_data_dir_check(const char *dir, struct error *err);

#endif
