/* A volume spec that outlives the caches: it has a reference to the object that contains it. */
#ifndef BERTH_PLUGINS_HELD_SPEC_H
#define BERTH_PLUGINS_HELD_SPEC_H

#include <stdbool.h>

#include "api/object.h"
#include "plugins/plugin.h"

/* Zeroed: none. */
struct held_spec {
    struct object *holder; /* the PersistentVolume or its translation, or the pod; a reference; NULL: none */
    struct volume_spec spec;
};

/* of: the pod's volume of that name, or with NULL the PersistentVolume o. False if the pod has no such
 * volume. Releases the previous object. */
bool held_spec_set(struct held_spec *h, const struct object *o, const char *of, bool is_read_only);
/* Replaces a volume of a migrated in-tree plugin by its CSI translation; others are unchanged, as after a
 * failure. */
int held_spec_migrate(struct held_spec *h, struct error *err);
/* from: NULL for none. */
void held_spec_copy(struct held_spec *to, const struct held_spec *from);
void held_spec_clear(struct held_spec *h);

static inline void held_spec_clear_p(struct held_spec *h)
{
    held_spec_clear(h);
}

/* For messages: "nil" for none. */
const char *held_spec_name(const struct held_spec *h);

#endif
