/* The growing byte buffer. Capacity doubles, so an addition is O(1) amortized. `room` is what the inline fast
 * path of buf.h compares with: it is 0 after a failure, so a failed buffer always takes the slow path, which
 * does nothing. */
#include "base/buf.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUF_FIRST_BYTES 256
#define FORMAT_BYTES 256 /* a formatted text of this size is formatted once, a longer one twice */

void buf_init(struct buf *b, size_t len_max)
{
    *b = BUF_INIT(len_max);
}

void buf_done(struct buf *b)
{
    free(b->data);
    *b = BUF_INIT(b->len_max);
}

/* The bytes that fit before the NUL and below the limit. */
static void buf_set_room(struct buf *b)
{
    size_t fits = b->cap ? b->cap - 1 : 0;

    b->room = fits < b->len_max ? fits : b->len_max;
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    b->failed = ERR_NONE;
    buf_set_room(b);
    if (b->data)
        b->data[0] = '\0';
}

void buf_cut(struct buf *b, size_t len)
{
    assert(!b->failed);
    assert(len <= b->len);
    b->len = len;
    if (b->data)
        b->data[len] = '\0';
}

void buf_fail(struct buf *b, enum err code)
{
    b->failed = code;
    b->room = 0;
}

/* Makes room for `more` bytes and a NUL after them. False when the buffer has failed. */
static bool buf_reserve(struct buf *b, size_t more)
{
    size_t cap = b->cap ? b->cap : BUF_FIRST_BYTES;
    char *data;

    if (b->failed)
        return false;
    if (more > b->len_max || b->len > b->len_max - more) {
        buf_fail(b, ERR_TOO_LARGE);
        return false;
    }
    if (b->cap > b->len + more)
        return true;
    while (cap <= b->len + more && cap <= SIZE_MAX / 2)
        cap *= 2;
    data = cap > b->len + more ? realloc(b->data, cap) : NULL;
    if (!data) {
        buf_fail(b, ERR_NO_MEMORY);
        return false;
    }
    b->data = data;
    b->cap = cap;
    buf_set_room(b);
    return true;
}

char *buf_grow_slowly(struct buf *b, size_t len)
{
    char *at;

    if (!buf_reserve(b, len))
        return NULL;
    assert(b->data);
    at = b->data + b->len;
    b->len += len;
    b->data[b->len] = '\0';
    return at;
}

void buf_add_str(struct buf *b, struct str s)
{
    buf_add(b, s.s, s.len);
}

static bool is_inside_character(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

void buf_add_ends(struct buf *b, struct str s, size_t len_max)
{
    const struct str gap = len_max > 3 ? STR_LIT("…") : STR_LIT("");
    size_t tail = gap.len ? (len_max - gap.len) / 2 : 0, head = len_max - gap.len - tail;
    size_t from = s.len > tail ? s.len - tail : 0;

    if (s.len <= len_max) {
        buf_add_str(b, s);
        return;
    }
    while (head > 0 && is_inside_character(s.s[head]))
        head--;
    while (from < s.len && is_inside_character(s.s[from]))
        from++;
    buf_add(b, s.s, head);
    buf_add_str(b, gap);
    buf_add(b, s.s + from, s.len - from);
}

void buf_add_cstr(struct buf *b, const char *s)
{
    buf_add(b, s, strlen(s));
}

void buf_addv(struct buf *b, const char *fmt, va_list args)
{
    char text[FORMAT_BYTES], *at;
    va_list again;
    int n;

    va_copy(again, args);
    n = vsnprintf(text, sizeof text, fmt, args);
    at = n < 0 ? NULL : buf_grow(b, (size_t)n);
    if (at && (size_t)n < sizeof text)
        memcpy(at, text, (size_t)n + 1);
    else if (at)
        (void)vsnprintf(at, (size_t)n + 1, fmt, again); /* measured above */
    va_end(again);
    if (n < 0)
        buf_fail(b, ERR_NO_MEMORY);
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    buf_addv(b, fmt, args);
    va_end(args);
}

int buf_check(const struct buf *b, const char *what, struct error *err)
{
    if (b->failed == ERR_NO_MEMORY)
        return error_no_memory(err);
    if (b->failed)
        return error_set(err, b->failed, "%s is larger than %zu bytes", what, b->len_max);
    return 0;
}

const char *buf_cstr(const struct buf *b)
{
    return b->data ? b->data : "";
}

struct str buf_str(const struct buf *b)
{
    return (struct str){ buf_cstr(b), b->len };
}

char *buf_take(struct buf *b)
{
    char *data;

    if (!b->failed && !b->data)
        buf_add(b, "", 0); /* allocates for an empty text too; a failure is checked below */
    if (b->failed)
        return NULL;
    data = b->data;
    *b = BUF_INIT(b->len_max);
    return data;
}
