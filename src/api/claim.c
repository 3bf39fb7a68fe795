/* The PersistentVolumeClaim kind: schema, defaults, validation and decoding.
 *
 * Writes to the object keep the stored status, and writes to the status keep the stored spec. After creation
 * only the requested size and the attributes class of a bound claim may change, and an unset class or volume
 * name may be set. */
#include "api/claim.h"

#include <assert.h>
#include <string.h>

#include "api/defaults.h"
#include "api/json_diff.h"
#include "api/meta.h"
#include "api/names.h"
#include "api/resources.h"
#include "api/warnings.h"

static const char *const phase_names[] = {
    [CLAIM_PHASE_UNSET] = "",
    [CLAIM_PENDING] = "Pending",
    [CLAIM_BOUND] = "Bound",
    [CLAIM_LOST] = "Lost",
};
static_assert(ARRAY_LEN(phase_names) == CLAIM_PHASE_COUNT, "name every phase");

static const char *const resize_names[] = {
    [RESIZE_NONE] = "",
    [RESIZE_CONTROLLER_IN_PROGRESS] = "ControllerResizeInProgress",
    [RESIZE_CONTROLLER_INFEASIBLE] = "ControllerResizeInfeasible",
    [RESIZE_NODE_PENDING] = "NodeResizePending",
    [RESIZE_NODE_IN_PROGRESS] = "NodeResizeInProgress",
    [RESIZE_NODE_INFEASIBLE] = "NodeResizeInfeasible",
    [RESIZE_STATUS_COUNT] = NULL,
};
static_assert(ARRAY_LEN(resize_names) == RESIZE_STATUS_COUNT + 1, "name every status");

static const char *const modify_names[] = {
    [MODIFY_NONE] = "",
    [MODIFY_PENDING] = "Pending",
    [MODIFY_IN_PROGRESS] = "InProgress",
    [MODIFY_INFEASIBLE] = "Infeasible",
    [MODIFY_STATUS_COUNT] = NULL,
};
static_assert(ARRAY_LEN(modify_names) == MODIFY_STATUS_COUNT + 1, "name every status");

/* --- Schema --- */

static const struct field claim_resources_fields[] = {
    { "limits", FIELD_MAP, .item = FIELD_QUANTITY, .number = 1 },
    { "requests", FIELD_MAP, .item = FIELD_QUANTITY, .number = 2 },
};
static const struct schema claim_resources_schema =
    SCHEMA("VolumeResourceRequirements", claim_resources_fields);

static const struct field claim_spec_fields[] = {
    { "accessModes", FIELD_LIST, .item = FIELD_STRING, .go_type = "v1.PersistentVolumeAccessMode",
      .number = 1 },
    { "selector", FIELD_OBJECT, .sub = &label_selector_schema, .number = 4 },
    { "resources", FIELD_OBJECT, .sub = &claim_resources_schema, .flags = FIELD_ALWAYS, .number = 2 },
    { "volumeName", FIELD_STRING, .number = 3 },
    { "storageClassName", FIELD_STRING, .flags = FIELD_POINTER, .number = 5 },
    { "volumeMode", FIELD_STRING, .flags = FIELD_POINTER, .go_type = "v1.PersistentVolumeMode", .number = 6 },
    { "dataSource", FIELD_OBJECT, .sub = &typed_local_reference_schema, .number = 7 },
    { "dataSourceRef", FIELD_OBJECT, .sub = &typed_reference_schema, .number = 8 },
    { "volumeAttributesClassName", FIELD_STRING, .flags = FIELD_POINTER, .number = 9 },
};
const struct schema claim_spec_schema = SCHEMA("PersistentVolumeClaimSpec", claim_spec_fields);

static const struct field claim_condition_fields[] = {
    { "type", FIELD_STRING, .flags = FIELD_ALWAYS, .go_type = "v1.PersistentVolumeClaimConditionType",
      .number = 1 },
    { "status", FIELD_STRING, .flags = FIELD_ALWAYS, .go_type = "v1.ConditionStatus", .number = 2 },
    { "lastProbeTime", FIELD_TIME, .number = 3 },
    { "lastTransitionTime", FIELD_TIME, .number = 4 },
    { "reason", FIELD_STRING, .number = 5 },
    { "message", FIELD_STRING, .number = 6 },
};
static const struct schema claim_condition_schema =
    SCHEMA("PersistentVolumeClaimCondition", claim_condition_fields);

static const struct field modify_status_fields[] = {
    { "targetVolumeAttributesClassName", FIELD_STRING, .number = 1 },
    { "status", FIELD_STRING, .flags = FIELD_ALWAYS, .go_type = "v1.PersistentVolumeClaimModifyVolumeStatus",
      .number = 2 },
};
static const struct schema modify_status_schema = SCHEMA("ModifyVolumeStatus", modify_status_fields);

static const struct field claim_status_fields[] = {
    { "phase", FIELD_STRING, .go_type = "v1.PersistentVolumeClaimPhase", .number = 1 },
    { "accessModes", FIELD_LIST, .item = FIELD_STRING, .go_type = "v1.PersistentVolumeAccessMode",
      .number = 2 },
    { "capacity", FIELD_MAP, .item = FIELD_QUANTITY, .number = 3 },
    { "conditions", LIST_OF(claim_condition_schema), .merge_key = "type", .number = 4 },
    { "allocatedResources", FIELD_MAP, .item = FIELD_QUANTITY, .number = 5 },
    { "allocatedResourceStatuses", FIELD_MAP, .item = FIELD_STRING, .go_type = "v1.ClaimResourceStatus",
      .number = 7 },
    { "currentVolumeAttributesClassName", FIELD_STRING, .flags = FIELD_POINTER, .number = 8 },
    { "modifyVolumeStatus", FIELD_OBJECT, .sub = &modify_status_schema, .number = 9 },
};
static const struct schema claim_status_schema = SCHEMA("PersistentVolumeClaimStatus", claim_status_fields);

static const struct field claim_fields[] = {
    SCHEMA_OBJECT_FIELDS,
    { "spec", FIELD_OBJECT, .sub = &claim_spec_schema, .flags = FIELD_ALWAYS, .number = 2 },
    { "status", FIELD_OBJECT, .sub = &claim_status_schema, .flags = FIELD_ALWAYS, .number = 3 },
};
static const struct schema claim_schema = SCHEMA("PersistentVolumeClaim", claim_fields);

/* --- Defaults, and fields that the server sets --- */

void default_claim_spec(struct json *d, json_ref spec)
{
    default_resources(d, json_path(d, spec, "resources", "limits"));
    default_resources(d, json_path(d, spec, "resources", "requests"));
    default_text(d, spec, "volumeMode", "Filesystem");
}

static void claim_set_defaults(struct json *d, json_ref object)
{
    json_ref status = json_ensure_object(d, object, "status");

    default_claim_spec(d, json_ensure_object(d, object, "spec"));
    default_resources(d, json_get(d, status, "capacity"));
    default_resources(d, json_get(d, status, "allocatedResources"));
    default_text(d, status, "phase", "Pending");
}

/* dataSource allows claims and snapshots; other kinds are only allowed in dataSourceRef. */
static bool source_is_claim_or_snapshot(const struct json *d, json_ref source)
{
    struct str group = json_get_text(d, source, "apiGroup"), kind = json_get_text(d, source, "kind");

    return (group.len == 0 && str_is(kind, "PersistentVolumeClaim")) ||
           (str_is(group, "snapshot.storage.k8s.io") && str_is(kind, "VolumeSnapshot"));
}

/* Drops data sources that the API server ignores. Sources that the old object has are kept. */
static void claim_drop_sources(struct json *d, json_ref spec, json_ref old)
{
    bool had_ref = json_get(d, old, "dataSourceRef"), had_source = json_get(d, old, "dataSource");
    json_ref ref = json_get(d, spec, "dataSourceRef"), source = json_get(d, spec, "dataSource");

    if (ref && !had_ref && json_get_text(d, ref, "namespace").len) {
        json_unlink(d, ref); /* sources in other namespaces are not supported */
        ref = 0;
    }
    if (source && !ref && !had_ref && !had_source && !source_is_claim_or_snapshot(d, source))
        json_unlink(d, source);
}

static json_ref source_copy(struct json *d, json_ref source)
{
    static const char *const members[] = { "apiGroup", "kind", "name" };
    json_ref copy = json_new_object(d);

    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        json_set(d, copy, members[i], json_copy(d, json_get(d, source, members[i])));
    return copy;
}

/* Copies the data source that is set to the field that is not: dataSource and dataSourceRef. Also done for
 * reads. */
static void claim_copy_source(struct json *d, json_ref spec)
{
    json_ref source = json_get(d, spec, "dataSource"), ref = json_get(d, spec, "dataSourceRef");

    if (source && !ref)
        json_set(d, spec, "dataSourceRef", source_copy(d, source));
    else if (ref && !source && json_get_text(d, ref, "namespace").len == 0)
        json_set(d, spec, "dataSource", source_copy(d, ref));
}

static void claim_prepare_create(struct json *d, json_ref object, struct timestamp now)
{
    json_ref spec = json_ensure_object(d, object, "spec"), status = json_new_object(d);

    (void)now;
    json_set_string(d, status, "phase", "Pending");
    json_set(d, object, "status", status);
    claim_drop_sources(d, spec, /* old= */ 0);
    claim_copy_source(d, spec);
}

/* Clients that know only one of the two data source fields send it without the other. */
static void claim_prepare_update(struct json *d, json_ref object, json_ref old, enum write_part part,
                                 struct timestamp now)
{
    json_ref spec;

    prepare_update_parts(d, object, old, part, now);
    if (part != WRITE_MAIN)
        return;
    spec = json_ensure_object(d, object, "spec");
    claim_drop_sources(d, spec, json_get(d, old, "spec"));
    claim_copy_source(d, spec);
}

/* --- Rules --- */

static void validate_source(struct validation *v, const struct field_path *p, json_ref source,
                            bool group_is_known)
{
    struct str group = json_get_text(v->d, source, "apiGroup");
    struct str kind;

    if (!source)
        return;
    (void)validate_required_text(v, p, source, "name");
    kind = validate_required_text(v, p, source, "kind");
    if (group.len == 0 && !str_is(kind, "PersistentVolumeClaim"))
        errors_invalid(v->errors, p, show_text(v->errors, kind),
                       "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
    if (!group_is_known)
        validate_optional_name(v, p, source, "apiGroup", NAME_DNS_SUBDOMAIN);
    validate_optional_name(v, p, source, "namespace", NAME_DNS_LABEL);
}

static void validate_sources_agree(struct validation *v, const struct field_path *p, json_ref source,
                                   json_ref ref)
{
    static const char *const members[] = { "apiGroup", "kind", "name" };
    bool equal = true;

    if (!source || !ref)
        return;
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        equal =
            equal && json_equal(v->d, json_get(v->d, source, members[i]), json_get(v->d, ref, members[i]));
    if (json_get_text(v->d, ref, "namespace").len)
        errors_invalid(v->errors, p, "{}", "may not be specified when dataSourceRef.namespace is specified");
    else if (!equal)
        errors_invalid(v->errors, p, "{}", "must match dataSourceRef");
}

static void validate_request(struct validation *v, const struct field_path *p, json_ref spec)
{
    struct field_path resources = path_child(p, "resources"),
                      at = path_key(&resources, STR_LIT(RESOURCE_STORAGE));
    json_ref storage = json_path(v->d, spec, "resources", "requests", RESOURCE_STORAGE);

    if (storage)
        validate_positive(v, &at, storage);
    else
        errors_required(v->errors, &at, "");
}

void validate_claim_spec(struct validation *v, const struct field_path *p, json_ref spec,
                         bool groups_are_known)
{
    struct field_path modes = path_child(p, "accessModes"), selector_at = path_child(p, "selector"),
                      mode = path_child(p, "volumeMode"), source_at = path_child(p, "dataSource"),
                      ref_at = path_child(p, "dataSourceRef");
    json_ref source = json_get(v->d, spec, "dataSource"), ref = json_get(v->d, spec, "dataSourceRef");

    if (!json_get(v->d, spec, "accessModes"))
        errors_required(v->errors, &modes, "at least 1 access mode is required");
    validate_label_selector(v, &selector_at, json_get(v->d, spec, "selector"));
    validate_access_modes(v, &modes, json_get(v->d, spec, "accessModes"));
    validate_request(v, p, spec);
    validate_optional_name(v, p, spec, "storageClassName", NAME_CLASS);
    validate_one_of(v, &mode, json_get_text(v->d, spec, "volumeMode"), volume_mode_names);
    validate_source(v, &source_at, source, groups_are_known);
    validate_source(v, &ref_at, ref, groups_are_known);
    validate_sources_agree(v, p, source, ref);
    validate_optional_name(v, p, spec, "volumeAttributesClassName", NAME_CLASS);
}

/* Resource names without a prefix or under kubernetes.io/ are reserved; a claim may only have storage. */
static bool validate_resource_name(struct validation *v, const struct field_path *p, struct str name)
{
    static const char *const supported[] = { RESOURCE_STORAGE, NULL };
    struct str rest = name;
    bool is_own;

    if (!name_is_valid(NAME_QUALIFIED, name)) {
        validate_name(v, p, NAME_QUALIFIED, name);
        return false;
    }
    is_own = str_has_suffix(str_next(&rest, '/'), "kubernetes.io") || !rest.s;
    if (is_own && !str_is(name, RESOURCE_STORAGE)) {
        errors_not_supported(v->errors, p, show_text(v->errors, name), supported);
        return false;
    }
    return true;
}

static void validate_resize_statuses(struct validation *v, const struct field_path *p, json_ref statuses)
{
    for (json_ref m = json_first(v->d, statuses); m; m = json_next(v->d, m)) {
        (void)validate_resource_name(v, p, json_key(v->d, m));
        if (resize_status_parse(json_text(v->d, m)) == RESIZE_NONE)
            errors_not_supported(v->errors, p, show_text(v->errors, json_key(v->d, m)), resize_names + 1);
    }
}

static void claim_validate_status(struct validation *v)
{
    struct field_path at = path_child(NULL, "status"), capacity = path_child(&at, "capacity"),
                      statuses = path_child(&at, "allocatedResourceStatus"),
                      allocated = path_child(&at, "allocatedResources");
    json_ref status = json_get(v->d, v->object, "status");

    for (json_ref m = json_first(v->d, json_get(v->d, status, "capacity")); m; m = json_next(v->d, m)) {
        struct field_path each = path_key(&capacity, json_key(v->d, m));
        validate_resource(v, &each, m);
    }
    validate_resize_statuses(v, &statuses, json_get(v->d, status, "allocatedResourceStatuses"));
    for (json_ref m = json_first(v->d, json_get(v->d, status, "allocatedResources")); m;
         m = json_next(v->d, m)) {
        struct field_path each = path_key(&allocated, json_key(v->d, m));
        if (validate_resource_name(v, &allocated, json_key(v->d, m)))
            validate_resource(v, &each, m);
    }
}

static void claim_validate(struct validation *v)
{
    struct field_path at = path_child(NULL, "spec");
    bool groups_are_known = json_path(v->d, v->old, "spec", "dataSource", "apiGroup") ||
                            json_path(v->d, v->old, "spec", "dataSourceRef", "apiGroup");

    if (v->part == WRITE_STATUS)
        claim_validate_status(v);
    else
        validate_claim_spec(v, &at, json_get(v->d, v->object, "spec"), groups_are_known);
}

/* --- Rules of change --- */

/* A claim may move its class from the old annotation to the spec, once, if the class is the same. */
static bool class_moved_from_annotation(struct validation *v, json_ref class, json_ref old_class,
                                        json_ref annotation, json_ref old_annotation)
{
    return old_annotation && !old_class && class && json_equal(v->d, class, old_annotation) &&
           (!annotation || json_equal(v->d, annotation, old_annotation));
}

/* True if the change of spec.storageClassName is allowed; also rejects a changed annotation. */
static bool validate_class_change(struct validation *v, json_ref spec, json_ref old)
{
    struct field_path meta = path_child(NULL, "metadata"), annotations = path_child(&meta, "annotations"),
                      at = path_child(&annotations, ANN_CLASS_BETA);
    json_ref class = json_get(v->d, spec, "storageClassName"),
             old_class = json_get(v->d, old, "storageClassName");
    json_ref annotation = json_path(v->d, v->object, "metadata", "annotations", ANN_CLASS_BETA),
             old_annotation = json_path(v->d, v->old, "metadata", "annotations", ANN_CLASS_BETA);

    if (class_moved_from_annotation(v, class, old_class, annotation, old_annotation))
        return true;
    if (!str_eq(json_text(v->d, annotation), json_text(v->d, old_annotation)))
        errors_invalid(v->errors, &at, show_text(v->errors, json_text(v->d, annotation)),
                       "field is immutable");
    if (class && !old_class && (!old_annotation || json_equal(v->d, class, old_annotation)))
        return true; /* setting an unset class is allowed, for example to a new default class */
    return json_equal(v->d, class, old_class);
}

/* A bound claim may change its storage request; other resources are immutable. */
static bool resources_may_become(const struct json *d, json_ref old, json_ref now, bool is_bound)
{
    json_ref requests = json_get(d, now, "requests");

    return resources_equal(d, json_get(d, old, "limits"), json_get(d, now, "limits"), NULL) &&
           resources_equal(d, json_get(d, old, "requests"), requests,
                           is_bound && requests ? RESOURCE_STORAGE : NULL);
}

static bool spec_field_may_become(struct validation *v, const char *name, json_ref old, json_ref now,
                                  bool is_bound, bool class_is_fine)
{
    if (strcmp(name, "resources") == 0)
        return resources_may_become(v->d, old, now, is_bound);
    if (strcmp(name, "storageClassName") == 0)
        return class_is_fine;
    if (strcmp(name, "volumeName") == 0 && !old)
        return true;
    if (strcmp(name, "volumeAttributesClassName") == 0 && is_bound)
        return true;
    return json_equal(v->d, old, now);
}

static void validate_same_spec(struct validation *v, json_ref spec, json_ref old, bool class_is_fine)
{
    _cleanup_(buf_done_p) struct buf detail = BUF_INIT(16 * JSON_DIFF_BYTES_MAX);
    struct field_path at = path_child(NULL, "spec");
    bool is_bound = json_is_string(v->d, json_path(v->d, v->old, "status", "phase"), "Bound");
    bool changed = false;

    buf_add_cstr(&detail, "spec is immutable after creation except resources.requests and "
                          "volumeAttributesClassName for bound claims\n");
    for (const struct field *f = claim_spec_schema.fields;
         f < claim_spec_schema.fields + claim_spec_schema.fields_count; f++) {
        json_ref now = json_get(v->d, spec, f->name), before = json_get(v->d, old, f->name);
        if (spec_field_may_become(v, f->name, before, now, is_bound, class_is_fine))
            continue;
        json_diff(v->d, f->name, before, now, &detail);
        changed = true;
    }
    if (changed)
        errors_forbidden(v->errors, &at, buf_cstr(&detail));
}

/* A request must not be less than the capacity; a larger request that is not fulfilled yet may be reduced. */
static void validate_shrinking(struct validation *v, const struct field_path *p, json_ref spec, json_ref old)
{
    struct field_path resources = path_child(p, "resources"), requests = path_child(&resources, "requests"),
                      at = path_child(&requests, RESOURCE_STORAGE);
    struct quantity now = { 0 }, before = { 0 }, capacity = { 0 }; /* 0 if not set */

    (void)resources_storage(v->d, json_path(v->d, spec, "resources", "requests"), &now);
    (void)resources_storage(v->d, json_path(v->d, old, "resources", "requests"), &before);
    (void)resources_storage(v->d, json_path(v->d, v->old, "status", "capacity"), &capacity);
    if (quantity_cmp(&now, &before) < 0 && quantity_cmp(&now, &capacity) <= 0)
        errors_forbidden(v->errors, &at, "field can not be less than status.capacity");
}

/* A current attributes class can be replaced by another but not removed. */
static void validate_attributes_change(struct validation *v, const struct field_path *p, json_ref spec,
                                       json_ref old)
{
    struct field_path at = path_child(p, "volumeAttributesClassName");
    json_ref now = json_get(v->d, spec, "volumeAttributesClassName"),
             before = json_get(v->d, old, "volumeAttributesClassName");

    if (json_equal(v->d, now, before) ||
        !json_path(v->d, v->old, "status", "currentVolumeAttributesClassName"))
        return;
    if (!now)
        errors_forbidden(
            v->errors, &at,
            "update to nil is forbidden when status.currentVolumeAttributesClassName is not nil");
    else if (json_text(v->d, now).len == 0)
        errors_forbidden(
            v->errors, &at,
            "update to empty string is forbidden when status.currentVolumeAttributesClassName is not nil");
}

static void claim_validate_update(struct validation *v)
{
    struct field_path at = path_child(NULL, "spec"), mode = path_child(NULL, "volumeMode");
    json_ref spec = json_get(v->d, v->object, "spec"), old = json_get(v->d, v->old, "spec");

    if (v->part == WRITE_STATUS)
        return;
    validate_same_spec(v, spec, old, validate_class_change(v, spec, old));
    validate_shrinking(v, &at, spec, old);
    validate_immutable(v, &mode, json_get(v->d, spec, "volumeMode"), json_get(v->d, old, "volumeMode"));
    validate_attributes_change(v, &at, spec, old);
}

/* --- The view --- */

const char *claim_phase_name(enum claim_phase phase)
{
    assert(phase < CLAIM_PHASE_COUNT);
    return phase_names[phase];
}

enum claim_phase claim_phase_parse(struct str name)
{
    return (enum claim_phase)name_index(name, phase_names, CLAIM_PHASE_COUNT, CLAIM_PHASE_UNSET);
}

const char *resize_status_name(enum resize_status status)
{
    assert(status < RESIZE_STATUS_COUNT);
    return resize_names[status];
}

enum resize_status resize_status_parse(struct str name)
{
    return (enum resize_status)name_index(name, resize_names, RESIZE_STATUS_COUNT, RESIZE_NONE);
}

const char *modify_status_name(enum modify_status status)
{
    assert(status < MODIFY_STATUS_COUNT);
    return modify_names[status];
}

static const struct claim_source *decode_claim_source(struct decoder *dec, json_ref spec)
{
    json_ref ref = json_get(dec->d, spec, "dataSourceRef");
    json_ref source = ref ? ref : json_get(dec->d, spec, "dataSource");
    struct claim_source *s = decode_new(dec, source, sizeof *s);

    if (s)
        *s = (struct claim_source){ decode_text(dec, source, "apiGroup"), decode_text(dec, source, "kind"),
                                    decode_text(dec, source, "name"), decode_text(dec, source, "namespace") };
    return s;
}

static void decode_claim_spec(struct decoder *dec, json_ref spec, struct claim *c)
{
    const char *beta_class = object_annotation(&c->obj, ANN_CLASS_BETA);

    c->modes = (uint8_t)decode_access_modes(dec, spec, "accessModes");
    c->selector = decode_label_selector(dec, spec, "selector");
    c->has_request = decode_storage(dec, json_get(dec->d, spec, "resources"), "requests", &c->request);
    c->volume_name = decode_text(dec, spec, "volumeName");
    c->spec_class = decode_text(dec, spec, "storageClassName");
    c->class = beta_class ? beta_class : c->spec_class;
    c->has_class = beta_class || json_get(dec->d, spec, "storageClassName");
    c->mode = (uint8_t)decode_volume_mode(dec, spec);
    c->source = decode_claim_source(dec, spec);
    c->attributes_class = decode_text(dec, spec, "volumeAttributesClassName");
    c->has_attributes_class = json_get(dec->d, spec, "volumeAttributesClassName") != 0;
}

static void decode_claim_status(struct decoder *dec, json_ref status, struct claim *c)
{
    json_ref statuses = json_get(dec->d, status, "allocatedResourceStatuses");
    json_ref modify = json_get(dec->d, status, "modifyVolumeStatus");

    c->phase = (uint8_t)claim_phase_parse(json_get_text(dec->d, status, "phase"));
    c->status_modes = (uint8_t)decode_access_modes(dec, status, "accessModes");
    c->has_capacity = decode_storage(dec, status, "capacity", &c->capacity);
    c->has_allocated = decode_storage(dec, status, "allocatedResources", &c->allocated);
    c->resize = (uint8_t)resize_status_parse(json_get_text(dec->d, statuses, RESOURCE_STORAGE));
    c->current_attributes_class = decode_text(dec, status, "currentVolumeAttributesClassName");
    c->target_attributes_class = decode_text(dec, modify, "targetVolumeAttributesClassName");
    c->modify = (uint8_t)name_index(json_get_text(dec->d, modify, "status"), modify_names,
                                    MODIFY_STATUS_COUNT, MODIFY_NONE);
    c->conditions = decode_conditions(dec, status, "conditions");
}

static void claim_decode(struct decoder *dec, json_ref object, struct object *o)
{
    struct claim *c = CONTAINER_OF(o, struct claim, obj);

    decode_claim_spec(dec, json_get(dec->d, object, "spec"), c);
    decode_claim_status(dec, json_get(dec->d, object, "status"), c);
}

const struct kind_info claim_kind = {
    .kind = KIND_CLAIM,
    .name = "PersistentVolumeClaim",
    .group = "",
    .version = "v1",
    .plural = "persistentvolumeclaims",
    .short_names = (const char *const[]){ "pvc", NULL },
    .is_namespaced = true,
    .has_status = true,
    .flags = KIND_UPDATES_UNCONDITIONALLY | KIND_DELETE_ANSWERS_OBJECT,
    .name_rule = NAME_DNS_SUBDOMAIN,
    .schema = &claim_schema,
    .view_bytes = sizeof(struct claim),
    .set_defaults = claim_set_defaults,
    .prepare_create = claim_prepare_create,
    .prepare_update = claim_prepare_update,
    .validate = claim_validate,
    .validate_update = claim_validate_update,
    .warn = claim_warn,
    .decode = claim_decode,
};
