/* Where a request goes: path and query, for every carrier that speaks HTTP or something like it. */
#ifndef BERTH_CLIENT_TARGET_H
#define BERTH_CLIENT_TARGET_H

#include "base/buf.h"
#include "base/error.h"
#include "client/client.h"

/* Refuses what no path can say: a name that is "." or "..", or has a '/' or '%'; ERR_INVALID. Also a request
 * that lacks its name or namespace. What is put together wrongly (no kind, a raw path without its slash) is
 * asserted. */
int target_check(const struct client_request *q, struct error *err);

/* "/apis/storage.k8s.io/v1/storageclasses/fast?…"; names and values escaped. Failures stick in the buffer. */
void target_write(const struct client_request *q, struct buf *out);

/* "GET", "POST", … */
const char *target_method(const struct client_request *q);
/* Of the body; NULL when there is none. */
const char *target_content_type(const struct client_request *q);
/* The body of a delete: DeleteOptions with its preconditions; nothing is written when there are none. */
void target_write_delete(const struct client_request *q, struct buf *out);

#endif
