/* Loads objects and statistics from a server into an inventory (why/inventory.h, why/usage.h). */
#ifndef BERTH_CLI_LOAD_H
#define BERTH_CLI_LOAD_H

#include "cli/session.h"
#include "why/inventory.h"
#include "why/usage.h"

/* Lists a kind page by page. ns: NULL for all namespaces. Returns s->reply.r: on failure the error is in the
 * reply, and the kind stays unknown. Objects that cannot be decoded are skipped. */
int inventory_load(struct inventory *v, struct session *s, enum kind kind, const char *ns);

/* Requests the statistics of all nodes in the inventory. Fails only when memory is short. */
int usages_load(struct usages *u, struct session *s, const struct inventory *nodes, struct error *err);
/* Prints one line per node without statistics on standard error; many are counted. */
void usages_complain(const struct usages *u);

#endif
