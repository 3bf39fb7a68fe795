/* A process that is watched over, by systemd or its like, and tells how it is: READY=1 once it is, STATUS=
 * with what it waits for or does, STOPPING=1, and WATCHDOG=1 while its loop turns. The last comes from a
 * timer of the loop, so a loop that hangs is noticed and the process started anew.
 *
 * Whether it is ready is asked again until it is, quickly at first. What could not be told is told again.
 * Where nobody watches ($NOTIFY_SOCKET), none of this costs anything. */
#ifndef BERTH_DAEMON_SUPERVISED_H
#define BERTH_DAEMON_SUPERVISED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "io/loop.h"
#include "io/notify.h"
#include "machinery/health.h"

#define SUPERVISED_WORDS_BYTES 512

struct supervised_options {
    struct loop *loop;
    health_check_fn *check; /* 0: ready; else what is waited for */
    /* What a ready process does, in a few words. */
    void (*describe)(void *ctx, char ret[SUPERVISED_WORDS_BYTES]);
    void *ctx;
};

/* Embedded by its owner; zeroed is fine for the functions below the first. */
struct supervised {
    struct supervised_options o;
    struct notify *notify; /* NULL: nobody watches */
    struct timer timer;
    uint64_t alive_at_ns; /* when the next sign of life is due */
    bool is_ready;        /* and was told */
    char said[SUPERVISED_WORDS_BYTES];
};

/* A watcher that cannot be told is a failure: it would wait in vain and then end us. */
int supervised_init(struct supervised *s, const struct supervised_options *o, struct error *err);
/* Says nothing. */
void supervised_done(struct supervised *s);

/* The end has begun: signs of life go on, nothing else is told from here on. */
void supervised_stopping(struct supervised *s);

#endif
