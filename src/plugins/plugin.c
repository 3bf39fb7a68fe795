#include "plugins/plugin.h"

#include <assert.h>

/* From the volumes of pods to the sources that PersistentVolumes can have too: one struct serves both. */
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
    default: /* a kind of pods alone */
        break;
    }
    return source;
}

static const char *copy(const char *text, struct arena *a)
{
    return text ? arena_dup(a, str_of(text)) : NULL;
}

struct volume_env volume_env_copy(const struct volume_env *env, const host_stop *stop, struct arena *a)
{
    struct volume_env new = {
        .root = copy(env->root, a),
        .node_name = copy(env->node_name, a),
        .tools = { .commands_path = copy(env->tools.commands_path, a), .stop = stop },
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
