/* Refuses requests that a web page has made a browser send.
 *
 * A web page can make the browser of its reader send requests to every address that the browser reaches,
 * loopback addresses included. The requests carry the reader's client certificate. Under a name of the page's
 * own that resolves to this server (DNS rebinding) the page can also read the responses. With --insecure
 * nothing else protects the API from such a page. The guard relies on request headers that browsers always
 * send and that a page cannot change:
 *
 * - Host must be a name of this server: a loopback name or address, the address that the client has connected
 *   to, or a name or address in the server's certificate. A rebound name is none of these.
 * - Origin, if present, must be this server's own origin: the scheme, host and port of the request.
 * - Sec-Fetch-Site, if present, must be same-origin; "none" (an address that the user has typed) is enough to
 *   read.
 * - Content-Type must be present when a browser sends a body: without it the body would be parsed as JSON,
 *   and a browser sends such a request without a preflight request.
 *
 * Programs such as kubectl and curl send neither Origin nor Sec-Fetch-*: for them only Host matters. A
 * request of HTTP/1.0 without Host is served, since no browser sends one. Calls of this process are not
 * checked. There is no CORS: a preflight request is treated as any other, and gets no permission. */
#ifndef BERTH_APISERVER_WEB_GUARD_H
#define BERTH_APISERVER_WEB_GUARD_H

#include <stdbool.h>

#include "apiserver/api_call.h"
#include "base/cleanup.h"
#include "base/error.h"

struct web_guard;

/* cert_pem: the server's certificate, for its names; NULL for a server without TLS. */
int web_guard_new(const char *cert_pem, struct web_guard **ret, struct error *err);
struct web_guard *web_guard_free(struct web_guard *g);
DEFINE_CLEANUP(struct web_guard, web_guard_free)

/* True when the call may continue. Otherwise it has been answered with 400, 403 or 415. */
bool web_guard_admits(const struct web_guard *g, struct call *c);

#endif
