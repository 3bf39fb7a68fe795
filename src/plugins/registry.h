/* Finds plugins by volume or by name. The tables of a plugin are its capabilities. Error texts are those of
 * the API.
 *
 * A registry has the built-in plugins and those that a prober finds at run time; each search first asks the
 * prober for changes. A plugin that a search returns is borrowed and valid until the next search: use
 * plugin_ref() to keep it. */
#ifndef BERTH_PLUGINS_REGISTRY_H
#define BERTH_PLUGINS_REGISTRY_H

#include "plugins/plugin.h"

/* Ends with NULL: for the controllers. */
extern const struct volume_plugin *const plugins_builtin[];
/* Ends with NULL: attachable plugins. */
extern const struct volume_plugin *const plugins_attachable[];
/* Ends with NULL: for nodes. */
extern const struct volume_plugin *const plugins_of_node[];

/* --- Capabilities of a plugin --- */

/* ERR_UNSUPPORTED `no deletable volume plugin matched` (what: "deletable") if the table is NULL. */
int plugin_require(const void *table, const char *what, struct error *err);
/* The plugin has the table and handles this volume. Pure. */
bool plugin_attaches(const struct volume_plugin *p, const struct volume_spec *s);
bool plugin_mounts_devices(const struct volume_plugin *p, const struct volume_spec *s);

/* --- Search in a list that ends with NULL --- */

/* ERR_NOT_FOUND `no volume plugin matched`, ERR_CONFLICT `multiple volume plugins matched: a,b`. Pure. */
int plugins_by_source(const struct volume_plugin *const *all, const struct volume_spec *s,
                      const struct volume_plugin **ret, struct error *err);
/* ERR_NOT_FOUND `no volume plugin matched name: N`. Pure. */
int plugins_by_name(const struct volume_plugin *const *all, const char *name,
                    const struct volume_plugin **ret, struct error *err);

/* --- Search in a registry --- */

struct plugin_registry;

struct plugin_event {
    const char *name;             /* of the plugin */
    struct volume_plugin *plugin; /* new or changed, owned by the receiver; NULL: removed */
};

/* Reports plugins that were added or removed. */
struct plugin_prober {
    /* Events since the last call, in *ret, which is valid until the next call. They are valid even with an
     * error. From the loop; must not block for long. */
    int (*probe)(struct plugin_prober *self, struct plugin_event **ret, size_t *ret_count, struct error *err);
    /* True while the capabilities of the plugin of that name are not known yet. Pure. NULL: never. */
    bool (*awaits)(struct plugin_prober *self, const char *name);
};

/* Plugins with an invalid or duplicate name are left out and reported by registry_load_error(). prober: NULL
 * for none; borrowed. */
int registry_new(const struct volume_plugin *const *all, struct plugin_prober *prober,
                 struct plugin_registry **ret, struct error *err);
/* Adds a plugin that is not a constant; kept until registry_free(). ERR_INVALID, ERR_EXISTS. */
int registry_add(struct plugin_registry *g, const struct volume_plugin *p, struct error *err);
struct plugin_registry *registry_free(struct plugin_registry *g);
DEFINE_CLEANUP(struct plugin_registry, registry_free)

/* Both: ERR_UNAVAILABLE for a plugin that is not initialized yet: retry later. s NULL: `could not find plugin
 * because volume spec is nil`. */
int registry_by_spec(struct plugin_registry *g, const struct volume_spec *s, const struct volume_plugin **ret,
                     struct error *err);
int registry_by_name(struct plugin_registry *g, const char *name, const struct volume_plugin **ret,
                     struct error *err);
/* A plugin that can expand, or NULL. For a FlexVolume without a driver here it is one that leaves the work to
 * the nodes. */
int registry_expandable_by_spec(struct plugin_registry *g, const struct volume_spec *s,
                                const struct volume_plugin **ret, struct error *err);
/* Calls fn for the limits of all plugins. */
void registry_each_limit(struct plugin_registry *g, void (*fn)(void *ctx, const char *key, uint32_t count),
                         void *ctx);
/* Which plugins cannot be used, and why: built-in ones and those of the last probe. "" for none; valid until
 * the next search. */
const char *registry_load_error(const struct plugin_registry *g);

/* `PLUGIN/NAME`: for attachable and device-mountable plugins the plugin's name of the volume, else the pod's
 * uid and the volume's name. */
int registry_unique_name(const struct volume_plugin *p, const struct volume_spec *s, const char *pod_uid,
                         struct buf *ret, struct error *err);
/* Splits a unique name at its second slash. ERR_INVALID. */
int unique_name_split(const char *name, struct str *ret_plugin, struct str *ret_volume, struct error *err);

#endif
