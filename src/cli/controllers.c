/* `berth controllers`: the controllers in front of any Kubernetes API server. */
#include "cli/cli.h"

#include "cli/program.h"

static const struct flag controllers_flags[] = {
    PROGRAM_CONTROLLERS_FLAGS(/* group= */ NULL),
    PROGRAM_CONFIG_FLAG("metrics: ADDR:PORT", " and with provisioners.nfsSubdir"),
    PROGRAM_SERVER_FLAGS,
    PROGRAM_LEASE_FLAGS,
    PROGRAM_MONITOR_FLAGS,
    PROGRAM_LOG_FLAGS,
    { 0 },
};

static int controllers_run(int argc, char **argv)
{
    return program_run(&cli_verb_controllers, &daemon_controllers, argc, argv);
}

const struct cli_verb cli_verb_controllers = {
    .name = "controllers",
    .group = CLI_SERVERS,
    .usage = "controllers [FLAG...]",
    .summary = "Run the controllers in front of any Kubernetes API server",
    .about =
        "Binds, provisions, reclaims, expands, attaches and protects, in place of the storage loops of "
        "kube-controller-manager: turn those off there first. Waits for a server that is not there yet; ends "
        "with 1 when it loses its lease.",
    .flags = controllers_flags,
    .examples = "  berth controllers --kubeconfig ~/.kube/config\n"
                "  berth controllers --leader-elect --metrics 0.0.0.0:9090  # in a pod\n",
    .run = controllers_run,
};
