/* The sockets of CSI drivers that this process knows, from its node agent and from its settings: for the CSI
 * controllers.
 *
 * On the loop. Costs: O(n) per operation, for a handful of drivers. */
#ifndef BERTH_PLUGINS_CSI_ENDPOINTS_H
#define BERTH_PLUGINS_CSI_ENDPOINTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "io/loop.h"

struct csi_endpoints;

/* Who has named the socket. */
enum csi_endpoint_origin {
    CSI_FROM_NODE,     /* a driver that is registered on this node */
    CSI_FROM_SETTINGS, /* the user, for the controllers */
};

struct csi_known_endpoint {
    enum csi_endpoint_origin origin;
    const char *driver; /* "": not known, any */
    const char *socket;
};

int csi_endpoints_new(struct loop *l, struct csi_endpoints **ret, struct error *err);
struct csi_endpoints *csi_endpoints_free(struct csi_endpoints *e);
DEFINE_CLEANUP(struct csi_endpoints, csi_endpoints_free)

/* Texts are copied. Replaces the entry of the same origin and driver, if the driver is known. */
int csi_endpoints_put(struct csi_endpoints *e, const struct csi_known_endpoint *known, struct error *err);
/* A missing entry is not an error. */
void csi_endpoints_remove(struct csi_endpoints *e, enum csi_endpoint_origin origin, const char *driver);

/* In the order of their first addition: the newest is the last. */
size_t csi_endpoints_count(const struct csi_endpoints *e);
/* Borrowed until the next change. */
const struct csi_known_endpoint *csi_endpoints_at(const struct csi_endpoints *e, size_t i);

/* Called in a later step of the turn, once for any number of changes. There is one reader; fn NULL: none. */
void csi_endpoints_watch(struct csi_endpoints *e, loop_fn fn, void *ctx);

#endif
