/* Calls the server makes to itself: what it does on its own account goes the same way as everybody's
 * requests, with the same rules. */
#ifndef BERTH_APISERVER_OWN_CALL_H
#define BERTH_APISERVER_OWN_CALL_H

#include "apiserver/call.h"

struct own_request {
    enum http_method method;
    const char *content_type; /* NULL for JSON */
    struct str target;
    struct str body;
    const struct user *user; /* in whose name; NULL: the server's own */
};

/* The answer, valid within the callback: status and reply. */
typedef void own_call_fn(void *ctx, const struct call *answered);

/* Makes the call; done comes once, perhaps before this returns. Target and body are copied. Without memory
 * done comes with a status of 500. */
void own_call(struct apiserver *s, const struct own_request *q, own_call_fn *done, void *ctx);

#endif
