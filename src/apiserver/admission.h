/* Admission: what the server itself adds to objects, and what it refuses although they are well formed.
 *
 * Each answers the call itself when it refuses, and returns false. Mutating steps run before validation,
 * the others behind it. */
#ifndef BERTH_APISERVER_ADMISSION_H
#define BERTH_APISERVER_ADMISSION_H

#include "apiserver/write.h"

/* Namespace there and alive, restrictions of nodes and CSI sidecars, then what is filled in: tolerations
 * and the account of pods, protection finalizers, the default class. */
bool admit_create(struct write *w);
/* Before a patch is applied to w->old_object and before preconditions are compared with it: the part of node
 * restriction that the old object decides. */
bool admit_target(struct write *w);
/* Restrictions of nodes and CSI sidecars, then what of a pod was filled in when it was created. */
bool admit_update(struct write *w);
/* On the validated object: claims grow only where their class allows it. */
bool admit_valid_update(struct write *w);
/* Namespaces that may not go, node restriction. */
bool admit_delete(struct call *c, const struct object *old);
/* Node restriction of what is written through a subresource that has a body of its own. */
bool admit_sub(struct call *c, const struct object *old, struct json *d, json_ref body);

#endif
