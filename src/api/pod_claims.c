/* The claims of a pod. Pure; costs a walk over the pod's volumes. */
#include "api/pod_claims.h"

#include <stdio.h>
#include <string.h>

void pod_claims(const struct pod *p, pod_claim_fn *fn, void *ctx)
{
    for (uint32_t i = 0; i < p->volumes.count; i++) {
        const char *name = pod_claim_name(&p->volumes.items[i]);
        char key[CLAIM_KEY_BYTES_MAX];
        int len;

        if (!name)
            continue;
        len = snprintf(key, sizeof key, "%s/%s", p->obj.ns, name);
        if (len > 0 && (size_t)len < sizeof key)
            fn(ctx, (struct str){ key, (size_t)len });
    }
}

bool pod_has_ephemeral_volume(const struct pod *p)
{
    for (uint32_t i = 0; i < p->volumes.count; i++)
        if (p->volumes.items[i].type == POD_VOLUME_EPHEMERAL)
            return true;
    return false;
}

bool pod_controls_claim(const struct pod *p, const struct claim *c)
{
    const struct owner *o = object_controller(&c->obj);

    return o && strcmp(o->uid, p->obj.uid) == 0;
}

bool pod_volume_is_claim(const struct pod *p, const struct pod_volume *v, const struct claim *c)
{
    const char *name = pod_claim_name(v);

    if (!name || strcmp(name, c->obj.name) != 0 || strcmp(p->obj.ns, c->obj.ns) != 0)
        return false;
    return v->type == POD_VOLUME_CLAIM || pod_controls_claim(p, c);
}
