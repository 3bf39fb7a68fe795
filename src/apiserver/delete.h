/* DELETE of objects and collections, and evictions. */
#ifndef BERTH_APISERVER_DELETE_H
#define BERTH_APISERVER_DELETE_H

#include "apiserver/api_call.h"

/* Finalizers of an object being deleted, for its dependents. */
#define FINALIZER_ORPHAN "orphan"
#define FINALIZER_FOREGROUND "foregroundDeletion"

void delete_one(struct call *c);
void delete_collection(struct call *c);
/* Checks the options of a deletion; answers the call when they are invalid. */
bool delete_check_options(struct call *c);
/* POST pods/NAME/eviction: disruption budgets are not checked, it is a deletion with the options in the body.
 */
void delete_by_eviction(struct call *c);

#endif
