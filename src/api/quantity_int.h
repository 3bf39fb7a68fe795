/* Internals of quantity.c, quantity_parse.c and quantity_text.c. */
#ifndef BERTH_API_QUANTITY_INT_H
#define BERTH_API_QUANTITY_INT_H

#include <stddef.h>

#include "api/quantity.h"

#define QUANTITY_ERROR_FORMAT \
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
#define QUANTITY_ERROR_SUFFIX "unable to parse quantity's suffix"
#define QUANTITY_ERROR_NUMERIC "unable to parse numeric part of quantity"

/* Values of quantity.suffix that are not an index of the table. */
#define QUANTITY_SUFFIX_LOWER_E 254
#define QUANTITY_SUFFIX_UPPER_E 255

__extension__ typedef unsigned __int128 uint128;

struct quantity_suffix {
    char text[3];
    uint8_t len;
    enum quantity_format format;
    int power; /* of ten, or of two */
};

/* The most frequent first. */
extern const struct quantity_suffix quantity_suffixes[];
extern const size_t quantity_suffixes_count;

static inline uint128 quantity_mantissa(const struct quantity *q)
{
    return (uint128)q->high << 64 | q->low;
}

#define QUANTITY_NANO (-9) /* the exponent of the finest amount */

/* Sets amount and format; the shape of the old text is dropped. */
void quantity_set(struct quantity *q, bool negative, uint128 m, int exponent, enum quantity_format format);

/* How many decimal digits m has; 1 for zero. */
int quantity_digits_of(uint128 m);

/* Moves factors of ten from m to the exponent. */
void quantity_strip_zeros(uint128 *m, int *exponent);

/* The length of the canonical text. */
size_t quantity_canonical_len(const struct quantity *q);

#endif
