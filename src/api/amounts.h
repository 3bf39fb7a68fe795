/* Resource lists in views: how much of what ("cpu", "memory", "attachable-volumes-csi-x"), sorted by name. */
#ifndef BERTH_API_AMOUNTS_H
#define BERTH_API_AMOUNTS_H

#include "api/object.h"
#include "api/quantity.h"

struct amount {
    const char *name;
    struct quantity quantity;
};

struct amounts {
    const struct amount *items;
    uint32_t count;
};

/* A map from names to quantities. */
struct amounts decode_amounts(struct decoder *x, json_ref object, const char *key);

/* NULL when the list does not say. */
const struct quantity *amounts_get(const struct amounts *a, const char *name);

#endif
