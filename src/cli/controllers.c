/* `berth controllers`: the controllers in front of any Kubernetes API server. */
#include "cli/cli.h"

#include "cli/component.h"
#include "cli/manager.h"

static const struct flag controllers_flags[] = {
    COMPONENT_FLAG(flex_dir, "flex-dir", "DIR", FLEX_DIR_HELP),
    COMPONENT_FLAG(attach_sync_period, "attach-detach-reconcile-sync-period", "SECONDS",
                   "how often it is verified what is attached; default 60, 0 for never"),
    FLAG_ON(struct component_settings, has_no_attach_sync, "disable-attach-detach-reconcile-sync",
            "do not verify what is attached"),
    FLAG_ON(struct component_settings, has_no_forced_detach, "disable-force-detach-on-timeout",
            "never detach from a dead node that was using a volume, unless it is tainted out of service"),
    COMPONENT_FLAGS,
    { 0 },
};

static const struct component controllers = {
    .verb = &cli_verb_controllers,
    .lease = "berth-controllers",
    .parts = MANAGER_CONTROLLERS,
};

static int controllers_run(int argc, char **argv)
{
    return component_run(&controllers, argc, argv);
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
