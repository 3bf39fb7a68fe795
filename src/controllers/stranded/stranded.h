/* Reports local volumes that no node can reach, because their node was removed or never registered.
 *
 * When for STRANDED_NS no node has matched its affinity, the volume and its claim get the warning event
 * NodeGone, repeated every STRANDED_REPEAT_NS, because events expire. When a node matches again, both get the
 * event NodeBack. Only events are written.
 *
 * A volume is checked when it or a node with one of its host names changes: O(1) for affinities with host
 * names, which local volumes have; O(nodes) for others. The state is only in memory: after a restart the time
 * starts again. */
#ifndef BERTH_CONTROLLERS_STRANDED_STRANDED_H
#define BERTH_CONTROLLERS_STRANDED_STRANDED_H

#include "machinery/component_deps.h"

#define STRANDED_NS (300 * NS_PER_S)
#define STRANDED_REPEAT_NS (1800 * NS_PER_S)

struct stranded;

int stranded_new(const struct component_deps *o, struct stranded **ret, struct error *err);
void stranded_start(struct stranded *s);
/* NULL if the state in memory is consistent, else what is wrong. For the simulator. */
const char *stranded_check(const struct stranded *s);
struct stranded *stranded_free(struct stranded *s);
DEFINE_CLEANUP(struct stranded, stranded_free)

#endif
