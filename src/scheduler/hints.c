/* Handlers of cache events: they update the tables, check the bindings in progress, and requeue unschedulable
 * pods when the event may satisfy the filter that rejected them.
 *
 * An event costs O(number of unschedulable pods) at most. */
#include "scheduler/scheduler_int.h"

#include <string.h>

#include "api/pod_claims.h"
#include "base/log.h"
#include "volumes/match.h"

#define BIT(filter) (1U << (filter))
#define FILTERS_OF_VOLUMES \
    (BIT(FILTER_RESTRICTIONS) | BIT(FILTER_LIMITS) | BIT(FILTER_BINDING) | BIT(FILTER_ZONE))
#define FILTERS_OF_NODES (BIT(FILTER_COUNT) - 1)

static void check_memory(int r, const char *what)
{
    if (r < 0)
        log_error("out of memory, change ignored by scheduler", LOG_STR("object", what));
}

/* --- Requeueing pods --- */

static bool helps_filters(void *ctx, const struct queued_pod *queued)
{
    return (queued->filters & *(const uint32_t *)ctx) != 0;
}

static void requeue_rejected_by(struct scheduler *s, uint32_t filters)
{
    queue_requeue(&s->queue, helps_filters, &filters);
}

struct claim_help {
    const struct claim *claim;
    uint32_t filters;
};

static bool uses_claim(const struct pod *p, const struct claim *c)
{
    if (strcmp(p->obj.ns, c->obj.ns) != 0)
        return false;
    for (uint32_t i = 0; i < p->volumes.count; i++) {
        const char *name = pod_claim_name(&p->volumes.items[i]);

        if (name && strcmp(name, c->obj.name) == 0)
            return true;
    }
    return false;
}

static bool helps_claim(void *ctx, const struct queued_pod *queued)
{
    const struct claim_help *h = ctx;

    return queued->filters & h->filters && uses_claim(queued->pod, h->claim);
}

/* A volume can help a pod if its claim is bound to it, or if its claim is unbound and of the same class. */
struct volume_help {
    const struct scheduler *s;
    const struct volume *volume;
    uint32_t filters;
};

static bool volume_concerns(const struct volume_help *h, const struct claim *c)
{
    if (c->volume_name[0])
        return strcmp(c->volume_name, h->volume->obj.name) == 0;
    return strcmp(c->class, h->volume->class) == 0 || volume_is_for(h->volume, c);
}

static bool helps_volume(void *ctx, const struct queued_pod *queued)
{
    const struct volume_help *h = ctx;

    for (uint32_t i = 0; queued->filters & h->filters && i < queued->pod->volumes.count; i++) {
        const char *name = pod_claim_name(&queued->pod->volumes.items[i]);
        const struct claim *c = name ? cached_claim(h->s, queued->pod->obj.ns, name) : NULL;

        if (c && volume_concerns(h, c))
            return true;
    }
    return false;
}

/* --- Pods --- */

bool scheduler_handles_pod(const struct scheduler *s, const struct pod *p)
{
    return p->node_name[0] == '\0' && strcmp(p->scheduler_name, s->o.name) == 0 &&
           p->phase != POD_SUCCEEDED && p->phase != POD_FAILED && p->scheduling_gates_count == 0;
}

/* Servers that count generations change it with the spec; on older ones only tolerations can be added and
 * gates removed. */
static bool pod_changed(const struct pod *old, const struct pod *p)
{
    return old->obj.generation != p->obj.generation || !kvs_equal(&old->obj.labels, &p->obj.labels) ||
           old->tolerations.count != p->tolerations.count ||
           old->scheduling_gates_count != p->scheduling_gates_count;
}

static void update_pod(struct scheduler *s, const struct pod *p, bool is_changed)
{
    check_memory(nodes_put_pod(&s->nodes, p), p->obj.name);
    if (!scheduler_handles_pod(s, p))
        queue_remove(&s->queue, p->obj.uid);
    else if (queue_get(&s->queue, p->obj.uid) || !nodes_placed(&s->nodes, p->obj.uid))
        queue_put(&s->queue, p, is_changed);
    /* Otherwise we bound it, and this version is older than the binding. */
}

/* A pod no longer occupies its node: resources, disks, claims and volumes of drivers are free again. */
static void requeue_for_removed_pod(struct scheduler *s)
{
    requeue_rejected_by(s, BIT(FILTER_RESOURCES) | BIT(FILTER_RESTRICTIONS) | BIT(FILTER_LIMITS));
}

/* The same for an assumed node and assumed volumes. */
void hints_on_released(struct scheduler *s)
{
    requeue_rejected_by(s, BIT(FILTER_RESOURCES) | BIT(FILTER_RESTRICTIONS) | BIT(FILTER_LIMITS) |
                               BIT(FILTER_BINDING));
}

static void on_pod_add(void *ctx, const struct object *o, bool is_initial)
{
    (void)is_initial;
    update_pod(ctx, pod_of(o), /* is_changed= */ true);
}

static void on_pod_update(void *ctx, const struct object *old, const struct object *o)
{
    struct scheduler *s = ctx;
    bool had_place = nodes_placed(&s->nodes, o->uid);

    if (strcmp(old->uid, o->uid) != 0) { /* another pod with that name */
        nodes_remove_pod(&s->nodes, old->uid);
        queue_remove(&s->queue, old->uid);
        bindings_recheck_pod(s, old->uid);
        requeue_for_removed_pod(s);
    }
    update_pod(s, pod_of(o), pod_changed(pod_of(old), pod_of(o)));
    if (had_place && !nodes_placed(&s->nodes, o->uid))
        requeue_for_removed_pod(s);
}

static void on_pod_delete(void *ctx, const struct object *o, bool is_final_unknown)
{
    struct scheduler *s = ctx;
    bool had_place = nodes_placed(&s->nodes, o->uid);

    (void)is_final_unknown;
    nodes_remove_pod(&s->nodes, o->uid);
    queue_remove(&s->queue, o->uid);
    bindings_recheck_pod(s, o->uid);
    if (had_place)
        requeue_for_removed_pod(s);
}

/* --- Nodes --- */

static void on_node_add(void *ctx, const struct object *o, bool is_initial)
{
    struct scheduler *s = ctx;

    (void)is_initial;
    check_memory(nodes_put(&s->nodes, node_of(o)), o->name);
    bindings_recheck_node(s, o->name);
    requeue_rejected_by(s, FILTERS_OF_NODES);
}

static bool taints_equal(const struct taints *a, const struct taints *b)
{
    if (a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (a->items[i].effect != b->items[i].effect || strcmp(a->items[i].key, b->items[i].key) != 0 ||
            strcmp(a->items[i].value, b->items[i].value) != 0)
            return false;
    return true;
}

static bool amounts_equal(const struct amounts *a, const struct amounts *b)
{
    if (a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (strcmp(a->items[i].name, b->items[i].name) != 0 ||
            quantity_cmp(&a->items[i].quantity, &b->items[i].quantity) != 0)
            return false;
    return true;
}

static void on_node_update(void *ctx, const struct object *old, const struct object *o)
{
    struct scheduler *s = ctx;
    const struct node *was = node_of(old), *is = node_of(o);
    uint32_t filters = 0;

    check_memory(nodes_put(&s->nodes, is), o->name);
    if (!kvs_equal(&old->labels, &o->labels)) {
        filters |= BIT(FILTER_AFFINITY) | BIT(FILTER_BINDING) | BIT(FILTER_ZONE);
        bindings_recheck_node(s, o->name);
    }
    if (!taints_equal(&was->taints, &is->taints))
        filters |= BIT(FILTER_TAINTS);
    if (was->is_unschedulable && !is->is_unschedulable)
        filters |= BIT(FILTER_UNSCHEDULABLE);
    if (!amounts_equal(&was->allocatable, &is->allocatable))
        filters |= BIT(FILTER_RESOURCES) | BIT(FILTER_LIMITS);
    if (filters)
        requeue_rejected_by(s, filters);
}

static void on_node_delete(void *ctx, const struct object *o, bool is_final_unknown)
{
    struct scheduler *s = ctx;

    (void)is_final_unknown;
    nodes_remove(&s->nodes, o->name);
    bindings_recheck_node(s, o->name);
}

/* --- Volumes --- */

static void update_volume(void *ctx, const struct object *o)
{
    struct scheduler *s = ctx;
    const struct volume *v = volume_of(o);
    struct volume_help h = { .s = s, .volume = v, .filters = BIT(FILTER_BINDING) | BIT(FILTER_ZONE) };
    struct error err;

    (void)assumed_observe_volume(&s->assumed, v);
    check_memory(volume_index_put(s->free, v, &err), v->obj.name);
    bindings_recheck_volume(s, v);
    queue_requeue(&s->queue, helps_volume, &h);
}

static void on_volume_removed(void *ctx, const struct object *o)
{
    struct scheduler *s = ctx;
    const struct assumed_volume *a = assumed_volume(&s->assumed, o->name);

    if (a)
        (void)assumed_release_volume(&s->assumed, o->name, a->pod_uid);
    volume_index_remove(s->free, o->name);
    bindings_recheck_volume(s, volume_of(o));
}

/* --- Claims --- */

static void update_claim(struct scheduler *s, const struct claim *c, uint32_t filters)
{
    struct claim_help h = { c, filters };

    (void)assumed_observe_claim(&s->assumed, c);
    bindings_recheck_claim(s, c);
    queue_requeue(&s->queue, helps_claim, &h);
}

static void on_claim_add(void *ctx, const struct object *o, bool is_initial)
{
    (void)is_initial;
    update_claim(ctx, claim_of(o), FILTERS_OF_VOLUMES);
}

/* Ends the assumptions about the claim. */
static void on_claim_removed(void *ctx, const struct object *o)
{
    struct scheduler *s = ctx;
    const struct assumed_claim *a = assumed_claim(&s->assumed, o->uid);

    if (a)
        (void)assumed_release_claim(&s->assumed, o->uid, a->pod_uid);
    bindings_recheck_claim(s, claim_of(o));
}

static void on_claim_update(void *ctx, const struct object *old, const struct object *o)
{
    bool is_another = strcmp(old->uid, o->uid) != 0;

    if (is_another)
        on_claim_removed(ctx, old);
    update_claim(ctx, claim_of(o), is_another ? FILTERS_OF_VOLUMES : BIT(FILTER_BINDING) | BIT(FILTER_ZONE));
}

/* --- Other kinds: rare events, so that all pods of the filter are requeued --- */

static void on_class_add(void *ctx, const struct object *o, bool is_initial)
{
    (void)o;
    (void)is_initial;
    requeue_rejected_by(ctx, BIT(FILTER_BINDING) | BIT(FILTER_ZONE));
}

static void on_class_update(void *ctx, const struct object *old, const struct object *o)
{
    (void)old;
    (void)o;
    requeue_rejected_by(ctx, BIT(FILTER_BINDING));
}

static void on_csi_node_add(void *ctx, const struct object *o, bool is_initial)
{
    (void)o;
    (void)is_initial;
    requeue_rejected_by(ctx, BIT(FILTER_BINDING) | BIT(FILTER_LIMITS));
}

static void on_csi_node_update(void *ctx, const struct object *old, const struct object *o)
{
    (void)old;
    (void)o;
    requeue_rejected_by(ctx, BIT(FILTER_LIMITS));
}

static void on_driver_update(void *ctx, const struct object *old, const struct object *o)
{
    (void)old;
    (void)o;
    requeue_rejected_by(ctx, BIT(FILTER_BINDING));
}

static void on_capacity(void *ctx, const struct object *o)
{
    (void)o;
    requeue_rejected_by(ctx, BIT(FILTER_BINDING));
}

static void on_attachment_removed(void *ctx, const struct object *o)
{
    (void)o;
    requeue_rejected_by(ctx, BIT(FILTER_LIMITS));
}

/* Nodes, volumes and claims before pods: the first attempt has all of them. */
void hints_install(struct scheduler *s)
{
    static const struct informer_handler handlers[CACHE_KIND_COUNT] = {
        [CACHE_PODS] = { .on_add = on_pod_add, .on_update = on_pod_update, .on_delete = on_pod_delete },
        [CACHE_NODES] = { .on_add = on_node_add, .on_update = on_node_update, .on_delete = on_node_delete },
        [CACHE_VOLUMES] = { .on_upsert = update_volume, .on_removed = on_volume_removed },
        [CACHE_CLAIMS] = { .on_add = on_claim_add,
                           .on_update = on_claim_update,
                           .on_removed = on_claim_removed },
        [CACHE_CLASSES] = { .on_add = on_class_add, .on_update = on_class_update },
        [CACHE_CSI_NODES] = { .on_add = on_csi_node_add, .on_update = on_csi_node_update },
        [CACHE_CSI_DRIVERS] = { .on_update = on_driver_update },
        [CACHE_CAPACITIES] = { .on_upsert = on_capacity },
        [CACHE_ATTACHMENTS] = { .on_removed = on_attachment_removed },
    };

    for (int i = CACHE_KIND_COUNT - 1; i >= 0; i--) {
        s->handlers[i] = handlers[i];
        s->handlers[i].ctx = s;
        informer_add_handler(s->caches[i], &s->handlers[i]);
    }
}
