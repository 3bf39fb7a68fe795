/* The newest acknowledged write, recorded outside the database: DIR/berth.db-acked.
 *
 * A database whose journal was removed or damaged, or that was replaced by an older copy, is sound in itself
 * and merely lacks writes. The record tells: it holds a revision that was acknowledged and the checksum of
 * that revision's row. It is written over in place after each commit, before the writers hear of it, and is
 * never synced. So after a crash it may be older than the database or torn, which says nothing; newer than
 * the database it is only when writes are lost.
 *
 * One write of 77 bytes per transaction. For the log (sqlite.c). */
#ifndef BERTH_STORE_ACKED_H
#define BERTH_STORE_ACKED_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"
#include "store/db.h"

struct acked {
    char path[PATH_MAX];
    int fd;           /* -1 until acked_start() */
    bool is_there;    /* the file is */
    bool is_known;    /* and it holds a record */
    int64_t revision; /* 0 when nothing is known */
    uint64_t row_sum;
};

/* A row as the database has it; body.s is NULL for a deletion. */
struct acked_row {
    int64_t revision;
    struct str resource;
    struct str ns;
    struct str name;
    struct str body;
};

/* Reads the record that belongs to the database, if there is one. */
int acked_init(struct acked *a, const char *db_path, struct error *err);
void acked_done(struct acked *a);

/* Refuses a database that lacks what was acknowledged. Only reads. */
int acked_check(const struct acked *a, struct db *d, struct error *err);
/* The database was found whole: from now on the record is written, beginning with its newest row. */
int acked_start(struct acked *a, struct db *d, struct error *err);
/* This row is on disk, and so is every one before it. */
void acked_set(struct acked *a, const struct acked_row *row);

#endif
