/* A CSI driver for the benchmarks: volumes in memory, on a real socket, every call answered at once. It
 * offers Identity, and of Controller what Berth calls: create, delete, publish, unpublish, expand, list. */
#ifndef BERTH_BENCH_CSI_MEMORY_DRIVER_H
#define BERTH_BENCH_CSI_MEMORY_DRIVER_H

#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "io/loop.h"

struct memory_driver;

/* name: borrowed. */
int memory_driver_new(struct loop *l, const char *socket, const char *name, struct memory_driver **ret,
                      struct error *err);
/* Takes NULL. */
struct memory_driver *memory_driver_free(struct memory_driver *d);

/* Calls of all kinds since it began. */
uint64_t memory_driver_calls(const struct memory_driver *d);

#endif
