/* Objects and statistics of a server, loaded over a session for the answers that are made from all of them
 * (why/inventory.h, why/usage.h). */
#ifndef BERTH_CLI_LOAD_H
#define BERTH_CLI_LOAD_H

#include "cli/session.h"
#include "why/inventory.h"
#include "why/usage.h"

/* Lists a kind, page by page. ns: NULL for all namespaces. Returns reply->r: what went wrong is in there, and
 * the kind is not known then. Objects that cannot be read are passed over. */
int inventory_load(struct inventory *v, struct session *s, enum kind kind, const char *ns,
                   struct reply *reply);

/* Asks all nodes: the inventory's. Fails for lack of memory alone. */
int usages_load(struct usages *u, struct session *s, const struct inventory *nodes, struct reply *reply,
                struct error *err);
/* Those who did not answer, a line each, on standard error; many are counted. */
void usages_complain(const struct usages *u);

#endif
