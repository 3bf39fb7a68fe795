/* The trace of a run: a line for everything that happened, the last ones kept, all of them digested. */
#ifndef BERTH_SIM_TRACE_H
#define BERTH_SIM_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

#define TRACE_LINES 400
#define TRACE_LINE_BYTES 240

struct trace {
    bool is_printed;
    uint64_t digest;
    uint64_t count;
    char (*lines)[TRACE_LINE_BYTES];
};

void trace_init(struct trace *t, bool is_printed);
void trace_done(struct trace *t);
void trace_add(struct trace *t, const char *line);
/* The lines that are kept, oldest first. */
void trace_write(const struct trace *t, struct buf *out);

#endif
