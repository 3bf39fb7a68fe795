/* A set of numbers from 1 on, in ranges: what a run leaves out of its faults or acts.
 *
 * As text, numbers and ranges with commas between them, in ascending order: "3,17-25,40-". A range without an
 * end has all numbers from its begin on. */
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
    uint32_t to; /* the last one; UINT32_MAX: there is no end */
};

/* All zeroes is the empty set. */
struct numbers {
    VEC(struct number_range) ranges; /* ascending, and none touches the next */
};

void numbers_done(struct numbers *n);
static inline void numbers_done_p(struct numbers *n)
{
    numbers_done(n);
}

/* Replaces what *ret had. ERR_INVALID names what cannot be read. */
int numbers_parse(struct str text, struct numbers *ret, struct error *err);
void numbers_format(const struct numbers *n, struct buf *out);
/* O(ranges). */
bool numbers_has(const struct numbers *n, uint32_t number);
/* All numbers but these, which are ascending. -ERR_NO_MEMORY. */
int numbers_set_others(struct numbers *n, const uint32_t *items, size_t count);

#endif
