/* What is done when a signal ends the process: Ctrl-C, SIGTERM, a hang-up.
 *
 * For commands, which have no loop. A signal that is ignored, or that somebody else handles, stays theirs.
 * The functions run in the signal handler and may call what is safe there; then the process ends by that
 * signal as it would have. */
#ifndef BERTH_IO_END_SIGNAL_H
#define BERTH_IO_END_SIGNAL_H

typedef void end_signal_fn(void);

/* There is room for END_SIGNAL_MAX functions; one that is there already is not added twice. */
#define END_SIGNAL_MAX 4
void end_signal_add(end_signal_fn *fn);
void end_signal_remove(end_signal_fn *fn);

#endif
