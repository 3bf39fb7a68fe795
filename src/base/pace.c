/* The rate of long-running work and an estimate of the time left, for progress output. Pure arithmetic. */
#include "base/pace.h"

#include <assert.h>

#include "base/clock.h"

/* A shorter time is not enough for a rate. */
#define PACE_NS_MIN (200 * NS_PER_MS)
/* Ten years: a longer estimate is useless. */
#define PACE_SECONDS_MAX 315360000.0

void pace_begin(struct pace *p, uint64_t now_ns, uint64_t done)
{
    if (!p->is_begun)
        *p = (struct pace){ .from_ns = now_ns, .from_done = done, .is_begun = true };
}

double pace_rate(const struct pace *p, uint64_t now_ns, uint64_t done)
{
    if (!p->is_begun || done <= p->from_done || now_ns < p->from_ns || now_ns - p->from_ns < PACE_NS_MIN)
        return 0;
    return (double)(done - p->from_done) * (double)NS_PER_S / (double)(now_ns - p->from_ns);
}

bool pace_seconds_left(const struct pace *p, uint64_t now_ns, uint64_t done, uint64_t total, int64_t *ret)
{
    double rate = pace_rate(p, now_ns, done), seconds;

    if (rate <= 0 || total < done)
        return false;
    seconds = (double)(total - done) / rate;
    if (seconds > PACE_SECONDS_MAX)
        return false;
    *ret = (int64_t)(seconds + 0.5);
    return true;
}

unsigned pace_percent(uint64_t done, uint64_t total)
{
    assert(total > 0);
    if (done >= total)
        return 100;
    /* A quotient of doubles may round up to 1 near the end. */
    double percent = (double)done * 100 / (double)total;
    return percent < 99 ? (unsigned)percent : 99;
}
