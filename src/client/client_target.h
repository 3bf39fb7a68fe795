/* The target of a request: path and query, for every carrier that uses HTTP or a protocol like it. */
#ifndef BERTH_CLIENT_CLIENT_TARGET_H
#define BERTH_CLIENT_CLIENT_TARGET_H

#include "base/buf.h"
#include "base/error.h"
#include "client/client.h"

/* Refuses names that cannot be in a path: "." or "..", or with a '/' or '%'; ERR_INVALID. Also a request
 * without its name or namespace. Programming errors (no kind, a raw path without its slash) are asserted. */
int target_check(const struct client_request *q, struct error *err);

/* "/apis/storage.k8s.io/v1/storageclasses/fast?…"; names and values are escaped. Failures are sticky in the
 * buffer. */
void target_write(const struct client_request *q, struct buf *out);

/* "GET", "POST", … */
const char *target_method(const struct client_request *q);
/* The content type of the body; NULL when there is none. */
const char *target_content_type(const struct client_request *q);
/* The body of a delete: DeleteOptions with its preconditions; writes nothing when there are none. */
void target_write_delete(const struct client_request *q, struct buf *out);

#endif
