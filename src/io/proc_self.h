/* Resource usage of this process from /proc. Reads small files that do not block for long. */
#ifndef BERTH_IO_PROC_SELF_H
#define BERTH_IO_PROC_SELF_H

#include <stdint.h>

#include "base/error.h"

struct proc_stat {
    uint64_t resident_bytes;
    double cpu_seconds;   /* of all threads, user and kernel */
    double start_seconds; /* since boot */
};

int proc_self_stat(struct proc_stat *ret, struct error *err);

/* When the process was started, in seconds since 1970. */
int proc_self_start_time(double *ret, struct error *err);

/* Open descriptors, not counting the one that is open during the count. */
int proc_self_open_fds(unsigned *ret, struct error *err);

/* The peak of resident memory; 0 when the kernel does not report it. */
uint64_t proc_self_peak_bytes(void);

#endif
