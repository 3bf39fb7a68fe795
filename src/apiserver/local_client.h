/* The client's carrier to the server in this process: no sockets, no threads, no text where objects will do.
 *
 * What comes back are the server's own objects, shared: a cache costs no memory but its places. */
#ifndef BERTH_APISERVER_LOCAL_CLIENT_H
#define BERTH_APISERVER_LOCAL_CLIENT_H

#include "apiserver/server.h"
#include "client/carrier.h"

/* user: in whose name; NULL: nobody asks, everything is allowed. The server outlives the carrier, and the
 * user the server: a write that was cancelled may still be under way there. */
int local_client_new(struct apiserver *s, const struct user *user, struct client_carrier **ret,
                     struct error *err);

#endif
