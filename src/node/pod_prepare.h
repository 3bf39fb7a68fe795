/* What a pod's containers get of its volumes, once all of those are there: looked up on the loop; then, on a
 * worker, parts of volumes (subPath) are bound and the state file is written. */
#ifndef BERTH_NODE_POD_PREPARE_H
#define BERTH_NODE_POD_PREPARE_H

#include "io/job.h"
#include "node/pod_life.h"

struct node_pod;

/* A job that prepares the pod and writes its state file with this hook state, and pod.json if asked to.
 * old: the state that is on disk, NULL for none: what is the same is not written again. ERR_NOT_FOUND
 * `cannot find volume "v" to mount into container "c"`, and other errors of the lookup. */
int pod_prepare_new(const struct node_pod *p, enum hook_state hook, bool writes_pod,
                    const struct pod_state *old, struct job **ret, struct error *err);

/* From the job's done: the state as it is on disk now, in place of what is in *s. */
void pod_prepare_take_state(struct job *j, struct pod_state *s);
/* From the job's done: the parts of volumes that are bound, in place of what is in *p. False without memory:
 * some are left out. */
bool pod_prepare_take_parts(struct job *j, struct pod_parts *p);
/* From the job's done: what is not there although the pod is ready, for its condition; "" for nothing. */
const char *pod_prepare_missing(struct job *j);
/* What is behind a failure, for the log; "" when the failure says it all. */
const char *pod_prepare_detail(struct job *j);

/* A job that removes the pod's directory (orphans.h). NULL without memory. */
struct job *pod_remove_new(const struct node_pod *p);

#endif
