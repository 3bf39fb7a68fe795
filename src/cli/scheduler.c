/* `berth scheduler`: the scheduler in front of any Kubernetes API server, for the pods that ask for it. */
#include "cli/cli.h"

#include "cli/component.h"
#include "cli/manager.h"
#include "scheduler/scheduler.h"

static const struct flag scheduler_flags[] = {
    COMPONENT_FLAG(scheduler_name, "scheduler-name", "NAME",
                   "whose pods: those with this spec.schedulerName; default " SCHEDULER_NAME),
    COMPONENT_FLAG(bind_timeout, "bind-timeout", "SECONDS",
                   "how long a pod waits for its volumes on a node before it is tried anew; default 600"),
    COMPONENT_FLAGS,
    { 0 },
};

static const struct component scheduler = {
    .verb = &cli_verb_scheduler,
    .lease = "berth-scheduler",
    .parts = MANAGER_SCHEDULER,
};

static int scheduler_run(int argc, char **argv)
{
    return component_run(&scheduler, argc, argv);
}

const struct cli_verb cli_verb_scheduler = {
    .name = "scheduler",
    .usage = "scheduler [FLAG...]",
    .summary = "Run the volume-aware scheduler in front of any Kubernetes API server",
    .flags = scheduler_flags,
    .run = scheduler_run,
};
