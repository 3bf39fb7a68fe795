/* A token bucket: a rate per second on average, and a reserve for bursts. Pure arithmetic: the caller passes
 * the time, in ns of a monotonic clock. */
#ifndef BERTH_BASE_BUCKET_H
#define BERTH_BASE_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

struct bucket {
    double per_ns;
    double burst;
    double tokens;  /* negative after reservations ahead of time */
    uint64_t at_ns; /* time of the last refill */
};

/* Full at the start. qps > 0, burst >= 1. */
void bucket_init(struct bucket *b, double qps, unsigned burst, uint64_t now_ns);
/* Takes a token if one is available. */
bool bucket_take(struct bucket *b, uint64_t now_ns);
/* Reserves the next token, and returns the ns until it is available. */
uint64_t bucket_reserve(struct bucket *b, uint64_t now_ns);
/* Returns the last token that was taken or reserved and is not needed. */
void bucket_release(struct bucket *b);

#endif
