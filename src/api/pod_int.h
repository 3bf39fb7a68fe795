/* Internals of the Pod kind. */
#ifndef BERTH_API_POD_INT_H
#define BERTH_API_POD_INT_H

#include "api/name_table.h"
#include "api/pod.h"
#include "api/validate.h"

#define GRACE_SECONDS_DEFAULT 30

extern const struct schema pod_schema;
extern const struct schema pod_spec_schema;
extern const struct schema pod_volume_schema;
extern const struct schema object_field_selector_schema;
extern const struct schema resource_field_selector_schema;
extern const struct schema container_schema;
extern const struct schema ephemeral_container_schema;
extern const struct schema resources_schema; /* ResourceRequirements */
extern const struct schema se_linux_schema;
extern const struct schema windows_schema;
extern const struct schema seccomp_schema;
extern const struct schema app_armor_schema;

/* --- pod_volume.c --- */

struct pod_volumes decode_pod_volumes(struct decoder *dec, json_ref spec, const char *pod_name);

/* --- pod_defaults.c --- */

void pod_set_defaults(struct json *d, json_ref object);
void pod_prepare_create(struct json *d, json_ref object, struct timestamp now);
void pod_prepare_update(struct json *d, json_ref object, json_ref old, enum write_part part,
                        struct timestamp now);

/* --- pod_validate.c, pod_update.c and the rules of the parts --- */

void pod_validate(struct validation *v);
void pod_validate_update(struct validation *v);

/* Adds errors about the volumes; *ret has the valid ones. */
void validate_pod_volumes(struct validation *v, const struct field_path *p, json_ref volumes,
                          struct name_table *ret);

/* Adds errors about the containers, which may use these volumes. */
void validate_pod_containers(struct validation *v, const struct field_path *p, json_ref spec,
                             const struct name_table *volumes);

/* Volumes with files from objects. */
void validate_keyed(struct validation *v, const struct field_path *p, json_ref source);
void validate_downward(struct validation *v, const struct field_path *p, json_ref source);
void validate_projected(struct validation *v, const struct field_path *p, json_ref source);

/* If the member is set, it must be one of the names. */
void validate_choice(struct validation *v, const struct field_path *p, json_ref object, const char *key,
                     const char *const *names);
/* The path must be relative and must not contain "..". */
void validate_descending_path(struct validation *v, const struct field_path *p, struct str path);
#endif
