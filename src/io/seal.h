/* A checksum at the end of a file, so that it goes wherever the file is copied to.
 *
 * It covers every byte before it and is a line of text of SEAL_BYTES. The files that are sealed consist of
 * blocks of SEAL_BLOCK_BYTES: so a seal that was damaged or cut is not taken for a file that never had one.
 *
 * All of it blocks, for as long as reading the file takes; tick is called now and then meanwhile, and may be
 * NULL. Every error names the path. */
#ifndef BERTH_IO_SEAL_H
#define BERTH_IO_SEAL_H

#include <stdbool.h>

#include "base/error.h"

#define SEAL_BLOCK_BYTES 512
#define SEAL_BYTES 102

typedef void seal_tick_fn(void *ctx);

/* Adds the checksum of the file as it is; the caller syncs. */
int seal_add(const char *path, seal_tick_fn *tick, void *ctx, struct error *err);
/* Whether it has a seal, a damaged one too. */
int seal_is_there(const char *path, bool *ret, struct error *err);
/* ERR_INVALID when the file is not what was sealed. *ret_is_sealed: it has a seal at all. */
int seal_check(const char *path, seal_tick_fn *tick, void *ctx, bool *ret_is_sealed, struct error *err);

#endif
