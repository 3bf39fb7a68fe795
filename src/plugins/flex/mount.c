/* Mounts of a driver's volumes: of devices once a node, of volumes once a pod. What the driver does not do
 * itself the host does: format and mount, bind, unmount. */
#include "plugins/flex/driver.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "host/device.h"
#include "host/files.h"
#include "host/mount.h"
#include "host/safe_path.h"
#include "plugins/layout.h"

#define PLUGIN_DIR "kubernetes.io/flexvolume"
#define DIR_MODE 0750

/* --- Mount points --- */

/* Makes the directory; *ret_mounted: what is mounted there already, and nothing is to be done. */
static int prepare(const struct volume_env *env, const char *path, bool *ret_mounted, struct error *err)
{
    enum host_path_state state;
    int r = host_path_state(path, &state, err);

    if (r < 0)
        return r;
    *ret_mounted = state == HOST_PATH_MOUNTED;
    if (state == HOST_PATH_MOUNTED)
        return 0;
    if (state == HOST_PATH_CORRUPTED) /* its daemon died: a new mount needs the place */
        r = host_clean_mount_point(&env->tools, path, FLEX_CALL_LIMIT_NS, err);
    return r < 0 ? r : host_make_path(path, DIR_MODE, err);
}

/* After a failure. A call that may still be going on may still mount: only an empty directory goes then. */
static void undo(const struct volume_env *env, const char *path, int r)
{
    struct error ignored = { 0 }; /* the failure itself is told */

    if (r == -ERR_TIMEOUT || r == -ERR_CANCELLED)
        (void)host_remove_empty_dir(path, &ignored);
    else
        (void)host_clean_mount_point(&env->tools, path, FLEX_CALL_LIMIT_NS, &ignored);
}

static int run_unmount(const struct volume_plugin *self, const struct volume_env *env,
                       enum flex_command command, const char *path, struct error *err)
{
    const struct flex_call call = { .command = command, .args = { path } };
    struct flex_answer answer;
    struct error why = { 0 };
    int r = flex_run(flex_driver_of(self), env, &call, &answer, &why);

    if (r == -ERR_UNSUPPORTED)
        return host_clean_mount_point(&env->tools, path, /* limit_ns= */ 0, err);
    if (r < 0) {
        *err = why;
        return r;
    }
    return host_remove_empty_dir(path, err); /* which the driver may have done */
}

/* --- Devices --- */

static bool flex_can_mount(const struct volume_plugin *self, const struct volume_spec *s)
{
    (void)self;
    (void)s;
    return true;
}

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

/* What stands for mountdevice: without a device there is nothing to mount. */
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
    struct flex_call call = { .command = FLEX_MOUNT_DEVICE };
    struct flex_answer answer;
    struct error why = { 0 };
    bool is_mounted = false;
    int r = flex_volume_json(&q->spec, /* q= */ NULL, &json, err);

    if (r == 0)
        r = prepare(env, q->mount_path, &is_mounted, err);
    if (r < 0 || is_mounted)
        return r;
    call.args[0] = q->mount_path;
    call.args[1] = q->device_path;
    call.args[2] = buf_cstr(&json);
    r = flex_run(flex_driver_of(self), env, &call, &answer, &why);
    if (r == -ERR_UNSUPPORTED)
        r = mount_device_here(env, q, ret_why, err);
    else if (r < 0)
        *err = why;
    if (r < 0)
        undo(env, q->mount_path, r);
    return r;
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
    .can_mount = flex_can_mount,
    .mount_path = flex_device_path,
    .mount = flex_mount_device,
    .unmount = flex_unmount_device,
    .reconstruct = flex_reconstruct_device,
};

/* --- Pods --- */

static int flex_pod_path(const struct volume_plugin *self, const char *root, const char *pod_uid,
                         const char *name, const struct volume_spec *spec, char ret[PATH_MAX],
                         struct error *err)
{
    (void)spec;
    return layout_pod_path(root, pod_uid, "volumes", self->name, name, ret, err);
}

static struct mount_attributes flex_attributes(const struct volume_plugin *self,
                                               const struct volume_spec *spec)
{
    bool is_read_only = flex_is_read_only(spec);

    return (struct mount_attributes){
        .is_read_only = is_read_only,
        .is_managed = !is_read_only && flex_driver_of(self)->can.sets_group,
    };
}

/* What stands for mount: the device's mount, once more. */
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

/* The group may look at its files; where it cannot be given them it finds out by itself. */
static void give_to_group(const struct volume_plugin *self, const struct volume_env *env,
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

static int run_mount(const struct volume_plugin *self, const struct volume_env *env,
                     const struct set_up_request *q, const char *path, const char *json, struct error *err)
{
    const struct flex_call call = { .command = FLEX_MOUNT, .args = { path, json } };
    struct flex_answer answer;
    struct error why = { 0 };
    int r = flex_run(flex_driver_of(self), env, &call, &answer, &why);

    if (r == -ERR_UNSUPPORTED)
        return bind_here(self, env, &q->spec, path, err);
    if (r < 0)
        *err = why;
    return r;
}

static int flex_set_up(const struct volume_plugin *self, const struct volume_env *env,
                       const struct set_up_request *q, struct error *err)
{
    _cleanup_(buf_done_p) struct buf json = BUF_INIT(FLEX_JSON_BYTES_MAX);
    char path[PATH_MAX];
    bool is_mounted = false;
    int r = flex_pod_path(self, env->root, q->pod->obj.uid, spec_name(&q->spec), &q->spec, path, err);

    if (r == 0)
        r = flex_volume_json(&q->spec, q, &json, err);
    if (r == 0)
        r = prepare(env, path, &is_mounted, err);
    if (r < 0 || is_mounted)
        return r;
    r = run_mount(self, env, q, path, buf_cstr(&json), err);
    if (r < 0)
        undo(env, path, r);
    else
        give_to_group(self, env, q, path);
    return r;
}

static int flex_tear_down(const struct volume_plugin *self, const struct volume_env *env, const char *name,
                          const char *pod_uid, struct error *err)
{
    enum host_path_state state = HOST_PATH_MISSING;
    char path[PATH_MAX];
    int r = flex_pod_path(self, env->root, pod_uid, name, /* spec= */ NULL, path, err);

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
        return error_set(err, ERR_UNSUPPORTED, "driver %s has no metrics", self->name);
    return host_usage_of_fs(path, ret, err);
}

const struct pod_table flex_pod_table = {
    .path = flex_pod_path,
    .attributes = flex_attributes,
    .set_up = flex_set_up,
    .tear_down = flex_tear_down,
    .usage = flex_usage,
};
