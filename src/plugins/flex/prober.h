/* Finds FlexVolume drivers in a directory while the program runs: DIR/VENDOR~DRIVER/DRIVER.
 *
 * The `init` of a driver reports its capabilities and blocks, so a probe never waits for it: it starts the
 * calls on the pool, one at a time per driver, and reports a driver at the first probe after its response.
 * Until then the old driver of a replaced one is used, and for a new one the registry reports that it is not
 * initialized. Removals are reported immediately.
 *
 * Names that begin with '.' are ignored: a driver is installed under such a name and then renamed. A driver
 * that fails (incomplete copy, no executable) is reported and retried at every probe, independent of the
 * others. Any change in its directory makes a driver a new plugin, without remembered "Not supported"
 * commands; so a driver must keep its own files under names that begin with '.'.
 *
 * Costs: one inotify instance for the directory and for each driver; a probe without changes walks over the
 * few drivers; a hanging `init` occupies one worker of the pool. */
#ifndef BERTH_PLUGINS_FLEX_PROBER_H
#define BERTH_PLUGINS_FLEX_PROBER_H

#include "base/cleanup.h"
#include "host/mount_syscall.h"
#include "io/loop.h"
#include "io/pool.h"
#include "plugins/registry.h"

#define FLEX_DIR "/usr/libexec/kubernetes/kubelet-plugins/volume/exec"

struct flex_prober;

/* Starts `init` of the existing drivers. dir is absolute. If it does not exist it is created (`error
 * (re-)creating driver directory: …`) or, without makes_dir, awaited: its parents may be missing too. tools
 * without stop. After an error the caller continues without a prober: a registry accepts NULL. */
int flex_prober_new(struct loop *l, struct pool *pool, const char *dir, bool makes_dir,
                    const struct host_tools *tools, struct flex_prober **ret, struct error *err);
/* Running calls of drivers are stopped (io/job.h). Free the registry that borrows the prober before, and the
 * pool after this. Accepts NULL. */
struct flex_prober *flex_prober_free(struct flex_prober *p);
DEFINE_CLEANUP(struct flex_prober, flex_prober_free)

/* For registry_new(). */
struct plugin_prober *flex_prober_of(struct flex_prober *p);

#endif
