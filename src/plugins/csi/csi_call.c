/* Calls of CSI drivers: encodes the request, calls by gRPC, decodes the response.
 *
 * csi_call() blocks a worker thread; csi_call_start() is for the loop, with small responses only. */
#include "plugins/csi/csi_int.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Of a response that is decoded on the loop. */
#define LOOP_ANSWER_BYTES_MAX ((size_t)64 << 10)

static const struct {
    const char *path;
    const ProtobufCMessageDescriptor *answer;
} methods[] = {
    [CSI_NODE_STAGE] = { "/csi.v1.Node/NodeStageVolume", &csi__v1__nothing__descriptor },
    [CSI_NODE_UNSTAGE] = { "/csi.v1.Node/NodeUnstageVolume", &csi__v1__nothing__descriptor },
    [CSI_NODE_PUBLISH] = { "/csi.v1.Node/NodePublishVolume", &csi__v1__nothing__descriptor },
    [CSI_NODE_UNPUBLISH] = { "/csi.v1.Node/NodeUnpublishVolume", &csi__v1__nothing__descriptor },
    [CSI_NODE_STATS] = { "/csi.v1.Node/NodeGetVolumeStats",
                         &csi__v1__node_get_volume_stats_response__descriptor },
    [CSI_NODE_EXPAND] = { "/csi.v1.Node/NodeExpandVolume",
                          &csi__v1__node_expand_volume_response__descriptor },
    [CSI_NODE_CAPABILITIES] = { "/csi.v1.Node/NodeGetCapabilities",
                                &csi__v1__node_get_capabilities_response__descriptor },
    [CSI_NODE_INFO] = { "/csi.v1.Node/NodeGetInfo", &csi__v1__node_get_info_response__descriptor },
    [CSI_IDENTITY_INFO] = { "/csi.v1.Identity/GetPluginInfo",
                            &csi__v1__get_plugin_info_response__descriptor },
    [CSI_REGISTRATION_INFO] = { "/pluginregistration.Registration/GetInfo",
                                &pluginregistration__plugin_info__descriptor },
    [CSI_REGISTRATION_NOTIFY] = { "/pluginregistration.Registration/NotifyRegistrationStatus",
                                  &pluginregistration__registration_status_response__descriptor },
};
static_assert(ARRAY_LEN(methods) == CSI_METHOD_COUNT, "name every method");

int csi_conn_of(const struct volume_plugin *self, const struct volume_env *env, const char *driver,
                struct csi_conn *ret, struct error *err)
{
    const struct csi_plugin *p = CONTAINER_OF((uintptr_t)self, const struct csi_plugin, plugin);
    struct csi_conn c = { .rpc = p->rpc, .limit_ns = CSI_CALL_LIMIT_NS, .stop = env->stop, .driver = driver };
    int r = csi_drivers_find(p->drivers, driver, &c.endpoint, err);

    if (r == 0)
        *ret = c;
    return r;
}

int csi_transient(struct error *err)
{
    err->code = ERR_UNAVAILABLE;
    return -ERR_UNAVAILABLE;
}

int csi_answer_read(enum csi_method m, struct str text, ProtobufCMessage **ret, struct error *err)
{
    ProtobufCMessage *answer = rpc_message_read(methods[m].answer, text);

    if (!answer)
        return error_set(err, ERR_UNCERTAIN, "cannot decode response to %s", methods[m].path);
    *ret = answer;
    return 0;
}

int csi_call_start(struct rpc_client *rpc, enum csi_method m, const char *socket, uint64_t limit_ns,
                   const ProtobufCMessage *request, struct rpc_call *c, struct error *err)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(RPC_MESSAGE_BYTES_MAX);
    int r = rpc_message_pack(request, &out, err);
    const struct rpc_request q = { .socket = socket,
                                   .method = methods[m].path,
                                   .message = buf_str(&out),
                                   .limit_ns = limit_ns,
                                   .answer_bytes_max = LOOP_ANSWER_BYTES_MAX };

    return r < 0 ? r : rpc_call_start(rpc, &q, c, err);
}

/* "MIGRATED DRIVER", for csi_note_read(). */
static void csi_note_write(const struct csi_conn *c, char to[static RPC_NOTE_BYTES])
{
    (void)snprintf(to, RPC_NOTE_BYTES, "%s %s", c->is_migrated ? "true" : "false",
                   c->driver ? c->driver : "");
}

const char *csi_note_read(const char *note, const char **ret_migrated)
{
    bool is_migrated = strncmp(note, "true ", 5) == 0;

    *ret_migrated = is_migrated ? "true" : "false";
    return note + (is_migrated ? 5 : 6);
}

int csi_call(struct csi_conn *c, enum csi_method m, const ProtobufCMessage *request, ProtobufCMessage **ret,
             struct error *err)
{
    _cleanup_(rpc_message_free) ProtobufCMessage *answer = NULL;
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(RPC_MESSAGE_BYTES_MAX), in = BUF_INIT(0);
    int r = rpc_message_pack(request, &out, err);
    char note[RPC_NOTE_BYTES];
    const struct rpc_request q = { .socket = c->endpoint.socket,
                                   .method = methods[m].path,
                                   .message = buf_str(&out),
                                   .limit_ns = c->limit_ns,
                                   .note = note };
    enum rpc_code code; /* err has it */

    csi_note_write(c, note);
    if (r == 0)
        r = rpc_wait(c->rpc, &q, c->stop, &in, &code, err);
    if (r == 0)
        r = csi_answer_read(m, buf_str(&in), &answer, err);
    if (r == 0 && ret)
        *ret = TAKE(answer);
    return r;
}

int csi_capabilities(struct csi_conn *c, struct error *err)
{
    const Csi__V1__Nothing request = CSI__V1__NOTHING__INIT;
    _cleanup_(rpc_message_free) ProtobufCMessage *answer = NULL;
    const Csi__V1__NodeGetCapabilitiesResponse *all;

    if (csi_call(c, CSI_NODE_CAPABILITIES, &request.base, &answer, err) < 0)
        return csi_transient(err);
    assert(answer);
    all = (const Csi__V1__NodeGetCapabilitiesResponse *)(const void *)answer;
    for (size_t i = 0; i < all->n_capabilities; i++) {
        const Csi__V1__NodeServiceCapability *one = all->capabilities[i];
        if (one->type_case == CSI__V1__NODE_SERVICE_CAPABILITY__TYPE_RPC && one->rpc &&
            one->rpc->type < sizeof c->capabilities * 8)
            c->capabilities |= 1U << one->rpc->type;
    }
    return 0;
}

int csi_conn_open(const struct volume_plugin *self, const struct volume_env *env, const char *driver,
                  struct csi_conn *ret, struct error *err)
{
    int r = csi_conn_of(self, env, driver, ret, err);

    return r < 0 ? r : csi_capabilities(ret, err);
}
