/* The trace of a run: one line per event. All lines are part of a digest; the last ones are kept. */
#ifndef BERTH_SIM_TRACE_H
#define BERTH_SIM_TRACE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "sim/fault.h"

#define TRACE_LINES 400
#define TRACE_LINE_BYTES 240
#define TRACE_NUMBER_BYTES 20

/* What a run has done so far. Faults and actions are numbered from 1; omitted ones have numbers too. */
struct run_counts {
    unsigned made_of[FAULT_COUNT];
    uint32_t faults_numbered;
    uint32_t actions_numbered;
    uint32_t actions_done;
};

/* The end of a trace. In shared memory it is still available after the process of the run has crashed. */
struct trace_tail {
    struct run_counts counts;
    uint64_t count; /* of lines that are not quiet, also of those that are not kept */
    /* Of the last line. */
    bool is_healed;
    uint32_t step;
    uint64_t at_ns;
    char lines[TRACE_LINES][TRACE_LINE_BYTES];
};

struct trace {
    bool is_printed;
    uint64_t digest;
    uint64_t count; /* of all lines */
    struct trace_tail *tail;
    bool owns_tail;
};

/* Writes to the caller's tail, or allocates one if tail is NULL. Aborts without memory. */
void trace_init(struct trace *t, bool is_printed, struct trace_tail *tail);
void trace_done(struct trace *t);
/* Formats like vsnprintf() and returns the length in `to`. Every step has lines, and every line is digested:
 * texts and plain numbers, which most lines consist of, take a quarter of the time. */
size_t trace_format(char *to, size_t room, const char *fmt, va_list args)
    __attribute__((format(printf, 3, 0)));
/* Writes a number with at least so many digits, without a NUL; returns its length, at most
 * TRACE_NUMBER_BYTES. */
size_t trace_put_number(char *to, uint64_t n, unsigned digits);
/* A quiet line is part of the digest and printed, but not kept in the tail. */
void trace_add(struct trace *t, struct str line, bool is_quiet);
/* Prints a line that is not part of the trace. */
void trace_remark(const char *line);
/* Writes the kept lines, oldest first, after a line with the number of earlier lines. */
void trace_write(const struct trace_tail *tail, struct buf *out);

#endif
