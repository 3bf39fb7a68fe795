/* The server and the identity of the client: kubeconfig files, merged and validated, or the files of a pod.
 *
 * Sources, the first found wins: the named file; the files in $KUBECONFIG; ~/.kube/config; the service
 * account files of a pod. Several files are merged entry by entry, the first with a name wins. Only the
 * chosen context, its cluster and its user are validated. Described for users in docs/configure.md. */
#ifndef BERTH_CLIENT_CONFIG_H
#define BERTH_CLIENT_CONFIG_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

/* Where to search. NULL texts are read from the environment; tests set them. "" is none. */
struct config_options {
    const char *file;    /* --kubeconfig */
    const char *context; /* --context; NULL: current-context */
    const char *env;     /* $KUBECONFIG */
    const char *home;    /* $HOME */
    const char *pod_dir; /* /var/run/secrets/kubernetes.io/serviceaccount */
    const char *pod_host;
    const char *pod_port;
};

/* A file that may be replaced while the process runs, or its content; both NULL: none. */
struct config_file {
    const char *path; /* absolute */
    const char *data; /* the content itself, decoded; takes precedence */
};

struct config_extra {
    const char *key;
    const char *const *values; /* NULL-terminated */
};

#define CONFIG_SOURCE_POD "in-cluster"

/* One server and one identity. Texts are owned by the config; "" or NULL as stated. */
struct client_config {
    struct arena arena;
    const char *server; /* "https://host:6443/prefix": always with scheme, no slash at the end */
    bool is_tls;
    bool is_insecure;            /* insecure-skip-tls-verify */
    const char *tls_server_name; /* NULL: the host */
    const char *proxy_url;       /* NULL: only the environment's */
    bool disables_compression;
    struct config_file ca; /* absent: the system's */
    struct config_file cert;
    struct config_file key;
    const char *token; /* NULL: none */
    const char *token_file;
    const char *username; /* NULL: no basic authentication */
    const char *password;
    const char *as; /* NULL: no impersonation */
    const char *as_uid;
    const char *const *as_groups;        /* NULL-terminated; NULL for none */
    const struct config_extra *as_extra; /* terminated by a NULL key */
    const char *ns;                      /* of the context; "default" when it has none */
    const char *source;                  /* for messages: the file, the list of files, CONFIG_SOURCE_POD */
};

/* Zeroed before. On failure there is nothing to release. */
int config_load(const struct config_options *o, struct client_config *ret, struct error *err);
void config_done(struct client_config *c);

/* Calls fn with the name of each context in the files, without validation, duplicates included. */
typedef void config_context_fn(void *ctx, struct str name);
int config_each_context(const struct config_options *o, config_context_fn *fn, void *ctx, struct error *err);

#endif
