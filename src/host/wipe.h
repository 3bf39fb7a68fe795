/* Erasing what is on a block device. Blocks: for the pool.
 *
 * The device is opened for us alone, so that one that is mounted, or otherwise in use, is ERR_BUSY and not
 * touched; until the end nobody else can take it so. */
#ifndef BERTH_HOST_WIPE_H
#define BERTH_HOST_WIPE_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/error.h"
#include "host/remove.h"

enum wipe_kind {
    WIPE_QUICK,   /* all signatures that libblkid knows, the first and the last MiB */
    WIPE_ZERO,    /* everything, `passes` times */
    WIPE_RANDOM,  /* the same with bytes that nobody can compress */
    WIPE_DISCARD, /* told to the device, or zeroed by it, or zeroed by us; then as quick */
};

/* How far it is; read by other threads. */
struct wipe_progress {
    _Atomic uint64_t done_bytes;
    _Atomic uint64_t total_bytes;
};

struct wipe {
    enum wipe_kind kind;
    unsigned passes;
    uint64_t seed;               /* of random bytes */
    const char *state_path;      /* a file for the position, so that a crash costs little; NULL: none */
    const char *owner;           /* of the position: another's does not count; no blanks */
    struct wipe_progress *where; /* NULL: nobody asks */
    const host_stop *stop;       /* NULL for none */
};

/* ERR_CANCELLED when it was stopped: the next call of the same owner goes on from there. */
int device_wipe(const char *device, const struct wipe *w, struct error *err);

#endif
