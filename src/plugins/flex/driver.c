/* A FlexVolume driver as a plugin: what does not need the executable, its tables and its lifecycle. */
#include "plugins/flex/driver.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_out.h"
#include "api/volume_limit.h"
#include "base/cleanup.h"
#include "plugins/layout.h"

DEFINE_CLEANUP(struct flex_driver, flex_driver_free)

#define SOURCE_BYTES_MAX 4096

/* --- Without the executable --- */

static bool flex_can_support(const struct volume_plugin *self, const struct volume_spec *s)
{
    struct volume_source source = spec_source(s);

    return source.kind == SOURCE_FLEX && strcmp(source.flex->driver, self->name) == 0;
}

/* The disk only has the driver and the volume name. */
static void write_source(const struct volume_plugin *self, struct buf *out)
{
    json_out_object(out, "flexVolume");
    json_out_text(out, "driver", self->name);
    json_out_end_object(out);
}

static int flex_reconstruct(const struct volume_plugin *self, const struct volume_env *env, const char *name,
                            const char *pod_uid, bool is_block, struct object **ret, struct error *err)
{
    _cleanup_(buf_done_p) struct buf source = BUF_INIT(SOURCE_BYTES_MAX);

    (void)env;
    if (is_block)
        return error_set(err, ERR_UNSUPPORTED, "driver %s has no block volumes", self->name);
    write_source(self, &source);
    return reconstruct_pod(name, pod_uid, &source, ret, err);
}

int flex_reconstruct_device(const struct volume_plugin *self, const struct volume_env *env,
                            const char *mount_path, struct object **ret, struct error *err)
{
    _cleanup_(buf_done_p) struct buf source = BUF_INIT(SOURCE_BYTES_MAX);
    const char *slash = strrchr(mount_path, '/');

    (void)env;
    write_source(self, &source);
    return reconstruct_volume(slash ? slash + 1 : mount_path, &source, /* is_block= */ false, ret, err);
}

/* --- Limits --- */

static void flex_each_limit(const struct volume_plugin *self,
                            void (*fn)(void *ctx, const char *key, uint32_t count), void *ctx)
{
    char key[VOLUME_LIMIT_KEY_BYTES];
    struct error ignored;

    if (volume_limit_key(self->name, key, &ignored) == 0)
        fn(ctx, key, flex_driver_of(self)->can.volumes_max);
}

static const struct limit_table flex_limit_table = { .each = flex_each_limit };

/* --- Lifecycle --- */

static void flex_free(struct volume_plugin *self)
{
    (void)flex_driver_free(flex_driver_of(self));
}

struct flex_driver *flex_driver_free(struct flex_driver *d)
{
    free(d);
    return NULL;
}

static const struct volume_plugin flex_base = {
    .can_support = flex_can_support,
    .volume_name = volume_name_slot,
    .check_name = flex_check_name,
    .reconstruct = flex_reconstruct,
    .access_modes = ACCESS_RWO | ACCESS_ROX,
    .pods = &flex_pod_table,
    .free = flex_free,
    .refs = 1,
};

static int driver_alloc(const char *dir, const char *dir_name, struct flex_driver **ret, struct error *err)
{
    char name[NAME_MAX + 1];
    const char *slash, *base;
    size_t name_bytes, path_bytes;
    struct flex_driver *d;
    int r = layout_unescape(dir_name, name, err);

    if (r < 0)
        return r;
    slash = strrchr(name, '/');
    base = slash ? slash + 1 : name;
    name_bytes = strlen(name) + 1;
    path_bytes = strlen(dir) + strlen(dir_name) + strlen(base) + 3;
    d = calloc(1, sizeof *d + name_bytes + path_bytes);
    if (!d)
        return error_no_memory(err);
    d->plugin = flex_base;
    memcpy(d->texts, name, name_bytes);
    (void)snprintf(d->texts + name_bytes, path_bytes, "%s/%s/%s", dir, dir_name, base);
    d->plugin.name = d->texts;
    d->executable = d->texts + name_bytes;
    *ret = d;
    return 0;
}

int flex_driver_new(const char *dir, const char *dir_name, const struct host_tools *tools,
                    const host_stop *stop, struct flex_driver **ret, struct error *err)
{
    const struct volume_env env = { .tools = *tools, .stop = stop, .node_name = "" };
    const struct flex_call call = { .command = FLEX_INIT, .limit_ns = FLEX_INIT_LIMIT_NS };
    _cleanup_(flex_driver_free_p) struct flex_driver *d = NULL;
    struct flex_answer answer;
    int r = driver_alloc(dir, dir_name, &d, err);

    if (r == 0)
        r = flex_run(d, &env, &call, &answer, err);
    if (r < 0)
        return r;
    d->can = answer.can;
    d->expand = (struct expand_table){
        .needs_fs_resize = d->can.needs_fs_resize,
        .expand = flex_expand,
        .expand_on_node = flex_expand_on_node,
    };
    d->plugin.expand = &d->expand;
    if (d->can.volumes_max > 0)
        d->plugin.limits = &flex_limit_table;
    if (d->can.attaches) { /* a driver that does not attach does everything in its mount calls */
        d->plugin.attach = &flex_attach_table;
        d->plugin.devices = &flex_device_table;
    }
    *ret = TAKE(d);
    return 0;
}
