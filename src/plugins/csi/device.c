/* Staging: once a volume on a node, before any pod has it. Drivers that cannot do it have an empty directory
 * in its place and no data file, and taking it away is nothing. */
#include "plugins/csi/csi_int.h"

#include <assert.h>
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
        return error_set(err, ERR_INVALID, "driver '%.64s' has too long a name", driver);
    return layout_plugin_path(root, CSI_PLUGIN, rest, ret, err);
}

static int csi_mount_path(const struct volume_plugin *self, const struct volume_env *env,
                          const struct volume_spec *s, char ret[PATH_MAX], struct error *err)
{
    const struct csi_source *source = spec_source(s).csi;

    (void)self;
    return csi_stage_path(env->root, source->driver, source->handle, ret, err);
}

int csi_stage_message(struct arena *a, const struct volume_spec *s, const struct csi_request *q,
                      bool is_block, unsigned capabilities, Csi__V1__NodeStageVolumeRequest *m,
                      struct error *err)
{
    const struct csi_source *source = spec_source(s).csi;
    struct csi_secrets secrets = { 0 };
    struct csi_pairs context, attributes;
    struct kvs published;
    int r = csi_publish_context(q, s, &published, err);

    if (r < 0 || !csi_can(capabilities, STAGE_BIT))
        return r;
    r = csi_secrets_of(a, q, s, CSI_SECRET_NODE_STAGE, "NodeStageSecretRef", 0, &secrets, err);
    if (r < 0)
        return r;
    context = csi_pairs_of(a, published, 0);
    attributes = csi_pairs_of(a, source->attributes, 0);
    m->volume_id = (char *)(uintptr_t)source->handle;
    m->volume_capability = csi_capability_of(a, s, is_block, capabilities, q->fs_group, q->mount_context);
    m->publish_context = context.items;
    m->n_publish_context = context.count;
    m->secrets = secrets.items;
    m->n_secrets = secrets.count;
    m->volume_context = attributes.items;
    m->n_volume_context = attributes.count;
    return arena_check(a, err);
}

static int stage(struct csi_conn *c, const struct device_request *q, const Csi__V1__NodeStageVolumeRequest *m,
                 struct error *err)
{
    const struct csi_source *source = spec_source(&q->spec).csi;
    const struct csi_data data = { .handle = source->handle,
                                   .driver = source->driver,
                                   .mount_context = q->csi->mount_context };
    struct error ignored = { 0 };
    char dir[PATH_MAX];
    int r;

    csi_parent(q->mount_path, dir);
    r = csi_data_write(dir, &data, err);
    if (r == 0)
        r = csi_call(c, CSI_NODE_STAGE, &m->base, NULL, err);
    if (r < 0 && r != -ERR_UNCERTAIN)
        (void)csi_dir_remove(dir, GLOBAL_DIR, &ignored); /* the failure itself is told */
    return r;
}

static int csi_mount(const struct volume_plugin *self, const struct volume_env *env,
                     const struct device_request *q, enum format_failure *ret_why, struct error *err)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(CSI_MEMORY_BYTES_MAX);
    Csi__V1__NodeStageVolumeRequest m;
    unsigned capabilities = 0;
    struct csi_conn c;
    int r = csi_conn_of(self, env, spec_source(&q->spec).csi->driver, &c, err);

    assert(q->csi);
    csi__v1__node_stage_volume_request__init(&m);
    *ret_why = FORMAT_OK;
    if (r == 0)
        r = csi_capabilities(&c, &capabilities, err);
    if (r == 0)
        r = csi_stage_message(&a, &q->spec, q->csi, /* is_block= */ false, capabilities, &m, err);
    m.staging_target_path = (char *)(uintptr_t)q->mount_path;
    if (r == 0)
        r = host_make_path(q->mount_path, CSI_DIR_MODE, err);
    if (r < 0 || !csi_can(capabilities, STAGE_BIT))
        return r;
    return stage(&c, q, &m, err);
}

int csi_unstage(struct csi_conn *c, const char *handle, const char *path, struct error *err)
{
    Csi__V1__NodeUnstageVolumeRequest m;

    csi__v1__node_unstage_volume_request__init(&m);
    m.volume_id = (char *)(uintptr_t)handle;
    m.staging_target_path = (char *)(uintptr_t)path;
    return csi_call(c, CSI_NODE_UNSTAGE, &m.base, NULL, err);
}

static int csi_unmount(const struct volume_plugin *self, const struct volume_env *env, const char *mount_path,
                       struct error *err)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(CSI_MEMORY_BYTES_MAX);
    unsigned capabilities = 0;
    struct csi_data data = { 0 };
    struct csi_conn c;
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
        r = csi_conn_of(self, env, data.driver, &c, err);
    if (r == 0)
        r = csi_capabilities(&c, &capabilities, err);
    if (r == 0 && csi_can(capabilities, STAGE_BIT))
        r = csi_unstage(&c, data.handle, mount_path, err);
    return r < 0 ? r : csi_dir_remove(dir, GLOBAL_DIR, err);
}

const struct device_table csi_device_table = {
    .can_mount = csi_can_mount,
    .mount_path = csi_mount_path,
    .mount = csi_mount,
    .unmount = csi_unmount,
    .reconstruct = csi_reconstruct_staged,
};
