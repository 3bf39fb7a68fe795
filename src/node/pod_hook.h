/* The hook: a command that runs what is in a pod, called with `setup` when its volumes are there and with
 * `teardown` before they go. It gets the pod as JSON on its standard input and in its environment where
 * things are (docs/node.md). Both calls may be repeated, since the agent may have died in between. */
#ifndef BERTH_NODE_POD_HOOK_H
#define BERTH_NODE_POD_HOOK_H

#include "io/process.h"
#include "node/state_file.h"

#define POD_HOOK_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define POD_HOOK_SETUP_NS (300 * NS_PER_S)
/* Beyond the pod's grace period. */
#define POD_HOOK_TEARDOWN_S 30
/* A longer grace than this is cut. */
#define POD_HOOK_GRACE_S_MAX INT64_C(604800)

struct pod_hook_call {
    struct loop *loop;
    const char *command;
    bool is_teardown;
    const char *pod_uid;
    const char *pod_dir;
    const struct pod_state *state; /* where volumes are, if that is known */
    const struct object *pod;      /* NULL: nobody has it any more, and the names of the state must do */
};

/* ctx and done as in process.h. */
int pod_hook_start(const struct pod_hook_call *c, process_done_fn done, void *ctx, struct process **ret,
                   struct error *err);
/* What its end means: 0, or with the first line of what it said. */
int pod_hook_check(const struct process_result *result, bool is_teardown, struct error *err);

#endif
