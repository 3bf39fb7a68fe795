/* Taints of nodes, and tolerations of pods. */
#ifndef BERTH_API_TAINT_H
#define BERTH_API_TAINT_H

#include "api/object.h"
#include "api/validate.h"

/* Taints with a meaning for Berth. */
#define TAINT_NOT_READY "node.kubernetes.io/not-ready"
#define TAINT_UNREACHABLE "node.kubernetes.io/unreachable"
#define TAINT_UNSCHEDULABLE "node.kubernetes.io/unschedulable"
#define TAINT_OUT_OF_SERVICE "node.kubernetes.io/out-of-service"

enum taint_effect {
    TAINT_EFFECT_NONE, /* of a toleration: all effects */
    TAINT_NO_SCHEDULE,
    TAINT_PREFER_NO_SCHEDULE,
    TAINT_NO_EXECUTE,
    TAINT_EFFECT_UNKNOWN,
};

enum toleration_op { TOLERATION_EQUAL, TOLERATION_EXISTS, TOLERATION_OP_UNKNOWN, TOLERATION_OP_COUNT };

struct taint {
    const char *key;
    const char *value;
    uint8_t effect; /* enum taint_effect */
};

struct toleration {
    const char *key; /* "" for all keys */
    const char *value;
    int64_t seconds; /* how long NoExecute is tolerated; -1: unlimited */
    uint8_t op;      /* enum toleration_op */
    uint8_t effect;  /* enum taint_effect */
};

struct taints {
    const struct taint *items;
    uint32_t count;
};

struct tolerations {
    const struct toleration *items;
    uint32_t count;
};

extern const struct schema taint_schema;
extern const struct schema toleration_schema;

struct taints decode_taints(struct decoder *dec, json_ref object, const char *key);
struct tolerations decode_tolerations(struct decoder *dec, json_ref object, const char *key);

bool toleration_matches(const struct toleration *t, const struct taint *taint);
/* True if one of them matches. */
bool tolerations_match(const struct tolerations *t, const struct taint *taint);

void validate_taints(struct validation *v, const struct field_path *p, json_ref taints);
void validate_tolerations(struct validation *v, const struct field_path *p, json_ref tolerations);

#endif
