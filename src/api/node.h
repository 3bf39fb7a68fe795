/* Node. */
#ifndef BERTH_API_NODE_H
#define BERTH_API_NODE_H

#include <assert.h>

#include "api/conditions.h"
#include "api/object.h"
#include "api/resources.h"
#include "api/taint.h"

/* The controller attaches and detaches for this node; only the presence counts. */
#define ANN_CONTROLLER_ATTACHES "volumes.kubernetes.io/controller-managed-attach-detach"

struct attached_volume {
    const char *name; /* unique name: plugin/volume */
    const char *device_path;
};

struct node_address {
    const char *type; /* "InternalIP", "Hostname", … */
    const char *address;
};

struct node_system {
    const char *kubelet_version;
    const char *os_image;
    const char *kernel_version;
    const char *container_runtime;
    const char *operating_system;
    const char *architecture;
};

struct node {
    struct object obj;
    const char *provider_id;
    struct taints taints;
    struct amounts capacity;
    struct amounts allocatable;
    struct status_conditions conditions;
    struct texts volumes_in_use; /* as last reported by the node agent */
    const struct attached_volume *volumes_attached;
    const struct node_address *addresses;
    uint32_t volumes_attached_count;
    uint32_t addresses_count;
    struct node_system system;
    bool is_unschedulable;
};

extern const struct kind_info node_kind;

/* The view of an object that is a Node. */
static inline const struct node *node_of(const struct object *o)
{
    assert(o->kind->kind == KIND_NODE);
    return (const struct node *)(const void *)o;
}

/* The condition Ready is True. */
bool node_is_ready(const struct node *n);
/* With any value and effect. */
bool node_has_taint(const struct node *n, const char *key);
/* NULL if the node does not report it. */
const struct attached_volume *node_attached_volume(const struct node *n, const char *unique_name);
/* The first address of that type; NULL for none. */
const char *node_address(const struct node *n, const char *type);

#endif
