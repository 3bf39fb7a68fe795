/* Directories of pods that are no more: looked for, and removed by the rules of pod_dir.h. What stays is
 * counted, and told with the reason. */
#ifndef BERTH_NODE_ORPHANS_H
#define BERTH_NODE_ORPHANS_H

#include "io/pool.h"
#include "machinery/parts.h"
#include "node/pod_dir.h"

struct orphans;

enum pod_hold {
    POD_HOLD_NONE,
    POD_HOLD_VOLUMES, /* nobody knows it, and a volume of it may be mounted: stays, and counts as a failure */
    POD_HOLD_KNOWN,   /* it is known, or runs */
};

struct orphans_options {
    struct part_options part;
    struct pool *pool;
    const struct volume_env *env;                          /* without stop; copied for each look */
    enum pod_hold (*hold)(void *ctx, const char *pod_uid); /* asked on the loop */
    void *ctx;
};

int orphans_new(const struct orphans_options *o, struct orphans **ret, struct error *err);
/* Takes NULL. */
struct orphans *orphans_free(struct orphans *o);
DEFINE_CLEANUP(struct orphans, orphans_free)

/* The first look; then one each time it is asked for, and where something could not be removed after a while.
 * Two looks are two seconds apart at least: what is asked for in between is one. */
void orphans_start(struct orphans *o);
void orphans_look(struct orphans *o);

#endif
