/* Bump allocation from a list of blocks, the newest first.
 *
 * Allocations are never moved or freed singly, so a pointer is valid until arena_clear() or arena_done(). An
 * allocation is O(1) apart from a new block, and blocks double in size, so there are few of them. What is
 * left of a block when the next one is added is not used again. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Block and header are 1032 bytes, which malloc() serves from its cache per thread. Most requests need one
 * block. */
#define ARENA_FIRST_BYTES 1000
#define ARENA_ALIGN 8 /* pointers and 64-bit integers; nothing here is a long double */

struct arena_block {
    struct arena_block *older;
    size_t used;
    size_t cap;
    _Alignas(ARENA_ALIGN) char bytes[];
};

void arena_done(struct arena *a)
{
    struct arena_block *b = a->blocks;

    while (b) {
        struct arena_block *older = b->older;
        free(b);
        b = older;
    }
    *a = ARENA_INIT(a->used_max);
}

void arena_clear(struct arena *a)
{
    struct arena_block *keep = a->blocks;

    if (keep) {
        struct arena rest = { .blocks = keep->older };
        arena_done(&rest);
        keep->older = NULL;
        keep->used = 0;
    }
    *a = (struct arena){ .blocks = keep, .used_max = a->used_max };
}

static struct arena_block *arena_add_block(struct arena *a, size_t cap)
{
    struct arena_block *b = malloc(sizeof *b + cap);

    if (!b) {
        a->failed = ERR_NO_MEMORY;
        return NULL;
    }
    b->older = a->blocks;
    b->used = 0;
    b->cap = cap;
    a->blocks = b;
    return b;
}

void arena_reserve(struct arena *a, size_t bytes)
{
    struct arena_block *b = a->blocks;

    if (a->failed || bytes > a->used_max || (b && b->cap - b->used >= bytes))
        return;
    (void)arena_add_block(a, bytes); /* best effort: the next allocation reports a failure */
}

/* The beginning of a block needs no padding. In one single block the same allocation may need some. */
size_t arena_packed_bytes(const struct arena *a)
{
    size_t bytes = a->taken;

    for (const struct arena_block *b = a->blocks; b && b->older; b = b->older)
        bytes += ARENA_ALIGN;
    return bytes;
}

/* Takes bytes from the newest block, or from a new one when they do not fit behind `pad` bytes of padding. */
static char *arena_take(struct arena *a, size_t bytes, size_t align)
{
    struct arena_block *b = a->blocks;
    size_t pad = b ? (0 - b->used) & (align - 1) : 0;
    char *at;

    if (a->failed)
        return NULL;
    if (bytes > a->used_max || a->used > a->used_max - bytes) {
        a->failed = ERR_TOO_LARGE;
        return NULL;
    }
    if (!b || b->cap - b->used < pad || b->cap - b->used - pad < bytes) {
        size_t cap = b ? b->cap * 2 : ARENA_FIRST_BYTES;
        b = arena_add_block(a, cap > bytes ? cap : bytes);
        if (!b)
            return NULL;
        pad = 0;
    }
    at = b->bytes + b->used + pad;
    b->used += pad + bytes;
    a->used += bytes;
    a->taken += pad + bytes;
    return at;
}

void *arena_alloc(struct arena *a, size_t bytes)
{
    char *at = arena_take(a, bytes, ARENA_ALIGN);

    if (at)
        memset(at, 0, bytes);
    return at;
}

void *arena_array(struct arena *a, size_t count, size_t bytes)
{
    if (bytes && count > SIZE_MAX / bytes) {
        a->failed = ERR_TOO_LARGE;
        return NULL;
    }
    return arena_alloc(a, count * bytes);
}

/* Texts need no alignment and are packed without gaps. */
char *arena_dup(struct arena *a, struct str s)
{
    char *at = s.len < SIZE_MAX ? arena_take(a, s.len + 1, 1) : NULL;

    if (!at)
        return NULL;
    if (s.len)
        memcpy(at, s.s, s.len);
    at[s.len] = '\0';
    return at;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list args;
    char *at;
    int n;

    va_start(args, fmt);
    n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    at = n < 0 ? NULL : arena_take(a, (size_t)n + 1, 1);
    if (!at)
        return NULL;
    va_start(args, fmt);
    (void)vsnprintf(at, (size_t)n + 1, fmt, args); /* measured above */
    va_end(args);
    return at;
}

int arena_check(const struct arena *a, struct error *err)
{
    if (a->failed == ERR_NO_MEMORY)
        return error_no_memory(err);
    if (a->failed)
        return error_set(err, a->failed, "more than %zu bytes of working memory needed", a->used_max);
    return 0;
}
