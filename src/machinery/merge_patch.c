/* Builds merge patches with preconditions. Members are written straight to the output; failures are kept
 * until merge_patch_end(). */
#include "machinery/merge_patch.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "api/json_out.h"

/* --- Preconditions --- */

/* A version that is not a number exists only in the text; no known server sends one, but the API allows it.
 */
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
    /* without preconditions the patch would overwrite any change */
    if (o->uid[0] == '\0' || o->revision == 0) {
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

/* Closes the current part and opens the next. */
static void enter_part(struct merge_patch *p, enum merge_patch_part part)
{
    static const char *const names[] = {
        [MERGE_PATCH_LABELS] = "labels",
        [MERGE_PATCH_ANNOTATIONS] = "annotations",
    };

    if (p->part == part)
        return;
    assert(p->part < part); /* a part opened twice would appear twice in the text */
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

void merge_patch_begin_any(struct merge_patch *p, struct buf *out, const struct object *o)
{
    merge_patch_begin(p, out, /* o= */ NULL);
    json_out_text(out, "uid", o->uid);
}

static bool is_listed(const char *const *names, const char *name)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

/* The object's list without some finalizers, and with another appended, which may be NULL. */
static void add_finalizers(struct merge_patch *p, const struct object *o, const char *const *without,
                           const char *with)
{
    assert(p->part == MERGE_PATCH_META);
    assert(p->has_preconditions); /* otherwise a concurrent change of the list would be lost */
    json_out_array(p->out, "finalizers");
    for (uint32_t i = 0; i < o->finalizers.count; i++)
        if (!is_listed(without, o->finalizers.items[i]))
            json_out_text(p->out, NULL, o->finalizers.items[i]);
    if (with)
        json_out_text(p->out, NULL, with);
    json_out_end_array(p->out);
}

void merge_patch_add_finalizer(struct merge_patch *p, const struct object *o, const char *finalizer)
{
    static const char *const none[] = { NULL };

    add_finalizers(p, o, none, object_has_finalizer(o, finalizer) ? NULL : finalizer);
}

void merge_patch_remove_finalizer(struct merge_patch *p, const struct object *o, const char *finalizer)
{
    const char *const names[] = { finalizer, NULL };

    add_finalizers(p, o, names, /* with= */ NULL);
}

void merge_patch_remove_finalizers(struct merge_patch *p, const struct object *o, const char *const *names)
{
    add_finalizers(p, o, names, /* with= */ NULL);
}

void merge_patch_label(struct merge_patch *p, const char *key, const char *value)
{
    enter_part(p, MERGE_PATCH_LABELS);
    json_out_text(p->out, key, value);
}

void merge_patch_annotation(struct merge_patch *p, const char *key, const char *value)
{
    enter_part(p, MERGE_PATCH_ANNOTATIONS);
    json_out_text(p->out, key, value);
}

void merge_patch_member(struct merge_patch *p, const char *key)
{
    enter_part(p, MERGE_PATCH_BODY);
    json_out_key(p->out, key);
}

int merge_patch_end(struct merge_patch *p, struct error *err)
{
    enter_part(p, MERGE_PATCH_BODY);
    json_out_end_object(p->out);
    if (p->failed)
        return error_set(err, p->failed, "patch: object has no valid uid and resourceVersion");
    return buf_check(p->out, "patch", err);
}
