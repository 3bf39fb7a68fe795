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
