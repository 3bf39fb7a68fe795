/* Decides the next step for a content. */
#include "controllers/csi/csi_snapshot_plan.h"

#include <string.h>

static bool is_marked(const struct object *o, const char *annotation)
{
    return object_annotation(o, annotation) != NULL;
}

/* The snapshot-controller has agreed to the deletion, or nobody is bound to the content. */
static bool may_delete(const struct snapshot_content *c)
{
    if (c->source_snapshot_handle[0] && c->snapshot_uid[0] == '\0')
        return true;
    return !is_marked(&c->obj, ANN_SNAPSHOT_BEING_CREATED) && is_marked(&c->obj, ANN_SNAPSHOT_BEING_DELETED);
}

/* The snapshots of a group are deleted with it. */
static enum csi_snapshot_step next_deletion(const struct snapshot_content *c)
{
    if (c->deletes && c->snapshot_handle[0] && !is_marked(&c->obj, ANN_GROUP_SNAPSHOT_HANDLE))
        return CSI_SNAPSHOT_DELETE;
    return object_has_finalizer(&c->obj, FINALIZER_SNAPSHOT_CONTENT) ? CSI_SNAPSHOT_RELEASE
                                                                     : CSI_SNAPSHOT_REST;
}

enum csi_snapshot_step csi_snapshot_next(const struct snapshot_content *c)
{
    bool is_created = is_marked(&c->obj, ANN_SNAPSHOT_BEING_CREATED);

    if (c->obj.is_deleting && may_delete(c))
        return next_deletion(c);
    if (c->is_ready)
        return is_created ? CSI_SNAPSHOT_UNMARK : CSI_SNAPSHOT_REST;
    if (c->source_snapshot_handle[0])
        return CSI_SNAPSHOT_FIND;
    if (c->volume_handle[0] == '\0' || is_marked(&c->obj, ANN_GROUP_SNAPSHOT_HANDLE))
        return CSI_SNAPSHOT_REST;
    if (c->obj.is_deleting && !is_created && c->snapshot_handle[0] == '\0')
        return CSI_SNAPSHOT_REST; /* nothing is created for it any more */
    return CSI_SNAPSHOT_CREATE;
}

/* Annotations are sorted by key. */
static bool have_same_annotations(const struct kvs *a, const struct kvs *b)
{
    uint32_t i = 0, k = 0;

    for (;;) {
        i += i < a->count && strcmp(a->items[i].key, ANN_SNAPSHOT_BEING_CREATED) == 0;
        k += k < b->count && strcmp(b->items[k].key, ANN_SNAPSHOT_BEING_CREATED) == 0;
        if (i == a->count || k == b->count)
            return i == a->count && k == b->count;
        if (strcmp(a->items[i].key, b->items[k].key) != 0 ||
            strcmp(a->items[i].value, b->items[k].value) != 0)
            return false;
        i++;
        k++;
    }
}

bool csi_snapshot_differs(const struct snapshot_content *old, const struct snapshot_content *now)
{
    return old->obj.is_deleting != now->obj.is_deleting || (now->is_ready && !old->is_ready) ||
           old->deletes != now->deletes || strcmp(old->snapshot_uid, now->snapshot_uid) != 0 ||
           strcmp(old->class_name, now->class_name) != 0 || !kvs_equal(&old->obj.labels, &now->obj.labels) ||
           !have_same_annotations(&old->obj.annotations, &now->obj.annotations);
}
