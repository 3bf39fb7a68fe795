/* Waiting for a revision that the store has not reached yet. */
#ifndef BERTH_APISERVER_AWAIT_H
#define BERTH_APISERVER_AWAIT_H

#include <stdint.h>

#include "apiserver/api_call.h"

/* How long a read waits for a revision in the future before the client is asked to retry. */
#define AWAIT_REVISION_MS_MAX 3000

/* Calls then(c) when the store has reached that revision, immediately if it has. After AWAIT_REVISION_MS_MAX
 * the call is answered with 504 instead. */
void await_revision(struct call *c, int64_t revision, void (*then)(struct call *c));

#endif
