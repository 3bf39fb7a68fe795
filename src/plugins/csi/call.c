/* One call of a driver: the message out, gRPC, the message in.
 *
 * What a driver answers is unpacked within a ceiling: a few bytes on the wire can stand for a struct each. */
#include "plugins/csi/csi_int.h"

#include <assert.h>

#include "plugins/csi/grpc.h"

#define UNPACKED_BYTES_MAX ((size_t)64 << 20)

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
    struct csi_conn c = { .limit_ns = CSI_CALL_LIMIT_NS, .stop = env->stop };
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

/* --- Bounded unpacking --- */

struct allowance {
    size_t left;
};

static void *bounded_alloc(void *ctx, size_t size)
{
    struct allowance *a = ctx;

    if (size > a->left)
        return NULL;
    a->left -= size;
    return malloc(size ? size : 1);
}

static void bounded_free(void *ctx, void *memory)
{
    (void)ctx; /* what was given is not given again: a bound on all of it */
    free(memory);
}

int csi_answer_read(enum csi_method m, struct str text, ProtobufCMessage **ret, struct error *err)
{
    struct allowance a = { UNPACKED_BYTES_MAX };
    ProtobufCAllocator allocator = { bounded_alloc, bounded_free, &a };
    ProtobufCMessage *answer =
        protobuf_c_message_unpack(methods[m].answer, &allocator, text.len, (const uint8_t *)text.s);

    if (!answer)
        return error_set(err, ERR_TIMEOUT, "the answer to %s cannot be read", methods[m].path);
    *ret = answer;
    return 0;
}

/* The C library's own: what the ceiling counted was malloc()ed too. */
void csi_message_free(ProtobufCMessage **m)
{
    if (*m)
        protobuf_c_message_free_unpacked(*m, NULL);
    *m = NULL;
}

/* --- Calls --- */

int csi_call(const struct csi_conn *c, enum csi_method m, const ProtobufCMessage *request,
             ProtobufCMessage **ret, struct error *err)
{
    const struct grpc_call call = { c->endpoint.socket, methods[m].path, c->limit_ns, c->stop };
    _cleanup_(csi_message_free) ProtobufCMessage *answer = NULL;
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(GRPC_MESSAGE_BYTES_MAX), in = BUF_INIT(0);
    size_t len = protobuf_c_message_get_packed_size(request);
    char *data = buf_grow(&out, len);
    int r = buf_check(&out, "a request", err);

    if (r < 0)
        return r;
    (void)protobuf_c_message_pack(request, (uint8_t *)data);
    r = grpc_call(&call, buf_str(&out), &in, err);
    if (r == 0)
        r = csi_answer_read(m, buf_str(&in), &answer, err);
    if (r == 0 && ret)
        *ret = TAKE(answer);
    return r;
}

int csi_capabilities(const struct csi_conn *c, unsigned *ret, struct error *err)
{
    const Csi__V1__Nothing request = CSI__V1__NOTHING__INIT;
    _cleanup_(csi_message_free) ProtobufCMessage *answer = NULL;
    const Csi__V1__NodeGetCapabilitiesResponse *all;
    unsigned found = 0;

    if (csi_call(c, CSI_NODE_CAPABILITIES, &request.base, &answer, err) < 0)
        return csi_transient(err);
    assert(answer);
    all = (const Csi__V1__NodeGetCapabilitiesResponse *)(const void *)answer;
    for (size_t i = 0; i < all->n_capabilities; i++) {
        const Csi__V1__NodeServiceCapability *one = all->capabilities[i];
        if (one->type_case == CSI__V1__NODE_SERVICE_CAPABILITY__TYPE_RPC && one->rpc &&
            one->rpc->type < sizeof found * 8)
            found |= 1U << one->rpc->type;
    }
    *ret = found;
    return 0;
}
