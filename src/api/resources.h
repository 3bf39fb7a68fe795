/* Resource lists: maps from names to quantities ({"storage": "5Gi"}), used for capacities and requests.
 *
 * For volumes and claims Berth only uses "storage"; other names are kept and compared. Lists are in canonical
 * form, so that two of them are compared in one pass. */
#ifndef BERTH_API_RESOURCES_H
#define BERTH_API_RESOURCES_H

#include "api/object.h"
#include "api/quantity.h"
#include "api/validate.h"

#define RESOURCE_STORAGE "storage"

/* The amount of storage in a list; false if there is none, *ret is then unchanged. */
bool resources_storage(const struct json *d, json_ref list, struct quantity *ret);
/* The same for a member of an object, for decode functions. */
bool decode_storage(struct decoder *dec, json_ref object, const char *key, struct quantity *ret);

/* Rounds amounts up to thousandths: the server stores nothing finer. */
void default_resources(struct json *d, json_ref list);

/* True if both have equal amounts for the same names, in any notation. The name `but` is not compared; NULL:
 * all are. */
bool resources_equal(const struct json *d, json_ref a, json_ref b, const char *but);

/* Adds an error if the amount is negative. */
void validate_resource(struct validation *v, const struct field_path *p, json_ref value);
/* Adds an error unless the amount is positive. */
void validate_positive(struct validation *v, const struct field_path *p, json_ref value);

/* --- In views: how much of what ("cpu", "memory", "attachable-volumes-csi-x"), sorted by name --- */

struct amount {
    const char *name;
    struct quantity quantity;
};

struct amounts {
    const struct amount *items;
    uint32_t count;
};

/* A map from names to quantities. */
struct amounts decode_amounts(struct decoder *dec, json_ref object, const char *key);

/* NULL if the list does not have it. */
const struct quantity *amounts_get(const struct amounts *a, const char *name);

#endif
