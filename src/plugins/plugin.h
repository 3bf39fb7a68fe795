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
    const char *mount_dir;     /* where exports are mounted to be scrubbed; NULL: /run/berth/recycle */
    const char *commands_path; /* the PATH of mount and umount; NULL: the system's. Tests set both */
};

/* Work under way. Embedded by its owner, zeroed; stays where it is until done or dropped. */
struct plugin_op {
    /* Once, from the loop, never from within the call that began the work. May free op. */
    void (*done)(struct plugin_op *op, int r, const struct error *err);
    /* Of a provision that went well: a JSON object that holds what the plugin decides of the
     * PersistentVolume: {"metadata": {"annotations": {...}}, "spec": {...}} without claimRef, class and
     * reclaim policy. Of whoever begins it, initialised and empty. */
    struct buf volume;

    /* The plugin's. */
    void (*drop)(struct plugin_op *op);
    void *work;
    struct deferred later; /* a failure that waits to be told, and */
    struct error failure;  /* its words */
};

/* Ends the interest in the work: done is not called any more, and op may go. What has not started does not;
 * what runs is told to stop and ends on the pool by itself, which pool_free() waits for. Nothing is armed or
 * deferred for it afterwards. Takes an op that was never begun or is done. */
static inline void plugin_op_drop(struct plugin_op *op)
{
    if (op->drop)
        op->drop(op);
}

struct provision_request {
    const char *volume_name;
    const struct claim *claim;
    const struct storage_class *class;
    const struct node *node; /* selected; NULL for none */
};

struct provision_table {
    /* May it provision at all: ERR_DENIED and the words. Pure. Of the claim nothing is judged here, since
     * what is wrong with a claim is told as a failed provision. */
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
