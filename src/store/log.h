/* The durable log behind the store: rows appended in transactions, read back at the start.
 *
 * Every call blocks and runs on one thread at a time: load in the thread that opens, the others on the
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
    bool grows;      /* it takes more room than what it supersedes, and is refused first on a full disk */
};

/* What the log knows besides its rows. */
struct store_log_meta {
    int64_t revision;      /* the counter is at least here, whatever rows are left */
    int64_t history_start; /* of the rows after this one none was dropped, nor what they superseded */
};

/* One row, borrowed for the call; NULL behind the last. A failure ends the loading. */
typedef int store_row_fn(void *ctx, const struct store_row *row, struct error *err);

struct store_log_type {
    /* All rows or none, durable when it returns 0. A failure leaves the log usable: the next call tries
     * afresh. Rows of which none grows may use room that is kept for them. */
    int (*append)(void *ctx, const struct store_row *rows, size_t count, struct error *err);
    /* Forgets rows that no longer matter and remembers meta, together or not at all. Without rows it still
     * writes a meta that is new, and so tells whether the disk takes anything. */
    int (*drop)(void *ctx, const int64_t *revisions, size_t count, const struct store_log_meta *meta,
                struct error *err);
    /* Every row in order of revision, then NULL. *ret_meta is set before the first call of fn. */
    int (*load)(void *ctx, struct store_log_meta *ret_meta, store_row_fn *fn, void *fn_ctx,
                struct error *err);
    void (*close)(void *ctx);
    /* The last failure was for lack of room on the disk. NULL: it never is. */
    bool (*is_full)(const void *ctx);
};

struct store_log {
    const struct store_log_type *type;
    void *ctx;
};

/* The log in DIR/berth.db. */
int store_log_open_sqlite(const char *dir, struct store_log *ret, struct error *err);
/* The rows of a backup, to be loaded and no more: there is neither append nor drop. */
int store_log_open_backup(const char *file, struct store_log *ret, struct error *err);
/* The log that keeps nothing. */
struct store_log store_log_memory(void);

#endif
