/* Validation: field errors with the paths and texts of Kubernetes.
 *
 * Rules work on trees in canonical form, so that values can be shown as written. A rule adds errors to the
 * list and continues: the client gets all errors at once.
 *
 *     struct field_path spec = path_child(NULL, "spec");
 *     struct field_path size = path_key(&capacity, "storage");      spec.capacity[storage]
 *     errors_invalid(v->errors, &size, "-1", "must be greater than zero"); */
#ifndef BERTH_API_VALIDATE_H
#define BERTH_API_VALIDATE_H

#include <stdbool.h>
#include <stdint.h>

#include "api/json.h"
#include "api/kind.h"
#include "base/arena.h"
#include "base/buf.h"

#define FIELD_ERRORS_COUNT_MAX 1000

/* A path in an object, as a chain on the stack: only valid in the function that created it. */
struct field_path {
    const struct field_path *up;
    const char *name; /* .name, or NULL */
    struct str key;   /* [key] if key.s is set */
    uint32_t index;   /* [index] otherwise */
};

struct field_path path_child(const struct field_path *up, const char *name);
struct field_path path_key(const struct field_path *up, struct str key);
struct field_path path_index(const struct field_path *up, uint32_t index);

enum field_error_type {
    FIELD_ERROR_REQUIRED,
    FIELD_ERROR_INVALID,
    FIELD_ERROR_NOT_SUPPORTED,
    FIELD_ERROR_FORBIDDEN,
    FIELD_ERROR_DUPLICATE,
    FIELD_ERROR_TOO_LONG,
    FIELD_ERROR_NOT_FOUND,
    FIELD_ERROR_TYPE_COUNT,
};

struct field_error {
    enum field_error_type type;
    const char *path;
    const char *value; /* as shown; NULL for types without a value */
    const char *detail;
};

struct field_errors {
    struct arena arena;
    struct field_error *items;
    uint32_t count;
    uint32_t cap;
};

#define FIELD_ERRORS_INIT ((struct field_errors){ .arena = { .used_max = (size_t)4 << 20 } })
void field_errors_done(struct field_errors *e);
static inline void field_errors_done_p(struct field_errors *e)
{
    field_errors_done(e);
}

/* Adding errors. Details are copied; value is shown as given (see show_*()). */
void errors_required(struct field_errors *e, const struct field_path *p, const char *detail);
void errors_invalid(struct field_errors *e, const struct field_path *p, const char *value,
                    const char *detail);
/* supported ends with NULL; shown sorted and quoted. */
void errors_not_supported(struct field_errors *e, const struct field_path *p, const char *value,
                          const char *const *supported);
/* The same if the API lists them in its own order: `"Exact", "NotOlderThan", ""`. */
void errors_not_supported_text(struct field_errors *e, const struct field_path *p, const char *value,
                               const char *supported);
void errors_forbidden(struct field_errors *e, const struct field_path *p, const char *detail);
void errors_duplicate(struct field_errors *e, const struct field_path *p, const char *value);
void errors_duplicate_because(struct field_errors *e, const struct field_path *p, const char *value,
                              const char *detail);
void errors_too_long(struct field_errors *e, const struct field_path *p, const char *detail);
void errors_not_found(struct field_errors *e, const struct field_path *p, const char *value);

/* Reports that a rule had no memory for its check. */
void errors_no_room(struct field_errors *e);
/* Adds an error if the list ran out of memory: then a rule was not checked, and the object must not count as
 * valid. */
void errors_check_room(struct field_errors *e);

/* A text that is valid as long as the list, for values and details. */
const char *errors_printf(struct field_errors *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Values for error texts: strings quoted, numbers and bools plain, objects as JSON, absent ones `null`. */
const char *show_value(struct field_errors *e, const struct json *d, json_ref v);
const char *show_text(struct field_errors *e, struct str text);

/* `spec.capacity[storage]: Invalid value: "0": must be greater than zero`. */
void field_error_text(const struct field_error *e, struct buf *out);
/* The part after the path, for details.causes[].message. */
void field_error_message(const struct field_error *e, struct buf *out);
/* "FieldValueInvalid": details.causes[].reason. */
const char *field_error_reason(enum field_error_type type);
/* `PersistentVolume "x" is invalid: E` or `… is invalid: [E1, E2]`; equal errors once. group may be "". */
void field_errors_message(const struct field_errors *e, const struct kind_info *k, struct str name,
                          struct buf *out);

struct validation {
    const struct kind_info *kind;
    const struct json *d;
    json_ref object;
    json_ref old; /* 0 for a create */
    enum write_part part;
    struct field_errors *errors;
};

/* Runs all rules: for metadata, for the kind and, with an old object, for changes. */
void object_validate(struct validation *v);

/* --- Rules that several kinds share --- */

/* For unused slots of kinds. */
void validate_nothing(struct validation *v);
void default_nothing(struct json *d, json_ref object);
void prepare_create_nothing(struct json *d, json_ref object, struct timestamp now);
/* Restores the member of old, also its absence. */
void prepare_keep(struct json *d, json_ref object, json_ref old, const char *key);
/* A field of a Kubernetes feature that is off by default: known, and only kept if the old object has it.
 * object and old may be 0. */
void prepare_gated(struct json *d, json_ref object, json_ref old, const char *key);
/* For kinds with a status subresource: main writes keep old's status; status writes keep everything of old
 * except the status and, if the client may change it there, the metadata. */
void prepare_update_parts(struct json *d, json_ref object, json_ref old, enum write_part part,
                          struct timestamp now);
void prepare_update_status_only(struct json *d, json_ref object, json_ref old, enum write_part part,
                                struct timestamp now);
/* metadata.generation: old's, incremented if `now_part` differs from `old_part`. */
void prepare_generation(struct json *d, json_ref object, json_ref old, json_ref now_part, json_ref old_part);
void prepare_update_nothing(struct json *d, json_ref object, json_ref old, enum write_part part,
                            struct timestamp now);

/* Adds a Too long error if `bytes` exceeds bytes_max. */
void validate_bytes_max(struct validation *v, const struct field_path *p, size_t bytes, size_t bytes_max);

/* The same for the keys and values of a map together. */
void validate_map_bytes_max(struct validation *v, const struct field_path *p, json_ref map, size_t bytes_max);

/* Adds `Required value` if the member is absent or empty: "", [] or {}. */
void validate_required(struct validation *v, const struct field_path *p, json_ref object, const char *key,
                       const char *detail);
/* Adds `Required value` if the member is absent or ""; returns its text. */
struct str validate_required_text(struct validation *v, const struct field_path *p, json_ref object,
                                  const char *key);
/* Adds `Unsupported value` if the text is not one of the names. */
void validate_one_of(struct validation *v, const struct field_path *p, struct str text,
                     const char *const *names);
/* Adds the violations of the name rule (api/names.h), for a name or a generateName. */
void validate_name(struct validation *v, const struct field_path *p, enum name_rule rule, struct str name);
void validate_name_prefix(struct validation *v, const struct field_path *p, enum name_rule rule,
                          struct str prefix);
/* The same for a member that may be absent or "". */
void validate_optional_name(struct validation *v, const struct field_path *p, json_ref object,
                            const char *key, enum name_rule rule);
/* Adds a Duplicate error for each item that equals an earlier one: the item itself or, if key is not NULL,
 * its member with that name (p[2].name). Items are compared as JSON; absent members are skipped. */
void validate_unique(struct validation *v, const struct field_path *p, json_ref list, const char *key);
/* The indexes of those items, ascending; valid as long as the list of errors. */
uint32_t validate_find_duplicates(struct validation *v, json_ref list, const char *key, const uint32_t **ret);
/* Iterates over those indexes: true if index is the next of them. */
bool duplicates_take(const uint32_t **duplicates, uint32_t *left, uint32_t index);
/* A map of labels: keys are qualified names, values are label values. */
void validate_labels(struct validation *v, const struct field_path *p, json_ref labels);
void validate_label_selector(struct validation *v, const struct field_path *p, json_ref selector);
void validate_node_selector(struct validation *v, const struct field_path *p, json_ref selector);
/* Adds a Forbidden error if a top-level member of the object has changed: `updates to parameters are
 * forbidden.` */
void validate_no_updates(struct validation *v, const char *key);
/* Adds an Invalid error if the quantity is set and negative. */
void validate_quantity_not_negative(struct validation *v, const struct field_path *p, json_ref quantity);
/* Integers, if set: within bounds; not negative; seconds of a token's validity. */
void validate_between(struct validation *v, const struct field_path *p, json_ref number, int64_t low,
                      int64_t high);
void validate_int_range(struct validation *v, const struct field_path *p, json_ref object, const char *key,
                        int64_t low, int64_t high);
void validate_int_not_negative(struct validation *v, const struct field_path *p, json_ref object,
                               const char *key);
void validate_token_seconds(struct validation *v, const struct field_path *p, json_ref object);
/* Adds an error if the path has a component "..". */
void validate_no_backsteps(struct validation *v, const struct field_path *p, struct str path);
/* Adds `field is immutable` if the two values differ; shows the new one. */
void validate_immutable(struct validation *v, const struct field_path *p, json_ref now, json_ref old);

#endif
