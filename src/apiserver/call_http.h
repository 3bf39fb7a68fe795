/* HTTP requests as calls: callbacks of an HTTP server (http/http.h) that serves the API.
 *
 * ctx points to the pointer to the API server, which may be set after the HTTP server has begun to listen, in
 * the same step of the loop. */
#ifndef BERTH_APISERVER_CALL_HTTP_H
#define BERTH_APISERVER_CALL_HTTP_H

#include "http/message.h"

/* Creates the call and returns the name of its user: see apiserver_identify(). */
const char *call_http_identify(void *ctx, struct http_request *r);

/* Serves the request, with the call that call_http_identify() has created or with a new one. */
void call_http_serve(void *ctx, struct http_request *r);

#endif
