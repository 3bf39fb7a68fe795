/* Text slices: comparison, splitting, numbers and UTF-8. Nothing here allocates or writes to the text. Every
 * function is O(length), and none depends on the locale. */
#include "base/str.h"

int str_cmp(struct str a, struct str b)
{
    size_t common = a.len < b.len ? a.len : b.len;
    int r = common ? memcmp(a.s, b.s, common) : 0;

    if (r != 0)
        return r;
    return (a.len > b.len) - (a.len < b.len);
}

bool str_has_prefix(struct str s, const char *prefix)
{
    size_t len = strlen(prefix);

    return s.len >= len && memcmp(s.s, prefix, len) == 0;
}

bool str_has_suffix(struct str s, const char *suffix)
{
    size_t len = strlen(suffix);

    return s.len >= len && memcmp(s.s + s.len - len, suffix, len) == 0;
}

struct str str_next(struct str *s, char sep)
{
    struct str part = *s;
    const char *at = s->len ? memchr(s->s, sep, s->len) : NULL;

    if (!at) {
        *s = (struct str){ NULL, 0 };
        return part;
    }
    part.len = (size_t)(at - s->s);
    *s = (struct str){ at + 1, s->len - part.len - 1 };
    return part;
}

static bool str_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

struct str str_trim(struct str s)
{
    while (s.len && str_is_blank(s.s[0])) {
        s.s++;
        s.len--;
    }
    while (s.len && str_is_blank(s.s[s.len - 1]))
        s.len--;
    return s;
}

bool str_to_uint64(struct str s, uint64_t *ret)
{
    uint64_t value = 0;

    if (s.len == 0)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        if (s.s[i] < '0' || s.s[i] > '9')
            return false;
        uint64_t digit = (uint64_t)(s.s[i] - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *ret = value;
    return true;
}

bool str_to_int64(struct str s, int64_t *ret)
{
    uint64_t magnitude;
    bool negative = s.len && s.s[0] == '-';
    struct str digits = negative ? (struct str){ s.s + 1, s.len - 1 } : s;

    if (!str_to_uint64(digits, &magnitude))
        return false;
    if (magnitude > (uint64_t)INT64_MAX + (negative ? 1 : 0))
        return false;
    *ret = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return true;
}

/* The length of the well-formed sequence at s, 0 when there is none. The ranges are those of the Unicode
 * standard, table 3-7. */
static size_t str_utf8_sequence(const unsigned char *s, size_t len)
{
    unsigned char low = 0x80, high = 0xBF;
    size_t more;

    if (s[0] < 0x80)
        return 1;
    if (s[0] < 0xC2 || s[0] > 0xF4)
        return 0;
    more = s[0] < 0xE0 ? 1 : s[0] < 0xF0 ? 2 : 3;
    if (s[0] == 0xE0)
        low = 0xA0;
    else if (s[0] == 0xED)
        high = 0x9F;
    else if (s[0] == 0xF0)
        low = 0x90;
    else if (s[0] == 0xF4)
        high = 0x8F;
    if (len <= more || s[1] < low || s[1] > high)
        return 0;
    for (size_t i = 2; i <= more; i++)
        if (s[i] < 0x80 || s[i] > 0xBF)
            return 0;
    return more + 1;
}

bool str_is_utf8(struct str s)
{
    const unsigned char *at = (const unsigned char *)s.s;
    size_t left = s.len;

    while (left) {
        uint64_t eight;
        if (left >= sizeof eight) { /* eight ASCII characters at a time, since most text is ASCII */
            memcpy(&eight, at, sizeof eight);
            if ((eight & UINT64_C(0x8080808080808080)) == 0) {
                at += sizeof eight;
                left -= sizeof eight;
                continue;
            }
        }
        size_t n = str_utf8_sequence(at, left);
        if (n == 0)
            return false;
        at += n;
        left -= n;
    }
    return true;
}

size_t str_utf8_first(struct str s)
{
    return s.len ? str_utf8_sequence((const unsigned char *)s.s, s.len) : 0;
}
