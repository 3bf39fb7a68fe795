/* Decodes status.conditions and finds conditions by type, with linear search: objects have a handful of them.
 */
#include "api/conditions.h"

#include <string.h>

const char *const condition_status_names[] = {
    [CONDITION_UNKNOWN] = "Unknown",
    [CONDITION_TRUE] = "True",
    [CONDITION_FALSE] = "False",
};
static_assert(ARRAY_LEN(condition_status_names) == CONDITION_STATUS_COUNT, "name every status");

struct status_conditions decode_conditions(struct decoder *dec, json_ref object, const char *key)
{
    json_ref list = json_get(dec->d, object, key);
    uint32_t count, n = 0;
    struct status_condition *items = decode_items(dec, list, sizeof *items, &count);

    for (json_ref m = items ? json_first(dec->d, list) : 0; m; m = json_next(dec->d, m)) {
        struct status_condition *c = &items[n++];
        c->type = decode_text(dec, m, "type");
        c->reason = decode_text(dec, m, "reason");
        c->message = decode_text(dec, m, "message");
        c->observed_generation = decode_int(dec, m, "observedGeneration", 0);
        c->status = (enum condition_status)decode_enum(dec, m, "status", condition_status_names,
                                                       CONDITION_STATUS_COUNT, CONDITION_UNKNOWN);
        (void)decode_time(dec, m, "lastTransitionTime", &c->changed); /* absent: no time */
    }
    return (struct status_conditions){ items, count };
}

const struct status_condition *condition_get(const struct status_conditions *c, const char *type)
{
    for (uint32_t i = 0; i < c->count; i++)
        if (strcmp(c->items[i].type, type) == 0)
            return &c->items[i];
    return NULL;
}

enum condition_status condition_status(const struct status_conditions *c, const char *type)
{
    const struct status_condition *found = condition_get(c, type);

    return found ? found->status : CONDITION_UNKNOWN;
}
