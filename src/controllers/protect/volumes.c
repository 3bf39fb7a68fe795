/* Protection of volumes: the finalizer of a deleted volume is removed when the volume is no longer bound.
 * Decided from the volume only, so that a volume without a change costs nothing. */
#include "controllers/protect/protect_int.h"

#include <stdlib.h>

#include "api/volume.h"

struct volume_guard {
    struct informer *volumes;
    struct informer_handler handler;
    struct controller *controller;
};

enum need { NEED_NOTHING, NEED_ADD, NEED_REMOVE };

static enum need need_of(const struct volume *v)
{
    bool has = object_has_finalizer(&v->obj, FINALIZER_VOLUME_PROTECTION);

    if (!v->obj.is_deleting)
        return has ? NEED_NOTHING : NEED_ADD;
    return has && v->phase != VOLUME_BOUND ? NEED_REMOVE : NEED_NOTHING;
}

static enum sync_result sync_protected_volume(void *ctx, struct str key)
{
    struct volume_guard *g = ctx;
    const struct object *o = informer_get_key(g->volumes, key);

    switch (o ? need_of(volume_of(o)) : NEED_NOTHING) {
    case NEED_ADD:
        return sync_add_finalizer(g->controller, key, o, FINALIZER_VOLUME_PROTECTION, g->volumes);
    case NEED_REMOVE:
        return sync_remove_finalizer(g->controller, key, o, FINALIZER_VOLUME_PROTECTION, g->volumes);
    case NEED_NOTHING:
        break;
    }
    return SYNC_DONE;
}

static void on_volume(void *ctx, const struct object *o)
{
    struct volume_guard *g = ctx;

    if (need_of(volume_of(o)) != NEED_NOTHING)
        component_add(g->controller, o);
}

int volume_guard_new(const struct component_deps *o, struct volume_guard **ret, struct error *err)
{
    _cleanup_(volume_guard_free_p) struct volume_guard *g = calloc(1, sizeof *g);
    int r;

    if (!g)
        return error_no_memory(err);
    r = guard_controller(o, "pvprotection", "berth-pv-protection", /* in_flight_max= */ 0,
                         sync_protected_volume, g, &g->controller, err);
    if (r < 0)
        return r;
    g->volumes = informers_get(o->informers, KIND_VOLUME, err);
    if (!g->volumes)
        return -(int)err->code;
    *ret = TAKE(g);
    return 0;
}

void volume_guard_start(struct volume_guard *g)
{
    g->handler = (struct informer_handler){ .on_upsert = on_volume, .ctx = g };
    informer_add_handler(g->volumes, &g->handler);
}

const char *volume_guard_check(const struct volume_guard *g)
{
    return controller_check(g->controller);
}

struct volume_guard *volume_guard_free(struct volume_guard *g)
{
    if (!g)
        return NULL;
    informer_remove_handler(&g->handler);
    controller_free(g->controller);
    free(g);
    return NULL;
}
