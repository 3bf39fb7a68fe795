/* What this machine is: its system, its processors and memory, its address. Small files of the kernel's and
 * of the machine's own, read up to a bound. */
#ifndef BERTH_HOST_SYSTEM_H
#define BERTH_HOST_SYSTEM_H

#include <stdint.h>

#include "base/error.h"

#define HOST_FACT_BYTES 128 /* with the NUL; what is longer is cut */
#define HOST_HUGE_PAGES_MAX 8

struct host_huge_pages {
    uint64_t page_bytes;
    uint64_t total_bytes; /* of all pages of this size */
};

/* Texts are one line each, "" where the machine does not say. */
struct host_system {
    char kernel[HOST_FACT_BYTES];
    char architecture[HOST_FACT_BYTES]; /* as container images call it: "amd64" */
    char os_image[HOST_FACT_BYTES];     /* "Debian GNU/Linux 12 (bookworm)" */
    char machine_id[HOST_FACT_BYTES];
    char system_uuid[HOST_FACT_BYTES]; /* of the hardware, or the machine's id where that is secret */
    char boot_id[HOST_FACT_BYTES];
    char address[HOST_FACT_BYTES]; /* host_address() */
    uint64_t cpus;
    uint64_t memory_bytes;
    struct host_huge_pages huge_pages[HOST_HUGE_PAGES_MAX]; /* by size */
    unsigned huge_pages_count;
};

/* The machine's first address that others may reach, else 127.0.0.1. */
void host_address(char ret[HOST_FACT_BYTES]);

/* Fails when the memory cannot be told: all else has a value for "not known". */
int host_system_read(struct host_system *ret, struct error *err);

#endif
