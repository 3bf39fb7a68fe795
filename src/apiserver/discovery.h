/* Discovery: the resources that the server serves, for clients that have no prior knowledge.
 *
 * /api, /apis and the paths right below them, in the old form (one document per group version) and in the
 * aggregated one (everything in two documents). All of it follows from the table of resources and never
 * changes while the process runs, so every document is created once, at the start: about 30 KB. */
#ifndef BERTH_APISERVER_DISCOVERY_H
#define BERTH_APISERVER_DISCOVERY_H

#include "apiserver/api_call.h"
#include "base/cleanup.h"
#include "base/error.h"

struct discovery;

/* `address` ("127.0.0.1:7443") is the address of the server for clients. */
int discovery_new(const char *address, struct discovery **ret, struct error *err);
struct discovery *discovery_free(struct discovery *d);
DEFINE_CLEANUP(struct discovery, discovery_free)

/* Answers a request for c->route.path below /api or /apis that names no resource; 404 for unknown paths. Has
 * its own negotiation, since only discovery has the aggregated form. */
void discovery_serve(const struct discovery *d, struct call *c);

#endif
