/* A set of positive numbers, in ranges: the faults or actions that a run omits.
 *
 * As text: comma-separated numbers and ranges in ascending order, "3,17-25,40-". A range without an end
 * contains all numbers from its start. */
#ifndef BERTH_SIM_NUMBERS_H
#define BERTH_SIM_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/str.h"
#include "base/vec.h"

struct number_range {
    uint32_t from;
    uint32_t to; /* the last one; UINT32_MAX: no end */
};

/* All zeroes is the empty set. */
struct numbers {
    VEC(struct number_range) ranges; /* ascending; there is a gap between two of them */
};

void numbers_done(struct numbers *n);
static inline void numbers_done_p(struct numbers *n)
{
    numbers_done(n);
}

/* Replaces the contents of *ret. ERR_INVALID: the message names the invalid part. */
int numbers_parse(struct str text, struct numbers *ret, struct error *err);
void numbers_format(const struct numbers *n, struct buf *out);
/* O(ranges). */
bool numbers_has(const struct numbers *n, uint32_t number);
/* Sets n to all numbers except these, which are ascending. -ERR_NO_MEMORY. */
int numbers_set_others(struct numbers *n, const uint32_t *items, size_t count);

#endif
