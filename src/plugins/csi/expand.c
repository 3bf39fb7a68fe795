/* NodeExpandVolume and NodeGetVolumeStats: expansion of a volume on its node, and its usage. */
#include "plugins/csi/csi_int.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "host/safe_path.h"

#define CAN(name) CSI__V1__NODE_SERVICE_CAPABILITY__RPC__TYPE__##name

/* The device of a raw block volume that this pod's link leads to. The volume's own device is the one that was
 * published last, perhaps for a pod that no longer exists. */
static const char *find_device(const struct expand_request *q, char ret[PATH_MAX])
{
    struct error ignored;

    if (!q->pod_path || !q->pod_path[0] || host_resolve_path(q->pod_path, ret, &ignored) < 0)
        return q->device_path; /* set-up is in progress: its device is the newest */
    return ret;
}

static int call_node_expand(struct csi_conn *c, const struct expand_request *q, struct error *err)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(CSI_MEMORY_BYTES_MAX);
    bool is_block = q->spec.volume && q->spec.volume->mode == VOLUME_MODE_BLOCK;
    Csi__V1__CapacityRange range = CSI__V1__CAPACITY_RANGE__INIT;
    Csi__V1__NodeExpandVolumeRequest m;
    struct csi_secrets secrets = { 0 };
    char device[PATH_MAX];
    int r =
        csi_secrets_of(&a, q->csi, &q->spec, CSI_SECRET_NODE_EXPAND, "NodeExpandSecretRef", 0, &secrets, err);

    csi__v1__node_expand_volume_request__init(&m);
    if (r < 0)
        return r;
    if (q->new_bytes > INT64_MAX)
        return error_set(err, ERR_INVALID, "requested size exceeds the limit");
    range.required_bytes = (int64_t)q->new_bytes;
    m.volume_id = (char *)(uintptr_t)spec_source(&q->spec).csi->handle;
    m.volume_path = (char *)(uintptr_t)(is_block ? find_device(q, device) : q->pod_path);
    m.capacity_range = &range;
    m.staging_target_path = (char *)(uintptr_t)q->mount_path;
    m.volume_capability =
        csi_capability_of(&a, c, &q->spec, is_block, q->csi->fs_group, q->csi->mount_context);
    m.secrets = secrets.items;
    m.n_secrets = secrets.count;
    r = arena_check(&a, err);
    if (r < 0)
        return r;
    r = csi_call(c, CSI_NODE_EXPAND, &m.base, NULL, err);
    if (r == -ERR_NOT_FOUND)
        r = -(int)(err->code = ERR_INVALID); /* will never succeed with this size */
    return r;
}

int csi_expand_on_node(const struct volume_plugin *self, const struct volume_env *env,
                       const struct expand_request *q, bool *ret_done, struct error *err)
{
    const struct csi_source *source = spec_source(&q->spec).csi;
    struct csi_conn c = { 0 };
    int r = csi_conn_open(self, env, source->driver, &c, err);

    assert(q->csi);
    c.is_migrated = q->spec.is_migrated;
    if (r < 0)
        return r;
    if (!csi_can(&c, CAN(EXPAND_VOLUME)))
        return error_set(err, ERR_UNSUPPORTED, "NodeExpand is not supported by the CSI driver %s",
                         source->driver);
    r = call_node_expand(&c, q, err);
    if (r == 0)
        *ret_done = true;
    return r;
}

/* --- Usage --- */

/* The directory of the data file for the volume at this path: the parent of a pod's mount; for a device at
 * …/publish/NAME/UID it is …/NAME/data. */
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
    return n < 0 || n >= PATH_MAX ? error_set(err, ERR_INVALID, "path '%s' is too long", path) : 0;
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
    struct csi_data data = { 0 };
    struct csi_conn c = { 0 };
    char dir[PATH_MAX];
    int r = data_dir_of(path, dir, err);

    csi__v1__node_get_volume_stats_request__init(&m);
    if (r == 0)
        r = csi_data_read(dir, &a, &data, err);
    if (r == 0)
        r = csi_conn_open(self, env, data.driver, &c, err);
    if (r < 0)
        return r;
    if (!csi_can(&c, CAN(GET_VOLUME_STATS)))
        return error_set(err, ERR_UNSUPPORTED, "driver %s does not report volume metrics", data.driver);
    m.volume_id = (char *)(uintptr_t)data.handle;
    m.volume_path = (char *)(uintptr_t)path;
    r = csi_call(&c, CSI_NODE_STATS, &m.base, &answer, err);
    return r < 0 ? r : usage_of((const Csi__V1__NodeGetVolumeStatsResponse *)(const void *)answer, ret, err);
}
