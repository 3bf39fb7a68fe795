/* Resource quantities ("1Gi", "1500m", "1e3"): exact amounts that remember how they were written.
 *
 * A quantity is digits * 10^exponent with at most 38 digits, so that it needs no allocation and is copied
 * like an integer. This is exact for everything that the parser accepts:
 *   - binary suffixes are limited to 2^63-1 and rounded to 10^-9, which takes 28 digits;
 *   - decimal amounts may be huge (|exponent| up to 1000), but trailing zeros need no digits; an amount with
 *     more than 38 significant digits after rounding to 10^-9 is rejected with the format error.
 * Nothing is approximated: arithmetic that would need more digits fails.
 *
 * The original text is not stored, but its shape is (sign, leading zeros, position of the point, spelling of
 * the suffix). Together with the digits it reproduces the same bytes, for the cases where the API returns a
 * text unchanged.
 *
 * A zeroed struct is the quantity 0. Parsing a common text takes well under 100 ns, a comparison about 10. */
#ifndef BERTH_API_QUANTITY_H
#define BERTH_API_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/str.h"

#define QUANTITY_TEXT_BYTES_MAX 256
#define QUANTITY_DIGITS_MAX 38
#define QUANTITY_EXPONENT_MAX 1000 /* in a text; a value's own exponent may be larger by its zeros */

enum quantity_format {
    QUANTITY_DECIMAL_SI,
    QUANTITY_BINARY_SI,
    QUANTITY_DECIMAL_EXPONENT,
};

struct quantity {
    uint64_t high, low; /* digits as one number below 10^38; two words, because arenas align to 8 bytes */
    int16_t exponent;   /* at least -9 */
    uint8_t format;     /* enum quantity_format */
    bool negative;      /* never for zero */

    /* How the text was written; only valid with `verbatim`. */
    bool verbatim : 1;
    bool plus : 1;           /* a leading '+' */
    bool point : 1;          /* a point, possibly without digits after it */
    bool exponent_plus : 1;  /* "e+3" */
    bool exponent_minus : 1; /* "e-3" */
    uint8_t zeros;           /* number of leading zeros */
    uint8_t fraction;        /* number of digits after the point */
    uint8_t suffix;          /* index in a table in quantity.c */
    uint8_t exponent_zeros;  /* leading zeros of the exponent */
    int16_t exponent_digits; /* the exponent without its sign */
};

/* The text must not have white space around it; callers that decode JSON trim it. Errors are ERR_BAD_REQUEST
 * with the texts of the API. */
int quantity_parse(struct str text, struct quantity *ret, struct error *err);

struct quantity quantity_of(int64_t amount, enum quantity_format format);

/* The text that the API shows: the original one if it is equivalent to the canonical form, else the canonical
 * form. At most QUANTITY_TEXT_BYTES_MAX. Failures are kept in the buffer. */
void quantity_format(const struct quantity *q, struct buf *out);
void quantity_canonical(const struct quantity *q, struct buf *out);

/* Compares the amounts: "1000m" equals "1", "0Ki" equals "0". Negative, zero or positive. */
int quantity_cmp(const struct quantity *a, const struct quantity *b);

/* -1, 0 or 1. */
int quantity_sign(const struct quantity *q);

static inline bool quantity_is_zero(const struct quantity *q)
{
    return (q->high | q->low) == 0;
}

/* The amount as an integer, rounded away from zero; INT64_MIN or INT64_MAX if it does not fit. */
int64_t quantity_value(const struct quantity *q);
/* The same in thousandths, as used for CPUs. */
int64_t quantity_milli_value(const struct quantity *q);

/* A number for ordered maps: a < b implies rank(a) <= rank(b). Amounts that round to the same integer, or
 * exceed 64 bits, have the same rank: quantity_cmp() decides between them. */
uint64_t quantity_rank(const struct quantity *q);

/* q += other, q -= other. A zero q gets the other's format. ERR_TOO_LARGE if the exact result has more than
 * 38 digits or its text would not parse again; q is then unchanged. */
int quantity_add(struct quantity *q, const struct quantity *other, struct error *err);
int quantity_sub(struct quantity *q, const struct quantity *other, struct error *err);

/* Rounds away from zero to a multiple of 10^scale. True if that changed nothing. */
bool quantity_round_up(struct quantity *q, int scale);

#endif
