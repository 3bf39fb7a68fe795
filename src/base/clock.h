/* Time as a parameter: functions that need the time get a clock.
 *
 * Monotonic time counts from an unspecified start and never decreases: for deadlines, backoff and durations.
 * Real time is the wall clock, in nanoseconds since 1970-01-01T00:00:00Z, and may jump: for timestamps in
 * logs and objects. */
#ifndef BERTH_BASE_CLOCK_H
#define BERTH_BASE_CLOCK_H

#include <stdint.h>

#define NS_PER_US UINT64_C(1000)
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)

struct clock {
    uint64_t (*mono_ns)(void *ctx);
    int64_t (*real_ns)(void *ctx);
    void *ctx;
};

static inline uint64_t clock_mono_ns(const struct clock *c)
{
    return c->mono_ns(c->ctx);
}

static inline int64_t clock_real_ns(const struct clock *c)
{
    return c->real_ns(c->ctx);
}

/* A clock that changes only when it is advanced: for tests and the simulator. Must not be moved in memory
 * once initialised, since its clock points at it. */
struct manual_clock {
    struct clock clock; /* hand this out */
    uint64_t mono_ns;
    int64_t real_ns;
};

void manual_clock_init(struct manual_clock *m, uint64_t mono_ns, int64_t real_ns);

/* Advances both monotonic and real time. */
void manual_clock_advance(struct manual_clock *m, uint64_t ns);

/* Sets the wall clock forward or back; monotonic time does not change. */
void manual_clock_set_real(struct manual_clock *m, int64_t real_ns);

#endif
