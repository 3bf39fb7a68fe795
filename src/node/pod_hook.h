/* The pod hook: a command that runs a pod's containers, called with `setup` when the pod's volumes are
 * mounted and with `teardown` before they are unmounted. It gets the pod as JSON on standard input and the
 * paths in its environment (docs/node.md). Both calls may be repeated, since the agent may have crashed in
 * between. */
#ifndef BERTH_NODE_POD_HOOK_H
#define BERTH_NODE_POD_HOOK_H

#include "io/process.h"
#include "node/state_file.h"

#define POD_HOOK_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define POD_HOOK_SETUP_NS (300 * NS_PER_S)
/* Added to the pod's grace period. */
#define POD_HOOK_TEARDOWN_S 30
/* Upper limit of the grace period. */
#define POD_HOOK_GRACE_S_MAX INT64_C(604800)

struct pod_hook_call {
    struct loop *loop;
    const char *command;
    bool is_teardown;
    const char *pod_uid;
    const char *pod_dir;
    const struct pod_state *state; /* the paths of the volumes, if known */
    const struct object *pod; /* NULL: the server no longer has it, and the names in the state are used */
};

/* ctx and done as in process.h. */
int pod_hook_start(const struct pod_hook_call *c, process_done_fn done, void *ctx, struct process **ret,
                   struct error *err);
/* The result: 0, or an error with the first line of its output. */
int pod_hook_check(const struct process_result *result, bool is_teardown, struct error *err);

#endif
