/* Query parameters and percent-decoding into an arena. O(length). */
#include "http/params.h"

#include <strings.h>

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* The byte that `%41` at the beginning of s encodes; -1 when s does not begin with an escape. */
static int escaped_byte(struct str s)
{
    int high = s.len >= 3 ? hex_digit(s.s[1]) : -1;
    int low = s.len >= 3 ? hex_digit(s.s[2]) : -1;

    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

int percent_decode(struct str text, bool plus_is_blank, struct arena *a, struct str *ret, struct error *err)
{
    char *out = arena_alloc(a, text.len + 1);
    size_t len = 0;

    if (!out)
        return error_no_memory(err);
    for (size_t i = 0; i < text.len; i++) {
        int c = (unsigned char)text.s[i];

        if (c == '%') {
            c = escaped_byte((struct str){ text.s + i, text.len - i });
            if (c < 0)
                return error_set(err, ERR_BAD_REQUEST, "invalid URL escape \"%.*s\"",
                                 (int)(text.len - i < 3 ? text.len - i : 3), text.s + i);
            i += 2;
        } else if (c == '+' && plus_is_blank) {
            c = ' ';
        }
        if (c == '\0')
            return error_set(err, ERR_BAD_REQUEST, "the URL contains a NUL byte");
        out[len++] = (char)c;
    }
    out[len] = '\0';
    *ret = (struct str){ out, len };
    return 0;
}

int params_parse(struct str query, struct arena *a, struct params *ret, struct error *err)
{
    size_t count = 1;
    struct param *items;

    for (size_t i = 0; i < query.len; i++)
        count += query.s[i] == '&';
    if (count > PARAMS_COUNT_MAX)
        return error_set(err, ERR_BAD_REQUEST, "the URL has more than %d parameters", PARAMS_COUNT_MAX);
    items = arena_array(a, count, sizeof *items);
    if (!items)
        return error_no_memory(err);
    count = 0;
    while (query.s && query.len) {
        struct str value = str_next(&query, '&'), name;
        struct error ignored;

        name = str_next(&value, '=');
        if (name.len == 0 || percent_decode(name, true, a, &items[count].name, &ignored) < 0)
            continue;
        items[count].value = STR_LIT("");
        if (value.s && percent_decode(value, true, a, &items[count].value, &ignored) < 0)
            continue;
        count++;
    }
    *ret = (struct params){ items, count };
    return 0;
}

struct str params_get(const struct params *p, const char *name)
{
    for (size_t i = 0; i < p->count; i++) {
        if (str_is(p->items[i].name, name))
            return p->items[i].value;
    }
    return (struct str){ NULL, 0 };
}

bool params_bool(const struct params *p, const char *name)
{
    struct str value = params_get(p, name);

    if (!value.s || str_is(value, "0"))
        return false;
    return value.len != 5 || strncasecmp(value.s, "false", 5) != 0;
}

int params_int(const struct params *p, const char *name, int64_t fallback, int64_t *ret, struct error *err)
{
    struct str value = params_get(p, name), digits = value;

    if (value.len == 0) {
        *ret = fallback;
        return 0;
    }
    if (digits.len > 1 && digits.s[0] == '+')
        digits = (struct str){ digits.s + 1, digits.len - 1 };
    if (!str_to_int64(digits, ret))
        return error_set(err, ERR_BAD_REQUEST, "strconv.ParseInt: parsing \"%.*s\": invalid syntax",
                         STR_ARG(value));
    return 0;
}
