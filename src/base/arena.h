/* Memory that is released all at once: the scratch of one request, the strings of one object.
 *
 * Allocation advances a pointer; blocks grow by doubling. Structs are zeroed and aligned to 8 bytes, texts
 * are packed. Failures are sticky, as in buf.h: later calls return NULL, and arena_check() returns the error.
 */
#ifndef BERTH_BASE_ARENA_H
#define BERTH_BASE_ARENA_H

#include <stddef.h>

#include "base/error.h"
#include "base/str.h"

struct arena_block;

struct arena {
    struct arena_block *blocks; /* newest first */
    size_t used;                /* bytes handed out, over all blocks */
    size_t taken;               /* the same with the padding between them */
    size_t used_max;
    enum err failed;
};

/* An empty arena that hands out at most used_max bytes. */
#define ARENA_INIT(max) ((struct arena){ .used_max = (max) })

void arena_done(struct arena *a);
/* Releases everything that was allocated, but keeps the newest block for reuse. */
void arena_clear(struct arena *a);

/* Makes the next `bytes` bytes come from one block. Best effort. */
void arena_reserve(struct arena *a, size_t bytes);
/* The size of one block that could hold all allocations so far, made again in the same order. */
size_t arena_packed_bytes(const struct arena *a);

void *arena_alloc(struct arena *a, size_t bytes);
/* count * bytes, checked for overflow. */
void *arena_array(struct arena *a, size_t count, size_t bytes);
/* NUL-terminated copy. */
char *arena_dup(struct arena *a, struct str s);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

int arena_check(const struct arena *a, struct error *err);

static inline void arena_done_p(struct arena *a)
{
    arena_done(a);
}

#endif
