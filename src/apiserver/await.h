/* Waiting for a revision that this server has not reached yet. */
#ifndef BERTH_APISERVER_AWAIT_H
#define BERTH_APISERVER_AWAIT_H

#include <stdint.h>

#include "apiserver/call.h"

/* How long a read waits for a revision ahead of the server's before it is told to try again. */
#define AWAIT_REVISION_MS_MAX 3000

/* Calls then(c) as soon as the store is at that revision: at once when it is. After AWAIT_REVISION_MS_MAX the
 * call is answered with 504 instead. */
void await_revision(struct call *c, int64_t revision, void (*then)(struct call *c));

#endif
