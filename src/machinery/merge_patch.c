#include "machinery/merge_patch.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

/* A comma where one is due, and the key. */
static void add_key(struct merge_patch *p, const char *key)
{
    if (p->has_member)
        buf_add_char(p->out, ',');
    json_write_string(p->out, str_of(key));
    buf_add_char(p->out, ':');
    p->has_member = true;
}

static void add_text(struct merge_patch *p, const char *key, struct str value)
{
    add_key(p, key);
    json_write_string(p->out, value);
}

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
    add_text(p, "resourceVersion", json_get_text(&d, json_get(&d, root, "metadata"), "resourceVersion"));
    return ERR_NONE;
}

static void add_preconditions(struct merge_patch *p, const struct object *o)
{
    char version[24];

    if (o->uid[0] == '\0' || o->revision == 0) { /* a patch without them would overwrite anything */
        p->failed = ERR_INVALID;
        return;
    }
    add_text(p, "uid", str_of(o->uid));
    if (o->revision < 0) {
        p->failed = add_opaque_version(p, o);
        return;
    }
    (void)snprintf(version, sizeof version, "%" PRId64, o->revision);
    add_text(p, "resourceVersion", str_of(version));
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
    if (p->part != MERGE_PATCH_META) {
        buf_add_char(p->out, '}'); /* of the labels or annotations */
        p->has_member = true;      /* they are one, of metadata */
    }
    if (part == MERGE_PATCH_BODY) {
        buf_add_char(p->out, '}');
        p->has_member = true; /* metadata itself */
    } else {
        add_key(p, names[part]);
        buf_add_char(p->out, '{');
        p->has_member = false;
    }
    p->part = part;
}

void merge_patch_begin(struct merge_patch *p, struct buf *out, const struct object *o)
{
    *p = (struct merge_patch){ .out = out, .part = MERGE_PATCH_META };
    buf_add_cstr(out, "{\"metadata\":{");
    if (o)
        add_preconditions(p, o);
}

static void add_item(struct merge_patch *p, const char *text, bool *is_first)
{
    if (!*is_first)
        buf_add_char(p->out, ',');
    json_write_string(p->out, str_of(text));
    *is_first = false;
}

/* The object's list without one, and with another at its end; both may be NULL. */
static void add_finalizers(struct merge_patch *p, const struct object *o, const char *without,
                           const char *with)
{
    bool is_first = true;

    assert(p->part == MERGE_PATCH_META);
    /* The version: without it somebody else's change of the list would be lost. */
    assert(p->has_member || p->failed);
    add_key(p, "finalizers");
    buf_add_char(p->out, '[');
    for (uint32_t i = 0; i < o->finalizers.count; i++)
        if (!without || strcmp(o->finalizers.items[i], without) != 0)
            add_item(p, o->finalizers.items[i], &is_first);
    if (with)
        add_item(p, with, &is_first);
    buf_add_char(p->out, ']');
}

void merge_patch_add_finalizer(struct merge_patch *p, const struct object *o, const char *finalizer)
{
    add_finalizers(p, o, /* without= */ NULL, object_has_finalizer(o, finalizer) ? NULL : finalizer);
}

void merge_patch_remove_finalizer(struct merge_patch *p, const struct object *o, const char *finalizer)
{
    add_finalizers(p, o, finalizer, /* with= */ NULL);
}

static void add_value(struct merge_patch *p, const char *key, const char *value)
{
    if (value) {
        add_text(p, key, str_of(value));
    } else {
        add_key(p, key);
        buf_add_cstr(p->out, "null");
    }
}

void merge_patch_label(struct merge_patch *p, const char *key, const char *value)
{
    enter(p, MERGE_PATCH_LABELS);
    add_value(p, key, value);
}

void merge_patch_annotation(struct merge_patch *p, const char *key, const char *value)
{
    enter(p, MERGE_PATCH_ANNOTATIONS);
    add_value(p, key, value);
}

void merge_patch_member(struct merge_patch *p, const char *key)
{
    enter(p, MERGE_PATCH_BODY);
    add_key(p, key);
}

enum err merge_patch_finish(struct merge_patch *p)
{
    enter(p, MERGE_PATCH_BODY);
    buf_add_char(p->out, '}');
    return p->failed ? p->failed : p->out->failed;
}

int merge_patch_end(struct merge_patch *p, struct error *err)
{
    (void)merge_patch_finish(p);
    if (p->failed)
        return error_set(err, p->failed, "patch: the object has no uid and version that can be read");
    return buf_check(p->out, "patch", err);
}
