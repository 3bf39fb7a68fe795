/* Validation rules for single members: required members, names, sizes, paths, numbers. */
#include "api/validate.h"

#include <inttypes.h>

#include "api/names.h"

#define TOKEN_SECONDS_MIN INT64_C(600)
#define TOKEN_SECONDS_MAX (INT64_C(1) << 32)

static bool json_is_blank(const struct json *d, json_ref v)
{
    enum json_type type = json_type(d, v);

    return !v || type == JSON_NULL || (type == JSON_STRING && json_text(d, v).len == 0) ||
           ((type == JSON_ARRAY || type == JSON_OBJECT) && json_count(d, v) == 0);
}

void validate_required(struct validation *v, const struct field_path *p, json_ref object, const char *key,
                       const char *detail)
{
    struct field_path at = path_child(p, key);

    if (json_is_blank(v->d, json_get(v->d, object, key)))
        errors_required(v->errors, &at, detail);
}

void validate_optional_name(struct validation *v, const struct field_path *p, json_ref object,
                            const char *key, enum name_rule rule)
{
    struct field_path at = path_child(p, key);
    struct str name = json_get_text(v->d, object, key);

    if (name.len)
        validate_name(v, &at, rule, name);
}

void validate_map_bytes_max(struct validation *v, const struct field_path *p, json_ref map, size_t bytes_max)
{
    size_t bytes = 0;

    for (json_ref m = json_first(v->d, map); m; m = json_next(v->d, m))
        bytes += json_key(v->d, m).len + json_text(v->d, m).len;
    validate_bytes_max(v, p, bytes, bytes_max);
}

void validate_no_backsteps(struct validation *v, const struct field_path *p, struct str path)
{
    if (path_has_backstep(path))
        errors_invalid(v->errors, p, show_text(v->errors, path), "must not contain '..'");
}

void validate_between(struct validation *v, const struct field_path *p, json_ref number, int64_t low,
                      int64_t high)
{
    int64_t value;

    if (json_int64(v->d, number, &value) && (value < low || value > high))
        errors_invalid(
            v->errors, p, show_value(v->errors, v->d, number),
            errors_printf(v->errors, "must be between %" PRId64 " and %" PRId64 ", inclusive", low, high));
}

void validate_int_range(struct validation *v, const struct field_path *p, json_ref object, const char *key,
                        int64_t low, int64_t high)
{
    struct field_path at = path_child(p, key);

    validate_between(v, &at, json_get(v->d, object, key), low, high);
}

void validate_int_not_negative(struct validation *v, const struct field_path *p, json_ref object,
                               const char *key)
{
    struct field_path at = path_child(p, key);
    json_ref number = json_get(v->d, object, key);
    int64_t value;

    if (json_int64(v->d, number, &value) && value < 0)
        errors_invalid(v->errors, &at, show_value(v->errors, v->d, number),
                       "must be greater than or equal to 0");
}

void validate_token_seconds(struct validation *v, const struct field_path *p, json_ref object)
{
    struct field_path at = path_child(p, "expirationSeconds");
    json_ref seconds = json_get(v->d, object, "expirationSeconds");
    int64_t value;

    if (!json_int64(v->d, seconds, &value))
        return;
    if (value < TOKEN_SECONDS_MIN)
        errors_invalid(v->errors, &at, show_value(v->errors, v->d, seconds),
                       "may not specify a duration less than 10 minutes");
    if (value > TOKEN_SECONDS_MAX)
        errors_invalid(v->errors, &at, show_value(v->errors, v->d, seconds),
                       "may not specify a duration larger than 2^32 seconds");
}

bool duplicates_take(const uint32_t **duplicates, uint32_t *left, uint32_t index)
{
    if (*left == 0 || **duplicates != index)
        return false;
    (*duplicates)++;
    (*left)--;
    return true;
}
