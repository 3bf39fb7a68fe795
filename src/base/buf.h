/* A growing byte buffer that knows its ceiling.
 *
 * A failure (past the ceiling, or no memory) sticks: later additions do nothing. Additions return nothing, so
 * a writer adds freely and calls buf_check() (or reads `failed`) once at the end. While it has not failed the
 * contents are NUL-terminated. */
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
    size_t room; /* how far len may go in the memory at hand; 0 after a failure */
    size_t cap;
    size_t len_max;
    enum err failed; /* ERR_NONE, ERR_TOO_LARGE or ERR_NO_MEMORY */
};

/* An empty buffer that may grow to len_max bytes. Allocates nothing yet. */
#define BUF_INIT(max) ((struct buf){ .len_max = (max) })

/* A buffer on the caller's memory of so many bytes, one of which is the NUL's: it fails with ERR_TOO_LARGE
 * where another would grow. Not to be released or given away. */
#define BUF_ON(memory, bytes) \
    ((struct buf){ .data = (memory), .room = (bytes)-1, .cap = (bytes), .len_max = (bytes)-1 })

void buf_init(struct buf *b, size_t len_max);
void buf_done(struct buf *b);

/* Empty again and without failure; the memory stays. */
void buf_clear(struct buf *b);

/* Takes off what stands behind the first len bytes. It has not failed, and len is no more than it has. */
void buf_cut(struct buf *b, size_t len);

void buf_add_str(struct buf *b, struct str s);
void buf_add_cstr(struct buf *b, const char *s);
void buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* No more than len_max bytes of s: of a longer one the two ends, cut between characters, with "…" for what is
 * left out. What a message begins with says where, what it ends with says why. */
void buf_add_ends(struct buf *b, struct str s, size_t len_max);
void buf_addv(struct buf *b, const char *fmt, va_list args) __attribute__((format(printf, 2, 0)));

/* Room for len more bytes at the returned place, already counted in b->len; NULL when there is none. */
static inline char *buf_grow(struct buf *b, size_t len);
static inline void buf_add(struct buf *b, const void *data, size_t len);
static inline void buf_add_char(struct buf *b, char c);

/* Makes the buffer fail, as an addition that failed does: for a writer whose own part failed. */
void buf_fail(struct buf *b, enum err code);

/* 0, or the failure as an error that names `what` ("request body"). */
int buf_check(const struct buf *b, const char *what, struct error *err);

/* The contents as a C string ("" when empty). Borrowed: gone with the next addition. */
const char *buf_cstr(const struct buf *b);
struct str buf_str(const struct buf *b);

/* Gives the contents away (malloc'd, NUL-terminated) and leaves b empty; NULL when b has failed. */
char *buf_take(struct buf *b);

/* Behind buf_grow(): what does not fit the memory at hand. */
char *buf_grow_slowly(struct buf *b, size_t len);

/* Writers add a few bytes at a time, so the case that nearly always holds is inline. */
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
