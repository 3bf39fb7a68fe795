/* The mount options of a volume: the old annotation's, which win as a whole, else the spec's; and ours. */
#ifndef BERTH_PLUGINS_OPTIONS_H
#define BERTH_PLUGINS_OPTIONS_H

#include "base/arena.h"
#include "plugins/plugin.h"

/* Without options of its own, ours come as they are; else all of them sorted, each once. ours: ends with
 * NULL. */
int volume_mount_options(struct arena *a, const struct volume_spec *s, const char *const *ours,
                         struct texts *ret, struct error *err);
/* `mount options are not supported for this volume type`. Pure. */
int volume_check_mount_options(const struct volume_plugin *p, const struct volume_spec *s, struct error *err);
/* `no matching NodeSelectorTerms`: the volume cannot be reached from the node. Pure. */
int volume_check_node(const struct volume_spec *s, const struct node *n, struct error *err);

#endif
