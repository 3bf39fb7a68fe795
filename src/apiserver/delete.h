/* DELETE on objects and collections, and evictions. */
#ifndef BERTH_APISERVER_DELETE_H
#define BERTH_APISERVER_DELETE_H

#include "apiserver/call.h"

/* In an object that is being deleted: what is to become of its dependents first. */
#define FINALIZER_ORPHAN "orphan"
#define FINALIZER_FOREGROUND "foregroundDeletion"

void delete_one(struct call *c);
void delete_collection(struct call *c);
/* Whether the options of a deletion are right; answers the call when they are not. */
bool delete_check_options(struct call *c);
/* POST pods/NAME/eviction: nobody's budget is asked, it is a deletion with the options in the body. */
void delete_by_eviction(struct call *c);

#endif
