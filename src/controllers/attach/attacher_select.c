/* Selects the attacher of a volume: its CSI driver, through a VolumeAttachment, or a plugin of this process.
 * Cached objects only; costs a walk over the plugins. */
#include "controllers/attach/attach_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/mountable.h"

/* --- Specs --- */

/* Inline volumes of plugins have no access modes; their translations to CSI have. */
bool attach_spec_is_shared(const struct held_spec *s)
{
    const struct volume *v = s->holder ? s->spec.volume : NULL;

    return !v || v->modes == 0 || (v->modes & (ACCESS_RWX | ACCESS_ROX)) != 0;
}

/* --- Selection --- */

/* A driver without a CSIDriver object requires attaching. */
static int find_csi(struct attach *a, const struct buf *volume_name, struct attacher_choice *ret,
                    struct buf *ret_name, struct error *err)
{
    _cleanup_(buf_done_p) struct buf driver = BUF_INIT(UNIQUE_NAME_BYTES_MAX);
    struct str rest = buf_str(volume_name);
    const struct object *d;
    int r = buf_check(volume_name, "volume name", err);

    if (r < 0)
        return r;
    buf_add_str(&driver, str_next(&rest, '^'));
    d = driver.failed ? NULL : informer_get(a->csi_drivers, "", buf_cstr(&driver));
    if (!d || ((const struct csi_driver *)(const void *)d)->attach_required)
        ret->attacher = &csi_attacher;
    if (!ret_name)
        return 0;
    buf_addf(ret_name, CSI_PLUGIN "/%s", buf_cstr(volume_name));
    return buf_check(ret_name, "volume name", err);
}

/* A kubelet waits until a volume is reported as attached and then mounts it. Berth's agent never mounts these
 * kinds, and an event about a successful attach would be misleading. */
static bool is_never_mounted(const struct attach *a, const struct held_spec *spec, const char *node)
{
    const struct object *o = informer_get(a->nodes, "", node);

    return !source_is_mountable(spec_source(&spec->spec).kind) && o && node_is_berths(node_of(o));
}

static int find_plugin(struct attach *a, const struct held_spec *spec, const char *node,
                       struct attacher_choice *ret, struct buf *ret_name, struct error *err)
{
    const struct volume_plugin *p = NULL;
    struct error why;
    int r = registry_by_spec(a->o.registry, &spec->spec, &p, &why);

    if (r == -ERR_NOT_FOUND || is_never_mounted(a, spec, node))
        return 0; /* no plugin attaches it */
    if (r < 0) {
        *err = why;
        return error_wrap(err, "failed to get AttachablePlugin from volumeSpec for volume \"%s\" err=",
                          held_spec_name(spec));
    }
    if (!plugin_attaches(p, &spec->spec))
        return 0;
    *ret = (struct attacher_choice){ &plugin_attacher, p };
    return ret_name ? registry_unique_name(p, &spec->spec, /* pod_uid= */ "", ret_name, err) : 0;
}

int attacher_select(struct attach *a, const struct held_spec *spec, const char *node,
                    struct attacher_choice *ret, struct buf *ret_name, struct error *err)
{
    _cleanup_(buf_done_p) struct buf csi = BUF_INIT(UNIQUE_NAME_BYTES_MAX);
    struct attacher_choice m = { 0 };
    int r = 0;

    if (csi_attach_volume_name(spec, &csi))
        r = find_csi(a, &csi, &m, ret_name, err);
    else if (spec_source(&spec->spec).kind != SOURCE_CSI) /* inline CSI volumes are never attached */
        r = find_plugin(a, spec, node, &m, ret_name, err);
    if (r == 0)
        *ret = m;
    return r;
}

/* Nothing is detached while a pod waits for a driver (attach_handlers.c). */
static int check_drivers(const struct attach *a, struct error *err)
{
    return a->awaiting.count == 0
               ? 0
               : error_set(err, ERR_UNAVAILABLE, "a driver that a pod needs is not initialized yet");
}

/* An attached volume must be detached even if its CSIDriver was deleted or now says that attaching is not
 * required. */
static int find_by_spec(struct attach *a, const struct held_spec *spec, struct attacher_choice *ret,
                        struct error *err)
{
    _cleanup_(buf_done_p) struct buf csi = BUF_INIT(UNIQUE_NAME_BYTES_MAX);
    const struct volume_plugin *p = NULL;
    int r;

    if (csi_attach_volume_name(spec, &csi)) {
        *ret = (struct attacher_choice){ &csi_attacher, NULL };
        return 0;
    }
    r = check_drivers(a, err);
    if (r == 0)
        r = registry_by_spec(a->o.registry, &spec->spec, &p, err);
    if (r == 0)
        r = plugin_require(plugin_attaches(p, &spec->spec) ? p->attach : NULL, "detachable", err);
    if (r < 0)
        return error_wrap(err, "DetachVolume.findDetachablePluginBySpec failed for volume \"%s\" ",
                          held_spec_name(spec));
    *ret = (struct attacher_choice){ &plugin_attacher, p };
    return 0;
}

static int find_by_name(struct attach *a, const char *unique, struct attacher_choice *ret, struct error *err)
{
    _cleanup_(buf_done_p) struct buf name = BUF_INIT(UNIQUE_NAME_BYTES_MAX);
    const struct volume_plugin *p = NULL;
    struct str plugin, volume;
    int r = unique_name_split(unique, &plugin, &volume, err);

    if (r < 0)
        return error_wrap(err, "DetachVolume.SplitUniqueName failed for volume \"%s\" ", unique);
    if (str_is(plugin, CSI_PLUGIN)) {
        *ret = (struct attacher_choice){ &csi_attacher, NULL };
        return 0;
    }
    buf_add_str(&name, plugin);
    r = check_drivers(a, err);
    if (r == 0)
        r = registry_by_name(a->o.registry, buf_cstr(&name), &p, err);
    if (r == 0)
        r = plugin_require(p->attach, "attachable", err);
    if (r < 0)
        return error_wrap(err, "DetachVolume.FindAttachablePluginByName failed for volume \"%s\" ", unique);
    *ret = (struct attacher_choice){ &plugin_attacher, p };
    return 0;
}

int attacher_select_detacher(struct attach *a, const struct attach_volume *v, struct attacher_choice *ret,
                             struct error *err)
{
    return v->spec.holder ? find_by_spec(a, &v->spec, ret, err) : find_by_name(a, v->name, ret, err);
}

/* --- Work --- */

static void on_failure(void *ctx)
{
    struct attach_work *w = ctx;
    struct error err = w->failure;

    w->done(w, -(int)err.code, &err);
}

void attach_work_fail(struct attach_work *w, const struct error *err)
{
    w->failure = *err;
    loop_defer(&w->later);
}

int attach_work_init(struct attach_work *w, struct attach *a, const struct held_spec *spec,
                     const char *volume, const char *node, struct error *err)
{
    w->attach = a;
    deferred_init(&w->later, a->o.part.loop, on_failure, w);
    w->volume = strdup(volume);
    w->node = strdup(node);
    held_spec_copy(&w->spec, spec);
    return w->volume && w->node ? 0 : error_no_memory(err);
}

void attach_work_use(struct attach_work *w, const struct attacher_choice *m)
{
    assert(m->attacher && !w->attacher);
    w->attacher = m->attacher;
    w->plugin = plugin_ref(m->plugin);
}

void attach_work_done(struct attach_work *w)
{
    if (w->work)
        w->attacher->drop(w);
    loop_undefer(&w->later);
    held_spec_clear(&w->spec);
    w->plugin = plugin_unref(w->plugin);
    free(w->volume);
    free(w->node);
    free(w->device);
}
