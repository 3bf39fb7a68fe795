/* How much of each mounted volume is used: asked of its plugin on a worker, once a minute, spread over it.
 * Given out as JSON and as the kubelet's series for claims; of a block volume, how large its device is.
 *
 * What cannot say, because its plugin does not count or the call failed, has no numbers and no series: none
 * that are old. A volume that hangs keeps one of few workers that are lent to this, and no more: when all of
 * them hang, numbers get old and nothing else waits. */
#ifndef BERTH_NODE_STATS_H
#define BERTH_NODE_STATS_H

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"

#define STATS_PERIOD_NS (60 * NS_PER_S)
/* Workers at a time. */
#define STATS_JOBS_MAX 2

struct agent;
struct stats;

int stats_new(struct agent *a, struct stats **ret, struct error *err);
/* Takes NULL. */
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
