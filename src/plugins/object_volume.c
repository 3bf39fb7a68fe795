/* Volumes that show objects as files: configMap, secret, downwardAPI, projected.
 *
 * All four are set up the same way: the files are built, a directory of the emptyDir plugin is created if
 * needed (on disk for a ConfigMap, in memory for possible secrets), directories for volumes that the pod
 * mounts inside are created, and the files are replaced atomically. A failure before the replacement keeps
 * the old files; one during it removes the volume, so that no pod reads an incomplete one.
 *
 * File names are checked when the files are built: an object that cannot be shown keeps its last good
 * version. */
#include "plugins/builtin.h"

#include <stdio.h>
#include <string.h>

#include "api/json_out.h"
#include "base/cleanup.h"
#include "host/atomic_files.h"
#include "host/safe_path.h"
#include "plugins/content.h"
#include "plugins/empty_dir.h"
#include "plugins/layout.h"

#define NESTED_MODE 0755
#define ARENA_BYTES_MAX ((size_t)64 << 20)
#define WRAPPED_PREFIX "wrapped_"
#define SOURCE_BYTES_MAX 64

static enum pod_volume_type type_of(const struct volume_plugin *self)
{
    return self == &config_map_plugin     ? POD_VOLUME_CONFIG_MAP
           : self == &secret_plugin       ? POD_VOLUME_SECRET
           : self == &downward_api_plugin ? POD_VOLUME_DOWNWARD_API
                                          : POD_VOLUME_PROJECTED;
}

/* The directory's name in the emptyDir plugin. */
static int wrapped_name(const char *volume, char ret[NAME_MAX + 1], struct error *err)
{
    int n = snprintf(ret, NAME_MAX + 1, WRAPPED_PREFIX "%s", volume);

    return n < 0 || n > NAME_MAX ? error_set(err, ERR_INVALID, "name '%s' is too long", volume) : 0;
}

/* --- Mount points for volumes inside --- */

/* The path of a mount inside another one; NULL if it is not inside. */
static const char *path_inside(const char *outer, const char *inner)
{
    size_t len = strlen(outer);

    while (len > 0 && outer[len - 1] == '/')
        len--;
    if (strncmp(inner, outer, len) != 0 || inner[len] != '/')
        return NULL;
    inner += len;
    while (*inner == '/')
        inner++;
    return *inner ? inner : NULL;
}

static int make_nested(const struct pod *pod, const struct pod_container *c, const struct pod_mount *outer,
                       const char *dir, struct error *err)
{
    for (uint32_t i = 0; i < c->mounts_count; i++) {
        const char *rest = path_inside(outer->path, c->mounts[i].path);
        struct str parts = str_of(rest ? rest : "");
        int r;
        if (!rest || strcmp(c->mounts[i].volume, outer->volume) == 0)
            continue;
        while (parts.s)
            if (str_is(str_next(&parts, '/'), ".."))
                return error_set(err, ERR_INVALID,
                                 "invalid destination %s in mount point %s of container %s in pod %s",
                                 c->mounts[i].path, outer->path, c->name, pod->obj.name);
        r = host_make_below(dir, rest, NESTED_MODE, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Mounts at the same path, and those of the volume itself, are not inside. */
static int make_all_nested(const struct pod *pod, const char *volume, const char *dir, struct error *err)
{
    int r = 0;

    for (uint32_t i = 0; i < pod->containers_count; i++) {
        const struct pod_container *c = &pod->containers[i];
        for (uint32_t m = 0; m < c->mounts_count && r == 0; m++)
            if (strcmp(c->mounts[m].volume, volume) == 0)
                r = make_nested(pod, c, &c->mounts[m], dir, err);
    }
    return r;
}

/* --- Setting up --- */

struct owning {
    const char *path;
    struct ownership how;
};

static int set_owner(void *ctx, struct error *err)
{
    const struct owning *o = ctx;
    bool walked;

    return host_own(o->path, &o->how, &walked, err);
}

static int write_files(const struct volume_env *env, const struct set_up_request *q, const char *path,
                       const struct atomic_files *files, struct error *err)
{
    struct owning owning = {
        .path = path,
        .how = { .gid = (gid_t)q->fs_group, .is_read_only = true, .stop = env->stop },
    };
    struct atomic_write how = {
        .now_real_ns = clock_real_ns(env->clock),
        .random = q->random,
        .set_owner = q->fs_group >= 0 ? set_owner : NULL,
        .ctx = &owning,
    };
    bool changed;

    return atomic_files_write(path, files, &how, &changed, err);
}

static int object_volume_tear_down(const struct volume_plugin *self, const struct volume_env *env,
                                   const char *name, const char *pod_uid, struct error *err)
{
    char path[PATH_MAX], wrapped[NAME_MAX + 1];
    int r = layout_path_slot(self, env->root, pod_uid, name, /* spec= */ NULL, path, err);

    if (r == 0)
        r = wrapped_name(name, wrapped, err);
    return r < 0 ? r : empty_dir_tear_down(env, pod_uid, wrapped, path, err);
}

/* Removes a volume whose files could not be written, except after a stop: the next call finishes it. */
static int write_volume(const struct volume_plugin *self, const struct volume_env *env,
                        const struct set_up_request *q, const char *path, const struct atomic_files *files,
                        struct error *err)
{
    const char *name = spec_name(&q->spec);
    char wrapped[NAME_MAX + 1];
    struct empty_dir dir = { .name = wrapped,
                             .path = path,
                             .source = { .medium = self == &config_map_plugin ? "" : EMPTY_DIR_MEMORY } };
    struct error ignored; /* the first failure is reported */
    int r = wrapped_name(name, wrapped, err);

    if (r == 0)
        r = empty_dir_set_up(env, q, &dir, err);
    if (r < 0)
        return r;
    r = make_all_nested(q->pod, name, path, err);
    if (r < 0 && q->is_remount)
        return r;
    if (r == 0)
        r = write_files(env, q, path, files, err);
    if (r == -ERR_CANCELLED)
        return -(int)(err->code = ERR_INCOMPLETE);
    if (r < 0)
        (void)object_volume_tear_down(self, env, name, q->pod->obj.uid, &ignored);
    return r;
}

static int object_volume_set_up(const struct volume_plugin *self, const struct volume_env *env,
                                const struct set_up_request *q, struct error *err)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(ARENA_BYTES_MAX);
    struct atomic_files files;
    char path[PATH_MAX];
    int r = layout_path_slot(self, env->root, q->pod->obj.uid, spec_name(&q->spec), &q->spec, path, err);

    if (r < 0)
        return r;
    r = content_build(&a, q, &files, err);
    if (r == 0)
        r = atomic_files_check(&files, err);
    if (r < 0) /* nothing was changed, whatever error the server returned */
        return -(int)(err->code = ERR_UNAVAILABLE);
    return write_volume(self, env, q, path, &files, err);
}

/* --- The plugins --- */

static bool object_volume_can_support(const struct volume_plugin *self, const struct volume_spec *s)
{
    return s->inlined && s->inlined->type == type_of(self);
}

static int object_volume_name(const struct volume_plugin *self, const struct volume_spec *s, struct buf *ret,
                              struct error *err)
{
    enum pod_volume_type type = type_of(self);

    if (type == POD_VOLUME_CONFIG_MAP)
        buf_addf(ret, "%s/%s", s->inlined->name, s->inlined->keyed->name);
    else
        buf_add_cstr(ret, type == POD_VOLUME_SECRET ? s->inlined->keyed->name : s->inlined->name);
    return buf_check(ret, "volume name", err);
}

static int object_volume_reconstruct(const struct volume_plugin *self, const struct volume_env *env,
                                     const char *name, const char *pod_uid, bool is_block,
                                     struct object **ret, struct error *err)
{
    _cleanup_(buf_done_p) struct buf source = BUF_INIT(SOURCE_BYTES_MAX);

    (void)env;
    if (is_block)
        return error_set(err, ERR_UNSUPPORTED, "%s does not support block volumes", self->name);
    json_out_object(&source, pod_volume_type_names[type_of(self)]);
    json_out_end_object(&source);
    return reconstruct_pod(name, pod_uid, &source, ret, err);
}

static struct mount_attributes object_volume_attributes(const struct volume_plugin *self,
                                                        const struct volume_spec *spec)
{
    (void)self;
    (void)spec;
    return (struct mount_attributes){ .is_read_only = true, .is_managed = true };
}

static const struct pod_table pod_table = {
    .path = layout_path_slot,
    .attributes = object_volume_attributes,
    .set_up = object_volume_set_up,
    .tear_down = object_volume_tear_down,
    .usage = empty_dir_usage,
};

#define SHOWN_PLUGIN(plugin_name)                                                                           \
    {                                                                                                       \
        .name = (plugin_name), .can_support = object_volume_can_support, .volume_name = object_volume_name, \
        .reconstruct = object_volume_reconstruct, .requires_remount = true, .pods = &pod_table,             \
    }

const struct volume_plugin config_map_plugin = SHOWN_PLUGIN("kubernetes.io/configmap");
const struct volume_plugin secret_plugin = SHOWN_PLUGIN("kubernetes.io/secret");
const struct volume_plugin downward_api_plugin = SHOWN_PLUGIN("kubernetes.io/downward-api");
const struct volume_plugin projected_plugin = SHOWN_PLUGIN("kubernetes.io/projected");
