/* The clock interface, and the manual clock of tests and the simulator. */
#include "base/clock.h"

#include <assert.h>

static uint64_t manual_mono_ns(void *ctx)
{
    const struct manual_clock *m = ctx;

    return m->mono_ns;
}

static int64_t manual_real_ns(void *ctx)
{
    const struct manual_clock *m = ctx;

    return m->real_ns;
}

void manual_clock_init(struct manual_clock *m, uint64_t mono_ns, int64_t real_ns)
{
    *m = (struct manual_clock){
        .clock = { manual_mono_ns, manual_real_ns, m },
        .mono_ns = mono_ns,
        .real_ns = real_ns,
    };
}

void manual_clock_advance(struct manual_clock *m, uint64_t ns)
{
    assert(ns <= INT64_MAX);
    assert(m->mono_ns <= UINT64_MAX - ns);
    assert(m->real_ns <= INT64_MAX - (int64_t)ns);
    m->mono_ns += ns;
    m->real_ns += (int64_t)ns;
}

void manual_clock_set_real(struct manual_clock *m, int64_t real_ns)
{
    m->real_ns = real_ns;
}
