/* Growing a volume on its node, and how much is in it. */
#include "plugins/csi/csi_int.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define CAN(name) CSI__V1__NODE_SERVICE_CAPABILITY__RPC__TYPE__##name

/* The driver's answer to an expansion is its last word, even when none came: the next try asks again. */
static int expand_failure(const struct csi_conn *c, int r, struct error *err)
{
    if (r == -ERR_NOT_FOUND)
        err->code = ERR_INVALID; /* never at this size */
    else if (r == -ERR_UNCERTAIN)
        err->code = c->code == RPC_CANCELLED ? ERR_CANCELLED : ERR_IO;
    return -(int)err->code;
}

static int expand(struct csi_conn *c, const struct expand_request *q, unsigned capabilities,
                  struct error *err)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(CSI_MEMORY_BYTES_MAX);
    bool is_block = q->spec.volume && q->spec.volume->mode == VOLUME_MODE_BLOCK;
    Csi__V1__CapacityRange range = CSI__V1__CAPACITY_RANGE__INIT;
    Csi__V1__NodeExpandVolumeRequest m;
    struct csi_secrets secrets = { 0 };
    int r =
        csi_secrets_of(&a, q->csi, &q->spec, CSI_SECRET_NODE_EXPAND, "NodeExpandSecretRef", 0, &secrets, err);

    csi__v1__node_expand_volume_request__init(&m);
    if (r < 0)
        return r;
    if (q->new_bytes > INT64_MAX)
        return error_set(err, ERR_INVALID, "the size is beyond all bounds");
    range.required_bytes = (int64_t)q->new_bytes;
    m.volume_id = (char *)(uintptr_t)spec_source(&q->spec).csi->handle;
    m.volume_path = (char *)(uintptr_t)(is_block ? q->device_path : q->pod_path);
    m.capacity_range = &range;
    m.staging_target_path = (char *)(uintptr_t)q->mount_path;
    m.volume_capability =
        csi_capability_of(&a, &q->spec, is_block, capabilities, q->csi->fs_group, q->csi->mount_context);
    m.secrets = secrets.items;
    m.n_secrets = secrets.count;
    r = arena_check(&a, err);
    if (r < 0)
        return r;
    r = csi_call(c, CSI_NODE_EXPAND, &m.base, NULL, err);
    return r < 0 ? expand_failure(c, r, err) : 0;
}

int csi_expand_on_node(const struct volume_plugin *self, const struct volume_env *env,
                       const struct expand_request *q, bool *ret_done, struct error *err)
{
    const struct csi_source *source = spec_source(&q->spec).csi;
    unsigned capabilities = 0;
    struct csi_conn c;
    int r = csi_conn_of(self, env, source->driver, &c, err);

    assert(q->csi);
    if (r == 0)
        r = csi_capabilities(&c, &capabilities, err);
    if (r < 0)
        return r;
    if (!csi_can(capabilities, CAN(EXPAND_VOLUME)))
        return error_set(err, ERR_UNSUPPORTED, "NodeExpand is not supported by the CSI driver %s",
                         source->driver);
    r = expand(&c, q, capabilities, err);
    if (r == 0)
        *ret_done = true;
    return r;
}

/* --- Usage --- */

/* Where the data file of the volume at this path is: beside a pod's mount, and of a device, whose path is
 * …/publish/NAME/UID, at …/NAME/data. */
static int data_dir_of(const char *path, char ret[PATH_MAX], struct error *err)
{
    char volume[PATH_MAX], publish[PATH_MAX], devices[PATH_MAX];
    const char *name;
    int n;

    csi_parent(path, volume);
    csi_parent(volume, publish);
    if (!str_has_suffix(str_of(publish), "/volumeDevices/publish")) {
        (void)snprintf(ret, PATH_MAX, "%s", volume);
        return 0;
    }
    name = volume + strlen(publish) + 1;
    csi_parent(publish, devices);
    n = snprintf(ret, PATH_MAX, "%s/%s/data", devices, name);
    return n < 0 || n >= PATH_MAX ? error_set(err, ERR_INVALID, "'%s' is too long a path", path) : 0;
}

static uint64_t count_of(int64_t n)
{
    return n > 0 ? (uint64_t)n : 0;
}

static int usage_of(const Csi__V1__NodeGetVolumeStatsResponse *m, struct host_usage *ret, struct error *err)
{
    struct host_usage usage = { 0 };

    if (m->n_usage == 0)
        return error_set(err, ERR_IO, "failed to get usage from response. usage is nil");
    for (size_t i = 0; i < m->n_usage; i++) {
        const Csi__V1__VolumeUsage *u = m->usage[i];
        if (u->unit == CSI__V1__VOLUME_USAGE__UNIT__BYTES) {
            usage.available = count_of(u->available);
            usage.capacity = count_of(u->total);
            usage.used = count_of(u->used);
        } else if (u->unit == CSI__V1__VOLUME_USAGE__UNIT__INODES) {
            usage.inodes_free = count_of(u->available);
            usage.inodes = count_of(u->total);
            usage.inodes_used = count_of(u->used);
        }
    }
    *ret = usage;
    return 0;
}

int csi_usage(const struct volume_plugin *self, const struct volume_env *env, const char *path,
              struct host_usage *ret, struct error *err)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(CSI_MEMORY_BYTES_MAX);
    _cleanup_(rpc_message_free) ProtobufCMessage *answer = NULL;
    Csi__V1__NodeGetVolumeStatsRequest m;
    unsigned capabilities = 0;
    struct csi_data data = { 0 };
    struct csi_conn c;
    char dir[PATH_MAX];
    int r = data_dir_of(path, dir, err);

    csi__v1__node_get_volume_stats_request__init(&m);
    if (r == 0)
        r = csi_data_read(dir, &a, &data, err);
    if (r == 0)
        r = csi_conn_of(self, env, data.driver, &c, err);
    if (r == 0)
        r = csi_capabilities(&c, &capabilities, err);
    if (r < 0)
        return r;
    if (!csi_can(capabilities, CAN(GET_VOLUME_STATS)))
        return error_set(err, ERR_UNSUPPORTED, "driver %s has no metrics", data.driver);
    m.volume_id = (char *)(uintptr_t)data.handle;
    m.volume_path = (char *)(uintptr_t)path;
    r = csi_call(&c, CSI_NODE_STATS, &m.base, &answer, err);
    return r < 0 ? r : usage_of((const Csi__V1__NodeGetVolumeStatsResponse *)(const void *)answer, ret, err);
}
