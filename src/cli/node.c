/* `berth node`: the node agent in front of any Kubernetes API server. */
#include "cli/cli.h"

#include <string.h>

#include "api/names.h"
#include "cli/component.h"
#include "daemon/manager.h"
#include "io/process.h"
#include "node/agent.h"
#include "node/pod_hook.h"

#define SYNC_SECONDS_MAX 86400

static const struct flag node_flags[] = {
    COMPONENT_FLAG_IN(NODE_GROUP, node.name, "node-name", "NAME",
                      "what this node is called; default the host's name"),
    COMPONENT_FLAG_IN(NODE_GROUP, node.root, "root", "DIR",
                      "where pods' volumes are; needed, since nothing else may use it: not a kubelet's"),
    NODE_FLAGS(struct component_settings),
    FLEX_DIR_FLAG(NODE_GROUP, struct component_settings),
    COMPONENT_SERVER_FLAGS,
    COMPONENT_MONITOR_FLAGS,
    { 0 },
};

static const struct component node = {
    .verb = &cli_verb_node,
    .lease = "berth-node",
    .parts = MANAGER_NODE,
};

int node_flags_check(const char *verb, const struct node_flags *f, uint64_t *ret_ns)
{
    uint64_t seconds = AGENT_SYNC_NS / NS_PER_S;

    if (f->sync && (!str_to_uint64(str_of(f->sync), &seconds) || seconds < 1 || seconds > SYNC_SECONDS_MAX))
        return cli_fail_usage("%s: --sync-frequency %s: not a number of seconds from 1 to %d", verb, f->sync,
                              SYNC_SECONDS_MAX);
    if (f->name && !name_is_valid(NAME_DNS_SUBDOMAIN, str_of(f->name)))
        return cli_fail_usage(
            "%s: --node-name '%s': use lower case letters, digits, '-' and '.', at most 253, "
            "with a letter or a digit at both ends",
            verb, f->name);
    if (f->hook && !process_has_program(f->hook, POD_HOOK_PATH))
        return cli_fail_usage("%s: --pod-hook: there is no executable '%s'%s", verb, f->hook,
                              strchr(f->hook, '/') ? "" : " in " POD_HOOK_PATH);
    *ret_ns = seconds * NS_PER_S;
    return CLI_OK;
}

static int node_run(int argc, char **argv)
{
    return component_run(&node, argc, argv);
}

const struct cli_verb cli_verb_node = {
    .name = "node",
    .group = CLI_SERVERS,
    .usage = "node --root DIR [FLAG...]",
    .summary = "Run the node agent: mount the volumes of this machine's pods",
    .about = "Registers the Node, mounts and maps the volumes of its pods, and takes everything away again. "
             "Mounting "
             "needs root; what cannot be done without it is said in the pod's events. Stop it with SIGTERM: "
             "what is "
             "mounted stays, and is found again at the next start.",
    .flags = node_flags,
    .examples = "  berth node --kubeconfig node.conf --root /var/lib/berth/node\n"
                "  berth node --kubeconfig node.conf --root /srv/node --node-name n2\n",
    .run = node_run,
};
