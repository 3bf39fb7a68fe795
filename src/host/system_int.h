/* Parsers of the texts that system.c reads, for it and its tests. */
#ifndef BERTH_HOST_SYSTEM_INT_H
#define BERTH_HOST_SYSTEM_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

/* The name of the system for users in /etc/os-release; "Linux" when it has none. */
void system_parse_os_release(struct str text, char *ret, size_t ret_bytes);
/* The memory size in /proc/meminfo. */
int system_parse_memory(struct str text, uint64_t *ret_bytes, struct error *err);
/* "hugepages-2048kB": false for other names. */
bool system_parse_page_size(struct str name, uint64_t *ret_bytes);
/* Maps the kernel's name of a processor to that of container images; an unknown one is not changed. */
const char *system_architecture(const char *machine);
/* The first line without blanks around it, cut at a character boundary. */
void system_copy_line(struct str text, char *ret, size_t ret_bytes);

#endif
