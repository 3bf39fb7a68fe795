/* The usage of each mounted volume, queried from its plugin on a worker once per minute, spread over the
 * minute. Exported as JSON and as the kubelet's metrics for claims; for a block volume, the size of its
 * device.
 *
 * A volume whose plugin does not report usage, or whose query failed, has no values and no metrics rather
 * than old ones. A hanging volume occupies one of the few workers reserved for this: when all of them hang,
 * values get old, and nothing else is blocked. */
#ifndef BERTH_NODE_STATS_H
#define BERTH_NODE_STATS_H

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"

#define STATS_PERIOD_NS (60 * NS_PER_S)
/* Concurrent queries. */
#define STATS_JOBS_MAX 2

struct agent;
struct stats;

int stats_new(struct agent *a, struct stats **ret, struct error *err);
/* Accepts NULL. */
struct stats *stats_free(struct stats *s);
DEFINE_CLEANUP(struct stats, stats_free)

/* The first round begins within a minute. */
void stats_start(struct stats *s);
/* {"node": "n", "pods": [{"podRef": {"name", "namespace", "uid"}, "volumes": [{"name", "plugin", "path",
 *  "claim": {"name", "namespace"}, "time", "capacityBytes", "availableBytes", "usedBytes", "inodes",
 *  "inodesFree", "inodesUsed"}]}]}
 * with all that is mounted now. claim only for claims; from time on only what is known. Where asking failed,
 * "error" says why. */
void stats_write(const struct stats *s, struct buf *out);

#endif
