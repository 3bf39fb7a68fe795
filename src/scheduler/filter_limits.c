/* NodeVolumeLimits: how many volumes of a CSI driver a node can have, as its CSINode says. */
#include "scheduler/scheduler_int.h"

#include <string.h>

#include "api/pod_claims.h"

/* Volumes of a node or of a pod, each once. */
struct uses {
    VEC(struct csi_use) items;
};

static bool is_same(const struct csi_use *a, const struct csi_use *b)
{
    if (strcmp(a->driver, b->driver) != 0)
        return false;
    return a->handle && b->handle ? strcmp(a->handle, b->handle) == 0 : a->claim == b->claim;
}

static bool has_use(const struct csi_use *items, size_t count, const struct csi_use *use)
{
    for (size_t i = 0; i < count; i++)
        if (is_same(&items[i], use))
            return true;
    return false;
}

/* The claim's volume, or the one that it will get; false when that is no CSI volume. */
static bool claim_use(const struct scheduler *s, const struct claim *claim, struct csi_use *ret)
{
    const struct volume *v = claim->volume_name[0] ? cached_volume(s, claim->volume_name) : NULL;
    const struct storage_class *class = v ? NULL : cached_class(s, claim->class);

    if (v && v->source.kind == SOURCE_CSI)
        *ret = (struct csi_use){ .driver = v->source.csi->driver, .handle = v->source.csi->handle };
    else if (class)
        *ret = (struct csi_use){ .driver = class->provisioner, .claim = claim };
    else
        return false;
    return true;
}

enum cycle_result check_limits(struct cycle *c)
{
    for (uint32_t i = 0; c->has_claims && i < c->pod->volumes.count; i++) {
        const char *name = pod_claim_name(&c->pod->volumes.items[i]);
        const struct claim *claim = name ? cached_claim(c->s, c->pod->obj.ns, name) : NULL;
        struct csi_use use;

        /* One that is missing: the judges before and after this one say so. */
        if (!claim || !claim_use(c->s, claim, &use) || has_use(c->csi.items, c->csi.count, &use))
            continue;
        if (vec_push(&c->csi, use) < 0)
            return cycle_fail(c, JUDGE_LIMITS, "out of memory");
    }
    return CYCLE_FITS;
}

static int add_use(struct uses *all, const struct csi_use *use)
{
    return has_use(all->items.items, all->items.count, use) ? 0 : vec_push(&all->items, *use);
}

static int add_pod(const struct scheduler *s, struct uses *all, const struct pod *p)
{
    int r = 0;

    for (uint32_t i = 0; i < p->volumes.count && r == 0; i++) {
        const char *name = pod_claim_name(&p->volumes.items[i]);
        const struct claim *claim = name ? cached_claim(s, p->obj.ns, name) : NULL;
        struct csi_use use;

        if (claim && claim_use(s, claim, &use))
            r = add_use(all, &use);
    }
    return r;
}

static int add_attachment(const struct scheduler *s, struct uses *all, const struct attachment *a)
{
    const struct volume *v = a->volume_name[0] ? cached_volume(s, a->volume_name) : NULL;

    if (!v || v->source.kind != SOURCE_CSI)
        return 0;
    return add_use(all, &(struct csi_use){ .driver = a->attacher, .handle = v->source.csi->handle });
}

static size_t count_of(const struct csi_use *items, size_t count, const char *driver)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        n += strcmp(items[i].driver, driver) == 0;
    return n;
}

/* Those of the pod that no pod of the node has yet. */
static size_t new_of(const struct cycle *c, const struct csi_use *by_pods, size_t count, const char *driver)
{
    size_t n = 0;

    for (size_t i = 0; i < c->csi.count; i++)
        n += strcmp(c->csi.items[i].driver, driver) == 0 && !has_use(by_pods, count, &c->csi.items[i]);
    return n;
}

/* How many volumes the node has at most, of whatever driver: each claim of a pod and each attachment may be
 * one of its own. */
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

/* Most nodes are far from their limits: they need no sets of handles. */
static bool may_exceed(const struct cycle *c, const struct csi_node *k, const struct sched_node *n)
{
    size_t used = used_at_most(c, n);

    for (uint32_t i = 0; i < k->drivers_count; i++) {
        const struct csi_node_driver *d = &k->drivers[i];
        size_t mine = d->count_max >= 0 ? count_of(c->csi.items, c->csi.count, d->name) : 0;

        if (mine > 0 && used + mine > (size_t)d->count_max)
            return true;
    }
    return false;
}

/* What the node's pods have, *ret_by_pods of them, and behind that what only attachments have. */
static int collect(const struct cycle *c, const struct sched_node *n, struct uses *ret, size_t *ret_by_pods)
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

static bool exceeds(const struct cycle *c, const struct csi_node *k, const struct sched_node *n)
{
    struct uses used = { 0 };
    size_t by_pods;
    bool is_over = collect(c, n, &used, &by_pods) < 0; /* without memory to count it is full */

    for (uint32_t i = 0; i < k->drivers_count && !is_over; i++) {
        const struct csi_node_driver *d = &k->drivers[i];
        size_t fresh = new_of(c, used.items.items, by_pods, d->name);

        is_over = d->count_max >= 0 && fresh > 0 &&
                  count_of(used.items.items, used.items.count, d->name) + fresh > (size_t)d->count_max;
    }
    vec_done(&used.items);
    return is_over;
}

uint32_t judge_limits(const struct cycle *c, const struct sched_node *n)
{
    const struct object *o =
        c->csi.count > 0 ? informer_get(c->s->caches[CACHE_CSI_NODES], "", n->name) : NULL;
    const struct csi_node *k = (const struct csi_node *)(const void *)o;

    return k && may_exceed(c, k, n) && exceeds(c, k, n) ? 1U << REASON_VOLUME_COUNT : 0;
}
