/* Bindings: a scheduler says on which node a pod is to run. */
#ifndef BERTH_APISERVER_BIND_H
#define BERTH_APISERVER_BIND_H

#include "apiserver/call.h"

/* POST pods/NAME/binding, or POST bindings, where the body names the pod. */
void bind_pod(struct call *c);

#endif
