/* The kernel's entropy: for seeds, keys and unpredictable names. Controllers get a generator instead. */
#ifndef BERTH_IO_RANDOM_H
#define BERTH_IO_RANDOM_H

#include <stddef.h>

#include "base/error.h"

/* Fills data with len random bytes. Blocks only early in the boot, until the kernel's pool is initialised. */
int io_random(void *data, size_t len, struct error *err);

#endif
