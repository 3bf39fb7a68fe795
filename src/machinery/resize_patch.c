#include "machinery/resize_patch.h"

#include <string.h>

#include "machinery/merge_patch.h"

static const char *const resize_conditions[] = { CLAIM_RESIZING, CLAIM_FILE_SYSTEM_RESIZE_PENDING,
                                                 CLAIM_CONTROLLER_RESIZE_ERROR, CLAIM_NODE_RESIZE_ERROR };

void resize_patch_storage(struct buf *out, const char *key, const struct quantity *q)
{
    buf_addf(out, ",\"%s\":{\"storage\":\"", key);
    quantity_format(q, out);
    buf_add_cstr(out, "\"}");
}

void resize_patch_status(struct buf *out, enum resize_status status)
{
    buf_add_cstr(out, ",\"allocatedResourceStatuses\":{\"storage\":");
    if (status == RESIZE_NONE)
        buf_add_cstr(out, "null}");
    else
        buf_addf(out, "\"%s\"}", resize_status_name(status));
}

/* One condition that is true from now on; what it said before, if it was there and said otherwise, goes. */
static void add_condition(struct buf *out, const struct claim *c, const char *type, const char *message,
                          struct timestamp now)
{
    const struct status_condition *old = condition_get(&c->conditions, type);

    buf_addf(out, "{\"type\":\"%s\",\"status\":\"True\"", type);
    if (!old || old->status != CONDITION_TRUE) {
        buf_add_cstr(out, ",\"lastTransitionTime\":\"");
        timestamp_format(now, out);
        buf_add_char(out, '"');
    }
    if (old)
        buf_add_cstr(out, ",\"reason\":null");
    if (message) {
        buf_add_cstr(out, ",\"message\":");
        json_write_string(out, str_of(message));
    } else if (old) {
        buf_add_cstr(out, ",\"message\":null");
    }
    buf_add_char(out, '}');
}

static bool is_said(const struct claim *c, const char *type, const char *message)
{
    const struct status_condition *now = condition_get(&c->conditions, type);

    return now && now->status == CONDITION_TRUE && (!message || strcmp(now->message, message) == 0);
}

void resize_patch_conditions(struct buf *out, const struct claim *c, const char *wanted, const char *message,
                             bool drops, struct timestamp now)
{
    const char *separator = "";

    buf_add_cstr(out, "{\"conditions\":[");
    if (wanted && !is_said(c, wanted, message)) {
        add_condition(out, c, wanted, message, now);
        separator = ",";
    }
    for (size_t i = 0; drops && i < ARRAY_LEN(resize_conditions); i++) {
        const char *type = resize_conditions[i];

        if ((wanted && strcmp(type, wanted) == 0) || !condition_get(&c->conditions, type))
            continue;
        buf_addf(out, "%s{\"$patch\":\"delete\",\"type\":\"%s\"}", separator, type);
        separator = ",";
    }
    buf_add_char(out, ']');
}

bool resize_has_begun(const struct claim *c)
{
    for (size_t i = 0; i < ARRAY_LEN(resize_conditions); i++) {
        bool is_wanted = strcmp(resize_conditions[i], CLAIM_RESIZING) == 0;

        if (is_wanted ? condition_status(&c->conditions, CLAIM_RESIZING) != CONDITION_TRUE
                      : condition_get(&c->conditions, resize_conditions[i]) != NULL)
            return false;
    }
    return true;
}

int resize_write_done(const struct claim *c, const struct quantity *size, struct buf *out, struct error *err)
{
    struct merge_patch p;

    merge_patch_begin(&p, out, &c->obj);
    merge_patch_member(&p, "status");
    resize_patch_conditions(out, c, /* wanted= */ NULL, /* message= */ NULL, /* drops= */ true,
                            (struct timestamp){ 0, 0 });
    resize_patch_storage(out, "capacity", size);
    resize_patch_status(out, RESIZE_NONE);
    buf_add_char(out, '}');
    return merge_patch_end(&p, err);
}
