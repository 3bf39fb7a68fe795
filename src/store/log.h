/* The durable log of the store: rows are appended in transactions, and read back at the start.
 *
 * Every call blocks and runs on one thread at a time: load on the thread that opens, the others on the
 * store's worker. */
#ifndef BERTH_STORE_LOG_H
#define BERTH_STORE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/kind.h"
#include "base/error.h"
#include "base/str.h"

struct store_row {
    int64_t revision;
    enum kind kind;
    struct str ns;
    struct str name;
    struct str body; /* .s is NULL for a deletion */
    bool grows;      /* needs more space than what it supersedes: refused first on a full disk */
};

/* What the log stores besides its rows. */
struct store_log_meta {
    int64_t revision;      /* lower bound of the counter, whatever rows are left */
    int64_t history_start; /* no row after this one, nor what it superseded, was dropped */
};

/* Called for each row, which is borrowed for the call; with NULL after the last. A failure ends the loading.
 */
typedef int store_row_fn(void *ctx, const struct store_row *row, struct error *err);

struct store_log_type {
    /* Appends all rows or none, durable when it returns 0. After a failure the log stays usable: the next
     * call retries. Rows of which none grows may use reserved space. */
    int (*append)(void *ctx, const struct store_row *rows, size_t count, struct error *err);
    /* Drops superseded rows and stores meta, atomically. Without rows it still writes a changed meta, which
     * shows whether the disk accepts writes. */
    int (*drop)(void *ctx, const int64_t *revisions, size_t count, const struct store_log_meta *meta,
                struct error *err);
    /* Calls fn for every row in order of revision, then with NULL. *ret_meta is set before the first call. */
    int (*load)(void *ctx, struct store_log_meta *ret_meta, store_row_fn *fn, void *fn_ctx,
                struct error *err);
    void (*close)(void *ctx);
    /* The last failure was a full disk. NULL: never. */
    bool (*is_full)(const void *ctx);
};

struct store_log {
    const struct store_log_type *type;
    void *ctx;
};

/* The log in DIR/berth.db. */
int store_log_open_sqlite(const char *dir, struct store_log *ret, struct error *err);
/* The rows of a backup, only for loading: append and drop are not available. */
int store_log_open_backup(const char *file, struct store_log *ret, struct error *err);
/* A log that stores nothing. */
struct store_log store_log_memory(void);

#endif
