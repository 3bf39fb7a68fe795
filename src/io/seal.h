/* A checksum at the end of a file, so that it is copied with the file.
 *
 * It covers every byte before it and is a line of text of SEAL_BYTES. Sealed files consist of blocks of
 * SEAL_BLOCK_BYTES: so a file with a damaged or truncated seal is not mistaken for one without a seal.
 *
 * All functions block, as long as reading the file takes; tick is called periodically meanwhile, and may be
 * NULL. Every error names the path. */
#ifndef BERTH_IO_SEAL_H
#define BERTH_IO_SEAL_H

#include <stdbool.h>

#include "base/error.h"

#define SEAL_BLOCK_BYTES 512
#define SEAL_BYTES 102

typedef void seal_tick_fn(void *ctx);

/* Appends the checksum of the file; the caller syncs. */
int seal_add(const char *path, seal_tick_fn *tick, void *ctx, struct error *err);
/* Whether the file has a seal, even a damaged one. */
int seal_exists(const char *path, bool *ret, struct error *err);
/* ERR_INVALID when the contents differ from what was sealed. *ret_is_sealed: the file has a seal. */
int seal_check(const char *path, seal_tick_fn *tick, void *ctx, bool *ret_is_sealed, struct error *err);

#endif
