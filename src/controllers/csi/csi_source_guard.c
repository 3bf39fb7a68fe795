/* Removes the finalizers of sources that no claim is waiting for.
 *
 * Two queues: snapshots with the finalizer, and claims with it that are being deleted. A claim that gets its
 * volume or disappears adds its source; a finalizer that was written after that adds it again. */
#include "controllers/csi/csi_source.h"

#include <stdlib.h>
#include <string.h>

#include "api/snapshot.h"
#include "api/volume.h"

#define MANAGER "external-provisioner"
#define QUEUE_SNAPSHOTS "csi-source-snapshots"
#define QUEUE_CLAIMS "csi-source-claims"
#define SWEEP_NS (300 * NS_PER_S)
#define KEY_BYTES_MAX 1024

struct csi_source_guard {
    struct csi_function_options o;
    struct csi_source_caches caches;
    struct informer_handler claims_handler, snapshots_handler;
    struct controller *snapshots, *claims;
    struct api api;
    struct rng rng;
};

/* --- Syncs --- */

/* Of this driver. A snapshot without a content is everybody's. */
static bool owns_snapshot(const struct csi_source_guard *g, const struct object *o)
{
    const char *name = snapshot_of(o)->bound_content_name;
    const struct object *content = informer_get(g->caches.contents, "", name);

    return !content || strcmp(snapshot_content_of(content)->driver, csi_peer_name(g->o.peer)) == 0;
}

static enum sync_result sync_source_snapshot(void *ctx, struct str key)
{
    struct csi_source_guard *g = ctx;
    const struct object *o = informer_get_key(g->caches.snapshots, key);

    if (!o || !object_has_finalizer(o, FINALIZER_SNAPSHOT_RESTORE) || !owns_snapshot(g, o) ||
        csi_source_is_awaited(&g->caches, o))
        return SYNC_DONE;
    return sync_remove_finalizer(g->snapshots, key, o, FINALIZER_SNAPSHOT_RESTORE, g->caches.snapshots);
}

/* A claim without a volume is everybody's. */
static bool owns_claim(const struct csi_source_guard *g, const struct object *o)
{
    const struct object *v = informer_get(g->caches.volumes, "", claim_of(o)->volume_name);

    return !v || (volume_of(v)->source.kind == SOURCE_CSI &&
                  strcmp(volume_of(v)->source.csi->driver, csi_peer_name(g->o.peer)) == 0);
}

static enum sync_result sync_source_claim(void *ctx, struct str key)
{
    struct csi_source_guard *g = ctx;
    const struct object *o = informer_get_key(g->caches.claims, key);

    if (!o || !o->is_deleting || !object_has_finalizer(o, FINALIZER_CLAIM_CLONE) || !owns_claim(g, o) ||
        csi_source_is_awaited(&g->caches, o))
        return SYNC_DONE;
    return sync_remove_finalizer(g->claims, key, o, FINALIZER_CLAIM_CLONE, g->caches.claims);
}

/* --- Handlers --- */

static void add_source(struct csi_source_guard *g, const struct object *claim)
{
    _cleanup_(buf_done_p) struct buf key = BUF_INIT(KEY_BYTES_MAX);
    enum csi_source_kind kind = csi_source_kind_of(claim_of(claim));

    if (kind == CSI_SOURCE_NONE)
        return;
    buf_addf(&key, "%s/%s", claim->ns, claim_of(claim)->source->name);
    if (!key.failed)
        controller_add(kind == CSI_SOURCE_CLAIM ? g->claims : g->snapshots, buf_str(&key));
}

static void on_claim(void *ctx, const struct object *o)
{
    struct csi_source_guard *g = ctx;

    if (o->is_deleting && object_has_finalizer(o, FINALIZER_CLAIM_CLONE))
        component_add(g->claims, o);
    if (claim_of(o)->phase == CLAIM_BOUND)
        add_source(g, o);
}

static void on_claim_gone(void *ctx, const struct object *o)
{
    add_source(ctx, o);
}

static void on_snapshot(void *ctx, const struct object *o)
{
    struct csi_source_guard *g = ctx;

    if (object_has_finalizer(o, FINALIZER_SNAPSHOT_RESTORE))
        component_add(g->snapshots, o);
}

/* --- Life --- */

struct csi_source_guard *csi_source_guard_free(struct csi_source_guard *g)
{
    if (!g)
        return NULL;
    informer_remove_handler(&g->claims_handler);
    informer_remove_handler(&g->snapshots_handler);
    g->snapshots = controller_free(g->snapshots);
    g->claims = controller_free(g->claims);
    free(g);
    return NULL;
}

static int open_queue(struct csi_source_guard *g, const char *name,
                      enum sync_result (*sync)(void *ctx, struct str key), struct controller **ret,
                      struct error *err)
{
    const struct controller_options c = { .queue = { .loop = g->o.part.loop,
                                                     .name = name,
                                                     .seed = component_seed(&g->o.part, name),
                                                     .base_ns = g->o.settings->retry_ns,
                                                     .max_ns = g->o.settings->retry_ns_max },
                                          .sync = sync,
                                          .ctx = g,
                                          .api = g->api };

    return controller_new(&c, ret, err);
}

int csi_source_guard_new(const struct csi_function_options *o, struct csi_source_guard **ret,
                         struct error *err)
{
    struct csi_source_guard *g = calloc(1, sizeof *g);
    int r;

    if (!g)
        return error_no_memory(err);
    g->o = *o;
    rng_init(&g->rng, component_seed(&o->part, QUEUE_SNAPSHOTS));
    r = component_api(&o->part, MANAGER, &g->api, err);
    g->api.rng = &g->rng;
    if (r == 0)
        r = csi_source_open_caches(o->part.informers, &g->caches, err);
    if (r == 0)
        r = open_queue(g, QUEUE_SNAPSHOTS, sync_source_snapshot, &g->snapshots, err);
    if (r == 0)
        r = open_queue(g, QUEUE_CLAIMS, sync_source_claim, &g->claims, err);
    if (r < 0)
        (void)csi_source_guard_free(g);
    else
        *ret = g;
    return r;
}

void csi_source_guard_start(struct csi_source_guard *g)
{
    g->claims_handler = (struct informer_handler){
        .on_upsert = on_claim, .on_removed = on_claim_gone, .ctx = g, .resync_ns = SWEEP_NS
    };
    g->snapshots_handler =
        (struct informer_handler){ .on_upsert = on_snapshot, .ctx = g, .resync_ns = SWEEP_NS };
    informer_add_handler(g->caches.claims, &g->claims_handler);
    informer_add_handler(g->caches.snapshots, &g->snapshots_handler);
}

const char *csi_source_guard_check(const struct csi_source_guard *g)
{
    const char *wrong = controller_check(g->snapshots);

    return wrong ? wrong : controller_check(g->claims);
}
