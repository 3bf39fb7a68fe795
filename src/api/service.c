/* The kinds Service, Endpoints and EndpointSlice: open schemas and decoding. Clients cannot write them, so
 * that there are no defaults and no validation. */
#include "api/service.h"

#include "api/meta.h"
#include "api/validate.h"

static struct service_ports decode_ports(struct decoder *dec, json_ref object)
{
    json_ref list = json_get(dec->d, object, "ports"), port = json_first(dec->d, list);
    uint32_t count = 0;
    struct service_port *items = decode_items(dec, list, sizeof *items, &count);

    for (uint32_t i = 0; items && i < count; i++, port = json_next(dec->d, port)) {
        items[i].protocol = decode_text(dec, port, "protocol");
        items[i].port = decode_int(dec, port, "port", 0);
    }
    return (struct service_ports){ items, items ? count : 0 };
}

/* --- Service --- */

static const struct field service_port_fields[] = {
    { "name", FIELD_STRING },
    { "protocol", FIELD_STRING, .go_type = "v1.Protocol" },
    { "port", FIELD_INT32, .flags = FIELD_ALWAYS },
    { "targetPort", FIELD_INT_OR_STRING },
};
static const struct schema service_port_schema = SCHEMA_OPEN("ServicePort", service_port_fields);

static const struct field service_spec_fields[] = {
    { "ports", LIST_OF(service_port_schema) },
    { "clusterIP", FIELD_STRING },
    { "clusterIPs", FIELD_LIST, .item = FIELD_STRING },
    { "type", FIELD_STRING, .go_type = "v1.ServiceType" },
    { "sessionAffinity", FIELD_STRING, .go_type = "v1.ServiceAffinity" },
    { "ipFamilies", FIELD_LIST, .item = FIELD_STRING, .go_type = "v1.IPFamily" },
    { "ipFamilyPolicy", FIELD_STRING, .flags = FIELD_POINTER, .go_type = "v1.IPFamilyPolicy" },
    { "internalTrafficPolicy", FIELD_STRING, .flags = FIELD_POINTER,
      .go_type = "v1.ServiceInternalTrafficPolicy" },
};
static const struct schema service_spec_schema = SCHEMA_OPEN("ServiceSpec", service_spec_fields);

/* Its fields are kept unchanged: loops over fields need a valid pointer. */
static const struct field load_balancer_status_fields[1];
static const struct schema load_balancer_status_schema = { "LoadBalancerStatus", load_balancer_status_fields,
                                                           .open = true };

static const struct field service_status_fields[] = {
    { "loadBalancer", FIELD_OBJECT, .sub = &load_balancer_status_schema, .flags = FIELD_ALWAYS },
};
static const struct schema service_status_schema = SCHEMA_OPEN("ServiceStatus", service_status_fields);

static const struct field service_fields[] = {
    SCHEMA_OBJECT_FIELDS,
    { "spec", FIELD_OBJECT, .sub = &service_spec_schema, .flags = FIELD_ALWAYS },
    { "status", FIELD_OBJECT, .sub = &service_status_schema, .flags = FIELD_ALWAYS },
};
static const struct schema service_schema = SCHEMA_OPEN("Service", service_fields);

static void service_decode(struct decoder *dec, json_ref object, struct object *o)
{
    struct service *s = CONTAINER_OF(o, struct service, obj);
    json_ref spec = json_get(dec->d, object, "spec");

    s->type = decode_text(dec, spec, "type");
    s->cluster_ip = decode_text(dec, spec, "clusterIP");
    s->ports = decode_ports(dec, spec);
}

static const char *get_cluster_ip(const struct object *o)
{
    return service_of(o)->cluster_ip;
}

static const char *get_type(const struct object *o)
{
    return service_of(o)->type;
}

static const struct selectable service_selectable[] = {
    { "spec.clusterIP", get_cluster_ip },
    { "spec.type", get_type },
    { 0 },
};

const struct kind_info service_kind = {
    .kind = KIND_SERVICE,
    .name = "Service",
    .group = "",
    .version = "v1",
    .plural = "services",
    .short_names = (const char *const[]){ "svc", NULL },
    .is_namespaced = true,
    .flags = KIND_UPDATES_UNCONDITIONALLY | KIND_DELETE_ANSWERS_OBJECT | KIND_IS_READ_ONLY,
    .name_rule = NAME_DNS_LABEL,
    .schema = &service_schema,
    .view_bytes = sizeof(struct service),
    .set_defaults = default_nothing,
    .prepare_create = prepare_create_nothing,
    .prepare_update = prepare_update_nothing,
    .validate = validate_nothing,
    .validate_update = validate_nothing,
    .decode = service_decode,
    .selectable = service_selectable,
};

/* --- Endpoints --- */

static const struct field endpoint_address_fields[] = {
    { "ip", FIELD_STRING, .flags = FIELD_ALWAYS },
};
static const struct schema endpoint_address_schema =
    SCHEMA_OPEN_ATOMIC("EndpointAddress", endpoint_address_fields);

static const struct field endpoint_port_fields[] = {
    { "name", FIELD_STRING },
    { "port", FIELD_INT32, .flags = FIELD_ALWAYS },
    { "protocol", FIELD_STRING, .go_type = "v1.Protocol" },
};
static const struct schema endpoint_port_schema = SCHEMA_OPEN_ATOMIC("EndpointPort", endpoint_port_fields);

static const struct field endpoint_subset_fields[] = {
    { "addresses", LIST_OF(endpoint_address_schema) },
    { "ports", LIST_OF(endpoint_port_schema) },
};
static const struct schema endpoint_subset_schema = SCHEMA_OPEN("EndpointSubset", endpoint_subset_fields);

static const struct field endpoints_fields[] = {
    SCHEMA_OBJECT_FIELDS,
    { "subsets", LIST_OF(endpoint_subset_schema) },
};
static const struct schema endpoints_schema = SCHEMA_OPEN("Endpoints", endpoints_fields);

static void endpoints_decode(struct decoder *dec, json_ref object, struct object *o)
{
    struct endpoints *e = CONTAINER_OF(o, struct endpoints, obj);
    json_ref subset = json_first(dec->d, json_get(dec->d, object, "subsets"));

    e->addresses = decode_member_texts(dec, subset, "addresses", "ip");
    e->ports = decode_ports(dec, subset);
}

const struct kind_info endpoints_kind = {
    .kind = KIND_ENDPOINTS,
    .name = "Endpoints",
    .group = "",
    .version = "v1",
    .plural = "endpoints",
    .short_names = (const char *const[]){ "ep", NULL },
    .is_namespaced = true,
    .flags = KIND_UPDATES_UNCONDITIONALLY | KIND_IS_READ_ONLY,
    .name_rule = NAME_DNS_SUBDOMAIN,
    .schema = &endpoints_schema,
    .view_bytes = sizeof(struct endpoints),
    .set_defaults = default_nothing,
    .prepare_create = prepare_create_nothing,
    .prepare_update = prepare_update_nothing,
    .validate = validate_nothing,
    .validate_update = validate_nothing,
    .decode = endpoints_decode,
};

/* --- EndpointSlice --- */

static const struct field endpoint_conditions_fields[] = {
    { "ready", FIELD_BOOL, .flags = FIELD_POINTER },
};
static const struct schema endpoint_conditions_schema =
    SCHEMA_OPEN("EndpointConditions", endpoint_conditions_fields);

static const struct field endpoint_fields[] = {
    { "addresses", FIELD_LIST, .item = FIELD_STRING },
    { "conditions", FIELD_OBJECT, .sub = &endpoint_conditions_schema, .flags = FIELD_ALWAYS },
};
static const struct schema endpoint_schema = SCHEMA_OPEN("Endpoint", endpoint_fields);

static const struct field slice_port_fields[] = {
    { "name", FIELD_STRING, .flags = FIELD_POINTER },
    { "protocol", FIELD_STRING, .flags = FIELD_POINTER, .go_type = "v1.Protocol" },
    { "port", FIELD_INT32, .flags = FIELD_POINTER },
};
static const struct schema slice_port_schema = SCHEMA_OPEN_ATOMIC("EndpointPort", slice_port_fields);

static const struct field endpoint_slice_fields[] = {
    SCHEMA_OBJECT_FIELDS,
    { "addressType", FIELD_STRING, .flags = FIELD_ALWAYS, .go_type = "v1.AddressType" },
    { "endpoints", LIST_OF(endpoint_schema) },
    { "ports", LIST_OF(slice_port_schema) },
};
static const struct schema endpoint_slice_schema = SCHEMA_OPEN("EndpointSlice", endpoint_slice_fields);

static void endpoint_slice_decode(struct decoder *dec, json_ref object, struct object *o)
{
    struct endpoint_slice *s = CONTAINER_OF(o, struct endpoint_slice, obj);

    s->address_type = decode_text(dec, object, "addressType");
    s->addresses = decode_texts(dec, json_first(dec->d, json_get(dec->d, object, "endpoints")), "addresses");
    s->ports = decode_ports(dec, object);
}

const struct kind_info endpoint_slice_kind = {
    .kind = KIND_ENDPOINT_SLICE,
    .name = "EndpointSlice",
    .group = "discovery.k8s.io",
    .version = "v1",
    .plural = "endpointslices",
    .is_namespaced = true,
    .flags = KIND_UPDATES_UNCONDITIONALLY | KIND_IS_READ_ONLY,
    .name_rule = NAME_DNS_SUBDOMAIN,
    .schema = &endpoint_slice_schema,
    .view_bytes = sizeof(struct endpoint_slice),
    .set_defaults = default_nothing,
    .prepare_create = prepare_create_nothing,
    .prepare_update = prepare_update_nothing,
    .validate = validate_nothing,
    .validate_update = validate_nothing,
    .decode = endpoint_slice_decode,
};
