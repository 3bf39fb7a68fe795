/* A call of a driver or a registrar on the pool: begun on the loop, ended on the loop. */
#ifndef BERTH_PLUGINS_CSI_POOLED_CALL_H
#define BERTH_PLUGINS_CSI_POOLED_CALL_H

#include "io/pool.h"
#include "plugins/csi/csi_int.h"

struct csi_pooled;

/* On the loop, once. *answer is NULL when r is negative; who wants to keep it takes it. */
typedef void csi_pooled_fn(void *ctx, int r, ProtobufCMessage **answer, const struct error *err);

struct csi_pooled_options {
    struct pool *pool;
    enum csi_method method; /* one without a request of its own, or CSI_REGISTRATION_NOTIFY */
    const char *socket;
    uint64_t limit_ns;
    const char *refusal; /* of a notification: why not; NULL: all is well */
    csi_pooled_fn *done;
    void *ctx;
};

int csi_pooled_begin(const struct csi_pooled_options *o, struct csi_pooled **ret, struct error *err);
/* Done is not called any more. What runs is told to end, and ends by itself, which pool_free() waits for.
 * Takes NULL; not from within done. */
struct csi_pooled *csi_pooled_drop(struct csi_pooled *c);

#endif
