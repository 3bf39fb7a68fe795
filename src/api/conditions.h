/* status.conditions in views. */
#ifndef BERTH_API_CONDITIONS_H
#define BERTH_API_CONDITIONS_H

#include "api/object.h"

enum condition_status { CONDITION_UNKNOWN, CONDITION_TRUE, CONDITION_FALSE, CONDITION_STATUS_COUNT };

extern const char *const condition_status_names[]; /* "Unknown", "True", "False" */

struct status_condition {
    const char *type;
    const char *reason;
    const char *message;
    struct timestamp changed; /* lastTransitionTime */
    int64_t observed_generation;
    enum condition_status status;
};

struct status_conditions {
    const struct status_condition *items;
    uint32_t count;
};

struct status_conditions decode_conditions(struct decoder *dec, json_ref object, const char *key);

/* The first condition of that type; NULL if there is none. */
const struct status_condition *condition_get(const struct status_conditions *c, const char *type);
/* Unknown if there is none. */
enum condition_status condition_status(const struct status_conditions *c, const char *type);

#endif
