/* The kubeconfig that the server leaves for its administrator: cluster, user and context are named berth.
 *
 * Its owner may add to it (a namespace, other clusters): it is written anew only when what the server put in
 * no longer holds. */
#ifndef BERTH_APISERVER_KUBECONFIG_H
#define BERTH_APISERVER_KUBECONFIG_H

#include "base/error.h"
#include "base/str.h"

struct kubeconfig {
    const char *address; /* host:port; an address that stands for all is written as the loopback's */
    /* PEM texts; all empty for a server that asks nobody who they are. */
    struct str ca;
    struct str cert;
    struct str key;
};

/* Sees to it that the file says so, with mode 0600. Blocks. */
int kubeconfig_update(const char *path, const struct kubeconfig *k, struct error *err);

#endif
