/* A program that keeps running, from its settings to its end: one start and one stop for `berth serve`,
 * `berth controllers`, `berth scheduler` and `berth node`, which are selections of components
 * (components.h).
 *
 * The order of a start: the API server, in this process (embedded.c) or the one that a kubeconfig names
 * (remote.c), asked until it answers; the caches; with --leader-elect the lease; the work. A process that
 * waits for any of these is alive and not ready.
 *
 * The order of a stop, at SIGTERM or SIGINT: components end and send nothing more, the lease is given back,
 * requests and events under way have up to 4 seconds, the store is closed, and workers that hang are
 * abandoned (io/job.h). A lease that is lost ends the process the same way, with a failure: who supervises it
 * starts it again. */
#ifndef BERTH_DAEMON_DAEMON_H
#define BERTH_DAEMON_DAEMON_H

#include <stdbool.h>

#include "base/error.h"
#include "daemon/components.h"
#include "daemon/settings.h"

struct daemon_end {
    bool has_failed;    /* what ended it is in the log */
    bool has_abandoned; /* workers that hang: the process ends with job_exit(), and frees nothing before */
};

/* Runs until it is told to stop, or fails. s: checked; the log is installed. Returns -ERR_* when it could not
 * start. *ret is filled in in either case. */
int daemon_run(const struct daemon_program *p, const struct daemon_settings *s, struct daemon_end *ret,
               struct error *err);

#endif
