/* Which server, and who we are there: kubeconfig files, merged and checked, or the pod's own files.
 *
 * Sources, first found wins: the file that was named; the files in $KUBECONFIG; ~/.kube/config; what a pod
 * finds in its file system. Several files are merged entry by entry, the first that has a name wins. Only the
 * chosen context, its cluster and its user are checked. docs/operations.md has it for people. */
#ifndef BERTH_CLIENT_CONFIG_H
#define BERTH_CLIENT_CONFIG_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

/* Where to look. NULL texts are asked from the environment; tests set them. "" is none. */
struct config_options {
    const char *file;    /* --kubeconfig */
    const char *context; /* --context; NULL: current-context */
    const char *env;     /* $KUBECONFIG */
    const char *home;    /* $HOME */
    const char *pod_dir; /* /var/run/secrets/kubernetes.io/serviceaccount */
    const char *pod_host;
    const char *pod_port;
};

/* A file that may be replaced while we run, or its content; both NULL: neither. */
struct config_file {
    const char *path; /* absolute */
    const char *data; /* the content itself, decoded; wins */
};

struct config_extra {
    const char *key;
    const char *const *values; /* ends with NULL */
};

/* One server and one identity. Texts live in the config; "" or NULL as said. */
struct client_config {
    struct arena arena;
    const char *server; /* "https://host:6443/prefix": scheme always there, no slash at the end */
    bool is_tls;
    bool is_insecure;            /* insecure-skip-tls-verify */
    const char *tls_server_name; /* NULL: the host */
    const char *proxy_url;       /* NULL: none but the environment's */
    bool disables_compression;
    struct config_file ca; /* neither: the system's */
    struct config_file cert;
    struct config_file key;
    const char *token; /* NULL: none */
    const char *token_file;
    const char *username; /* NULL: no basic authentication */
    const char *password;
    const char *as; /* NULL: nobody else */
    const char *as_uid;
    const char *const *as_groups;        /* end with NULL; NULL for none */
    const struct config_extra *as_extra; /* ends with a NULL key */
    const char *ns;                      /* of the context; "default" when it says none */
    const char *source;                  /* for messages: the file, the list of files, "in-cluster" */
};

/* Zeroed before. On failure nothing is left to release. */
int config_load(const struct config_options *o, struct client_config *ret, struct error *err);
void config_done(struct client_config *c);

/* Tells the name of each context in the files, checked or not, as often as it stands there. */
typedef void config_context_fn(void *ctx, struct str name);
int config_each_context(const struct config_options *o, config_context_fn *fn, void *ctx, struct error *err);

#endif
