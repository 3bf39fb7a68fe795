/* The system's clocks. Reading them does not enter the kernel (vDSO), except for the CPU time of a thread. */
#include "io/clock.h"

#include <stddef.h>
#include <time.h>

/* clock_gettime() cannot fail for these clocks with a valid pointer. CLOCK_BOOTTIME also counts while the
 * machine is suspended: the holder of a lease must notice after a resume that the lease has expired. */
static uint64_t system_mono_ns(void *ctx)
{
    struct timespec ts;

    (void)ctx;
    (void)clock_gettime(CLOCK_BOOTTIME, &ts);
    return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

static int64_t system_real_ns(void *ctx)
{
    struct timespec ts;

    (void)ctx;
    (void)clock_gettime(CLOCK_REALTIME, &ts);
    return (int64_t)ts.tv_sec * (int64_t)NS_PER_S + (int64_t)ts.tv_nsec;
}

uint64_t clock_thread_cpu_ns(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

const struct clock *clock_system(void)
{
    static const struct clock system = { .mono_ns = system_mono_ns, .real_ns = system_real_ns, .ctx = NULL };

    return &system;
}
