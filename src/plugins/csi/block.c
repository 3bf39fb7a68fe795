/* Raw devices, below plugins/kubernetes.io/csi/volumeDevices:
 *
 *   NAME/dev            the binds that every plugin has (plugins/block.h)
 *   NAME/data           the data file
 *   staging/NAME        what the driver stages on
 *   publish/NAME/UID    the file that the driver makes for a pod: the device */
#include "plugins/csi/csi_int.h"

#include <assert.h>
#include <stdio.h>

#include "host/block_files.h"
#include "host/files.h"
#include "host/safe_path.h"
#include "plugins/block.h"
#include "plugins/layout.h"

#define STAGE_BIT CSI__V1__NODE_SERVICE_CAPABILITY__RPC__TYPE__STAGE_UNSTAGE_VOLUME

/* volumeDevices/FIRST[/SECOND]; last: NULL for none. */
static int devices_path(const char *root, const char *first, const char *second, const char *last,
                        char ret[PATH_MAX], struct error *err)
{
    char rest[PATH_MAX];
    int n = snprintf(rest, sizeof rest, "volumeDevices/%s/%s%s%s", first, second, last ? "/" : "",
                     last ? last : "");

    if (n < 0 || (size_t)n >= sizeof rest)
        return error_set(err, ERR_INVALID, "a path below '%s' is too long", root);
    return layout_plugin_path(root, CSI_PLUGIN, rest, ret, err);
}

int csi_block_data_dir(const char *root, const char *name, char ret[PATH_MAX], struct error *err)
{
    return devices_path(root, name, "data", NULL, ret, err);
}

int csi_block_paths(const struct volume_plugin *self, const char *root, const char *name, const char *pod_uid,
                    struct block_paths *ret, struct error *err)
{
    struct block_paths p = { 0 };
    int r = layout_pod_path(root, pod_uid, "volumeDevices", CSI_PLUGIN, name, p.pod_link, err);

    (void)self;
    if (r == 0) /* both names are fit for a path by now */
        r = devices_path(root, name, "dev", NULL, p.global_dir, err);
    if (r == 0)
        r = devices_path(root, name, "dev", pod_uid, p.global_file, err);
    if (r == 0)
        *ret = p;
    return r;
}

static int write_data(const struct volume_env *env, const struct volume_spec *s, struct error *err)
{
    const struct csi_source *source = spec_source(s).csi;
    char attachment[CSI_NAME_BYTES], dir[PATH_MAX];
    const struct csi_data data = {
        .spec_name = spec_name(s),
        .handle = source->handle,
        .driver = source->driver,
        .node_name = env->node_name,
        .mode = CSI_MODE_PERSISTENT,
        .attachment = attachment,
    };
    int r = csi_attachment_name(source->driver, source->handle, env->node_name, attachment, err);

    if (r == 0)
        r = csi_block_data_dir(env->root, spec_name(s), dir, err);
    if (r == 0)
        r = host_make_path(dir, CSI_DIR_MODE, err);
    return r < 0 ? r : csi_data_write(dir, &data, err);
}

static int csi_block_stage(const struct volume_plugin *self, const struct volume_env *env,
                           const struct block_request *q, struct error *err)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(CSI_MEMORY_BYTES_MAX);
    Csi__V1__NodeStageVolumeRequest m;
    struct error ignored = { 0 };
    unsigned capabilities = 0;
    struct csi_conn c;
    char path[PATH_MAX];
    int r = csi_conn_of(self, env, spec_source(&q->spec).csi->driver, &c, err);

    assert(q->csi);
    csi__v1__node_stage_volume_request__init(&m);
    if (r == 0)
        r = csi_capabilities(&c, &capabilities, err);
    if (r == 0)
        r = csi_stage_message(&a, &q->spec, q->csi, /* is_block= */ true, capabilities, &m, err);
    if (r == 0)
        r = devices_path(env->root, "staging", spec_name(&q->spec), NULL, path, err);
    if (r == 0)
        r = write_data(env, &q->spec, err);
    if (r < 0 || !csi_can(capabilities, STAGE_BIT))
        return r;
    r = host_make_path(path, CSI_DIR_MODE, err);
    if (r < 0)
        return r;
    m.staging_target_path = path;
    r = csi_call(&c, CSI_NODE_STAGE, &m.base, NULL, err);
    if (r < 0 && r != -ERR_UNCERTAIN)
        (void)host_remove_empty_dir(path, &ignored); /* the call's failure is told */
    return r;
}

/* The message but for the paths. */
static int publish_message(struct arena *a, const struct block_request *q, unsigned capabilities,
                           Csi__V1__NodePublishVolumeRequest *m, struct error *err)
{
    const struct csi_source *source = spec_source(&q->spec).csi;
    struct csi_pairs attributes = csi_pairs_of(a, source->attributes, CSI_POD_KEYS), context;
    struct csi_secrets secrets = { 0 };
    struct kvs published;
    int r = csi_publish_context(q->csi, &q->spec, &published, err);

    if (r == 0)
        r = csi_secrets_of(a, q->csi, &q->spec, CSI_SECRET_NODE_PUBLISH, "NodePublishSecretRef", 0, &secrets,
                           err);
    if (r < 0)
        return r;
    if (q->csi->driver && q->csi->driver->pod_info_on_mount)
        csi_add_pod_info(a, q->pod, /* is_ephemeral= */ false, &attributes);
    context = csi_pairs_of(a, published, 0);
    m->volume_id = (char *)(uintptr_t)source->handle;
    m->volume_capability = csi_capability_of(a, &q->spec, /* is_block= */ true, capabilities, -1, "");
    m->readonly = q->spec.is_read_only;
    m->publish_context = context.items;
    m->n_publish_context = context.count;
    m->secrets = secrets.items;
    m->n_secrets = secrets.count;
    m->volume_context = attributes.items;
    m->n_volume_context = attributes.count;
    return arena_check(a, err);
}

static int csi_block_publish(const struct volume_plugin *self, const struct volume_env *env,
                             const struct block_request *q, char ret[PATH_MAX], struct error *err)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(CSI_MEMORY_BYTES_MAX);
    Csi__V1__NodePublishVolumeRequest m;
    unsigned capabilities = 0;
    struct csi_conn c;
    char staged[PATH_MAX], target[PATH_MAX], dir[PATH_MAX];
    int r = csi_conn_of(self, env, spec_source(&q->spec).csi->driver, &c, err);

    assert(q->csi);
    csi__v1__node_publish_volume_request__init(&m);
    if (r == 0)
        r = csi_capabilities(&c, &capabilities, err);
    if (r == 0)
        r = publish_message(&a, q, capabilities, &m, err);
    if (r == 0) /* sent to drivers that do not stage, too */
        r = devices_path(env->root, "staging", spec_name(&q->spec), NULL, staged, err);
    if (r == 0)
        r = devices_path(env->root, "publish", spec_name(&q->spec), q->pod->obj.uid, target, err);
    if (r == 0)
        r = write_data(env, &q->spec, err);
    if (r < 0)
        return r;
    csi_parent(target, dir);
    r = host_make_path(dir, CSI_DIR_MODE, err);
    if (r < 0)
        return r;
    m.staging_target_path = staged;
    m.target_path = target;
    r = csi_call(&c, CSI_NODE_PUBLISH, &m.base, NULL, err);
    if (r == 0)
        (void)snprintf(ret, PATH_MAX, "%s", target);
    return r;
}

/* The data file of the volume; -ERR_NOT_FOUND when nothing is left of it. */
static int read_data(const struct volume_env *env, const char *name, struct arena *a, struct csi_data *ret,
                     struct error *err)
{
    char dir[PATH_MAX];
    int r = csi_block_data_dir(env->root, name, dir, err);

    return r < 0 ? r : csi_data_read(dir, a, ret, err);
}

static int csi_block_unpublish(const struct volume_plugin *self, const struct volume_env *env,
                               const char *name, const char *pod_uid, struct error *err)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(CSI_MEMORY_BYTES_MAX);
    struct error why = { 0 };
    struct csi_data data = { 0 };
    struct csi_conn c;
    char target[PATH_MAX];
    int r = devices_path(env->root, "publish", name, pod_uid, target, err);

    if (r < 0)
        return r;
    r = read_data(env, name, &a, &data, &why);
    if (r == -ERR_NOT_FOUND)
        return 0;
    if (r < 0) {
        *err = why;
        return r;
    }
    r = csi_conn_of(self, env, data.driver, &c, err);
    return r < 0 ? r : csi_unpublish(&c, data.handle, target, err);
}

static int unstage(const struct volume_plugin *self, const struct volume_env *env, const char *name,
                   const char *path, struct error *err)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(CSI_MEMORY_BYTES_MAX);
    unsigned capabilities = 0;
    struct csi_data data = { 0 };
    struct csi_conn c;
    int r = read_data(env, name, &a, &data, err);

    if (r == 0)
        r = csi_conn_of(self, env, data.driver, &c, err);
    if (r == 0)
        r = csi_capabilities(&c, &capabilities, err);
    if (r == 0 && csi_can(capabilities, STAGE_BIT))
        r = csi_unstage(&c, data.handle, path, err);
    return r;
}

/* A device that a pod still has stays staged. The data file goes last: what fails before can be repeated. */
static int csi_block_unstage(const struct volume_plugin *self, const struct volume_env *env, const char *name,
                             struct error *err)
{
    enum file_kind kind = FILE_MISSING;
    char staged[PATH_MAX], published[PATH_MAX], data[PATH_MAX], all[PATH_MAX];
    int r = devices_path(env->root, "staging", name, NULL, staged, err);

    if (r == 0)
        r = devices_path(env->root, "publish", name, NULL, published, err);
    if (r == 0)
        r = csi_block_data_dir(env->root, name, data, err);
    if (r == 0)
        r = block_check_unbound(published, err);
    if (r == 0)
        r = host_file_kind(staged, &kind, err);
    if (r == 0 && kind != FILE_MISSING)
        r = unstage(self, env, name, staged, err);
    if (r == 0)
        r = host_remove_own_tree(env->root, published, env->stop, err);
    if (r == 0)
        r = host_remove_own_tree(env->root, staged, env->stop, err);
    if (r < 0)
        return r;
    csi_parent(data, all);
    return host_remove_own_tree(env->root, all, env->stop, err);
}

const struct block_table csi_block_table = {
    .unmap = csi_block_unpublish,
    .paths = csi_block_paths,
    .stage = csi_block_stage,
    .publish = csi_block_publish,
    .unstage = csi_block_unstage,
    .reconstruct = csi_reconstruct_block,
};
