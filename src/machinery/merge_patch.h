/* Merge patches with preconditions: how every controller writes.
 *
 *     merge_patch_begin(&p, &body, claim);
 *     merge_patch_annotation(&p, "pv.kubernetes.io/bind-completed", "yes");
 *     merge_patch_member(&p, "spec");
 *     json_out_object(&body, NULL);
 *     json_out_text(&body, "volumeName", name);
 *     json_out_end_object(&body);
 *     r = merge_patch_end(&p, err);
 *
 * The patch carries the uid and the resourceVersion of the object that the decision was based on: when the
 * object has changed or was replaced since, the server refuses it (client_is_conflict()). What it does not
 * name stays as it is, fields that nobody here has heard of included.
 *
 * Changes come in this order: finalizers, then labels, then annotations, then other members. */
#ifndef BERTH_MACHINERY_MERGE_PATCH_H
#define BERTH_MACHINERY_MERGE_PATCH_H

#include <stdbool.h>

#include "api/object.h"
#include "base/buf.h"
#include "base/error.h"

/* How far the text is. */
enum merge_patch_part {
    MERGE_PATCH_META, /* inside metadata */
    MERGE_PATCH_LABELS,
    MERGE_PATCH_ANNOTATIONS,
    MERGE_PATCH_BODY, /* behind metadata */
    MERGE_PATCH_PART_COUNT,
};

struct merge_patch {
    struct buf *out;
    enum merge_patch_part part;
    bool has_preconditions;
    enum err failed; /* reported by merge_patch_end() */
};

/* On the object as it was read; NULL: without preconditions, for what nobody else writes. */
void merge_patch_begin(struct merge_patch *p, struct buf *out, const struct object *o);

/* The whole list with one more, or one less: merging lists could bring a finalizer back. One of them in a
 * patch, and only with preconditions. */
void merge_patch_add_finalizer(struct merge_patch *p, const struct object *o, const char *finalizer);
void merge_patch_remove_finalizer(struct merge_patch *p, const struct object *o, const char *finalizer);

/* value NULL: takes it away. Each key once. */
void merge_patch_label(struct merge_patch *p, const char *key, const char *value);
void merge_patch_annotation(struct merge_patch *p, const char *key, const char *value);

/* Another member of the object ("spec", "status"): its value is to be written next. */
void merge_patch_member(struct merge_patch *p, const char *key);

/* ERR_INVALID when the object, as it came from its server, had nothing to base a patch on. */
int merge_patch_end(struct merge_patch *p, struct error *err);
/* The same without words, for a write that tells its end later: ERR_NONE when all is well. */
enum err merge_patch_finish(struct merge_patch *p);

#endif
