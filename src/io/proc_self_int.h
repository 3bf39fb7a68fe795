/* The texts of /proc, for proc_self.c and its tests. */
#ifndef BERTH_IO_PROC_SELF_INT_H
#define BERTH_IO_PROC_SELF_INT_H

#include <stdint.h>

#include "base/error.h"
#include "base/str.h"
#include "io/proc_self.h"

/* The text of /proc/PID/stat. Times in it are in ticks, memory is in pages. */
int proc_parse_stat(struct str text, uint64_t ticks_per_second, uint64_t page_bytes, struct proc_stat *ret,
                    struct error *err);

/* The boot time, in seconds since 1970, from the text of /proc/stat. */
int proc_parse_boot_time(struct str text, uint64_t *ret, struct error *err);

#endif
