#include "plugins/plugin.h"

#include <assert.h>

#define POD_TEXT_BYTES_MAX ((size_t)64 << 10)

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

int pod_with_volume(const char *pod_uid, const char *name, const char *source, struct object **ret,
                    struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(POD_TEXT_BYTES_MAX);
    _cleanup_(json_done_p) struct json scratch;
    int r;

    json_init(&scratch, POD_TEXT_BYTES_MAX);
    (void)buf_add_cstr(&text, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"uid\":");
    json_write_string(&text, str_of(pod_uid));
    (void)buf_add_cstr(&text, "},\"spec\":{\"volumes\":[{\"name\":");
    json_write_string(&text, str_of(name));
    (void)buf_addf(&text, ",%s}]}}", source);
    r = buf_check(&text, "the volume that was found", err);
    return r < 0 ? r : object_decode(&pod_kind, buf_str(&text), &scratch, ret, err);
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
