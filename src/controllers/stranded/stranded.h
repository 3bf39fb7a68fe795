/* Local volumes that no node can reach: their node was removed, or never came.
 *
 * After STRANDED_NS without a node that matches its affinity a volume, and the claim that has it, get the
 * warning NodeGone, and again every STRANDED_REPEAT_NS, since events are not kept for ever. When such a node
 * is there again both are told NodeBack. Nothing is written but events.
 *
 * A volume is looked at when it or a node of its host names changes: O(1) for affinities that name hosts, as
 * those of local volumes do; O(nodes) for others. What was seen is kept in memory alone: after a start the
 * time counts from there. */
#ifndef BERTH_CONTROLLERS_STRANDED_STRANDED_H
#define BERTH_CONTROLLERS_STRANDED_STRANDED_H

#include "machinery/component_deps.h"

#define STRANDED_NS (300 * NS_PER_S)
#define STRANDED_REPEAT_NS (1800 * NS_PER_S)

struct stranded;

int stranded_new(const struct component_deps *o, struct stranded **ret, struct error *err);
void stranded_start(struct stranded *s);
/* NULL when what it has in memory fits together, else what does not. For the simulator. */
const char *stranded_check(const struct stranded *s);
struct stranded *stranded_free(struct stranded *s);
DEFINE_CLEANUP(struct stranded, stranded_free)

#endif
