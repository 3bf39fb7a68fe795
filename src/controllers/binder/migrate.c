/* Runs before every sync. Updates the migration annotation, because the provisioner may have been replaced by
 * a CSI driver, and the finalizer that protects the storage, which must be set exactly if this binder
 * reclaims it. */
#include "controllers/binder/binder_int.h"

#include <string.h>

#include "api/migration.h"

/* The required value of the annotation for this provisioner; false if it is already set. */
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

/* The changes to write. */
struct migration {
    bool is_migrating;
    const char *driver; /* value of the annotation; NULL: remove it */
    const char *add;    /* finalizer; NULL: none */
    const char *take;
};

static enum api_decision decide_migration(void *ctx, const struct object *now, struct buf *body,
                                          struct error *err)
{
    const struct migration *m = ctx;
    struct merge_patch p;

    merge_patch_begin(&p, body, now);
    if (m->add)
        merge_patch_add_finalizer(&p, now, m->add);
    else if (m->take)
        merge_patch_remove_finalizer(&p, now, m->take);
    if (m->is_migrating)
        merge_patch_annotation(&p, ANN_MIGRATED_TO, m->driver);
    return api_decision_of(merge_patch_end(&p, err));
}

bool migrate_claim(struct sync *s, const struct claim *c)
{
    const char *provisioner = object_annotation(&c->obj, ANN_PROVISIONER);
    struct migration m = { .is_migrating = true };

    if (!provisioner)
        provisioner = object_annotation(&c->obj, ANN_PROVISIONER_BETA);
    if (!migration_differs(&c->obj, provisioner, &m.driver))
        return false;
    (void)binder_patch(s, &c->obj, NULL, decide_migration, &m, API_STEP_MIGRATE, NULL, NULL);
    return true;
}

/* The change of the volume's finalizers, at most one at a time; both NULL: none. */
static void finalizer_change(const struct binder *b, const struct volume *v, struct migration *m)
{
    const char *by = object_annotation(&v->obj, ANN_PROVISIONED_BY);
    bool has = object_has_finalizer(&v->obj, FINALIZER_RECLAIM);

    if (!by)
        return;
    if (migration_driver(by)) {
        m->take = has ? FINALIZER_RECLAIM : NULL;
        return;
    }
    if (strncmp(by, "kubernetes.io/", 14) != 0)
        return;
    /* The server rejects new finalizers on a deleted object, and a reclaimed volume needs none. */
    if (v->reclaim == RECLAIM_DELETE && !has && !v->obj.is_deleting && !reclaim_has_begun(b, v))
        m->add = FINALIZER_RECLAIM;
    else if ((v->reclaim == RECLAIM_RETAIN || v->reclaim == RECLAIM_RECYCLE) && has)
        m->take = FINALIZER_RECLAIM;
    else if (object_has_finalizer(&v->obj, FINALIZER_EXTERNAL_RECLAIM))
        m->take = FINALIZER_EXTERNAL_RECLAIM;
}

bool migrate_volume(struct sync *s, const struct volume *v)
{
    struct migration m = { 0 };

    m.is_migrating = migration_differs(&v->obj, object_annotation(&v->obj, ANN_PROVISIONED_BY), &m.driver);
    finalizer_change(s->ctx, v, &m);
    if (!m.is_migrating && !m.add && !m.take)
        return false;
    (void)binder_patch(s, &v->obj, NULL, decide_migration, &m, API_STEP_MIGRATE, NULL, NULL);
    return true;
}
