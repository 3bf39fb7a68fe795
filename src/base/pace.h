/* How fast a long work goes, and how long it will yet take.
 *
 * The rate is the average since the work was first seen, which may be in the middle: what was done before
 * that does not count. Averages over the whole forgive a slow second; nobody is promised a minute. */
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

/* The first call begins it; later ones change nothing. */
void pace_begin(struct pace *p, uint64_t now_ns, uint64_t done);

/* In a second; 0 while nobody can say: nothing was done since it began, or it began just now. */
double pace_rate(const struct pace *p, uint64_t now_ns, uint64_t done);

/* False while nobody can say. */
bool pace_seconds_left(const struct pace *p, uint64_t now_ns, uint64_t done, uint64_t total, int64_t *ret);

/* The whole percents of a total that is not 0; 100 only when all of it is done. */
unsigned pace_percent(uint64_t done, uint64_t total);

#endif
