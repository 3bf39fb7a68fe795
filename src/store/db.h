/* Berth's database file: opening it, what it must be, what its failures mean.
 *
 * For the log (sqlite.c) and for backups (backup.c). */
#ifndef BERTH_STORE_DB_H
#define BERTH_STORE_DB_H

#include <limits.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"

#define DB_NAME "berth.db"
/* "Brth": tells our files from other programs'. */
#define DB_APPLICATION_ID 0x42727468

struct db {
    sqlite3 *sql;
    bool is_full; /* the last failure was for lack of room on the disk */
    char path[PATH_MAX];
};

/* The path of the database in a data directory. */
int db_path(const char *dir, char ret[PATH_MAX], struct error *err);

/* Opens a file that is there. flags: SQLITE_OPEN_READWRITE or SQLITE_OPEN_READONLY. Closing it leaves its
 * journal as it is, */
int db_open(const char *path, int flags, struct db **ret, struct error *err);
/* or, after this, folds it into the file and deletes it, if nobody else has the database open. */
void db_fold_on_close(struct db *d);
/* Takes NULL. */
struct db *db_close(struct db *d);
DEFINE_CLEANUP(struct db, db_close)

/* Makes an empty database with today's schema at path, which must not be there. It appears whole. */
int db_create(const char *path, struct error *err);

/* Refuses what Berth did not write, and what a newer one did; *ret_version is the schema's. */
int db_check(struct db *d, int64_t *ret_version, struct error *err);
/* Brings the schema from an older version to today's, all steps or none. */
int db_migrate(struct db *d, int64_t version, struct error *err);
/* Reads all of the file and refuses one that is damaged. */
int db_check_deeply(struct db *d, struct error *err);

/* The last failure of the database in words; verb: "write", "read". Returns the negative code. */
int db_fail(struct db *d, const char *verb, struct error *err);
/* Statements without results. */
int db_exec(struct db *d, const char *sql, struct error *err);
/* The one number, or text (cut to size), that a statement results in. */
int db_number(struct db *d, const char *sql, int64_t *ret, struct error *err);
int db_text(struct db *d, const char *sql, char *ret, size_t size, struct error *err);
int db_prepare(struct db *d, const char *sql, sqlite3_stmt **ret, struct error *err);

static inline void db_finalize_p(sqlite3_stmt **s)
{
    (void)sqlite3_finalize(*s); /* the failure was reported by step */
}

#endif
