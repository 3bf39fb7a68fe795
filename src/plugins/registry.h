/* Finding a plugin: by a volume's source, by name, by what it can do. The texts of failure are the API's. */
#ifndef BERTH_PLUGINS_REGISTRY_H
#define BERTH_PLUGINS_REGISTRY_H

#include "plugins/plugin.h"

/* Ends with NULL: those that the controllers use. */
extern const struct volume_plugin *const plugins_builtin[];

enum plugin_ability { PLUGIN_ANY, PLUGIN_PROVISIONS, PLUGIN_DELETES, PLUGIN_RECYCLES };

/* ERR_NOT_FOUND `no volume plugin matched`, ERR_CONFLICT `multiple volume plugins matched: a,b`,
 * ERR_UNSUPPORTED `no deletable volume plugin matched`. Pure. */
int plugins_by_source(const struct volume_plugin *const *all, const struct volume_source *s,
                      enum plugin_ability a, const struct volume_plugin **ret, struct error *err);
/* ERR_NOT_FOUND `no volume plugin matched name: N`, ERR_UNSUPPORTED `no provisionable volume plugin matched`.
 * Pure. */
int plugins_by_name(const struct volume_plugin *const *all, const char *name, enum plugin_ability a,
                    const struct volume_plugin **ret, struct error *err);

#endif
