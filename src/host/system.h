/* Properties of this machine: operating system, processors, memory, address. Small files of the kernel and in
 * /etc, read with a limit. */
#ifndef BERTH_HOST_SYSTEM_H
#define BERTH_HOST_SYSTEM_H

#include <stdint.h>

#include "base/error.h"

#define HOST_FACT_BYTES 128 /* with the NUL; longer values are truncated */
#define HOST_HUGE_PAGES_MAX 8

struct host_huge_pages {
    uint64_t page_bytes;
    uint64_t total_bytes; /* all pages of this size */
};

/* Texts are one line each, "" when unknown. */
struct host_system {
    char kernel[HOST_FACT_BYTES];
    char architecture[HOST_FACT_BYTES]; /* as in container images: "amd64" */
    char os_image[HOST_FACT_BYTES];     /* "Debian GNU/Linux 12 (bookworm)" */
    char machine_id[HOST_FACT_BYTES];
    char system_uuid[HOST_FACT_BYTES]; /* of the hardware, or the machine id when that is not readable */
    char boot_id[HOST_FACT_BYTES];
    char address[HOST_FACT_BYTES]; /* host_address() */
    uint64_t cpus;
    uint64_t memory_bytes;
    struct host_huge_pages huge_pages[HOST_HUGE_PAGES_MAX]; /* by size */
    unsigned huge_pages_count;
};

/* The id of this boot; "" when unknown. */
void host_boot_id(char ret[HOST_FACT_BYTES]);

/* The machine's first address that others can reach, else 127.0.0.1. */
void host_address(char ret[HOST_FACT_BYTES]);

/* Fails when the memory size is unknown: all other fields have a value for "unknown". */
int host_system_read(struct host_system *ret, struct error *err);

#endif
