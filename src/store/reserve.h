/* Disk space reserved for deletions: DIR/berth.db-reserve, a file with allocated blocks.
 *
 * Deleting an object needs space too, since the log is append-only. When the disk is full, a part of the
 * reserve is released for each transaction that only removes, so that another program can take at most that
 * part. When there is space again, the reserve is refilled before anything that grows is written.
 *
 * RESERVE_BYTES, or a sixteenth of the space of a smaller disk. For the log (sqlite.c). */
#ifndef BERTH_STORE_RESERVE_H
#define BERTH_STORE_RESERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* The size that the journal reaches before it is checkpointed. */
#define RESERVE_BYTES ((uint64_t)16 << 20)

struct reserve {
    int fd;
    uint64_t wanted; /* 0 when nothing can be reserved */
    uint64_t held;
};

/* Allocates the reserve. A disk that cannot hold any is not an error. */
int reserve_open(struct reserve *v, const char *db_path, struct error *err);
void reserve_close(struct reserve *v);

/* Grows a reserve that was allocated on a fuller disk to its intended size, if there is space now. */
void reserve_adapt(struct reserve *v);

/* Releases a part to the disk; false when none is left. */
bool reserve_release(struct reserve *v);
/* Allocates the missing part; false when the disk has too little space. */
bool reserve_refill(struct reserve *v);

#endif
