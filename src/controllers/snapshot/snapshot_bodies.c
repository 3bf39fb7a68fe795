/* Writes the request bodies of the snapshot controller. Pure. */
#include "controllers/snapshot/snapshot_bodies.h"

#include "api/json_out.h"
#include "machinery/merge_patch.h"
#include "machinery/name_template.h"

#define PREFIX "csi.storage.k8s.io/"
#define SECRET_NAME PREFIX "snapshotter-secret-name"
#define SECRET_NAMESPACE PREFIX "snapshotter-secret-namespace"
#define SECRET_BYTES_MAX ((size_t)16 << 10)

/* --- The secret of calls to the driver --- */

/* name and *ns NULL: none. */
static int find_secret(struct arena *a, const struct snapshot *s, const struct snapshot_plan *p,
                       const char **ret_name, const char **ret_ns, struct error *err)
{
    /* The name of the snapshot comes last: it must not select a namespace. */
    const struct name_token tokens[] = { { "volumesnapshotcontent.name", p->content_name },
                                         { "volumesnapshot.namespace", s->obj.ns },
                                         { "volumesnapshot.name", s->obj.name } };
    const struct kvs *parameters = &p->class->parameters;
    const char *name = kv_get(parameters->items, parameters->count, SECRET_NAME);
    const char *ns = kv_get(parameters->items, parameters->count, SECRET_NAMESPACE);
    int r;

    *ret_name = *ret_ns = NULL;
    if (!name && !ns)
        return 0;
    if (!name || !ns || !name[0] || !ns[0])
        return error_set(err, ERR_INVALID,
                         "either name and namespace for Snapshotter secrets specified, "
                         "Both must be specified");
    r = name_template_resolve(a, ns, tokens, ARRAY_LEN(tokens) - 1, NAME_DNS_LABEL, "namespace name", ret_ns,
                              err);
    return r < 0 ? r
                 : name_template_resolve(a, name, tokens, ARRAY_LEN(tokens), NAME_DNS_SUBDOMAIN,
                                         "secret name", ret_name, err);
}

/* --- New contents --- */

static void write_reference(struct buf *out, const struct snapshot *s)
{
    json_out_object(out, "volumeSnapshotRef");
    kind_write_api_version(s->obj.kind, out);
    json_out_text(out, "kind", s->obj.kind->name);
    json_out_text(out, "namespace", s->obj.ns);
    json_out_text(out, "name", s->obj.name);
    json_out_text(out, "uid", s->obj.uid);
    json_out_str(out, "resourceVersion", object_version(&s->obj));
    json_out_end_object(out);
}

static void write_content_meta(struct buf *out, const char *name, const char *secret_name,
                               const char *secret_ns)
{
    json_out_object(out, "metadata");
    json_out_text(out, "name", name);
    json_out_array(out, "finalizers");
    json_out_text(out, NULL, FINALIZER_SNAPSHOT_CONTENT);
    json_out_end_array(out);
    if (secret_name) {
        json_out_object(out, "annotations");
        json_out_text(out, ANN_SNAPSHOT_SECRET_NAME, secret_name);
        json_out_text(out, ANN_SNAPSHOT_SECRET_NAMESPACE, secret_ns);
        json_out_end_object(out);
    }
    json_out_end_object(out);
}

int snapshot_write_content(const struct snapshot *s, const struct snapshot_plan *p, struct buf *out,
                           struct error *err)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(SECRET_BYTES_MAX);
    const struct kind_info *kind = kind_info(KIND_SNAPSHOT_CONTENT);
    const char *secret_name, *secret_ns;
    int r = find_secret(&a, s, p, &secret_name, &secret_ns, err);

    if (r < 0)
        return r;
    json_out_object(out, NULL);
    kind_write_api_version(kind, out);
    json_out_text(out, "kind", kind->name);
    write_content_meta(out, p->content_name, secret_name, secret_ns);
    json_out_object(out, "spec");
    write_reference(out, s);
    json_out_text(out, "deletionPolicy", p->class->deletes ? "Delete" : "Retain");
    json_out_text(out, "driver", p->class->driver);
    json_out_text(out, "volumeSnapshotClassName", p->class->obj.name);
    json_out_object(out, "source");
    json_out_text(out, "volumeHandle", p->volume->source.csi->handle);
    json_out_end_object(out);
    json_out_text(out, "sourceVolumeMode", volume_mode_names[p->volume->mode]);
    json_out_end_object(out);
    json_out_end_object(out);
    return buf_check(out, "content", err);
}

/* --- Statuses --- */

static void write_error_member(struct buf *out, struct timestamp time, const char *message)
{
    json_out_object(out, "error");
    if (!timestamp_is_zero(time))
        json_out_time(out, "time", time);
    json_out_text(out, "message", message);
    json_out_end_object(out);
}

int snapshot_write_status(const struct snapshot *s, const struct snapshot_content *c, struct buf *out,
                          struct error *err)
{
    const struct quantity size = quantity_of(c->restore_bytes, QUANTITY_BINARY_SI);
    const struct owner *group = snapshot_group(s);
    struct merge_patch p;

    merge_patch_begin(&p, out, &s->obj);
    merge_patch_member(&p, "status");
    json_out_object(out, NULL);
    json_out_text(out, "boundVolumeSnapshotContentName", c->obj.name);
    if (group)
        json_out_text(out, "volumeGroupSnapshotName", group->name);
    if (timestamp_is_zero(s->taken) && c->taken_ns != 0)
        json_out_time(out, "creationTime", timestamp_of_ns(c->taken_ns));
    json_out_bool(out, "readyToUse", c->is_ready);
    if (c->has_restore_bytes && (!s->has_restore_size || quantity_is_zero(&s->restore_size)))
        json_out_quantity(out, "restoreSize", &size);
    if (c->has_error)
        write_error_member(out, c->error_time, c->error_message);
    else
        json_out_null(out, "error");
    json_out_end_object(out);
    return merge_patch_end(&p, err);
}

int snapshot_write_error(const struct snapshot *s, const char *message, bool is_unready, struct timestamp now,
                         struct buf *out, struct error *err)
{
    struct merge_patch p;

    merge_patch_begin(&p, out, &s->obj);
    merge_patch_member(&p, "status");
    json_out_object(out, NULL);
    write_error_member(out, now, message);
    if (is_unready)
        json_out_bool(out, "readyToUse", false);
    json_out_end_object(out);
    return merge_patch_end(&p, err);
}

/* --- Specs and annotations --- */

int snapshot_write_class(const struct snapshot *s, const char *class, struct buf *out, struct error *err)
{
    struct merge_patch p;

    merge_patch_begin(&p, out, &s->obj);
    merge_patch_member(&p, "spec");
    json_out_object(out, NULL);
    json_out_text(out, "volumeSnapshotClassName", class);
    json_out_end_object(out);
    return merge_patch_end(&p, err);
}

int snapshot_write_binding(const struct snapshot_content *c, const struct snapshot *s, struct buf *out,
                           struct error *err)
{
    struct merge_patch p;

    merge_patch_begin(&p, out, &c->obj);
    merge_patch_member(&p, "spec");
    json_out_object(out, NULL);
    json_out_object(out, "volumeSnapshotRef");
    json_out_text(out, "uid", s->obj.uid);
    json_out_end_object(out);
    if (s->class_name[0])
        json_out_text(out, "volumeSnapshotClassName", s->class_name);
    json_out_end_object(out);
    return merge_patch_end(&p, err);
}

int snapshot_write_mark(const struct snapshot_content *c, struct buf *out, struct error *err)
{
    struct merge_patch p;

    merge_patch_begin(&p, out, &c->obj);
    merge_patch_annotation(&p, ANN_SNAPSHOT_BEING_DELETED, "yes");
    return merge_patch_end(&p, err);
}
