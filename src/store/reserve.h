/* Room on the disk that is kept for removing: DIR/berth.db-reserve, a file whose blocks are allocated.
 *
 * Deleting an object, too, needs room: the log is appended to. When the disk is full, a part of the reserve
 * is given back for each transaction that only removes, so that no other program can take more of it than
 * that. When there is room again the reserve is filled up before anything that grows is written.
 *
 * RESERVE_BYTES, or a sixteenth of the room that a smaller disk has. For the log (sqlite.c). */
#ifndef BERTH_STORE_RESERVE_H
#define BERTH_STORE_RESERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* As much as the journal grows to before it is folded in. */
#define RESERVE_BYTES ((uint64_t)16 << 20)

struct reserve {
    int fd;
    uint64_t wanted; /* 0 when nothing can be kept here */
    uint64_t held;
};

/* Takes the room. A disk that cannot keep any is no failure. */
int reserve_open(struct reserve *v, const char *db_path, struct error *err);
void reserve_close(struct reserve *v);

/* A reserve that was taken from a fuller disk grows to what it should be, if there is room now. */
void reserve_adapt(struct reserve *v);

/* Gives a part back to the disk; false when none is left. */
bool reserve_release(struct reserve *v);
/* Takes what is missing; false when the disk has not as much. */
bool reserve_refill(struct reserve *v);

#endif
