/* Starts and stops the three guards, and creates their controllers. A guard has its own queue and finalizer;
 * they share nothing but the caches. */
#include "controllers/protect/protect.h"

#include <stdlib.h>

#include "controllers/protect/protect_int.h"

struct protect {
    struct volume_guard *volumes;
    struct claim_guard *claims;
    struct attributes_class_guard *attributes_classes;
};

int guard_controller(const struct component_deps *o, const char *queue, const char *manager,
                     unsigned in_flight_max, enum sync_result (*sync)(void *ctx, struct str key), void *ctx,
                     struct controller **ret, struct error *err)
{
    struct controller_options c = { .queue = { .loop = o->loop,
                                               .name = queue,
                                               .metrics = o->metrics,
                                               .seed = component_seed(o, queue),
                                               .max_ns = WORKQUEUE_CONTROLLER_MAX_NS },
                                    .sync = sync,
                                    .ctx = ctx,
                                    .in_flight_max = in_flight_max };
    int r = component_api(o, manager, &c.api, err);

    return r < 0 ? r : controller_new(&c, ret, err);
}

int protect_new(const struct component_deps *o, struct protect **ret, struct error *err)
{
    _cleanup_(protect_free_p) struct protect *p = calloc(1, sizeof *p);
    int r;

    if (!p)
        return error_no_memory(err);
    r = volume_guard_new(o, &p->volumes, err);
    if (r == 0)
        r = claim_guard_new(o, &p->claims, err);
    if (r == 0)
        r = attributes_class_guard_new(o, &p->attributes_classes, err);
    if (r < 0)
        return r;
    *ret = TAKE(p);
    return 0;
}

void protect_start(struct protect *p)
{
    volume_guard_start(p->volumes);
    claim_guard_start(p->claims);
    attributes_class_guard_start(p->attributes_classes);
}

const char *protect_check(const struct protect *p)
{
    const char *wrong = volume_guard_check(p->volumes);

    if (!wrong)
        wrong = claim_guard_check(p->claims);
    return wrong ? wrong : attributes_class_guard_check(p->attributes_classes);
}

struct protect *protect_free(struct protect *p)
{
    if (!p)
        return NULL;
    attributes_class_guard_free(p->attributes_classes);
    claim_guard_free(p->claims);
    volume_guard_free(p->volumes);
    free(p);
    return NULL;
}
