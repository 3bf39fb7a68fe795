/* `berth controllers`: the controllers in front of any Kubernetes API server. */
#include "cli/cli.h"

#include "cli/component.h"
#include "controllers/attach/attach.h"
#include "daemon/manager.h"

#define SYNC_SECONDS_MAX 86400

static const struct flag controllers_flags[] = {
    CONTROLLERS_FLAGS(/* group= */ NULL, struct component_settings),
    COMPONENT_FLAG(
        config, "config", "FILE",
        "YAML with these settings by name (metrics: ADDR:PORT) and with provisioners.nfsSubdir; the "
        "command line wins"),
    COMPONENT_FLAGS,
    { 0 },
};

static const struct component controllers = {
    .verb = &cli_verb_controllers,
    .lease = "berth-controllers",
    .parts = MANAGER_CONTROLLERS,
};

int controllers_flags_check(const char *verb, const struct controllers_flags *f, uint64_t *ret_ns)
{
    uint64_t seconds = ATTACH_SYNC_PERIOD_NS / NS_PER_S;

    if (f->flex_dir && f->flex_dir[0] != '/')
        return cli_fail_usage("%s: --flex-dir %s: not an absolute path", verb, f->flex_dir);
    if (f->attach_sync_period &&
        (!str_to_uint64(str_of(f->attach_sync_period), &seconds) || seconds > SYNC_SECONDS_MAX))
        return cli_fail_usage("%s: --attach-detach-reconcile-sync-period %s: not a number from 0 to %d", verb,
                              f->attach_sync_period, SYNC_SECONDS_MAX);
    *ret_ns = f->has_no_attach_sync ? 0 : seconds * NS_PER_S;
    return CLI_OK;
}

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
