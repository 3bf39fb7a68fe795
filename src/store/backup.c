/* Backup and restore: whole databases, copied page by page by SQLite's backup interface.
 *
 * A backup reads in one read transaction: it contains the state at its beginning, and the server continues to
 * write to its journal, which grows meanwhile. The copy is an ordinary database file without a journal,
 * suitable for a read-only medium, followed by a checksum of all of it (io/seal.h), which SQLite ignores.
 *
 * A restore begins when the whole backup has been verified: the checksum, SQLite's own check, and every row
 * decoded as the server would. Backups of releases without a checksum pass with the other two. */
#include "store/store.h"

#include <stdio.h>

#include "io/file.h"
#include "io/path.h"
#include "io/seal.h"
#include "store/db.h"
#include "store/store_int.h"

/* 8 MiB between two reports of progress. */
#define BACKUP_STEP_PAGES 512
/* Steps of SQLite's virtual machine: some milliseconds between two reports during a check. */
#define CHECK_STEPS 100000
/* Larger than the number of revisions that the lost server may have used since the backup: a day at 10,000
 * per second. */
#define RESTORE_REVISION_GAP "1000000000"

struct backup_progress {
    store_progress_fn *fn;
    void *ctx;
    uint64_t seal_bytes; /* of the file that is written or read, after its pages */
};

static void progress_report(const struct backup_progress *p, sqlite3_backup *b, int64_t page_bytes)
{
    int total = sqlite3_backup_pagecount(b), left = sqlite3_backup_remaining(b);
    uint64_t seal = p->seal_bytes;

    if (p->fn && total > 0 && left >= 0 && left <= total)
        p->fn(p->ctx, STORE_COPYING, (uint64_t)(total - left) * (uint64_t)page_bytes + (left ? 0 : seal),
              (uint64_t)total * (uint64_t)page_bytes + seal);
}

static void on_check_tick(void *ctx)
{
    const struct backup_progress *p = ctx;

    if (p->fn)
        p->fn(p->ctx, STORE_CHECKING, /* done= */ 0, /* total= */ 0);
}

/* Any other result would stop the check. */
static int on_check_step(void *ctx)
{
    on_check_tick(ctx);
    return 0;
}

/* The source is in a read transaction. */
static int copy_pages(struct db *from, struct db *to, const struct backup_progress *p, struct error *err)
{
    sqlite3_backup *b;
    int64_t page_bytes;
    int r = db_number(from, "PRAGMA page_size", &page_bytes, err);

    if (r < 0)
        return r;
    b = sqlite3_backup_init(to->sql, "main", from->sql, "main");
    if (!b)
        return db_fail(to, "write", err);
    do {
        r = sqlite3_backup_step(b, BACKUP_STEP_PAGES);
        if (r == SQLITE_OK || r == SQLITE_DONE)
            progress_report(p, b, page_bytes);
    } while (r == SQLITE_OK);
    /* The failure is the target's, with the code of whichever side failed. */
    if (sqlite3_backup_finish(b) != SQLITE_OK || r != SQLITE_DONE)
        return db_fail(to, "write", err);
    return 0;
}

/* tmp is renamed to path when it is complete. after: statements to run on the copy; NULL for none. */
static int copy_into(struct db *from, const char *tmp, const char *path, const char *after,
                     const struct backup_progress *p, struct error *err)
{
    _cleanup_(db_close_p) struct db *to = NULL;
    char mode[16];
    int r = db_open(tmp, SQLITE_OPEN_READWRITE, &to, err);

    if (r == 0)
        r = db_exec(from, "BEGIN; SELECT count(*) FROM sqlite_schema", err);
    if (r < 0)
        return r;
    (void)snprintf(to->path, sizeof to->path, "%s", path); /* the name in its error messages */
    r = copy_pages(from, to, p, err);
    (void)sqlite3_exec(from->sql, "COMMIT", NULL, NULL, NULL); /* only read from */
    /* The header says WAL, like the source's: switch back to a single file. */
    if (r == 0)
        r = db_text(to, "PRAGMA journal_mode=DELETE", mode, sizeof mode, err);
    if (r == 0 && after)
        r = db_exec(to, after, err);
    return r;
}

static const char *const endings[] = { "", "-journal", "-wal", "-shm" };

static void discard_copy(const char *path)
{
    char name[PATH_MAX + 16];

    for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
        (void)snprintf(name, sizeof name, "%s%s", path, endings[i]); /* always fits */
        io_discard_file(name);
    }
}

/* Copies the database to a temporary file that is renamed when it is complete. after: NULL for a backup,
 * which is sealed. */
static int copy_to(struct db *from, const char *path, const char *after, const struct backup_progress *p,
                   struct error *err)
{
    char tmp[PATH_MAX];
    int r = io_guarded_tmp_file_beside(path, endings, ARRAY_LEN(endings), tmp, err);

    if (r < 0)
        return r;
    r = copy_into(from, tmp, path, after, p, err);
    if (r == 0 && !after)
        r = seal_add(tmp, /* tick= */ NULL, /* ctx= */ NULL, err);
    if (r == 0)
        r = io_move_into_place(tmp, path, err);
    if (r < 0)
        discard_copy(tmp);
    io_unguard_tmp();
    return r;
}

/* Opens and checks a database of ours. */
static int open_checked(const char *path, int flags, struct db **ret, struct error *err)
{
    _cleanup_(db_close_p) struct db *d = NULL;
    int64_t version;
    int r = db_open(path, flags, &d, err);

    if (r < 0)
        return r;
    r = db_check(d, &version, err);
    if (r < 0)
        return r;
    *ret = TAKE(d);
    return 0;
}

int store_backup(const char *dir, const char *file, store_progress_fn *progress, void *ctx, struct error *err)
{
    _cleanup_(db_close_p) struct db *from = NULL;
    const struct backup_progress p = { progress, ctx, SEAL_BYTES };
    char path[PATH_MAX];
    int r = db_path(dir, path, err);

    if (r < 0)
        return r;
    if (io_is_same_file(path, file))
        return error_set(err, ERR_INVALID, "'%s' is the database itself: name another file", file);
    /* Open for writing, since a reader beside a server takes part in its locks; nothing is written. */
    r = open_checked(path, SQLITE_OPEN_READWRITE, &from, err);
    return r < 0 ? r : copy_to(from, file, /* after= */ NULL, &p, err);
}

/* --- Restoring --- */

static int check_free(const char *dir, struct error *err)
{
    bool is_free;
    int r = io_dir_is_empty(dir, &is_free, err);

    if (r == 0 && !is_free)
        r = error_set(err, ERR_EXISTS, "'%s' is not empty: a backup is restored into an empty directory only",
                      dir);
    return r;
}

static int check_rows(const char *file, struct backup_progress *p, struct error *err)
{
    struct store_log log;
    int r = store_log_open_backup(file, &log, err);

    if (r < 0)
        return r;
    r = store_check_log(&log, on_check_tick, p, err);
    log.type->close(log.ctx);
    return r;
}

static int check_backup(const char *file, struct db *from, struct backup_progress *p, struct error *err)
{
    bool is_sealed = false;
    int r;

    on_check_tick(p);
    r = seal_check(file, on_check_tick, p, &is_sealed, err);
    if (r < 0)
        return r;
    p->seal_bytes = is_sealed ? SEAL_BYTES : 0;
    sqlite3_progress_handler(from->sql, CHECK_STEPS, on_check_step, p);
    r = db_check_deeply(from, err);
    sqlite3_progress_handler(from->sql, 0, NULL, NULL);
    return r < 0 ? r : check_rows(file, p, err);
}

int store_backup_has_checksum(const char *file, bool *ret, struct error *err)
{
    return seal_exists(file, ret, err);
}

int store_restore(const char *file, const char *dir, store_progress_fn *progress, void *ctx,
                  struct error *err)
{
    static const char after[] =
        "BEGIN;"
        "UPDATE meta SET value = " RESTORE_REVISION_GAP
        " + (SELECT max(value, (SELECT ifnull(max(revision), 0)"
        " FROM log)) FROM meta WHERE key='revision') WHERE key='revision';"
        "UPDATE meta SET value = (SELECT value FROM meta WHERE key='revision') WHERE key='history_start';"
        "COMMIT";
    _cleanup_(db_close_p) struct db *from = NULL;
    _cleanup_(fd_closep) int lock_fd = -1;
    struct backup_progress p = { progress, ctx, 0 };
    char path[PATH_MAX];
    int r;

    r = db_path(dir, path, err);
    if (r < 0)
        return r;
    r = check_free(dir, err);
    if (r < 0)
        return r;
    r = open_checked(file, SQLITE_OPEN_READONLY, &from, err);
    if (r < 0)
        return r;
    r = check_backup(file, from, &p, err);
    if (r == 0)
        r = io_mkdirs(dir, 0700, err);
    if (r == 0)
        r = io_lock_dir(dir, &lock_fd, err);
    if (r == 0)
        r = check_free(dir, err); /* check again, now that the lock excludes others */
    return r < 0 ? r : copy_to(from, path, after, &p, err);
}
