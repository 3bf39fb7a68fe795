/* Resource quantities ("1Gi", "1500m", "1e3"): exact amounts that remember how they were written.
 *
 * A quantity is digits * 10^exponent with at most 38 digits, so it needs no memory of its own and is copied
 * like an integer. That is exact for all that the parser lets in:
 *   - binary suffixes are capped at 2^63-1 and rounded to 10^-9, which takes 28 digits;
 *   - decimal amounts may be huge (|exponent| to 1000), but their zeros cost nothing; an amount that has more
 *     than 38 significant digits left after rounding to 10^-9 (39 digits are past 10^29) is refused with the
 *     format error.
 * Nothing is ever approximated: arithmetic that would need more digits fails.
 *
 * The text as given is not kept but its shape is (sign, leading zeros, place of the point, spelling of the
 * suffix): together with the digits it gives back the very bytes, where the rules say that a text is emitted
 * unchanged.
 *
 * A zeroed struct is the quantity 0. Parsing a common text takes well under 100 ns, comparing about 10. */
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
    uint64_t high, low; /* the digits as one number below 10^38; two words, as arenas align to 8 bytes */
    int16_t exponent;   /* -9 and up */
    uint8_t format;     /* enum quantity_format */
    bool negative;      /* never for zero */

    /* How the text was written; meaningful only with `verbatim`. */
    bool verbatim : 1;
    bool plus : 1;           /* a '+' in front */
    bool point : 1;          /* a point, perhaps with nothing behind it */
    bool exponent_plus : 1;  /* "e+3" */
    bool exponent_minus : 1; /* "e-3" */
    uint8_t zeros;           /* leading ones */
    uint8_t fraction;        /* digits behind the point */
    uint8_t suffix;          /* which one; a table in quantity.c */
    uint8_t exponent_zeros;  /* leading ones of the exponent */
    int16_t exponent_digits; /* the exponent without its sign */
};

/* Nothing may surround the text; a caller that decodes JSON trims first. Errors are ERR_BAD_REQUEST with
 * the API's own sentences. */
int quantity_parse(struct str text, struct quantity *ret, struct error *err);

struct quantity quantity_of(int64_t amount, enum quantity_format format);

/* The text that the API shows: the input unchanged where that is as good as canonical, else the canonical
 * form. Never longer than QUANTITY_TEXT_BYTES_MAX. Returns the buffer's failure, if any. */
void quantity_format(const struct quantity *q, struct buf *out);
void quantity_canonical(const struct quantity *q, struct buf *out);

/* By amount alone: "1000m" equals "1", "0Ki" equals "0". Negative, zero or positive. */
int quantity_cmp(const struct quantity *a, const struct quantity *b);

/* -1, 0 or 1. */
int quantity_sign(const struct quantity *q);

static inline bool quantity_is_zero(const struct quantity *q)
{
    return (q->high | q->low) == 0;
}

/* The amount as an integer, rounded away from zero, INT64_MIN or INT64_MAX when it does not fit. */
int64_t quantity_value(const struct quantity *q);
/* The same in thousandths, as processors are counted. */
int64_t quantity_milli_value(const struct quantity *q);

/* A number for ordered maps: a < b implies rank(a) <= rank(b). Amounts that round to the same integer, or
 * lie beyond 64 bits, share a rank: let quantity_cmp() decide between them. */
uint64_t quantity_rank(const struct quantity *q);

/* q += other, q -= other. A zero q takes the other's format. Fails with ERR_TOO_LARGE when the exact
 * result has more than 38 digits or its text would not parse again; q is then as before. */
int quantity_add(struct quantity *q, const struct quantity *other, struct error *err);
int quantity_sub(struct quantity *q, const struct quantity *other, struct error *err);

/* Rounds away from zero to a multiple of 10^scale. True when that changed nothing. */
bool quantity_round_up(struct quantity *q, int scale);

#endif
