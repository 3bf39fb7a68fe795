/* Mounts of FlexVolumes: devices once per node, volumes once per pod. What the driver does not support is
 * done here: format and mount, bind, unmount. */
#include "plugins/flex/driver.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "host/device.h"
#include "host/files.h"
#include "host/mount_syscall.h"
#include "host/safe_path.h"
#include "plugins/layout.h"

#define PLUGIN_DIR "kubernetes.io/flexvolume"
#define DIR_MODE 0750

/* --- Mount points --- */

/* Creates the directory. *ret_mounted: already mounted, nothing to do. */
static int prepare_mount_point(const struct volume_env *env, const char *path, bool *ret_mounted,
                               struct error *err)
{
    enum host_path_state state;
    int r = host_path_state(path, &state, err);

    if (r < 0)
        return r;
    *ret_mounted = state == HOST_PATH_MOUNTED;
    if (state == HOST_PATH_MOUNTED)
        return 0;
    if (state == HOST_PATH_CORRUPTED) /* its FUSE daemon died: unmount it before mounting again */
        r = host_clean_mount_point(&env->tools, path, FLEX_CALL_LIMIT_NS, err);
    return r < 0 ? r : host_make_path(path, DIR_MODE, err);
}

/* Cleans up after a failed call; returns its r and err. A call that may still run may still mount: then only
 * an empty directory is removed. ERR_INCOMPLETE: a mount of the call may be left. */
static int undo_mount(const struct volume_env *env, const char *path, int r, struct error *err)
{
    struct error ignored = { 0 };

    if (r == -ERR_UNCERTAIN)
        (void)host_remove_empty_dir(path, &ignored);
    else if (host_clean_mount_point(&env->tools, path, FLEX_CALL_LIMIT_NS, &ignored) < 0)
        r = -(int)(err->code = ERR_INCOMPLETE);
    return r;
}

static int run_unmount(const struct volume_plugin *self, const struct volume_env *env,
                       enum flex_command command, const char *path, struct error *err)
{
    const struct flex_call call = { .command = command, .args = { path } };
    struct flex_answer answer;
    bool has;
    int r = flex_try(self, env, &call, &answer, &has, err);

    if (r == 0 && !has)
        return host_clean_mount_point(&env->tools, path, /* limit_ns= */ 0, err);
    return r < 0 ? r : host_remove_empty_dir(path, err); /* the driver may have removed it */
}

/* --- Devices --- */

int flex_device_path(const struct volume_plugin *self, const struct volume_env *env,
                     const struct volume_spec *s, char ret[PATH_MAX], struct error *err)
{
    char rest[PATH_MAX];
    const char *name = spec_name(s);
    int n = snprintf(rest, sizeof rest, "%s/mounts/%s", self->name, name);

    if (n < 0 || (size_t)n >= sizeof rest || strchr(name, '/'))
        return error_set(err, ERR_INVALID, "volume '%s' cannot be the name of a directory", name);
    return layout_plugin_path(env->root, PLUGIN_DIR, rest, ret, err);
}

/* Default for mountdevice: without a device there is nothing to mount. */
static int mount_device_here(const struct volume_env *env, const struct device_request *q,
                             enum format_failure *ret_why, struct error *err)
{
    const char *options[] = { flex_is_read_only(&q->spec) ? "ro" : "rw" };
    const struct mount_plan plan = {
        .source = q->device_path,
        .target = q->mount_path,
        .type = spec_source(&q->spec).flex->fs_type,
        .options = { options, ARRAY_LEN(options) },
    };

    if (q->device_path[0] == '\0')
        return 0;
    return device_format_and_mount(&env->tools, &plan, ret_why, err);
}

static int flex_mount_device(const struct volume_plugin *self, const struct volume_env *env,
                             const struct device_request *q, enum format_failure *ret_why, struct error *err)
{
    _cleanup_(buf_done_p) struct buf json = BUF_INIT(FLEX_JSON_BYTES_MAX);
    struct flex_call call = { .command = FLEX_MOUNT_DEVICE, .args = { q->mount_path, q->device_path } };
    struct flex_answer answer;
    bool is_mounted = false, has = true;
    int r = flex_volume_json(&q->spec, /* q= */ NULL, &json, err);

    if (r == 0)
        r = prepare_mount_point(env, q->mount_path, &is_mounted, err);
    if (r < 0 || is_mounted)
        return r;
    call.args[2] = buf_cstr(&json);
    r = flex_try(self, env, &call, &answer, &has, err);
    if (r == 0 && !has)
        r = mount_device_here(env, q, ret_why, err);
    return r < 0 ? undo_mount(env, q->mount_path, r, err) : 0;
}

static int flex_unmount_device(const struct volume_plugin *self, const struct volume_env *env,
                               const char *mount_path, struct error *err)
{
    enum host_path_state state;
    int r = host_path_state(mount_path, &state, err);

    if (r < 0)
        return r;
    if (state == HOST_PATH_MOUNTED || state == HOST_PATH_CORRUPTED)
        return run_unmount(self, env, FLEX_UNMOUNT_DEVICE, mount_path, err);
    return host_remove_empty_dir(mount_path, err);
}

const struct device_table flex_device_table = {
    .mount_path = flex_device_path,
    .mount = flex_mount_device,
    .unmount = flex_unmount_device,
    .reconstruct = flex_reconstruct_device,
};

/* --- Pods --- */

static struct mount_attributes flex_attributes(const struct volume_plugin *self,
                                               const struct volume_spec *spec)
{
    bool is_read_only = flex_is_read_only(spec);

    return (struct mount_attributes){
        .is_read_only = is_read_only,
        .is_managed = !is_read_only && flex_driver_of(self)->can.sets_group,
    };
}

/* Default for mount: a bind of the device's mount. */
static int bind_here(const struct volume_plugin *self, const struct volume_env *env,
                     const struct volume_spec *s, const char *path, struct error *err)
{
    const char *options[] = { "bind", "ro" };
    char device[PATH_MAX];
    const struct mount_plan plan = {
        .source = device,
        .target = path,
        .type = "",
        .options = { options, flex_is_read_only(s) ? 2 : 1 },
    };
    int r = flex_device_path(self, env, s, device, err);

    return r < 0 ? r : host_mount(&env->tools, &plan, err);
}

/* Best effort: without the group a pod gets permission errors from its files. */
static void apply_fs_group(const struct volume_plugin *self, const struct volume_env *env,
                           const struct set_up_request *q, const char *path)
{
    const struct ownership how = {
        .gid = (gid_t)q->fs_group,
        .on_root_mismatch = q->on_root_mismatch,
        .stop = env->stop,
    };
    struct error ignored = { 0 };
    bool walked;

    if (q->fs_group >= 0 && flex_attributes(self, &q->spec).is_managed)
        (void)host_own(path, &how, &walked, &ignored);
}

static int flex_set_up(const struct volume_plugin *self, const struct volume_env *env,
                       const struct set_up_request *q, struct error *err)
{
    _cleanup_(buf_done_p) struct buf json = BUF_INIT(FLEX_JSON_BYTES_MAX);
    char path[PATH_MAX];
    struct flex_call call = { .command = FLEX_MOUNT, .args = { path } };
    struct flex_answer answer;
    bool is_mounted = false, has = true;
    int r = layout_path_slot(self, env->root, q->pod->obj.uid, spec_name(&q->spec), &q->spec, path, err);

    if (r == 0)
        r = flex_volume_json(&q->spec, q, &json, err);
    if (r == 0)
        r = prepare_mount_point(env, path, &is_mounted, err);
    if (r < 0 || is_mounted)
        return r;
    call.args[1] = buf_cstr(&json);
    r = flex_try(self, env, &call, &answer, &has, err);
    if (r == 0 && !has)
        r = bind_here(self, env, &q->spec, path, err);
    if (r < 0)
        return undo_mount(env, path, r, err);
    apply_fs_group(self, env, q, path);
    return 0;
}

static int flex_tear_down(const struct volume_plugin *self, const struct volume_env *env, const char *name,
                          const char *pod_uid, struct error *err)
{
    enum host_path_state state = HOST_PATH_MISSING;
    char path[PATH_MAX];
    int r = layout_path_slot(self, env->root, pod_uid, name, /* spec= */ NULL, path, err);

    if (r == 0)
        r = host_path_state(path, &state, err);
    if (r < 0 || state == HOST_PATH_MISSING)
        return r;
    return run_unmount(self, env, FLEX_UNMOUNT, path, err);
}

static int flex_usage(const struct volume_plugin *self, const struct volume_env *env, const char *path,
                      struct host_usage *ret, struct error *err)
{
    (void)env;
    if (!flex_driver_of(self)->can.has_metrics)
        return error_set(err, ERR_UNSUPPORTED, "driver %s does not report volume metrics", self->name);
    return host_usage_of_fs(path, ret, err);
}

const struct pod_table flex_pod_table = {
    .path = layout_path_slot,
    .attributes = flex_attributes,
    .set_up = flex_set_up,
    .tear_down = flex_tear_down,
    .usage = flex_usage,
};
