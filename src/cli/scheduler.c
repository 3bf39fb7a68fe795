/* `berth scheduler`: the scheduler in front of any Kubernetes API server, for the pods that ask for it. */
#include "cli/cli.h"

#include "cli/program.h"
#include "scheduler/scheduler.h"

static const struct flag scheduler_flags[] = {
    PROGRAM_FLAG(scheduler_name, "scheduler-name", "NAME",
                 "whose pods: those with this spec.schedulerName; default " SCHEDULER_NAME),
    PROGRAM_BIND_TIMEOUT_FLAG(/* group= */ NULL),
    PROGRAM_CONFIG_FLAG("metrics: ADDR:PORT", ""),
    PROGRAM_SERVER_FLAGS,
    PROGRAM_LEASE_FLAGS,
    PROGRAM_MONITOR_FLAGS,
    PROGRAM_LOG_FLAGS,
    { 0 },
};

static int scheduler_run(int argc, char **argv)
{
    return program_run(&cli_verb_scheduler, &daemon_scheduler, argc, argv);
}

const struct cli_verb cli_verb_scheduler = {
    .name = "scheduler",
    .group = CLI_SERVERS,
    .usage = "scheduler [FLAG...]",
    .summary = "Run the volume-aware scheduler in front of any Kubernetes API server",
    .about = "Gives pods a node together with the volumes of their claims. It takes the pods whose "
             "spec.schedulerName is its own, so that it can run beside another scheduler.",
    .flags = scheduler_flags,
    .examples = "  berth scheduler --kubeconfig ~/.kube/config --scheduler-name berth\n"
                "  berth scheduler --leader-elect --metrics 0.0.0.0:9091  # in a pod\n",
    .run = scheduler_run,
};
