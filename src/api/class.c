/* The StorageClass kind: schema, defaults, validation and decoding. Provisioner, parameters, reclaim policy
 * and binding mode are immutable. The rules for provisioner names and parameters also apply to
 * VolumeAttributesClass. */
#include "api/class.h"

#include "api/decode_selector.h"
#include "api/defaults.h"
#include "api/meta.h"
#include "api/validate.h"

#define CLASS_PARAMETERS_COUNT_MAX 512
#define CLASS_PARAMETERS_BYTES_MAX ((size_t)256 << 10)

const char *const binding_mode_names[] = { "", "Immediate", "WaitForFirstConsumer" };
static const char *const binding_modes_supported[] = { "Immediate", "WaitForFirstConsumer", NULL };
static const char *const reclaim_policies_supported[] = { "Delete", "Retain", NULL };

static const struct field class_fields[] = {
    SCHEMA_OBJECT_FIELDS,
    { "provisioner", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 2 },
    { "parameters", FIELD_MAP, .item = FIELD_STRING, .number = 3 },
    { "reclaimPolicy", FIELD_STRING, .flags = FIELD_POINTER, .go_type = "v1.PersistentVolumeReclaimPolicy",
      .number = 4 },
    { "mountOptions", FIELD_LIST, .item = FIELD_STRING, .number = 5 },
    { "allowVolumeExpansion", FIELD_BOOL, .flags = FIELD_POINTER, .number = 6 },
    { "volumeBindingMode", FIELD_STRING, .flags = FIELD_POINTER, .go_type = "v1.VolumeBindingMode",
      .number = 7 },
    { "allowedTopologies", LIST_OF(topology_term_schema), .number = 8 },
};
static const struct schema class_schema = SCHEMA("StorageClass", class_fields);

static void class_set_defaults(struct json *d, json_ref object)
{
    default_text(d, object, "reclaimPolicy", "Delete");
    default_text(d, object, "volumeBindingMode", "Immediate");
}

/* Parameters of classes and attributes classes. */
void validate_parameters(struct validation *v, const struct field_path *p, json_ref parameters)
{
    validate_bytes_max(v, p, json_count(v->d, parameters), CLASS_PARAMETERS_COUNT_MAX);
    for (json_ref m = json_first(v->d, parameters); m; m = json_next(v->d, m))
        if (json_key(v->d, m).len == 0)
            errors_invalid(v->errors, p, show_text(v->errors, STR_LIT("")), "field can not be empty.");
    validate_map_bytes_max(v, p, parameters, CLASS_PARAMETERS_BYTES_MAX);
}

void validate_provisioner(struct validation *v, const struct field_path *p, struct str name)
{
    if (name.len == 0)
        errors_required(v->errors, p, "");
    else
        validate_name(v, p, NAME_QUALIFIED_ANY_CASE, name);
}

/* Each key once per term; at least one value per key, without duplicates. */
static void validate_topology_term(struct validation *v, const struct field_path *p, json_ref term)
{
    struct field_path expressions = path_child(p, "matchLabelExpressions");
    json_ref list = json_get(v->d, term, "matchLabelExpressions");
    uint32_t i = 0;

    for (json_ref m = json_first(v->d, list); m; m = json_next(v->d, m)) {
        struct field_path at = path_index(&expressions, i++);
        struct field_path key = path_child(&at, "key"), values = path_child(&at, "values");
        json_ref texts = json_get(v->d, m, "values");
        if (json_count(v->d, texts) == 0)
            errors_required(v->errors, &values, "");
        validate_unique(v, &values, texts, NULL);
        validate_name(v, &key, NAME_QUALIFIED, json_get_text(v->d, m, "key"));
    }
    validate_unique(v, &expressions, list, "key");
}

static void validate_topologies(struct validation *v, const struct field_path *p, json_ref terms)
{
    const uint32_t *duplicates;
    uint32_t count = validate_find_duplicates(v, terms, "matchLabelExpressions", &duplicates), term = 0;

    for (json_ref t = json_first(v->d, terms); t; t = json_next(v->d, t)) {
        struct field_path at = path_index(p, term++);
        validate_topology_term(v, &at, t);
    }
    for (uint32_t i = 0; i < count; i++) {
        struct field_path at = path_index(p, duplicates[i]),
                          expressions = path_child(&at, "matchLabelExpressions");
        errors_duplicate(v->errors, &expressions, show_text(v->errors, STR_LIT("")));
    }
}

static void class_validate(struct validation *v)
{
    struct field_path provisioner = path_child(NULL, "provisioner"),
                      parameters = path_child(NULL, "parameters");
    struct field_path reclaim = path_child(NULL, "reclaimPolicy"),
                      binding = path_child(NULL, "volumeBindingMode");
    struct field_path topologies = path_child(NULL, "allowedTopologies");

    validate_provisioner(v, &provisioner, json_get_text(v->d, v->object, "provisioner"));
    validate_parameters(v, &parameters, json_get(v->d, v->object, "parameters"));
    validate_one_of(v, &reclaim, json_get_text(v->d, v->object, "reclaimPolicy"), reclaim_policies_supported);
    validate_one_of(v, &binding, json_get_text(v->d, v->object, "volumeBindingMode"),
                    binding_modes_supported);
    validate_topologies(v, &topologies, json_get(v->d, v->object, "allowedTopologies"));
}

static void class_validate_update(struct validation *v)
{
    static const char *const fixed[] = { "parameters", "provisioner", "reclaimPolicy", "volumeBindingMode" };

    for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
        struct field_path at = path_child(NULL, fixed[i]);
        validate_immutable(v, &at, json_get(v->d, v->object, fixed[i]), json_get(v->d, v->old, fixed[i]));
    }
}

static void class_decode(struct decoder *dec, json_ref object, struct object *o)
{
    struct storage_class *c = CONTAINER_OF(o, struct storage_class, obj);

    c->provisioner = decode_text(dec, object, "provisioner");
    c->reclaim = (enum reclaim_policy)decode_enum(dec, object, "reclaimPolicy", reclaim_policy_names,
                                                  RECLAIM_UNKNOWN, RECLAIM_DELETE);
    c->binding = (enum binding_mode)decode_enum(dec, object, "volumeBindingMode", binding_mode_names,
                                                BINDING_COUNT, BINDING_UNSET);
    c->allows_expansion = decode_bool(dec, object, "allowVolumeExpansion", false);
    c->is_default = object_annotation_is(o, ANN_DEFAULT_CLASS, "true") ||
                    object_annotation_is(o, ANN_DEFAULT_CLASS_BETA, "true");
    c->mount_options = decode_texts(dec, object, "mountOptions");
    c->parameters = decode_map(dec, object, "parameters");
    c->topologies = decode_topologies(dec, object, "allowedTopologies");
}

const struct kind_info class_kind = {
    .kind = KIND_CLASS,
    .name = "StorageClass",
    .group = "storage.k8s.io",
    .version = "v1",
    .plural = "storageclasses",
    .short_names = (const char *const[]){ "sc", NULL },
    .flags = KIND_UPDATES_UNCONDITIONALLY | KIND_DELETE_ANSWERS_OBJECT,
    .name_rule = NAME_DNS_SUBDOMAIN,
    .schema = &class_schema,
    .view_bytes = sizeof(struct storage_class),
    .set_defaults = class_set_defaults,
    .prepare_create = prepare_create_nothing,
    .prepare_update = prepare_update_nothing,
    .validate = class_validate,
    .validate_update = class_validate_update,
    .decode = class_decode,
};
