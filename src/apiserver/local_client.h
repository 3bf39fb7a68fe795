/* The client transport to the server in this process: no sockets, no threads, and objects instead of text.
 *
 * Results are the server's own objects, shared: a cache only costs its entries. */
#ifndef BERTH_APISERVER_LOCAL_CLIENT_H
#define BERTH_APISERVER_LOCAL_CLIENT_H

#include "apiserver/server.h"
#include "client/carrier.h"

/* user: on whose behalf; NULL: not authenticated, everything is allowed. The server must outlive the carrier,
 * and the user the server: a cancelled write may still be in flight there. */
int local_client_new(struct apiserver *s, const struct user *user, struct client_carrier **ret,
                     struct error *err);

#endif
