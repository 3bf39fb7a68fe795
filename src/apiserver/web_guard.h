/* Refuses requests that a web page has made a browser send.
 *
 * A web page can make the browser of its reader send requests to every address that the browser reaches,
 * loopback addresses included. The requests carry the reader's client certificate. Under a name of the page's
 * own that resolves to this server (DNS rebinding) the page also reads the answers. With --insecure nothing
 * else stands between such a page and the API. The guard relies on request headers that browsers always send
 * and that a page cannot change:
 *
 * - Host must be a name of this server: a loopback name or address, the address that the client has connected
 *   to, or a name or address in the server's certificate. A rebound name is none of these.
 * - Origin, when present, must be this server's own origin: the scheme, host and port of the request.
 * - Sec-Fetch-Site, when present, must be same-origin; "none" (an address that the user has typed) is enough
 *   to read.
 * - Content-Type must be present when a browser sends a body: without it the body would be read as JSON, and
 *   a browser sends such a request without asking the server first.
 *
 * Programs such as kubectl and curl send neither Origin nor Sec-Fetch-*: for them only Host matters. A
 * request of HTTP/1.0 without Host is served, since no browser sends one. Calls from within this process are
 * not checked. There is no CORS: a preflight request is a request like any other, and gets no permission. */
#ifndef BERTH_APISERVER_WEB_GUARD_H
#define BERTH_APISERVER_WEB_GUARD_H

#include <stdbool.h>

#include "apiserver/call.h"
#include "base/cleanup.h"
#include "base/error.h"

struct web_guard;

/* cert_pem: the server's certificate, for its names; NULL for a server without TLS. */
int web_guard_new(const char *cert_pem, struct web_guard **ret, struct error *err);
struct web_guard *web_guard_free(struct web_guard *g);
DEFINE_CLEANUP(struct web_guard, web_guard_free)

/* True when the call may go on. Otherwise it has been answered with 400, 403 or 415. */
bool web_guard_admits(const struct web_guard *g, struct call *c);

#endif
