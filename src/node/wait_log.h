/* Logs waits of pods and volumes: most are over in milliseconds and are not logged. A cause is logged at
 * debug level when it begins, once as a warning after WAIT_LOG_NS, and its end if there was a warning. A new
 * cause starts over. On the loop. */
#ifndef BERTH_NODE_WAIT_LOG_H
#define BERTH_NODE_WAIT_LOG_H

#include "io/loop.h"

#define WAIT_LOG_NS (10 * NS_PER_S)

/* Embedded by the waiting record, zeroed. */
struct wait_log {
    struct timer timer;
    const char *what; /* "pod" or "volume": a literal */
    char *name;
    char *cause;    /* NULL: not waiting */
    bool is_warned; /* for this cause, or an earlier one */
};

/* Starts waiting for this cause; the same cause again has no effect. */
void wait_log_begin(struct wait_log *w, struct loop *l, const char *what, const char *name,
                    const char *cause);
/* The wait is over. */
void wait_log_end(struct wait_log *w);
/* The same without logging: the waiting record is freed. */
void wait_log_done(struct wait_log *w);

#endif
