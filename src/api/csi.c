/* The kinds CSIDriver, CSINode and CSIStorageCapacity: schemas, defaults, validation and decoding.
 *
 * attachRequired and volumeLifecycleModes of a driver are immutable; entries of a CSINode may be added and
 * removed but not changed. */
#include "api/csi.h"

#include <inttypes.h>
#include <string.h>

#include "api/defaults.h"
#include "api/meta.h"
#include "api/name_table.h"
#include "api/validate.h"
#include "api/warnings.h"

#define ALLOCATABLE_PERIOD_SECONDS_MIN 10
#define NODE_ID_BYTES_MAX 256

/* --- CSIDriver --- */

static const char *const lifecycle_modes[] = { "Persistent", "Ephemeral", NULL };
static const char *const fs_group_policies[] = {
    [FS_GROUP_RWO_WITH_FS_TYPE] = "ReadWriteOnceWithFSType",
    [FS_GROUP_FILE] = "File",
    [FS_GROUP_NONE] = "None",
    [FS_GROUP_POLICY_COUNT] = NULL,
};

static const struct field token_request_fields[] = {
    { "audience", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
    { "expirationSeconds", FIELD_INT64, .flags = FIELD_POINTER, .number = 2 },
};
static const struct schema token_request_schema = SCHEMA("TokenRequest", token_request_fields);

static const struct field csi_driver_spec_fields[] = {
    { "attachRequired", FIELD_BOOL, .flags = FIELD_POINTER, .number = 1 },
    { "podInfoOnMount", FIELD_BOOL, .flags = FIELD_POINTER, .number = 2 },
    { "volumeLifecycleModes", FIELD_LIST, .item = FIELD_STRING, .flags = FIELD_OWNED_SET,
      .go_type = "v1.VolumeLifecycleMode", .number = 3 },
    { "storageCapacity", FIELD_BOOL, .flags = FIELD_POINTER, .number = 4 },
    { "fsGroupPolicy", FIELD_STRING, .flags = FIELD_POINTER, .go_type = "v1.FSGroupPolicy", .number = 5 },
    { "tokenRequests", LIST_OF(token_request_schema), .number = 6 },
    { "requiresRepublish", FIELD_BOOL, .flags = FIELD_POINTER, .number = 7 },
    { "seLinuxMount", FIELD_BOOL, .flags = FIELD_POINTER, .number = 8 },
    { "nodeAllocatableUpdatePeriodSeconds", FIELD_INT64, .flags = FIELD_POINTER, .number = 9 },
    { "serviceAccountTokenInSecrets", FIELD_BOOL, .flags = FIELD_POINTER, .number = 10 },
    { "preventPodSchedulingIfMissing", FIELD_BOOL, .flags = FIELD_POINTER, .number = 11 },
};
static const struct schema csi_driver_spec_schema = SCHEMA("CSIDriverSpec", csi_driver_spec_fields);

static const struct field csi_driver_fields[] = {
    SCHEMA_OBJECT_FIELDS,
    { "spec", FIELD_OBJECT, .sub = &csi_driver_spec_schema, .flags = FIELD_ALWAYS, .number = 2 },
};
static const struct schema csi_driver_schema = SCHEMA("CSIDriver", csi_driver_fields);

static void csi_driver_set_defaults(struct json *d, json_ref object)
{
    json_ref spec = json_ensure_object(d, object, "spec");

    default_bool(d, spec, "attachRequired", true);
    default_bool(d, spec, "podInfoOnMount", false);
    default_bool(d, spec, "storageCapacity", false);
    default_bool(d, spec, "requiresRepublish", false);
    default_bool(d, spec, "seLinuxMount", false);
    default_text(d, spec, "fsGroupPolicy", fs_group_policies[FS_GROUP_RWO_WITH_FS_TYPE]);
    if (!json_get(d, spec, "volumeLifecycleModes")) {
        json_ref modes = json_new_array(d);
        json_append(d, modes, json_new_string(d, str_of(lifecycle_modes[0])));
        json_set(d, spec, "volumeLifecycleModes", modes);
    }
}

static void csi_driver_prepare_create(struct json *d, json_ref object, struct timestamp now)
{
    (void)now;
    prepare_gated(d, json_get(d, object, "spec"), /* old= */ 0, "preventPodSchedulingIfMissing");
}

static void csi_driver_prepare_update(struct json *d, json_ref object, json_ref old, enum write_part part,
                                      struct timestamp now)
{
    (void)part;
    (void)now;
    prepare_gated(d, json_get(d, object, "spec"), json_get(d, old, "spec"), "preventPodSchedulingIfMissing");
    prepare_generation(d, object, old, json_get(d, object, "spec"), json_get(d, old, "spec"));
}

static void validate_token_requests(struct validation *v, const struct field_path *p, json_ref list)
{
    uint32_t i = 0;

    validate_unique(v, p, list, "audience");
    for (json_ref m = json_first(v->d, list); m; m = json_next(v->d, m)) {
        struct field_path at = path_index(p, i++);
        validate_token_seconds(v, &at, m);
    }
}

static void csi_driver_validate(struct validation *v)
{
    struct field_path spec_at = path_child(NULL, "spec");
    struct field_path policy = path_child(&spec_at, "fsGroupPolicy"),
                      tokens = path_child(&spec_at, "tokenRequests");
    struct field_path modes = path_child(&spec_at, "volumeLifecycleModes");
    struct field_path period = path_child(&spec_at, "nodeAllocatableUpdatePeriodSeconds");
    struct field_path in_secrets_at = path_child(&spec_at, "serviceAccountTokenInSecrets");
    json_ref spec = json_get(v->d, v->object, "spec");
    json_ref in_secrets = json_get(v->d, spec, "serviceAccountTokenInSecrets");
    int64_t seconds;

    validate_one_of(v, &policy, json_get_text(v->d, spec, "fsGroupPolicy"), fs_group_policies);
    validate_token_requests(v, &tokens, json_get(v->d, spec, "tokenRequests"));
    for (json_ref m = json_first(v->d, json_get(v->d, spec, "volumeLifecycleModes")); m;
         m = json_next(v->d, m))
        validate_one_of(v, &modes, json_text(v->d, m), lifecycle_modes);
    if (json_int64(v->d, json_get(v->d, spec, "nodeAllocatableUpdatePeriodSeconds"), &seconds) &&
        seconds < ALLOCATABLE_PERIOD_SECONDS_MIN)
        errors_invalid(v->errors, &period, errors_printf(v->errors, "%" PRId64, seconds),
                       "must be greater than or equal to 10 seconds");
    /* Without token requests there are no tokens to pass. */
    if (in_secrets && json_count(v->d, json_get(v->d, spec, "tokenRequests")) == 0)
        errors_invalid(v->errors, &in_secrets_at, show_value(v->errors, v->d, in_secrets),
                       "serviceAccountTokenInSecrets is set but no tokenRequests are specified");
}

static void csi_driver_validate_update(struct validation *v)
{
    struct field_path spec_at = path_child(NULL, "spec");
    struct field_path attach = path_child(&spec_at, "attachedRequired"); /* the spelling of the API */
    struct field_path modes = path_child(&spec_at, "volumeLifecycleModes");
    json_ref spec = json_get(v->d, v->object, "spec"), old = json_get(v->d, v->old, "spec");

    validate_immutable(v, &attach, json_get(v->d, spec, "attachRequired"),
                       json_get(v->d, old, "attachRequired"));
    validate_immutable(v, &modes, json_get(v->d, spec, "volumeLifecycleModes"),
                       json_get(v->d, old, "volumeLifecycleModes"));
}

static void csi_driver_decode_tokens(struct decoder *dec, json_ref list, struct csi_driver *c)
{
    struct token_request *requests = decode_items(dec, list, sizeof *requests, &c->token_requests_count);
    uint32_t i = 0;

    for (json_ref m = requests ? json_first(dec->d, list) : 0; m; m = json_next(dec->d, m), i++) {
        requests[i].audience = decode_text(dec, m, "audience");
        requests[i].expiration_seconds = decode_int(dec, m, "expirationSeconds", 0);
    }
    c->token_requests = requests;
}

static void csi_driver_decode(struct decoder *dec, json_ref object, struct object *o)
{
    struct csi_driver *c = CONTAINER_OF(o, struct csi_driver, obj);
    json_ref spec = json_get(dec->d, object, "spec");
    json_ref modes = json_get(dec->d, spec, "volumeLifecycleModes");

    c->attach_required = decode_bool(dec, spec, "attachRequired", true);
    c->pod_info_on_mount = decode_bool(dec, spec, "podInfoOnMount", false);
    c->storage_capacity = decode_bool(dec, spec, "storageCapacity", false);
    c->requires_republish = decode_bool(dec, spec, "requiresRepublish", false);
    c->selinux_mount = decode_bool(dec, spec, "seLinuxMount", false);
    c->tokens_in_secrets = decode_bool(dec, spec, "serviceAccountTokenInSecrets", false);
    c->fs_group_policy = (enum fs_group_policy)decode_enum(dec, spec, "fsGroupPolicy", fs_group_policies,
                                                           FS_GROUP_POLICY_COUNT, FS_GROUP_RWO_WITH_FS_TYPE);
    c->lifecycle_modes = decode_texts(dec, spec, "volumeLifecycleModes");
    c->has_persistent = json_count(dec->d, modes) == 0;
    for (json_ref m = json_first(dec->d, modes); m; m = json_next(dec->d, m)) {
        c->has_persistent |= json_is_string(dec->d, m, "Persistent");
        c->has_ephemeral |= json_is_string(dec->d, m, "Ephemeral");
    }
    c->allocatable_period_seconds = decode_int(dec, spec, "nodeAllocatableUpdatePeriodSeconds", 0);
    csi_driver_decode_tokens(dec, json_get(dec->d, spec, "tokenRequests"), c);
}

const struct kind_info csi_driver_kind = {
    .kind = KIND_CSI_DRIVER,
    .name = "CSIDriver",
    .group = "storage.k8s.io",
    .version = "v1",
    .plural = "csidrivers",
    .flags = KIND_DELETE_ANSWERS_OBJECT,
    .name_rule = NAME_DNS_SUBDOMAIN,
    .schema = &csi_driver_schema,
    .view_bytes = sizeof(struct csi_driver),
    .set_defaults = csi_driver_set_defaults,
    .prepare_create = csi_driver_prepare_create,
    .prepare_update = csi_driver_prepare_update,
    .validate = csi_driver_validate,
    .validate_update = csi_driver_validate_update,
    .warn = csi_driver_warn,
    .decode = csi_driver_decode,
};

/* --- CSINode --- */

static const struct field allocatable_fields[] = {
    { "count", FIELD_INT32, .flags = FIELD_POINTER, .number = 1 },
};
static const struct schema allocatable_schema = SCHEMA("VolumeNodeResources", allocatable_fields);

static const struct field csi_node_driver_fields[] = {
    { "name", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
    { "nodeID", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 2 },
    { "topologyKeys", FIELD_LIST, .item = FIELD_STRING, .number = 3 },
    { "allocatable", FIELD_OBJECT, .sub = &allocatable_schema, .number = 4 },
};
static const struct schema csi_node_driver_schema = SCHEMA("CSINodeDriver", csi_node_driver_fields);

static const struct field csi_node_spec_fields[] = {
    { "drivers", LIST_OF(csi_node_driver_schema), .flags = FIELD_ALWAYS, .merge_key = "name", .number = 1 },
};
static const struct schema csi_node_spec_schema = SCHEMA("CSINodeSpec", csi_node_spec_fields);

static const struct field csi_node_fields[] = {
    SCHEMA_OBJECT_FIELDS,
    { "spec", FIELD_OBJECT, .sub = &csi_node_spec_schema, .flags = FIELD_ALWAYS, .number = 2 },
};
static const struct schema csi_node_schema = SCHEMA("CSINode", csi_node_fields);

static void validate_topology_keys(struct validation *v, const struct field_path *p, json_ref keys)
{
    const uint32_t *duplicates = NULL;
    uint32_t left = validate_find_duplicates(v, keys, NULL, &duplicates), i = 0;

    for (json_ref m = json_first(v->d, keys); m; m = json_next(v->d, m)) {
        if (json_text(v->d, m).len == 0)
            errors_required(v->errors, p, "");
        validate_name(v, p, NAME_QUALIFIED, json_text(v->d, m));
    }
    for (json_ref m = json_first(v->d, keys); m && left; m = json_next(v->d, m), i++) {
        if (i != *duplicates || v->errors->count == FIELD_ERRORS_COUNT_MAX)
            continue;
        errors_duplicate(v->errors, p, show_value(v->errors, v->d, m));
        duplicates++;
        left--;
    }
}

static void validate_csi_node_driver(struct validation *v, const struct field_path *p, json_ref driver)
{
    struct field_path name = path_child(p, "name"), node_id = path_child(p, "nodeID");
    struct field_path allocatable = path_child(p, "allocatable");
    struct str id = validate_required_text(v, p, driver, "nodeID");

    if (id.len > NODE_ID_BYTES_MAX)
        errors_invalid(v->errors, &node_id, show_text(v->errors, id), "must be 256 characters or less");
    validate_name(v, &name, NAME_CSI_DRIVER, json_get_text(v->d, driver, "name"));
    validate_int_not_negative(v, &allocatable, json_get(v->d, driver, "allocatable"), "count");
    validate_topology_keys(v, p, json_get(v->d, driver, "topologyKeys"));
}

static void csi_node_validate(struct validation *v)
{
    struct field_path spec_at = path_child(NULL, "spec"), drivers_at = path_child(&spec_at, "drivers");
    json_ref drivers = json_path(v->d, v->object, "spec", "drivers");
    uint32_t i = 0;

    for (json_ref m = json_first(v->d, drivers); m; m = json_next(v->d, m)) {
        struct field_path at = path_index(&drivers_at, i++);
        validate_csi_node_driver(v, &at, m);
    }
    validate_unique(v, &drivers_at, drivers, "name");
}

/* Entries may be added and removed; an existing entry must not change. */
static void csi_node_validate_update(struct validation *v)
{
    struct field_path spec_at = path_child(NULL, "spec"), drivers_at = path_child(&spec_at, "drivers");
    json_ref now = json_path(v->d, v->object, "spec", "drivers"),
             old = json_path(v->d, v->old, "spec", "drivers");
    struct name_table names = name_table_of(v, now, "name");

    for (json_ref m = json_first(v->d, old); m; m = json_next(v->d, m)) {
        json_ref same = name_table_find(&names, json_get_text(v->d, m, "name"));
        if (same && !json_equal(v->d, same, m)) {
            errors_invalid(v->errors, &drivers_at, show_value(v->errors, v->d, now), "field is immutable");
            return;
        }
    }
}

static void csi_node_decode(struct decoder *dec, json_ref object, struct object *o)
{
    struct csi_node *n = CONTAINER_OF(o, struct csi_node, obj);
    json_ref list = json_path(dec->d, object, "spec", "drivers");
    struct csi_node_driver *drivers = decode_items(dec, list, sizeof *drivers, &n->drivers_count);
    uint32_t i = 0;

    for (json_ref m = drivers ? json_first(dec->d, list) : 0; m; m = json_next(dec->d, m)) {
        drivers[i++] = (struct csi_node_driver){
            .name = decode_text(dec, m, "name"),
            .node_id = decode_text(dec, m, "nodeID"),
            .topology_keys = decode_texts(dec, m, "topologyKeys"),
            .count_max = decode_int(dec, json_get(dec->d, m, "allocatable"), "count", -1),
        };
    }
    n->drivers = drivers;
}

const struct csi_node_driver *csi_node_driver(const struct csi_node *n, const char *driver)
{
    for (uint32_t i = 0; i < n->drivers_count; i++)
        if (strcmp(n->drivers[i].name, driver) == 0)
            return &n->drivers[i];
    return NULL;
}

const struct kind_info csi_node_kind = {
    .kind = KIND_CSI_NODE,
    .name = "CSINode",
    .group = "storage.k8s.io",
    .version = "v1",
    .plural = "csinodes",
    .flags = KIND_DELETE_ANSWERS_OBJECT,
    .name_rule = NAME_DNS_SUBDOMAIN,
    .schema = &csi_node_schema,
    .view_bytes = sizeof(struct csi_node),
    .set_defaults = default_nothing,
    .prepare_create = prepare_create_nothing,
    .prepare_update = prepare_update_nothing,
    .validate = csi_node_validate,
    .validate_update = csi_node_validate_update,
    .decode = csi_node_decode,
};

/* --- CSIStorageCapacity --- */

static const struct field csi_capacity_fields[] = {
    SCHEMA_OBJECT_FIELDS,
    { "nodeTopology", FIELD_OBJECT, .sub = &label_selector_schema, .number = 2 },
    { "storageClassName", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 3 },
    { "capacity", FIELD_QUANTITY, .number = 4 },
    { "maximumVolumeSize", FIELD_QUANTITY, .number = 5 },
};
static const struct schema csi_capacity_schema = SCHEMA("CSIStorageCapacity", csi_capacity_fields);

static void csi_capacity_validate(struct validation *v)
{
    static const char *const amounts[] = { "capacity", "maximumVolumeSize" };
    struct field_path topology = path_child(NULL, "nodeTopology"),
                      class_at = path_child(NULL, "storageClassName");

    validate_label_selector(v, &topology, json_get(v->d, v->object, "nodeTopology"));
    validate_name(v, &class_at, NAME_CLASS, json_get_text(v->d, v->object, "storageClassName"));
    for (size_t i = 0; i < ARRAY_LEN(amounts); i++) {
        struct field_path at = path_child(NULL, amounts[i]);
        validate_quantity_not_negative(v, &at, json_get(v->d, v->object, amounts[i]));
    }
}

static void csi_capacity_validate_update(struct validation *v)
{
    static const char *const fixed[] = { "nodeTopology", "storageClassName" };

    for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
        struct field_path at = path_child(NULL, fixed[i]);
        validate_immutable(v, &at, json_get(v->d, v->object, fixed[i]), json_get(v->d, v->old, fixed[i]));
    }
}

static void csi_capacity_decode(struct decoder *dec, json_ref object, struct object *o)
{
    struct csi_capacity *c = CONTAINER_OF(o, struct csi_capacity, obj);

    c->class_name = decode_text(dec, object, "storageClassName");
    c->topology = decode_label_selector(dec, object, "nodeTopology");
    c->has_capacity = decode_quantity(dec, object, "capacity", &c->capacity);
    c->has_volume_max = decode_quantity(dec, object, "maximumVolumeSize", &c->volume_max);
}

const struct kind_info csi_capacity_kind = {
    .kind = KIND_CSI_CAPACITY,
    .name = "CSIStorageCapacity",
    .group = "storage.k8s.io",
    .version = "v1",
    .plural = "csistoragecapacities",
    .is_namespaced = true,
    .name_rule = NAME_DNS_SUBDOMAIN,
    .schema = &csi_capacity_schema,
    .view_bytes = sizeof(struct csi_capacity),
    .set_defaults = default_nothing,
    .prepare_create = prepare_create_nothing,
    .prepare_update = prepare_update_nothing,
    .validate = csi_capacity_validate,
    .validate_update = csi_capacity_validate_update,
    .decode = csi_capacity_decode,
};
