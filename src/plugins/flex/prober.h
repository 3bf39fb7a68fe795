/* Finds FlexVolume drivers in a directory while the program runs: DIR/VENDOR~DRIVER/DRIVER.
 *
 * Every driver says at its `init` what it can do, and that blocks: a probe never waits for it. It begins the
 * calls on the pool, one at a time for each driver, and reports a driver at the first probe after its answer.
 * Until then a driver that is being replaced is the old one, and of a new one the registry says that it is
 * awaited. Removal is seen at once.
 *
 * What begins with '.' is not there: a driver is installed under such a name and then renamed. One that fails
 * (half a copy, no executable) is complained of and tried again at every probe; the others are not held up.
 * Any change in its directory makes a driver a new plugin, whose memory of what it does not support is empty;
 * so a driver keeps its own files under names that begin with '.'.
 *
 * Costs: an inotify instance for the directory and for each driver; a probe without news is a walk over the
 * drivers, of which there are few; a driver whose `init` hangs keeps a worker of the pool busy. */
#ifndef BERTH_PLUGINS_FLEX_PROBER_H
#define BERTH_PLUGINS_FLEX_PROBER_H

#include "base/cleanup.h"
#include "host/mount.h"
#include "io/loop.h"
#include "io/pool.h"
#include "plugins/registry.h"

#define FLEX_DIR "/usr/libexec/kubernetes/kubelet-plugins/volume/exec"

struct flex_prober;

/* Begins to ask the drivers that are there. dir is absolute. While it is not there it is made (`error
 * (re-)creating driver directory: …`), or, without makes_dir, waited for: its parents may be missing too.
 * tools without stop. Whoever gets an error goes on without a prober: a registry takes NULL. */
int flex_prober_new(struct loop *l, struct pool *pool, const char *dir, bool makes_dir,
                    const struct host_tools *tools, struct flex_prober **ret, struct error *err);
/* Calls of drivers that run are told to end (io/job.h); the pool is freed after this, the registry that
 * borrows the prober before. Takes NULL. */
struct flex_prober *flex_prober_free(struct flex_prober *p);
DEFINE_CLEANUP(struct flex_prober, flex_prober_free)

/* For registry_new(). */
struct plugin_prober *flex_prober_of(struct flex_prober *p);

#endif
