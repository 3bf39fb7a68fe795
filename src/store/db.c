/* Opens, creates and migrates the database file, and maps SQLite's failures to errors. A database is created
 * under a temporary name, so that it exists complete or not at all; migrations run in one transaction. */
#include "store/db.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/path.h"

/* How long to wait for the lock of another program, for example the sqlite3 shell. */
#define DB_BUSY_MS_MAX 5000
/* Rows are a kilobyte or two: several fit on a page, and few pages are written per batch. */
#define DB_PAGE_BYTES "16384"

/* --- Failures --- */

static int db_damaged(const struct db *d, const char *why, struct error *err)
{
    return error_set(err, ERR_INVALID,
                     "'%s' is damaged or not a database of berth (%s): restore a sound backup into a new "
                     "directory with 'berth restore'",
                     d->path, why);
}

/* The errno of the last failure. The library does not keep it for commits, but the files do. */
static int db_errno(const struct db *d)
{
    int errnum = sqlite3_system_errno(d->sql);
    sqlite3_file *journal = NULL;

    if (errnum == 0)
        (void)sqlite3_file_control(d->sql, "main", SQLITE_FCNTL_JOURNAL_POINTER, &journal);
    if (journal && journal->pMethods)
        (void)journal->pMethods->xFileControl(journal, SQLITE_FCNTL_LAST_ERRNO, &errnum);
    if (errnum == 0)
        (void)sqlite3_file_control(d->sql, "main", SQLITE_FCNTL_LAST_ERRNO, &errnum);
    return errnum;
}

int db_fail(struct db *d, const char *verb, struct error *err)
{
    int code = sqlite3_errcode(d->sql); /* the primary one */
    int errnum = db_errno(d);

    d->is_full = code == SQLITE_FULL || (code == SQLITE_IOERR && (errnum == ENOSPC || errnum == EDQUOT));
    if (code == SQLITE_NOMEM)
        return error_no_memory(err);
    if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB)
        return db_damaged(d, sqlite3_errmsg(d->sql), err);
    if (d->is_full)
        return error_set(err, ERR_IO, "cannot %s '%s': the disk is full", verb, d->path);
    if (code == SQLITE_READONLY || (code == SQLITE_IOERR && errnum == EROFS))
        return error_set(err, ERR_IO, "cannot %s '%s': the file system or the file is read-only", verb,
                         d->path);
    if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
        return error_set(err, ERR_BUSY, "cannot %s '%s': another program has locked it", verb, d->path);
    if (code == SQLITE_CANTOPEN && errnum != 0)
        return error_set_errno(err, errnum, "cannot open '%s'", d->path);
    if (code == SQLITE_IOERR && errnum != 0)
        return error_set_errno(err, errnum, "cannot %s '%s': %s", verb, d->path, sqlite3_errmsg(d->sql));
    return error_set(err, ERR_IO, "cannot %s '%s': %s", verb, d->path, sqlite3_errmsg(d->sql));
}

/* --- Statements --- */

int db_prepare(struct db *d, const char *sql, sqlite3_stmt **ret, struct error *err)
{
    if (sqlite3_prepare_v3(d->sql, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL) != SQLITE_OK)
        return db_fail(d, "read", err);
    return 0;
}

int db_exec(struct db *d, const char *sql, struct error *err)
{
    if (sqlite3_exec(d->sql, sql, NULL, NULL, NULL) != SQLITE_OK)
        return db_fail(d, "write", err);
    return 0;
}

/* Steps to the only row of a statement. */
static int db_step_row(struct db *d, sqlite3_stmt *s, struct error *err)
{
    int r = sqlite3_step(s);

    if (r == SQLITE_ROW)
        return 0;
    if (r == SQLITE_DONE)
        return db_damaged(d, "a value is missing", err);
    return db_fail(d, "read", err);
}

int db_number(struct db *d, const char *sql, int64_t *ret, struct error *err)
{
    _cleanup_(db_finalize_p) sqlite3_stmt *s = NULL;
    int r = db_prepare(d, sql, &s, err);

    if (r == 0)
        r = db_step_row(d, s, err);
    if (r == 0)
        *ret = sqlite3_column_int64(s, 0);
    return r;
}

int db_text(struct db *d, const char *sql, char *ret, size_t size, struct error *err)
{
    _cleanup_(db_finalize_p) sqlite3_stmt *s = NULL;
    const char *text;
    int r = db_prepare(d, sql, &s, err);

    if (r == 0)
        r = db_step_row(d, s, err);
    if (r < 0)
        return r;
    text = (const char *)sqlite3_column_text(s, 0);
    (void)snprintf(ret, size, "%s", text ? text : ""); /* truncation is acceptable */
    return 0;
}

/* --- The file --- */

int db_path(const char *dir, char ret[PATH_MAX], struct error *err)
{
    int n = snprintf(ret, PATH_MAX, "%s/" DB_NAME, dir);

    if (n < 0 || n >= PATH_MAX)
        return error_set_errno(err, ENAMETOOLONG, "cannot open the database in '%s'", dir);
    return 0;
}

int db_open(const char *path, int flags, struct db **ret, struct error *err)
{
    _cleanup_(db_close_p) struct db *d = NULL;

    if (strlen(path) >= sizeof d->path)
        return error_set_errno(err, ENAMETOOLONG, "cannot open '%s'", path);
    d = calloc(1, sizeof *d);
    if (!d)
        return error_no_memory(err);
    (void)snprintf(d->path, sizeof d->path, "%s", path); /* always fits */
    /* One thread at a time uses it: the library's locks are not needed. */
    if (sqlite3_open_v2(path, &d->sql, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        return d->sql ? db_fail(d, "open", err) : error_no_memory(err);
    (void)sqlite3_busy_timeout(d->sql, DB_BUSY_MS_MAX);
    (void)sqlite3_db_config(d->sql, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1,
                            NULL); /* cannot fail: a known option */
    *ret = TAKE(d);
    return 0;
}

void db_fold_on_close(struct db *d)
{
    (void)sqlite3_db_config(d->sql, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0,
                            NULL); /* cannot fail: a known option */
}

struct db *db_close(struct db *d)
{
    if (!d)
        return NULL;
    (void)sqlite3_close_v2(d->sql); /* everything that matters is on disk */
    free(d);
    return NULL;
}

/* --- The schema --- */

typedef int db_step_fn(struct db *d, struct error *err);

/* One append-only table by revision. body is NULL for a deletion. meta contains what must outlive dropped
 * rows: `revision`, a lower bound of the counter, and `history_start`. */
static int schema_create(struct db *d, struct error *err)
{
    return db_exec(d,
                   "CREATE TABLE log(revision INTEGER PRIMARY KEY, resource TEXT NOT NULL, ns TEXT NOT NULL,"
                   " name TEXT NOT NULL, body TEXT);"
                   "CREATE TABLE meta(key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
                   "INSERT INTO meta VALUES('revision', 0), ('history_start', 0)",
                   err);
}

/* The step at index n migrates from version n to n + 1. A released schema never changes: append a new step.
 */
static db_step_fn *const schema_steps[] = { schema_create };

#define SCHEMA_VERSION ((int64_t)ARRAY_LEN(schema_steps))

static int schema_step_all(struct db *d, int64_t version, struct error *err)
{
    char sql[64];
    int r = 0;

    for (int64_t i = version; i < SCHEMA_VERSION && r == 0; i++)
        r = schema_steps[i](d, err);
    if (r < 0)
        return r;
    (void)snprintf(sql, sizeof sql, "PRAGMA user_version=%" PRId64, SCHEMA_VERSION);
    return db_exec(d, sql, err);
}

int db_migrate(struct db *d, int64_t version, struct error *err)
{
    int r;

    if (version == SCHEMA_VERSION)
        return 0;
    r = db_exec(d, "BEGIN IMMEDIATE", err);
    if (r == 0)
        r = schema_step_all(d, version, err);
    if (r == 0)
        r = db_exec(d, "COMMIT", err);
    if (r < 0 && !sqlite3_get_autocommit(d->sql))
        (void)sqlite3_exec(d->sql, "ROLLBACK", NULL, NULL, NULL); /* the first failure is the one to report */
    return r;
}

static int db_fill(const char *path, struct error *err)
{
    _cleanup_(db_close_p) struct db *d = NULL;
    char sql[64];
    int r = db_open(path, SQLITE_OPEN_READWRITE, &d, err);

    if (r < 0)
        return r;
    (void)snprintf(sql, sizeof sql, "PRAGMA application_id=%d", DB_APPLICATION_ID);
    r = db_exec(d, "PRAGMA page_size=" DB_PAGE_BYTES, err);
    if (r == 0)
        r = db_exec(d, sql, err);
    if (r == 0)
        r = db_migrate(d, 0, err);
    return r;
}

/* A journal without its database belongs to one that was lost: a new database would replay it. */
static int db_check_no_journal(const char *path, struct error *err)
{
    char journal[PATH_MAX];
    bool is_present;
    int n = snprintf(journal, sizeof journal, "%s-wal", path);
    int r;

    if (n < 0 || (size_t)n >= sizeof journal)
        return error_set_errno(err, ENAMETOOLONG, "cannot create '%s'", path);
    r = io_exists(journal, &is_present, err);
    if (r == 0 && is_present)
        r = error_set(err, ERR_INVALID,
                      "'%s' is missing, but its journal '%s' exists: put the database back, or move the "
                      "journal elsewhere",
                      path, journal);
    return r;
}

int db_create(const char *path, struct error *err)
{
    char tmp[PATH_MAX];
    int r = db_check_no_journal(path, err);

    if (r == 0)
        r = io_tmp_file_beside(path, tmp, err);
    if (r < 0)
        return r;
    r = db_fill(tmp, err);
    if (r == 0)
        r = io_move_into_place(tmp, path, err);
    if (r < 0) {
        io_discard_file(tmp);
        return error_wrap(err, "cannot create '%s'", path);
    }
    return 0;
}

int db_check(struct db *d, int64_t *ret_version, struct error *err)
{
    int64_t id, version;
    int r = db_number(d, "PRAGMA application_id", &id, err);

    if (r == 0)
        r = db_number(d, "PRAGMA user_version", &version, err);
    if (r < 0)
        return r;
    if (id != DB_APPLICATION_ID || version < 1)
        return db_damaged(d, "the header is not that of a Berth database", err);
    if (version > SCHEMA_VERSION)
        return error_set(err, ERR_INVALID,
                         "'%s' was written by a newer berth (schema %" PRId64
                         ", this one supports up to %" PRId64 ")",
                         d->path, version, SCHEMA_VERSION);
    *ret_version = version;
    return 0;
}

int db_check_deeply(struct db *d, struct error *err)
{
    char verdict[128];
    int r = db_text(d, "PRAGMA integrity_check(1)", verdict, sizeof verdict, err);

    if (r < 0)
        return r;
    return strcmp(verdict, "ok") == 0 ? 0 : db_damaged(d, verdict, err);
}
