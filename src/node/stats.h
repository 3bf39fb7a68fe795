/* How much of each mounted volume is used: asked of its plugin on a worker, once a minute, spread over it.
 * Given out as JSON and as the kubelet's series for claims. */
#ifndef BERTH_NODE_STATS_H
#define BERTH_NODE_STATS_H

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"

#define STATS_PERIOD_NS (60 * NS_PER_S)

struct agent;
struct stats;

int stats_new(struct agent *a, struct stats **ret, struct error *err);
/* Takes NULL. */
struct stats *stats_free(struct stats *s);
DEFINE_CLEANUP(struct stats, stats_free)

void stats_start(struct stats *s);
/* {"node": …, "pods": [{"podRef": …, "volumes": [{"name", "claim", "capacityBytes", …}]}]} */
void stats_write(const struct stats *s, struct buf *out);

#endif
