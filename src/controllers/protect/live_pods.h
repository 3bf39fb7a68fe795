/* Lists the pods that use a claim, from the server.
 *
 * A cache may be stale, and the removal of a finalizer cannot be undone. So the pods of the claim's namespace
 * are listed from the server, once for all claims that were requested before the list started; later requests
 * wait for the next list. */
#ifndef BERTH_CONTROLLERS_PROTECT_LIVE_PODS_H
#define BERTH_CONTROLLERS_PROTECT_LIVE_PODS_H

#include <stddef.h>

#include "api/pod.h"
#include "base/cleanup.h"
#include "base/siphash.h"
#include "machinery/api_write.h"
#include "machinery/workqueue.h"

struct live_pods;

/* r 0: these pods have a volume with the claim's name; otherwise nothing is known. about: the claim at the
 * time of the request; the list proves nothing about a later claim of that name. Borrowed during the call. */
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

/* NULL if lists and requests are consistent, else what is wrong. Each request is for a key in process of the
 * queue. For the simulator. */
const char *live_pods_check(const struct live_pods *l, const struct workqueue *w);

/* Requests the pods that use the claim `about`, whose key is "namespace/name". fn is called once, never from
 * inside. ERR_NO_MEMORY. */
int live_pods_request(struct live_pods *l, struct str key, const struct object *about);

#endif
