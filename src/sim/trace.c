#include "sim/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/siphash.h"

void trace_init(struct trace *t, bool is_printed, struct trace_kept *kept)
{
    *t = (struct trace){ .is_printed = is_printed, .kept = kept, .owns_kept = !kept };
    if (!kept)
        t->kept = calloc(1, sizeof *t->kept);
    if (!t->kept)
        abort(); /* a simulation without memory proves nothing */
    t->kept->count = 0;
    t->kept->counts = (struct run_counts){ 0 };
}

void trace_done(struct trace *t)
{
    if (t->owns_kept)
        free(t->kept);
    t->kept = NULL;
}

/* As much as there is room for, without a part of a character at the end. */
static void keep_line(struct trace_kept *k, struct str line)
{
    char *kept = k->lines[k->count++ % TRACE_LINES];

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
        keep_line(t->kept, line);
    if (t->is_printed)
        (void)puts(line.s);
}

void trace_remark(const char *line)
{
    (void)puts(line);
}

void trace_write(const struct trace_kept *k, struct buf *out)
{
    uint64_t from = k->count > TRACE_LINES ? k->count - TRACE_LINES : 0;

    if (from > 0)
        buf_addf(out, "… %" PRIu64 " lines before these …\n", from);
    for (uint64_t i = from; i < k->count; i++)
        buf_addf(out, "%s\n", k->lines[i % TRACE_LINES]);
}
