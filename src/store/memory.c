/* The log that stores nothing: for tests and the simulator. */
#include "store/log.h"

static int memory_append(void *ctx, const struct store_row *rows, size_t count, struct error *err)
{
    (void)ctx;
    (void)rows;
    (void)count;
    (void)err;
    return 0;
}

static int memory_drop(void *ctx, const int64_t *revisions, size_t count, const struct store_log_meta *meta,
                       struct error *err)
{
    (void)ctx;
    (void)revisions;
    (void)count;
    (void)meta;
    (void)err;
    return 0;
}

static int memory_load(void *ctx, struct store_log_meta *ret_meta, store_row_fn *fn, void *fn_ctx,
                       struct error *err)
{
    (void)ctx;
    *ret_meta = (struct store_log_meta){ 0 };
    return fn(fn_ctx, NULL, err);
}

static void memory_close(void *ctx)
{
    (void)ctx;
}

static const struct store_log_type memory_log = { memory_append, memory_drop, memory_load, memory_close };

struct store_log store_log_memory(void)
{
    return (struct store_log){ &memory_log, NULL };
}
