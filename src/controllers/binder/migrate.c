/* Before every sync: who provisioned or is to provision may have been replaced by a CSI driver, and the
 * finalizer that guards the reclaiming must be there just when this binder does it. */
#include "controllers/binder/binder_int.h"

#include <string.h>

#include "api/migration.h"

/* What the annotation must become for this provisioner; false when it is right as it is. */
static bool migration_differs(const struct object *o, const char *provisioner, const char **ret)
{
    const char *is = object_annotation(o, ANN_MIGRATED_TO), *driver;

    if (!provisioner)
        return false;
    driver = migration_driver(provisioner);
    *ret = driver;
    if (driver)
        return !is || strcmp(is, driver) != 0;
    return is && is[0] != '\0';
}

bool migrate_claim(struct sync *s, const struct claim *c)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(BINDER_BODY_BYTES_MAX);
    const char *provisioner = object_annotation(&c->obj, ANN_PROVISIONER), *driver;
    struct merge_patch p;

    if (!provisioner)
        provisioner = object_annotation(&c->obj, ANN_PROVISIONER_BETA);
    if (!migration_differs(&c->obj, provisioner, &driver))
        return false;
    merge_patch_begin(&p, &body, &c->obj);
    merge_patch_annotation(&p, ANN_MIGRATED_TO, driver);
    (void)binder_patch(s, &c->obj, NULL, &p, API_STEP_MIGRATE, NULL, NULL);
    return true;
}

/* What becomes of the volume's finalizers, one change at a time; both NULL: nothing. */
static void finalizer_change(const struct binder *b, const struct volume *v, const char **ret_add,
                             const char **ret_remove)
{
    const char *by = object_annotation(&v->obj, ANN_PROVISIONED_BY);
    bool has = object_has_finalizer(&v->obj, FINALIZER_RECLAIM);

    *ret_add = *ret_remove = NULL;
    if (!by)
        return;
    if (migration_driver(by)) {
        *ret_remove = has ? FINALIZER_RECLAIM : NULL;
        return;
    }
    if (strncmp(by, "kubernetes.io/", 14) != 0)
        return;
    /* The server takes none for what is going, and what has been reclaimed needs none. */
    if (v->reclaim == RECLAIM_DELETE && !has && !v->obj.is_deleting && !reclaim_has_begun(b, v))
        *ret_add = FINALIZER_RECLAIM;
    else if ((v->reclaim == RECLAIM_RETAIN || v->reclaim == RECLAIM_RECYCLE) && has)
        *ret_remove = FINALIZER_RECLAIM;
    else if (object_has_finalizer(&v->obj, FINALIZER_EXTERNAL_RECLAIM))
        *ret_remove = FINALIZER_EXTERNAL_RECLAIM;
}

bool migrate_volume(struct sync *s, const struct volume *v)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(BINDER_BODY_BYTES_MAX);
    const char *driver = NULL, *add, *take;
    struct merge_patch p;
    bool is_migrating = migration_differs(&v->obj, object_annotation(&v->obj, ANN_PROVISIONED_BY), &driver);

    finalizer_change(s->ctx, v, &add, &take);
    if (!is_migrating && !add && !take)
        return false;
    merge_patch_begin(&p, &body, &v->obj);
    if (add)
        merge_patch_add_finalizer(&p, &v->obj, add);
    else if (take)
        merge_patch_remove_finalizer(&p, &v->obj, take);
    if (is_migrating)
        merge_patch_annotation(&p, ANN_MIGRATED_TO, driver);
    (void)binder_patch(s, &v->obj, NULL, &p, API_STEP_MIGRATE, NULL, NULL);
    return true;
}
