/* What the pod's people hear of its life on this node: the condition volumes.berth.io/ready, the phase of a
 * pod that the hook runs, events. Written when the reason changes, not each time something is tried. */
#ifndef BERTH_NODE_POD_TELL_H
#define BERTH_NODE_POD_TELL_H

#include "node/pod_life.h"

/* That the pod is ready is logged; what it waits for is wait_log.h's and
 * pod_warn()'s to log. */
void pod_say(struct node_pod *p, enum pod_reason reason, const char *message);
/* As the API spells it. */
const char *pod_reason_name(enum pod_reason reason);
/* Writes what was said and the server does not have yet. */
void pod_tell(struct node_pod *p);

/* A Warning about the pod, if anybody knows it: an event, and with pod_warn() a line in the log. */
void pod_warn(struct node_pod *p, const char *event, const char *message);
void pod_warn_quietly(struct node_pod *p, const char *event, const char *message);

/* How long to wait after so many failures in a row. */
uint64_t pod_retry_ns(unsigned failures);

#endif
