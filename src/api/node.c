/* The Node kind: schema, defaults, validation and decoding. The schema is open: fields that Berth does not
 * know are kept, because kubelets of other versions write Nodes too. */
#include "api/node.h"

#include <string.h>

#include "api/meta.h"
#include "api/validate.h"

static const struct field config_map_source_fields[] = {
    { "namespace", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
    { "name", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 2 },
    { "uid", FIELD_STRING, .go_type = "types.UID", .number = 3 },
    { "resourceVersion", FIELD_STRING, .number = 4 },
    { "kubeletConfigKey", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 5 },
};
static const struct schema config_map_source_schema =
    SCHEMA_OPEN("ConfigMapNodeConfigSource", config_map_source_fields);

static const struct field config_source_fields[] = {
    { "configMap", FIELD_OBJECT, .sub = &config_map_source_schema, .number = 2 },
};
static const struct schema config_source_schema = SCHEMA_OPEN("NodeConfigSource", config_source_fields);

static const struct field node_spec_fields[] = {
    { "podCIDR", FIELD_STRING, .number = 1 },
    { "podCIDRs", FIELD_LIST, .item = FIELD_STRING, .flags = FIELD_SET, .number = 7 },
    { "providerID", FIELD_STRING, .number = 3 },
    { "unschedulable", FIELD_BOOL, .number = 4 },
    { "taints", LIST_OF(taint_schema), .number = 5 },
    { "configSource", FIELD_OBJECT, .sub = &config_source_schema, .number = 6 },
    { "externalID", FIELD_STRING, .number = 2 },
};
static const struct schema node_spec_schema = SCHEMA_OPEN("NodeSpec", node_spec_fields);

static const struct field node_condition_fields[] = {
    { "type", FIELD_STRING, .flags = FIELD_ALWAYS, .go_type = "v1.NodeConditionType", .number = 1 },
    { "status", FIELD_STRING, .flags = FIELD_ALWAYS, .go_type = "v1.ConditionStatus", .number = 2 },
    { "lastHeartbeatTime", FIELD_TIME, .number = 3 },
    { "lastTransitionTime", FIELD_TIME, .number = 4 },
    { "reason", FIELD_STRING, .number = 5 },
    { "message", FIELD_STRING, .number = 6 },
};
static const struct schema node_condition_schema = SCHEMA_OPEN("NodeCondition", node_condition_fields);

static const struct field node_address_fields[] = {
    { "type", FIELD_STRING, .flags = FIELD_ALWAYS, .go_type = "v1.NodeAddressType", .number = 1 },
    { "address", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 2 },
};
static const struct schema node_address_schema = SCHEMA_OPEN("NodeAddress", node_address_fields);

static const struct field daemon_endpoint_fields[] = {
    { "Port", FIELD_INT32, .flags = FIELD_ALWAYS, .number = 1 },
};
static const struct schema daemon_endpoint_schema = SCHEMA_OPEN("DaemonEndpoint", daemon_endpoint_fields);

static const struct field daemon_endpoints_fields[] = {
    { "kubeletEndpoint", FIELD_OBJECT, .sub = &daemon_endpoint_schema, .flags = FIELD_ALWAYS, .number = 1 },
};
static const struct schema daemon_endpoints_schema =
    SCHEMA_OPEN("NodeDaemonEndpoints", daemon_endpoints_fields);

static const struct field swap_fields[] = {
    { "capacity", FIELD_INT64, .flags = FIELD_POINTER, .number = 1 },
};
static const struct schema swap_schema = SCHEMA_OPEN("NodeSwapStatus", swap_fields);

static const struct field node_system_fields[] = {
    { "machineID", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
    { "systemUUID", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 2 },
    { "bootID", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 3 },
    { "kernelVersion", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 4 },
    { "osImage", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 5 },
    { "containerRuntimeVersion", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 6 },
    { "kubeletVersion", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 7 },
    { "kubeProxyVersion", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 8 },
    { "operatingSystem", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 9 },
    { "architecture", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 10 },
    { "swap", FIELD_OBJECT, .sub = &swap_schema, .number = 11 },
};
static const struct schema node_system_schema = SCHEMA_OPEN("NodeSystemInfo", node_system_fields);

static const struct field container_image_fields[] = {
    { "names", FIELD_LIST, .item = FIELD_STRING, .number = 1 },
    { "sizeBytes", FIELD_INT64, .number = 2 },
};
static const struct schema container_image_schema = SCHEMA_OPEN("ContainerImage", container_image_fields);

static const struct field attached_volume_fields[] = {
    { "name", FIELD_STRING, .flags = FIELD_ALWAYS, .go_type = "v1.UniqueVolumeName", .number = 1 },
    { "devicePath", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 2 },
};
static const struct schema attached_volume_schema = SCHEMA_OPEN("AttachedVolume", attached_volume_fields);

static const struct field config_status_fields[] = {
    { "assigned", FIELD_OBJECT, .sub = &config_source_schema, .number = 1 },
    { "active", FIELD_OBJECT, .sub = &config_source_schema, .number = 2 },
    { "lastKnownGood", FIELD_OBJECT, .sub = &config_source_schema, .number = 3 },
    { "error", FIELD_STRING, .number = 4 },
};
static const struct schema config_status_schema = SCHEMA_OPEN("NodeConfigStatus", config_status_fields);

static const struct field handler_features_fields[] = {
    { "recursiveReadOnlyMounts", FIELD_BOOL, .flags = FIELD_POINTER, .number = 1 },
    { "userNamespaces", FIELD_BOOL, .flags = FIELD_POINTER, .number = 2 },
};
static const struct schema handler_features_schema =
    SCHEMA_OPEN("NodeRuntimeHandlerFeatures", handler_features_fields);

static const struct field runtime_handler_fields[] = {
    { "name", FIELD_STRING, .flags = FIELD_ALWAYS, .number = 1 },
    { "features", FIELD_OBJECT, .sub = &handler_features_schema, .number = 2 },
};
static const struct schema runtime_handler_schema = SCHEMA_OPEN("NodeRuntimeHandler", runtime_handler_fields);

static const struct field node_features_fields[] = {
    { "supplementalGroupsPolicy", FIELD_BOOL, .flags = FIELD_POINTER, .number = 1 },
};
static const struct schema node_features_schema = SCHEMA_OPEN("NodeFeatures", node_features_fields);

static const struct field node_status_fields[] = {
    { "capacity", FIELD_MAP, .item = FIELD_QUANTITY, .number = 1 },
    { "allocatable", FIELD_MAP, .item = FIELD_QUANTITY, .number = 2 },
    { "phase", FIELD_STRING, .go_type = "v1.NodePhase", .number = 3 },
    { "conditions", LIST_OF(node_condition_schema), .merge_key = "type", .number = 4 },
    { "addresses", LIST_OF(node_address_schema), .merge_key = "type", .number = 5 },
    { "daemonEndpoints", FIELD_OBJECT, .sub = &daemon_endpoints_schema, .flags = FIELD_ALWAYS, .number = 6 },
    { "nodeInfo", FIELD_OBJECT, .sub = &node_system_schema, .flags = FIELD_ALWAYS, .number = 7 },
    { "images", LIST_OF(container_image_schema), .number = 8 },
    { "volumesInUse", FIELD_LIST, .item = FIELD_STRING, .go_type = "v1.UniqueVolumeName", .number = 9 },
    { "volumesAttached", LIST_OF(attached_volume_schema), .number = 10 },
    { "config", FIELD_OBJECT, .sub = &config_status_schema, .number = 11 },
    { "runtimeHandlers", LIST_OF(runtime_handler_schema), .number = 12 },
    { "features", FIELD_OBJECT, .sub = &node_features_schema, .number = 13 },
    { "declaredFeatures", FIELD_LIST, .item = FIELD_STRING, .number = 14 },
};
static const struct schema node_status_schema = SCHEMA_OPEN("NodeStatus", node_status_fields);

static const struct field node_fields[] = {
    SCHEMA_OBJECT_FIELDS,
    { "spec", FIELD_OBJECT, .sub = &node_spec_schema, .flags = FIELD_ALWAYS, .number = 2 },
    { "status", FIELD_OBJECT, .sub = &node_status_schema, .flags = FIELD_ALWAYS, .number = 3 },
};
static const struct schema node_schema = SCHEMA_OPEN("Node", node_fields);

/* podCIDR is the first of podCIDRs. If they differ podCIDR wins, because old clients only know that one. */
static void default_pod_cidrs(struct json *d, json_ref spec)
{
    json_ref list = json_get(d, spec, "podCIDRs");
    struct str one = json_get_text(d, spec, "podCIDR"), first = json_text(d, json_first(d, list));

    if (one.len == 0 && first.len) {
        json_set(d, spec, "podCIDR", json_new_string(d, first));
    } else if (one.len && !str_eq(one, first)) {
        list = json_new_array(d);
        json_append(d, list, json_new_string(d, one));
        json_set(d, spec, "podCIDRs", list);
    }
}

static void node_set_defaults(struct json *d, json_ref object)
{
    json_ref status = json_ensure_object(d, object, "status"), capacity = json_get(d, status, "capacity");

    default_resources(d, capacity);
    default_resources(d, json_get(d, status, "allocatable"));
    default_pod_cidrs(d, json_ensure_object(d, object, "spec"));
    if (capacity && !json_get(d, status, "allocatable"))
        json_set(d, status, "allocatable", json_copy(d, capacity));
}

static void validate_amounts(struct validation *v, const struct field_path *p, const char *key)
{
    struct field_path list_at = path_child(p, key);
    json_ref list = json_path(v->d, v->object, "status", key);

    for (json_ref m = json_first(v->d, list); m && v->errors->count < FIELD_ERRORS_COUNT_MAX;
         m = json_next(v->d, m)) {
        const char *name = errors_printf(v->errors, "%.*s", STR_ARG(json_key(v->d, m)));
        struct field_path at = path_child(&list_at, name);
        validate_quantity_not_negative(v, &at, m);
    }
}

static void node_validate(struct validation *v)
{
    struct field_path meta = path_child(NULL, "metadata"), status = path_child(NULL, "status");
    struct field_path taints = path_child(&meta, "taints"); /* sic: the API reports spec.taints there */

    validate_taints(v, &taints, json_path(v->d, v->object, "spec", "taints"));
    validate_amounts(v, &status, "capacity");
    validate_amounts(v, &status, "allocatable");
}

/* May be set once and is then immutable. */
static void validate_set_once(struct validation *v, const struct field_path *p, const char *key,
                              const char *shown)
{
    struct field_path at = path_child(p, key);
    json_ref now = json_path(v->d, v->object, "spec", key), old = json_path(v->d, v->old, "spec", key);

    if (old && !json_equal(v->d, now, old))
        errors_forbidden(
            v->errors, &at,
            errors_printf(v->errors, "node updates may not change %s except from \"\" to valid", shown));
}

static void node_validate_update(struct validation *v)
{
    struct field_path spec = path_child(NULL, "spec"), status = path_child(NULL, "status");
    struct field_path addresses = path_child(&status, "addresses"),
                      external = path_child(&spec, "externalID");

    validate_unique(v, &addresses, json_path(v->d, v->object, "status", "addresses"), NULL);
    validate_set_once(v, &spec, "podCIDRs", "podCIDR");
    validate_set_once(v, &spec, "providerID", "providerID");
    if (!json_equal(v->d, json_path(v->d, v->object, "spec", "externalID"),
                    json_path(v->d, v->old, "spec", "externalID")))
        errors_forbidden(v->errors, &external, "may not be updated");
}

static void node_decode_attached(struct decoder *dec, json_ref list, struct node *n)
{
    struct attached_volume *items = decode_items(dec, list, sizeof *items, &n->volumes_attached_count);
    uint32_t i = 0;

    n->volumes_attached = items;
    for (json_ref m = items ? json_first(dec->d, list) : 0; m; m = json_next(dec->d, m), i++)
        items[i] = (struct attached_volume){
            .name = decode_text(dec, m, "name"),
            .device_path = decode_text(dec, m, "devicePath"),
        };
}

static void node_decode_addresses(struct decoder *dec, json_ref list, struct node *n)
{
    struct node_address *items = decode_items(dec, list, sizeof *items, &n->addresses_count);
    uint32_t i = 0;

    n->addresses = items;
    for (json_ref m = items ? json_first(dec->d, list) : 0; m; m = json_next(dec->d, m), i++)
        items[i] = (struct node_address){
            .type = decode_text(dec, m, "type"),
            .address = decode_text(dec, m, "address"),
        };
}

static void node_decode(struct decoder *dec, json_ref object, struct object *o)
{
    struct node *n = CONTAINER_OF(o, struct node, obj);
    json_ref spec = json_get(dec->d, object, "spec"), status = json_get(dec->d, object, "status");
    json_ref info = json_get(dec->d, status, "nodeInfo");

    n->provider_id = decode_text(dec, spec, "providerID");
    n->is_unschedulable = decode_bool(dec, spec, "unschedulable", false);
    n->taints = decode_taints(dec, spec, "taints");
    n->capacity = decode_amounts(dec, status, "capacity");
    n->allocatable = decode_amounts(dec, status, "allocatable");
    n->conditions = decode_conditions(dec, status, "conditions");
    n->volumes_in_use = decode_texts(dec, status, "volumesInUse");
    node_decode_attached(dec, json_get(dec->d, status, "volumesAttached"), n);
    node_decode_addresses(dec, json_get(dec->d, status, "addresses"), n);
    n->system = (struct node_system){
        .kubelet_version = decode_text(dec, info, "kubeletVersion"),
        .os_image = decode_text(dec, info, "osImage"),
        .kernel_version = decode_text(dec, info, "kernelVersion"),
        .container_runtime = decode_text(dec, info, "containerRuntimeVersion"),
        .operating_system = decode_text(dec, info, "operatingSystem"),
        .architecture = decode_text(dec, info, "architecture"),
    };
}

bool node_is_ready(const struct node *n)
{
    return condition_status(&n->conditions, "Ready") == CONDITION_TRUE;
}

bool node_has_taint(const struct node *n, const char *key)
{
    for (uint32_t i = 0; i < n->taints.count; i++)
        if (strcmp(n->taints.items[i].key, key) == 0)
            return true;
    return false;
}

const struct attached_volume *node_attached_volume(const struct node *n, const char *unique_name)
{
    for (uint32_t i = 0; i < n->volumes_attached_count; i++)
        if (strcmp(n->volumes_attached[i].name, unique_name) == 0)
            return &n->volumes_attached[i];
    return NULL;
}

const char *node_address(const struct node *n, const char *type)
{
    for (uint32_t i = 0; i < n->addresses_count; i++)
        if (strcmp(n->addresses[i].type, type) == 0)
            return n->addresses[i].address;
    return NULL;
}

static const char *node_unschedulable_field(const struct object *o)
{
    return node_of(o)->is_unschedulable ? "true" : "false";
}

const struct kind_info node_kind = {
    .kind = KIND_NODE,
    .name = "Node",
    .group = "",
    .version = "v1",
    .plural = "nodes",
    .short_names = (const char *const[]){ "no", NULL },
    .has_status = true,
    .flags = KIND_UPDATES_UNCONDITIONALLY,
    .name_rule = NAME_DNS_SUBDOMAIN,
    .schema = &node_schema,
    .view_bytes = sizeof(struct node),
    .set_defaults = node_set_defaults,
    .prepare_create = prepare_create_nothing,
    .prepare_update = prepare_update_parts,
    .validate = node_validate,
    .validate_update = node_validate_update,
    .decode = node_decode,
    .selectable = (const struct selectable[]){ { "spec.unschedulable", node_unschedulable_field }, { 0 } },
};
