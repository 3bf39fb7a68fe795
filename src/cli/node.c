/* `berth node`: the node agent in front of any Kubernetes API server. */
#include "cli/cli.h"

#include "cli/program.h"

static const struct flag node_flags[] = {
    PROGRAM_FLAG_IN(PROGRAM_NODE_GROUP, node.name, "node-name", "NAME",
                    "what this node is called; default the host's name"),
    PROGRAM_FLAG_IN(PROGRAM_NODE_GROUP, node.root, "root", "DIR",
                    "where pods' volumes are; needed, since nothing else may use it: not a kubelet's"),
    PROGRAM_NODE_FLAGS,
    PROGRAM_FLEX_FLAG(PROGRAM_NODE_GROUP),
    PROGRAM_CONFIG_FLAG("root: DIR", ""),
    PROGRAM_SERVER_FLAGS,
    PROGRAM_MONITOR_FLAGS,
    PROGRAM_LOG_FLAGS,
    { 0 },
};

static int node_run(int argc, char **argv)
{
    return program_run(&cli_verb_node, &daemon_node, argc, argv);
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
