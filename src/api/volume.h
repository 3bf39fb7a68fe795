/* PersistentVolume: a piece of storage, and the claim that it is bound to.
 *
 * The view has 400 bytes without its strings; rarely used parts are behind pointers. */
#ifndef BERTH_API_VOLUME_H
#define BERTH_API_VOLUME_H

#include <assert.h>

#include "api/decode_selector.h"
#include "api/quantity.h"
#include "api/storage.h"
#include "api/volume_source.h"

enum volume_phase {
    VOLUME_PHASE_UNSET, /* none, or an unknown one */
    VOLUME_PENDING,
    VOLUME_AVAILABLE,
    VOLUME_BOUND,
    VOLUME_RELEASED,
    VOLUME_FAILED,
    VOLUME_PHASE_COUNT,
};

/* The claim that a volume is bound to or reserved for. Without a uid it is a reservation by name. */
struct claim_ref {
    const char *ns;
    const char *name;
    const char *uid;
    const char *revision; /* the claim's resourceVersion at the time of binding */
    bool is_set;
};

struct volume {
    struct object obj;
    struct quantity capacity; /* of storage */
    struct volume_source source;
    struct claim_ref claim;
    const char *class;      /* effective class: of the beta annotation, even if empty, else of the spec */
    const char *spec_class; /* spec.storageClassName */
    const char *attributes_class; /* "" for none */
    const char *message;
    const char *reason;
    const struct node_selector *affinity; /* nodeAffinity.required; NULL: any node */
    struct texts mount_options;   /* of the spec; the beta annotation is read when the volume is mounted */
    struct timestamp phase_since; /* lastPhaseTransitionTime; zero if not set */
    bool has_capacity;
    uint8_t modes;   /* ACCESS_* */
    uint8_t mode;    /* enum volume_mode */
    uint8_t reclaim; /* enum reclaim_policy */
    uint8_t phase;   /* enum volume_phase */
};

extern const struct kind_info volume_kind;

/* The spec only: also used in VolumeAttachments. is_inline: there is no PersistentVolume. Returns the source.
 */
extern const struct schema volume_spec_schema;
enum volume_source_kind validate_volume_spec(struct validation *v, const struct field_path *p, json_ref spec,
                                             bool is_inline);

static inline const struct volume *volume_of(const struct object *o)
{
    assert(o->kind->kind == KIND_VOLUME);
    return (const struct volume *)(const void *)o;
}

/* "Available"; "" for VOLUME_PHASE_UNSET. */
const char *volume_phase_name(enum volume_phase phase);
enum volume_phase volume_phase_parse(struct str name);

#endif
