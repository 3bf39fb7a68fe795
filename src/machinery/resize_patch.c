/* Status patches for the expansion of a claim, used by the expand controller and the node agent. A condition
 * that already has the right content keeps its time of transition. */
#include "machinery/resize_patch.h"

#include <string.h>

#include "api/json_out.h"
#include "machinery/merge_patch.h"

#define PENDING_MESSAGE "Waiting for user to (re-)start a pod to finish file system resize of volume on node."

static const char *const resize_conditions[] = { CLAIM_RESIZING, CLAIM_FILE_SYSTEM_RESIZE_PENDING,
                                                 CLAIM_CONTROLLER_RESIZE_ERROR, CLAIM_NODE_RESIZE_ERROR };

void resize_patch_status(struct buf *out, enum resize_status status)
{
    json_out_object(out, "allocatedResourceStatuses");
    json_out_text(out, "storage", status == RESIZE_NONE ? NULL : resize_status_name(status));
    json_out_end_object(out);
}

/* A condition that is true from now on; a previous one of the same type with other content is replaced. */
static void add_condition(struct buf *out, const struct claim *c, const char *type, const char *message,
                          struct timestamp now)
{
    const struct status_condition *old = condition_get(&c->conditions, type);

    json_out_object(out, NULL);
    json_out_text(out, "type", type);
    json_out_text(out, "status", "True");
    if (!old || old->status != CONDITION_TRUE)
        json_out_time(out, "lastTransitionTime", now);
    if (old)
        json_out_null(out, "reason");
    if (message || old)
        json_out_text(out, "message", message);
    json_out_end_object(out);
}

static bool has_condition(const struct claim *c, const char *type, const char *message)
{
    const struct status_condition *now = condition_get(&c->conditions, type);

    return now && now->status == CONDITION_TRUE && (!message || strcmp(now->message, message) == 0);
}

void resize_patch_conditions(struct buf *out, const struct claim *c, const char *wanted, const char *message,
                             bool drops, struct timestamp now)
{
    json_out_object(out, NULL);
    json_out_array(out, "conditions");
    if (wanted && !has_condition(c, wanted, message))
        add_condition(out, c, wanted, message, now);
    for (size_t i = 0; drops && i < ARRAY_LEN(resize_conditions); i++) {
        const char *type = resize_conditions[i];

        if ((wanted && strcmp(type, wanted) == 0) || !condition_get(&c->conditions, type))
            continue;
        json_out_object(out, NULL);
        json_out_text(out, "$patch", "delete");
        json_out_text(out, "type", type);
        json_out_end_object(out);
    }
    json_out_end_array(out);
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
    json_out_storage(out, "capacity", size);
    resize_patch_status(out, RESIZE_NONE);
    json_out_end_object(out);
    return merge_patch_end(&p, err);
}

int resize_write_node_pending(const struct claim *c, struct timestamp now, struct buf *out, struct error *err)
{
    struct merge_patch p;

    merge_patch_begin(&p, out, &c->obj);
    merge_patch_member(&p, "status");
    resize_patch_conditions(out, c, CLAIM_FILE_SYSTEM_RESIZE_PENDING, PENDING_MESSAGE, /* drops= */ false,
                            now);
    resize_patch_status(out, RESIZE_NODE_PENDING);
    json_out_end_object(out);
    return merge_patch_end(&p, err);
}

int resize_write_capacity(const struct volume *v, const struct quantity *size, const struct quantity *before,
                          struct buf *out, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(QUANTITY_TEXT_BYTES_MAX);
    struct merge_patch p;

    merge_patch_begin(&p, out, &v->obj);
    if (before) {
        quantity_format(before, &text);
        merge_patch_annotation(&p, ANN_PRE_RESIZE_CAPACITY, buf_cstr(&text));
    }
    merge_patch_member(&p, "spec");
    json_out_object(out, NULL);
    json_out_storage(out, "capacity", size);
    json_out_end_object(out);
    return merge_patch_end(&p, err);
}

int resize_write_forgotten(const struct volume *v, struct buf *out, struct error *err)
{
    struct merge_patch p;

    merge_patch_begin(&p, out, &v->obj);
    merge_patch_annotation(&p, ANN_PRE_RESIZE_CAPACITY, NULL);
    return merge_patch_end(&p, err);
}
