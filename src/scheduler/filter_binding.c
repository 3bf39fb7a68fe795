/* VolumeBinding: whether the pod's claims are bound or can be bound, and whether they can be on this node.
 *
 * A claim that waits for its consumer is matched to a free volume that the node reaches, smallest request
 * first, each volume once; a claim without a match is provisioned, if its class can do that for the node. */
#include "scheduler/scheduler_int.h"

#include <stdlib.h>
#include <string.h>

#include "api/pod_claims.h"
#include "base/mutant.h"

#define KEY_BYTES_MAX CLAIM_KEY_BYTES_MAX

bool claim_is_fully_bound(const struct claim *c)
{
    return c->volume_name[0] && object_annotation(&c->obj, ANN_BIND_COMPLETED);
}

const struct storage_class *cached_class(const struct scheduler *s, const char *name)
{
    const struct object *o = name[0] ? informer_get(s->caches[CACHE_CLASSES], "", name) : NULL;

    return o ? (const struct storage_class *)(const void *)o : NULL;
}

/* --- The whole pod --- */

/* The claim of a volume, if the pod can use it. */
static enum cycle_result check_claim(struct cycle *c, const struct pod_volume *v, const struct claim **ret)
{
    const char *name = pod_claim_name(v);
    const struct claim *claim = cached_claim(c->s, c->pod->obj.ns, name);
    bool is_ephemeral = v->type == POD_VOLUME_EPHEMERAL;

    if (!claim && is_ephemeral)
        return cycle_refuse(
            c, (struct refused){ REFUSAL_CLAIM_AWAITED, FILTER_BINDING, v },
            "waiting for ephemeral volume controller to create the persistentvolumeclaim \"%s\"", name);
    if (!claim)
        return cycle_refuse(c, (struct refused){ REFUSAL_NO_CLAIM, FILTER_BINDING, v },
                            "persistentvolumeclaim \"%s\" not found", name);
    if (claim->phase == CLAIM_LOST)
        return cycle_refuse(c, (struct refused){ REFUSAL_CLAIM_LOST, FILTER_BINDING, v },
                            "persistentvolumeclaim \"%s\" bound to non-existent persistentvolume \"%s\"",
                            name, claim->volume_name);
    if (claim->obj.is_deleting)
        return cycle_refuse(c, (struct refused){ REFUSAL_CLAIM_DELETING, FILTER_BINDING, v },
                            "persistentvolumeclaim \"%s\" is being deleted", name);
    if (is_ephemeral && !pod_controls_claim(c->pod, claim))
        return cycle_refuse(c, (struct refused){ REFUSAL_FOREIGN_CLAIM, FILTER_BINDING, v },
                            "PVC %s/%s was not created for pod %s/%s (pod is not owner)", claim->obj.ns, name,
                            c->pod->obj.ns, c->pod->obj.name);
    *ret = claim;
    return CYCLE_FITS;
}

/* A volume of another class than the claim's stays unused: it does not satisfy a claim that waits for its
 * consumer. */
bool volume_is_reserved_for(const struct volume *v, const struct claim *c)
{
    return volume_is_for(v, c) && strcmp(v->class, c->class) == 0;
}

/* Collects the volumes reserved for the claim, by claimRef or by an assumption, in the order of names. */
static int collect_reserved(struct cycle *c, struct cycle_claim *claim)
{
    const struct assumed_volume *assumed = assumed_volume_of(&c->s->assumed, claim->claim->obj.uid);
    _cleanup_(buf_done_p) struct buf key = BUF_INIT(KEY_BYTES_MAX);
    struct informer_cursor at;
    int r = 0;

    claim->reserved_first = (uint32_t)c->reserved.count;
    object_key(&claim->claim->obj, &key);
    for (const struct object *o =
             informer_first_by(c->s->caches[CACHE_VOLUMES], VOLUMES_BY_CLAIM, buf_str(&key), &at);
         o && r == 0; o = informer_next(&at)) {
        const struct volume *v = volume_of(o);

        if (volume_is_reserved_for(v, claim->claim) && !assumed_volume(&c->s->assumed, v->obj.name))
            r = vec_push(&c->reserved, (struct reserved_volume){ .volume = v });
    }
    if (assumed && r == 0)
        r = vec_push(&c->reserved, (struct reserved_volume){ .volume = assumed->volume, .is_assumed = true });
    claim->reserved_count = (uint32_t)c->reserved.count - claim->reserved_first;
    return r;
}

static const char *selected_node(const struct cycle *c, const struct claim *claim)
{
    const struct assumed_claim *a = assumed_claim(&c->s->assumed, claim->obj.uid);

    return a ? a->node : object_annotation(&claim->obj, ANN_SELECTED_NODE);
}

/* Sorts a claim: bound, waiting for its consumer, or unbound with immediate binding. */
static enum cycle_result sort_claim(struct cycle *c, const struct pod_volume *v, const struct claim *claim,
                                    const struct pod_volume **ret_immediate)
{
    struct cycle_claim x = { .volume = v, .claim = claim };

    if (claim_is_fully_bound(claim)) {
        x.is_bound = true;
        x.bound = cached_volume(c->s, claim->volume_name);
        x.migrated = x.bound ? volume_of_driver(x.bound, &c->migrated) : NULL;
        return vec_push(&c->claims, x) < 0 ? cycle_fail(c, FILTER_BINDING, "out of memory") : CYCLE_FITS;
    }
    c->has_unbound = true;
    x.class = cached_class(c->s, claim->class);
    if (x.class && x.class->binding == BINDING_UNSET)
        return cycle_fail(c, FILTER_BINDING, "VolumeBindingMode not set for StorageClass \"%s\"",
                          claim->class);
    if (!x.class || x.class->binding != BINDING_WAIT_FOR_FIRST_CONSUMER || claim->volume_name[0]) {
        if (!*ret_immediate)
            *ret_immediate = v;
        return CYCLE_FITS;
    }
    x.selected_node = selected_node(c, claim);
    if (collect_reserved(c, &x) < 0 || vec_push(&c->claims, x) < 0)
        return cycle_fail(c, FILTER_BINDING, "out of memory");
    return CYCLE_FITS;
}

/* A pod may mount one claim several times. */
static bool is_sorted(const struct cycle *c, const struct claim *claim)
{
    for (size_t i = 0; i < c->claims.count; i++)
        if (c->claims.items[i].claim == claim)
            return true;
    return false;
}

/* Insertion sort: a pod has few claims, and the order must be stable. */
static int order_by_size(struct cycle *c)
{
    for (uint32_t i = 0; i < c->claims.count; i++) {
        const struct cycle_claim *claim = &c->claims.items[i];
        size_t at = c->by_size.count;

        if (claim->is_bound || claim->selected_node)
            continue;
        while (at > 0 && quantity_cmp(&c->claims.items[c->by_size.items[at - 1]].claim->request,
                                      &claim->claim->request) > 0)
            at--;
        if (vec_insert(&c->by_size, at, i) < 0)
            return -ERR_NO_MEMORY;
    }
    return vec_reserve(&c->chosen, c->claims.count);
}

enum cycle_result check_binding(struct cycle *c)
{
    const struct pod_volumes *all = &c->pod->volumes;
    enum cycle_result r = CYCLE_FITS;
    const struct pod_volume *immediate = NULL; /* the first unbound claim with immediate binding */
    const struct claim *claim;

    /* All claims must exist and be usable before any is sorted. */
    for (uint32_t i = 0; i < all->count && r == CYCLE_FITS; i++)
        if (pod_claim_name(&all->items[i]))
            r = check_claim(c, &all->items[i], &claim);
    for (uint32_t i = 0; i < all->count && r == CYCLE_FITS; i++) {
        const char *name = pod_claim_name(&all->items[i]);

        claim = name ? cached_claim(c->s, c->pod->obj.ns, name) : NULL;
        if (claim && !is_sorted(c, claim))
            r = sort_claim(c, &all->items[i], claim, &immediate);
    }
    if (r != CYCLE_FITS)
        return r;
    if (immediate)
        return cycle_refuse(c, (struct refused){ REFUSAL_UNBOUND, FILTER_BINDING, immediate },
                            "pod has unbound immediate PersistentVolumeClaims");
    return order_by_size(c) < 0 ? cycle_fail(c, FILTER_BINDING, "out of memory") : CYCLE_FITS;
}

/* --- One node: claims that are bound --- */

static uint32_t filter_bound(const struct cycle *c, const struct node *n)
{
    struct error ignored;

    for (size_t i = 0; i < c->claims.count; i++) {
        const struct cycle_claim *claim = &c->claims.items[i];
        const struct volume *v = claim->bound;

        if (!claim->is_bound)
            continue;
        if (!v)
            return 1U << REASON_VOLUME_GONE;
        if (claim->migrated && claim->migrated != v && node_migrates(c->s, n->obj.name, v->source.kind))
            v = claim->migrated;
        if (v->affinity && !MUTANT("scheduler-sends-pods-anywhere") &&
            node_selector_matches(v->affinity, n->obj.labels.items, n->obj.labels.count, NULL, &ignored) != 1)
            return 1U << REASON_VOLUME_AFFINITY;
    }
    return 0;
}

/* --- One node: free volumes --- */

static bool is_taken(void *ctx, const struct volume *v)
{
    const struct cycle *c = ctx;

    for (size_t i = 0; i < c->claims.count; i++)
        if (c->chosen.items[i] == v)
            return true;
    return assumed_volume(&c->s->assumed, v->obj.name);
}

/* A volume reserved for the claim decides, even if other free volumes exist. */
static bool find_reserved(const struct cycle *c, const struct cycle_claim *claim, const struct node *n,
                          const struct volume **ret)
{
    for (uint32_t i = claim->reserved_first; i < claim->reserved_first + claim->reserved_count; i++) {
        const struct reserved_volume *k = &c->reserved.items[i];
        struct match_options o = { .is_delayed = true,
                                   .is_assumed = k->is_assumed,
                                   .node_labels = &n->obj.labels };
        enum reject why = match_volume(k->volume, claim->claim, &o);

        if (why != REJECT_NONE && why != REJECT_NODE)
            continue;
        *ret = why == REJECT_NONE ? k->volume : NULL;
        return true;
    }
    return false;
}

static const struct volume *find_volume(struct cycle *c, struct cycle_claim *claim, const struct node *n)
{
    const struct volume *v = NULL;
    bool is_reserved = find_reserved(c, claim, n, &v);

    claim->is_reserved_elsewhere = is_reserved && !v;
    if (is_reserved || claim->claim->source) /* no free volume is filled from a data source */
        return v;
    return volume_index_find_on_node(c->s->free, claim->claim, &n->obj.labels, is_taken, c);
}

/* --- One node: provisioning --- */

static bool capacity_suffices(const struct csi_capacity *k, const struct claim *claim)
{
    if (k->has_volume_max)
        return quantity_cmp(&k->volume_max, &claim->request) >= 0;
    return k->has_capacity && quantity_cmp(&k->capacity, &claim->request) >= 0;
}

static bool has_space(const struct cycle *c, const struct cycle_claim *claim, const struct node *n)
{
    const struct object *driver =
        informer_get(c->s->caches[CACHE_CSI_DRIVERS], "", claim->class->provisioner);
    struct informer_cursor at;

    if (!claim->claim->has_request || !driver ||
        !((const struct csi_driver *)(const void *)driver)->storage_capacity)
        return true;
    for (const struct object *o = informer_first_by(c->s->caches[CACHE_CAPACITIES], CAPACITIES_BY_CLASS,
                                                    str_of(claim->class->obj.name), &at);
         o; o = informer_next(&at)) {
        const struct csi_capacity *k = (const struct csi_capacity *)(const void *)o;

        if (capacity_suffices(k, claim->claim) && k->topology && !k->topology->error &&
            label_selector_matches(k->topology, n->obj.labels.items, n->obj.labels.count))
            return true;
    }
    return false;
}

static uint32_t filter_provision(const struct cycle *c, const struct cycle_claim *claim, const struct node *n)
{
    const char *by = claim->class->provisioner;

    if (by[0] == '\0' || strcmp(by, PROVISIONER_NONE) == 0)
        return 1U << REASON_NO_VOLUME;
    if (claim->class->topologies &&
        !topology_selector_matches(claim->class->topologies, n->obj.labels.items, n->obj.labels.count))
        return 1U << REASON_NO_VOLUME;
    return has_space(c, claim, n) ? 0 : 1U << REASON_NO_SPACE;
}

/* --- One node --- */

static uint32_t filter_unbound(struct cycle *c, const struct node *n)
{
    uint32_t reasons = 0;

    for (size_t i = 0; i < c->claims.count; i++) {
        const struct cycle_claim *claim = &c->claims.items[i];

        c->chosen.items[i] = NULL;
        if (claim->selected_node && strcmp(claim->selected_node, n->obj.name) != 0)
            return 1U << REASON_NO_VOLUME;
    }
    for (size_t i = 0; i < c->by_size.count; i++) {
        uint32_t at = c->by_size.items[i];

        c->chosen.items[at] = find_volume(c, &c->claims.items[at], n);
    }
    for (size_t i = 0; i < c->claims.count && reasons == 0; i++)
        if (c->claims.items[i].selected_node)
            reasons = filter_provision(c, &c->claims.items[i], n);
    for (size_t i = 0; i < c->by_size.count && reasons == 0; i++)
        if (!c->chosen.items[c->by_size.items[i]])
            reasons = filter_provision(c, &c->claims.items[c->by_size.items[i]], n);
    return reasons;
}

uint32_t filter_binding(struct cycle *c, const struct sched_node *n)
{
    uint32_t reasons = filter_bound(c, n->node);

    return c->has_unbound ? reasons | filter_unbound(c, n->node) : reasons;
}
