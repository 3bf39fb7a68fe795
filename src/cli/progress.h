/* How far a long work is, for the person who waits for it.
 *
 * On a terminal a line with a bar that is drawn in place, at most ten times a second, and not before the work
 * has taken a moment; it goes away at the end. Elsewhere plain lines: the first after two seconds, so that
 * short work says nothing, then one every five. Work that took two seconds ends with a line that sums it up,
 * unless it failed. All of it goes to standard error.
 *
 * Reporting costs a look at the clock, so whoever works in small steps may report each of them. Time and
 * screen are handed in. */
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
    void (*say)(void *ctx, struct str line); /* for good; without its end */
    void *ctx;
};

/* Standard error; borrowed. $NO_COLOR is heeded. */
const struct progress_screen *progress_stderr(void);

enum progress_kind {
    PROGRESS_THINGS,
    PROGRESS_BYTES,
    PROGRESS_WAIT, /* for things: the time that has passed is told, and nothing is summed up */
};

struct progress_work {
    const char *label; /* "backup: copying"; borrowed */
    enum progress_kind kind;
    uint64_t timeout_ns;   /* of a wait; PROGRESS_FOREVER: it has no end */
    uint64_t total_min;    /* of fewer things nothing is said */
    bool is_terminal_only; /* elsewhere nothing is said: other programs read standard error */
};

struct progress {
    const struct progress_screen *screen;
    struct progress_work work;
    struct pace pace;
    uint64_t begun_ns;
    uint64_t done, total; /* total 0: nobody knows */
    uint64_t next_ns;     /* not drawn, or told, before */
    size_t bar_columns;   /* of the last bar; 0: there was none */
    bool has_said;
};

void progress_begin(struct progress *p, const struct progress_screen *s, const struct progress_work *work);
/* So much of the total is done; total 0: nobody knows how much there is. */
void progress_set(struct progress *p, uint64_t done, uint64_t total);
/* Nothing more is done, but time passes. */
void progress_tick(struct progress *p);
/* Takes the line away; what has succeeded has done all of its total. Begin it anew for another work. */
void progress_end(struct progress *p, bool has_succeeded);

#endif
