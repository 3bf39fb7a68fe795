/* NodeVolumeLimits: the number of volumes of a driver that a node can have. A CSI driver's limit is in the
 * node's CSINode, a FlexVolume driver's in the Node's allocatable (api/volume_limit.h).
 *
 * Nodes that are far below their limits are passed by a comparison of counts; only others need sets of volume
 * handles. */
#include "scheduler/scheduler_int.h"

#include <string.h>

#include "api/migration.h"
#include "api/pod_claims.h"
#include "api/volume_limit.h"

/* --- Plugins that became CSI drivers --- */

void migrated_volumes_done(struct migrated_volumes *m)
{
    for (size_t i = 0; i < m->items.count; i++)
        (void)object_unref(m->items.items[i]);
    vec_done(&m->items);
}

/* Takes over the object; NULL without memory. */
static const struct volume *hold_translation(struct migrated_volumes *m, struct object *o)
{
    if (vec_push(&m->items, o) == 0)
        return volume_of(o);
    (void)object_unref(o);
    return NULL;
}

const struct volume *volume_of_driver(const struct volume *v, struct migrated_volumes *m)
{
    struct object *o = NULL;
    struct error ignored;

    if (v->source.kind == SOURCE_CSI)
        return v;
    if (!migration_plugin(v->source.kind) || migration_translate(v, &o, &ignored) < 0)
        return NULL;
    return hold_translation(m, o);
}

bool node_migrates(const struct scheduler *s, const char *node, enum volume_source_kind source)
{
    const struct object *o = informer_get(s->caches[CACHE_CSI_NODES], "", node);
    const char *plugins = o ? object_annotation(o, ANN_MIGRATED_PLUGINS) : NULL;
    const char *plugin = migration_plugin(source);

    for (struct str rest = str_of(plugins ? plugins : ""); plugin && rest.s;)
        if (str_is(str_next(&rest, ','), plugin))
            return true;
    return false;
}

/* --- Volumes of drivers --- */

/* Volumes of a node or of a pod, without duplicates. */
struct uses {
    VEC(struct driver_use) items;
    struct migrated_volumes migrated; /* owns what the items borrow */
};

static void uses_done(struct uses *u)
{
    vec_done(&u->items);
    migrated_volumes_done(&u->migrated);
}

static bool is_of(const struct driver_use *u, const char *driver, bool is_flex)
{
    return u->is_flex == is_flex && strcmp(u->driver, driver) == 0;
}

static bool is_same(const struct driver_use *a, const struct driver_use *b)
{
    if (!is_of(a, b->driver, b->is_flex) || a->pod != b->pod)
        return false;
    return a->handle && b->handle ? strcmp(a->handle, b->handle) == 0 : a->claim == b->claim;
}

static bool has_use(const struct driver_use *items, size_t count, const struct driver_use *use)
{
    for (size_t i = 0; i < count; i++)
        if (is_same(&items[i], use))
            return true;
    return false;
}

/* False when no driver serves it. */
static bool persistent_use(const struct volume *v, struct migrated_volumes *m, struct driver_use *ret)
{
    const struct volume *is = volume_of_driver(v, m);

    if (v->source.kind == SOURCE_FLEX)
        *ret =
            (struct driver_use){ .driver = v->source.flex->driver, .handle = v->obj.name, .is_flex = true };
    else if (is)
        *ret = (struct driver_use){ .driver = is->source.csi->driver, .handle = is->source.csi->handle };
    else
        return false;
    return true;
}

/* The claim's volume, or the one that will be provisioned for it. */
static bool claim_use(const struct scheduler *s, const struct claim *claim, struct migrated_volumes *m,
                      struct driver_use *ret)
{
    const struct volume *v = claim->volume_name[0] ? cached_volume(s, claim->volume_name) : NULL;
    const struct storage_class *class = v ? NULL : cached_class(s, claim->class);
    const char *moved = class ? migration_driver(class->provisioner) : NULL;

    if (v)
        return persistent_use(v, m, ret);
    if (class)
        *ret = (struct driver_use){ .driver = moved ? moved : class->provisioner, .claim = claim };
    return class != NULL;
}

/* A volume of the pod's own spec. */
static bool inline_use(const struct pod *p, const struct pod_volume *v, struct migrated_volumes *m,
                       struct driver_use *ret)
{
    const struct volume *is;
    struct object *o = NULL;
    struct error ignored;

    if (v->type == POD_VOLUME_FLEX) {
        *ret = (struct driver_use){ .driver = v->flex->driver, .handle = v->name, .pod = p, .is_flex = true };
        return true;
    }
    if (migration_source(v->type) == SOURCE_NONE || migration_translate_inline(p, v, &o, &ignored) < 0)
        return false;
    is = hold_translation(m, o);
    return is && persistent_use(is, m, ret);
}

/* False for a missing claim: other filters report it. */
static bool volume_use(const struct scheduler *s, const struct pod *p, const struct pod_volume *v,
                       struct migrated_volumes *m, struct driver_use *ret)
{
    const char *name = pod_claim_name(v);
    const struct claim *claim = name ? cached_claim(s, p->obj.ns, name) : NULL;

    if (name)
        return claim && claim_use(s, claim, m, ret);
    return inline_use(p, v, m, ret);
}

enum cycle_result check_limits(struct cycle *c)
{
    for (uint32_t i = 0; i < c->pod->volumes.count; i++) {
        struct driver_use use;

        if (!volume_use(c->s, c->pod, &c->pod->volumes.items[i], &c->migrated, &use) ||
            has_use(c->uses.items, c->uses.count, &use))
            continue;
        if (vec_push(&c->uses, use) < 0)
            return cycle_fail(c, FILTER_LIMITS, "out of memory");
    }
    return CYCLE_FITS;
}

static int add_use(struct uses *all, const struct driver_use *use)
{
    return has_use(all->items.items, all->items.count, use) ? 0 : vec_push(&all->items, *use);
}

static int add_pod(const struct scheduler *s, struct uses *all, const struct pod *p)
{
    int r = 0;

    for (uint32_t i = 0; i < p->volumes.count && r == 0; i++) {
        struct driver_use use;

        if (volume_use(s, p, &p->volumes.items[i], &all->migrated, &use))
            r = add_use(all, &use);
    }
    return r;
}

static int add_attachment(const struct scheduler *s, struct uses *all, const struct attachment *a)
{
    const struct volume *v = a->volume_name[0] ? cached_volume(s, a->volume_name) : NULL;
    struct driver_use use;

    if (!v || !persistent_use(v, &all->migrated, &use) || use.is_flex)
        return 0;
    use.driver = a->attacher;
    return add_use(all, &use);
}

static size_t count_of(const struct driver_use *items, size_t count, const char *driver, bool is_flex)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        n += is_of(&items[i], driver, is_flex);
    return n;
}

/* --- CSI drivers --- */

/* Upper bound of the number of volumes on the node, of any driver: each claim of a pod, each migrated volume
 * and each attachment may be a separate one. */
static size_t used_at_most(const struct cycle *c, const struct sched_node *n)
{
    size_t count = (size_t)n->used.claims;
    struct informer_cursor at;

    for (const struct object *o =
             informer_first_by(c->s->caches[CACHE_ATTACHMENTS], ATTACHMENTS_BY_NODE, str_of(n->name), &at);
         o; o = informer_next(&at))
        count++;
    return count;
}

/* Most nodes are far below their limits and need no sets of handles. */
static bool may_exceed(const struct cycle *c, const struct csi_node *k, const struct sched_node *n)
{
    size_t used = used_at_most(c, n);

    for (uint32_t i = 0; i < k->drivers_count; i++) {
        const struct csi_node_driver *d = &k->drivers[i];
        size_t mine =
            d->count_max >= 0 ? count_of(c->uses.items, c->uses.count, d->name, /* is_flex= */ false) : 0;

        if (mine > 0 && used + mine > (size_t)d->count_max)
            return true;
    }
    return false;
}

/* Collects the volumes of the node's pods, *ret_by_pods of them, followed by those that only attachments
 * have. */
static int collect_uses(const struct cycle *c, const struct sched_node *n, struct uses *ret,
                        size_t *ret_by_pods)
{
    struct informer_cursor at;
    int r = 0;

    for (size_t i = 0; i < n->pods.count && r == 0; i++)
        r = add_pod(c->s, ret, n->pods.items[i]->pod);
    *ret_by_pods = ret->items.count;
    for (const struct object *o =
             informer_first_by(c->s->caches[CACHE_ATTACHMENTS], ATTACHMENTS_BY_NODE, str_of(n->name), &at);
         o && r == 0; o = informer_next(&at))
        r = add_attachment(c->s, ret, (const struct attachment *)(const void *)o);
    return r;
}

/* used: the volumes on the node, the first by_pods of them used by pods. */
static bool exceeds_limit(const struct cycle *c, const struct uses *used, size_t by_pods, const char *driver,
                          bool is_flex, int64_t limit)
{
    size_t fresh = 0; /* volumes of the pod that no pod of the node uses yet */

    for (size_t i = 0; i < c->uses.count; i++)
        fresh += is_of(&c->uses.items[i], driver, is_flex) &&
                 !has_use(used->items.items, by_pods, &c->uses.items[i]);
    return fresh > 0 &&
           count_of(used->items.items, used->items.count, driver, is_flex) + fresh > (size_t)limit;
}

static bool exceeds_csi(const struct cycle *c, const struct sched_node *n)
{
    const struct object *o = informer_get(c->s->caches[CACHE_CSI_NODES], "", n->name);
    const struct csi_node *k = (const struct csi_node *)(const void *)o;
    struct uses used = { 0 };
    size_t by_pods;
    bool is_over;

    if (!k || !may_exceed(c, k, n))
        return false;
    is_over = collect_uses(c, n, &used, &by_pods) < 0; /* without memory to count, the node counts as full */
    for (uint32_t i = 0; i < k->drivers_count && !is_over; i++)
        is_over =
            k->drivers[i].count_max >= 0 && exceeds_limit(c, &used, by_pods, k->drivers[i].name,
                                                          /* is_flex= */ false, k->drivers[i].count_max);
    uses_done(&used);
    return is_over;
}

/* --- FlexVolume drivers --- */

/* The limit that the node reports for the driver; -1: none. */
static int64_t flex_limit(const struct node *n, const char *driver)
{
    char key[VOLUME_LIMIT_KEY_BYTES];
    const struct quantity *q = NULL;
    struct error ignored;

    if (volume_limit_key(driver, key, &ignored) == 0)
        q = amounts_get(&n->allocatable, key);
    return q ? quantity_value(q) : -1;
}

static bool exceeds_flex(const struct cycle *c, const struct sched_node *n)
{
    struct uses used = { 0 };
    size_t by_pods = 0;
    bool is_collected = false, is_over = false;

    for (size_t i = 0; i < c->uses.count && !is_over; i++) {
        const struct driver_use *u = &c->uses.items[i];
        int64_t limit = u->is_flex ? flex_limit(n->node, u->driver) : -1;

        if (limit < 0)
            continue;
        if (!is_collected)
            is_over = collect_uses(c, n, &used, &by_pods) < 0;
        is_collected = true;
        is_over = is_over || exceeds_limit(c, &used, by_pods, u->driver, /* is_flex= */ true, limit);
    }
    uses_done(&used);
    return is_over;
}

uint32_t filter_limits(const struct cycle *c, const struct sched_node *n)
{
    return c->uses.count > 0 && (exceeds_csi(c, n) || exceeds_flex(c, n)) ? 1U << REASON_VOLUME_COUNT : 0;
}
