/* Reports a pod's life on this node: the condition volumes.berth.io/ready, the phase of a pod run by the
 * hook, events. Written when the reason changes, not at every attempt. */
#ifndef BERTH_NODE_POD_REPORT_H
#define BERTH_NODE_POD_REPORT_H

#include "node/pod_life.h"

/* Sets the reason of the condition. Readiness is logged here; waits are logged by wait_log.h and
 * pod_warn(). */
void pod_set_reason(struct node_pod *p, enum pod_reason reason, const char *message);
/* As the API spells it. */
const char *pod_reason_name(enum pod_reason reason);
/* Writes the condition if the server does not have it yet. */
void pod_report(struct node_pod *p);

/* A Warning event on the pod, if its object is known; pod_warn() also logs it. */
void pod_warn(struct node_pod *p, const char *event, const char *message);
void pod_warn_quietly(struct node_pod *p, const char *event, const char *message);

/* The delay after this number of consecutive failures. */
uint64_t pod_retry_ns(unsigned failures);

#endif
