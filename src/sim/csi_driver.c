/* The process of the CSI driver model: its sockets and the registration service.
 *
 * Both sockets exist exactly while the process runs, except that a killed process may leave the files behind.
 * The Node service is in csi_service.c. */
#include "sim/csi_driver.h"

#include <rpc/proto/registration.pb-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/message.h"
#include "sim/sim_world.h"

#define REGISTRATION "/pluginregistration.Registration/"

static void write_endpoint(const struct sim_csi_driver *d, char ret[PATH_MAX])
{
    (void)snprintf(ret, PATH_MAX, "%s/plugins/" CSI_DRIVER "/csi.sock", d->root);
}

/* --- Registration --- */

static void no_subject(void *ctx, const struct peer_request *q, char ret[PEER_SUBJECT_BYTES])
{
    (void)ctx;
    (void)q;
    ret[0] = '\0';
}

static void answer_get_info(const struct sim_csi_driver *d, struct peer_request *q)
{
    char endpoint[PATH_MAX];
    char *versions[] = { (char *)(uintptr_t) "1.0.0" };
    Pluginregistration__PluginInfo info;
    struct error err;

    write_endpoint(d, endpoint);
    pluginregistration__plugin_info__init(&info);
    info.type = (char *)(uintptr_t) "CSIPlugin";
    info.name = (char *)(uintptr_t)CSI_DRIVER;
    info.endpoint = endpoint;
    info.n_supported_versions = 1;
    info.supported_versions = versions;
    if (rpc_message_pack(&info.base, &q->answer, &err) < 0)
        abort();
}

static void read_registration_status(const struct sim_csi_driver *d, const struct peer_request *q)
{
    _cleanup_(rpc_message_free) ProtobufCMessage *m =
        rpc_message_read(&pluginregistration__registration_status__descriptor, q->message);
    const Pluginregistration__RegistrationStatus *status = (const void *)m;

    if (!m)
        sim_fail(d->machine->sim, "%s: invalid registration status", d->machine->name);
    else
        sim_trace(d->machine->sim, "%s: the driver is %s %s", d->machine->name,
                  status->plugin_registered ? "registered" : "rejected:", status->error);
}

static enum rpc_code serve_registration(void *ctx, struct peer_request *q)
{
    const struct sim_csi_driver *d = ctx;

    if (strcmp(q->method, REGISTRATION "GetInfo") == 0)
        answer_get_info(d, q);
    else if (strcmp(q->method, REGISTRATION "NotifyRegistrationStatus") == 0)
        read_registration_status(d, q);
    else
        return RPC_UNIMPLEMENTED;
    return RPC_OK;
}

static const struct machine_peer_type registration_type = { no_subject, serve_registration };

/* --- The process --- */

static void *driver_start(struct sim_process *p, void *ctx)
{
    struct sim_csi_driver *d = ctx;
    char path[PATH_MAX];

    write_endpoint(d, path);
    d->service = machine_listen(d->machine, path, p, &csi_service_type, d);
    (void)snprintf(path, sizeof path, "%s/plugins_registry/" CSI_DRIVER "-reg.sock", d->root);
    d->registration = machine_listen(d->machine, path, p, &registration_type, d);
    return d;
}

/* A killed driver leaves its sockets behind; one that exits removes them. */
static void driver_kill(void *state)
{
    struct sim_csi_driver *d = state;
    bool keeps_sockets = rng_chance(&d->machine->rng, 50);

    d->service = machine_peer_free(d->service, keeps_sockets);
    d->registration = machine_peer_free(d->registration, keeps_sockets);
}

static const struct sim_program driver_program = { "csi", driver_start, driver_kill };

void csi_driver_begin(struct sim_csi_driver *d)
{
    TAILQ_INIT(&d->uses);
    d->boots = d->machine->boots;
    d->process = sim_spawn_on(d->machine, &driver_program, d);
}

void csi_driver_end(struct sim_csi_driver *d)
{
    csi_uses_forget(d);
}
