/* Helpers around plugins: specs, references, mount options and objects for volumes found on disk. */
#include "plugins/plugin.h"

#include <assert.h>

#include "api/json_out.h"
#include "api/node_selector.h"
#include "base/cleanup.h"
#include "host/mount_syscall.h"

#define FOUND_TEXT_BYTES_MAX 65536
#define FOUND_SCRATCH_BYTES_MAX ((size_t)1 << 20)

/* Maps volume types of pods to the sources that PersistentVolumes have too: one struct serves both. */
static const uint8_t source_kinds[POD_VOLUME_TYPE_COUNT] = {
    [POD_VOLUME_HOST_PATH] = SOURCE_HOST_PATH, [POD_VOLUME_NFS] = SOURCE_NFS,
    [POD_VOLUME_ISCSI] = SOURCE_ISCSI,         [POD_VOLUME_FC] = SOURCE_FC,
    [POD_VOLUME_FLEX] = SOURCE_FLEX,           [POD_VOLUME_CSI] = SOURCE_CSI,
};

const char *spec_name(const struct volume_spec *s)
{
    assert(!s->inlined != !s->volume);
    return s->inlined ? s->inlined->name : s->volume->obj.name;
}

const struct volume *spec_persistent(const struct volume_spec *s)
{
    return s->was_inlined ? NULL : s->volume;
}

struct volume_source spec_source(const struct volume_spec *s)
{
    struct volume_source source = { 0 };

    if (s->volume)
        return s->volume->source;
    source.kind = source_kinds[s->inlined->type];
    switch (source.kind) {
    case SOURCE_HOST_PATH:
        source.host_path = s->inlined->host_path;
        break;
    case SOURCE_NFS:
        source.nfs = s->inlined->nfs;
        break;
    case SOURCE_ISCSI:
        source.iscsi = s->inlined->iscsi;
        break;
    case SOURCE_FC:
        source.fc = s->inlined->fc;
        break;
    case SOURCE_FLEX:
        source.flex = s->inlined->flex;
        break;
    case SOURCE_CSI:
        source.csi = s->inlined->csi;
        break;
    default: /* only in pods */
        break;
    }
    return source;
}

static const char *copy_text(const char *text, struct arena *a)
{
    return text ? arena_dup(a, str_of(text)) : NULL;
}

struct volume_env volume_env_copy(const struct volume_env *env, const host_stop *stop, struct arena *a)
{
    struct volume_env new = {
        .root = copy_text(env->root, a),
        .node_name = copy_text(env->node_name, a),
        .tools = { .commands_path = copy_text(env->tools.commands_path, a), .stop = stop },
        .stop = stop,
        .clock = env->clock,
        .dirs = env->dirs,
    };

    return new;
}

int plugin_check_name(const struct volume_plugin *p, const struct volume_env *env,
                      const struct volume_spec *s, struct error *err)
{
    return p->check_name ? p->check_name(p, env, s, err) : 0;
}

const struct volume_plugin *plugin_ref(const struct volume_plugin *p)
{
    if (p && p->free)
        ((struct volume_plugin *)(uintptr_t)p)->refs++;
    return p;
}

const struct volume_plugin *plugin_unref(const struct volume_plugin *p)
{
    struct volume_plugin *own = (struct volume_plugin *)(uintptr_t)p;

    if (!p || !p->free)
        return NULL;
    assert(p->refs > 0);
    if (--own->refs == 0)
        own->free(own);
    return NULL;
}

int volume_name_slot(const struct volume_plugin *self, const struct volume_spec *s, struct buf *ret,
                     struct error *err)
{
    (void)self;
    buf_add_cstr(ret, spec_name(s));
    return buf_check(ret, "volume name", err);
}

/* --- Mount options --- */

/* The options of the annotation, split at commas. */
static int split_options(struct arena *a, const char *given, struct texts *ret, struct error *err)
{
    struct str left = str_of(given);
    uint32_t count = 1, i = 0;
    const char **items;

    for (const char *c = given; *c; c++)
        count += *c == ',';
    items = arena_array(a, count, sizeof *items);
    if (!items)
        return error_no_memory(err);
    while (left.s) {
        items[i] = arena_dup(a, str_next(&left, ','));
        if (!items[i++])
            return error_no_memory(err);
    }
    *ret = (struct texts){ items, i };
    return 0;
}

int volume_mount_options(struct arena *a, const struct volume_spec *s, const char *const *ours,
                         struct texts *ret, struct error *err)
{
    const char *given = s->volume ? object_annotation(&s->volume->obj, ANN_MOUNT_OPTIONS_BETA) : NULL;
    struct texts own = { ours, 0 }, user = { 0 };
    int r = 0;

    while (ours[own.count])
        own.count++;
    if (given)
        r = split_options(a, given, &user, err);
    else if (s->volume)
        user = s->volume->mount_options;
    if (r < 0)
        return r;
    if (user.count == 0) {
        *ret = own;
        return 0;
    }
    return host_join_options(a, user, own, ret, err);
}

int volume_check_mount_options(const struct volume_plugin *p, const struct volume_spec *s, struct error *err)
{
    const char *given = s->volume ? object_annotation(&s->volume->obj, ANN_MOUNT_OPTIONS_BETA) : NULL;

    if (p->takes_mount_options || !s->volume || (!given && s->volume->mount_options.count == 0))
        return 0;
    return error_set(err, ERR_UNSUPPORTED, "mount options are not supported for this volume type");
}

int volume_check_node(const struct volume_spec *s, const struct node *n, struct error *err)
{
    if (!s->volume)
        return 0;
    return node_affinity_check(s->volume->affinity, n ? n->obj.labels.items : NULL,
                               n ? n->obj.labels.count : 0, err);
}

/* --- Reconstruction --- */

static int found_decode(enum kind kind, const struct buf *source, const struct buf *text, struct object **ret,
                        struct error *err)
{
    struct json scratch;
    int r = buf_check(source->failed ? source : text, "volume found on disk", err);

    if (r < 0)
        return r;
    json_init(&scratch, FOUND_SCRATCH_BYTES_MAX);
    r = object_decode(kind_info(kind), buf_str(text), &scratch, ret, err);
    json_done(&scratch);
    return r;
}

int reconstruct_pod(const char *volume, const char *pod_uid, const struct buf *source, struct object **ret,
                    struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(FOUND_TEXT_BYTES_MAX);

    json_out_object(&text, NULL);
    json_out_object(&text, "metadata");
    json_out_text(&text, "uid", pod_uid);
    json_out_end_object(&text);
    json_out_object(&text, "spec");
    json_out_array(&text, "volumes");
    json_out_object(&text, NULL);
    json_out_text(&text, "name", volume);
    json_out_raw(&text, NULL, buf_str(source));
    json_out_end_object(&text);
    json_out_end_array(&text);
    json_out_end_object(&text);
    json_out_end_object(&text);
    return found_decode(KIND_POD, source, &text, ret, err);
}

int reconstruct_volume(const char *name, const struct buf *source, bool is_block, struct object **ret,
                       struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(FOUND_TEXT_BYTES_MAX);

    json_out_object(&text, NULL);
    json_out_object(&text, "metadata");
    json_out_text(&text, "name", name);
    json_out_end_object(&text);
    json_out_object(&text, "spec");
    json_out_text(&text, "volumeMode",
                  volume_mode_names[is_block ? VOLUME_MODE_BLOCK : VOLUME_MODE_FILESYSTEM]);
    json_out_raw(&text, NULL, buf_str(source));
    json_out_end_object(&text);
    json_out_end_object(&text);
    return found_decode(KIND_VOLUME, source, &text, ret, err);
}
