/* The trace of a run: a line for everything that happened, the last ones kept, all of them digested. */
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

/* What a run has done so far. Faults and acts have numbers from 1 on, those that are left out too. */
struct run_counts {
    unsigned made_of[FAULT_COUNT];
    uint32_t faults_numbered;
    uint32_t acts_numbered;
    uint32_t acts_done;
};

/* What is left of a run when its process dies, if the memory is shared. */
struct trace_kept {
    struct run_counts counts;
    uint64_t count; /* of lines that are not quiet */
    bool is_healed; /* at the last line, … */
    uint32_t step;  /* … its step */
    uint64_t at_ns; /* … and moment */
    char lines[TRACE_LINES][TRACE_LINE_BYTES];
};

struct trace {
    bool is_printed;
    uint64_t digest;
    uint64_t count; /* of all lines */
    struct trace_kept *kept;
    bool owns_kept;
};

/* With memory of the caller's, or its own when kept is NULL. */
void trace_init(struct trace *t, bool is_printed, struct trace_kept *kept);
void trace_done(struct trace *t);
/* What vsnprintf() writes to `to`, and its length there. Every step has lines, and every line is digested:
 * texts and plain numbers, which is most of them, take a quarter of the time. */
size_t trace_format(char *to, size_t room, const char *fmt, va_list args)
    __attribute__((format(printf, 3, 0)));
/* A number in at least so many digits, without an end; returns its length, at most TRACE_NUMBER_BYTES. */
size_t trace_put_number(char *to, uint64_t n, unsigned digits);
/* A quiet line is digested and printed, and not kept. */
void trace_add(struct trace *t, struct str line, bool is_quiet);
/* A line beside the trace: printed, and no part of the run. */
void trace_remark(const char *line);
/* The lines that are kept, oldest first, after the number of those that were there before them. */
void trace_write(const struct trace_kept *k, struct buf *out);

#endif
