/* The kubeconfig that the server writes for its administrator: cluster, user and context are named berth.
 *
 * Its owner may add to it (a namespace, other clusters): it is rewritten only when the entries of the server
 * are out of date. */
#ifndef BERTH_APISERVER_KUBECONFIG_H
#define BERTH_APISERVER_KUBECONFIG_H

#include "base/error.h"
#include "base/str.h"

struct kubeconfig {
    const char *address; /* host:port; a wildcard address is written as loopback */
    /* PEM texts; all empty for a server without authentication. */
    struct str ca;
    struct str cert;
    struct str key;
};

/* Creates or updates the file, with mode 0600. Blocks. */
int kubeconfig_update(const char *path, const struct kubeconfig *k, struct error *err);

#endif
