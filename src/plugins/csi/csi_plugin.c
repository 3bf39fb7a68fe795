/* The CSI plugin: its tables, its names, and volumes that are found on disk after a restart. Attaching is
 * done by the attach controller, through VolumeAttachments. */
#include "plugins/csi/csi_plugin.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "api/json_out.h"
#include "plugins/csi/csi_int.h"
#include "plugins/layout.h"

static bool csi_can_support(const struct volume_plugin *self, const struct volume_spec *s)
{
    (void)self;
    return spec_source(s).kind == SOURCE_CSI;
}

static int csi_volume_name(const struct volume_plugin *self, const struct volume_spec *s, struct buf *ret,
                           struct error *err)
{
    const struct csi_source *source = spec_source(s).csi;

    (void)self;
    buf_addf(ret, "%s^%s", source->driver, source->handle);
    return buf_check(ret, "volume name", err);
}

/* --- Attaching: done by the attach controller, through VolumeAttachments --- */

static bool csi_can_attach(const struct volume_plugin *self, const struct volume_spec *s)
{
    const struct csi_facts *f = &CONTAINER_OF((uintptr_t)self, const struct csi_plugin, plugin)->facts;

    return s->volume && (!f->is_attach_required || f->is_attach_required(f->ctx, spec_source(s).csi->driver));
}

static int reject_attach(struct error *err)
{
    return error_set(err, ERR_UNSUPPORTED, "CSI volumes are attached through VolumeAttachments");
}

static int csi_attach(const struct volume_plugin *self, const struct volume_env *env,
                      const struct volume_spec *s, const char *node, char *ret_device, struct error *err)
{
    (void)self;
    (void)env;
    (void)s;
    (void)node;
    (void)ret_device;
    return reject_attach(err);
}

static int csi_detach(const struct volume_plugin *self, const struct volume_env *env, const char *volume,
                      const char *node, struct error *err)
{
    (void)self;
    (void)env;
    (void)volume;
    (void)node;
    return reject_attach(err);
}

static int csi_is_attached(const struct volume_plugin *self, const struct volume_env *env,
                           const struct volume_spec *s, const char *node, bool *ret, struct error *err)
{
    (void)self;
    (void)env;
    (void)s;
    (void)node;
    (void)ret;
    return reject_attach(err);
}

/* The driver finds its device itself: only the VolumeAttachment is waited for, and it comes with the request.
 */
static int csi_wait(const struct volume_plugin *self, const struct volume_env *env,
                    const struct volume_spec *s, const char *device, uint64_t limit_ns, char *ret_device,
                    struct error *err)
{
    (void)self;
    (void)env;
    (void)s;
    (void)limit_ns;
    (void)err;
    (void)snprintf(ret_device, PATH_MAX, "%s", device);
    return 0;
}

static const struct attach_table csi_attach_table = {
    .can_attach = csi_can_attach,
    .attach = csi_attach,
    .detach = csi_detach,
    .is_attached = csi_is_attached,
    .wait = csi_wait,
};

/* --- Reconstruction --- */

/* From the data file in dir. name: for a file that does not contain it. pod_uid: NULL for a staged volume,
 * which is never inline. */
static int reconstruct_from(const char *dir, const char *name, const char *pod_uid, bool is_block,
                            struct object **ret, struct error *err)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(CSI_MEMORY_BYTES_MAX);
    _cleanup_(buf_done_p) struct buf source = BUF_INIT(CSI_MEMORY_BYTES_MAX);
    bool is_persistent;
    struct csi_data d = { 0 };
    int r = csi_data_read(dir, &a, &d, err);

    if (r < 0)
        return r;
    assert(d.mode); /* set by csi_data_read() */
    is_persistent = !pod_uid || strcmp(d.mode, CSI_MODE_EPHEMERAL) != 0;
    json_out_object(&source, "csi");
    json_out_text(&source, "driver", d.driver);
    if (is_persistent)
        json_out_text(&source, "volumeHandle", d.handle);
    json_out_end_object(&source);
    if (d.spec_name[0] == '\0')
        d.spec_name = name;
    return is_persistent ? reconstruct_volume(d.spec_name, &source, is_block, ret, err)
                         : reconstruct_pod(d.spec_name, pod_uid, &source, ret, err);
}

static int csi_reconstruct(const struct volume_plugin *self, const struct volume_env *env, const char *name,
                           const char *pod_uid, bool is_block, struct object **ret, struct error *err)
{
    char dir[PATH_MAX];
    int r = is_block ? csi_block_data_dir(env->root, name, dir, err)
                     : layout_pod_path(env->root, pod_uid, "volumes", CSI_PLUGIN, name, dir, err);

    (void)self;
    return r < 0 ? r : reconstruct_from(dir, name, pod_uid, is_block, ret, err);
}

/* The data file is next to the directory and does not contain the name of the PersistentVolume; the
 * directory's name, a digest of the handle, is used instead. A file of another volume is refused, because the
 * wrong volume would be unstaged. */
int csi_reconstruct_staged(const struct volume_plugin *self, const struct volume_env *env,
                           const char *mount_path, struct object **ret, struct error *err)
{
    _cleanup_(object_unref_p) struct object *found = NULL;
    const struct csi_source *source;
    char dir[PATH_MAX], path[PATH_MAX];
    const char *slash;
    int r;

    (void)self;
    csi_parent(mount_path, dir);
    slash = strrchr(dir, '/');
    r = reconstruct_from(dir, slash ? slash + 1 : dir, /* pod_uid= */ NULL, /* is_block= */ false, &found,
                         err);
    if (r < 0)
        return r;
    source = volume_of(found)->source.csi;
    r = csi_stage_path(env->root, source->driver, source->handle, path, err);
    if (r == 0 && strcmp(path, mount_path) != 0)
        r = error_set(err, ERR_INVALID, "data file in '%s' belongs to volume '%s' of driver '%s'", dir,
                      source->handle, source->driver);
    if (r == 0)
        *ret = TAKE(found);
    return r;
}

int csi_reconstruct_block(const struct volume_plugin *self, const struct volume_env *env, const char *name,
                          struct object **ret, struct error *err)
{
    char dir[PATH_MAX];
    int r = csi_block_data_dir(env->root, name, dir, err);

    (void)self;
    return r < 0 ? r : reconstruct_from(dir, name, /* pod_uid= */ NULL, /* is_block= */ true, ret, err);
}

/* --- The plugin --- */

static const struct expand_table csi_expand_table = {
    .needs_fs_resize = true,
    .expand_on_node = csi_expand_on_node,
};

void csi_plugin_init(struct csi_plugin *p, struct csi_drivers *drivers, struct rpc_client *rpc,
                     const struct csi_facts *facts)
{
    *p = (struct csi_plugin){
        .plugin = {
            .name = CSI_PLUGIN,
            .can_support = csi_can_support,
            .volume_name = csi_volume_name,
            .reconstruct = csi_reconstruct,
            .access_modes = ACCESS_RWO | ACCESS_ROX | ACCESS_RWX | ACCESS_RWOP,
            .takes_mount_options = true,
            .pods = &csi_pod_table,
            .devices = &csi_device_table,
            .attach = &csi_attach_table,
            .block = &csi_block_table,
            .expand = &csi_expand_table,
        },
        .drivers = drivers,
        .rpc = rpc,
        .facts = facts ? *facts : (struct csi_facts){ 0 },
    };
}
