/* Finding a plugin: by a volume, by name. What it can do its tables say. The texts of failure are the API's.
 *
 * A registry has the plugins that are compiled in and those that a prober finds while the program runs; each
 * search lets the prober say first what came and went. A name that a search gives is borrowed from the
 * registry and lives until the next search: whoever keeps it takes plugin_ref(). */
#ifndef BERTH_PLUGINS_REGISTRY_H
#define BERTH_PLUGINS_REGISTRY_H

#include "plugins/plugin.h"

/* Ends with NULL: those that the controllers use. */
extern const struct volume_plugin *const plugins_builtin[];
/* Ends with NULL: those that are attached. */
extern const struct volume_plugin *const plugins_attachable[];
/* Ends with NULL: those of a node. */
extern const struct volume_plugin *const plugins_of_node[];

/* --- What a plugin can do: the tables that it has --- */

/* ERR_UNSUPPORTED `no deletable volume plugin matched` (what: "deletable") for a table that is not there. */
int plugin_require(const void *table, const char *what, struct error *err);
/* It has the table and wants this volume. Pure. */
bool plugin_attaches(const struct volume_plugin *p, const struct volume_spec *s);
bool plugin_mounts_devices(const struct volume_plugin *p, const struct volume_spec *s);

/* --- Among a list that ends with NULL --- */

/* ERR_NOT_FOUND `no volume plugin matched`, ERR_CONFLICT `multiple volume plugins matched: a,b`. Pure. */
int plugins_by_source(const struct volume_plugin *const *all, const struct volume_spec *s,
                      const struct volume_plugin **ret, struct error *err);
/* ERR_NOT_FOUND `no volume plugin matched name: N`. Pure. */
int plugins_by_name(const struct volume_plugin *const *all, const char *name,
                    const struct volume_plugin **ret, struct error *err);

/* --- In a registry --- */

struct plugin_registry;

struct plugin_event {
    const char *name;             /* of the plugin */
    struct volume_plugin *plugin; /* new or changed, the receiver's; NULL: gone */
};

/* Says what came and went. */
struct plugin_prober {
    /* Events since the last call, in *ret, which the prober keeps until the next. Those that come with an
     * error count too. From the loop; must not block for long. */
    int (*probe)(struct plugin_prober *self, struct plugin_event **ret, size_t *ret_count, struct error *err);
    /* True while it is not known yet what the plugin of that name can do. Pure. NULL: never. */
    bool (*awaits)(struct plugin_prober *self, const char *name);
};

/* Plugins whose name is no qualified name or is there already are left out, which registry_complaint() says;
 * the others load. prober: NULL for none; borrowed. */
int registry_new(const struct volume_plugin *const *all, struct plugin_prober *prober,
                 struct plugin_registry **ret, struct error *err);
/* One more that is not compiled in as a constant: kept until registry_free(). ERR_INVALID, ERR_EXISTS. */
int registry_add(struct plugin_registry *g, const struct volume_plugin *p, struct error *err);
struct plugin_registry *registry_free(struct plugin_registry *g);
DEFINE_CLEANUP(struct plugin_registry, registry_free)

/* Both: ERR_UNAVAILABLE of a plugin that has not said yet what it can do. It will be there or not found in a
 * moment. s NULL: `could not find plugin because volume spec is nil`. */
int registry_by_spec(struct plugin_registry *g, const struct volume_spec *s, const struct volume_plugin **ret,
                     struct error *err);
int registry_by_name(struct plugin_registry *g, const char *name, const struct volume_plugin **ret,
                     struct error *err);
/* One for PersistentVolumes. `could not find volume plugin for spec: NAME`, `no persistent volume plugin
 * matched`. */
int registry_persistent_by_spec(struct plugin_registry *g, const struct volume_spec *s,
                                const struct volume_plugin **ret, struct error *err);
/* One that expands, or NULL. A FlexVolume whose driver is not here has one that leaves it to its nodes. */
int registry_expandable_by_spec(struct plugin_registry *g, const struct volume_spec *s,
                                const struct volume_plugin **ret, struct error *err);
/* Calls fn with the limits of all plugins that have any. */
void registry_each_limit(struct plugin_registry *g, void (*fn)(void *ctx, const char *key, uint32_t count),
                         void *ctx);
/* Which plugins cannot be used and why: of those that are compiled in, and of the last probe. "" for nothing;
 * lives until the next search. */
const char *registry_complaint(const struct plugin_registry *g);

/* `PLUGIN/NAME`: for attachable and device-mountable plugins what the plugin calls the volume, else the pod's
 * uid and the volume's name. */
int registry_unique_name(const struct volume_plugin *p, const struct volume_spec *s, const char *pod_uid,
                         struct buf *ret, struct error *err);
/* The two parts of a unique name, at its second slash. ERR_INVALID. */
int unique_name_split(const char *name, struct str *ret_plugin, struct str *ret_volume, struct error *err);

#endif
