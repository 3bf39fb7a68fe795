/* Parses quantities. A text is split (quantity_scan), its suffix is identified, and its digits are converted:
 * directly if there are few, otherwise digit by digit with rounding. The boundary between the two is that of
 * the API, because below it texts may be returned unchanged. */
#include "api/quantity.h"

#include "api/quantity_int.h"
#include "base/cleanup.h"

#define FAST_DIGITS_MAX 18 /* any number of 18 digits fits int64 */
#define NANOS UINT64_C(1000000000)

const struct quantity_suffix quantity_suffixes[] = {
    { "", 0, QUANTITY_DECIMAL_SI, 0 },   { "Gi", 2, QUANTITY_BINARY_SI, 30 },
    { "Mi", 2, QUANTITY_BINARY_SI, 20 }, { "Ki", 2, QUANTITY_BINARY_SI, 10 },
    { "Ti", 2, QUANTITY_BINARY_SI, 40 }, { "m", 1, QUANTITY_DECIMAL_SI, -3 },
    { "G", 1, QUANTITY_DECIMAL_SI, 9 },  { "M", 1, QUANTITY_DECIMAL_SI, 6 },
    { "k", 1, QUANTITY_DECIMAL_SI, 3 },  { "T", 1, QUANTITY_DECIMAL_SI, 12 },
    { "P", 1, QUANTITY_DECIMAL_SI, 15 }, { "E", 1, QUANTITY_DECIMAL_SI, 18 },
    { "Pi", 2, QUANTITY_BINARY_SI, 50 }, { "Ei", 2, QUANTITY_BINARY_SI, 60 },
    { "n", 1, QUANTITY_DECIMAL_SI, -9 }, { "u", 1, QUANTITY_DECIMAL_SI, -6 },
};
const size_t quantity_suffixes_count = ARRAY_LEN(quantity_suffixes);

/* A split text; only its syntax is checked so far. */
struct quantity_scan {
    bool negative, plus, point;
    size_t zeros;
    struct str num;   /* without leading zeros */
    struct str denom; /* with all its zeros */
    struct str suffix;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_sign(char c)
{
    return c == '+' || c == '-';
}

static bool is_suffix_char(char c)
{
    return c && strchr("eEinumkKMGTP", c);
}

static struct str scan_digits(struct str text, size_t *at)
{
    size_t start = *at;

    while (*at < text.len && is_digit(text.s[*at]))
        (*at)++;
    return (struct str){ text.s + start, *at - start };
}

static bool quantity_scan(struct str text, struct quantity_scan *s)
{
    size_t at = 0, start;

    if (text.len && is_sign(text.s[0])) {
        s->negative = text.s[0] == '-';
        s->plus = !s->negative;
        at++;
    }
    for (start = at; at < text.len && text.s[at] == '0'; at++)
        ;
    s->zeros = at - start;
    s->num = scan_digits(text, &at);
    if (at < text.len && text.s[at] == '.') {
        s->point = true;
        at++;
        s->denom = scan_digits(text, &at);
    }
    for (start = at; at < text.len && is_suffix_char(text.s[at]); at++)
        ;
    if (at < text.len && is_sign(text.s[at]))
        at++;
    (void)scan_digits(text, &at);
    s->suffix = (struct str){ text.s + start, at - start };
    return at == text.len;
}

/* "e3", "E-12": stores the shape of the exponent in q, and its value. */
static bool quantity_scan_exponent(struct str s, struct quantity *q, int *ret_power)
{
    size_t at = 1, zeros = 0;
    int value = 0;

    if (s.len < 2 || (s.s[0] != 'e' && s.s[0] != 'E'))
        return false;
    q->suffix = s.s[0] == 'e' ? QUANTITY_SUFFIX_LOWER_E : QUANTITY_SUFFIX_UPPER_E;
    q->exponent_plus = s.s[at] == '+';
    q->exponent_minus = s.s[at] == '-';
    if (is_sign(s.s[at]))
        at++;
    for (; at + 1 < s.len && s.s[at] == '0'; at++)
        zeros++;
    if (at == s.len)
        return false;
    for (; at < s.len; at++) {
        if (!is_digit(s.s[at]))
            return false;
        value = value * 10 + (s.s[at] - '0');
        if (value > QUANTITY_EXPONENT_MAX)
            return false;
    }
    q->exponent_zeros = (uint8_t)zeros;
    q->exponent_digits = (int16_t)value;
    q->format = QUANTITY_DECIMAL_EXPONENT;
    *ret_power = q->exponent_minus ? -value : value;
    return true;
}

/* Identifies the suffix: stores the format and the shape in q, and the power of ten (or of two). */
static bool quantity_scan_suffix(struct str s, struct quantity *q, int *ret_power)
{
    for (size_t i = 0; i < quantity_suffixes_count && s.len <= 2; i++) {
        const struct quantity_suffix *known = &quantity_suffixes[i];
        if (s.len != known->len || memcmp(s.s, known->text, s.len) != 0)
            continue;
        q->suffix = (uint8_t)i;
        q->format = (uint8_t)known->format;
        *ret_power = known->power;
        return true;
    }
    return quantity_scan_exponent(s, q, ret_power);
}

static char scan_digit(const struct quantity_scan *s, size_t i)
{
    return i < s->num.len ? s->num.s[i] : s->denom.s[i - s->num.len];
}

/* num and denom as one number with at most 18 digits. */
static uint64_t scan_small(const struct quantity_scan *s)
{
    uint64_t value = 0;

    for (size_t i = 0; i < s->num.len; i++)
        value = value * 10 + (uint64_t)(s->num.s[i] - '0');
    for (size_t i = 0; i < s->denom.len; i++)
        value = value * 10 + (uint64_t)(s->denom.s[i] - '0');
    return value;
}

/* Stores the shape that quantity_format() needs to reproduce the text. shape already has the suffix. */
static void quantity_keep_text(struct quantity *q, const struct quantity *shape,
                               const struct quantity_scan *s)
{
    q->verbatim = true;
    q->plus = s->plus;
    q->point = s->point;
    q->zeros = (uint8_t)s->zeros;
    q->fraction = (uint8_t)s->denom.len;
    q->suffix = shape->suffix;
    q->exponent_plus = shape->exponent_plus;
    q->exponent_minus = shape->exponent_minus;
    q->exponent_zeros = shape->exponent_zeros;
    q->exponent_digits = shape->exponent_digits;
}

static bool scan_has_digits(const struct quantity_scan *s)
{
    return s->zeros + s->num.len + s->denom.len > 0;
}

/* Any number of digits: rounds below 10^-9 away from zero, then drops trailing zeros. False if more than 38
 * digits are left. */
static bool quantity_set_decimal(struct quantity *q, const struct quantity_scan *s, int scale,
                                 enum quantity_format format)
{
    size_t first = 0, kept = s->num.len + s->denom.len;
    bool round = false;
    uint128 m = 0;

    while (first < kept && scan_digit(s, first) == '0')
        first++;
    for (; scale < QUANTITY_NANO && kept > first; kept--, scale++)
        round = round || scan_digit(s, kept - 1) != '0';
    if (scale < QUANTITY_NANO)
        scale = QUANTITY_NANO; /* all digits are below; round says whether one was not zero */
    for (; kept > first && scan_digit(s, kept - 1) == (round ? '9' : '0'); kept--)
        scale++; /* rounding turns these nines into zeros and carries on */
    if (kept - first > QUANTITY_DIGITS_MAX)
        return false;
    for (size_t i = first; i < kept; i++) {
        uint64_t digit = (uint64_t)(scan_digit(s, i) - '0');
        m = m * 10 + digit;
    }
    quantity_set(q, s->negative, m + round, scale, format);
    return true;
}

static int quantity_parse_decimal(const struct quantity_scan *s, const struct quantity *shape, int power,
                                  struct quantity *ret, struct error *err)
{
    size_t digits = (s->num.len ? s->num.len : 1) + s->denom.len;
    int scale = power - (int)s->denom.len;

    if (digits <= FAST_DIGITS_MAX && scale >= QUANTITY_NANO) {
        uint64_t m = scan_small(s);
        quantity_set(ret, s->negative, m, scale, shape->format);
        if (scale % 3 == 0 && m % 1000 != 0 && s->num.len)
            quantity_keep_text(ret, shape, s);
        return 0;
    }
    if (!scan_has_digits(s))
        return error_set(err, ERR_BAD_REQUEST, "%s", QUANTITY_ERROR_NUMERIC);
    if (!quantity_set_decimal(ret, s, scale, shape->format))
        return error_set(err, ERR_BAD_REQUEST, "%s", QUANTITY_ERROR_FORMAT);
    return 0;
}

/* 0.denom * 2^bits as whole + nanos / 10^9, rounded up. Digits are processed in groups of nine from the end,
 * so that every product fits into 128 bits. */
static void scale_fraction(struct str denom, int bits, uint128 *ret_whole, uint64_t *ret_nanos)
{
    uint128 carry = 0;
    uint64_t group = 0;
    bool round = false;

    for (size_t groups = (denom.len + 8) / 9; groups > 0; groups--) {
        round = round || group != 0; /* from the previous, less significant group */
        group = 0;
        for (size_t i = (groups - 1) * 9; i < groups * 9; i++)
            group = group * 10 + (i < denom.len ? (uint64_t)(denom.s[i] - '0') : 0);
        uint128 product = ((uint128)group << bits) + carry;
        group = (uint64_t)(product % NANOS);
        carry = product / NANOS;
    }
    *ret_whole = carry;
    *ret_nanos = group + round;
}

static void quantity_set_binary(struct quantity *q, const struct quantity_scan *s, int bits)
{
    struct quantity_scan whole_only = { .num = s->num };
    uint128 whole, more;
    uint64_t nanos;

    /* more than 19 digits exceed 2^63 anyway */
    whole = s->num.len <= 19 ? (uint128)scan_small(&whole_only) << bits : (uint128)1 << 64;
    scale_fraction(s->denom, bits, &more, &nanos);
    whole += more + nanos / NANOS;
    nanos %= NANOS;
    if (whole >= INT64_MAX) {
        whole = INT64_MAX;
        nanos = 0;
    }
    if (nanos == 0)
        quantity_set(q, s->negative, whole, 0, QUANTITY_BINARY_SI);
    else
        quantity_set(q, s->negative, whole * NANOS + nanos, QUANTITY_NANO,
                     whole ? QUANTITY_BINARY_SI : QUANTITY_DECIMAL_SI);
}

static int quantity_parse_binary(const struct quantity_scan *s, const struct quantity *shape, int bits,
                                 struct quantity *ret, struct error *err)
{
    int digits = s->num.len ? (int)s->num.len : 1;

    if (s->denom.len == 0 && 15 - digits - bits * 3 / 10 - 1 >= 0) {
        uint64_t num = scan_small(s);
        quantity_set(ret, s->negative, num << bits, 0, QUANTITY_BINARY_SI);
        if (num & 7)
            quantity_keep_text(ret, shape, s);
        return 0;
    }
    if (!scan_has_digits(s))
        return error_set(err, ERR_BAD_REQUEST, "%s", QUANTITY_ERROR_NUMERIC);
    quantity_set_binary(ret, s, bits);
    return 0;
}

int quantity_parse(struct str text, struct quantity *ret, struct error *err)
{
    struct quantity_scan scan = { 0 };
    struct quantity shape = { 0 };
    int power = 0;

    if (text.len == 0 || text.len > QUANTITY_TEXT_BYTES_MAX || !quantity_scan(text, &scan))
        return error_set(err, ERR_BAD_REQUEST, "%s", QUANTITY_ERROR_FORMAT);
    if (!quantity_scan_suffix(scan.suffix, &shape, &power))
        return error_set(err, ERR_BAD_REQUEST, "%s", QUANTITY_ERROR_SUFFIX);
    if (shape.format == QUANTITY_BINARY_SI)
        return quantity_parse_binary(&scan, &shape, power, ret, err);
    return quantity_parse_decimal(&scan, &shape, power, ret, err);
}
