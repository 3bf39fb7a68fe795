/* The machine's own clock. Only main() and the loop reach for it; everybody else is handed a clock. */
#ifndef BERTH_IO_CLOCK_H
#define BERTH_IO_CLOCK_H

#include "base/clock.h"

/* CLOCK_BOOTTIME, which is monotonic and counts the machine's sleep, and CLOCK_REALTIME. Any thread may use
 * it; nobody frees it. */
const struct clock *clock_system(void);

/* What this thread has had of a processor, in the kernel too: what others do on the machine is not in it. */
uint64_t clock_thread_cpu_ns(void);

#endif
