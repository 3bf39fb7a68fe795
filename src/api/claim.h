/* PersistentVolumeClaim: a request for storage, and the volume that is bound to it.
 *
 * The view has 416 bytes without its strings; rarely used parts are behind pointers. */
#ifndef BERTH_API_CLAIM_H
#define BERTH_API_CLAIM_H

#include <assert.h>

#include "api/conditions.h"
#include "api/decode_selector.h"
#include "api/quantity.h"
#include "api/storage.h"

enum claim_phase {
    CLAIM_PHASE_UNSET, /* none, or an unknown one */
    CLAIM_PENDING,
    CLAIM_BOUND,
    CLAIM_LOST,
    CLAIM_PHASE_COUNT,
};

/* The state of an expansion: status.allocatedResourceStatuses. */
enum resize_status {
    RESIZE_NONE, /* none, or an unknown one */
    RESIZE_CONTROLLER_IN_PROGRESS,
    RESIZE_CONTROLLER_INFEASIBLE,
    RESIZE_NODE_PENDING,
    RESIZE_NODE_IN_PROGRESS,
    RESIZE_NODE_INFEASIBLE,
    RESIZE_STATUS_COUNT,
};

/* How far the change of a claim's VolumeAttributesClass has come: status.modifyVolumeStatus.status. */
enum modify_status {
    MODIFY_NONE, /* none, or an unknown one */
    MODIFY_PENDING,
    MODIFY_IN_PROGRESS,
    MODIFY_INFEASIBLE,
    MODIFY_STATUS_COUNT,
};

/* Condition types. */
#define CLAIM_RESIZING "Resizing"
#define CLAIM_FILE_SYSTEM_RESIZE_PENDING "FileSystemResizePending"
#define CLAIM_CONTROLLER_RESIZE_ERROR "ControllerResizeError"
#define CLAIM_NODE_RESIZE_ERROR "NodeResizeError"
#define CLAIM_MODIFY_VOLUME_ERROR "ModifyVolumeError"

/* The data source of the new volume. */
struct claim_source {
    const char *group; /* "" for the core group */
    const char *kind;
    const char *name;
    const char *ns; /* "" for the claim's own namespace */
};

struct claim {
    struct object obj;
    struct quantity request;   /* of storage */
    struct quantity capacity;  /* of storage, from the status */
    struct quantity allocated; /* status.allocatedResources: target of an expansion in progress */
    const char *class;         /* effective class: of the beta annotation, even if empty, else of the spec */
    const char *spec_class;    /* spec.storageClassName; "" also if not set */
    const char *volume_name;
    const char *attributes_class;          /* requested; "" for none */
    const char *current_attributes_class;  /* current; "" for none */
    const char *target_attributes_class;   /* being applied; "" for none */
    const struct label_selector *selector; /* NULL for none */
    const struct claim_source *source;     /* NULL for none */
    struct status_conditions conditions;
    bool has_class; /* distinguishes an empty class from no class */
    bool has_attributes_class;
    bool has_request;
    bool has_capacity;
    bool has_allocated;
    uint8_t modes;        /* ACCESS_*, requested */
    uint8_t status_modes; /* ACCESS_*, actual */
    uint8_t mode;         /* enum volume_mode */
    uint8_t phase;        /* enum claim_phase */
    uint8_t resize;       /* enum resize_status */
    uint8_t modify;       /* enum modify_status */
};

extern const struct kind_info claim_kind;

static inline const struct claim *claim_of(const struct object *o)
{
    assert(o->kind->kind == KIND_CLAIM);
    return (const struct claim *)(const void *)o;
}

/* "Bound", "NodeResizePending"; "" for unset and none. */
const char *claim_phase_name(enum claim_phase phase);
enum claim_phase claim_phase_parse(struct str name);
const char *resize_status_name(enum resize_status status);
enum resize_status resize_status_parse(struct str name);
/* "InProgress"; "" for none. */
const char *modify_status_name(enum modify_status status);

/* The spec only: also used for a pod's volumeClaimTemplate. */
extern const struct schema claim_spec_schema;
void default_claim_spec(struct json *d, json_ref spec);
/* groups_are_known: the API groups of the data sources were accepted before and are not validated again. */
void validate_claim_spec(struct validation *v, const struct field_path *p, json_ref spec,
                         bool groups_are_known);

#endif
