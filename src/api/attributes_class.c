/* The VolumeAttributesClass kind: schema, validation and decoding. Driver and parameters are immutable; the
 * parameters follow the rules of StorageClass. */
#include "api/attributes_class.h"

#include "api/class.h"
#include "api/meta.h"
#include "api/validate.h"

static const struct field attributes_class_fields[] = {
    SCHEMA_OBJECT_FIELDS,
    { "driverName", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 2 },
    { "parameters", FIELD_MAP, .item = FIELD_STRING, .number = 3 },
};
static const struct schema attributes_class_schema = SCHEMA("VolumeAttributesClass", attributes_class_fields);

static void attributes_class_validate(struct validation *v)
{
    struct field_path driver = path_child(NULL, "driverName"), parameters = path_child(NULL, "parameters");
    json_ref map = json_get(v->d, v->object, "parameters");

    validate_provisioner(v, &driver, json_get_text(v->d, v->object, "driverName"));
    if (json_count(v->d, map) == 0)
        errors_required(v->errors, &parameters, "must contain at least one key/value pair");
    else
        validate_parameters(v, &parameters, map);
}

static void attributes_class_validate_update(struct validation *v)
{
    validate_no_updates(v, "driverName");
    validate_no_updates(v, "parameters");
}

static void attributes_class_decode(struct decoder *dec, json_ref object, struct object *o)
{
    struct attributes_class *c = CONTAINER_OF(o, struct attributes_class, obj);

    c->driver = decode_text(dec, object, "driverName");
    c->parameters = decode_map(dec, object, "parameters");
}

const struct kind_info attributes_class_kind = {
    .kind = KIND_ATTRIBUTES_CLASS,
    .name = "VolumeAttributesClass",
    .group = "storage.k8s.io",
    .version = "v1",
    .plural = "volumeattributesclasses",
    .short_names = (const char *const[]){ "vac", NULL },
    .flags = KIND_UPDATES_UNCONDITIONALLY | KIND_DELETE_ANSWERS_OBJECT,
    .name_rule = NAME_DNS_SUBDOMAIN,
    .schema = &attributes_class_schema,
    .view_bytes = sizeof(struct attributes_class),
    .set_defaults = default_nothing,
    .prepare_create = prepare_create_nothing,
    .prepare_update = prepare_update_nothing,
    .validate = attributes_class_validate,
    .validate_update = attributes_class_validate_update,
    .decode = attributes_class_decode,
};
