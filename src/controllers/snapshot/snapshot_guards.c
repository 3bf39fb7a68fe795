/* The finalizers of contents and claims.
 *
 * A content has its finalizer while it is bound; the driver's snapshotter removes it. A claim gets its
 * finalizer from the sync of a snapshot. It is removed here, also after a restart: every claim that has it is
 * looked at, so that none keeps it after its snapshots are ready or gone. */
#include "controllers/snapshot/snapshot_int.h"

#include "api/group_snapshot.h"

bool snapshot_content_needs_guard(const struct snapshot_content *c)
{
    return !c->obj.is_deleting && c->snapshot_uid[0] &&
           !object_has_finalizer(&c->obj, FINALIZER_SNAPSHOT_CONTENT);
}

enum sync_result snapshot_sync_content(void *ctx, struct str key)
{
    const struct snapshot_controller *c = ctx;
    const struct object *o = informer_get_key(c->caches.contents, key);

    if (!o || !snapshot_content_needs_guard(snapshot_content_of(o)))
        return SYNC_DONE;
    return sync_add_finalizer(c->contents, key, o, FINALIZER_SNAPSHOT_CONTENT, c->caches.contents);
}

enum sync_result snapshot_sync_group_content(void *ctx, struct str key)
{
    const struct snapshot_controller *c = ctx;
    const struct object *o = informer_get_key(c->caches.group_contents, key);

    if (!o || o->is_deleting || !group_snapshot_content_of(o)->group_uid[0] ||
        object_has_finalizer(o, FINALIZER_GROUP_SNAPSHOT_CONTENT))
        return SYNC_DONE;
    return sync_add_finalizer(c->group_contents, key, o, FINALIZER_GROUP_SNAPSHOT_CONTENT,
                              c->caches.group_contents);
}

static bool is_claim_in_use(const struct snapshot_controller *c, struct str key)
{
    struct informer_cursor at;

    for (const struct object *o = informer_first_by(c->caches.snapshots, SNAPSHOTS_BY_CLAIM, key, &at); o;
         o = informer_next(&at))
        if (snapshot_needs_claim(snapshot_of(o)))
            return true;
    return false;
}

enum sync_result snapshot_sync_claim(void *ctx, struct str key)
{
    const struct snapshot_controller *c = ctx;
    const struct object *o = informer_get_key(c->caches.claims, key);

    if (!o || !object_has_finalizer(o, FINALIZER_SNAPSHOT_CLAIM) || is_claim_in_use(c, key))
        return SYNC_DONE;
    return sync_remove_finalizer(c->claims, key, o, FINALIZER_SNAPSHOT_CLAIM, c->caches.claims);
}
