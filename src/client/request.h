/* Requests: what kind they are, and keeping one beyond its sender's call. */
#ifndef BERTH_CLIENT_REQUEST_H
#define BERTH_CLIENT_REQUEST_H

#include "client/client.h"

/* Does it change anything? */
static inline bool request_is_write(const struct client_request *q)
{
    return q->verb == CLIENT_CREATE || q->verb == CLIENT_PATCH || q->verb == CLIENT_DELETE;
}

/* For logs: "persistentvolumes", or the path of a raw one. */
static inline const char *request_resource(const struct client_request *q)
{
    return q->kind ? q->kind->plural : q->path;
}

/* An answer that nobody sent. */
struct client_answer request_failed(const struct error *e);

/* Puts the texts of q, so far somebody else's, into the arena, in one block no larger than they are. After a
 * failure q's texts are not to be read. ERR_TOO_LARGE beyond CLIENT_REQUEST_BYTES_MAX. */
int request_own_texts(struct client_request *q, struct arena *arena, struct error *err);

#endif
