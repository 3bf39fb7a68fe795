/* Resource lists: maps from names to quantities ({"storage": "5Gi"}), as capacities and requests are written.
 *
 * Of volumes and claims Berth acts on "storage" alone; other names are kept and compared. Lists are in
 * canonical form, so their names are sorted and two of them compare in one walk. */
#ifndef BERTH_API_RESOURCES_H
#define BERTH_API_RESOURCES_H

#include "api/object.h"
#include "api/quantity.h"
#include "api/validate.h"

#define RESOURCE_STORAGE "storage"

/* The amount of storage in a list; false when it says none, and *ret is untouched then. */
bool resources_storage(const struct json *d, json_ref list, struct quantity *ret);
/* The same out of a member of an object, for the kinds' decode functions. */
bool decode_storage(struct decoder *dec, json_ref object, const char *key, struct quantity *ret);

/* The server keeps no amount finer than a thousandth: the rest is rounded up. */
void default_resources(struct json *d, json_ref list);

/* The same amounts under the same names, however they are written. What is called `but` is not compared; NULL
 * compares all. */
bool resources_equal(const struct json *d, json_ref a, json_ref b, const char *but);

/* Adds an error when one amount is below zero. */
void validate_resource(struct validation *v, const struct field_path *p, json_ref value);
/* Adds an error unless one amount is above zero. */
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

/* NULL when the list does not say. */
const struct quantity *amounts_get(const struct amounts *a, const char *name);

#endif
