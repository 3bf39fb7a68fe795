/* Metrics of an API client: requests, retries, latency and rate limiting, under the names that all Kubernetes
 * clients use (rest_client_*). */
#ifndef BERTH_MACHINERY_CLIENT_METRICS_H
#define BERTH_MACHINERY_CLIENT_METRICS_H

#include "base/cleanup.h"
#include "base/error.h"
#include "client/client.h"
#include "machinery/metrics.h"

struct client_metrics;

/* host: "10.0.0.1:6443", copied. One per registry, because the families are registered here. */
int client_metrics_new(struct metrics *registry, const char *host, struct client_metrics **ret,
                       struct error *err);
/* After the client has been freed. Accepts NULL. */
struct client_metrics *client_metrics_free(struct client_metrics *m);
DEFINE_CLEANUP(struct client_metrics, client_metrics_free)

/* For client_options.observer. */
const struct client_observer *client_metrics_observer(const struct client_metrics *m);

#endif
