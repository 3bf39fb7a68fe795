/* What the files of the Pod kind share. */
#ifndef BERTH_API_POD_INT_H
#define BERTH_API_POD_INT_H

#include "api/pod.h"
#include "api/validate.h"

extern const struct schema pod_schema;
extern const struct schema pod_spec_schema;
extern const struct schema pod_volume_schema;
extern const struct schema object_field_selector_schema;

/* --- pod_volume.c --- */

struct pod_volumes decode_pod_volumes(struct decoder *x, json_ref spec, const char *pod_name);

/* --- pod_defaults.c --- */

void pod_set_defaults(struct json *d, json_ref object);
void pod_prepare_create(struct json *d, json_ref object, struct timestamp now);
void pod_prepare_update(struct json *d, json_ref object, json_ref old, enum write_part part,
                        struct timestamp now);
/* "BestEffort", "Burstable" or "Guaranteed", from what the containers ask for. */
const char *pod_qos_class(const struct json *d, json_ref spec);

/* --- pod_validate.c, pod_update.c and the rules of the parts --- */

void pod_validate(struct validation *v);
void pod_validate_update(struct validation *v);

/* Names of a list's items, sorted, so that a look-up costs log n however long the list is. */
struct named {
    struct str name;
    json_ref item;
};

struct name_table {
    struct named *items;
    uint32_t count;
};

/* A table of the items' members of that name, in the memory of the errors. Without memory it is empty, so
 * that every look-up fails and the object is refused. */
struct name_table name_table_of(struct validation *v, json_ref list, const char *key);
/* An empty table with room for count names, to be filled and sorted. */
struct name_table name_table_new(struct validation *v, uint32_t count);
void name_table_sort(struct name_table *t);
json_ref name_table_find(const struct name_table *t, struct str name);

/* Walks along the indexes of validate_find_twins(): true when index is the next of them. */
bool twins_take(const uint32_t **twins, uint32_t *left, uint32_t index);

/* Adds what is wrong with the volumes; *ret has those with which nothing is. */
void validate_pod_volumes(struct validation *v, const struct field_path *p, json_ref volumes,
                          struct name_table *ret);

/* Adds what is wrong with the containers, which may use these volumes. */
void validate_pod_containers(struct validation *v, const struct field_path *p, json_ref spec,
                             const struct name_table *volumes);

/* Volumes whose files come from objects. */
void validate_keyed(struct validation *v, const struct field_path *p, json_ref source);
void validate_downward(struct validation *v, const struct field_path *p, json_ref source);
void validate_projected(struct validation *v, const struct field_path *p, json_ref source);

/* The member is there and says something. */
void validate_required(struct validation *v, const struct field_path *p, json_ref object, const char *key);
/* The member, when it is there, is one of the names. */
void validate_choice(struct validation *v, const struct field_path *p, json_ref object, const char *key,
                     const char *const *names);
/* Relative, and nowhere up. */
void validate_descending_path(struct validation *v, const struct field_path *p, struct str path);
void validate_no_backsteps(struct validation *v, const struct field_path *p, struct str path);
/* An integer member, when it is there, is within these bounds. */
void validate_int_range(struct validation *v, const struct field_path *p, json_ref object, const char *key,
                        int64_t low, int64_t high);

#endif
