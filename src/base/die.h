/* Ends the process for a failure that cannot be returned.
 *
 * Out of memory in a request is an error. In a control loop it ends the process where continuing would lose a
 * key, a reference or storage: after the restart the loop lists every object again and loses nothing. The
 * reason names what would be lost. */
#ifndef BERTH_BASE_DIE_H
#define BERTH_BASE_DIE_H

/* Logs the reason at level error, or prints it if no logger is installed; then ends the process with SIGABRT.
 */
__attribute__((noreturn)) void die_with_reason(const char *reason);

#endif
