/* Schemas that many kinds share. */
#ifndef BERTH_API_META_H
#define BERTH_API_META_H

#include "api/schema.h"

extern const struct schema meta_schema; /* ObjectMeta */
extern const struct schema object_reference_schema;
extern const struct schema local_object_reference_schema;
extern const struct schema secret_reference_schema;
extern const struct schema typed_local_reference_schema;
extern const struct schema typed_reference_schema;
extern const struct schema label_selector_schema;
extern const struct schema label_requirement_schema;
extern const struct schema node_selector_schema;
extern const struct schema node_selector_term_schema;
extern const struct schema topology_term_schema;

/* The first fields of every kind, in the order they are written. */
/* clang-format off */
#define SCHEMA_OBJECT_FIELDS                                                                  \
    { "kind", FIELD_STRING },                                                                 \
    { "apiVersion", FIELD_STRING },                                                           \
    { "metadata", FIELD_OBJECT, .sub = &meta_schema, .flags = FIELD_ALWAYS, .number = 1 }
/* clang-format on */

#endif
