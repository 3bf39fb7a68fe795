/* What decisions about identity and access need to know of the stored objects: the server's are in
 * store_facts.h, tests have their own. Everything is borrowed until the next turn of the loop. */
#ifndef BERTH_APISERVER_FACTS_H
#define BERTH_APISERVER_FACTS_H

#include <stdbool.h>

#include "api/object.h"
#include "api/pod.h"

/* True when the search may end. */
typedef bool facts_pod_fn(void *arg, const struct pod *p);

struct facts {
    /* NULL when there is none. ns is "" at cluster scope. */
    const struct object *(*get)(void *ctx, enum kind kind, const char *ns, const char *name);
    /* Whether fn is true of a pod; ns: "" for all namespaces. */
    bool (*any_pod)(void *ctx, const char *ns, facts_pod_fn *fn, void *arg);
    void *ctx;
};

#endif
