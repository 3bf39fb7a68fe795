/* `berth controllers`: the controllers in front of any Kubernetes API server. */
#include "cli/cli.h"

#include "cli/component.h"
#include "cli/manager.h"

static const struct flag controllers_flags[] = { COMPONENT_FLAGS, { 0 } };

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
    .usage = "controllers [FLAG...]",
    .summary = "Run the controllers in front of any Kubernetes API server",
    .flags = controllers_flags,
    .run = controllers_run,
};
