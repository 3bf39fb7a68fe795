/* What the server itself says of the pods that use a claim.
 *
 * A cache may be behind, and what follows from "nobody uses it" cannot be undone. So the pods of the claim's
 * namespace are listed from the server, once for all claims that were asked about until the list began:
 * while one is on its way the next questions gather for the one after it, since an answer is good only for
 * what was asked before. */
#ifndef BERTH_CONTROLLERS_PROTECT_LIVE_PODS_H
#define BERTH_CONTROLLERS_PROTECT_LIVE_PODS_H

#include <stddef.h>

#include "api/pod.h"
#include "base/cleanup.h"
#include "base/siphash.h"
#include "machinery/api_write.h"
#include "machinery/workqueue.h"

struct live_pods;

/* r 0: these pods have a volume with the claim's name. Else nothing is known. about is the claim as it was
 * when the question was asked: the list says nothing about a later claim of that name. Borrowed for the
 * call. */
typedef void live_pods_fn(void *ctx, struct str key, const struct object *about, int r,
                          const struct pod *const *pods, size_t count);

struct live_pods_options {
    struct api *api;
    struct hash_seed seed;
    live_pods_fn *fn;
    void *ctx;
};

int live_pods_new(const struct live_pods_options *o, struct live_pods **ret, struct error *err);
struct live_pods *live_pods_free(struct live_pods *l);
DEFINE_CLEANUP(struct live_pods, live_pods_free)

/* NULL when lists, questions and what is under way fit together, else what does not. Each question is about a
 * key that the queue works on. For the simulator. */
const char *live_pods_check(const struct live_pods *l, const struct workqueue *w);

/* Lists the pods that use the claim about, whose key is "namespace/name". fn follows once, not from inside.
 * ERR_NO_MEMORY. */
int live_pods_ask(struct live_pods *l, struct str key, const struct object *about);

#endif
