/* The trace of a run.
 *
 * The digest covers every line, quiet ones included: two runs with the same digest had the same lines in the
 * same order. The last TRACE_LINES lines are kept in a ring. Adding a line costs one hash of the line and at
 * most one copy of TRACE_LINE_BYTES bytes; nothing is allocated. */
#include "sim/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/siphash.h"

void trace_init(struct trace *t, bool is_printed, struct trace_tail *tail)
{
    *t = (struct trace){ .is_printed = is_printed, .tail = tail, .owns_tail = !tail };
    if (!tail)
        t->tail = calloc(1, sizeof *t->tail);
    if (!t->tail)
        abort(); /* a simulation without memory proves nothing */
    t->tail->count = 0;
    t->tail->counts = (struct run_counts){ 0 };
}

void trace_done(struct trace *t)
{
    if (t->owns_tail)
        free(t->tail);
    t->tail = NULL;
}

size_t trace_put_number(char *to, uint64_t n, unsigned digits)
{
    char text[TRACE_NUMBER_BYTES];
    size_t count = 0;

    do
        text[count++] = (char)('0' + n % 10);
    while ((n /= 10) > 0 || count < digits);
    for (size_t i = 0; i < count; i++)
        to[i] = text[count - 1 - i];
    return count;
}

struct formatting {
    char *to;
    size_t len, max;
};

static void add_text(struct formatting *f, const char *s, size_t len)
{
    if (len > f->max - f->len)
        len = f->max - f->len;
    memcpy(f->to + f->len, s, len);
    f->len += len;
}

static void add_number(struct formatting *f, uint64_t n, bool is_negative)
{
    char text[1 + TRACE_NUMBER_BYTES] = "-";

    add_text(f, text + !is_negative, is_negative + trace_put_number(text + 1, n, 1));
}

/* One directive, from behind its '%' on; returns what follows it. NULL: it is none of the simple ones. */
static const char *add_directive(struct formatting *f, const char *at, va_list *args)
{
    const char *text;
    int number;

    switch (*at++) {
    case 's':
        text = va_arg(*args, const char *);
        add_text(f, text, strnlen(text, f->max - f->len));
        return at;
    case 'd':
        number = va_arg(*args, int);
        add_number(f, number < 0 ? -(uint64_t)number : (uint64_t)number, number < 0);
        return at;
    case 'u':
        add_number(f, va_arg(*args, unsigned), /* is_negative= */ false);
        return at;
    case 'l':
        if (*at != 'u')
            return NULL;
        add_number(f, va_arg(*args, unsigned long), /* is_negative= */ false);
        return at + 1;
    default:
        return NULL;
    }
}

size_t trace_format(char *to, size_t room, const char *fmt, va_list args)
{
    struct formatting f = { .to = to, .max = room - 1 };
    const char *at = fmt;
    va_list once;
    int n;

    va_copy(once, args);
    while (at && *at) {
        size_t len = strcspn(at, "%");

        add_text(&f, at, len);
        at += len;
        if (*at == '%')
            at = add_directive(&f, at + 1, &once);
    }
    va_end(once);
    if (at) {
        to[f.len] = '\0';
        return f.len;
    }
    n = vsnprintf(to, room, fmt, args);
    return n < (int)room ? (size_t)n : room - 1;
}

/* Cuts a long line at the end of a UTF-8 character. */
static void trace_tail_add_line(struct trace_tail *tail, struct str line)
{
    char *kept = tail->lines[tail->count++ % TRACE_LINES];

    if (line.len >= TRACE_LINE_BYTES)
        for (line.len = TRACE_LINE_BYTES - 1; line.len > 0 && (line.s[line.len] & 0xc0) == 0x80;)
            line.len--;
    memcpy(kept, line.s, line.len);
    kept[line.len] = '\0';
}

void trace_add(struct trace *t, struct str line, bool is_quiet)
{
    struct hash_seed seed = { t->digest, t->count++ };

    t->digest = siphash_hash(seed, line);
    if (!is_quiet)
        trace_tail_add_line(t->tail, line);
    if (t->is_printed)
        (void)puts(line.s);
}

void trace_remark(const char *line)
{
    (void)puts(line);
}

void trace_write(const struct trace_tail *tail, struct buf *out)
{
    uint64_t from = tail->count > TRACE_LINES ? tail->count - TRACE_LINES : 0;

    if (from > 0)
        buf_addf(out, "… %" PRIu64 " lines before these …\n", from);
    for (uint64_t i = from; i < tail->count; i++)
        buf_addf(out, "%s\n", tail->lines[i % TRACE_LINES]);
}
