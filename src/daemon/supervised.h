/* Notifications to a service manager such as systemd: READY=1, STATUS= with the current activity or what the
 * process waits for, STOPPING=1, and WATCHDOG=1 while the loop runs. The last is sent by a timer of the loop,
 * so a loop that hangs is detected and the process restarted.
 *
 * Readiness is checked often until the process is ready, then rarely. Messages that could not be sent are
 * sent again. Without $NOTIFY_SOCKET none of this has a cost. */
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
    health_check_fn *check; /* 0: ready; otherwise the error says what it waits for */
    /* Writes what a ready process does, in a few words. */
    void (*describe)(void *ctx, char ret[SUPERVISED_WORDS_BYTES]);
    void *ctx;
};

/* Embedded by its owner; all functions but supervised_init() accept a zeroed one. */
struct supervised {
    struct supervised_options o;
    struct notify *notify; /* NULL: no service manager */
    struct timer timer;
    uint64_t alive_at_ns; /* when the next WATCHDOG=1 is due */
    bool is_ready;        /* READY=1 was sent */
    char sent[SUPERVISED_WORDS_BYTES];
};

/* A service manager that cannot be reached is an error: it would time out and kill the process. */
int supervised_init(struct supervised *s, const struct supervised_options *o, struct error *err);
/* Sends nothing. */
void supervised_done(struct supervised *s);

/* The process is stopping: only WATCHDOG=1 is sent from here on. */
void supervised_stopping(struct supervised *s);

#endif
