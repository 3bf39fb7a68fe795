/* The PersistentVolume kind: schema, defaults, validation and decoding.
 *
 * The source is immutable, except for an expand secret of a CSI volume that may be added. Node affinity may
 * be set once; later only beta label names may be replaced by their successors. The server records the time
 * of phase changes. */
#include "api/volume.h"

#include <assert.h>

#include "api/defaults.h"
#include "api/json_diff.h"
#include "api/meta.h"
#include "api/resources.h"
#include "api/warnings.h"

static const char *const phase_names[] = {
    [VOLUME_PHASE_UNSET] = "", [VOLUME_PENDING] = "Pending",   [VOLUME_AVAILABLE] = "Available",
    [VOLUME_BOUND] = "Bound",  [VOLUME_RELEASED] = "Released", [VOLUME_FAILED] = "Failed",
};
static_assert(ARRAY_LEN(phase_names) == VOLUME_PHASE_COUNT, "name every phase");

/* --- Schema --- */

static const struct field volume_affinity_fields[] = {
    { "required", FIELD_OBJECT, .sub = &node_selector_schema, .number = 1 },
};
static const struct schema volume_affinity_schema = SCHEMA("VolumeNodeAffinity", volume_affinity_fields);

static const struct field volume_spec_fields[] = {
    { "capacity", FIELD_MAP, .item = FIELD_QUANTITY, .number = 1 },
    { "gcePersistentDisk", FIELD_OBJECT, .sub = &gce_disk_source_schema, .number = 1, .within = 2 },
    { "awsElasticBlockStore", FIELD_OBJECT, .sub = &aws_disk_source_schema, .number = 2, .within = 2 },
    { "hostPath", FIELD_OBJECT, .sub = &host_path_source_schema, .number = 3, .within = 2 },
    { "glusterfs", FIELD_OBJECT, .sub = &glusterfs_source_schema, .number = 4, .within = 2 },
    { "nfs", FIELD_OBJECT, .sub = &nfs_source_schema, .number = 5, .within = 2 },
    { "rbd", FIELD_OBJECT, .sub = &rbd_source_schema, .number = 6, .within = 2 },
    { "iscsi", FIELD_OBJECT, .sub = &iscsi_source_schema, .number = 7, .within = 2 },
    { "cinder", FIELD_OBJECT, .sub = &cinder_source_schema, .number = 8, .within = 2 },
    { "cephfs", FIELD_OBJECT, .sub = &cephfs_source_schema, .number = 9, .within = 2 },
    { "fc", FIELD_OBJECT, .sub = &fc_source_schema, .number = 10, .within = 2 },
    { "flocker", FIELD_OBJECT, .sub = &flocker_source_schema, .number = 11, .within = 2 },
    { "flexVolume", FIELD_OBJECT, .sub = &flex_source_schema, .number = 12, .within = 2 },
    { "azureFile", FIELD_OBJECT, .sub = &azure_file_source_schema, .number = 13, .within = 2 },
    { "vsphereVolume", FIELD_OBJECT, .sub = &vsphere_source_schema, .number = 14, .within = 2 },
    { "quobyte", FIELD_OBJECT, .sub = &quobyte_source_schema, .number = 15, .within = 2 },
    { "azureDisk", FIELD_OBJECT, .sub = &azure_disk_source_schema, .number = 16, .within = 2 },
    { "photonPersistentDisk", FIELD_OBJECT, .sub = &photon_source_schema, .number = 17, .within = 2 },
    { "portworxVolume", FIELD_OBJECT, .sub = &portworx_source_schema, .number = 18, .within = 2 },
    { "scaleIO", FIELD_OBJECT, .sub = &scale_io_source_schema, .number = 19, .within = 2 },
    { "local", FIELD_OBJECT, .sub = &local_source_schema, .number = 20, .within = 2 },
    { "storageos", FIELD_OBJECT, .sub = &storage_os_source_schema, .number = 21, .within = 2 },
    { "csi", FIELD_OBJECT, .sub = &csi_source_schema, .number = 22, .within = 2 },
    { "accessModes", FIELD_LIST, .item = FIELD_STRING, .go_type = "v1.PersistentVolumeAccessMode",
      .number = 3 },
    { "claimRef", FIELD_OBJECT, .sub = &object_reference_schema, .flags = FIELD_GRANULAR, .number = 4 },
    { "persistentVolumeReclaimPolicy", FIELD_STRING, .go_type = "v1.PersistentVolumeReclaimPolicy",
      .number = 5 },
    { "storageClassName", FIELD_STRING, .number = 6 },
    { "mountOptions", FIELD_LIST, .item = FIELD_STRING, .number = 7 },
    { "volumeMode", FIELD_STRING, .flags = FIELD_POINTER, .go_type = "v1.PersistentVolumeMode", .number = 8 },
    { "nodeAffinity", FIELD_OBJECT, .sub = &volume_affinity_schema, .number = 9 },
    { "volumeAttributesClassName", FIELD_STRING, .flags = FIELD_POINTER, .number = 10 },
};
const struct schema volume_spec_schema = SCHEMA("PersistentVolumeSpec", volume_spec_fields);

static const struct field volume_status_fields[] = {
    { "phase", FIELD_STRING, .go_type = "v1.PersistentVolumePhase", .number = 1 },
    { "message", FIELD_STRING, .number = 2 },
    { "reason", FIELD_STRING, .number = 3 },
    { "lastPhaseTransitionTime", FIELD_TIME, .number = 4 },
};
static const struct schema volume_status_schema = SCHEMA("PersistentVolumeStatus", volume_status_fields);

static const struct field volume_fields[] = {
    SCHEMA_OBJECT_FIELDS,
    { "spec", FIELD_OBJECT, .sub = &volume_spec_schema, .flags = FIELD_ALWAYS, .number = 2 },
    { "status", FIELD_OBJECT, .sub = &volume_status_schema, .flags = FIELD_ALWAYS, .number = 3 },
};
static const struct schema volume_schema = SCHEMA("PersistentVolume", volume_fields);

/* --- Defaults, and fields that the server sets --- */

static void volume_set_defaults(struct json *d, json_ref object)
{
    json_ref spec = json_ensure_object(d, object, "spec"), status = json_ensure_object(d, object, "status");

    default_resources(d, json_get(d, spec, "capacity"));
    default_volume_source(d, spec);
    default_text(d, spec, "persistentVolumeReclaimPolicy", "Retain");
    default_text(d, spec, "volumeMode", "Filesystem");
    default_text(d, status, "phase", "Pending");
}

static void volume_set_phase_time(struct json *d, json_ref status, struct timestamp now)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(64);

    timestamp_format(now, &text);
    json_set(d, status, "lastPhaseTransitionTime", json_new_string(d, buf_str(&text)));
}

static void volume_prepare_create(struct json *d, json_ref object, struct timestamp now)
{
    json_ref status = json_new_object(d);

    json_set_string(d, status, "phase", "Pending");
    volume_set_phase_time(d, status, now);
    json_set(d, object, "status", status);
}

/* The server sets the time of the last phase change, unless the client does. */
static void volume_prepare_update(struct json *d, json_ref object, json_ref old, enum write_part part,
                                  struct timestamp now)
{
    json_ref status, time, old_time;
    bool same_phase;

    prepare_update_parts(d, object, old, part, now);
    if (part != WRITE_STATUS)
        return;
    status = json_ensure_object(d, object, "status");
    time = json_get(d, status, "lastPhaseTransitionTime");
    old_time = json_path(d, old, "status", "lastPhaseTransitionTime");
    same_phase = json_equal(d, json_get(d, status, "phase"), json_path(d, old, "status", "phase"));
    if (same_phase && !time && old_time)
        json_set(d, status, "lastPhaseTransitionTime", json_copy(d, old_time));
    else if (!same_phase && (!time || json_equal(d, time, old_time)))
        volume_set_phase_time(d, status, now);
}

/* --- Rules --- */

static void validate_capacity(struct validation *v, const struct field_path *p, json_ref capacity)
{
    static const char *const supported[] = { RESOURCE_STORAGE, NULL };

    if (!capacity)
        errors_required(v->errors, p, "");
    if (!json_get(v->d, capacity, RESOURCE_STORAGE) || json_count(v->d, capacity) > 1)
        errors_not_supported(v->errors, p, show_value(v->errors, v->d, capacity), supported);
    for (json_ref m = json_first(v->d, capacity); m; m = json_next(v->d, m)) {
        struct field_path at = path_key(p, json_key(v->d, m));
        validate_resource(v, &at, m);
        validate_positive(v, &at, m);
    }
}

static void validate_affinity(struct validation *v, const struct field_path *p, json_ref affinity)
{
    struct field_path at = path_child(p, "required");
    json_ref required = json_get(v->d, affinity, "required");

    if (affinity && required)
        validate_node_selector(v, &at, required);
    else if (affinity)
        errors_required(v->errors, &at, "must specify required node constraints");
}

/* "/", "//", "/a/..": the root in any notation. */
static bool path_is_root(struct str path)
{
    struct str rest = path;
    size_t depth = 0;

    if (!str_has_prefix(path, "/"))
        return false;
    while (rest.s) {
        struct str part = str_next(&rest, '/');
        if (str_is(part, ".."))
            depth -= depth > 0;
        else if (part.len && !str_is(part, "."))
            depth++;
    }
    return depth == 0;
}

static void validate_attributes_class(struct validation *v, const struct field_path *p, json_ref spec)
{
    struct field_path at = path_child(p, "volumeAttributesClassName"), csi = path_child(p, "csi");
    json_ref class = json_get(v->d, spec, "volumeAttributesClassName");

    if (!class)
        return;
    if (json_text(v->d, class).len == 0)
        errors_required(v->errors, &at, "an empty string is disallowed");
    else
        validate_name(v, &at, NAME_CLASS, json_text(v->d, class));
    if (!json_get(v->d, spec, "csi"))
        errors_required(v->errors, &csi, "has to be specified when using volumeAttributesClassName");
}

static void validate_mount_options_annotation(struct validation *v, enum volume_source_kind kind)
{
    struct field_path meta = path_child(NULL, "metadata"), annotations = path_child(&meta, "annotations"),
                      at = path_child(&annotations, ANN_MOUNT_OPTIONS_BETA);

    if (!volume_sources[kind].takes_mount_options &&
        json_path(v->d, v->object, "metadata", "annotations", ANN_MOUNT_OPTIONS_BETA))
        errors_forbidden(v->errors, &at, "may not specify mount options for this volume type");
}

/* A volume without a PersistentVolume is only used by its driver: fields about claims and nodes are not
 * allowed. */
static void refuse_inline(struct validation *v, const struct field_path *p, json_ref spec, const char *key)
{
    struct field_path at = path_child(p, key);

    if (json_get(v->d, spec, key))
        errors_forbidden(v->errors, &at, "may not be specified in the context of inline volumes");
}

static void validate_policy(struct validation *v, const struct field_path *p, json_ref spec, bool is_inline)
{
    struct field_path at = path_child(p, "persistentVolumeReclaimPolicy");
    struct str policy = json_get_text(v->d, spec, "persistentVolumeReclaimPolicy");

    if (!is_inline)
        validate_one_of(v, &at, policy, reclaim_policy_names);
    else if (policy.len && !str_is(policy, "Retain"))
        errors_forbidden(v->errors, &at, "may only be Retain in the context of inline volumes");
}

static void validate_mode(struct validation *v, const struct field_path *p, json_ref spec, bool is_inline)
{
    struct field_path at = path_child(p, "volumeMode");
    struct str mode = json_get_text(v->d, spec, "volumeMode");

    if (!is_inline)
        validate_one_of(v, &at, mode, volume_mode_names);
    else if (mode.len && !str_is(mode, "Filesystem"))
        errors_forbidden(v->errors, &at,
                         "may not specify volumeMode other than Filesystem in the context of inline volumes");
}

enum volume_source_kind validate_volume_spec(struct validation *v, const struct field_path *p, json_ref spec,
                                             bool is_inline)
{
    struct field_path modes = path_child(p, "accessModes"), capacity = path_child(p, "capacity"),
                      policy = path_child(p, "persistentVolumeReclaimPolicy"),
                      affinity_at = path_child(p, "nodeAffinity"), csi = path_child(p, "csi");
    json_ref affinity = json_get(v->d, spec, "nodeAffinity");
    enum volume_source_kind source;

    if (is_inline) {
        refuse_inline(v, p, spec, "claimRef");
        refuse_inline(v, p, spec, "capacity");
        if (!json_get(v->d, spec, "csi"))
            errors_required(v->errors, &csi, "has to be specified in the context of inline volumes");
    }
    validate_required(v, p, spec, "accessModes", "");
    validate_access_modes(v, &modes, json_get(v->d, spec, "accessModes"));
    if (!is_inline)
        validate_capacity(v, &capacity, json_get(v->d, spec, "capacity"));
    validate_policy(v, p, spec, is_inline);
    if (is_inline)
        refuse_inline(v, p, spec, "nodeAffinity");
    else
        validate_affinity(v, &affinity_at, affinity);
    source = validate_volume_source(v, p, spec);
    if (source == SOURCE_LOCAL && !affinity)
        errors_required(v->errors, &affinity_at, "Local volume requires node affinity");
    if (json_is_string(v->d, json_get(v->d, spec, "persistentVolumeReclaimPolicy"), "Recycle") &&
        path_is_root(json_get_text(v->d, json_get(v->d, spec, "hostPath"), "path")))
        errors_forbidden(v->errors, &policy, "may not be 'recycle' for a hostPath mount of '/'");
    if (is_inline)
        refuse_inline(v, p, spec, "storageClassName");
    else
        validate_optional_name(v, p, spec, "storageClassName", NAME_CLASS);
    validate_mode(v, p, spec, is_inline);
    validate_attributes_class(v, p, spec);
    return source;
}

static void volume_validate(struct validation *v)
{
    struct field_path at = path_child(NULL, "spec");

    if (v->part == WRITE_STATUS)
        return;
    validate_mount_options_annotation(
        v, validate_volume_spec(v, &at, json_get(v->d, v->object, "spec"), /* is_inline= */ false));
}

/* --- Rules of change --- */

/* The only part of a source that may be added later: the secret for expansion, once. */
static bool csi_gained_expand_secret(const struct json *d, json_ref now, json_ref old)
{
    static const char secret[] = "controllerExpandSecretRef";

    if (!now || !old || json_get(d, old, secret) || !json_get(d, now, secret))
        return false;
    for (const struct field *f = csi_source_schema.fields;
         f < csi_source_schema.fields + csi_source_schema.fields_count; f++)
        if (strcmp(f->name, secret) != 0 &&
            !json_equal(d, json_get(d, now, f->name), json_get(d, old, f->name)))
            return false;
    return true;
}

static void validate_same_source(struct validation *v, json_ref spec, json_ref old)
{
    _cleanup_(buf_done_p) struct buf detail = BUF_INIT(SOURCE_COUNT * JSON_DIFF_BYTES_MAX);
    struct field_path at = path_child(NULL, "spec"), source_at = path_child(&at, "persistentvolumesource");
    bool changed = false;

    buf_add_cstr(&detail, "spec.persistentvolumesource is immutable after creation\n");
    for (int kind = SOURCE_NONE + 1; kind < SOURCE_COUNT; kind++) {
        const char *name = volume_sources[kind].name;
        json_ref source = json_get(v->d, spec, name), before = json_get(v->d, old, name);
        if (json_equal(v->d, source, before) ||
            (kind == SOURCE_CSI && csi_gained_expand_secret(v->d, source, before)))
            continue;
        json_diff(v->d, name, before, source, &detail);
        changed = true;
    }
    if (changed)
        errors_forbidden(v->errors, &source_at, buf_cstr(&detail));
}

/* True if the key is the same, or is the successor of a beta label. */
static bool label_may_become(struct str old, struct str now)
{
    static const struct {
        const char *beta, *stable;
    } successors[] = {
        { "failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone" },
        { "failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region" },
        { "beta.kubernetes.io/os", "kubernetes.io/os" },
        { "beta.kubernetes.io/arch", "kubernetes.io/arch" },
        { "beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type" },
    };

    for (size_t i = 0; i < ARRAY_LEN(successors); i++)
        if (str_is(old, successors[i].beta) && str_is(now, successors[i].stable))
            return true;
    return str_eq(old, now);
}

static bool requirements_may_become(const struct json *d, json_ref old, json_ref now)
{
    json_ref a = json_first(d, old), b = json_first(d, now);

    for (; a && b; a = json_next(d, a), b = json_next(d, b))
        if (!label_may_become(json_get_text(d, a, "key"), json_get_text(d, b, "key")) ||
            !json_equal(d, json_get(d, a, "operator"), json_get(d, b, "operator")) ||
            !json_equal(d, json_get(d, a, "values"), json_get(d, b, "values")))
            return false;
    return !a && !b;
}

static bool affinity_may_become(const struct json *d, json_ref old, json_ref now)
{
    json_ref old_required = json_get(d, old, "required"), required = json_get(d, now, "required");
    json_ref a = json_first(d, json_get(d, old_required, "nodeSelectorTerms")),
             b = json_first(d, json_get(d, required, "nodeSelectorTerms"));

    if (!now || !old_required != !required)
        return false;
    for (; a && b; a = json_next(d, a), b = json_next(d, b))
        if (!requirements_may_become(d, json_get(d, a, "matchExpressions"),
                                     json_get(d, b, "matchExpressions")) ||
            !requirements_may_become(d, json_get(d, a, "matchFields"), json_get(d, b, "matchFields")))
            return false;
    return !a && !b;
}

static void volume_validate_update(struct validation *v)
{
    struct field_path spec_at = path_child(NULL, "spec"),
                      attributes = path_child(&spec_at, "volumeAttributesClassName"),
                      mode = path_child(NULL, "volumeMode"), affinity_at = path_child(NULL, "nodeAffinity");
    json_ref spec = json_get(v->d, v->object, "spec"), old = json_get(v->d, v->old, "spec");
    json_ref affinity = json_get(v->d, spec, "nodeAffinity"),
             old_affinity = json_get(v->d, old, "nodeAffinity");

    if (v->part == WRITE_STATUS)
        return;
    validate_same_source(v, spec, old);
    validate_immutable(v, &mode, json_get(v->d, spec, "volumeMode"), json_get(v->d, old, "volumeMode"));
    if (old_affinity && !affinity_may_become(v->d, old_affinity, affinity))
        errors_invalid(v->errors, &affinity_at, show_value(v->errors, v->d, affinity),
                       "field is immutable, except for updating from beta label to GA");
    if (json_get(v->d, old, "volumeAttributesClassName") &&
        !json_get(v->d, spec, "volumeAttributesClassName"))
        errors_forbidden(v->errors, &attributes, "update from non-nil value to nil is forbidden");
}

/* --- The view --- */

const char *volume_phase_name(enum volume_phase phase)
{
    assert(phase < VOLUME_PHASE_COUNT);
    return phase_names[phase];
}

enum volume_phase volume_phase_parse(struct str name)
{
    return (enum volume_phase)name_index(name, phase_names, VOLUME_PHASE_COUNT, VOLUME_PHASE_UNSET);
}

static struct claim_ref decode_claim_ref(struct decoder *dec, json_ref spec)
{
    json_ref ref = json_get(dec->d, spec, "claimRef");

    return (struct claim_ref){
        .ns = decode_text(dec, ref, "namespace"),
        .name = decode_text(dec, ref, "name"),
        .uid = decode_text(dec, ref, "uid"),
        .revision = decode_text(dec, ref, "resourceVersion"),
        .is_set = ref != 0,
    };
}

/* No policy means Retain; an unknown policy is not acted on. */
static enum reclaim_policy decode_reclaim_policy(struct decoder *dec, json_ref spec)
{
    if (!json_get(dec->d, spec, "persistentVolumeReclaimPolicy"))
        return RECLAIM_RETAIN;
    return (enum reclaim_policy)decode_enum(dec, spec, "persistentVolumeReclaimPolicy", reclaim_policy_names,
                                            RECLAIM_UNKNOWN, RECLAIM_UNKNOWN);
}

static void volume_decode(struct decoder *dec, json_ref object, struct object *o)
{
    struct volume *v = CONTAINER_OF(o, struct volume, obj);
    json_ref spec = json_get(dec->d, object, "spec"), status = json_get(dec->d, object, "status");
    const char *beta_class = object_annotation(o, ANN_CLASS_BETA);

    v->has_capacity = decode_storage(dec, spec, "capacity", &v->capacity);
    v->source = decode_volume_source(dec, spec);
    v->claim = decode_claim_ref(dec, spec);
    v->spec_class = decode_text(dec, spec, "storageClassName");
    v->class = beta_class ? beta_class : v->spec_class;
    v->attributes_class = decode_text(dec, spec, "volumeAttributesClassName");
    v->affinity = decode_node_selector(dec, json_get(dec->d, spec, "nodeAffinity"), "required");
    v->mount_options = decode_texts(dec, spec, "mountOptions");
    v->modes = (uint8_t)decode_access_modes(dec, spec, "accessModes");
    v->mode = (uint8_t)decode_volume_mode(dec, spec);
    v->reclaim = (uint8_t)decode_reclaim_policy(dec, spec);
    v->phase = (uint8_t)volume_phase_parse(json_get_text(dec->d, status, "phase"));
    v->message = decode_text(dec, status, "message");
    v->reason = decode_text(dec, status, "reason");
    (void)decode_time(dec, status, "lastPhaseTransitionTime", &v->phase_since); /* zero if absent */
}

const struct kind_info volume_kind = {
    .kind = KIND_VOLUME,
    .name = "PersistentVolume",
    .group = "",
    .version = "v1",
    .plural = "persistentvolumes",
    .short_names = (const char *const[]){ "pv", NULL },
    .has_status = true,
    .flags = KIND_UPDATES_UNCONDITIONALLY | KIND_DELETE_ANSWERS_OBJECT,
    .name_rule = NAME_DNS_SUBDOMAIN,
    .schema = &volume_schema,
    .view_bytes = sizeof(struct volume),
    .set_defaults = volume_set_defaults,
    .prepare_create = volume_prepare_create,
    .prepare_update = volume_prepare_update,
    .validate = volume_validate,
    .validate_update = volume_validate_update,
    .warn = volume_warn,
    .decode = volume_decode,
};
