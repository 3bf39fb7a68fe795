/* Calls that come as HTTP requests: what the callbacks of an HTTP server (http.h) do for an API server. */
#ifndef BERTH_APISERVER_CALL_HTTP_H
#define BERTH_APISERVER_CALL_HTTP_H

#include "http/message.h"

struct apiserver;

/* The name of the user that makes the request; see apiserver_identify(). Makes the call. */
const char *call_http_identify(struct apiserver *s, struct http_request *r);

/* Serves the request, as a call of its own unless call_http_identify() has made one. */
void call_http_serve(struct apiserver *s, struct http_request *r);

#endif
