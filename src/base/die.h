/* The end of the process for a failure that cannot be returned.
 *
 * Out of memory in a request is an error. In a control loop it ends the process where continuing would lose a
 * key, a hold or storage: after the restart the loop lists every object again and loses nothing. The reason
 * names what would be lost; that is why the caller cannot return an error. */
#ifndef BERTH_BASE_DIE_H
#define BERTH_BASE_DIE_H

/* Logs the reason at level error, or prints it where no logger is installed; ends the process by SIGABRT. */
__attribute__((noreturn)) void die(const char *reason);

#endif
