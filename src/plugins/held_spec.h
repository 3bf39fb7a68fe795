/* A volume's spec that outlives the caches it came from: with a reference to the object that it is part of.
 */
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

/* of: the pod's volume of that name, or with NULL the PersistentVolume that o is. False when the pod has no
 * such volume. What was held before is let go of. */
bool held_spec_set(struct held_spec *h, const struct object *o, const char *of, bool is_read_only);
/* A volume whose plugin became a CSI driver is held as its translation from here on; others stay. A failure
 * leaves it as it was. */
int held_spec_migrate(struct held_spec *h, struct error *err);
/* from: NULL for none. */
void held_spec_copy(struct held_spec *to, const struct held_spec *from);
void held_spec_clear(struct held_spec *h);

static inline void held_spec_clear_p(struct held_spec *h)
{
    held_spec_clear(h);
}

/* For texts: "nil" for none. */
const char *held_spec_name(const struct held_spec *h);

#endif
