#include "plugins/held_spec.h"

#include "api/pod.h"

void held_spec_clear(struct held_spec *h)
{
    (void)object_unref(h->holder);
    *h = (struct held_spec){ 0 };
}

bool held_spec_set(struct held_spec *h, const struct object *o, const char *of, bool is_read_only)
{
    struct held_spec new = { .spec.is_read_only = is_read_only };

    if (of)
        new.spec.inlined = pod_volume(pod_of(o), of);
    else
        new.spec.volume = volume_of(o);
    if (!new.spec.inlined && !new.spec.volume)
        return false;
    new.holder = object_ref(o);
    held_spec_clear(h);
    *h = new;
    return true;
}

void held_spec_copy(struct held_spec *to, const struct held_spec *from)
{
    struct held_spec new = from ? *from : (struct held_spec){ 0 };

    if (new.holder)
        new.holder = object_ref(new.holder);
    held_spec_clear(to);
    *to = new;
}

const char *held_spec_name(const struct held_spec *h)
{
    return h->holder ? spec_name(&h->spec) : "nil";
}
