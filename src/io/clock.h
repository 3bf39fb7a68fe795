/* The system clock. Only main() and the loop use it; all other code is passed a clock. */
#ifndef BERTH_IO_CLOCK_H
#define BERTH_IO_CLOCK_H

#include "base/clock.h"

/* CLOCK_BOOTTIME, which is monotonic and includes time in suspend, and CLOCK_REALTIME. Safe on any thread;
 * static, never freed. */
const struct clock *clock_system(void);

/* The CPU time of this thread, user and kernel; not affected by other load on the machine. */
uint64_t clock_thread_cpu_ns(void);

#endif
