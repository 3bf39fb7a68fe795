/* A long-running program, from its settings to its end: one start and one stop for `berth serve`, `berth
 * controllers`, `berth scheduler` and `berth node`, which are selections of components (components.h).
 *
 * Order of a start: the API server, in this process (embedded.c) or the one that a kubeconfig names
 * (remote.c), which is queried until it answers; the caches; with --leader-elect the lease; the components. A
 * process that waits for any of these is live and not ready.
 *
 * Order of a stop, at SIGTERM or SIGINT: components end and send nothing more, the lease is released,
 * requests and events in flight have up to 4 seconds, the store is closed, and workers that hang are
 * abandoned (io/job.h). Losing the lease ends the process the same way, with a failure, so that its
 * supervisor restarts it. */
#ifndef BERTH_DAEMON_DAEMON_H
#define BERTH_DAEMON_DAEMON_H

#include <stdbool.h>

#include "base/error.h"
#include "daemon/components.h"
#include "daemon/settings.h"

struct daemon_end {
    bool has_failed;    /* the reason is in the log */
    bool has_abandoned; /* workers hang: the process must exit with job_exit(), without freeing anything */
};

/* Runs until it is stopped, or fails. s must be checked, and the log installed. Returns -ERR_* when it could
 * not start. Always fills in *ret. */
int daemon_run(const struct daemon_program *p, const struct daemon_settings *s, struct daemon_end *ret,
               struct error *err);

#endif
