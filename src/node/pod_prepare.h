/* Determines the mounts of a pod's containers once all volumes are mounted: collected on the loop; then a
 * worker binds subPath mounts and writes the state file. */
#ifndef BERTH_NODE_POD_PREPARE_H
#define BERTH_NODE_POD_PREPARE_H

#include "io/job.h"
#include "node/pod_life.h"

struct node_pod;

/* A job that prepares the pod and writes its state file with this hook state, and pod.json if requested. old:
 * the state on disk, NULL for none; unchanged files are not written. ERR_NOT_FOUND `cannot find volume "v" to
 * mount into container "c"`, and other lookup errors. */
int pod_prepare_new(const struct node_pod *p, enum hook_state hook, bool writes_pod,
                    const struct pod_state *old, struct job **ret, struct error *err);

/* For the job's done callback: replaces *s by the state that is on disk now. After a failure, true when the
 * job tried to write it: the file on disk may be the old one or the new one. */
bool pod_prepare_has_written(struct job *j);
void pod_prepare_take_state(struct job *j, struct pod_state *s);
/* For the job's done callback: replaces *p by the bound subPath mounts. False when out of memory: some are
 * missing. */
bool pod_prepare_take_parts(struct job *j, struct pod_parts *p);
/* For the job's done callback: missing hostPaths, for the pod's condition; "" for none. */
const char *pod_prepare_missing(struct job *j);
/* Details of a failure, for the log; "" when the error contains everything. */
const char *pod_prepare_detail(struct job *j);

/* A job that removes the pod's directory (orphans.h). NULL when out of memory. */
struct job *pod_remove_new(const struct node_pod *p);

#endif
