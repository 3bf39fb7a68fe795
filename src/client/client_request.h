/* Properties of requests, and copies that outlive their sender's call. */
#ifndef BERTH_CLIENT_CLIENT_REQUEST_H
#define BERTH_CLIENT_CLIENT_REQUEST_H

#include "client/client.h"

/* True when the request changes anything. */
static inline bool request_is_write(const struct client_request *q)
{
    return q->verb == CLIENT_CREATE || q->verb == CLIENT_PATCH || q->verb == CLIENT_DELETE;
}

/* For logs: "persistentvolumes", or the path of a raw request. */
static inline const char *request_resource(const struct client_request *q)
{
    return q->kind ? q->kind->plural : q->path;
}

/* An answer for a request that was not sent. */
struct client_answer request_failed(const struct error *e);

/* Copies the texts of q, so far borrowed, into the arena, in one block of exactly their size. After a failure
 * q's texts must not be read. ERR_TOO_LARGE above CLIENT_REQUEST_BYTES_MAX. */
int request_own_texts(struct client_request *q, struct arena *arena, struct error *err);

#endif
