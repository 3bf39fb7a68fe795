/* The texts that system.c reads, for it and its tests. */
#ifndef BERTH_HOST_SYSTEM_INT_H
#define BERTH_HOST_SYSTEM_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

/* What /etc/os-release calls the system for people; "Linux" when it does not say. */
void system_parse_os_release(struct str text, char *ret, size_t ret_bytes);
/* The memory in /proc/meminfo. */
int system_parse_memory(struct str text, uint64_t *ret_bytes, struct error *err);
/* "hugepages-2048kB": false for other names. */
bool system_parse_page_size(struct str name, uint64_t *ret_bytes);
/* The kernel's word for a processor into that of container images; an unknown one stays as it is. */
const char *system_architecture(const char *machine);
/* The first line without blanks around it, cut at a character's end. */
void system_copy_line(struct str text, char *ret, size_t ret_bytes);

#endif
