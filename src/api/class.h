/* StorageClass. */
#ifndef BERTH_API_CLASS_H
#define BERTH_API_CLASS_H

#include "api/decode_selector.h"
#include "api/storage.h"
#include "api/validate.h"

enum binding_mode { BINDING_UNSET, BINDING_IMMEDIATE, BINDING_WAIT_FOR_FIRST_CONSUMER, BINDING_COUNT };

extern const char *const binding_mode_names[]; /* "" for unset */

struct storage_class {
    struct object obj;
    const char *provisioner;
    enum reclaim_policy reclaim;
    enum binding_mode binding;
    bool allows_expansion;
    bool is_default; /* one of the annotations is exactly "true" */
    struct texts mount_options;
    struct kvs parameters;
    const struct topology_selector *topologies; /* allowedTopologies; NULL for none */
};

extern const struct kind_info class_kind;

/* Also used for VolumeAttributesClass. */
void validate_provisioner(struct validation *v, const struct field_path *p, struct str name);
void validate_parameters(struct validation *v, const struct field_path *p, json_ref parameters);

#endif
