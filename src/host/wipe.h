/* Erasing a block device. Blocks: call it from the pool.
 *
 * The device is opened exclusively, so that one that is mounted, or otherwise in use, is ERR_BUSY and not
 * changed; until the end no other program can use it. */
#ifndef BERTH_HOST_WIPE_H
#define BERTH_HOST_WIPE_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/error.h"
#include "host/remove.h"

enum wipe_kind {
    WIPE_QUICK,   /* all signatures that libblkid recognises, the first and the last MiB */
    WIPE_ZERO,    /* the whole device, `passes` times */
    WIPE_RANDOM,  /* the same with incompressible bytes */
    WIPE_DISCARD, /* BLKDISCARD, else BLKZEROOUT, else written zeroes; then as quick */
};

/* Progress; read by other threads. */
struct wipe_progress {
    _Atomic uint64_t done_bytes;
    _Atomic uint64_t total_bytes;
};

struct wipe {
    enum wipe_kind kind;
    unsigned passes;
    uint64_t seed;               /* of random bytes */
    const char *state_path;      /* file for the position, so that a crash loses little; NULL: none */
    const char *owner;           /* of the position: that of another owner is ignored; no blanks */
    struct wipe_progress *where; /* NULL: not needed */
    const host_stop *stop;       /* NULL for none */
};

/* ERR_CANCELLED when it was stopped: the next call of the same owner continues there. */
int device_wipe(const char *device, const struct wipe *how, struct error *err);

#endif
