/* The CSI controllers of `berth node --csi-kubeconfig`, for drivers that are deployed per node.
 *
 * They have their own identity, client and caches, since the node's identity must not write volumes. They use
 * the drivers that registered with the node agent, and stop before it. The server is the one of the agent:
 * the kubeconfigs differ in their users. */
#include "daemon/daemon_int.h"

#include "base/log.h"
#include "io/clock.h"

int csi_beside_open(struct daemon *d, struct error *err)
{
    const struct daemon_settings *s = d->settings;
    struct csi_beside *n = &d->csi_beside;
    int r;

    if (!s->node.csi_kubeconfig)
        return 0;
    r = config_load(&(struct config_options){ .file = s->node.csi_kubeconfig }, &n->config, err);
    if (r < 0)
        return error_wrap(err, "--csi-kubeconfig");
    return remote_open_client(d, &n->config, (double)s->rate, (unsigned)s->rate_burst, &n->client, err);
}

static void on_synced(void *ctx)
{
    struct daemon *d = ctx;

    log_info("CSI controllers of the node start", LOG_STR("server", d->csi_beside.config.server));
    components_start(d->csi_beside.components);
}

int csi_beside_begin(struct daemon *d, struct error *err)
{
    struct components_options o = {
        .parts = DAEMON_CSI_NODE,
        .part = { .loop = d->loop,
                  .clock = clock_system(),
                  .client = d->csi_beside.client,
                  .metrics = d->metrics,
                  .seed = d->seed,
                  .server = d->remote.version },
        .settings = d->settings,
        .host = d->host,
        .identity = d->remote.identity,
        .streams_lists = server_version_streams_lists(&d->remote.version),
        .beside = d->components,
        .on_synced = on_synced,
        .ctx = d,
    };

    return d->csi_beside.client ? components_new(&o, &d->csi_beside.components, err) : 0;
}

void csi_beside_stop(struct csi_beside *n)
{
    if (n->components)
        n->stopped = components_stop(TAKE(n->components));
}

void csi_beside_close(struct csi_beside *n)
{
    n->client = client_free(n->client);
    config_done(&n->config);
}

void csi_beside_free(struct csi_beside *n)
{
    n->stopped = components_free(n->stopped);
}
