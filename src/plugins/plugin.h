/* What a volume plugin can do: one table a capability, absent ones NULL.
 *
 * A plugin is a constant. Its functions say what they may do: pure ones run on the loop; work is begun on the
 * loop, goes to the pool, and ends in plugin_op's done on the loop, once. Everything that work does can be
 * repeated after a crash. Specs are immutable objects; whoever needs one longer takes a reference. */
#ifndef BERTH_PLUGINS_PLUGIN_H
#define BERTH_PLUGINS_PLUGIN_H

#include <stdbool.h>
#include <stdint.h>

#include "api/claim.h"
#include "api/class.h"
#include "api/node.h"
#include "api/volume.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "io/loop.h"
#include "io/pool.h"

/* How a failed work left things; ERR codes say it: ERR_BUSY is "still in use, later" (a Normal event),
 * ERR_TIMEOUT "may still be going on", all others "it is over, and not done". */

/* What plugins are given. */
struct plugin_host {
    struct loop *loop;
    struct pool *pool; /* for what blocks */
    /* Where the hostPath provisioner may make and delete directories; NULL: /tmp/hostpath_pv. Tests set it.
     */
    const char *host_path_dir;
    bool provisions_host_path; /* --enable-hostpath-provisioner */
};

/* Work under way. Embedded by its owner, zeroed; stays where it is until done. */
struct plugin_op {
    void (*done)(struct plugin_op *op, int r, const struct error *err);
    /* Of a provision: the spec of the new volume's source and what else the plugin decides, as members of a
     * PersistentVolume's JSON ("spec": {...} without claimRef, class and reclaim policy; annotations). */
    struct buf volume; /* of whoever begins it */
    void *work;        /* the plugin's */
};

struct provision_request {
    const char *volume_name;
    const struct claim *claim;
    const struct storage_class *class;
    const struct node *node; /* selected; NULL for none */
};

struct provision_table {
    /* Refuses what can be refused beforehand: ERR_UNSUPPORTED, ERR_DENIED and their words. Pure. */
    int (*check)(const struct plugin_host *h, const struct provision_request *q, struct error *err);
    /* Makes the volume's storage. */
    void (*provision)(const struct plugin_host *h, const struct provision_request *q, struct plugin_op *op);
};

struct delete_table {
    /* Removes the storage behind a volume; one that is not there is done. */
    void (*remove)(const struct plugin_host *h, const struct volume *v, struct plugin_op *op);
};

struct recycle_table {
    /* Empties it for the next user. */
    void (*recycle)(const struct plugin_host *h, const struct volume *v, struct plugin_op *op);
};

struct volume_plugin {
    const char *name; /* "kubernetes.io/host-path" */
    /* True when the plugin serves this source. Looks at which source is set and nothing else. Pure. */
    bool (*can_support)(const struct volume_source *s);
    bool takes_mount_options;
    const struct provision_table *provision;
    const struct delete_table *remove;
    const struct recycle_table *recycle;
};

#endif
