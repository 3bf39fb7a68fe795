/* Berth's database file: opening, checks, migration, error messages.
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
/* "Brth": distinguishes our files from those of other programs. */
#define DB_APPLICATION_ID 0x42727468

struct db {
    sqlite3 *sql;
    bool is_full; /* the last failure was a full disk */
    char path[PATH_MAX];
};

/* The path of the database in a data directory. */
int db_path(const char *dir, char ret[PATH_MAX], struct error *err);

/* Opens an existing file. flags: SQLITE_OPEN_READWRITE or SQLITE_OPEN_READONLY. Closing it leaves its journal
 * as it is, */
int db_open(const char *path, int flags, struct db **ret, struct error *err);
/* or, after this call, checkpoints it into the file and deletes it, if no other process has the database
 * open. */
void db_fold_on_close(struct db *d);
/* Takes NULL. */
struct db *db_close(struct db *d);
DEFINE_CLEANUP(struct db, db_close)

/* Creates an empty database with the current schema at path, which must not exist. Atomic. */
int db_create(const char *path, struct error *err);

/* Refuses files that Berth did not write, and those of a newer version; *ret_version is the schema's. */
int db_check(struct db *d, int64_t *ret_version, struct error *err);
/* Migrates the schema from an older version to the current one, all steps or none. */
int db_migrate(struct db *d, int64_t version, struct error *err);
/* Reads the whole file and refuses a damaged one. */
int db_check_deeply(struct db *d, struct error *err);

/* The last failure of the database as an error; verb: "write", "read". Returns the negative code. */
int db_fail(struct db *d, const char *verb, struct error *err);
/* Runs statements without results. */
int db_exec(struct db *d, const char *sql, struct error *err);
/* The only number, or text (truncated to size), of a statement's result. */
int db_number(struct db *d, const char *sql, int64_t *ret, struct error *err);
int db_text(struct db *d, const char *sql, char *ret, size_t size, struct error *err);
int db_prepare(struct db *d, const char *sql, sqlite3_stmt **ret, struct error *err);

static inline void db_finalize_p(sqlite3_stmt **s)
{
    (void)sqlite3_finalize(*s); /* step has reported the failure */
}

#endif
