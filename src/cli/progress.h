/* Progress of long operations.
 *
 * On a terminal: a line with a bar, redrawn at most ten times per second, shown only after the operation has
 * taken a moment, and removed at the end. Elsewhere: plain lines, the first after two seconds, so that short
 * operations print nothing, then one every five seconds. An operation of at least two seconds ends with a
 * summary line, unless it failed. All output goes to standard error.
 *
 * Reporting costs one reading of the clock, so that small steps may be reported. Clock and screen are
 * parameters. */
#ifndef BERTH_CLI_PROGRESS_H
#define BERTH_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/pace.h"
#include "base/str.h"

#define PROGRESS_FOREVER UINT64_MAX

/* Where it is shown. */
struct progress_screen {
    const struct clock *clock;
    bool is_terminal;
    bool has_colors;
    unsigned (*columns)(void *ctx); /* of a terminal */
    void (*show)(void *ctx, struct str line);
    void (*clear)(void *ctx);
    void (*say)(void *ctx, struct str line); /* prints a permanent line, given without its line end */
    void *ctx;
};

/* Standard error; borrowed. Respects $NO_COLOR. */
const struct progress_screen *progress_stderr(void);

enum progress_kind {
    PROGRESS_THINGS,
    PROGRESS_BYTES,
    PROGRESS_WAIT, /* for objects: the elapsed time is shown, and there is no summary */
};

struct progress_work {
    const char *label; /* "backup: copying"; borrowed */
    enum progress_kind kind;
    uint64_t timeout_ns;   /* of a wait; PROGRESS_FOREVER: no limit */
    uint64_t total_min;    /* nothing is shown for smaller totals */
    bool is_terminal_only; /* nothing is shown elsewhere: other programs read standard error */
};

struct progress_bar {
    const struct progress_screen *screen;
    struct progress_work work;
    struct pace pace;
    uint64_t begun_ns;
    uint64_t done, total; /* total 0: not known */
    uint64_t next_ns;     /* not drawn or printed before */
    size_t bar_columns;   /* of the last bar; 0: none yet */
    bool has_said;
};

void progress_begin(struct progress_bar *p, const struct progress_screen *s,
                    const struct progress_work *work);
/* Sets the completed part of the total; total 0: not known. */
void progress_set(struct progress_bar *p, uint64_t done, uint64_t total);
/* No progress, but time has passed. */
void progress_tick(struct progress_bar *p);
/* Removes the line; on success the total counts as done. Call progress_begin() for the next operation. */
void progress_end(struct progress_bar *p, bool has_succeeded);

#endif
