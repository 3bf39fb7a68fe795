/* Formats quantities: as originally written, or canonical. */
#include "api/quantity.h"

#include <assert.h>
#include <stdio.h>

#include "api/quantity_int.h"

#define SI_EXPONENT_MAX 18    /* E is the largest suffix */
#define TEXT_EXPONENT_MAX 999 /* the largest multiple of three that parses again */
#define DIGITS_BYTES_MAX 40

/* The parts of a canonical text: [-] digits zeros suffix. */
struct quantity_parts {
    bool negative;
    uint128 digits;
    size_t zeros;
    char suffix[8];
};

/* The integer of a binary format that is printed with a binary suffix: whole, at least 1024, and at most
 * 2^63-1, because the parser limits larger ones. Otherwise 0. */
static uint64_t quantity_binary_whole(const struct quantity *q)
{
    uint128 m = quantity_mantissa(q);
    int exponent = q->exponent;

    if (q->format != QUANTITY_BINARY_SI)
        return 0;
    if (exponent < 0)
        quantity_strip_zeros(&m, &exponent);
    for (; exponent > 0 && m <= INT64_MAX; exponent--)
        m *= 10;
    return exponent == 0 && m >= 1024 && m <= INT64_MAX ? (uint64_t)m : 0;
}

static void quantity_set_binary_parts(uint64_t whole, struct quantity_parts *ret)
{
    static const char *const names[] = { "", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei" };
    size_t n = 0;

    for (; whole % 1024 == 0; whole /= 1024)
        n++;
    ret->digits = whole;
    (void)snprintf(ret->suffix, sizeof ret->suffix, "%s",
                   names[n]); /* 2^63 has at most six factors of 1024 */
}

/* Digits, zeros, and an exponent that is a multiple of three and has a suffix. Larger exponents keep their
 * zeros. */
static void quantity_set_decimal_parts(const struct quantity *q, struct quantity_parts *ret)
{
    static const char *const names[] = { "n", "u", "m", "", "k", "M", "G", "T", "P", "E" };
    bool is_exponent = q->format == QUANTITY_DECIMAL_EXPONENT;
    int exponent = q->exponent, max = is_exponent ? TEXT_EXPONENT_MAX : SI_EXPONENT_MAX;

    ret->digits = quantity_mantissa(q);
    quantity_strip_zeros(&ret->digits, &exponent);
    for (; exponent % 3 != 0 || exponent > max; exponent--)
        ret->zeros++;
    assert(exponent >= -9);
    if (!is_exponent)
        (void)snprintf(ret->suffix, sizeof ret->suffix, "%s", names[exponent / 3 + 3]);
    else if (exponent != 0)
        (void)snprintf(ret->suffix, sizeof ret->suffix, "e%d", exponent); /* "e-9" to "e999" */
}

static struct quantity_parts quantity_parts_of(const struct quantity *q)
{
    struct quantity_parts parts = { .negative = q->negative };
    uint64_t whole = quantity_binary_whole(q);

    if (whole)
        quantity_set_binary_parts(whole, &parts);
    else if (!quantity_is_zero(q))
        quantity_set_decimal_parts(q, &parts);
    return parts;
}

size_t quantity_canonical_len(const struct quantity *q)
{
    struct quantity_parts parts = quantity_parts_of(q);

    return (size_t)parts.negative + (size_t)quantity_digits_of(parts.digits) + parts.zeros +
           strlen(parts.suffix);
}

/* The decimal digits of m at the end of room, without a NUL; returns their start. */
static const char *digits_write(uint128 m, char room[DIGITS_BYTES_MAX], size_t *ret_len)
{
    size_t at = DIGITS_BYTES_MAX;

    for (; m >> 64; m /= 10)
        room[--at] = (char)('0' + (int)(m % 10));
    uint64_t small = (uint64_t)m;
    do {
        room[--at] = (char)('0' + (int)(small % 10));
        small /= 10;
    } while (small);
    *ret_len = DIGITS_BYTES_MAX - at;
    return room + at;
}

static void buf_add_zeros(struct buf *out, size_t count)
{
    char *at = buf_grow(out, count);

    if (at)
        memset(at, '0', count);
}

void quantity_canonical(const struct quantity *q, struct buf *out)
{
    struct quantity_parts parts = quantity_parts_of(q);
    char digits[DIGITS_BYTES_MAX];
    size_t len;
    const char *at = digits_write(parts.digits, digits, &len);

    if (parts.negative)
        buf_add_char(out, '-');
    buf_add(out, at, len);
    buf_add_zeros(out, parts.zeros);
    buf_add_cstr(out, parts.suffix);
}

static void quantity_add_suffix(const struct quantity *q, struct buf *out)
{
    if (q->suffix < quantity_suffixes_count) {
        buf_add(out, quantity_suffixes[q->suffix].text, quantity_suffixes[q->suffix].len);
        return;
    }
    buf_add_char(out, q->suffix == QUANTITY_SUFFIX_LOWER_E ? 'e' : 'E');
    if (q->exponent_plus || q->exponent_minus)
        buf_add_char(out, q->exponent_plus ? '+' : '-');
    buf_add_zeros(out, q->exponent_zeros);
    buf_addf(out, "%d", q->exponent_digits);
}

void quantity_format(const struct quantity *q, struct buf *out)
{
    char digits[DIGITS_BYTES_MAX];
    const char *at;
    size_t len;

    if (!q->verbatim) {
        quantity_canonical(q, out);
        return;
    }
    at = digits_write(q->format == QUANTITY_BINARY_SI ? q->low >> quantity_suffixes[q->suffix].power : q->low,
                      digits, &len);
    assert(len > q->fraction); /* the original text is not kept if it starts with a point */
    if (q->plus || q->negative)
        buf_add_char(out, q->plus ? '+' : '-');
    buf_add_zeros(out, q->zeros);
    buf_add(out, at, len - q->fraction);
    if (q->point)
        buf_add_char(out, '.');
    buf_add(out, at + len - q->fraction, q->fraction);
    quantity_add_suffix(q, out);
}
