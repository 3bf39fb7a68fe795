/* The snapshot kinds: schemas, validation and decoding. They have custom resource semantics: the generation
 * counts every change outside of metadata and status, and the source is immutable. */
#include "api/snapshot.h"

#include "api/snapshot_int.h"

static const char *const deletion_policies[] = { "Delete", "Retain", NULL };

static const struct field snapshot_error_fields[] = {
    { "time", FIELD_TIME },
    { "message", FIELD_STRING, .flags = FIELD_POINTER },
};
const struct schema snapshot_error_schema = SCHEMA("VolumeSnapshotError", snapshot_error_fields);

/* Custom resources count every change outside of metadata and status. */
void snapshot_prepare_create(struct json *d, json_ref object, struct timestamp now)
{
    (void)now;
    json_set(d, json_ensure_object(d, object, "metadata"), "generation", json_new_int(d, 1));
    (void)json_remove(d, object, "status");
}

void snapshot_prepare_update(struct json *d, json_ref object, json_ref old, enum write_part part,
                             struct timestamp now)
{
    prepare_update_status_only(d, object, old, part, now);
    prepare_generation(d, object, old, json_get(d, object, "spec"), json_get(d, old, "spec"));
}

/* --- VolumeSnapshot --- */

static const struct field snapshot_source_fields[] = {
    { "persistentVolumeClaimName", FIELD_STRING, .flags = FIELD_POINTER },
    { "volumeSnapshotContentName", FIELD_STRING, .flags = FIELD_POINTER },
};
static const struct schema snapshot_source_schema = SCHEMA("VolumeSnapshotSource", snapshot_source_fields);

static const struct field snapshot_spec_fields[] = {
    { "source", FIELD_OBJECT, .sub = &snapshot_source_schema },
    { "volumeSnapshotClassName", FIELD_STRING, .flags = FIELD_POINTER },
};
static const struct schema snapshot_spec_schema = SCHEMA("VolumeSnapshotSpec", snapshot_spec_fields);

static const struct field snapshot_status_fields[] = {
    { "boundVolumeSnapshotContentName", FIELD_STRING, .flags = FIELD_POINTER },
    { "creationTime", FIELD_TIME },
    { "readyToUse", FIELD_BOOL, .flags = FIELD_POINTER },
    { "restoreSize", FIELD_QUANTITY },
    { "error", FIELD_OBJECT, .sub = &snapshot_error_schema },
    { "volumeGroupSnapshotName", FIELD_STRING, .flags = FIELD_POINTER },
};
static const struct schema snapshot_status_schema = SCHEMA("VolumeSnapshotStatus", snapshot_status_fields);

static const struct field snapshot_fields[] = {
    SCHEMA_OBJECT_FIELDS,
    { "spec", FIELD_OBJECT, .sub = &snapshot_spec_schema, .flags = FIELD_ALWAYS },
    { "status", FIELD_OBJECT, .sub = &snapshot_status_schema },
};
static const struct schema snapshot_schema = SCHEMA("VolumeSnapshot", snapshot_fields);

void snapshot_validate_source(struct validation *v, const char *first, const char *second, const char *detail)
{
    struct field_path spec_at = path_child(NULL, "spec"), at = path_child(&spec_at, "source");
    json_ref source = json_path(v->d, v->object, "spec", "source");

    if (!source)
        errors_required(v->errors, &at, "");
    else if (!json_get(v->d, source, first) == !json_get(v->d, source, second))
        errors_invalid(v->errors, &at, show_text(v->errors, STR_LIT("object")), detail);
}

void snapshot_validate_source_fixed(struct validation *v, const char *member)
{
    struct field_path spec_at = path_child(NULL, "spec"), source_at = path_child(&spec_at, "source");
    struct field_path at = path_child(&source_at, member);
    json_ref now = json_path(v->d, v->object, "spec", "source", member);
    json_ref old = json_path(v->d, v->old, "spec", "source", member);

    if (!now != !old)
        errors_invalid(v->errors, &source_at, show_text(v->errors, STR_LIT("object")),
                       errors_printf(v->errors, "%s is required once set", member));
    else if (!json_equal(v->d, now, old))
        errors_invalid(v->errors, &at, show_value(v->errors, v->d, now),
                       errors_printf(v->errors, "%s is immutable", member));
}

void snapshot_validate_class_name(struct validation *v, const char *member)
{
    struct field_path spec_at = path_child(NULL, "spec"), at = path_child(&spec_at, member);

    if (json_is_string(v->d, json_path(v->d, v->object, "spec", member), ""))
        errors_invalid(v->errors, &at, show_text(v->errors, STR_LIT("")),
                       errors_printf(v->errors, "%s must not be the empty string when set", member));
}

static void snapshot_validate(struct validation *v)
{
    snapshot_validate_source(
        v, "volumeSnapshotContentName", "persistentVolumeClaimName",
        "exactly one of volumeSnapshotContentName and persistentVolumeClaimName must be set");
    snapshot_validate_class_name(v, "volumeSnapshotClassName");
}

static void snapshot_validate_update(struct validation *v)
{
    snapshot_validate_source_fixed(v, "persistentVolumeClaimName");
    snapshot_validate_source_fixed(v, "volumeSnapshotContentName");
}

static void snapshot_decode(struct decoder *dec, json_ref object, struct object *o)
{
    struct snapshot *s = CONTAINER_OF(o, struct snapshot, obj);
    json_ref spec = json_get(dec->d, object, "spec"), source = json_get(dec->d, spec, "source");
    json_ref status = json_get(dec->d, object, "status");

    s->claim_name = decode_text(dec, source, "persistentVolumeClaimName");
    s->content_name = decode_text(dec, source, "volumeSnapshotContentName");
    s->class_name = decode_text(dec, spec, "volumeSnapshotClassName");
    s->bound_content_name = decode_text(dec, status, "boundVolumeSnapshotContentName");
    (void)decode_time(dec, status, "creationTime", &s->taken);
    s->has_ready = json_get(dec->d, status, "readyToUse") != 0;
    s->is_ready = decode_bool(dec, status, "readyToUse", false);
    s->has_restore_size = decode_quantity(dec, status, "restoreSize", &s->restore_size);
    s->has_error = json_get(dec->d, status, "error") != 0;
    s->error_message = decode_text(dec, json_get(dec->d, status, "error"), "message");
    (void)decode_time(dec, json_get(dec->d, status, "error"), "time", &s->error_time);
    s->group_name = decode_text(dec, status, "volumeGroupSnapshotName");
}

const struct kind_info snapshot_kind = {
    .kind = KIND_SNAPSHOT,
    .name = "VolumeSnapshot",
    .group = SNAPSHOT_GROUP,
    .version = "v1",
    .plural = "volumesnapshots",
    .short_names = (const char *const[]){ "vs", NULL },
    .is_namespaced = true,
    .has_status = true,
    .flags = KIND_IS_CUSTOM,
    .name_rule = NAME_DNS_SUBDOMAIN,
    .schema = &snapshot_schema,
    .view_bytes = sizeof(struct snapshot),
    .set_defaults = default_nothing,
    .prepare_create = snapshot_prepare_create,
    .prepare_update = snapshot_prepare_update,
    .validate = snapshot_validate,
    .validate_update = snapshot_validate_update,
    .decode = snapshot_decode,
};

/* --- VolumeSnapshotContent --- */

static const struct field content_source_fields[] = {
    { "volumeHandle", FIELD_STRING, .flags = FIELD_POINTER },
    { "snapshotHandle", FIELD_STRING, .flags = FIELD_POINTER },
};
static const struct schema content_source_schema =
    SCHEMA("VolumeSnapshotContentSource", content_source_fields);

static const struct field content_spec_fields[] = {
    { "volumeSnapshotRef", FIELD_OBJECT, .sub = &object_reference_schema },
    { "deletionPolicy", FIELD_STRING, .go_type = "v1.DeletionPolicy" },
    { "driver", FIELD_STRING },
    { "volumeSnapshotClassName", FIELD_STRING, .flags = FIELD_POINTER },
    { "source", FIELD_OBJECT, .sub = &content_source_schema },
    { "sourceVolumeMode", FIELD_STRING, .flags = FIELD_POINTER, .go_type = "v1.PersistentVolumeMode" },
};
static const struct schema content_spec_schema = SCHEMA("VolumeSnapshotContentSpec", content_spec_fields);

static const struct field content_status_fields[] = {
    { "snapshotHandle", FIELD_STRING, .flags = FIELD_POINTER },
    { "creationTime", FIELD_INT64, .flags = FIELD_POINTER },
    { "restoreSize", FIELD_INT64, .flags = FIELD_POINTER },
    { "readyToUse", FIELD_BOOL, .flags = FIELD_POINTER },
    { "error", FIELD_OBJECT, .sub = &snapshot_error_schema },
    { "volumeGroupSnapshotHandle", FIELD_STRING, .flags = FIELD_POINTER },
};
static const struct schema content_status_schema =
    SCHEMA("VolumeSnapshotContentStatus", content_status_fields);

static const struct field content_fields[] = {
    SCHEMA_OBJECT_FIELDS,
    { "spec", FIELD_OBJECT, .sub = &content_spec_schema, .flags = FIELD_ALWAYS },
    { "status", FIELD_OBJECT, .sub = &content_status_schema },
};
static const struct schema content_schema = SCHEMA("VolumeSnapshotContent", content_fields);

void snapshot_validate_policy(struct validation *v, const struct field_path *p, json_ref object)
{
    struct field_path at = path_child(p, "deletionPolicy");
    struct str policy = validate_required_text(v, p, object, "deletionPolicy");

    if (policy.len)
        validate_one_of(v, &at, policy, deletion_policies);
}

void snapshot_validate_reference(struct validation *v, const char *member, const char *detail)
{
    struct field_path spec_at = path_child(NULL, "spec"), at = path_child(&spec_at, member);
    json_ref ref = json_path(v->d, v->object, "spec", member);

    if (!ref)
        errors_required(v->errors, &at, "");
    else if (!json_get(v->d, ref, "name") || !json_get(v->d, ref, "namespace"))
        errors_invalid(v->errors, &at, show_text(v->errors, STR_LIT("object")), detail);
}

static void content_validate(struct validation *v)
{
    struct field_path spec_at = path_child(NULL, "spec");
    struct field_path status_at = path_child(NULL, "status"), size_at = path_child(&status_at, "restoreSize");
    json_ref spec = json_get(v->d, v->object, "spec");
    int64_t bytes;

    snapshot_validate_policy(v, &spec_at, spec);
    (void)validate_required_text(v, &spec_at, spec, "driver");
    snapshot_validate_source(v, "volumeHandle", "snapshotHandle",
                             "exactly one of volumeHandle and snapshotHandle must be set");
    snapshot_validate_reference(
        v, "volumeSnapshotRef",
        "both spec.volumeSnapshotRef.name and spec.volumeSnapshotRef.namespace must be set");
    if (json_int64(v->d, json_path(v->d, v->object, "status", "restoreSize"), &bytes) && bytes < 0)
        errors_invalid(v->errors, &size_at,
                       show_value(v->errors, v->d, json_path(v->d, v->object, "status", "restoreSize")),
                       "status.restoreSize in body should be greater than or equal to 0");
}

static void content_validate_update(struct validation *v)
{
    struct field_path spec_at = path_child(NULL, "spec"), at = path_child(&spec_at, "sourceVolumeMode");
    json_ref now = json_path(v->d, v->object, "spec", "sourceVolumeMode");
    json_ref old = json_path(v->d, v->old, "spec", "sourceVolumeMode");

    snapshot_validate_source_fixed(v, "volumeHandle");
    snapshot_validate_source_fixed(v, "snapshotHandle");
    if (old && !now)
        errors_invalid(v->errors, &spec_at, show_text(v->errors, STR_LIT("object")),
                       "sourceVolumeMode is required once set");
    else if (old && !json_equal(v->d, now, old))
        errors_invalid(v->errors, &at, show_value(v->errors, v->d, now), "sourceVolumeMode is immutable");
}

static void content_decode(struct decoder *dec, json_ref object, struct object *o)
{
    struct snapshot_content *c = CONTAINER_OF(o, struct snapshot_content, obj);
    json_ref spec = json_get(dec->d, object, "spec"), status = json_get(dec->d, object, "status");
    json_ref ref = json_get(dec->d, spec, "volumeSnapshotRef"), source = json_get(dec->d, spec, "source");

    c->snapshot_ns = decode_text(dec, ref, "namespace");
    c->snapshot_name = decode_text(dec, ref, "name");
    c->snapshot_uid = decode_text(dec, ref, "uid");
    c->driver = decode_text(dec, spec, "driver");
    c->class_name = decode_text(dec, spec, "volumeSnapshotClassName");
    c->volume_handle = decode_text(dec, source, "volumeHandle");
    c->source_snapshot_handle = decode_text(dec, source, "snapshotHandle");
    c->deletes = json_is_string(dec->d, json_get(dec->d, spec, "deletionPolicy"), "Delete");
    c->snapshot_handle = decode_text(dec, status, "snapshotHandle");
    c->has_ready = json_get(dec->d, status, "readyToUse") != 0;
    c->is_ready = decode_bool(dec, status, "readyToUse", false);
    c->taken_ns = decode_int(dec, status, "creationTime", 0);
    c->has_restore_bytes = json_get(dec->d, status, "restoreSize") != 0;
    c->restore_bytes = decode_int(dec, status, "restoreSize", 0);
    c->has_error = json_get(dec->d, status, "error") != 0;
    c->error_message = decode_text(dec, json_get(dec->d, status, "error"), "message");
    (void)decode_time(dec, json_get(dec->d, status, "error"), "time", &c->error_time);
}

const struct kind_info snapshot_content_kind = {
    .kind = KIND_SNAPSHOT_CONTENT,
    .name = "VolumeSnapshotContent",
    .group = SNAPSHOT_GROUP,
    .version = "v1",
    .plural = "volumesnapshotcontents",
    .short_names = (const char *const[]){ "vsc", "vscs", NULL },
    .has_status = true,
    .flags = KIND_IS_CUSTOM,
    .name_rule = NAME_DNS_SUBDOMAIN,
    .schema = &content_schema,
    .view_bytes = sizeof(struct snapshot_content),
    .set_defaults = default_nothing,
    .prepare_create = snapshot_prepare_create,
    .prepare_update = snapshot_prepare_update,
    .validate = content_validate,
    .validate_update = content_validate_update,
    .decode = content_decode,
};

/* --- VolumeSnapshotClass --- */

static const struct field snapshot_class_fields[] = {
    SCHEMA_OBJECT_FIELDS,
    { "driver", FIELD_STRING },
    { "parameters", FIELD_MAP, .item = FIELD_STRING },
    { "deletionPolicy", FIELD_STRING, .go_type = "v1.DeletionPolicy" },
};
static const struct schema snapshot_class_schema = SCHEMA("VolumeSnapshotClass", snapshot_class_fields);

void snapshot_class_prepare_update(struct json *d, json_ref object, json_ref old, enum write_part part,
                                   struct timestamp now)
{
    static const char *const counted[] = { "driver", "parameters", "deletionPolicy" };
    size_t i = 0;

    (void)part;
    (void)now;
    while (i + 1 < ARRAY_LEN(counted) &&
           json_equal(d, json_get(d, object, counted[i]), json_get(d, old, counted[i])))
        i++;
    prepare_generation(d, object, old, json_get(d, object, counted[i]), json_get(d, old, counted[i]));
}

static void snapshot_class_validate(struct validation *v)
{
    (void)validate_required_text(v, NULL, v->object, "driver");
    snapshot_validate_policy(v, NULL, v->object);
}

static void snapshot_class_decode(struct decoder *dec, json_ref object, struct object *o)
{
    struct snapshot_class *c = CONTAINER_OF(o, struct snapshot_class, obj);

    c->driver = decode_text(dec, object, "driver");
    c->parameters = decode_map(dec, object, "parameters");
    c->deletes = json_is_string(dec->d, json_get(dec->d, object, "deletionPolicy"), "Delete");
    c->is_default = object_annotation_is(o, ANN_DEFAULT_SNAPSHOT_CLASS, "true");
}

const struct kind_info snapshot_class_kind = {
    .kind = KIND_SNAPSHOT_CLASS,
    .name = "VolumeSnapshotClass",
    .group = SNAPSHOT_GROUP,
    .version = "v1",
    .plural = "volumesnapshotclasses",
    .short_names = (const char *const[]){ "vsclass", "vsclasses", NULL },
    .flags = KIND_IS_CUSTOM,
    .name_rule = NAME_DNS_SUBDOMAIN,
    .schema = &snapshot_class_schema,
    .view_bytes = sizeof(struct snapshot_class),
    .set_defaults = default_nothing,
    .prepare_create = snapshot_prepare_create,
    .prepare_update = snapshot_class_prepare_update,
    .validate = snapshot_class_validate,
    .validate_update = validate_nothing,
    .decode = snapshot_class_decode,
};
