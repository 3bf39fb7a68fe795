/* Merge patches with preconditions, which all controllers use to write.
 *
 *     merge_patch_begin(&p, &body, claim);
 *     merge_patch_annotation(&p, "pv.kubernetes.io/bind-completed", "yes");
 *     merge_patch_member(&p, "spec");
 *     json_out_object(&body, NULL);
 *     json_out_text(&body, "volumeName", name);
 *     json_out_end_object(&body);
 *     r = merge_patch_end(&p, err);
 *
 * The patch has the uid and resourceVersion of the object that the decision was based on: if the object has
 * changed or was replaced, the server refuses the patch (client_is_conflict()). Fields that the patch does
 * not name stay as they are, unknown ones included.
 *
 * Changes must be added in this order: finalizers, labels, annotations, other members. */
#ifndef BERTH_MACHINERY_MERGE_PATCH_H
#define BERTH_MACHINERY_MERGE_PATCH_H

#include <stdbool.h>

#include "api/object.h"
#include "base/buf.h"
#include "base/error.h"

/* The part that is being written. */
enum merge_patch_part {
    MERGE_PATCH_META, /* inside metadata */
    MERGE_PATCH_LABELS,
    MERGE_PATCH_ANNOTATIONS,
    MERGE_PATCH_BODY, /* after metadata */
    MERGE_PATCH_PART_COUNT,
};

struct merge_patch {
    struct buf *out;
    enum merge_patch_part part;
    bool has_preconditions;
    enum err failed; /* reported by merge_patch_end() */
};

/* For the object as read; NULL: without preconditions, for fields that no other client writes. */
void merge_patch_begin(struct merge_patch *p, struct buf *out, const struct object *o);
/* For any version of the object: for changes that are valid whatever others have written. */
void merge_patch_begin_any(struct merge_patch *p, struct buf *out, const struct object *o);

/* Writes the whole list with a finalizer added or removed, because a merge of lists could restore a
 * finalizer. At most one of these per patch, and only with preconditions. */
void merge_patch_add_finalizer(struct merge_patch *p, const struct object *o, const char *finalizer);
void merge_patch_remove_finalizer(struct merge_patch *p, const struct object *o, const char *finalizer);
/* Removes those of a list, which is terminated by NULL. */
void merge_patch_remove_finalizers(struct merge_patch *p, const struct object *o, const char *const *names);

/* value NULL removes it. Each key at most once. */
void merge_patch_label(struct merge_patch *p, const char *key, const char *value);
void merge_patch_annotation(struct merge_patch *p, const char *key, const char *value);

/* Another member of the object ("spec", "status"): the caller writes its value next. */
void merge_patch_member(struct merge_patch *p, const char *key);

/* ERR_INVALID if the object, as received, has no uid or version for a precondition. */
int merge_patch_end(struct merge_patch *p, struct error *err);

#endif
