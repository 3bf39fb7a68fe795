#include "controllers/expand/expand_int.h"

#include "api/json_out.h"
#include "machinery/merge_patch.h"
#include "machinery/resize_patch.h"

#define PENDING_MESSAGE "Waiting for user to (re-)start a pod to finish file system resize of volume on node."

bool expand_is_begun(const struct claim *c, const char *resizer, const struct quantity *to)
{
    return resize_has_begun(c) && c->resize == RESIZE_CONTROLLER_IN_PROGRESS && c->has_allocated &&
           quantity_cmp(&c->allocated, to) == 0 && object_annotation_is(&c->obj, ANN_RESIZER, resizer);
}

enum err expand_write_begun(const struct claim *c, const char *resizer, const struct quantity *to,
                            struct timestamp now, struct buf *out)
{
    struct merge_patch p;

    merge_patch_begin(&p, out, &c->obj);
    merge_patch_annotation(&p, ANN_RESIZER, resizer);
    merge_patch_member(&p, "status");
    resize_patch_conditions(out, c, CLAIM_RESIZING, /* message= */ NULL, /* drops= */ true, now);
    resize_patch_storage(out, "allocatedResources", to);
    resize_patch_status(out, RESIZE_CONTROLLER_IN_PROGRESS);
    json_out_end_object(out);
    return merge_patch_finish(&p);
}

enum err expand_write_node_pending(const struct claim *c, struct timestamp now, struct buf *out)
{
    struct merge_patch p;

    merge_patch_begin(&p, out, &c->obj);
    merge_patch_member(&p, "status");
    resize_patch_conditions(out, c, CLAIM_FILE_SYSTEM_RESIZE_PENDING, PENDING_MESSAGE, /* drops= */ false,
                            now);
    resize_patch_status(out, RESIZE_NODE_PENDING);
    json_out_end_object(out);
    return merge_patch_finish(&p);
}

enum err expand_write_resizer(const struct claim *c, const char *resizer, struct buf *out)
{
    struct merge_patch p;

    merge_patch_begin(&p, out, &c->obj);
    merge_patch_annotation(&p, ANN_RESIZER, resizer);
    return merge_patch_finish(&p);
}

enum err expand_write_size(const struct volume *v, const struct quantity *size, const struct quantity *before,
                           struct buf *out)
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
    volume_write_capacity(out, size);
    json_out_end_object(out);
    return merge_patch_finish(&p);
}

enum err expand_write_forgotten(const struct volume *v, struct buf *out)
{
    struct merge_patch p;

    merge_patch_begin(&p, out, &v->obj);
    merge_patch_annotation(&p, ANN_PRE_RESIZE_CAPACITY, NULL);
    return merge_patch_finish(&p);
}
