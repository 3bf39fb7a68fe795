/* Finds and checks the source of a claim's data. */
#include "controllers/csi/csi_source.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "api/snapshot.h"
#include "api/volume.h"
#include "machinery/json_peek.h"
#include "machinery/merge_patch.h"

#define CLAIMS_BY_SOURCE "data-source"
#define KEY_BYTES_MAX 1024

const char *const csi_source_kind_names[] = {
    [CSI_SOURCE_NONE] = "",
    [CSI_SOURCE_SNAPSHOT] = "snapshot",
    [CSI_SOURCE_CLAIM] = "claim",
};
static_assert(ARRAY_LEN(csi_source_kind_names) == CSI_SOURCE_KIND_COUNT, "name every kind");

enum csi_source_kind csi_source_kind_of(const struct claim *c)
{
    const struct claim_source *s = c->source;

    if (!s)
        return CSI_SOURCE_NONE;
    if (strcmp(s->kind, "VolumeSnapshot") == 0 && strcmp(s->group, SNAPSHOT_GROUP) == 0)
        return CSI_SOURCE_SNAPSHOT;
    if (strcmp(s->kind, "PersistentVolumeClaim") == 0 && s->group[0] == '\0')
        return CSI_SOURCE_CLAIM;
    return CSI_SOURCE_NONE;
}

/* --- Claims by their sources --- */

static void write_key(struct buf *out, enum csi_source_kind kind, const char *ns, const char *name)
{
    buf_addf(out, "%s/%s/%s", csi_source_kind_names[kind], ns, name);
}

static void index_by_source(const struct object *o, index_emit_fn *emit, void *ctx)
{
    _cleanup_(buf_done_p) struct buf key = BUF_INIT(KEY_BYTES_MAX);
    enum csi_source_kind kind = csi_source_kind_of(claim_of(o));

    if (kind == CSI_SOURCE_NONE)
        return;
    write_key(&key, kind, o->ns, claim_of(o)->source->name);
    if (!key.failed)
        emit(ctx, buf_str(&key));
}

static const struct informer_index source_index = { CLAIMS_BY_SOURCE, index_by_source };

int csi_source_prepare(struct informers *all, struct error *err)
{
    return component_indexed(all, KIND_CLAIM, &source_index, err) ? 0 : -(int)err->code;
}

int csi_source_open_caches(struct informers *all, struct csi_source_caches *ret, struct error *err)
{
    ret->claims = component_indexed(all, KIND_CLAIM, &source_index, err);
    ret->volumes = ret->claims ? informers_get(all, KIND_VOLUME, err) : NULL;
    ret->snapshots = ret->volumes ? informers_get(all, KIND_SNAPSHOT, err) : NULL;
    ret->contents = ret->snapshots ? informers_get(all, KIND_SNAPSHOT_CONTENT, err) : NULL;
    return ret->contents ? 0 : -(int)err->code;
}

bool csi_source_is_awaited(const struct csi_source_caches *caches, const struct object *source)
{
    _cleanup_(buf_done_p) struct buf key = BUF_INIT(KEY_BYTES_MAX);
    struct informer_cursor at;

    write_key(&key, source->kind->kind == KIND_CLAIM ? CSI_SOURCE_CLAIM : CSI_SOURCE_SNAPSHOT, source->ns,
              source->name);
    if (key.failed)
        return true;
    for (const struct object *o = informer_first_by(caches->claims, CLAIMS_BY_SOURCE, buf_str(&key), &at); o;
         o = informer_next(&at))
        if (claim_of(o)->phase != CLAIM_BOUND && claim_of(o)->phase != CLAIM_LOST)
            return true;
    return false;
}

/* --- A snapshot --- */

/* The content that is bound to the snapshot, in both directions. */
static int find_content(const struct csi_source_caches *caches, const struct snapshot *s,
                        const struct snapshot_content **ret, struct error *err)
{
    const struct object *o = informer_get(caches->contents, "", s->bound_content_name);
    const struct snapshot_content *c = o ? snapshot_content_of(o) : NULL;

    if (s->bound_content_name[0] == '\0')
        return error_set(err, ERR_UNAVAILABLE, "snapshot %s not bound", s->obj.name);
    if (!c)
        return informer_not_found(caches->contents, s->bound_content_name, err);
    if (strcmp(c->snapshot_uid, s->obj.uid) != 0 || strcmp(c->snapshot_ns, s->obj.ns) != 0 ||
        strcmp(c->snapshot_name, s->obj.name) != 0)
        return error_set(err, ERR_INVALID,
                         "snapshotcontent %s for snapshot %s is bound to a different snapshot", c->obj.name,
                         s->obj.name);
    *ret = c;
    return 0;
}

/* A volume of another mode than that of the snapshot's volume needs a permission on the content. */
static int check_mode(const struct claim *claim, const struct snapshot_content *c, struct error *err)
{
    struct str mode = json_peek(c->obj.text, "spec", "sourceVolumeMode");
    bool is_block = str_is(mode, "\"Block\"");

    if (mode.len == 0 || is_block == (claim->mode == VOLUME_MODE_BLOCK) ||
        object_annotation_is(&c->obj, ANN_ALLOW_MODE_CHANGE, "true"))
        return 0;
    return error_set(err, ERR_DENIED,
                     "requested volume %s/%s modifies the mode of the source volume but does not have "
                     "permission to do so. %s annotation is not present on snapshotcontent %s",
                     claim->obj.ns, claim->obj.name, ANN_ALLOW_MODE_CHANGE, c->obj.name);
}

static int check_snapshot(const struct snapshot *s, const struct snapshot_content *c, const char *driver,
                          const struct claim *claim, struct error *err)
{
    int64_t bytes = quantity_value(&claim->request);

    if (strcmp(c->driver, driver) != 0)
        return error_set(err, ERR_INVALID, "snapshotcontent %s is of CSI driver %s, not of %s", c->obj.name,
                         c->driver, driver);
    if (!s->is_ready)
        return error_set(err, ERR_UNAVAILABLE, "snapshot %s is not Ready", s->obj.name);
    if (c->snapshot_handle[0] == '\0')
        return error_set(err, ERR_UNAVAILABLE, "snapshot handle of %s is not available", c->obj.name);
    if (s->has_restore_size && quantity_cmp(&claim->request, &s->restore_size) < 0)
        return error_set(err, ERR_INVALID,
                         "requested volume size %" PRId64 " is less than the size %" PRId64
                         " for the source snapshot %s",
                         bytes, quantity_value(&s->restore_size), s->obj.name);
    return check_mode(claim, c, err);
}

static int find_snapshot(const struct csi_source_caches *caches, const char *driver,
                         const struct claim *claim, const char **ret, struct error *err)
{
    const struct object *o = informer_get(caches->snapshots, claim->obj.ns, claim->source->name);
    const struct snapshot_content *c = NULL;
    int r;

    if (!o)
        return informer_not_found(caches->snapshots, claim->source->name, err);
    if (o->is_deleting && !object_has_finalizer(o, FINALIZER_SNAPSHOT_RESTORE))
        return error_set(err, ERR_BUSY, "snapshot %s is currently being deleted", o->name);
    r = find_content(caches, snapshot_of(o), &c, err);
    if (r < 0)
        return r;
    assert(c);
    r = check_snapshot(snapshot_of(o), c, driver, claim, err);
    if (r == 0)
        *ret = c->snapshot_handle;
    return r;
}

/* --- A claim --- */

static int check_source_claim(const struct claim *source, const struct claim *claim, struct error *err)
{
    const char *name = source->obj.name;

    if (source->obj.is_deleting)
        return error_set(err, ERR_BUSY, "the PVC DataSource %s is currently being deleted", name);
    if (source->phase != CLAIM_BOUND)
        return error_set(err, ERR_UNAVAILABLE, "the PVC DataSource %s must have a status of Bound. Got %s",
                         name, claim_phase_name((enum claim_phase)source->phase));
    if (source->class[0] == '\0' || claim->class[0] == '\0')
        return error_set(err, ERR_INVALID, "the storageclass of PVC %s cannot be empty",
                         source->class[0] ? claim->obj.name : name);
    if (quantity_cmp(&claim->request, &source->request) < 0)
        return error_set(err, ERR_INVALID,
                         "new PVC request must be greater than or equal in size to the specified PVC data "
                         "source, requested %" PRId64 " but source is %" PRId64,
                         quantity_value(&claim->request), quantity_value(&source->request));
    if (source->mode != claim->mode)
        return error_set(err, ERR_INVALID,
                         "the source PVC %s and the new PVC must have the same volume mode for cloning",
                         name);
    return 0;
}

static int check_source_volume(const struct volume *v, const struct claim *source, const char *driver,
                               struct error *err)
{
    const char *volume = v->obj.name, *name = source->obj.name;

    if (v->source.kind != SOURCE_CSI)
        return error_set(err, ERR_INVALID, "the source volume %s for PVC %s is not a CSI volume", volume,
                         name);
    if (strcmp(v->source.csi->driver, driver) != 0)
        return error_set(err, ERR_INVALID,
                         "the source volume %s for PVC %s is handled by a different CSI driver than %s",
                         volume, name, driver);
    if (strcmp(v->claim.uid, source->obj.uid) != 0 || strcmp(v->claim.ns, source->obj.ns) != 0 ||
        strcmp(v->claim.name, name) != 0)
        return error_set(err, ERR_INVALID, "the source volume %s is bound to a different PVC than %s", volume,
                         name);
    if (v->phase != VOLUME_BOUND)
        return error_set(err, ERR_UNAVAILABLE, "the source volume %s for PVC %s is not bound", volume, name);
    return 0;
}

static int find_claim(const struct csi_source_caches *caches, const char *driver, const struct claim *claim,
                      const char **ret, struct error *err)
{
    const struct object *o = informer_get(caches->claims, claim->obj.ns, claim->source->name);
    const struct object *v = o ? informer_get(caches->volumes, "", claim_of(o)->volume_name) : NULL;
    int r = o ? check_source_claim(claim_of(o), claim, err)
              : informer_not_found(caches->claims, claim->source->name, err);

    if (r < 0)
        return r;
    assert(o);
    if (!v)
        return informer_not_found(caches->volumes, claim_of(o)->volume_name, err);
    r = check_source_volume(volume_of(v), claim_of(o), driver, err);
    if (r == 0)
        *ret = volume_of(v)->source.csi->handle;
    return r;
}

/* --- Both --- */

int csi_source_find(const struct csi_source_caches *caches, const char *driver, const struct claim *c,
                    struct csi_data_source *ret, struct error *err)
{
    struct csi_data_source found = { .kind = csi_source_kind_of(c), .name = "", .id = "" };
    int r = 0;

    if (found.kind != CSI_SOURCE_NONE && c->source->ns[0] && strcmp(c->source->ns, c->obj.ns) != 0)
        r = error_set(err, ERR_UNSUPPORTED, "a source in another namespace is not supported");
    else if (found.kind == CSI_SOURCE_SNAPSHOT)
        r = find_snapshot(caches, driver, c, &found.id, err);
    else if (found.kind == CSI_SOURCE_CLAIM)
        r = find_claim(caches, driver, c, &found.id, err);
    if (r < 0)
        return error_wrap(err, "error getting handle for DataSource Type %s by Name %s", c->source->kind,
                          c->source->name);
    found.name = found.kind == CSI_SOURCE_NONE ? "" : c->source->name;
    *ret = found;
    return 0;
}

const struct object *csi_source_object(const struct csi_source_caches *caches, const char *ns,
                                       const struct csi_data_source *s)
{
    return informer_get(s->kind == CSI_SOURCE_CLAIM ? caches->claims : caches->snapshots, ns, s->name);
}

enum api_decision csi_source_decide_kept(void *ctx, const struct object *now, struct buf *body,
                                         struct error *err)
{
    bool is_claim = now->kind->kind == KIND_CLAIM;
    const char *finalizer = is_claim ? FINALIZER_CLAIM_CLONE : FINALIZER_SNAPSHOT_RESTORE;
    bool is_kept = object_has_finalizer(now, finalizer);
    struct merge_patch p;

    (void)ctx;
    if (is_kept && !(is_claim && now->is_deleting))
        return API_AS_IT_IS;
    if (now->is_deleting || (!is_claim && !snapshot_of(now)->is_ready)) {
        (void)error_set(err, ERR_BUSY, "%s %s is being deleted or is not ready", now->kind->name, now->name);
        return API_REFUSE;
    }
    merge_patch_begin(&p, body, now);
    merge_patch_add_finalizer(&p, now, finalizer);
    return api_decision_of(merge_patch_end(&p, err));
}
