/* Token bucket arithmetic. Tokens are refilled whenever the bucket is used, so no timer is needed and every
 * call is O(1). Time that goes backwards is ignored. */
#include "base/bucket.h"

#include <assert.h>

static void bucket_refill(struct bucket *b, uint64_t now_ns)
{
    if (now_ns <= b->at_ns)
        return;
    b->tokens += (double)(now_ns - b->at_ns) * b->per_ns;
    if (b->tokens > b->burst)
        b->tokens = b->burst;
    b->at_ns = now_ns;
}

void bucket_init(struct bucket *b, double qps, unsigned burst, uint64_t now_ns)
{
    assert(qps > 0);
    assert(burst >= 1);
    *b = (struct bucket){ .per_ns = qps / 1e9, .burst = burst, .tokens = burst, .at_ns = now_ns };
}

/* Rounding makes the sum of many small refills slightly less than a whole token. */
#define ALMOST_ONE (1.0 - 1e-9)

bool bucket_take(struct bucket *b, uint64_t now_ns)
{
    bucket_refill(b, now_ns);
    if (b->tokens < ALMOST_ONE)
        return false;
    b->tokens -= 1;
    return true;
}

uint64_t bucket_reserve(struct bucket *b, uint64_t now_ns)
{
    bucket_refill(b, now_ns);
    b->tokens -= 1;
    if (b->tokens >= ALMOST_ONE - 1)
        return 0;
    return (uint64_t)(-b->tokens / b->per_ns + 0.5);
}

void bucket_release(struct bucket *b)
{
    b->tokens += 1;
    if (b->tokens > b->burst)
        b->tokens = b->burst;
}
