#include "sim/trace.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/siphash.h"

void trace_init(struct trace *t, bool is_printed)
{
    *t = (struct trace){ .is_printed = is_printed, .lines = calloc(TRACE_LINES, TRACE_LINE_BYTES) };
    if (!t->lines)
        abort(); /* a simulation without memory proves nothing */
}

void trace_done(struct trace *t)
{
    free(t->lines);
    t->lines = NULL;
}

void trace_add(struct trace *t, const char *line)
{
    struct hash_seed seed = { t->digest, t->count };

    t->digest = siphash13(seed, str_of(line));
    (void)snprintf(t->lines[t->count++ % TRACE_LINES], TRACE_LINE_BYTES, "%s", line);
    if (t->is_printed)
        (void)puts(line);
}

void trace_write(const struct trace *t, struct buf *out)
{
    uint64_t from = t->count > TRACE_LINES ? t->count - TRACE_LINES : 0;

    for (uint64_t i = from; i < t->count; i++)
        buf_addf(out, "%s\n", t->lines[i % TRACE_LINES]);
}
