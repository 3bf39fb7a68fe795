/* NodeVolumeLimits: how many volumes of a CSI driver a node can have, as its CSINode says. */
#include "scheduler/scheduler_int.h"

#include <stdlib.h>
#include <string.h>

#include "api/pod_claims.h"

#define HANDLE_BYTES_MAX (64 * 1024)

/* A set of "driver/handle", small: what one pod has, or one node. */
struct handles {
    VEC(struct csi_use) items;
};

static void use_done(struct csi_use *u)
{
    free(u->driver);
    free(u->handle);
}

static bool has_handle(const struct csi_use *items, size_t count, const char *handle)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(items[i].handle, handle) == 0)
            return true;
    return false;
}

/* The driver and the handle of the claim's volume, or of the one that it will get; false when it is no CSI
 * volume. */
static bool claim_use(const struct scheduler *s, const struct claim *claim, struct csi_use *ret)
{
    _cleanup_(buf_done_p) struct buf handle = BUF_INIT(HANDLE_BYTES_MAX);
    const struct volume *v = claim->volume_name[0] ? cached_volume(s, claim->volume_name) : NULL;
    const struct storage_class *class;
    const char *driver;

    if (v && v->source.kind != SOURCE_CSI)
        return false;
    if (v) {
        driver = v->source.csi->driver;
        (void)buf_addf(&handle, "%s/%s", driver, v->source.csi->handle);
    } else {
        class = cached_class(s, claim->class);
        if (!class)
            return false;
        driver = class->provisioner;
        (void)buf_addf(&handle, "%s/%s-%s/%s", driver, s->limits_prefix, claim->obj.ns, claim->obj.name);
    }
    if (handle.failed)
        return false;
    ret->driver = strdup(driver);
    ret->handle = strdup(buf_cstr(&handle));
    if (ret->driver && ret->handle)
        return true;
    use_done(ret);
    return false;
}

enum cycle_result check_limits(struct cycle *c)
{
    for (uint32_t i = 0; c->has_claims && i < c->pod->volumes.count; i++) {
        const char *name = pod_claim_name(&c->pod->volumes.items[i]);
        const struct claim *claim = name ? cached_claim(c->s, c->pod->obj.ns, name) : NULL;
        struct csi_use use;

        /* One that is missing: the judges before and after this one say so. */
        if (!claim || !claim_use(c->s, claim, &use))
            continue;
        if (has_handle(c->csi.items, c->csi.count, use.handle) || vec_push(&c->csi, use) < 0)
            use_done(&use);
    }
    return CYCLE_FITS;
}

static void add_use(struct handles *all, struct csi_use use)
{
    if (has_handle(all->items.items, all->items.count, use.handle) || vec_push(&all->items, use) < 0)
        use_done(&use);
}

static void add_pod(const struct scheduler *s, struct handles *all, const struct pod *p)
{
    for (uint32_t i = 0; i < p->volumes.count; i++) {
        const char *name = pod_claim_name(&p->volumes.items[i]);
        const struct claim *claim = name ? cached_claim(s, p->obj.ns, name) : NULL;
        struct csi_use use;

        if (claim && claim_use(s, claim, &use))
            add_use(all, use);
    }
}

static void add_attachment(const struct scheduler *s, struct handles *all, const struct attachment *a)
{
    const struct volume *v = a->volume_name[0] ? cached_volume(s, a->volume_name) : NULL;
    _cleanup_(buf_done_p) struct buf handle = BUF_INIT(HANDLE_BYTES_MAX);
    struct csi_use use;

    if (!v || v->source.kind != SOURCE_CSI)
        return;
    (void)buf_addf(&handle, "%s/%s", a->attacher, v->source.csi->handle);
    use = (struct csi_use){ strdup(a->attacher), strdup(buf_cstr(&handle)) };
    if (use.driver && use.handle)
        add_use(all, use);
    else
        use_done(&use);
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
        n += strcmp(c->csi.items[i].driver, driver) == 0 &&
             !has_handle(by_pods, count, c->csi.items[i].handle);
    return n;
}

static bool is_limited(const struct cycle *c, const struct csi_node *k)
{
    for (uint32_t i = 0; i < k->drivers_count; i++)
        if (k->drivers[i].count_max >= 0 && count_of(c->csi.items, c->csi.count, k->drivers[i].name) > 0)
            return true;
    return false;
}

static bool exceeds(const struct cycle *c, const struct csi_node *k, const struct sched_node *n)
{
    struct handles used = { 0 };
    struct informer_cursor at;
    bool is_over = false;
    size_t by_pods;

    for (size_t i = 0; i < n->pods.count; i++)
        add_pod(c->s, &used, n->pods.items[i]->pod);
    by_pods = used.items.count; /* what attachments add comes behind */
    for (const struct object *o =
             informer_first_by(c->s->caches[CACHE_ATTACHMENTS], ATTACHMENTS_BY_NODE, str_of(n->name), &at);
         o; o = informer_next(&at))
        add_attachment(c->s, &used, (const struct attachment *)(const void *)o);
    for (uint32_t i = 0; i < k->drivers_count && !is_over; i++) {
        const struct csi_node_driver *d = &k->drivers[i];
        size_t fresh = new_of(c, used.items.items, by_pods, d->name);

        is_over = d->count_max >= 0 && fresh > 0 &&
                  count_of(used.items.items, used.items.count, d->name) + fresh > (size_t)d->count_max;
    }
    for (size_t i = 0; i < used.items.count; i++)
        use_done(&used.items.items[i]);
    vec_done(&used.items);
    return is_over;
}

uint32_t judge_limits(const struct cycle *c, const struct sched_node *n)
{
    const struct object *o =
        c->csi.count > 0 ? informer_get(c->s->caches[CACHE_CSI_NODES], "", n->name) : NULL;
    const struct csi_node *k = (const struct csi_node *)(const void *)o;

    return k && is_limited(c, k) && exceeds(c, k, n) ? 1U << REASON_VOLUME_COUNT : 0;
}
