/* A token bucket: so many a second over time, and a reserve for bursts. Pure arithmetic on moments that the
 * caller hands in; ns of a monotonic clock. */
#ifndef BERTH_BASE_BUCKET_H
#define BERTH_BASE_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

struct bucket {
    double per_ns;
    double burst;
    double tokens;  /* may be negative: reserved ahead */
    uint64_t at_ns; /* when that was so */
};

/* Full at the start. qps > 0, burst >= 1. */
void bucket_init(struct bucket *b, double qps, unsigned burst, uint64_t now_ns);
/* Takes a token if there is one. */
bool bucket_take(struct bucket *b, uint64_t now_ns);
/* Takes the next token, there or not: how long until it is. */
uint64_t bucket_reserve(struct bucket *b, uint64_t now_ns);
/* The last token that was taken or reserved is not needed. */
void bucket_give_back(struct bucket *b);

#endif
