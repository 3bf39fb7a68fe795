/* Expansion: a bound claim that asks for more gets it.
 *
 * The plugin of the volume makes it larger; where the file system on it must grow too, that is the node's,
 * and the claim says so until it is done. What was begun is written down first (status.allocatedResources),
 * so that whoever goes on after a crash or a failure aims at the same size. Volumes that no plugin here
 * expands belong to an external controller; the claim is told. For local, hostPath and NFS volumes none will
 * come: whoever has grown the storage raises the capacity of the volume, and the claim follows. */
#ifndef BERTH_CONTROLLERS_EXPAND_EXPAND_H
#define BERTH_CONTROLLERS_EXPAND_EXPAND_H

#include "api/volume.h"
#include "machinery/parts.h"

struct expand;

/* An expansion that a plugin carries out. Embedded by its owner; stays where it is until the end. */
struct expand_op {
    /* The end, once, on the loop: r is 0 or -ERR_*, err its words (may be NULL when r is 0). `size` is what
     * the volume has now. May come from inside expand_plugin.expand(). */
    void (*done)(struct expand_op *op, int r, const struct error *err);
    struct quantity size; /* set by the plugin when r is 0; at first what was asked for */
    void *work;           /* the plugin's */
};

struct expand_plugin {
    const char *name; /* "kubernetes.io/flexvolume" */
    /* True when the plugin serves this source. Pure. */
    bool (*can_support)(const struct volume_source *s);
    /* Makes the storage behind the volume `to` large, which it may be already. v lives until the end. */
    void (*expand)(const struct volume *v, const struct quantity *to, const struct quantity *from,
                   struct expand_op *op);
    /* Nobody waits any more: done must not come. What was begun may go on. NULL where expand() ends at once.
     */
    void (*cancel)(struct expand_op *op);
    /* The file system has to grow on the node afterwards; never so for block volumes. */
    bool needs_fs_resize;
};

/* Whether no controller makes such a volume larger, here or outside. Pure. */
bool expand_is_by_hand(const struct volume *v);

/* Ends with NULL. FlexVolume grows on the node alone: nothing to do here but to say so. */
extern const struct expand_plugin *const expand_plugins_builtin[];

/* The plugins end with NULL and are borrowed. */
int expand_new(const struct part_options *o, const struct expand_plugin *const *plugins, struct expand **ret,
               struct error *err);
void expand_start(struct expand *e);
struct expand *expand_free(struct expand *e);
DEFINE_CLEANUP(struct expand, expand_free)

#endif
