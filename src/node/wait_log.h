/* How waiting is logged, for pods and volumes alike: most waits are over in milliseconds and need no line.
 * A cause is logged at debug level when it begins, once as a warning when it has lasted WAIT_LOG_NS, and its
 * end if it was warned of. Another cause begins anew. On the loop. */
#ifndef BERTH_NODE_WAIT_LOG_H
#define BERTH_NODE_WAIT_LOG_H

#include "io/loop.h"

#define WAIT_LOG_NS (10 * NS_PER_S)

/* Embedded by whoever waits, zeroed. */
struct wait_log {
    struct timer timer;
    const char *what; /* "pod" or "volume": a literal */
    char *name;
    char *cause;    /* NULL: nothing is waited for */
    bool is_warned; /* of this cause, or one before it */
};

/* It waits, and for this reason; the same one as before is no news. */
void wait_log_begin(struct wait_log *w, struct loop *l, const char *what, const char *name,
                    const char *cause);
/* The wait is over. */
void wait_log_end(struct wait_log *w);
/* The same without a word: whoever waited is gone. */
void wait_log_done(struct wait_log *w);

#endif
