/* Conditions are written by strategic merge, so that those of others stay as they are, and one that says the
 * right thing already keeps its time. */
#include "controllers/expand/expand_int.h"

#include <string.h>

#include "machinery/merge_patch.h"

#define PENDING_MESSAGE "Waiting for user to (re-)start a pod to finish file system resize of volume on node."

static const char *const resize_conditions[] = { CLAIM_RESIZING, CLAIM_FILE_SYSTEM_RESIZE_PENDING,
                                                 CLAIM_CONTROLLER_RESIZE_ERROR, CLAIM_NODE_RESIZE_ERROR };

static void add_quantity(struct buf *out, const struct quantity *q)
{
    (void)buf_add_char(out, '"');
    (void)quantity_format(q, out);
    (void)buf_add_char(out, '"');
}

static void add_storage(struct buf *out, const char *key, const struct quantity *q)
{
    (void)buf_addf(out, ",\"%s\":{\"storage\":", key);
    add_quantity(out, q);
    (void)buf_add_char(out, '}');
}

/* RESIZE_NONE: takes it away. */
static void add_resize(struct buf *out, enum resize_status status)
{
    (void)buf_add_cstr(out, ",\"allocatedResourceStatuses\":{\"storage\":");
    if (status == RESIZE_NONE)
        (void)buf_add_cstr(out, "null}");
    else
        (void)buf_addf(out, "\"%s\"}", resize_status_name(status));
}

/* One condition that is true from now on; what it said before, if it was there and not true, goes. */
static void add_condition(struct buf *out, const struct claim *c, const char *type, const char *message,
                          struct timestamp now)
{
    (void)buf_addf(out, "{\"type\":\"%s\",\"status\":\"True\",\"lastTransitionTime\":\"", type);
    (void)timestamp_format(now, out);
    (void)buf_add_char(out, '"');
    if (condition_get(&c->conditions, type))
        (void)buf_add_cstr(out, ",\"reason\":null");
    if (message)
        (void)buf_addf(out, ",\"message\":\"%s\"", message);
    else if (condition_get(&c->conditions, type))
        (void)buf_add_cstr(out, ",\"message\":null");
    (void)buf_add_char(out, '}');
}

/* The status' first member: `wanted` (NULL for none) is true; of the other resize conditions none is left
 * when drops. */
static void add_conditions(struct buf *out, const struct claim *c, const char *wanted, const char *message,
                           bool drops, struct timestamp now)
{
    const char *separator = "";

    (void)buf_add_cstr(out, "{\"conditions\":[");
    if (wanted && condition_status(&c->conditions, wanted) != CONDITION_TRUE) {
        add_condition(out, c, wanted, message, now);
        separator = ",";
    }
    for (size_t i = 0; drops && i < ARRAY_LEN(resize_conditions); i++) {
        const char *type = resize_conditions[i];

        if ((wanted && strcmp(type, wanted) == 0) || !condition_get(&c->conditions, type))
            continue;
        (void)buf_addf(out, "%s{\"$patch\":\"delete\",\"type\":\"%s\"}", separator, type);
        separator = ",";
    }
    (void)buf_add_char(out, ']');
}

static bool is_begun(const struct claim *c, const char *resizer, const struct quantity *to)
{
    for (size_t i = 0; i < ARRAY_LEN(resize_conditions); i++) {
        bool is_wanted = strcmp(resize_conditions[i], CLAIM_RESIZING) == 0;

        if (is_wanted ? condition_status(&c->conditions, CLAIM_RESIZING) != CONDITION_TRUE
                      : condition_get(&c->conditions, resize_conditions[i]) != NULL)
            return false;
    }
    return c->resize == RESIZE_CONTROLLER_IN_PROGRESS && c->has_allocated &&
           quantity_cmp(&c->allocated, to) == 0 && object_annotation_is(&c->obj, ANN_RESIZER, resizer);
}

int expand_write_begun(const struct claim *c, const char *resizer, const struct quantity *to,
                       struct timestamp now, struct buf *out, struct error *err)
{
    struct merge_patch p;
    int r;

    if (is_begun(c, resizer, to))
        return 0;
    merge_patch_begin(&p, out, &c->obj);
    merge_patch_annotation(&p, ANN_RESIZER, resizer);
    merge_patch_member(&p, "status");
    add_conditions(out, c, CLAIM_RESIZING, /* message= */ NULL, /* drops= */ true, now);
    add_storage(out, "allocatedResources", to);
    add_resize(out, RESIZE_CONTROLLER_IN_PROGRESS);
    (void)buf_add_char(out, '}');
    r = merge_patch_end(&p, err);
    return r < 0 ? r : 1;
}

int expand_write_node_pending(const struct claim *c, struct timestamp now, struct buf *out, struct error *err)
{
    struct merge_patch p;

    merge_patch_begin(&p, out, &c->obj);
    merge_patch_member(&p, "status");
    add_conditions(out, c, CLAIM_FILE_SYSTEM_RESIZE_PENDING, PENDING_MESSAGE, /* drops= */ false, now);
    add_resize(out, RESIZE_NODE_PENDING);
    (void)buf_add_char(out, '}');
    return merge_patch_end(&p, err);
}

int expand_write_done(const struct claim *c, const struct quantity *size, struct buf *out, struct error *err)
{
    struct merge_patch p;

    merge_patch_begin(&p, out, &c->obj);
    merge_patch_member(&p, "status");
    add_conditions(out, c, /* wanted= */ NULL, /* message= */ NULL, /* drops= */ true,
                   (struct timestamp){ 0, 0 });
    add_storage(out, "capacity", size);
    add_resize(out, RESIZE_NONE);
    (void)buf_add_char(out, '}');
    return merge_patch_end(&p, err);
}

int expand_write_resizer(const struct claim *c, const char *resizer, struct buf *out, struct error *err)
{
    struct merge_patch p;

    merge_patch_begin(&p, out, &c->obj);
    merge_patch_annotation(&p, ANN_RESIZER, resizer);
    return merge_patch_end(&p, err);
}

int expand_write_size(const struct volume *v, const struct quantity *size, const struct quantity *before,
                      struct buf *out, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(QUANTITY_TEXT_BYTES_MAX);
    struct merge_patch p;

    merge_patch_begin(&p, out, &v->obj);
    if (before) {
        (void)quantity_format(before, &text);
        merge_patch_annotation(&p, ANN_PRE_RESIZE_CAPACITY, buf_cstr(&text));
    }
    merge_patch_member(&p, "spec");
    (void)buf_add_cstr(out, "{\"capacity\":{\"storage\":");
    add_quantity(out, size);
    (void)buf_add_cstr(out, "}}");
    return merge_patch_end(&p, err);
}

int expand_write_forgotten(const struct volume *v, struct buf *out, struct error *err)
{
    struct merge_patch p;

    merge_patch_begin(&p, out, &v->obj);
    merge_patch_annotation(&p, ANN_PRE_RESIZE_CAPACITY, NULL);
    return merge_patch_end(&p, err);
}
