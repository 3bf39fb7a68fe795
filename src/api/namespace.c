/* The Namespace kind: schema, defaults, validation and decoding. The label kubernetes.io/metadata.name always
 * has the name of the namespace. spec.finalizers only changes through the finalize subresource. */
#include "api/namespace.h"

#include "api/defaults.h"
#include "api/meta.h"
#include "api/validate.h"

const char *const namespace_phase_names[] = {
    [NAMESPACE_ACTIVE] = "Active",
    [NAMESPACE_TERMINATING] = "Terminating",
};
static_assert(ARRAY_LEN(namespace_phase_names) == NAMESPACE_PHASE_COUNT, "name every phase");

static const struct field namespace_spec_fields[] = {
    { "finalizers", FIELD_LIST, .item = FIELD_STRING, .go_type = "v1.FinalizerName", .number = 1 },
};
static const struct schema namespace_spec_schema = SCHEMA("NamespaceSpec", namespace_spec_fields);

static const struct field namespace_condition_fields[] = {
    { "type", FIELD_STRING, .flags = FIELD_ALWAYS, .go_type = "v1.NamespaceConditionType", .number = 1 },
    { "status", FIELD_STRING, .flags = FIELD_ALWAYS, .go_type = "v1.ConditionStatus", .number = 2 },
    { "lastTransitionTime", FIELD_TIME, .number = 4 },
    { "reason", FIELD_STRING, .number = 5 },
    { "message", FIELD_STRING, .number = 6 },
};
static const struct schema namespace_condition_schema =
    SCHEMA("NamespaceCondition", namespace_condition_fields);

static const struct field namespace_status_fields[] = {
    { "phase", FIELD_STRING, .go_type = "v1.NamespacePhase", .number = 1 },
    { "conditions", LIST_OF(namespace_condition_schema), .merge_key = "type", .number = 2 },
};
static const struct schema namespace_status_schema = SCHEMA("NamespaceStatus", namespace_status_fields);

static const struct field namespace_fields[] = {
    SCHEMA_OBJECT_FIELDS,
    { "spec", FIELD_OBJECT, .sub = &namespace_spec_schema, .flags = FIELD_ALWAYS, .number = 2 },
    { "status", FIELD_OBJECT, .sub = &namespace_status_schema, .flags = FIELD_ALWAYS, .number = 3 },
};
static const struct schema namespace_schema = SCHEMA("Namespace", namespace_fields);

/* The label is always the name, whatever the client sends: selectors of other objects depend on it. */
static void namespace_set_label(struct json *d, json_ref object)
{
    json_ref meta = json_ensure_object(d, object, "metadata");
    struct str name = json_get_text(d, meta, "name");

    if (name.len)
        json_set(d, json_ensure_object(d, meta, "labels"), LABEL_NAMESPACE_NAME, json_new_string(d, name));
}

static void namespace_set_defaults(struct json *d, json_ref object)
{
    json_ref status = json_ensure_object(d, object, "status");

    namespace_set_label(d, object);
    default_text(d, status, "phase", namespace_phase_names[NAMESPACE_ACTIVE]);
}

static void namespace_add_finalizer(struct json *d, json_ref object)
{
    json_ref spec = json_ensure_object(d, object, "spec");
    json_ref list = json_get(d, spec, "finalizers");

    for (json_ref m = json_first(d, list); m; m = json_next(d, m))
        if (json_is_string(d, m, FINALIZER_NAMESPACE))
            return;
    if (!list) {
        list = json_new_array(d);
        json_set(d, spec, "finalizers", list);
    }
    json_append(d, list, json_new_string(d, STR_LIT(FINALIZER_NAMESPACE)));
}

static void namespace_prepare_create(struct json *d, json_ref object, struct timestamp now)
{
    json_ref status = json_new_object(d);

    (void)now;
    namespace_set_label(d, object); /* a generated name is set after the defaults */
    namespace_add_finalizer(d, object);
    json_set_string(d, status, "phase", namespace_phase_names[NAMESPACE_ACTIVE]);
    json_set(d, object, "status", status);
}

/* Neither part may change the spec. */
static void namespace_prepare_update(struct json *d, json_ref object, json_ref old, enum write_part part,
                                     struct timestamp now)
{
    (void)now;
    prepare_keep(d, object, old, "spec");
    if (part == WRITE_MAIN)
        prepare_keep(d, object, old, "status");
}

void namespace_prepare_finalize(struct json *d, json_ref object, json_ref old)
{
    prepare_keep(d, object, old, "status");
}

static void validate_spec_finalizers(struct validation *v)
{
    struct field_path spec = path_child(NULL, "spec"), at = path_child(&spec, "finalizers");
    json_ref list = json_path(v->d, v->object, "spec", "finalizers");

    for (json_ref m = json_first(v->d, list); m && v->errors->count < FIELD_ERRORS_COUNT_MAX;
         m = json_next(v->d, m))
        validate_name(v, &at, NAME_FINALIZER, json_text(v->d, m));
}

/* Terminating if and only if the namespace is being deleted. */
static void validate_phase(struct validation *v)
{
    struct field_path status = path_child(NULL, "status"),
                      at = path_child(&status, "Phase"); /* the spelling of the API */
    struct str phase = json_get_text(v->d, json_get(v->d, v->object, "status"), "phase");

    if (json_path(v->d, v->object, "metadata", "deletionTimestamp")) {
        if (!str_is(phase, namespace_phase_names[NAMESPACE_TERMINATING]))
            errors_invalid(v->errors, &at, show_text(v->errors, phase),
                           "may only be 'Terminating' if `deletionTimestamp` is not empty");
    } else if (!str_is(phase, namespace_phase_names[NAMESPACE_ACTIVE])) {
        errors_invalid(v->errors, &at, show_text(v->errors, phase),
                       "may only be 'Active' if `deletionTimestamp` is empty");
    }
}

static void namespace_validate(struct validation *v)
{
    if (v->part == WRITE_MAIN)
        validate_spec_finalizers(v);
    else
        validate_phase(v);
}

static void namespace_decode(struct decoder *dec, json_ref object, struct object *o)
{
    struct namespace *n = CONTAINER_OF(o, struct namespace, obj);

    n->spec_finalizers = decode_texts(dec, json_get(dec->d, object, "spec"), "finalizers");
    n->phase =
        (enum namespace_phase)decode_enum(dec, json_get(dec->d, object, "status"), "phase",
                                          namespace_phase_names, NAMESPACE_PHASE_COUNT, NAMESPACE_ACTIVE);
}

static const char *namespace_phase_field(const struct object *o)
{
    return namespace_phase_names[namespace_of(o)->phase];
}

const struct kind_info namespace_kind = {
    .kind = KIND_NAMESPACE,
    .name = "Namespace",
    .group = "",
    .version = "v1",
    .plural = "namespaces",
    .short_names = (const char *const[]){ "ns", NULL },
    .has_status = true,
    .flags = KIND_UPDATES_UNCONDITIONALLY | KIND_DELETE_ANSWERS_OBJECT,
    .name_rule = NAME_DNS_LABEL,
    .schema = &namespace_schema,
    .view_bytes = sizeof(struct namespace),
    .set_defaults = namespace_set_defaults,
    .prepare_create = namespace_prepare_create,
    .prepare_update = namespace_prepare_update,
    .validate = namespace_validate,
    .validate_update = validate_nothing,
    .decode = namespace_decode,
    .selectable = (const struct selectable[]){ { "status.phase", namespace_phase_field }, { 0 } },
};
