/* Admission: defaults that the server adds to objects, and valid objects that it refuses.
 *
 * Each function answers the call when it refuses, and returns false. Mutating steps run before validation,
 * the others after it. */
#ifndef BERTH_APISERVER_ADMISSION_H
#define BERTH_APISERVER_ADMISSION_H

#include "apiserver/object_write.h"

/* Checks that the namespace exists and is active, and the restrictions of nodes and CSI sidecars; then adds
 * defaults: tolerations and service account of pods, protection finalizers, the default class. */
bool admit_create(struct object_write *w);
/* Before a patch is applied to w->old_object and before preconditions are compared: the part of node
 * restriction that depends only on the old object. */
bool admit_target(struct object_write *w);
/* Restrictions of nodes and CSI sidecars, then the defaults of pods. */
bool admit_update(struct object_write *w);
/* For the validated object: a claim can only be expanded if its class allows it. */
bool admit_valid_update(struct object_write *w);
/* Namespaces that must not be deleted, node restriction. */
bool admit_delete(struct call *c, const struct object *old);
/* Node restriction for subresources that have their own body. */
bool admit_sub(struct call *c, const struct object *old, struct json *d, json_ref body);

#endif
