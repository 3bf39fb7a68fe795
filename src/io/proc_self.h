/* What the kernel says about this process, out of /proc. Reads small files that never block for long. */
#ifndef BERTH_IO_PROC_SELF_H
#define BERTH_IO_PROC_SELF_H

#include <stdint.h>

#include "base/error.h"

struct proc_stat {
    uint64_t resident_bytes;
    double cpu_seconds;   /* spent by all threads, in the kernel too */
    double start_seconds; /* since the machine was started */
};

int proc_self_stat(struct proc_stat *ret, struct error *err);

/* When the process was started, in seconds since 1970. */
int proc_self_start_time(double *ret, struct error *err);

/* Open descriptors, without the one that counting them takes. */
int proc_self_open_fds(unsigned *ret, struct error *err);

/* The most that was resident at any time; 0 when the kernel does not say. */
uint64_t proc_self_peak_bytes(void);

#endif
