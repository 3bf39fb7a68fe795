#include "machinery/merge_patch.h"

#include <assert.h>
#include <inttypes.h>

#include "api/json_out.h"

/* --- Preconditions --- */

/* A version that is no number is in the text alone: no server of today sends one, but none promised. */
static enum err add_opaque_version(struct merge_patch *p, const struct object *o)
{
    _cleanup_(json_done_p) struct json d;
    struct error err;
    json_ref root;

    json_init(&d, OBJECT_TEXT_BYTES_MAX);
    if (json_parse(&d, o->text, &root, &err) < 0)
        return err.code;
    json_out_str(p->out, "resourceVersion",
                 json_get_text(&d, json_get(&d, root, "metadata"), "resourceVersion"));
    return ERR_NONE;
}

static void add_preconditions(struct merge_patch *p, const struct object *o)
{
    if (o->uid[0] == '\0' || o->revision == 0) { /* a patch without them would overwrite anything */
        p->failed = ERR_INVALID;
        return;
    }
    json_out_text(p->out, "uid", o->uid);
    if (o->revision < 0) {
        p->failed = add_opaque_version(p, o);
        return;
    }
    json_out_textf(p->out, "resourceVersion", "%" PRId64, o->revision);
}

/* --- Parts --- */

/* Closes what stands before the part and opens it. */
static void enter(struct merge_patch *p, enum merge_patch_part part)
{
    static const char *const names[] = {
        [MERGE_PATCH_LABELS] = "labels",
        [MERGE_PATCH_ANNOTATIONS] = "annotations",
    };

    if (p->part == part)
        return;
    assert(p->part < part); /* a part that is opened twice would stand in the text twice */
    if (p->part != MERGE_PATCH_META)
        json_out_end_object(p->out); /* of the labels or annotations */
    if (part == MERGE_PATCH_BODY)
        json_out_end_object(p->out); /* of metadata */
    else
        json_out_object(p->out, names[part]);
    p->part = part;
}

void merge_patch_begin(struct merge_patch *p, struct buf *out, const struct object *o)
{
    *p = (struct merge_patch){ .out = out, .part = MERGE_PATCH_META };
    json_out_object(out, NULL);
    json_out_object(out, "metadata");
    p->has_preconditions = o != NULL;
    if (o)
        add_preconditions(p, o);
}

/* The object's list without one, and with another at its end; both may be NULL. */
static void add_finalizers(struct merge_patch *p, const struct object *o, const char *without,
                           const char *with)
{
    assert(p->part == MERGE_PATCH_META);
    assert(p->has_preconditions); /* without them another client's change of the list would be lost */
    json_out_array(p->out, "finalizers");
    for (uint32_t i = 0; i < o->finalizers.count; i++)
        if (!without || strcmp(o->finalizers.items[i], without) != 0)
            json_out_text(p->out, NULL, o->finalizers.items[i]);
    if (with)
        json_out_text(p->out, NULL, with);
    json_out_end_array(p->out);
}

void merge_patch_add_finalizer(struct merge_patch *p, const struct object *o, const char *finalizer)
{
    add_finalizers(p, o, /* without= */ NULL, object_has_finalizer(o, finalizer) ? NULL : finalizer);
}

void merge_patch_remove_finalizer(struct merge_patch *p, const struct object *o, const char *finalizer)
{
    add_finalizers(p, o, finalizer, /* with= */ NULL);
}

void merge_patch_label(struct merge_patch *p, const char *key, const char *value)
{
    enter(p, MERGE_PATCH_LABELS);
    json_out_text(p->out, key, value);
}

void merge_patch_annotation(struct merge_patch *p, const char *key, const char *value)
{
    enter(p, MERGE_PATCH_ANNOTATIONS);
    json_out_text(p->out, key, value);
}

void merge_patch_member(struct merge_patch *p, const char *key)
{
    enter(p, MERGE_PATCH_BODY);
    json_out_key(p->out, key);
}

enum err merge_patch_finish(struct merge_patch *p)
{
    enter(p, MERGE_PATCH_BODY);
    json_out_end_object(p->out);
    return p->failed ? p->failed : p->out->failed;
}

int merge_patch_end(struct merge_patch *p, struct error *err)
{
    (void)merge_patch_finish(p);
    if (p->failed)
        return error_set(err, p->failed, "patch: the object has no uid and version that can be read");
    return buf_check(p->out, "patch", err);
}
