/* NodeStageVolume: once per volume and node, before a pod gets it. For drivers that cannot stage there is an
 * empty directory and no data file, and unstaging only removes the directory. */
#include "plugins/csi/csi_int.h"

#include <stdio.h>

#include "host/files.h"
#include "host/safe_path.h"
#include "io/digest.h"
#include "plugins/layout.h"

#define GLOBAL_DIR "globalmount"
#define STAGE_BIT CSI__V1__NODE_SERVICE_CAPABILITY__RPC__TYPE__STAGE_UNSTAGE_VOLUME

static bool csi_can_mount(const struct volume_plugin *self, const struct volume_spec *s)
{
    (void)self;
    return s->volume != NULL;
}

int csi_stage_path(const char *root, const char *driver, const char *handle, char ret[PATH_MAX],
                   struct error *err)
{
    char digest[SHA256_HEX_BYTES], rest[PATH_MAX];
    int n, r = sha256_hex(str_of(handle), digest, err);

    if (r < 0)
        return r;
    n = snprintf(rest, sizeof rest, "%s/%s/" GLOBAL_DIR, driver, digest);
    if (n < 0 || (size_t)n >= sizeof rest)
        return error_set(err, ERR_INVALID, "name of driver '%.64s' is too long", driver);
    return layout_plugin_path(root, CSI_PLUGIN, rest, ret, err);
}

static int csi_mount_path(const struct volume_plugin *self, const struct volume_env *env,
                          const struct volume_spec *s, char ret[PATH_MAX], struct error *err)
{
    const struct csi_source *source = spec_source(s).csi;

    (void)self;
    return csi_stage_path(env->root, source->driver, source->handle, ret, err);
}

int csi_stage_message(struct arena *a, const struct csi_conn *c, const struct volume_spec *s,
                      const struct csi_request *q, bool is_block, Csi__V1__NodeStageVolumeRequest *m,
                      struct error *err)
{
    const struct csi_source *source = spec_source(s).csi;
    struct csi_secrets secrets = { 0 };
    struct csi_pairs context, attributes;
    struct kvs published;
    int r = csi_publish_context(q, s, &published, err);

    csi__v1__node_stage_volume_request__init(m);
    if (r < 0 || !csi_can(c, STAGE_BIT))
        return r;
    r = csi_secrets_of(a, q, s, CSI_SECRET_NODE_STAGE, "NodeStageSecretRef", 0, &secrets, err);
    if (r < 0)
        return r;
    context = csi_pairs_of(a, published, 0);
    attributes = csi_pairs_of(a, source->attributes, 0);
    m->volume_id = (char *)(uintptr_t)source->handle;
    m->volume_capability = csi_capability_of(a, c, s, is_block, q->fs_group, q->mount_context);
    m->publish_context = context.items;
    m->n_publish_context = context.count;
    m->secrets = secrets.items;
    m->n_secrets = secrets.count;
    m->volume_context = attributes.items;
    m->n_volume_context = attributes.count;
    return arena_check(a, err);
}

static int csi_mount(const struct volume_plugin *self, const struct volume_env *env,
                     const struct device_request *q, enum format_failure *ret_why, struct error *err)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(CSI_MEMORY_BYTES_MAX);
    const struct csi_source *source = spec_source(&q->spec).csi;
    const struct csi_data data = { .handle = source->handle,
                                   .driver = source->driver,
                                   .mount_context = q->csi->mount_context };
    Csi__V1__NodeStageVolumeRequest m;
    struct csi_conn c;
    char dir[PATH_MAX];
    int r = csi_conn_open(self, env, source->driver, &c, err);

    *ret_why = FORMAT_OK;
    c.is_migrated = q->spec.is_migrated;
    if (r == 0)
        r = csi_stage_message(&a, &c, &q->spec, q->csi, /* is_block= */ false, &m, err);
    if (r < 0)
        return r;
    m.staging_target_path = (char *)(uintptr_t)q->mount_path;
    csi_parent(q->mount_path, dir);
    r = host_make_path(q->mount_path, CSI_DIR_MODE, err);
    if (r == 0 && !csi_can(&c, STAGE_BIT))
        return 0;
    if (r == 0)
        r = csi_data_write(dir, &data, err);
    if (r < 0) /* the directory may exist, and an earlier call may have succeeded */
        return -(int)(err->code = ERR_INCOMPLETE);
    r = csi_call(&c, CSI_NODE_STAGE, &m.base, NULL, err);
    return r < 0 && r != -ERR_UNCERTAIN ? csi_dir_undo(dir, GLOBAL_DIR, r, err) : r;
}

int csi_unstage(const struct volume_plugin *self, const struct volume_env *env, const struct csi_data *d,
                const char *path, struct error *err)
{
    Csi__V1__NodeUnstageVolumeRequest m;
    struct csi_conn c;
    int r = csi_conn_open(self, env, d->driver, &c, err);

    if (r < 0 || !csi_can(&c, STAGE_BIT))
        return r;
    csi__v1__node_unstage_volume_request__init(&m);
    m.volume_id = (char *)(uintptr_t)d->handle;
    m.staging_target_path = (char *)(uintptr_t)path;
    return csi_call(&c, CSI_NODE_UNSTAGE, &m.base, NULL, err);
}

static int csi_unmount(const struct volume_plugin *self, const struct volume_env *env, const char *mount_path,
                       struct error *err)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(CSI_MEMORY_BYTES_MAX);
    struct csi_data data = { 0 };
    char dir[PATH_MAX];
    int r;

    csi_parent(mount_path, dir);
    r = csi_data_read(dir, &a, &data, err);
    if (r == -ERR_NOT_FOUND) { /* nothing was staged */
        struct error ignored = { 0 };
        (void)csi_dir_remove(dir, GLOBAL_DIR, &ignored);
        return 0;
    }
    if (r == 0)
        r = csi_unstage(self, env, &data, mount_path, err);
    return r < 0 ? r : csi_dir_remove(dir, GLOBAL_DIR, err);
}

const struct device_table csi_device_table = {
    .can_mount = csi_can_mount,
    .mount_path = csi_mount_path,
    .mount = csi_mount,
    .unmount = csi_unmount,
    .reconstruct = csi_reconstruct_staged,
};
