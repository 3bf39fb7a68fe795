/* The rate of long-running work, and an estimate of the time left.
 *
 * The rate is the average since the work was first observed, which may be in the middle: progress made before
 * that does not count. An average over the whole time is not disturbed by one slow second. */
#ifndef BERTH_BASE_PACE_H
#define BERTH_BASE_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed before its first use. */
struct pace {
    uint64_t from_ns;
    uint64_t from_done;
    bool is_begun;
};

/* The first call sets the start; later calls change nothing. */
void pace_begin(struct pace *p, uint64_t now_ns, uint64_t done);

/* Per second; 0 when unknown: no progress since the start, or the start was just now. */
double pace_rate(const struct pace *p, uint64_t now_ns, uint64_t done);

/* False when unknown. */
bool pace_seconds_left(const struct pace *p, uint64_t now_ns, uint64_t done, uint64_t total, int64_t *ret);

/* Whole percent of a total that is not 0; 100 only when all of it is done. */
unsigned pace_percent(uint64_t done, uint64_t total);

#endif
