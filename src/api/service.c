#include "api/service.h"

#include "api/meta.h"
#include "api/validate.h"

static struct service_ports decode_ports(struct decoder *x, json_ref object)
{
    json_ref list = json_get(x->d, object, "ports"), port = json_first(x->d, list);
    uint32_t count = 0;
    struct service_port *items = decode_items(x, list, sizeof *items, &count);

    for (uint32_t i = 0; items && i < count; i++, port = json_next(x->d, port)) {
        items[i].protocol = decode_text(x, port, "protocol");
        items[i].port = decode_int(x, port, "port", 0);
    }
    return (struct service_ports){ items, items ? count : 0 };
}

/* --- Service --- */

static const struct schema service_port_schema = {
    "ServicePort",
    (const struct field[]){
        { "name", FIELD_STRING },
        { "protocol", FIELD_STRING, .go_type = "v1.Protocol" },
        { "port", FIELD_INT32, .flags = FIELD_ALWAYS },
        { "targetPort", FIELD_INT_OR_STRING },
        { 0 },
    },
    .open = true,
};

static const struct schema service_spec_schema = {
    "ServiceSpec",
    (const struct field[]){
        { "ports", FIELD_LIST, .item = FIELD_OBJECT, .sub = &service_port_schema },
        { "clusterIP", FIELD_STRING },
        { "clusterIPs", FIELD_LIST, .item = FIELD_STRING },
        { "type", FIELD_STRING, .go_type = "v1.ServiceType" },
        { "sessionAffinity", FIELD_STRING, .go_type = "v1.ServiceAffinity" },
        { "ipFamilies", FIELD_LIST, .item = FIELD_STRING, .go_type = "v1.IPFamily" },
        { "ipFamilyPolicy", FIELD_STRING, .flags = FIELD_POINTER, .go_type = "v1.IPFamilyPolicy" },
        { "internalTrafficPolicy", FIELD_STRING, .flags = FIELD_POINTER,
          .go_type = "v1.ServiceInternalTrafficPolicy" },
        { 0 },
    },
    .open = true,
};

static const struct schema load_balancer_status_schema = {
    "LoadBalancerStatus",
    (const struct field[]){ { 0 } },
    .open = true,
};

static const struct schema service_status_schema = {
    "ServiceStatus",
    (const struct field[]){
        { "loadBalancer", FIELD_OBJECT, .sub = &load_balancer_status_schema, .flags = FIELD_ALWAYS },
        { 0 },
    },
    .open = true,
};

static const struct schema service_schema = {
    "Service",
    (const struct field[]){
        SCHEMA_OBJECT_FIELDS,
        { "spec", FIELD_OBJECT, .sub = &service_spec_schema, .flags = FIELD_ALWAYS },
        { "status", FIELD_OBJECT, .sub = &service_status_schema, .flags = FIELD_ALWAYS },
        { 0 },
    },
    .open = true,
};

static void service_decode(struct decoder *x, json_ref object, struct object *o)
{
    struct service *s = CONTAINER_OF(o, struct service, obj);
    json_ref spec = json_get(x->d, object, "spec");

    s->type = decode_text(x, spec, "type");
    s->cluster_ip = decode_text(x, spec, "clusterIP");
    s->ports = decode_ports(x, spec);
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

static const struct schema endpoint_address_schema = {
    "EndpointAddress",
    (const struct field[]){
        { "ip", FIELD_STRING, .flags = FIELD_ALWAYS },
        { 0 },
    },
    .open = true,
    .atomic = true,
};

static const struct schema endpoint_port_schema = {
    "EndpointPort",
    (const struct field[]){
        { "name", FIELD_STRING },
        { "port", FIELD_INT32, .flags = FIELD_ALWAYS },
        { "protocol", FIELD_STRING, .go_type = "v1.Protocol" },
        { 0 },
    },
    .open = true,
    .atomic = true,
};

static const struct schema endpoint_subset_schema = {
    "EndpointSubset",
    (const struct field[]){
        { "addresses", FIELD_LIST, .item = FIELD_OBJECT, .sub = &endpoint_address_schema },
        { "ports", FIELD_LIST, .item = FIELD_OBJECT, .sub = &endpoint_port_schema },
        { 0 },
    },
    .open = true,
};

static const struct schema endpoints_schema = {
    "Endpoints",
    (const struct field[]){
        SCHEMA_OBJECT_FIELDS,
        { "subsets", FIELD_LIST, .item = FIELD_OBJECT, .sub = &endpoint_subset_schema },
        { 0 },
    },
    .open = true,
};

static void endpoints_decode(struct decoder *x, json_ref object, struct object *o)
{
    struct endpoints *e = CONTAINER_OF(o, struct endpoints, obj);
    json_ref subset = json_first(x->d, json_get(x->d, object, "subsets"));

    e->addresses = decode_member_texts(x, subset, "addresses", "ip");
    e->ports = decode_ports(x, subset);
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

static const struct schema endpoint_conditions_schema = {
    "EndpointConditions",
    (const struct field[]){
        { "ready", FIELD_BOOL, .flags = FIELD_POINTER },
        { 0 },
    },
    .open = true,
};

static const struct schema endpoint_schema = {
    "Endpoint",
    (const struct field[]){
        { "addresses", FIELD_LIST, .item = FIELD_STRING },
        { "conditions", FIELD_OBJECT, .sub = &endpoint_conditions_schema, .flags = FIELD_ALWAYS },
        { 0 },
    },
    .open = true,
};

static const struct schema slice_port_schema = {
    "EndpointPort",
    (const struct field[]){
        { "name", FIELD_STRING, .flags = FIELD_POINTER },
        { "protocol", FIELD_STRING, .flags = FIELD_POINTER, .go_type = "v1.Protocol" },
        { "port", FIELD_INT32, .flags = FIELD_POINTER },
        { 0 },
    },
    .open = true,
    .atomic = true,
};

static const struct schema endpoint_slice_schema = {
    "EndpointSlice",
    (const struct field[]){
        SCHEMA_OBJECT_FIELDS,
        { "addressType", FIELD_STRING, .flags = FIELD_ALWAYS, .go_type = "v1.AddressType" },
        { "endpoints", FIELD_LIST, .item = FIELD_OBJECT, .sub = &endpoint_schema },
        { "ports", FIELD_LIST, .item = FIELD_OBJECT, .sub = &slice_port_schema },
        { 0 },
    },
    .open = true,
};

static void endpoint_slice_decode(struct decoder *x, json_ref object, struct object *o)
{
    struct endpoint_slice *s = CONTAINER_OF(o, struct endpoint_slice, obj);

    s->address_type = decode_text(x, object, "addressType");
    s->addresses = decode_texts(x, json_first(x->d, json_get(x->d, object, "endpoints")), "addresses");
    s->ports = decode_ports(x, object);
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
