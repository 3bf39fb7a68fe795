/* What the snapshot kinds and the group snapshot kinds share. */
#ifndef BERTH_API_SNAPSHOT_INT_H
#define BERTH_API_SNAPSHOT_INT_H

#include "api/meta.h"
#include "api/validate.h"

extern const struct schema snapshot_error_schema;

void snapshot_prepare_create(struct json *d, json_ref object, struct timestamp now);
void snapshot_prepare_update(struct json *d, json_ref object, json_ref old, enum write_part part,
                             struct timestamp now);
void snapshot_class_prepare_update(struct json *d, json_ref object, json_ref old, enum write_part part,
                                   struct timestamp now);

/* Exactly one of two members of spec.source must be set. */
void snapshot_validate_source(struct validation *v, const char *first, const char *second,
                              const char *detail);
/* A member of the source must not be changed, added or removed. */
void snapshot_validate_source_fixed(struct validation *v, const char *member);
/* A member of the spec that must not be the empty string. */
void snapshot_validate_class_name(struct validation *v, const char *member);
/* The reference of a content has a name and a namespace. */
void snapshot_validate_reference(struct validation *v, const char *member, const char *detail);
void snapshot_validate_policy(struct validation *v, const struct field_path *p, json_ref object);

#endif
