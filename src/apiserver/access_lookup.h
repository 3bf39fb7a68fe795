/* Lookups of stored objects that decisions about identity and access need: store_lookup.h has those of the
 * server, tests have their own. Results are borrowed until the next step of the loop. */
#ifndef BERTH_APISERVER_ACCESS_LOOKUP_H
#define BERTH_APISERVER_ACCESS_LOOKUP_H

#include <stdbool.h>

#include "api/object.h"
#include "api/pod.h"

/* True ends the search. */
typedef bool access_lookup_pod_fn(void *arg, const struct pod *p);

struct access_lookup {
    /* NULL when it does not exist. ns is "" at cluster scope. */
    const struct object *(*get)(void *ctx, enum kind kind, const char *ns, const char *name);
    /* Whether fn returns true for some pod; ns: "" for all namespaces. */
    bool (*any_pod)(void *ctx, const char *ns, access_lookup_pod_fn *fn, void *arg);
    void *ctx;
};

#endif
