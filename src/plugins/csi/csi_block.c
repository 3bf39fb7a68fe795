/* Raw block volumes of CSI drivers, below plugins/kubernetes.io/csi/volumeDevices:
 *
 *   NAME/dev            the binds that all plugins have (plugins/block.h)
 *   NAME/data           the data file
 *   NAME/pods/UID       a directory: the driver may have published the volume for this pod
 *   staging/NAME        the staging path of the driver
 *   publish/NAME/UID    the file that the driver creates for a pod: the device
 *
 * The data file is written before a call and removed last, so that every step can be repeated after a crash.
 * A driver may create its file long after the agent was killed: NAME/pods/UID exists from before the call
 * to publish until the driver has unpublished, and the volume counts as used by the pod
 * (node/reconstruct.h). */
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
    if (r == 0) /* both names are valid path components here */
        r = devices_path(root, name, "dev", NULL, p.global_dir, err);
    if (r == 0)
        r = devices_path(root, name, "dev", pod_uid, p.global_file, err);
    if (r == 0)
        *ret = p;
    return r;
}

static int write_data(const struct volume_env *env, const struct volume_spec *s, struct error *err)
{
    char dir[PATH_MAX];
    int r = csi_block_data_dir(env->root, spec_name(s), dir, err);

    return r < 0 ? r : csi_pod_data_write(env, s, spec_source(s).csi->handle, "", dir, err);
}

static int csi_block_stage(const struct volume_plugin *self, const struct volume_env *env,
                           const struct block_request *q, struct error *err)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(CSI_MEMORY_BYTES_MAX);
    Csi__V1__NodeStageVolumeRequest m;
    struct error ignored = { 0 };
    struct csi_conn c;
    char path[PATH_MAX];
    int r = csi_conn_open(self, env, spec_source(&q->spec).csi->driver, &c, err);

    assert(q->csi);
    c.is_migrated = q->spec.is_migrated;
    if (r == 0)
        r = csi_stage_message(&a, &c, &q->spec, q->csi, /* is_block= */ true, &m, err);
    if (r == 0)
        r = devices_path(env->root, "staging", spec_name(&q->spec), NULL, path, err);
    if (r < 0)
        return r;
    r = write_data(env, &q->spec, err);
    if (r == 0 && !csi_can(&c, STAGE_BIT))
        return 0;
    if (r == 0)
        r = host_make_path(path, CSI_DIR_MODE, err);
    if (r < 0) /* an earlier call may have succeeded */
        return -(int)(err->code = ERR_INCOMPLETE);
    m.staging_target_path = path;
    r = csi_call(&c, CSI_NODE_STAGE, &m.base, NULL, err);
    if (r < 0 && r != -ERR_UNCERTAIN && host_remove_empty_dir(path, &ignored) < 0)
        return -(int)(err->code = ERR_INCOMPLETE); /* the failure of the call is reported */
    return r;
}

/* The pod of a call to publish, for the next start of the agent. */
struct pod_note {
    char path[PATH_MAX];
    bool is_new;
};

static int note_pod(const struct volume_env *env, const char *name, const char *pod_uid, struct pod_note *ret,
                    struct error *err)
{
    enum file_kind kind = FILE_MISSING;
    int r = devices_path(env->root, name, "pods", pod_uid, ret->path, err);

    if (r == 0)
        r = host_file_kind(ret->path, &kind, err);
    ret->is_new = kind == FILE_MISSING;
    return r < 0 ? r : host_make_path(ret->path, CSI_DIR_MODE, err);
}

/* Drivers that do not stage get the staging path too. */
static int csi_block_publish(const struct volume_plugin *self, const struct volume_env *env,
                             const struct block_request *q, char ret[PATH_MAX], struct error *err)
{
    const struct csi_source *source = spec_source(&q->spec).csi;
    char staged[PATH_MAX], target[PATH_MAX], dir[PATH_MAX];
    struct csi_publish publish = { .spec = &q->spec,
                                   .pod = q->pod,
                                   .csi = q->csi,
                                   .is_block = true,
                                   .fs_group = -1,
                                   .handle = source->handle,
                                   .target = target,
                                   .stage_path = staged,
                                   .arena = ARENA_INIT(CSI_MEMORY_BYTES_MAX) };
    Csi__V1__NodePublishVolumeRequest m;
    struct error ignored = { 0 };
    struct pod_note note;
    struct csi_conn c;
    int r = csi_conn_open(self, env, source->driver, &c, err);

    assert(q->csi);
    if (r == 0)
        r = csi_publish_message(&publish, &c, &m, err);
    if (r == 0)
        r = devices_path(env->root, "staging", spec_name(&q->spec), NULL, staged, err);
    if (r == 0)
        r = devices_path(env->root, "publish", spec_name(&q->spec), q->pod->obj.uid, target, err);
    if (r == 0)
        r = write_data(env, &q->spec, err);
    if (r == 0) {
        csi_parent(target, dir);
        r = host_make_path(dir, CSI_DIR_MODE, err);
    }
    if (r == 0)
        r = note_pod(env, spec_name(&q->spec), q->pod->obj.uid, &note, err);
    if (r == 0) {
        r = csi_call(&c, CSI_NODE_PUBLISH, &m.base, NULL, err);
        if (r < 0 && r != -ERR_UNCERTAIN && note.is_new)
            (void)host_remove_empty_dir(note.path, &ignored); /* the failure of the call is reported */
    }
    if (r == 0)
        (void)snprintf(ret, PATH_MAX, "%s", target);
    arena_done(&publish.arena);
    return r;
}

/* Without a data file nothing is left to do. */
static int csi_block_unpublish(const struct volume_plugin *self, const struct volume_env *env,
                               const char *name, const char *pod_uid, struct error *err)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(CSI_MEMORY_BYTES_MAX);
    struct error why = { 0 };
    struct csi_data data = { 0 };
    char target[PATH_MAX], dir[PATH_MAX], note[PATH_MAX];
    int r = devices_path(env->root, "publish", name, pod_uid, target, err);

    if (r == 0)
        r = csi_block_data_dir(env->root, name, dir, err);
    if (r == 0)
        r = devices_path(env->root, name, "pods", pod_uid, note, err);
    if (r < 0)
        return r;
    r = csi_data_read(dir, &a, &data, &why);
    if (r == -ERR_NOT_FOUND)
        return 0;
    r = r < 0 ? error_pass(err, &why) : csi_unpublish(self, env, &data, target, err);
    return r < 0 ? r : host_remove_empty_dir(note, err);
}

/* A device that a pod still uses stays staged. The data file is removed last, so that a failed step can be
 * repeated. */
static int csi_block_unstage(const struct volume_plugin *self, const struct volume_env *env, const char *name,
                             struct error *err)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(CSI_MEMORY_BYTES_MAX);
    enum file_kind kind = FILE_MISSING;
    struct csi_data data = { 0 };
    char staged[PATH_MAX], published[PATH_MAX], dir[PATH_MAX], all[PATH_MAX];
    int r = devices_path(env->root, "staging", name, NULL, staged, err);

    if (r == 0)
        r = devices_path(env->root, "publish", name, NULL, published, err);
    if (r == 0)
        r = csi_block_data_dir(env->root, name, dir, err);
    if (r == 0)
        r = block_check_unbound(published, err);
    if (r == 0)
        r = host_file_kind(staged, &kind, err);
    if (r == 0 && kind != FILE_MISSING) {
        r = csi_data_read(dir, &a, &data, err);
        if (r == 0)
            r = csi_unstage(self, env, &data, staged, err);
    }
    if (r == 0)
        r = host_remove_own_tree(env->root, published, env->stop, err);
    if (r == 0)
        r = host_remove_own_tree(env->root, staged, env->stop, err);
    if (r < 0)
        return r;
    csi_parent(dir, all);
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
