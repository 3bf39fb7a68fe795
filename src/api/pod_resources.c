/* Requests and limits of a pod over all of its containers.
 *
 * Init containers run one after another, so each counts separately, together with the sidecars that were
 * started before it; sidecars and regular containers run at the same time. */
#include "api/pod.h"

#include <string.h>

static int64_t add_saturating(int64_t a, int64_t b)
{
    int64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static int64_t value_of(const struct amounts *a, const char *resource)
{
    const struct quantity *q = amounts_get(a, resource);

    return q && quantity_sign(q) > 0 ? quantity_value(q) : 0;
}

const struct pod_container *pod_container(const struct pod *p, const char *name)
{
    for (uint32_t i = 0; i < p->containers_count; i++)
        if (strcmp(p->containers[i].name, name) == 0)
            return &p->containers[i];
    return NULL;
}

int64_t pod_limit_value(const struct pod *p, const char *resource)
{
    int64_t together = 0, alone_max = 0, total = value_of(&p->limits, resource);

    for (uint32_t i = 0; i < p->containers_count && total == 0; i++) {
        const struct pod_container *c = &p->containers[i];
        int64_t own = value_of(&c->limits, resource), beside = add_saturating(own, together);
        if (c->kind == CONTAINER_INIT && !c->is_sidecar)
            alone_max = beside > alone_max ? beside : alone_max;
        else
            together = beside;
    }
    if (total == 0)
        total = together > alone_max ? together : alone_max;
    return total > 0 ? add_saturating(total, value_of(&p->overhead, resource)) : 0;
}
