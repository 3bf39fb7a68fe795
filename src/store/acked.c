/* Writes and verifies the record of acknowledged writes. The record is overwritten in place by one write per
 * transaction and synced only when it is created, so it costs no disk flush. */
#include "store/acked.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/siphash.h"
#include "io/file.h"
#include "io/own_file.h"

/* The record is text of a fixed length; its last number is the checksum of the text before it. */
#define ACKED_WORDS "berth acked 1 "
#define ACKED_DIGITS ((size_t)20) /* of each number */
#define ACKED_BYTES (sizeof ACKED_WORDS - 1 + 3 * (ACKED_DIGITS + 1))
#define ACKED_ROW_COLUMNS "SELECT revision, resource, ns, name, body FROM log "

/* Protects against accidents, not against attackers: the keys are known. */
static uint64_t text_sum(uint64_t k0, uint64_t k1, struct str text)
{
    return siphash_hash((struct hash_seed){ k0, k1 }, text);
}

/* Each text is hashed with the sum so far as the seed, so that no byte can move from one text to the next. */
static uint64_t row_sum(const struct acked_row *row)
{
    const struct str texts[] = { row->resource, row->ns, row->name, row->body };
    uint64_t sum = (uint64_t)row->revision;

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        sum = text_sum(sum, texts[i].s ? i : ~(uint64_t)i, texts[i].s ? texts[i] : str_of(""));
    return sum;
}

/* --- The record --- */

static void record_write(char ret[ACKED_BYTES + 1], int64_t revision, uint64_t sum)
{
    int n = snprintf(ret, ACKED_BYTES + 1, ACKED_WORDS "%020" PRId64 " %020" PRIu64 " ", revision, sum);

    (void)snprintf(ret + n, ACKED_BYTES + 1 - (size_t)n, "%020" PRIu64 "\n",
                   text_sum(0, 0, (struct str){ ret, (size_t)n }));
}

/* False for a record that is torn, or was written by another program. */
static bool record_read(struct str text, int64_t *ret_revision, uint64_t *ret_sum)
{
    struct str first = { text.s + sizeof ACKED_WORDS - 1, ACKED_DIGITS };
    struct str second = { first.s + ACKED_DIGITS + 1, ACKED_DIGITS };
    char again[ACKED_BYTES + 1];
    int64_t revision;
    uint64_t sum;

    if (text.len != ACKED_BYTES || !str_to_int64(first, &revision) || !str_to_uint64(second, &sum))
        return false;
    record_write(again, revision, sum);
    if (memcmp(again, text.s, ACKED_BYTES) != 0)
        return false;
    *ret_revision = revision;
    *ret_sum = sum;
    return true;
}

int acked_init(struct acked *a, const char *db_path, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(0);
    _cleanup_(fd_closep) int fd = -1;
    struct error why;
    int n, r;

    *a = (struct acked){ .fd = -1 };
    n = snprintf(a->path, sizeof a->path, "%s-acked", db_path);
    if (n < 0 || (size_t)n >= sizeof a->path)
        return error_set_errno(err, ENAMETOOLONG, "cannot open the record for '%s'", db_path);
    r = io_open_own_file(a->path, &fd, &why);
    if (r == -ERR_NOT_FOUND)
        return 0;
    if (r == 0)
        r = io_read_fd(fd, a->path, ACKED_BYTES + 1, &text, &why);
    if (r < 0 && r != -ERR_TOO_LARGE)
        return error_pass(err, &why);
    a->is_present = true;
    a->is_known = r == 0 && record_read((struct str){ buf_cstr(&text), text.len }, &a->revision, &a->row_sum);
    if (!a->is_known)
        log_warn("record of acknowledged writes is torn, ignoring it", LOG_STR("file", a->path));
    return 0;
}

void acked_done(struct acked *a)
{
    fd_closep(&a->fd);
    a->fd = -1;
}

void acked_set(struct acked *a, const struct acked_row *row)
{
    char text[ACKED_BYTES + 1];

    a->revision = row->revision;
    a->row_sum = row_sum(row);
    record_write(text, a->revision, a->row_sum);
    (void)io_overwrite(a->fd,
                       (struct str){ text, ACKED_BYTES }); /* best effort: an older record is still correct */
}

/* --- The database --- */

static struct str column_text(sqlite3_stmt *s, int at)
{
    const char *text = (const char *)sqlite3_column_text(s, at);

    return (struct str){ text, text ? (size_t)sqlite3_column_bytes(s, at) : 0 };
}

/* The row that the statement selects, and its checksum; a revision of 0 for none. */
static int find_row(struct db *d, const char *sql, int64_t *ret_revision, uint64_t *ret_sum,
                    struct error *err)
{
    _cleanup_(db_finalize_p) sqlite3_stmt *s = NULL;
    int r = db_prepare(d, sql, &s, err), step;

    if (r < 0)
        return r;
    step = sqlite3_step(s);
    if (step != SQLITE_ROW && step != SQLITE_DONE)
        return db_fail(d, "read", err);
    *ret_revision = 0;
    if (step == SQLITE_DONE)
        return 0;
    struct acked_row row = { sqlite3_column_int64(s, 0), column_text(s, 1), column_text(s, 2),
                             column_text(s, 3), column_text(s, 4) };
    if (sqlite3_errcode(d->sql) == SQLITE_NOMEM)
        return error_no_memory(err);
    *ret_revision = row.revision;
    *ret_sum = row_sum(&row);
    return 0;
}

static int find_newest(struct db *d, int64_t *ret_revision, uint64_t *ret_sum, struct error *err)
{
    return find_row(d, ACKED_ROW_COLUMNS "ORDER BY revision DESC LIMIT 1", ret_revision, ret_sum, err);
}

static int refuse_missing(const struct acked *a, const struct db *d, int64_t newest, struct error *err)
{
    return error_set(
        err, ERR_INVALID,
        "'%s' lacks acknowledged writes, revisions %" PRId64 " to %" PRId64
        ": its journal berth.db-wal is missing or damaged, or it is an older copy. Put the right "
        "file back, or restore a backup with 'berth restore'. To continue without these writes, "
        "'berth backup' this directory and restore that into a new one",
        d->path, newest + 1, a->revision);
}

static int refuse_other(const struct acked *a, const struct db *d, struct error *err)
{
    return error_set(
        err, ERR_INVALID,
        "'%s' is not the database that acknowledged revision %" PRId64
        ": the row of that revision is missing or different. Put the right file back, or restore a backup "
        "with 'berth restore'. To use this one, 'berth backup' this directory and restore that "
        "into a new one",
        d->path, a->revision);
}

int acked_check(const struct acked *a, struct db *d, struct error *err)
{
    int64_t counter = 0, start = 0, newest = 0, revision = 0;
    uint64_t sum = 0;
    char sql[128];
    int r;

    if (a->revision <= 0)
        return 0;
    r = db_number(d, "SELECT value FROM meta WHERE key='revision'", &counter, err);
    if (r == 0)
        r = db_number(d, "SELECT value FROM meta WHERE key='history_start'", &start, err);
    if (r == 0)
        r = find_newest(d, &newest, &sum, err);
    (void)snprintf(sql, sizeof sql, ACKED_ROW_COLUMNS "WHERE revision=%" PRId64, a->revision);
    if (r == 0)
        r = find_row(d, sql, &revision, &sum, err);
    if (r < 0)
        return r;
    if (newest < counter)
        newest = counter;
    if (newest < a->revision)
        return refuse_missing(a, d, newest, err);
    /* Rows up to the start of history may have been dropped. */
    if (revision == 0 ? a->revision > start : sum != a->row_sum)
        return refuse_other(a, d, err);
    return 0;
}

int acked_start(struct acked *a, struct db *d, struct error *err)
{
    char text[ACKED_BYTES + 1];
    int64_t newest = 0;
    uint64_t sum = 0;
    struct error why;
    int r = find_newest(d, &newest, &sum, err);

    if (r < 0)
        return r;
    if (newest > a->revision) {
        a->revision = newest;
        a->row_sum = sum;
    }
    record_write(text, a->revision, a->row_sum);
    /* Synced this once, so that a database that disappears later is noticed. */
    if (!a->is_present && io_replace_file(a->path, text, ACKED_BYTES, 0600, &why) < 0) {
        log_warn("acknowledged writes are not recorded in this run", LOG_ERR(&why));
        return 0; /* a full disk: the next start retries */
    }
    r = io_open_own_file(a->path, &a->fd, err);
    if (r < 0)
        return r;
    (void)io_overwrite(a->fd,
                       (struct str){ text, ACKED_BYTES }); /* best effort: an older record is still correct */
    a->is_present = true;
    return 0;
}
