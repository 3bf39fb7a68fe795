/* Lists of resources. Comparison and rounding work on canonical trees, whose keys are sorted: one pass each.
 * Quantities are parsed on each use; values that do not parse count as absent. */
#include "api/resources.h"

#include <inttypes.h>
#include <string.h>

#define RESOURCE_SCALE (-3)

/* The text is canonical: if it does not parse, the value is not a quantity and counts as absent. */
static bool quantity_of_value(const struct json *d, json_ref v, struct quantity *ret)
{
    struct error ignored;

    return v && quantity_parse(json_text(d, v), ret, &ignored) == 0;
}

bool resources_storage(const struct json *d, json_ref list, struct quantity *ret)
{
    return quantity_of_value(d, json_get(d, list, RESOURCE_STORAGE), ret);
}

bool decode_storage(struct decoder *dec, json_ref object, const char *key, struct quantity *ret)
{
    return decode_quantity(dec, json_get(dec->d, object, key), RESOURCE_STORAGE, ret);
}

/* True if v is finer than the API stores; *ret is the rounded value. */
static bool resource_rounds(const struct json *d, json_ref v, struct quantity *ret)
{
    return quantity_of_value(d, v, ret) && !quantity_round_up(ret, RESOURCE_SCALE);
}

static json_ref quantity_text(struct json *d, const struct quantity *q)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(QUANTITY_TEXT_BYTES_MAX);

    quantity_format(q, &text); /* it always fits */
    return json_new_string(d, buf_str(&text));
}

void default_resources(struct json *d, json_ref list)
{
    struct quantity q;
    json_ref m = json_first(d, list);

    while (m && !resource_rounds(d, m, &q))
        m = json_next(d, m);
    if (!m)
        return;
    /* Moves each amount from the front to the back, which keeps the order and needs no search. */
    for (uint32_t left = json_count(d, list); left && !d->failed; left--) {
        json_ref first = json_first(d, list);
        struct str key = json_key(d, first);
        json_unlink(d, first);
        json_add_member(d, list, key, resource_rounds(d, first, &q) ? quantity_text(d, &q) : first);
    }
}

static bool quantity_values_equal(const struct json *d, json_ref a, json_ref b)
{
    struct quantity x, y;

    if (json_equal(d, a, b))
        return true;
    return quantity_of_value(d, a, &x) && quantity_of_value(d, b, &y) && quantity_cmp(&x, &y) == 0;
}

/* v, or the next member if v is the one to skip. */
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

struct amounts decode_amounts(struct decoder *dec, json_ref object, const char *key)
{
    json_ref map = json_get(dec->d, object, key);
    uint32_t count, n = 0;
    struct amount *items = decode_items(dec, map, sizeof *items, &count);

    for (json_ref m = items ? json_first(dec->d, map) : 0; m && dec->r == 0; m = json_next(dec->d, m), n++) {
        items[n].name = decode_key(dec, m);
        if (dec->r == 0)
            dec->r = quantity_parse(json_text(dec->d, m), &items[n].quantity, dec->err);
    }
    return (struct amounts){ items, n };
}

const struct quantity *amounts_get(const struct amounts *a, const char *name)
{
    uint32_t low = 0, high = a->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int r = strcmp(a->items[middle].name, name);
        if (r == 0)
            return &a->items[middle].quantity;
        if (r < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}
