/* Sets of numbers as ascending ranges.
 *
 * The ranges are ascending and do not touch: numbers_parse() merges adjacent ones and rejects any other
 * order. Lookups are linear: sets have few ranges, and only runs with omissions look numbers up. */
#include "sim/numbers.h"

#include <inttypes.h>

void numbers_done(struct numbers *n)
{
    vec_done(&n->ranges);
}

static bool parse_number(struct str text, uint32_t *ret)
{
    uint64_t number;

    if (!str_to_uint64(text, &number) || number < 1 || number >= UINT32_MAX)
        return false;
    *ret = (uint32_t)number;
    return true;
}

static bool parse_range(struct str text, struct number_range *ret)
{
    struct str rest = text, from = str_next(&rest, '-');

    if (!parse_number(from, &ret->from))
        return false;
    ret->to = rest.s ? UINT32_MAX : ret->from;
    return !rest.s || rest.len == 0 || (parse_number(rest, &ret->to) && ret->to >= ret->from);
}

int numbers_parse(struct str text, struct numbers *ret, struct error *err)
{
    vec_clear(&ret->ranges);
    while (text.s) {
        struct str item = str_trim(str_next(&text, ','));
        struct number_range range, *last;

        if (!parse_range(item, &range))
            return error_set(err, ERR_INVALID, "'%.*s' is neither a positive number nor a range",
                             STR_ARG(item));
        last = ret->ranges.count ? &ret->ranges.items[ret->ranges.count - 1] : NULL;
        if (last && range.from <= last->to)
            return error_set(err, ERR_INVALID, "%" PRIu32 " is not in ascending order", range.from);
        if (last && range.from == last->to + 1)
            last->to = range.to;
        else if (vec_push(&ret->ranges, range) < 0)
            return error_no_memory(err);
    }
    return 0;
}

void numbers_format(const struct numbers *n, struct buf *out)
{
    for (size_t i = 0; i < n->ranges.count; i++) {
        const struct number_range *r = &n->ranges.items[i];

        buf_addf(out, "%s%" PRIu32, i ? "," : "", r->from);
        if (r->to == UINT32_MAX)
            buf_add_cstr(out, "-");
        else if (r->to > r->from)
            buf_addf(out, "-%" PRIu32, r->to);
    }
}

bool numbers_has(const struct numbers *n, uint32_t number)
{
    for (size_t i = 0; i < n->ranges.count && n->ranges.items[i].from <= number; i++)
        if (number <= n->ranges.items[i].to)
            return true;
    return false;
}

int numbers_set_others(struct numbers *n, const uint32_t *items, size_t count)
{
    uint32_t next = 1;

    vec_clear(&n->ranges);
    for (size_t i = 0; i < count; i++) {
        if (items[i] > next && vec_push(&n->ranges, (struct number_range){ next, items[i] - 1 }) < 0)
            return -ERR_NO_MEMORY;
        next = items[i] + 1;
    }
    return vec_push(&n->ranges, (struct number_range){ next, UINT32_MAX });
}
