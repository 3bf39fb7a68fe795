/* Service, Endpoints and EndpointSlice: the address of the API server.
 *
 * Berth has no service network. The three kinds are read-only for clients and have one object each,
 * default/kubernetes, which the server writes itself (apiserver/self_service.c). The schemas have the fields
 * of these objects; the views have what the tables show. */
#ifndef BERTH_API_SERVICE_H
#define BERTH_API_SERVICE_H

#include <assert.h>

#include "api/object.h"

struct service_port {
    const char *protocol;
    int64_t port;
};

struct service_ports {
    const struct service_port *items;
    uint32_t count;
};

struct service {
    struct object obj;
    const char *type;
    const char *cluster_ip;
    struct service_ports ports;
};

/* The first subset: the server writes only one. */
struct endpoints {
    struct object obj;
    struct texts addresses;
    struct service_ports ports;
};

/* The addresses of the first endpoint: the server writes only one. */
struct endpoint_slice {
    struct object obj;
    const char *address_type;
    struct texts addresses;
    struct service_ports ports;
};

extern const struct kind_info service_kind;
extern const struct kind_info endpoints_kind;
extern const struct kind_info endpoint_slice_kind;

static inline const struct service *service_of(const struct object *o)
{
    assert(o->kind->kind == KIND_SERVICE);
    return (const struct service *)(const void *)o;
}

#endif
