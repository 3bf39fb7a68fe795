/* Directories of pods that are no more: removed once nothing is mounted beneath, and never with data in them.
 *
 * Volumes' directories go by rmdir alone: a file that was left in one blocks the removal and is told, instead
 * of being lost. */
#ifndef BERTH_NODE_ORPHANS_H
#define BERTH_NODE_ORPHANS_H

#include "io/pool.h"
#include "machinery/parts.h"
#include "plugins/plugin.h"

struct orphans;

struct orphans_options {
    struct part_options part;
    struct pool *pool;
    const struct volume_env *env; /* without stop */
    /* The pod is known, runs, or a volume of it may be mounted: its directory stays. Asked on the loop. */
    bool (*is_held)(void *ctx, const char *pod_uid);
    void *ctx;
};

int orphans_new(const struct orphans_options *o, struct orphans **ret, struct error *err);
/* Takes NULL. */
struct orphans *orphans_free(struct orphans *o);
DEFINE_CLEANUP(struct orphans, orphans_free)

/* The first look; then one each time it is asked for, and where something could not be removed after a while,
 * at most every two seconds. */
void orphans_start(struct orphans *o);
void orphans_look(struct orphans *o);

/* Removes the directory of one pod, by the rules above. One that is not there is done. Blocks: for the pool.
 * `orphaned pod "U" found, but …`. */
int pod_dir_remove(const struct volume_env *env, const char *pod_uid, struct error *err);

#endif
