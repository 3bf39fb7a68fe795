/* The VolumeAttachment kind: schema, defaults, validation and decoding. The spec is immutable, and a create
 * resets the status. An inline source is validated like the spec of a PersistentVolume. */
#include "api/attachment.h"

#include "api/meta.h"
#include "api/resources.h"
#include "api/validate.h"
#include "api/volume.h"

#define ATTACHMENT_METADATA_BYTES_MAX ((size_t)256 << 10)
#define ATTACHMENT_MESSAGE_BYTES_MAX 1024

static const struct field attachment_source_fields[] = {
    { "persistentVolumeName", FIELD_STRING, .flags = FIELD_POINTER, .number = 1 },
    { "inlineVolumeSpec", FIELD_OBJECT, .sub = &volume_spec_schema, .number = 2 },
};
static const struct schema attachment_source_schema =
    SCHEMA("VolumeAttachmentSource", attachment_source_fields);

static const struct field attachment_spec_fields[] = {
    { "attacher", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
    { "source", FIELD_OBJECT, .sub = &attachment_source_schema, .flags = FIELD_ALWAYS, .number = 2 },
    { "nodeName", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 3 },
};
static const struct schema attachment_spec_schema = SCHEMA("VolumeAttachmentSpec", attachment_spec_fields);

static const struct field attachment_error_fields[] = {
    { "time", FIELD_TIME, .number = 1 },
    { "message", FIELD_STRING, .number = 2 },
    { "errorCode", FIELD_INT32, .flags = FIELD_POINTER, .number = 3 },
};
static const struct schema attachment_error_schema = SCHEMA("VolumeError", attachment_error_fields);

static const struct field attachment_status_fields[] = {
    { "attached", FIELD_BOOL, .flags = FIELD_ALWAYS, .number = 1 },
    { "attachmentMetadata", FIELD_MAP, .item = FIELD_STRING, .number = 2 },
    { "attachError", FIELD_OBJECT, .sub = &attachment_error_schema, .number = 3 },
    { "detachError", FIELD_OBJECT, .sub = &attachment_error_schema, .number = 4 },
};
static const struct schema attachment_status_schema =
    SCHEMA("VolumeAttachmentStatus", attachment_status_fields);

static const struct field attachment_fields[] = {
    SCHEMA_OBJECT_FIELDS,
    { "spec", FIELD_OBJECT, .sub = &attachment_spec_schema, .flags = FIELD_ALWAYS, .number = 2 },
    { "status", FIELD_OBJECT, .sub = &attachment_status_schema, .flags = FIELD_ALWAYS, .number = 3 },
};
static const struct schema attachment_schema = SCHEMA("VolumeAttachment", attachment_fields);

static void attachment_set_defaults(struct json *d, json_ref object)
{
    json_ref spec = json_path(d, object, "spec", "source", "inlineVolumeSpec");

    default_resources(d, json_get(d, spec, "capacity"));
    default_volume_source(d, spec);
}

static void attachment_prepare_create(struct json *d, json_ref object, struct timestamp now)
{
    (void)now;
    (void)json_remove(d, object, "status"); /* the canonical form has an empty status */
}

/* --- Rules --- */

static void validate_attachment_source(struct validation *v, const struct field_path *p, json_ref source)
{
    static const char one[] = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    struct field_path name_at = path_child(p, "persistentVolumeName"),
                      spec_at = path_child(p, "inlineVolumeSpec");
    json_ref name = json_get(v->d, source, "persistentVolumeName");
    json_ref spec = json_get(v->d, source, "inlineVolumeSpec");

    if (!spec && !name)
        errors_required(v->errors, p, one);
    else if (spec && name)
        errors_forbidden(v->errors, p, one);
    else if (name && json_text(v->d, name).len == 0)
        errors_required(v->errors, &name_at, "must specify non empty persistentVolumeName");
    else if (name)
        validate_name(v, &name_at, NAME_DNS_SUBDOMAIN, json_text(v->d, name));
    else
        (void)validate_volume_spec(v, &spec_at, spec, /* is_inline= */ true);
}

static void validate_attachment_error(struct validation *v, const struct field_path *p, json_ref error)
{
    struct field_path message = path_child(p, "message");

    validate_bytes_max(v, &message, json_get_text(v->d, error, "message").len, ATTACHMENT_MESSAGE_BYTES_MAX);
    validate_int_not_negative(v, p, error, "errorCode");
}

static void attachment_validate(struct validation *v)
{
    struct field_path spec_at = path_child(NULL, "spec"), status_at = path_child(NULL, "status");
    struct field_path attacher = path_child(&spec_at, "attacher"), source = path_child(&spec_at, "source");
    struct field_path node = path_child(&spec_at, "nodeName"),
                      meta = path_child(&status_at, "attachmentMetadata");
    struct field_path attach = path_child(&status_at, "attachError"),
                      detach = path_child(&status_at, "detachError");
    json_ref spec = json_get(v->d, v->object, "spec"), status = json_get(v->d, v->object, "status");

    validate_name(v, &attacher, NAME_CSI_DRIVER, json_get_text(v->d, spec, "attacher"));
    validate_attachment_source(v, &source, json_get(v->d, spec, "source"));
    validate_name(v, &node, NAME_DNS_SUBDOMAIN, json_get_text(v->d, spec, "nodeName"));
    validate_map_bytes_max(v, &meta, json_get(v->d, status, "attachmentMetadata"),
                           ATTACHMENT_METADATA_BYTES_MAX);
    validate_attachment_error(v, &attach, json_get(v->d, status, "attachError"));
    validate_attachment_error(v, &detach, json_get(v->d, status, "detachError"));
}

static void attachment_validate_update(struct validation *v)
{
    struct field_path spec = path_child(NULL, "spec");

    validate_immutable(v, &spec, json_get(v->d, v->object, "spec"), json_get(v->d, v->old, "spec"));
}

/* --- The view --- */

static struct attachment_error decode_attachment_error(struct decoder *dec, json_ref status, const char *key)
{
    json_ref error = json_get(dec->d, status, key);
    struct attachment_error e = {
        .message = decode_text(dec, error, "message"),
        .code = decode_int(dec, error, "errorCode", -1),
    };

    (void)decode_time(dec, error, "time", &e.time); /* zero when absent */
    return e;
}

static void attachment_decode(struct decoder *dec, json_ref object, struct object *o)
{
    struct attachment *a = CONTAINER_OF(o, struct attachment, obj);
    json_ref spec = json_get(dec->d, object, "spec"), status = json_get(dec->d, object, "status");
    json_ref source = json_get(dec->d, spec, "source");

    a->attacher = decode_text(dec, spec, "attacher");
    a->node_name = decode_text(dec, spec, "nodeName");
    a->volume_name = decode_text(dec, source, "persistentVolumeName");
    a->inline_handle = decode_text(dec, json_path(dec->d, source, "inlineVolumeSpec", "csi"), "volumeHandle");
    a->has_inline_source = json_get(dec->d, source, "inlineVolumeSpec") != 0;
    a->is_attached = decode_bool(dec, status, "attached", false);
    a->metadata = decode_map(dec, status, "attachmentMetadata");
    a->attach_error = decode_attachment_error(dec, status, "attachError");
    a->detach_error = decode_attachment_error(dec, status, "detachError");
}

const struct kind_info attachment_kind = {
    .kind = KIND_ATTACHMENT,
    .name = "VolumeAttachment",
    .group = "storage.k8s.io",
    .version = "v1",
    .plural = "volumeattachments",
    .has_status = true,
    .flags = KIND_DELETE_ANSWERS_OBJECT,
    .name_rule = NAME_DNS_SUBDOMAIN,
    .schema = &attachment_schema,
    .view_bytes = sizeof(struct attachment),
    .set_defaults = attachment_set_defaults,
    .prepare_create = attachment_prepare_create,
    .prepare_update = prepare_update_status_only,
    .validate = attachment_validate,
    .validate_update = attachment_validate_update,
    .decode = attachment_decode,
};
