/* Arithmetic on quantities; parsing is in quantity_parse.c, formatting in quantity_text.c. Amounts are
 * unsigned 128-bit integers in these files, and two 64-bit words in the struct. */
#include "api/quantity.h"

#include <assert.h>

#include "api/quantity_int.h"
#include "base/cleanup.h"

static_assert(sizeof(struct quantity) <= 32, "quantities are copied by value");

static const uint64_t powers[] = {
    UINT64_C(1),
    UINT64_C(10),
    UINT64_C(100),
    UINT64_C(1000),
    UINT64_C(10000),
    UINT64_C(100000),
    UINT64_C(1000000),
    UINT64_C(10000000),
    UINT64_C(100000000),
    UINT64_C(1000000000),
    UINT64_C(10000000000),
    UINT64_C(100000000000),
    UINT64_C(1000000000000),
    UINT64_C(10000000000000),
    UINT64_C(100000000000000),
    UINT64_C(1000000000000000),
    UINT64_C(10000000000000000),
    UINT64_C(100000000000000000),
    UINT64_C(1000000000000000000),
    UINT64_C(10000000000000000000),
};

/* 10^n, n up to 38. */
static uint128 quantity_power_of_ten(int n)
{
    assert(n >= 0);
    assert(n <= QUANTITY_DIGITS_MAX);
    return n < (int)ARRAY_LEN(powers) ? powers[n] : (uint128)powers[19] * powers[n - 19];
}

int quantity_digits_of(uint128 m)
{
    int n;

    if (m >> 64) {
        for (n = 20; n < QUANTITY_DIGITS_MAX && m >= quantity_power_of_ten(n); n++)
            ;
        return n;
    }
    if (m == 0)
        return 1;
    /* log10(2) is slightly more than 1233/4096; the table corrects the rest */
    n = (64 - __builtin_clzll((uint64_t)m)) * 1233 >> 12;
    return n + ((uint64_t)m >= powers[n]);
}

void quantity_strip_zeros(uint128 *m, int *exponent)
{
    for (; *m >> 64 && *m % 10 == 0; *m /= 10)
        (*exponent)++;
    if (*m >> 64 || *m == 0)
        return;
    uint64_t small = (uint64_t)*m;
    for (; small % 10 == 0; small /= 10)
        (*exponent)++;
    *m = small;
}

void quantity_set(struct quantity *q, bool negative, uint128 m, int exponent, enum quantity_format format)
{
    assert(m < quantity_power_of_ten(QUANTITY_DIGITS_MAX));
    assert(exponent >= QUANTITY_NANO);
    *q = (struct quantity){
        .high = (uint64_t)(m >> 64),
        .low = (uint64_t)m,
        .exponent = (int16_t)(m ? exponent : 0),
        .format = (uint8_t)format,
        .negative = negative && m,
    };
}

struct quantity quantity_of(int64_t amount, enum quantity_format format)
{
    struct quantity q;
    bool negative = amount < 0;

    quantity_set(&q, negative, negative ? 0 - (uint64_t)amount : (uint64_t)amount, 0, format);
    return q;
}

int quantity_sign(const struct quantity *q)
{
    return quantity_is_zero(q) ? 0 : q->negative ? -1 : 1;
}

/* Compares |a| and |b|, both non-zero. If both have the same number of digits before the point, the one with
 * the larger exponent has the shorter mantissa: it can be scaled to the other's exponent within 38 digits. */
static int quantity_cmp_magnitude(const struct quantity *a, const struct quantity *b)
{
    uint128 ma = quantity_mantissa(a), mb = quantity_mantissa(b);

    if (a->exponent != b->exponent) {
        int la = quantity_digits_of(ma) + a->exponent, lb = quantity_digits_of(mb) + b->exponent;
        if (la != lb)
            return la < lb ? -1 : 1;
        if (a->exponent > b->exponent)
            ma *= quantity_power_of_ten(a->exponent - b->exponent);
        else
            mb *= quantity_power_of_ten(b->exponent - a->exponent);
    }
    return (ma > mb) - (ma < mb);
}

int quantity_cmp(const struct quantity *a, const struct quantity *b)
{
    int sa = quantity_sign(a), sb = quantity_sign(b);

    if (sa != sb)
        return sa < sb ? -1 : 1;
    return sa * (sa ? quantity_cmp_magnitude(a, b) : 0);
}

/* m / 10^n, rounded up. */
static uint128 divide_up(uint128 m, int n)
{
    if (n > QUANTITY_DIGITS_MAX)
        return m != 0;
    uint128 divisor = quantity_power_of_ten(n);
    if ((m | divisor) >> 64)
        return m / divisor + (m % divisor != 0);
    return (uint64_t)m / (uint64_t)divisor + ((uint64_t)m % (uint64_t)divisor != 0);
}

int64_t quantity_value(const struct quantity *q)
{
    uint128 m = quantity_mantissa(q);

    if (q->exponent < 0)
        m = divide_up(m, -q->exponent);
    for (int e = q->exponent; e > 0 && m <= INT64_MAX; e--)
        m *= 10;
    if (m > INT64_MAX)
        return q->negative ? INT64_MIN : INT64_MAX;
    return q->negative ? -(int64_t)m : (int64_t)m;
}

int64_t quantity_milli_value(const struct quantity *q)
{
    struct quantity milli = *q;

    milli.exponent = (int16_t)(milli.exponent + 3);
    return quantity_value(&milli);
}

uint64_t quantity_rank(const struct quantity *q)
{
    return (uint64_t)quantity_value(q) ^ (UINT64_C(1) << 63);
}

/* Scales a and b (a has the larger exponent) to multiples of 10^b.exponent. False if a needs more than 128
 * bits: then no sum or difference has at most 38 digits. */
static bool quantity_align(uint128 *a, int exponent_a, int exponent_b)
{
    int shift = exponent_a - exponent_b;

    if (*a == 0 || shift == 0)
        return true;
    if (shift > QUANTITY_DIGITS_MAX || *a > ~(uint128)0 / quantity_power_of_ten(shift))
        return false;
    *a *= quantity_power_of_ten(shift);
    return true;
}

/* q becomes ±a ± b in units of 10^exponent. */
static bool quantity_set_sum(struct quantity *q, uint128 a, bool a_negative, uint128 b, bool b_negative,
                             int exponent)
{
    uint128 sum;
    bool negative = a_negative;
    struct quantity result;

    if (a_negative == b_negative) {
        if (__builtin_add_overflow(a, b, &sum))
            return false;
    } else if (a >= b) {
        sum = a - b;
    } else {
        sum = b - a;
        negative = b_negative;
    }
    quantity_strip_zeros(&sum, &exponent);
    if (sum >= quantity_power_of_ten(QUANTITY_DIGITS_MAX))
        return false;
    quantity_set(&result, negative, sum, exponent, q->format);
    if (quantity_canonical_len(&result) > QUANTITY_TEXT_BYTES_MAX)
        return false;
    *q = result;
    return true;
}

static int quantity_add_signed(struct quantity *q, const struct quantity *other, bool negate,
                               struct error *err)
{
    struct quantity sum = *q;
    uint128 a = quantity_mantissa(q), b = quantity_mantissa(other);
    int ea = q->exponent, eb = other->exponent, exponent;
    bool aligned;

    if (quantity_is_zero(q))
        sum.format = other->format;
    quantity_strip_zeros(&a, &ea);
    quantity_strip_zeros(&b, &eb);
    if (a == 0 || (b && eb < ea)) {
        aligned = quantity_align(&a, ea, eb);
        exponent = eb;
    } else {
        aligned = quantity_align(&b, eb, ea);
        exponent = ea;
    }
    if (!aligned || !quantity_set_sum(&sum, a, q->negative, b, other->negative != negate, exponent))
        return error_set(err, ERR_TOO_LARGE, "the result has more than %d digits", QUANTITY_DIGITS_MAX);
    *q = sum;
    return 0;
}

int quantity_add(struct quantity *q, const struct quantity *other, struct error *err)
{
    return quantity_add_signed(q, other, false, err);
}

int quantity_sub(struct quantity *q, const struct quantity *other, struct error *err)
{
    return quantity_add_signed(q, other, true, err);
}

bool quantity_round_up(struct quantity *q, int scale)
{
    struct quantity before = *q;
    uint128 m;

    assert(scale <= 18); /* exa: the largest unit */
    if (q->exponent >= scale || quantity_is_zero(q))
        return true;
    m = divide_up(quantity_mantissa(q), scale - q->exponent);
    quantity_set(q, q->negative, m, scale, q->format);
    return quantity_cmp(&before, q) == 0;
}
