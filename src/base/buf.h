/* A growing byte buffer with a size limit.
 *
 * Failures (limit exceeded, out of memory) are sticky: later additions do nothing. Additions return nothing;
 * a writer calls buf_check() (or reads `failed`) once at the end. Until a failure the contents are
 * NUL-terminated. */
#ifndef BERTH_BASE_BUF_H
#define BERTH_BASE_BUF_H

#include <assert.h>
#include <stdarg.h>
#include <stddef.h>

#include "base/error.h"
#include "base/str.h"

struct buf {
    char *data; /* never NULL after the first addition; NUL-terminated */
    size_t len;
    size_t room; /* how large len may become without allocating; 0 after a failure */
    size_t cap;
    size_t len_max;
    enum err failed; /* ERR_NONE, ERR_TOO_LARGE or ERR_NO_MEMORY */
};

/* An empty buffer that may grow to len_max bytes. Allocates nothing yet. */
#define BUF_INIT(max) ((struct buf){ .len_max = (max) })

/* A buffer on the caller's memory of `bytes` bytes, NUL included. It fails with ERR_TOO_LARGE instead of
 * growing. Must not be released or passed on. */
#define BUF_ON(memory, bytes) \
    ((struct buf){ .data = (memory), .room = (bytes)-1, .cap = (bytes), .len_max = (bytes)-1 })

void buf_init(struct buf *b, size_t len_max);
void buf_done(struct buf *b);

/* Empties the buffer and clears its failure; keeps the memory. */
void buf_clear(struct buf *b);

/* Truncates the contents to len bytes. The buffer must not have failed, and len must not exceed its length.
 */
void buf_cut(struct buf *b, size_t len);

void buf_add_str(struct buf *b, struct str s);
void buf_add_cstr(struct buf *b, const char *s);
void buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Adds at most len_max bytes of s. Of a longer text it adds the beginning and the end, cut between
 * characters, with "…" between them: messages begin with the place and end with the reason. */
void buf_add_ends(struct buf *b, struct str s, size_t len_max);
void buf_addv(struct buf *b, const char *fmt, va_list args) __attribute__((format(printf, 2, 0)));

/* Appends len uninitialised bytes and returns where they begin; NULL on failure. */
static inline char *buf_grow(struct buf *b, size_t len);
static inline void buf_add(struct buf *b, const void *data, size_t len);
static inline void buf_add_char(struct buf *b, char c);

/* Makes the buffer fail as a failed addition does: for a writer that fails for another reason. */
void buf_fail(struct buf *b, enum err code);

/* 0, or the failure as an error that names `what` ("request body"). */
int buf_check(const struct buf *b, const char *what, struct error *err);

/* The contents as a C string ("" when empty). Borrowed: valid until the next addition. */
const char *buf_cstr(const struct buf *b);
struct str buf_str(const struct buf *b);

/* Returns the contents (malloc'd, NUL-terminated) and leaves b empty; NULL when b has failed. */
char *buf_take(struct buf *b);

/* The slow path of buf_grow(): the memory at hand is too small. */
char *buf_grow_slowly(struct buf *b, size_t len);

/* Inline, because writers add a few bytes at a time and these nearly always fit. */
static inline char *buf_grow(struct buf *b, size_t len)
{
    char *at;

    if (b->len >= b->room || len > b->room - b->len)
        return buf_grow_slowly(b, len);
    assert(b->data);
    at = b->data + b->len;
    b->len += len;
    b->data[b->len] = '\0';
    return at;
}

static inline void buf_add(struct buf *b, const void *data, size_t len)
{
    char *at = buf_grow(b, len);

    if (at && len)
        memcpy(at, data, len);
}

static inline void buf_add_char(struct buf *b, char c)
{
    buf_add(b, &c, 1);
}

static inline void buf_done_p(struct buf *b)
{
    buf_done(b);
}

#endif
