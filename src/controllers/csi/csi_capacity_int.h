/* The publisher of capacity: shared by csi_capacity_plan.c (which objects there should be),
 * csi_capacity_refresh.c (one object, from GetCapacity to the write) and csi_capacity.c (queues and life
 * cycle). */
#ifndef BERTH_CONTROLLERS_CSI_CSI_CAPACITY_INT_H
#define BERTH_CONTROLLERS_CSI_CSI_CAPACITY_INT_H

#include "api/csi_objects.h"
#include "base/map.h"
#include "controllers/csi/csi_capacity.h"
#include "plugins/csi/csi_int.h"

#define CSI_CAPACITY_MANAGER "external-provisioner"
#define CSI_CAPACITY_NAME_BYTES 64

struct capacity_refresh;

/* One object that should exist; in the arena of the plan. */
struct capacity_item {
    const char *class_name;
    struct kvs segment;
    char name[CSI_CAPACITY_NAME_BYTES];
};

struct capacity_plan {
    struct arena arena;
    struct map items; /* by name */
};

struct csi_capacity_publisher {
    struct csi_function_options o;
    struct informer *capacities, *classes, *nodes, *csi_nodes, *drivers;
    struct informer *pods; /* NULL: the process is in no pod */
    struct informer_handler on_capacities, on_classes, on_nodes, on_csi_nodes, on_drivers;
    struct api api;
    struct controller *refreshes, *removals;
    char queue_names[2][CSI_QUEUE_BYTES];
    struct capacity_plan plan;
    struct hash_seed seed;
    struct deferred replan;
    struct timer poll;
    TAILQ_HEAD(, capacity_refresh) works;
    struct metric *goal, *current, *obsolete; /* NULL: not counted */
    bool is_truncated;                        /* the plan has more items than are published */
    char managed_by[CSI_MANAGER_BYTES];
};

static inline const struct csi_capacity *csi_capacity_of(const struct object *o)
{
    return (const struct csi_capacity *)(const void *)o;
}

static inline const struct storage_class *csi_class_of(const struct object *o)
{
    return (const struct storage_class *)(const void *)o;
}

/* --- Which objects there should be (csi_capacity_plan.c) --- */

void csi_capacity_plan_init(const struct csi_capacity_publisher *p, struct capacity_plan *plan);
void csi_capacity_plan_done(struct capacity_plan *plan);
/* From the caches. *ret_wanted: also counts the items for which there is no room. */
int csi_capacity_plan_fill(const struct csi_capacity_publisher *p, struct capacity_plan *plan,
                           size_t *ret_wanted, struct error *err);

/* The item that an object is about, and the object of an item; NULL: none. */
const struct capacity_item *csi_capacity_find_item(const struct csi_capacity_publisher *p,
                                                   const struct object *o);
const struct object *csi_capacity_find_object(const struct csi_capacity_publisher *p, const char *name);
bool csi_capacity_has_labels(const struct csi_capacity_publisher *p, const struct object *o);
/* Ours by its labels, or because it has the name of an item. */
bool csi_capacity_is_ours(const struct csi_capacity_publisher *p, const struct object *o);
/* Of an object that is ours: not the one of its item. */
bool csi_capacity_is_obsolete(const struct csi_capacity_publisher *p, const struct object *o);

/* --- One object (csi_capacity_refresh.c) --- */

/* The sync of the queue of refreshes; ctx: the publisher. */
enum sync_result csi_capacity_refresh(void *ctx, struct str key);
/* Ends without a callback. */
void csi_capacity_refresh_free(struct capacity_refresh *w);

#endif
