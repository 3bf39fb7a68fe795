/* Cleanup when a signal ends the process: Ctrl-C, SIGTERM, SIGHUP.
 *
 * For commands, which have no loop. A signal that is ignored, or has another handler, is not touched. The
 * functions run in the signal handler and must be async-signal-safe; then the signal ends the process as
 * usual. */
#ifndef BERTH_IO_END_SIGNAL_H
#define BERTH_IO_END_SIGNAL_H

typedef void end_signal_fn(void);

/* At most END_SIGNAL_MAX functions; a function is added once only. */
#define END_SIGNAL_MAX 4
void end_signal_add(end_signal_fn *fn);
void end_signal_remove(end_signal_fn *fn);

#endif
