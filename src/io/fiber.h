/* Functions that stop in the middle, and go on when they are told to: threads of which one runs at a time, on
 * the thread of whoever runs them, without the kernel. A change of hands takes less than a microsecond; with
 * threads it takes ten, and keeps two processors busy.
 *
 * What is thread-local is the thread's, whichever fiber runs: whoever changes it puts it back. errno is kept
 * for each. */
#ifndef BERTH_IO_FIBER_H
#define BERTH_IO_FIBER_H

#include <stdbool.h>

#include "base/cleanup.h"

struct fiber;

/* It begins with the first fiber_run(). NULL: out of memory. */
struct fiber *fiber_new(void (*run)(void *ctx), void *ctx);
/* One that has not begun, or has ended. Takes NULL. */
struct fiber *fiber_free(struct fiber *f);
DEFINE_CLEANUP(struct fiber, fiber_free)

/* Until it stops or ends; false: it has ended. On one and the same thread each time, from outside or from
 * another fiber. */
bool fiber_run(struct fiber *f);
/* Called by the fiber that runs: back to whoever runs it, until the next fiber_run(). */
void fiber_stop(struct fiber *f);

#endif
