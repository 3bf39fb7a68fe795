/* A volume spec with a reference to its object. Zeroed means none. */
#include "plugins/held_spec.h"

#include "api/migration.h"
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

int held_spec_migrate(struct held_spec *h, struct error *err)
{
    struct held_spec new = { .spec = { .is_read_only = h->spec.is_read_only, .is_migrated = true } };
    int r;

    if (h->spec.volume && migration_plugin(h->spec.volume->source.kind)) {
        r = migration_translate(h->spec.volume, &new.holder, err);
    } else if (h->spec.inlined && migration_source(h->spec.inlined->type) != SOURCE_NONE) {
        new.spec.was_inlined = true;
        r = migration_translate_inline(pod_of(h->holder), h->spec.inlined, &new.holder, err);
    } else {
        return 0;
    }
    if (r < 0)
        return error_wrap(err, "failed to translate volume \"%s\" to CSI", spec_name(&h->spec));
    new.spec.volume = volume_of(new.holder);
    held_spec_clear(h);
    *h = new;
    return 0;
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
