/* The group snapshot kinds: schemas, validation and decoding. They have custom resource semantics, like the
 * snapshot kinds: sources and classes are immutable. */
#include "api/group_snapshot.h"

#include "api/decode_selector.h"
#include "api/snapshot_int.h"

/* --- VolumeGroupSnapshot --- */

static const struct field group_source_fields[] = {
    { "selector", FIELD_OBJECT, .sub = &label_selector_schema },
    { "volumeGroupSnapshotContentName", FIELD_STRING, .flags = FIELD_POINTER },
};
static const struct schema group_source_schema = SCHEMA("VolumeGroupSnapshotSource", group_source_fields);

static const struct field group_spec_fields[] = {
    { "source", FIELD_OBJECT, .sub = &group_source_schema },
    { "volumeGroupSnapshotClassName", FIELD_STRING, .flags = FIELD_POINTER },
};
static const struct schema group_spec_schema = SCHEMA("VolumeGroupSnapshotSpec", group_spec_fields);

static const struct field group_status_fields[] = {
    { "boundVolumeGroupSnapshotContentName", FIELD_STRING, .flags = FIELD_POINTER },
    { "creationTime", FIELD_TIME },
    { "readyToUse", FIELD_BOOL, .flags = FIELD_POINTER },
    { "error", FIELD_OBJECT, .sub = &snapshot_error_schema },
};
static const struct schema group_status_schema = SCHEMA("VolumeGroupSnapshotStatus", group_status_fields);

static const struct field group_snapshot_fields[] = {
    SCHEMA_OBJECT_FIELDS,
    { "spec", FIELD_OBJECT, .sub = &group_spec_schema, .flags = FIELD_ALWAYS },
    { "status", FIELD_OBJECT, .sub = &group_status_schema },
};
static const struct schema group_snapshot_schema = SCHEMA("VolumeGroupSnapshot", group_snapshot_fields);

static void group_snapshot_validate(struct validation *v)
{
    snapshot_validate_source(v, "selector", "volumeGroupSnapshotContentName",
                             "exactly one of selector and volumeGroupSnapshotContentName must be set");
    snapshot_validate_class_name(v, "volumeGroupSnapshotClassName");
}

static void group_snapshot_validate_update(struct validation *v)
{
    snapshot_validate_source_fixed(v, "selector");
    snapshot_validate_source_fixed(v, "volumeGroupSnapshotContentName");
}

static void group_snapshot_decode(struct decoder *dec, json_ref object, struct object *o)
{
    struct group_snapshot *s = CONTAINER_OF(o, struct group_snapshot, obj);
    json_ref spec = json_get(dec->d, object, "spec"), source = json_get(dec->d, spec, "source");
    json_ref status = json_get(dec->d, object, "status"), error = json_get(dec->d, status, "error");

    s->selector = decode_label_selector(dec, source, "selector");
    s->content_name = decode_text(dec, source, "volumeGroupSnapshotContentName");
    s->class_name = decode_text(dec, spec, "volumeGroupSnapshotClassName");
    s->bound_content_name = decode_text(dec, status, "boundVolumeGroupSnapshotContentName");
    (void)decode_time(dec, status, "creationTime", &s->taken);
    s->has_ready = json_get(dec->d, status, "readyToUse") != 0;
    s->is_ready = decode_bool(dec, status, "readyToUse", false);
    s->has_error = error != 0;
    s->error_message = decode_text(dec, error, "message");
    (void)decode_time(dec, error, "time", &s->error_time);
}

const struct kind_info group_snapshot_kind = {
    .kind = KIND_GROUP_SNAPSHOT,
    .name = "VolumeGroupSnapshot",
    .group = GROUP_SNAPSHOT_GROUP,
    .version = "v1",
    .plural = "volumegroupsnapshots",
    .short_names = (const char *const[]){ "vgs", NULL },
    .is_namespaced = true,
    .has_status = true,
    .flags = KIND_IS_CUSTOM,
    .name_rule = NAME_DNS_SUBDOMAIN,
    .schema = &group_snapshot_schema,
    .view_bytes = sizeof(struct group_snapshot),
    .set_defaults = default_nothing,
    .prepare_create = snapshot_prepare_create,
    .prepare_update = snapshot_prepare_update,
    .validate = group_snapshot_validate,
    .validate_update = group_snapshot_validate_update,
    .decode = group_snapshot_decode,
};

/* --- VolumeGroupSnapshotContent --- */

static const struct field group_handles_fields[] = {
    { "volumeGroupSnapshotHandle", FIELD_STRING },
    { "volumeSnapshotHandles", FIELD_LIST, .item = FIELD_STRING },
};
static const struct schema group_handles_schema = SCHEMA("GroupSnapshotHandles", group_handles_fields);

static const struct field group_content_source_fields[] = {
    { "volumeHandles", FIELD_LIST, .item = FIELD_STRING },
    { "groupSnapshotHandles", FIELD_OBJECT, .sub = &group_handles_schema },
};
static const struct schema group_content_source_schema =
    SCHEMA("VolumeGroupSnapshotContentSource", group_content_source_fields);

static const struct field group_content_spec_fields[] = {
    { "volumeGroupSnapshotRef", FIELD_OBJECT, .sub = &object_reference_schema },
    { "deletionPolicy", FIELD_STRING, .go_type = "v1.DeletionPolicy" },
    { "driver", FIELD_STRING },
    { "volumeGroupSnapshotClassName", FIELD_STRING, .flags = FIELD_POINTER },
    { "source", FIELD_OBJECT, .sub = &group_content_source_schema },
};
static const struct schema group_content_spec_schema =
    SCHEMA("VolumeGroupSnapshotContentSpec", group_content_spec_fields);

static const struct field group_member_fields[] = {
    { "volumeHandle", FIELD_STRING },
    { "snapshotHandle", FIELD_STRING },
    { "creationTime", FIELD_INT64, .flags = FIELD_POINTER },
    { "readyToUse", FIELD_BOOL, .flags = FIELD_POINTER },
    { "restoreSize", FIELD_INT64, .flags = FIELD_POINTER },
};
static const struct schema group_member_schema = SCHEMA("VolumeSnapshotInfo", group_member_fields);

static const struct field group_content_status_fields[] = {
    { "volumeGroupSnapshotHandle", FIELD_STRING, .flags = FIELD_POINTER },
    { "creationTime", FIELD_TIME },
    { "readyToUse", FIELD_BOOL, .flags = FIELD_POINTER },
    { "error", FIELD_OBJECT, .sub = &snapshot_error_schema },
    { "volumeSnapshotInfoList", FIELD_LIST, .item = FIELD_OBJECT, .sub = &group_member_schema },
};
static const struct schema group_content_status_schema =
    SCHEMA("VolumeGroupSnapshotContentStatus", group_content_status_fields);

static const struct field group_content_fields[] = {
    SCHEMA_OBJECT_FIELDS,
    { "spec", FIELD_OBJECT, .sub = &group_content_spec_schema, .flags = FIELD_ALWAYS },
    { "status", FIELD_OBJECT, .sub = &group_content_status_schema },
};
static const struct schema group_content_schema = SCHEMA("VolumeGroupSnapshotContent", group_content_fields);

static void validate_group_handles(struct validation *v)
{
    struct field_path spec_at = path_child(NULL, "spec"), source_at = path_child(&spec_at, "source");
    struct field_path at = path_child(&source_at, "groupSnapshotHandles");
    struct field_path list_at = path_child(&at, "volumeSnapshotHandles");
    json_ref handles = json_path(v->d, v->object, "spec", "source", "groupSnapshotHandles");

    if (!handles)
        return;
    (void)validate_required_text(v, &at, handles, "volumeGroupSnapshotHandle");
    if (!json_get(v->d, handles, "volumeSnapshotHandles"))
        errors_required(v->errors, &list_at, "");
}

static void group_content_validate(struct validation *v)
{
    struct field_path spec_at = path_child(NULL, "spec");
    json_ref spec = json_get(v->d, v->object, "spec");

    snapshot_validate_policy(v, &spec_at, spec);
    (void)validate_required_text(v, &spec_at, spec, "driver");
    snapshot_validate_source(v, "volumeHandles", "groupSnapshotHandles",
                             "exactly one of volumeHandles and groupSnapshotHandles must be set");
    validate_group_handles(v);
    snapshot_validate_reference(
        v, "volumeGroupSnapshotRef",
        "both volumeGroupSnapshotRef.name and volumeGroupSnapshotRef.namespace must be set");
}

static void group_content_validate_update(struct validation *v)
{
    snapshot_validate_source_fixed(v, "volumeHandles");
    snapshot_validate_source_fixed(v, "groupSnapshotHandles");
}

static void decode_group_members(struct decoder *dec, json_ref list, struct group_snapshot_content *c)
{
    struct group_member *members = decode_items(dec, list, sizeof *members, &c->members_count);
    uint32_t i = 0;

    c->members = members;
    for (json_ref item = members ? json_first(dec->d, list) : 0; item; item = json_next(dec->d, item)) {
        struct group_member *m = &members[i++];

        m->volume_handle = decode_text(dec, item, "volumeHandle");
        m->snapshot_handle = decode_text(dec, item, "snapshotHandle");
        m->has_ready = json_get(dec->d, item, "readyToUse") != 0;
        m->is_ready = decode_bool(dec, item, "readyToUse", false);
        m->has_taken = json_get(dec->d, item, "creationTime") != 0;
        m->taken_ns = decode_int(dec, item, "creationTime", 0);
        m->has_restore_bytes = json_get(dec->d, item, "restoreSize") != 0;
        m->restore_bytes = decode_int(dec, item, "restoreSize", 0);
    }
}

static void group_content_decode(struct decoder *dec, json_ref object, struct object *o)
{
    struct group_snapshot_content *c = CONTAINER_OF(o, struct group_snapshot_content, obj);
    json_ref spec = json_get(dec->d, object, "spec"), status = json_get(dec->d, object, "status");
    json_ref ref = json_get(dec->d, spec, "volumeGroupSnapshotRef"),
             source = json_get(dec->d, spec, "source");
    json_ref error = json_get(dec->d, status, "error");

    c->group_ns = decode_text(dec, ref, "namespace");
    c->group_name = decode_text(dec, ref, "name");
    c->group_uid = decode_text(dec, ref, "uid");
    c->driver = decode_text(dec, spec, "driver");
    c->class_name = decode_text(dec, spec, "volumeGroupSnapshotClassName");
    c->volume_handles = decode_texts(dec, source, "volumeHandles");
    c->has_handles = json_get(dec->d, source, "groupSnapshotHandles") != 0;
    c->deletes = json_is_string(dec->d, json_get(dec->d, spec, "deletionPolicy"), "Delete");
    c->handle = decode_text(dec, status, "volumeGroupSnapshotHandle");
    (void)decode_time(dec, status, "creationTime", &c->taken);
    c->has_ready = json_get(dec->d, status, "readyToUse") != 0;
    c->is_ready = decode_bool(dec, status, "readyToUse", false);
    c->has_error = error != 0;
    c->error_message = decode_text(dec, error, "message");
    (void)decode_time(dec, error, "time", &c->error_time);
    decode_group_members(dec, json_get(dec->d, status, "volumeSnapshotInfoList"), c);
}

const struct kind_info group_snapshot_content_kind = {
    .kind = KIND_GROUP_SNAPSHOT_CONTENT,
    .name = "VolumeGroupSnapshotContent",
    .group = GROUP_SNAPSHOT_GROUP,
    .version = "v1",
    .plural = "volumegroupsnapshotcontents",
    .short_names = (const char *const[]){ "vgsc", "vgscs", NULL },
    .has_status = true,
    .flags = KIND_IS_CUSTOM,
    .name_rule = NAME_DNS_SUBDOMAIN,
    .schema = &group_content_schema,
    .view_bytes = sizeof(struct group_snapshot_content),
    .set_defaults = default_nothing,
    .prepare_create = snapshot_prepare_create,
    .prepare_update = snapshot_prepare_update,
    .validate = group_content_validate,
    .validate_update = group_content_validate_update,
    .decode = group_content_decode,
};

/* --- VolumeGroupSnapshotClass --- */

static const struct field group_class_fields[] = {
    SCHEMA_OBJECT_FIELDS,
    { "driver", FIELD_STRING },
    { "parameters", FIELD_MAP, .item = FIELD_STRING },
    { "deletionPolicy", FIELD_STRING, .go_type = "v1.DeletionPolicy" },
};
static const struct schema group_class_schema = SCHEMA("VolumeGroupSnapshotClass", group_class_fields);

static void group_class_validate(struct validation *v)
{
    (void)validate_required_text(v, NULL, v->object, "driver");
    snapshot_validate_policy(v, NULL, v->object);
}

/* What is not set yet may be set. */
static void validate_fixed_member(struct validation *v, const char *member, const char *detail)
{
    struct field_path at = path_child(NULL, member);
    json_ref now = json_get(v->d, v->object, member), old = json_get(v->d, v->old, member);

    if (now && old && !json_equal(v->d, now, old))
        errors_invalid(v->errors, &at, show_value(v->errors, v->d, now), detail);
}

static void group_class_validate_update(struct validation *v)
{
    validate_fixed_member(v, "driver", "driver is immutable once set");
    validate_fixed_member(v, "parameters", "parameters are immutable once set");
    validate_fixed_member(v, "deletionPolicy", "deletionPolicy is immutable once set");
}

static void group_class_decode(struct decoder *dec, json_ref object, struct object *o)
{
    struct group_snapshot_class *c = CONTAINER_OF(o, struct group_snapshot_class, obj);

    c->driver = decode_text(dec, object, "driver");
    c->parameters = decode_map(dec, object, "parameters");
    c->deletes = json_is_string(dec->d, json_get(dec->d, object, "deletionPolicy"), "Delete");
    c->is_default = object_annotation_is(o, ANN_DEFAULT_GROUP_SNAPSHOT_CLASS, "true");
}

const struct kind_info group_snapshot_class_kind = {
    .kind = KIND_GROUP_SNAPSHOT_CLASS,
    .name = "VolumeGroupSnapshotClass",
    .group = GROUP_SNAPSHOT_GROUP,
    .version = "v1",
    .plural = "volumegroupsnapshotclasses",
    .short_names = (const char *const[]){ "vgsclass", "vgsclasses", NULL },
    .flags = KIND_IS_CUSTOM,
    .name_rule = NAME_DNS_SUBDOMAIN,
    .schema = &group_class_schema,
    .view_bytes = sizeof(struct group_snapshot_class),
    .set_defaults = default_nothing,
    .prepare_create = snapshot_prepare_create,
    .prepare_update = snapshot_class_prepare_update,
    .validate = group_class_validate,
    .validate_update = group_class_validate_update,
    .decode = group_class_decode,
};
