/* The newest acknowledged write, recorded outside the database: DIR/berth.db-acked.
 *
 * A database whose journal was removed or damaged, or that was replaced by an older copy, is consistent in
 * itself and merely lacks writes. The record detects that: it contains a revision that was acknowledged and
 * the checksum of that revision's row. It is overwritten in place after each commit, before the writers are
 * notified, and is never synced. So after a crash it may be older than the database or torn, which proves
 * nothing; it is newer than the database only when writes are lost.
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
    bool is_present;  /* the file exists */
    bool is_known;    /* it contains a valid record */
    int64_t revision; /* 0 when unknown */
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

/* Reads the record that belongs to the database, if it exists. */
int acked_init(struct acked *a, const char *db_path, struct error *err);
void acked_done(struct acked *a);

/* Refuses a database that lacks acknowledged writes. Only reads. */
int acked_check(const struct acked *a, struct db *d, struct error *err);
/* The database was found complete: from now on the record is written, beginning with its newest row. */
int acked_start(struct acked *a, struct db *d, struct error *err);
/* This row and all before it are on disk. */
void acked_set(struct acked *a, const struct acked_row *row);

#endif
