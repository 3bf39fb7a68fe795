/* Discovery: what the server serves, told to clients that know nothing beforehand.
 *
 * /api, /apis and what lies right below them, in the old form (a document a group version) and in the
 * aggregated one (everything in two documents). All of it follows from the table of resources and never
 * changes while the process lives, so every document is made once, at the start: some 30 KB. */
#ifndef BERTH_APISERVER_DISCOVERY_H
#define BERTH_APISERVER_DISCOVERY_H

#include "apiserver/call.h"
#include "base/cleanup.h"
#include "base/error.h"

struct discovery;

/* `address` ("127.0.0.1:7443") is where clients are told to find the server. */
int discovery_new(const char *address, struct discovery **ret, struct error *err);
struct discovery *discovery_free(struct discovery *d);
DEFINE_CLEANUP(struct discovery, discovery_free)

/* Answers a request for c->route.path below /api or /apis that names no resource; 404 where there is nothing.
 * Negotiates by itself, since only here the aggregated form can be had. */
void discovery_serve(const struct discovery *d, struct call *c);

#endif
