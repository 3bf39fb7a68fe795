#include "api/resources.h"

#include <inttypes.h>

#define RESOURCE_SCALE (-3)

/* The text is canonical, so a failure means that the value is no quantity at all and reads as absent. */
static bool quantity_of_value(const struct json *d, json_ref v, struct quantity *ret)
{
    struct error ignored;

    return v && quantity_parse(json_text(d, v), ret, &ignored) == 0;
}

bool resources_storage(const struct json *d, json_ref list, struct quantity *ret)
{
    return quantity_of_value(d, json_get(d, list, RESOURCE_STORAGE), ret);
}

bool decode_storage(struct decoder *x, json_ref object, const char *key, struct quantity *ret)
{
    return decode_quantity(x, json_get(x->d, object, key), RESOURCE_STORAGE, ret);
}

void default_storage(struct json *d, json_ref list)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(QUANTITY_TEXT_BYTES_MAX);
    struct quantity q;

    if (!resources_storage(d, list, &q) || quantity_round_up(&q, RESOURCE_SCALE))
        return;
    if (quantity_format(&q, &text) == 0)
        json_set(d, list, RESOURCE_STORAGE, json_new_string(d, buf_str(&text)));
}

static bool quantity_values_equal(const struct json *d, json_ref a, json_ref b)
{
    struct quantity x, y;

    if (json_equal(d, a, b))
        return true;
    return quantity_of_value(d, a, &x) && quantity_of_value(d, b, &y) && quantity_cmp(&x, &y) == 0;
}

/* v, or the member behind it when v is the one to pass over. */
static json_ref pass_over(const struct json *d, json_ref v, const char *but)
{
    return v && but && str_is(json_key(d, v), but) ? json_next(d, v) : v;
}

bool resources_equal(const struct json *d, json_ref a, json_ref b, const char *but)
{
    json_ref x = pass_over(d, json_first(d, a), but), y = pass_over(d, json_first(d, b), but);

    while (x && y && str_eq(json_key(d, x), json_key(d, y)) && quantity_values_equal(d, x, y)) {
        x = pass_over(d, json_next(d, x), but);
        y = pass_over(d, json_next(d, y), but);
    }
    return !x && !y;
}

void validate_resource(struct validation *v, const struct field_path *p, json_ref value)
{
    struct quantity q;

    if (quantity_of_value(v->d, value, &q) && quantity_value(&q) < 0)
        errors_invalid(v->errors, p, errors_printf(v->errors, "%" PRId64, quantity_value(&q)),
                       "must be a valid resource quantity");
}

void validate_positive(struct validation *v, const struct field_path *p, json_ref value)
{
    struct quantity q;

    if (quantity_of_value(v->d, value, &q) && quantity_sign(&q) <= 0)
        errors_invalid(v->errors, p, show_value(v->errors, v->d, value), "must be greater than zero");
}
