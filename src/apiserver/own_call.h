/* Calls that the server makes to itself: its own work follows the same path and rules as any client's
 * requests. */
#ifndef BERTH_APISERVER_OWN_CALL_H
#define BERTH_APISERVER_OWN_CALL_H

#include "apiserver/api_call.h"

struct own_request {
    enum http_method method;
    const char *content_type; /* NULL for JSON */
    struct str target;
    struct str body;
    const struct user *user; /* on whose behalf; NULL: the server's own */
};

/* The answered call, valid within the callback: status and reply. */
typedef void own_call_fn(void *ctx, const struct call *answered);

/* Makes the call; done is called once, possibly before this returns. Target and body are copied. Without
 * memory done gets status 500. */
void own_call(struct apiserver *s, const struct own_request *q, own_call_fn *done, void *ctx);

#endif
