/* What the caches tell: the tables are brought up to date, pods on their way look again, and pods that were
 * set aside come back when what happened may help the judge that refused them. */
#include "scheduler/scheduler_int.h"

#include <string.h>

#include "api/pod_claims.h"
#include "base/log.h"
#include "volumes/match.h"

#define BIT(judge) (1U << (judge))
#define JUDGES_OF_VOLUMES (BIT(JUDGE_RESTRICTIONS) | BIT(JUDGE_LIMITS) | BIT(JUDGE_BINDING) | BIT(JUDGE_ZONE))
#define JUDGES_OF_NODES (BIT(JUDGE_COUNT) - 1)

static void must(int r, const char *what)
{
    if (r < 0)
        log_error("no memory, the scheduler will not see it", LOG_STR("object", what));
}

/* --- Moving pods --- */

static bool helps_judges(void *ctx, const struct queued_pod *x)
{
    return (x->judges & *(const uint32_t *)ctx) != 0;
}

static void help(struct scheduler *s, uint32_t judges)
{
    queue_move(&s->queue, helps_judges, &judges);
}

struct claim_help {
    const struct claim *claim;
    uint32_t judges;
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

static bool helps_claim(void *ctx, const struct queued_pod *x)
{
    const struct claim_help *h = ctx;

    return x->judges & h->judges && uses_claim(x->pod, h->claim);
}

/* A volume can help a pod whose claim it belongs to, or whose claim still looks for one of its class. */
struct volume_help {
    const struct scheduler *s;
    const struct volume *volume;
    uint32_t judges;
};

static bool volume_concerns(const struct volume_help *h, const struct claim *c)
{
    if (c->volume_name[0])
        return strcmp(c->volume_name, h->volume->obj.name) == 0;
    return strcmp(c->class, h->volume->class) == 0 || volume_is_for(h->volume, c);
}

static bool helps_volume(void *ctx, const struct queued_pod *x)
{
    const struct volume_help *h = ctx;

    for (uint32_t i = 0; x->judges & h->judges && i < x->pod->volumes.count; i++) {
        const char *name = pod_claim_name(&x->pod->volumes.items[i]);
        const struct claim *c = name ? cached_claim(h->s, x->pod->obj.ns, name) : NULL;

        if (c && volume_concerns(h, c))
            return true;
    }
    return false;
}

/* --- Pods --- */

bool scheduler_wants(const struct scheduler *s, const struct pod *p)
{
    return p->node_name[0] == '\0' && strcmp(p->scheduler_name, s->o.name) == 0 &&
           p->phase != POD_SUCCEEDED && p->phase != POD_FAILED && p->scheduling_gates_count == 0;
}

/* Servers that count generations change it with the spec; older ones let only tolerations grow and gates go.
 */
static bool pod_changed(const struct pod *old, const struct pod *p)
{
    return old->obj.generation != p->obj.generation || !kvs_equal(&old->obj.labels, &p->obj.labels) ||
           old->tolerations.count != p->tolerations.count ||
           old->scheduling_gates_count != p->scheduling_gates_count;
}

static void see_pod(struct scheduler *s, const struct pod *p, bool is_changed)
{
    must(nodes_put_pod(&s->nodes, p), p->obj.name);
    if (!scheduler_wants(s, p))
        queue_remove(&s->queue, p->obj.uid);
    else if (queue_get(&s->queue, p->obj.uid) || !nodes_placed(&s->nodes, p->obj.uid))
        queue_put(&s->queue, p, is_changed);
    /* Else it was bound by us, and this is a version from before that. */
}

/* A pod that had a place has it no more: room, disks, claims and volumes of drivers are free again. */
static void help_of_gone_pod(struct scheduler *s)
{
    help(s, BIT(JUDGE_RESOURCES) | BIT(JUDGE_RESTRICTIONS) | BIT(JUDGE_LIMITS));
}

/* The same of a node that was promised, and of volumes. */
void hints_given_back(struct scheduler *s)
{
    help(s, BIT(JUDGE_RESOURCES) | BIT(JUDGE_RESTRICTIONS) | BIT(JUDGE_LIMITS) | BIT(JUDGE_BINDING));
}

static void on_pod_add(void *ctx, const struct object *o, bool is_initial)
{
    (void)is_initial;
    see_pod(ctx, pod_of(o), /* is_changed= */ true);
}

static void on_pod_update(void *ctx, const struct object *old, const struct object *o)
{
    struct scheduler *s = ctx;
    bool had_place = nodes_placed(&s->nodes, o->uid);

    if (strcmp(old->uid, o->uid) != 0) { /* another pod of that name */
        nodes_remove_pod(&s->nodes, old->uid);
        queue_remove(&s->queue, old->uid);
        bindings_see_pod(s, old->uid);
        help_of_gone_pod(s);
    }
    see_pod(s, pod_of(o), pod_changed(pod_of(old), pod_of(o)));
    if (had_place && !nodes_placed(&s->nodes, o->uid))
        help_of_gone_pod(s);
}

static void on_pod_delete(void *ctx, const struct object *o, bool is_final_unknown)
{
    struct scheduler *s = ctx;
    bool had_place = nodes_placed(&s->nodes, o->uid);

    (void)is_final_unknown;
    nodes_remove_pod(&s->nodes, o->uid);
    queue_remove(&s->queue, o->uid);
    bindings_see_pod(s, o->uid);
    if (had_place)
        help_of_gone_pod(s);
}

/* --- Nodes --- */

static void on_node_add(void *ctx, const struct object *o, bool is_initial)
{
    struct scheduler *s = ctx;

    (void)is_initial;
    must(nodes_put(&s->nodes, node_of(o)), o->name);
    bindings_see_node(s, o->name);
    help(s, JUDGES_OF_NODES);
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
    uint32_t judges = 0;

    must(nodes_put(&s->nodes, is), o->name);
    if (!kvs_equal(&old->labels, &o->labels)) {
        judges |= BIT(JUDGE_AFFINITY) | BIT(JUDGE_BINDING) | BIT(JUDGE_ZONE);
        bindings_see_node(s, o->name);
    }
    if (!taints_equal(&was->taints, &is->taints))
        judges |= BIT(JUDGE_TAINTS);
    if (was->is_unschedulable && !is->is_unschedulable)
        judges |= BIT(JUDGE_UNSCHEDULABLE);
    if (!amounts_equal(&was->allocatable, &is->allocatable))
        judges |= BIT(JUDGE_RESOURCES) | BIT(JUDGE_LIMITS);
    if (judges)
        help(s, judges);
}

static void on_node_delete(void *ctx, const struct object *o, bool is_final_unknown)
{
    struct scheduler *s = ctx;

    (void)is_final_unknown;
    nodes_remove(&s->nodes, o->name);
    bindings_see_node(s, o->name);
}

/* --- Volumes --- */

static void see_volume(struct scheduler *s, const struct volume *v)
{
    struct volume_help h = { .s = s, .volume = v, .judges = BIT(JUDGE_BINDING) | BIT(JUDGE_ZONE) };
    struct error err;

    (void)assumed_see_volume(&s->assumed, v);
    must(volume_index_put(s->free, v, &err), v->obj.name);
    bindings_see_volume(s, v);
    queue_move(&s->queue, helps_volume, &h);
}

static void on_volume_add(void *ctx, const struct object *o, bool is_initial)
{
    (void)is_initial;
    see_volume(ctx, volume_of(o));
}

static void on_volume_update(void *ctx, const struct object *old, const struct object *o)
{
    (void)old;
    see_volume(ctx, volume_of(o));
}

static void on_volume_delete(void *ctx, const struct object *o, bool is_final_unknown)
{
    struct scheduler *s = ctx;
    const struct assumed_volume *a = assumed_volume(&s->assumed, o->name);

    (void)is_final_unknown;
    if (a)
        (void)assumed_restore_volume(&s->assumed, o->name, a->pod_uid);
    volume_index_remove(s->free, o->name);
    bindings_see_volume(s, volume_of(o));
}

/* --- Claims --- */

static void see_claim(struct scheduler *s, const struct claim *c, uint32_t judges)
{
    struct claim_help h = { c, judges };

    (void)assumed_see_claim(&s->assumed, c);
    bindings_see_claim(s, c);
    queue_move(&s->queue, helps_claim, &h);
}

static void on_claim_add(void *ctx, const struct object *o, bool is_initial)
{
    (void)is_initial;
    see_claim(ctx, claim_of(o), JUDGES_OF_VOLUMES);
}

/* Nothing that was promised of it holds. */
static void lose_claim(struct scheduler *s, const struct claim *c)
{
    const struct assumed_claim *a = assumed_claim(&s->assumed, c->obj.uid);

    if (a)
        (void)assumed_restore_claim(&s->assumed, c->obj.uid, a->pod_uid);
    bindings_see_claim(s, c);
}

static void on_claim_update(void *ctx, const struct object *old, const struct object *o)
{
    bool is_another = strcmp(old->uid, o->uid) != 0;

    if (is_another)
        lose_claim(ctx, claim_of(old));
    see_claim(ctx, claim_of(o), is_another ? JUDGES_OF_VOLUMES : BIT(JUDGE_BINDING) | BIT(JUDGE_ZONE));
}

static void on_claim_delete(void *ctx, const struct object *o, bool is_final_unknown)
{
    (void)is_final_unknown;
    lose_claim(ctx, claim_of(o));
}

/* --- Others: rare, so that all pods of the judge come back --- */

static void on_class_add(void *ctx, const struct object *o, bool is_initial)
{
    (void)o;
    (void)is_initial;
    help(ctx, BIT(JUDGE_BINDING) | BIT(JUDGE_ZONE));
}

static void on_class_update(void *ctx, const struct object *old, const struct object *o)
{
    (void)old;
    (void)o;
    help(ctx, BIT(JUDGE_BINDING));
}

static void on_csi_node_add(void *ctx, const struct object *o, bool is_initial)
{
    (void)o;
    (void)is_initial;
    help(ctx, BIT(JUDGE_BINDING) | BIT(JUDGE_LIMITS));
}

static void on_csi_node_update(void *ctx, const struct object *old, const struct object *o)
{
    (void)old;
    (void)o;
    help(ctx, BIT(JUDGE_LIMITS));
}

static void on_driver_update(void *ctx, const struct object *old, const struct object *o)
{
    (void)old;
    (void)o;
    help(ctx, BIT(JUDGE_BINDING));
}

static void on_capacity_add(void *ctx, const struct object *o, bool is_initial)
{
    (void)o;
    (void)is_initial;
    help(ctx, BIT(JUDGE_BINDING));
}

static void on_capacity_update(void *ctx, const struct object *old, const struct object *o)
{
    on_driver_update(ctx, old, o);
}

static void on_attachment_delete(void *ctx, const struct object *o, bool is_final_unknown)
{
    (void)o;
    (void)is_final_unknown;
    help(ctx, BIT(JUDGE_LIMITS));
}

/* Nodes, volumes and claims before pods: the first turn sees all of them. */
void hints_install(struct scheduler *s)
{
    static const struct informer_handler handlers[CACHE_KIND_COUNT] = {
        [CACHE_PODS] = { .on_add = on_pod_add, .on_update = on_pod_update, .on_delete = on_pod_delete },
        [CACHE_NODES] = { .on_add = on_node_add, .on_update = on_node_update, .on_delete = on_node_delete },
        [CACHE_VOLUMES] = { .on_add = on_volume_add,
                            .on_update = on_volume_update,
                            .on_delete = on_volume_delete },
        [CACHE_CLAIMS] = { .on_add = on_claim_add,
                           .on_update = on_claim_update,
                           .on_delete = on_claim_delete },
        [CACHE_CLASSES] = { .on_add = on_class_add, .on_update = on_class_update },
        [CACHE_CSI_NODES] = { .on_add = on_csi_node_add, .on_update = on_csi_node_update },
        [CACHE_CSI_DRIVERS] = { .on_update = on_driver_update },
        [CACHE_CAPACITIES] = { .on_add = on_capacity_add, .on_update = on_capacity_update },
        [CACHE_ATTACHMENTS] = { .on_delete = on_attachment_delete },
    };

    for (int i = CACHE_KIND_COUNT - 1; i >= 0; i--) {
        s->handlers[i] = handlers[i];
        s->handlers[i].ctx = s;
        informer_add_handler(s->caches[i], &s->handlers[i]);
    }
}
