/* Protection of VolumeAttributesClasses: a class that a volume or claim names is not removed.
 *
 * The users of a class are found in indexes of the caches; volumes and claims without such a class cost
 * nothing. */
#include "controllers/protect/protect_int.h"

#include <stdlib.h>

#include "api/attributes_class.h"
#include "api/claim.h"
#include "api/volume.h"

#define BY_ATTRIBUTES_CLASS "attributes-class"
#define NAMES_MAX 3

struct attributes_class_guard {
    struct informer *classes;
    struct informer *volumes;
    struct informer *claims;
    struct informer_handler classes_handler;
    struct informer_handler volumes_handler;
    struct informer_handler claims_handler;
    struct controller *controller;
};

/* The classes that a volume or claim names, at most NAMES_MAX; returns their number. */
static size_t names_of(const struct object *o, const char *names[NAMES_MAX])
{
    const char *all[NAMES_MAX] = { "", "", "" };
    size_t count = 0;

    if (o->kind->kind == KIND_VOLUME) {
        all[0] = volume_of(o)->attributes_class;
    } else {
        all[0] = claim_of(o)->attributes_class;
        all[1] = claim_of(o)->current_attributes_class;
        all[2] = claim_of(o)->target_attributes_class;
    }
    for (size_t i = 0; i < NAMES_MAX; i++)
        if (all[i][0] != '\0')
            names[count++] = all[i];
    return count;
}

static void index_names(const struct object *o, index_emit_fn *emit, void *ctx)
{
    const char *names[NAMES_MAX];
    size_t count = names_of(o, names);

    for (size_t i = 0; i < count; i++)
        emit(ctx, str_of(names[i]));
}

static const struct informer_index names_index = { BY_ATTRIBUTES_CLASS, index_names };

static bool is_used(const struct attributes_class_guard *g, struct str name)
{
    struct informer_cursor c;

    return informer_first_by(g->volumes, BY_ATTRIBUTES_CLASS, name, &c) ||
           informer_first_by(g->claims, BY_ATTRIBUTES_CLASS, name, &c);
}

static enum sync_result sync_class(void *ctx, struct str key)
{
    struct attributes_class_guard *g = ctx;
    const struct object *o = informer_get_key(g->classes, key);
    bool has = o && object_has_finalizer(o, FINALIZER_ATTRIBUTES_CLASS_PROTECTION);

    if (o && !o->is_deleting && !has)
        return sync_add_finalizer(g->controller, key, o, FINALIZER_ATTRIBUTES_CLASS_PROTECTION, g->classes);
    if (o && o->is_deleting && has && !is_used(g, key))
        return sync_remove_finalizer(g->controller, key, o, FINALIZER_ATTRIBUTES_CLASS_PROTECTION,
                                     g->classes);
    return SYNC_DONE;
}

/* --- Event handlers --- */

static void on_class(void *ctx, const struct object *o)
{
    struct attributes_class_guard *g = ctx;

    if (o->is_deleting == object_has_finalizer(o, FINALIZER_ATTRIBUTES_CLASS_PROTECTION))
        component_add(g->controller, o);
}

/* Requeues the classes of a changed or deleted user. Requeuing a class that is still named has no effect. */
static void on_user_gone(void *ctx, const struct object *o, bool is_final_unknown)
{
    struct attributes_class_guard *g = ctx;
    const char *names[NAMES_MAX];
    size_t count = names_of(o, names);

    (void)is_final_unknown;
    for (size_t i = 0; i < count; i++)
        controller_add(g->controller, str_of(names[i]));
}

static void on_user_update(void *ctx, const struct object *old, const struct object *o)
{
    if (old != o)
        on_user_gone(ctx, old, /* is_final_unknown= */ false);
}

/* --- Lifecycle --- */

int attributes_class_guard_new(const struct component_deps *o, struct attributes_class_guard **ret,
                               struct error *err)
{
    _cleanup_(attributes_class_guard_free_p) struct attributes_class_guard *g = calloc(1, sizeof *g);
    int r;

    if (!g)
        return error_no_memory(err);
    r = guard_controller(o, "vacprotection", "berth-vac-protection", /* in_flight_max= */ 0, sync_class, g,
                         &g->controller, err);
    if (r < 0)
        return r;
    g->classes = informers_get(o->informers, KIND_ATTRIBUTES_CLASS, err);
    if (g->classes)
        g->volumes = component_indexed(o->informers, KIND_VOLUME, &names_index, err);
    if (g->volumes)
        g->claims = component_indexed(o->informers, KIND_CLAIM, &names_index, err);
    if (!g->claims)
        return -(int)err->code;
    *ret = TAKE(g);
    return 0;
}

void attributes_class_guard_start(struct attributes_class_guard *g)
{
    const struct informer_handler users = { .on_update = on_user_update,
                                            .on_delete = on_user_gone,
                                            .ctx = g };

    g->classes_handler = (struct informer_handler){ .on_upsert = on_class, .ctx = g };
    g->volumes_handler = users;
    g->claims_handler = users;
    informer_add_handler(g->classes, &g->classes_handler);
    informer_add_handler(g->volumes, &g->volumes_handler);
    informer_add_handler(g->claims, &g->claims_handler);
}

const char *attributes_class_guard_check(const struct attributes_class_guard *g)
{
    return controller_check(g->controller);
}

struct attributes_class_guard *attributes_class_guard_free(struct attributes_class_guard *g)
{
    if (!g)
        return NULL;
    informer_remove_handler(&g->classes_handler);
    informer_remove_handler(&g->volumes_handler);
    informer_remove_handler(&g->claims_handler);
    controller_free(g->controller);
    free(g);
    return NULL;
}
