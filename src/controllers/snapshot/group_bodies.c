/* Writes the request bodies for group snapshots. Pure. */
#include "controllers/snapshot/group_bodies.h"

#include "api/json_out.h"
#include "machinery/merge_patch.h"
#include "machinery/name_template.h"

#define PREFIX "csi.storage.k8s.io/"
#define SECRET_NAME PREFIX "group-snapshotter-secret-name"
#define SECRET_NAMESPACE PREFIX "group-snapshotter-secret-namespace"
#define SECRET_BYTES_MAX ((size_t)16 << 10)

struct group_secret {
    const char *name, *ns; /* NULL: none */
};

static int find_group_secret(struct arena *a, const struct group_snapshot *g, const struct group_plan *p,
                             struct group_secret *ret, struct error *err)
{
    /* The name of the group snapshot comes last: it must not select a namespace. */
    const struct name_token tokens[] = { { "volumegroupsnapshotcontent.name", p->content_name },
                                         { "volumegroupsnapshot.namespace", g->obj.ns },
                                         { "volumegroupsnapshot.name", g->obj.name } };
    const struct kvs none = { 0 };
    const struct kvs *parameters = p->class ? &p->class->parameters : &none;
    const char *name = kv_get(parameters->items, parameters->count, SECRET_NAME);
    const char *ns = kv_get(parameters->items, parameters->count, SECRET_NAMESPACE);
    int r;

    *ret = (struct group_secret){ NULL, NULL };
    if (!name && !ns)
        return 0;
    if (!name || !ns || !name[0] || !ns[0])
        return error_set(err, ERR_INVALID,
                         "either name and namespace for GroupSnapshotter secrets specified, Both must be "
                         "specified");
    r = name_template_resolve(a, ns, tokens, ARRAY_LEN(tokens) - 1, NAME_DNS_LABEL, "namespace name",
                              &ret->ns, err);
    return r < 0 ? r
                 : name_template_resolve(a, name, tokens, ARRAY_LEN(tokens), NAME_DNS_SUBDOMAIN,
                                         "secret name", &ret->name, err);
}

/* --- New objects --- */

/* The start of an object up to its name; the caller closes metadata and the object. */
static void write_head(struct buf *out, enum kind k, const char *name, const char *finalizer)
{
    json_out_object(out, NULL);
    kind_write_api_version(kind_info(k), out);
    json_out_text(out, "kind", kind_info(k)->name);
    json_out_object(out, "metadata");
    json_out_text(out, "name", name);
    json_out_array(out, "finalizers");
    json_out_text(out, NULL, finalizer);
    json_out_end_array(out);
}

static void write_object_reference(struct buf *out, const char *key, const struct object *o)
{
    json_out_object(out, key);
    kind_write_api_version(o->kind, out);
    json_out_text(out, "kind", o->kind->name);
    json_out_text(out, "namespace", o->ns);
    json_out_text(out, "name", o->name);
    json_out_text(out, "uid", o->uid);
    json_out_end_object(out);
}

int group_write_content(const struct group_snapshot *g, const struct group_plan *p, struct buf *out,
                        struct error *err)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(SECRET_BYTES_MAX);
    struct group_secret secret;
    int r = find_group_secret(&a, g, p, &secret, err);

    if (r < 0)
        return r;
    write_head(out, KIND_GROUP_SNAPSHOT_CONTENT, p->content_name, FINALIZER_GROUP_SNAPSHOT_CONTENT);
    if (secret.name) {
        json_out_object(out, "annotations");
        json_out_text(out, ANN_GROUP_SNAPSHOT_SECRET_NAME, secret.name);
        json_out_text(out, ANN_GROUP_SNAPSHOT_SECRET_NAMESPACE, secret.ns);
        json_out_end_object(out);
    }
    json_out_end_object(out);
    json_out_object(out, "spec");
    write_object_reference(out, "volumeGroupSnapshotRef", &g->obj);
    json_out_text(out, "deletionPolicy", p->class->deletes ? "Delete" : "Retain");
    json_out_text(out, "driver", p->class->driver);
    json_out_text(out, "volumeGroupSnapshotClassName", p->class->obj.name);
    json_out_object(out, "source");
    json_out_array(out, "volumeHandles");
    for (size_t i = 0; i < p->volumes_count; i++)
        json_out_text(out, NULL, p->volumes[i]->source.csi->handle);
    json_out_end_array(out);
    json_out_end_object(out);
    json_out_end_object(out);
    json_out_end_object(out);
    return buf_check(out, "content", err);
}

int group_write_member(const struct group_snapshot *g, const struct group_plan *p, struct buf *out,
                       struct error *err)
{
    write_head(out, KIND_SNAPSHOT, p->member_name, FINALIZER_SNAPSHOT_IN_GROUP);
    json_out_text(out, "namespace", g->obj.ns);
    json_out_array(out, "ownerReferences");
    json_out_object(out, NULL);
    kind_write_api_version(g->obj.kind, out);
    json_out_text(out, "kind", g->obj.kind->name);
    json_out_text(out, "name", g->obj.name);
    json_out_text(out, "uid", g->obj.uid);
    json_out_end_object(out);
    json_out_end_array(out);
    json_out_end_object(out);
    json_out_object(out, "spec");
    json_out_object(out, "source");
    json_out_text(out, "persistentVolumeClaimName",
                  p->volume && p->volume->claim.is_set ? p->volume->claim.name : "");
    json_out_end_object(out);
    json_out_end_object(out);
    json_out_end_object(out);
    return buf_check(out, "snapshot", err);
}

int group_write_member_content(const struct group_snapshot *g, const struct group_plan *p, struct buf *out,
                               struct error *err)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(SECRET_BYTES_MAX);
    const struct group_snapshot_content *c = group_snapshot_content_of(p->content);
    struct group_secret secret;
    int r = find_group_secret(&a, g, p, &secret, err);

    if (r < 0)
        return r;
    write_head(out, KIND_SNAPSHOT_CONTENT, p->member_name, FINALIZER_SNAPSHOT_CONTENT);
    json_out_object(out, "annotations");
    json_out_text(out, ANN_SNAPSHOT_GROUP_HANDLE, c->handle);
    if (secret.name) {
        json_out_text(out, ANN_SNAPSHOT_SECRET_NAME, secret.name);
        json_out_text(out, ANN_SNAPSHOT_SECRET_NAMESPACE, secret.ns);
    }
    json_out_end_object(out);
    json_out_end_object(out);
    json_out_object(out, "spec");
    write_object_reference(out, "volumeSnapshotRef", p->object);
    json_out_text(out, "deletionPolicy", c->deletes ? "Delete" : "Retain");
    json_out_text(out, "driver", c->driver);
    json_out_object(out, "source");
    json_out_text(out, "volumeHandle", p->member->volume_handle);
    json_out_end_object(out);
    if (p->volume)
        json_out_text(out, "sourceVolumeMode", volume_mode_names[p->volume->mode]);
    json_out_end_object(out);
    json_out_end_object(out);
    return buf_check(out, "content", err);
}

/* --- Patches --- */

static void write_group_error(struct buf *out, struct timestamp time, const char *message)
{
    json_out_object(out, "error");
    if (!timestamp_is_zero(time))
        json_out_time(out, "time", time);
    json_out_text(out, "message", message);
    json_out_end_object(out);
}

int group_write_status(const struct group_snapshot *g, const struct group_snapshot_content *c,
                       struct buf *out, struct error *err)
{
    struct merge_patch p;

    merge_patch_begin(&p, out, &g->obj);
    merge_patch_member(&p, "status");
    json_out_object(out, NULL);
    json_out_text(out, "boundVolumeGroupSnapshotContentName", c->obj.name);
    if (timestamp_is_zero(g->taken) && !timestamp_is_zero(c->taken))
        json_out_time(out, "creationTime", c->taken);
    json_out_bool(out, "readyToUse", c->is_ready);
    if (c->has_error)
        write_group_error(out, c->error_time, c->error_message);
    else
        json_out_null(out, "error");
    json_out_end_object(out);
    return merge_patch_end(&p, err);
}

int group_write_error(const struct group_snapshot *g, const char *message, bool is_unready,
                      struct timestamp now, struct buf *out, struct error *err)
{
    struct merge_patch p;

    merge_patch_begin(&p, out, &g->obj);
    merge_patch_member(&p, "status");
    json_out_object(out, NULL);
    write_group_error(out, now, message);
    if (is_unready)
        json_out_bool(out, "readyToUse", false);
    json_out_end_object(out);
    return merge_patch_end(&p, err);
}

int group_write_class(const struct group_snapshot *g, const char *class, struct buf *out, struct error *err)
{
    struct merge_patch p;

    merge_patch_begin(&p, out, &g->obj);
    merge_patch_member(&p, "spec");
    json_out_object(out, NULL);
    json_out_text(out, "volumeGroupSnapshotClassName", class);
    json_out_end_object(out);
    return merge_patch_end(&p, err);
}

int group_write_binding(const struct group_snapshot_content *c, const struct group_snapshot *g,
                        struct buf *out, struct error *err)
{
    struct merge_patch p;

    merge_patch_begin(&p, out, &c->obj);
    merge_patch_member(&p, "spec");
    json_out_object(out, NULL);
    json_out_object(out, "volumeGroupSnapshotRef");
    json_out_text(out, "uid", g->obj.uid);
    json_out_end_object(out);
    if (g->class_name[0])
        json_out_text(out, "volumeGroupSnapshotClassName", g->class_name);
    json_out_end_object(out);
    return merge_patch_end(&p, err);
}

int group_write_mark(const struct group_snapshot_content *c, struct buf *out, struct error *err)
{
    struct merge_patch p;

    merge_patch_begin(&p, out, &c->obj);
    merge_patch_annotation(&p, ANN_GROUP_SNAPSHOT_BEING_DELETED, "yes");
    return merge_patch_end(&p, err);
}

int group_write_member_status(const struct snapshot_content *c, const struct group_member *member,
                              const char *group_handle, struct buf *out, struct error *err)
{
    struct merge_patch p;

    merge_patch_begin(&p, out, &c->obj);
    merge_patch_member(&p, "status");
    json_out_object(out, NULL);
    json_out_text(out, "snapshotHandle", member->snapshot_handle);
    json_out_text(out, "volumeGroupSnapshotHandle", group_handle);
    if (member->has_taken)
        json_out_int(out, "creationTime", member->taken_ns);
    if (member->has_restore_bytes)
        json_out_int(out, "restoreSize", member->restore_bytes);
    if (member->has_ready)
        json_out_bool(out, "readyToUse", member->is_ready);
    json_out_end_object(out);
    return merge_patch_end(&p, err);
}
