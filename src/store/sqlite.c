/* The log on SQLite: one append-only table, whose superseded rows are dropped.
 *
 * WAL with synchronous=FULL: a transaction is on disk when COMMIT returns. Rows are keyed by revision, so
 * every insert appends to the tree and a batch fills pages one after the other: 16 KiB pages and batches of
 * 256 take 196,000 rows per second, where updates in place by key take 17,000. The journal is checkpointed
 * every thousand pages, and its file truncated to a limit afterwards.
 *
 * The locking mode is the normal one, so that a backup can read at the same time. A second Berth is excluded
 * by a lock of our own on the database file, whatever path it uses, and by the lock on the directory until
 * the database exists.
 *
 * Nothing is written, and the journal is not checkpointed, before the database is known to contain every
 * acknowledged write (acked.h): a database that is refused must not be changed. */
#include "store/log.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "io/file.h"
#include "io/own_file.h"
#include "io/path.h"
#include "store/acked.h"
#include "store/db.h"
#include "store/reserve.h"

#define RESOURCE_BYTES_MAX 128

struct sqlite_log {
    struct db *db;
    int lock_fd; /* on the database; closed after it */
    struct acked acked;
    struct reserve reserve;
    bool is_full; /* the last append or drop failed because the disk is full */
    sqlite3_stmt *begin;
    sqlite3_stmt *commit;
    sqlite3_stmt *rollback;
    sqlite3_stmt *insert;
    sqlite3_stmt *delete;
    sqlite3_stmt *set_meta;
    char resources[KIND_COUNT][RESOURCE_BYTES_MAX]; /* "storageclasses.storage.k8s.io" */
};

/* --- Transactions --- */

/* Runs a statement to its end. */
static int run_statement(struct sqlite_log *l, sqlite3_stmt *s, struct error *err)
{
    int r = sqlite3_step(s) == SQLITE_DONE ? 0 : db_fail(l->db, "write", err);

    (void)sqlite3_reset(s); /* step has reported the failure */
    return r;
}

/* Commits, or rolls back on failure. Some failures have rolled the transaction back already. */
static int end_transaction(struct sqlite_log *l, int r, struct error *err)
{
    struct error ignored;

    if (r == 0)
        r = run_statement(l, l->commit, err);
    if (r < 0 && !sqlite3_get_autocommit(l->db->sql))
        (void)run_statement(l, l->rollback, &ignored); /* the first failure is the one to report */
    return r;
}

/* The row's memory must stay until the statement has run. */
static int bind_text(sqlite3_stmt *s, int at, struct str text)
{
    if (!text.s)
        return sqlite3_bind_null(s, at);
    return sqlite3_bind_text64(s, at, text.s, text.len, SQLITE_STATIC, SQLITE_UTF8);
}

static int insert_row(struct sqlite_log *l, const struct store_row *row, struct error *err)
{
    sqlite3_stmt *s = l->insert;

    if (sqlite3_bind_int64(s, 1, row->revision) != SQLITE_OK ||
        bind_text(s, 2, str_of(l->resources[row->kind])) != SQLITE_OK ||
        bind_text(s, 3, row->ns) != SQLITE_OK || bind_text(s, 4, row->name) != SQLITE_OK ||
        bind_text(s, 5, row->body) != SQLITE_OK)
        return db_fail(l->db, "write", err);
    return run_statement(l, s, err);
}

static int append_rows(struct sqlite_log *l, const struct store_row *rows, size_t count, struct error *err)
{
    int r = run_statement(l, l->begin, err);

    if (r < 0)
        return r;
    for (size_t i = 0; i < count && r == 0; i++)
        r = insert_row(l, &rows[i], err);
    return end_transaction(l, r, err);
}

/* --- A full disk --- */

/* Refills the reserve first, so that something is left for deletions. The journal's file may occupy the
 * space: a checkpoint truncates it. */
static int require_reserve(struct sqlite_log *l, struct error *err)
{
    if (l->reserve.held == l->reserve.wanted || reserve_refill(&l->reserve))
        return 0;
    (void)sqlite3_wal_checkpoint_v2(l->db->sql, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL,
                                    NULL); /* best effort */
    if (reserve_refill(&l->reserve))
        return 0;
    l->db->is_full = true;
    return error_set(err, ERR_IO, "cannot write '%s': the disk is full", l->db->path);
}

/* A checkpoint lets the journal restart within the space of its file. */
static bool make_room(struct sqlite_log *l)
{
    if (!l->db->is_full || !reserve_release(&l->reserve))
        return false;
    (void)sqlite3_wal_checkpoint_v2(l->db->sql, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL,
                                    NULL); /* best effort */
    return true;
}

static bool sqlite_is_full(const void *ctx)
{
    const struct sqlite_log *l = ctx;

    return l->is_full;
}

static int append_within_reserve(struct sqlite_log *l, const struct store_row *rows, size_t count,
                                 struct error *err)
{
    bool grows = false;
    int r = 0;

    for (size_t i = 0; i < count; i++)
        grows = grows || rows[i].grows;
    l->db->is_full = false;
    if (grows)
        r = require_reserve(l, err);
    if (r == 0)
        r = append_rows(l, rows, count, err);
    while (r < 0 && !grows && make_room(l))
        r = append_rows(l, rows, count, err);
    return r;
}

static int sqlite_append(void *ctx, const struct store_row *rows, size_t count, struct error *err)
{
    struct sqlite_log *l = ctx;
    const struct store_row *last = &rows[count - 1];
    int r = append_within_reserve(l, rows, count, err);

    l->is_full = r < 0 && l->db->is_full;
    if (r == 0)
        acked_set(&l->acked, &(struct acked_row){ last->revision, str_of(l->resources[last->kind]), last->ns,
                                                  last->name, last->body });
    return r;
}

static int set_meta(struct sqlite_log *l, const char *key, int64_t value, struct error *err)
{
    if (bind_text(l->set_meta, 1, str_of(key)) != SQLITE_OK ||
        sqlite3_bind_int64(l->set_meta, 2, value) != SQLITE_OK)
        return db_fail(l->db, "write", err);
    return run_statement(l, l->set_meta, err);
}

static int drop_rows(struct sqlite_log *l, const int64_t *revisions, size_t count,
                     const struct store_log_meta *meta, struct error *err)
{
    int r = run_statement(l, l->begin, err);

    if (r < 0)
        return r;
    r = set_meta(l, "revision", meta->revision, err);
    if (r == 0)
        r = set_meta(l, "history_start", meta->history_start, err);
    for (size_t i = 0; i < count && r == 0; i++)
        r = sqlite3_bind_int64(l->delete, 1, revisions[i]) == SQLITE_OK ? run_statement(l, l->delete, err)
                                                                        : db_fail(l->db, "write", err);
    return end_transaction(l, r, err);
}

static int sqlite_drop(void *ctx, const int64_t *revisions, size_t count, const struct store_log_meta *meta,
                       struct error *err)
{
    struct sqlite_log *l = ctx;
    int r;

    l->db->is_full = false;
    r = require_reserve(l, err);
    if (r == 0)
        r = drop_rows(l, revisions, count, meta, err);
    if (r == 0)
        reserve_adapt(&l->reserve);
    l->is_full = r < 0 && l->db->is_full;
    return r;
}

/* --- Loading --- */

static struct str column_text(sqlite3_stmt *s, int at)
{
    const char *text = (const char *)sqlite3_column_text(s, at);

    return text ? (struct str){ text, (size_t)sqlite3_column_bytes(s, at) } : (struct str){ NULL, 0 };
}

/* Rows of one kind follow each other: the kind of the last row is tried first. */
static bool find_kind(const struct sqlite_log *l, struct str resource, enum kind *kind)
{
    if (str_is(resource, l->resources[*kind]))
        return true;
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        if (k != KIND_EVENT_V1 && str_is(resource, l->resources[k])) {
            *kind = (enum kind)k;
            return true;
        }
    }
    return false;
}

static int read_row(const struct sqlite_log *l, sqlite3_stmt *s, struct store_row *row, struct error *err)
{
    struct str resource = column_text(s, 1);

    row->revision = sqlite3_column_int64(s, 0);
    row->ns = column_text(s, 2);
    row->name = column_text(s, 3);
    row->body = column_text(s, 4);
    if (sqlite3_errcode(l->db->sql) == SQLITE_NOMEM) /* otherwise a text is NULL only when the column is */
        return error_no_memory(err);
    if (row->revision <= 0 || !resource.s || !row->ns.s || !row->name.s ||
        !find_kind(l, resource, &row->kind))
        return error_set(err, ERR_INVALID, "the row of revision %lld is damaged: its key is invalid",
                         (long long)row->revision);
    if (row->body.len > OBJECT_TEXT_BYTES_MAX)
        return error_set(err, ERR_INVALID, "the row of revision %lld is damaged: it is too large",
                         (long long)row->revision);
    return 0;
}

/* Passes the row of the statement to fn; NULL after the last one. */
static int pass_row(const struct sqlite_log *l, sqlite3_stmt *s, struct store_row *row, store_row_fn *fn,
                    void *fn_ctx, struct error *err)
{
    int r = s ? read_row(l, s, row, err) : 0;

    if (r == 0)
        r = fn(fn_ctx, s ? row : NULL, err);
    return r < 0 ? error_wrap(err, "cannot load '%s'", l->db->path) : 0;
}

static int load_rows(struct sqlite_log *l, store_row_fn *fn, void *fn_ctx, struct error *err)
{
    _cleanup_(db_finalize_p) sqlite3_stmt *s = NULL;
    struct store_row row = { .kind = KIND_VOLUME };
    int step = SQLITE_ROW;
    int r =
        db_prepare(l->db, "SELECT revision, resource, ns, name, body FROM log ORDER BY revision", &s, err);

    while (r == 0 && (step = sqlite3_step(s)) == SQLITE_ROW)
        r = pass_row(l, s, &row, fn, fn_ctx, err);
    if (r < 0)
        return r;
    if (step != SQLITE_DONE)
        return db_fail(l->db, "read", err);
    return pass_row(l, NULL, &row, fn, fn_ctx, err);
}

/* A larger counter is damage: a billion revisions per second reach it in 70 years. */
#define REVISION_MAX ((int64_t)1 << 61)

static int read_counter(struct sqlite_log *l, const char *key, int64_t *ret, struct error *err)
{
    char sql[64];
    int64_t value;
    int r;

    (void)snprintf(sql, sizeof sql, "SELECT value FROM meta WHERE key='%s'",
                   key); /* always fits: keys are short */
    r = db_number(l->db, sql, &value, err);
    if (r < 0)
        return r;
    if (value < 0 || value > REVISION_MAX)
        return error_set(err, ERR_INVALID,
                         "'%s' is damaged: its counter '%s' is out of bounds: restore a backup", l->db->path,
                         key);
    *ret = value;
    return 0;
}

static int load_all(void *ctx, struct store_log_meta *ret_meta, store_row_fn *fn, void *fn_ctx,
                    struct error *err)
{
    struct sqlite_log *l = ctx;
    struct store_log_meta meta;
    int r = read_counter(l, "revision", &meta.revision, err);

    if (r == 0)
        r = read_counter(l, "history_start", &meta.history_start, err);
    if (r < 0)
        return r;
    *ret_meta = meta;
    return load_rows(l, fn, fn_ctx, err);
}

static int sqlite_load(void *ctx, struct store_log_meta *ret_meta, store_row_fn *fn, void *fn_ctx,
                       struct error *err)
{
    struct sqlite_log *l = ctx;
    int r = load_all(l, ret_meta, fn, fn_ctx, err);

    if (r == 0)
        r = acked_start(&l->acked, l->db, err);
    if (r == 0)
        db_fold_on_close(l->db);
    return r;
}

/* --- Life --- */

static void sqlite_close(void *ctx)
{
    struct sqlite_log *l = ctx;
    sqlite3_stmt *all[] = { l->begin, l->commit, l->rollback, l->insert, l->delete, l->set_meta };

    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        (void)sqlite3_finalize(all[i]); /* takes NULL */
    l->db = db_close(l->db);
    fd_closep(&l->lock_fd);
    acked_done(&l->acked);
    reserve_close(&l->reserve);
    free(l);
}

static void sqlite_close_p(struct sqlite_log **l)
{
    if (*l)
        sqlite_close(*l);
}

static int set_modes(struct db *d, struct error *err)
{
    char mode[16];
    int r = db_text(d, "PRAGMA journal_mode=WAL", mode, sizeof mode, err);

    if (r < 0)
        return r;
    if (strcmp(mode, "wal") != 0)
        return error_set(err, ERR_IO,
                         "cannot create a journal for '%s': its file system does not support shared memory",
                         d->path);
    return db_exec(d,
                   "PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=1000;"
                   "PRAGMA journal_size_limit=67108864",
                   err);
}

static int prepare_all(struct sqlite_log *l, struct error *err)
{
    const struct {
        sqlite3_stmt **ret;
        const char *sql;
    } wanted[] = {
        { &l->begin, "BEGIN IMMEDIATE" },
        { &l->commit, "COMMIT" },
        { &l->rollback, "ROLLBACK" },
        { &l->insert, "INSERT INTO log(revision, resource, ns, name, body) VALUES(?1, ?2, ?3, ?4, ?5)" },
        { &l->delete, "DELETE FROM log WHERE revision=?1" },
        { &l->set_meta, "INSERT OR REPLACE INTO meta(key, value) VALUES(?1, ?2)" },
    };
    int r = 0;

    for (size_t i = 0; i < ARRAY_LEN(wanted) && r == 0; i++)
        r = db_prepare(l->db, wanted[i].sql, wanted[i].ret, err);
    return r;
}

/* SQLite finds its files beside the database by name: only regular files of ours may exist there. */
static int check_files(const char *path, struct error *err)
{
    static const char *const endings[] = { "", "-wal", "-shm" };
    char name[PATH_MAX + 8];
    int r = 0;

    for (size_t i = 0; i < ARRAY_LEN(endings) && r == 0; i++) {
        (void)snprintf(name, sizeof name, "%s%s", path, endings[i]); /* always fits */
        r = io_check_own_file(name, err);
    }
    return r;
}

static int create_file(const struct sqlite_log *l, const char *path, struct error *err)
{
    if (l->acked.is_present)
        return error_set(
            err, ERR_INVALID,
            "'%s' is missing, but its record '%s' exists: put the database back, restore a backup into a new "
            "directory with 'berth restore', or delete the record to begin with an empty database",
            path, l->acked.path);
    return db_create(path, err);
}

/* Locks the file for this process; creates it when it is missing. */
static int lock_file(struct sqlite_log *l, const char *path, struct error *err)
{
    bool is_present;
    int r = io_exists(path, &is_present, err);

    if (r == 0)
        r = acked_init(&l->acked, path, err);
    if (r == 0 && !is_present)
        r = create_file(l, path, err);
    if (r == 0)
        r = io_lock_file(path, &l->lock_fd, err);
    if (r == 0)
        r = check_files(path, err);
    return r;
}

static int open_db(struct sqlite_log *l, const char *path, struct error *err)
{
    int64_t version;
    int r = db_open(path, SQLITE_OPEN_READWRITE, &l->db, err);

    if (r == 0)
        r = db_check(l->db, &version, err);
    if (r == 0)
        r = acked_check(&l->acked, l->db, err);
    if (r == 0)
        r = set_modes(l->db, err);
    if (r == 0)
        r = db_migrate(l->db, version, err);
    return r;
}

static int open_file(struct sqlite_log *l, const char *dir, struct error *err)
{
    char path[PATH_MAX];
    int r = db_path(dir, path, err);

    if (r == 0)
        r = lock_file(l, path, err);
    if (r == 0)
        r = reserve_open(&l->reserve, path, err);
    if (r < 0)
        return r;
    r = open_db(l, path, err);
    /* The index of the journal needs space too. */
    if (r < 0 && l->db && l->db->is_full && reserve_release(&l->reserve)) {
        l->db = db_close(l->db);
        r = open_db(l, path, err);
    }
    return r;
}

static const struct store_log_type sqlite_log_type = { sqlite_append, sqlite_drop, sqlite_load, sqlite_close,
                                                       sqlite_is_full };

static struct sqlite_log *new_log(void)
{
    struct sqlite_log *l = calloc(1, sizeof *l);

    if (!l)
        return NULL;
    l->lock_fd = l->acked.fd = l->reserve.fd = -1;
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        _cleanup_(buf_done_p) struct buf name = BUF_INIT(RESOURCE_BYTES_MAX - 1);
        kind_resource(kind_info((enum kind)k), &name);
        (void)snprintf(l->resources[k], RESOURCE_BYTES_MAX, "%s",
                       buf_cstr(&name)); /* always fits: names are short */
    }
    return l;
}

int store_log_open_sqlite(const char *dir, struct store_log *ret, struct error *err)
{
    _cleanup_(sqlite_close_p) struct sqlite_log *l = new_log();
    int r = l ? open_file(l, dir, err) : error_no_memory(err);

    if (r == 0)
        r = prepare_all(l, err);
    if (r < 0)
        return r;
    *ret = (struct store_log){ &sqlite_log_type, TAKE(l) };
    return 0;
}

static const struct store_log_type backup_log_type = { .load = load_all, .close = sqlite_close };

int store_log_open_backup(const char *file, struct store_log *ret, struct error *err)
{
    _cleanup_(sqlite_close_p) struct sqlite_log *l = new_log();
    int r = l ? db_open(file, SQLITE_OPEN_READONLY, &l->db, err) : error_no_memory(err);

    if (r < 0)
        return r;
    *ret = (struct store_log){ &backup_log_type, TAKE(l) };
    return 0;
}
