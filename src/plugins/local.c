/* local volumes: a directory of one node, or a block device with a file system or raw.
 *
 * A device is mounted once, in a directory of the plugin; a directory is its own global path and is never
 * mounted, unmounted or removed. Each pod gets a bind of it.
 *
 * The fsGroup of the first pod is applied to all files, before the bind, so that an incomplete change is
 * repeated after a crash. A later pod with another group gets a Warning and the volume as it is. The mount
 * table decides which pod is first, under a lock of the path, because two volumes may have the same
 * directory.
 *
 * A discovered volume has the identity of its disk. Nothing is set up while that disk is missing, because
 * files below an empty mount point belong to another disk. */
#include "plugins/builtin.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/json_out.h"
#include "api/local_volume.h"
#include "api/quote.h"
#include "base/cleanup.h"
#include "base/siphash.h"
#include "host/disk.h"
#include "host/mount_table.h"
#include "host/safe_path.h"
#include "io/file.h"
#include "plugins/layout.h"

#define NAME "kubernetes.io/local-volume"
#define LOCKS 64
#define DIR_MODE 0750
#define DEFAULT_TYPE "ext4"
#define OPTIONS_BYTES_MAX 65536
#define TEXT_BYTES_MAX 65536
#define MESSAGE_BYTES 1024
#define GROUP_ADVICE                                                                            \
    "consider using OnRootMismatch - https://kubernetes.io/docs/tasks/configure-pod-container/" \
    "security-context/#configure-volume-permission-and-ownership-change-policy-for-pods"

static bool local_can_support(const struct volume_plugin *self, const struct volume_spec *s)
{
    (void)self;
    return s->volume && spec_source(s).kind == SOURCE_LOCAL;
}

/* --- The device --- */

static const struct local_source *local_source(const struct volume_spec *s)
{
    return s->volume ? s->volume->source.local : NULL;
}

static int kind_of(const struct volume_spec *s, enum file_kind *ret, struct error *err)
{
    const struct local_source *source = local_source(s);
    enum file_kind kind = FILE_MISSING;
    int r;

    if (!source || source->path[0] == '\0')
        return error_set(err, ERR_INVALID, "local volume source is nil or local path is not set");
    r = host_file_kind(source->path, &kind, err);
    if (r < 0)
        return r;
    if (kind == FILE_MISSING)
        return error_set(err, ERR_NOT_FOUND, "path \"%s\" does not exist", source->path);
    if (kind != FILE_DIR && kind != FILE_BLOCK_DEVICE)
        return error_set(err, ERR_INVALID, "only directory and block device are supported");
    *ret = kind;
    return 0;
}

/* Checks that the disk at the path, links resolved, is the one that the volume was created for, if that is
 * recorded. */
static int check_disk(const struct volume_spec *s, const char *path, struct error *err)
{
    const char *recorded = object_annotation(&s->volume->obj, ANN_DISK);
    char present[DISK_NAME_BYTES] = "";
    int r = recorded ? disk_identify(/* table= */ NULL, path, present, err) : 0;

    if (r < 0)
        return error_wrap(err, "disk of local volume \"%s\" not found", spec_name(s));
    if (!recorded || disk_compare(recorded, present) != DISK_OTHER)
        return 0;
    return error_set(err, ERR_INVALID,
                     "another disk is at '%s': %s, and local volume \"%s\" was created for %s", path, present,
                     spec_name(s), recorded);
}

static int local_mount_path(const struct volume_plugin *self, const struct volume_env *env,
                            const struct volume_spec *s, char ret[PATH_MAX], struct error *err)
{
    char rest[PATH_MAX];
    enum file_kind kind = FILE_MISSING;
    int r = kind_of(s, &kind, err);

    (void)self;
    if (r < 0)
        return r;
    if (kind == FILE_DIR)
        return host_clean_path(local_source(s)->path, ret, err);
    if (strchr(spec_name(s), '/'))
        return error_set(err, ERR_INVALID, "volume '%s' cannot be the name of a directory", spec_name(s));
    (void)snprintf(rest, sizeof rest, "mounts/%s", spec_name(s));
    return layout_plugin_path(env->root, NAME, rest, ret, err);
}

static int mount_device(const struct volume_env *env, const struct device_request *q,
                        enum format_failure *ret_why, struct error *err)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(OPTIONS_BYTES_MAX);
    const struct local_source *source = local_source(&q->spec);
    const char *const ours[] = { q->spec.is_read_only ? "ro" : NULL, NULL };
    struct mount_plan plan = {
        .source = source->path,
        .target = q->mount_path,
        .type = source->fs_type[0] ? source->fs_type : DEFAULT_TYPE,
    };
    struct error failure = { 0 }, ignored;
    int r = volume_mount_options(&a, &q->spec, ours, &plan.options, err);

    if (r < 0)
        return r;
    r = device_format_and_mount(&env->tools, &plan, ret_why, &failure);
    if (r == 0)
        return 0;
    (void)host_clean_mount_point(&env->tools, q->mount_path, 0, &ignored); /* the first failure is reported */
    return error_set(err, failure.code, "local: failed to mount device %s at %s (fstype: %s), error %s",
                     source->path, q->mount_path, plan.type, failure.msg);
}

static int local_mount(const struct volume_plugin *self, const struct volume_env *env,
                       const struct device_request *q, enum format_failure *ret_why, struct error *err)
{
    enum host_path_state state = HOST_PATH_MISSING;
    enum file_kind kind = FILE_MISSING;
    int r = kind_of(&q->spec, &kind, err);

    (void)self;
    *ret_why = FORMAT_OK;
    if (r < 0 || kind == FILE_DIR)
        return r;
    r = host_path_state(q->mount_path, &state, err);
    if (r < 0 || state == HOST_PATH_MOUNTED)
        return r;
    if (state == HOST_PATH_CORRUPTED)
        r = host_clean_mount_point(&env->tools, q->mount_path, /* limit_ns= */ 0, err);
    if (r == 0)
        r = check_disk(&q->spec, local_source(&q->spec)->path, err); /* a blank device would be formatted */
    if (r == 0)
        r = host_make_path(q->mount_path, DIR_MODE, err);
    return r < 0 ? r : mount_device(env, q, ret_why, err);
}

/* A path that the plugin did not create is the user's own directory. */
static int local_unmount(const struct volume_plugin *self, const struct volume_env *env,
                         const char *mount_path, struct error *err)
{
    char base[PATH_MAX], path[PATH_MAX];
    int r = layout_plugin_path(env->root, NAME, "mounts", base, err);

    (void)self;
    if (r == 0)
        r = host_clean_path(mount_path, path, err);
    if (r < 0 || !host_path_is_below(path, base))
        return r;
    return host_clean_mount_point(&env->tools, path, /* limit_ns= */ 0, err);
}

/* --- Pods --- */

static struct mount_attributes local_attributes(const struct volume_plugin *self, const struct volume_spec *s)
{
    (void)self;
    return (struct mount_attributes){ .is_read_only = s->is_read_only, .is_managed = !s->is_read_only };
}

/* The state of one set_up(). */
struct set_up {
    const struct volume_env *env;
    const struct set_up_request *q;
    char from[PATH_MAX]; /* the global path, links resolved */
    char to[PATH_MAX];   /* the path of the pod */
    bool is_advice_given;
    bool is_device; /* the global path is a mount of this plugin */
};

/* The cleaned path of the volume. */
static int check_path(const struct volume_spec *s, char ret[PATH_MAX], struct error *err)
{
    const char *path = local_source(s) ? local_source(s)->path : "";
    char name[256];
    struct str rest = str_of(path);

    if (path[0] == '\0')
        return error_set(err, ERR_INVALID, "LocalVolume volume %s path is empty",
                         quote_text(name, sizeof name, str_of(spec_name(s))));
    while (rest.s)
        if (str_is(str_next(&rest, '/'), ".."))
            return error_set(err, ERR_INVALID, "invalid path: %s must not contain '..'", path);
    return host_clean_path(path, ret, err);
}

struct ref_search {
    const char *pods_dir;
    bool is_found;
};

static int on_ref(void *ctx, const struct mount_entry *e)
{
    struct ref_search *s = ctx;

    s->is_found = host_path_is_below(e->target, s->pods_dir);
    return s->is_found;
}

/* True if a pod already uses the volume. */
static int has_pods(const struct set_up *s, bool *ret, struct error *err)
{
    _cleanup_(mount_table_free_p) struct mount_table *t = NULL;
    struct ref_search search = { 0 };
    char root[PATH_MAX], pods_dir[PATH_MAX];
    int r = host_resolve_path(s->env->root, root, err);

    if (r == 0)
        r = mount_table_read(&t, err);
    if (r < 0)
        return r;
    if ((size_t)snprintf(pods_dir, sizeof pods_dir, "%s/pods", root) >= sizeof pods_dir)
        return error_set(err, ERR_INVALID, "path '%s' is too long", root);
    search.pods_dir = pods_dir;
    mount_table_refs(t, s->from, on_ref, &search);
    *ret = search.is_found;
    return 0;
}

static void warn_pod(const struct volume_env *env, const char *reason, const char *message)
{
    if (env->warn)
        env->warn(env->warn_ctx, reason, message);
}

static void on_progress(void *ctx, uint64_t files_done)
{
    struct set_up *s = ctx;
    const char *shown = strstr(s->to, s->q->pod->obj.uid); /* starting with the pod's uid */
    char message[MESSAGE_BYTES];

    if (!s->is_advice_given)
        (void)snprintf(message, sizeof message,
                       "Setting volume ownership for %s is taking longer than expected, " GROUP_ADVICE,
                       shown);
    else
        (void)snprintf(message, sizeof message,
                       "Setting volume ownership for %s, processed %" PRIu64 " files.", shown, files_done);
    s->is_advice_given = true;
    warn_pod(s->env, "VolumePermissionChangeInProgress", message);
}

static int take_ownership(struct set_up *s, struct error *err)
{
    struct ownership o = {
        .gid = (gid_t)s->q->fs_group,
        .is_guarded = !s->is_device,
        .dirs = s->env->dirs,
        .on_root_mismatch = s->q->on_root_mismatch,
        .stop = s->env->stop,
        .progress = s->env->clock ? on_progress : NULL,
        .clock = s->env->clock,
        .ctx = s,
    };
    bool walked;

    return host_own(s->from, &o, &walked, err);
}

/* Applies the group of the first pod. */
static int apply_group(struct set_up *s, struct error *err)
{
    char message[MESSAGE_BYTES];
    bool is_shared = false;
    gid_t gid = 0;
    int r;

    if (s->q->fs_group < 0)
        return 0;
    r = has_pods(s, &is_shared, err);
    if (r == 0 && !is_shared)
        return s->q->spec.is_read_only ? 0 : take_ownership(s, err);
    if (r == 0)
        r = host_group_of(s->from, &gid, err);
    if (r < 0 || (int64_t)gid == s->q->fs_group)
        return r;
    (void)snprintf(message, sizeof message,
                   "The requested fsGroup is %" PRId64
                   ", but the volume %s has GID %u. The volume may not be "
                   "shareable.",
                   s->q->fs_group, spec_name(&s->q->spec), (unsigned)gid);
    warn_pod(s->env, "AlreadyMountedVolume", message);
    return 0;
}

static int bind_to_pod(struct set_up *s, struct error *err)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(OPTIONS_BYTES_MAX);
    const char *const ours[] = { "bind", s->q->spec.is_read_only ? "ro" : NULL, NULL };
    struct mount_plan plan = { .source = s->from, .target = s->to, .type = "" };
    struct error ignored;
    int r = volume_mount_options(&a, &s->q->spec, ours, &plan.options, err);

    if (r == 0)
        r = host_make_path(s->to, DIR_MODE, err);
    if (r < 0)
        return r;
    r = host_mount(&s->env->tools, &plan, err);
    if (r == 0 && !s->is_device)
        r = check_disk(&s->q->spec, s->to, err); /* it may have been unmounted since the first check */
    if (r < 0)
        (void)host_clean_mount_point(&s->env->tools, s->to, 0,
                                     &ignored); /* the failure of the mount is reported */
    return r;
}

/* Serializes set_up() calls for one global path, so that the group of the first pod is applied. A few locks
 * serve all paths; two paths that share one wait for each other. */
static int lock_path(const struct set_up *s, int *ret_fd, struct error *err)
{
    uint64_t which = siphash_hash((struct hash_seed){ 0, 0 }, str_of(s->from)) % LOCKS;
    char dir[PATH_MAX], file[PATH_MAX];
    int r = layout_plugin_path(s->env->root, NAME, "locks", dir, err);

    if (r == 0)
        r = host_make_path(dir, DIR_MODE, err);
    if (r == 0 && snprintf(file, sizeof file, "%s/%" PRIu64, dir, which) >= (int)sizeof file)
        r = error_set(err, ERR_INVALID, "path '%s' is too long", dir);
    return r < 0 ? r : io_wait_for_lock(file, ret_fd, err);
}

static int local_set_up(const struct volume_plugin *self, const struct volume_env *env,
                        const struct set_up_request *q, struct error *err)
{
    _cleanup_(fd_closep) int lock = -1;
    struct set_up s = { .env = env, .q = q };
    enum host_path_state state = HOST_PATH_MISSING;
    char global[PATH_MAX] = "", given[PATH_MAX] = "";
    int r = check_path(&q->spec, given, err);

    if (r == 0)
        r = volume_check_node(&q->spec, q->node, err);
    if (r == 0)
        r = layout_path_slot(self, env->root, q->pod->obj.uid, spec_name(&q->spec), &q->spec, s.to, err);
    if (r == 0)
        r = local_mount_path(self, env, &q->spec, global, err);
    if (r == 0)
        r = host_resolve_path(global, s.from, err);
    s.is_device = r == 0 && strcmp(global, given) != 0;
    if (r == 0)
        r = lock_path(&s, &lock, err);
    if (r == 0)
        r = host_path_state(s.to, &state, err);
    if (r < 0 || state == HOST_PATH_MOUNTED)
        return r;
    if (!s.is_device)
        r = check_disk(&q->spec, s.from, err);
    if (r == 0)
        r = apply_group(&s, err);
    return r < 0 ? r : bind_to_pod(&s, err);
}

static int local_tear_down(const struct volume_plugin *self, const struct volume_env *env, const char *name,
                           const char *pod_uid, struct error *err)
{
    char dir[PATH_MAX];
    int r = layout_path_slot(self, env->root, pod_uid, name, /* spec= */ NULL, dir, err);

    return r < 0 ? r : host_clean_mount_point(&env->tools, dir, /* limit_ns= */ 0, err);
}

/* For a raw device only its size is known. */
static int local_usage(const struct volume_plugin *self, const struct volume_env *env, const char *path,
                       struct host_usage *ret, struct error *err)
{
    struct host_usage usage = { 0 };
    enum file_kind kind = FILE_MISSING;
    int r = host_file_kind(path, &kind, err);

    (void)self;
    (void)env;
    if (r < 0)
        return r;
    if (kind != FILE_BLOCK_DEVICE)
        return host_usage_of_fs(path, ret, err);
    r = device_size(path, &usage.capacity, err);
    if (r == 0)
        *ret = usage;
    return r;
}

/* --- Block volumes, expansion, reconstruction --- */

static int local_map(const struct volume_plugin *self, const struct volume_env *env,
                     const struct volume_spec *s, const char *device_path, char ret[PATH_MAX],
                     struct error *err)
{
    int r;

    (void)self;
    (void)env;
    (void)device_path; /* nothing was attached */
    if (!local_source(s) || local_source(s)->path[0] == '\0')
        return error_set(err, ERR_INVALID, "local volume source is nil or local path is not set");
    r = check_disk(s, local_source(s)->path, err);
    return r < 0 ? r : host_clean_path(local_source(s)->path, ret, err);
}

static int local_unmap(const struct volume_plugin *self, const struct volume_env *env, const char *name,
                       const char *pod_uid, struct error *err)
{
    (void)self;
    (void)env;
    (void)name;
    (void)pod_uid;
    (void)err;
    return 0;
}

static int local_expand(const struct volume_plugin *self, const struct volume_env *env,
                        const struct expand_request *q, bool *ret_done, struct error *err)
{
    enum file_kind kind = FILE_DIR;
    int r = 0;

    (void)self;
    if (q->spec.volume->mode != VOLUME_MODE_BLOCK)
        r = kind_of(&q->spec, &kind, err);
    if (r < 0)
        return r;
    if (kind == FILE_BLOCK_DEVICE)
        return device_grow_if_needed(&env->tools, local_source(&q->spec)->path, q->mount_path, ret_done, err);
    *ret_done = true; /* the size of raw devices and directories is not changed here */
    return 0;
}

struct device_search {
    const char *base;
    const char *device;
};

static int on_device_ref(void *ctx, const struct mount_entry *e)
{
    struct device_search *s = ctx;

    if (host_path_is_below(e->target, s->base))
        s->device = e->source;
    return s->device[0] != '\0';
}

/* The device whose global mount is the same file system as the pod's mount or, if that is gone, the one
 * mounted under the volume's name; "" for none. */
static const char *find_device(const struct mount_table *t, const char *pod_path, const char *base,
                               const char *name)
{
    struct device_search search = { base, "" };
    const struct mount_entry *e;
    char path[PATH_MAX + NAME_MAX + 2];

    mount_table_refs(t, pod_path, on_device_ref, &search);
    if (search.device[0] != '\0')
        return search.device;
    (void)snprintf(path, sizeof path, "%s/%s", base, name);
    e = mount_table_find(t, path);
    return e ? e->source : "";
}

static int volume_on(const char *name, const char *device, bool is_block, struct object **ret,
                     struct error *err)
{
    _cleanup_(buf_done_p) struct buf source = BUF_INIT(TEXT_BYTES_MAX);

    json_out_object(&source, "local");
    json_out_text(&source, "path", device);
    json_out_end_object(&source);
    return reconstruct_volume(name, &source, is_block, ret, err);
}

/* For a directory nothing more is known. */
static int local_reconstruct(const struct volume_plugin *self, const struct volume_env *env, const char *name,
                             const char *pod_uid, bool is_block, struct object **ret, struct error *err)
{
    _cleanup_(mount_table_free_p) struct mount_table *t = NULL;
    char root[PATH_MAX], dir[PATH_MAX], base[PATH_MAX];
    const char *device = "";
    int r = host_resolve_path(env->root, root, err);

    if (r == 0)
        r = layout_path_slot(self, root, pod_uid, name, /* spec= */ NULL, dir, err);
    if (r == 0)
        r = layout_plugin_path(root, NAME, "mounts", base, err);
    if (r == 0 && !is_block && !env->mounts)
        r = mount_table_read(&t, err);
    if (r < 0)
        return r;
    if (!is_block)
        device = find_device(env->mounts ? env->mounts : t, dir, base, name);
    return volume_on(name, device, is_block, ret, err);
}

static int local_reconstruct_device(const struct volume_plugin *self, const struct volume_env *env,
                                    const char *mount_path, struct object **ret, struct error *err)
{
    _cleanup_(mount_table_free_p) struct mount_table *t = NULL;
    const char *slash = strrchr(mount_path, '/');
    const struct mount_entry *e;
    int r = env->mounts ? 0 : mount_table_read(&t, err);

    (void)self;
    if (r < 0)
        return r;
    e = mount_table_find(env->mounts ? env->mounts : t, mount_path);
    return volume_on(slash ? slash + 1 : mount_path, e ? e->source : "", /* is_block= */ false, ret, err);
}

static int local_reconstruct_block(const struct volume_plugin *self, const struct volume_env *env,
                                   const char *name, struct object **ret, struct error *err)
{
    (void)self;
    (void)env;
    return volume_on(name, "", /* is_block= */ true, ret, err);
}

static const struct pod_table pod_table = {
    .path = layout_path_slot,
    .attributes = local_attributes,
    .set_up = local_set_up,
    .tear_down = local_tear_down,
    .usage = local_usage,
};
static const struct device_table device_table = {
    .mount_path = local_mount_path,
    .mount = local_mount,
    .unmount = local_unmount,
    .reconstruct = local_reconstruct_device,
};
static const struct block_table block_table = { .map = local_map,
                                                .unmap = local_unmap,
                                                .reconstruct = local_reconstruct_block };
static const struct expand_table expand_table = { .needs_fs_resize = true, .expand_on_node = local_expand };

const struct volume_plugin local_plugin = {
    .name = NAME,
    .can_support = local_can_support,
    .volume_name = volume_name_slot,
    .reconstruct = local_reconstruct,
    .access_modes = ACCESS_RWO,
    .takes_mount_options = true,
    .pods = &pod_table,
    .devices = &device_table,
    .block = &block_table,
    .expand = &expand_table,
};
