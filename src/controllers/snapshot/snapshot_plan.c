/* The order of steps for a snapshot:
 *
 *   live      class → finalizer → claim's finalizer → content → status → finalizer
 *             or, for an existing content: class → finalizer → bind the content → status → finalizer
 *   deleted   wait for restores → mark content → delete content (policy Delete) → remove finalizers
 *
 * A snapshot that was bound is never bound to another content, and a content is only deleted for a snapshot
 * that it names by uid. Costs: index lookups; the default class is found by a walk over all classes. */
#include "controllers/snapshot/snapshot_plan.h"

#include <stdio.h>
#include <string.h>

#include "api/group_snapshot.h"
#include "api/names.h"
#include "api/quote.h"

#define QUOTED_BYTES 1024
#define SNAPSHOT_KIND "VolumeSnapshot"
#define TAKEN "a snapshot"

/* --- Indexes --- */

static void emit_key(const char *ns, const char *name, index_emit_fn *emit, void *ctx)
{
    char key[2 * CONTENT_NAME_BYTES];
    int len = snprintf(key, sizeof key, "%s/%s", ns, name);

    if (len > 0 && (size_t)len < sizeof key)
        emit(ctx, (struct str){ key, (size_t)len });
}

static void index_source_claim(const struct object *o, index_emit_fn *emit, void *ctx)
{
    const struct snapshot *s = snapshot_of(o);

    if (s->claim_name[0])
        emit_key(o->ns, s->claim_name, emit, ctx);
}

const struct informer_index snapshots_by_claim = { SNAPSHOTS_BY_CLAIM, index_source_claim };

const struct owner *snapshot_group(const struct snapshot *s)
{
    for (uint32_t i = 0; i < s->obj.owners_count; i++)
        if (strcmp(s->obj.owners[i].kind, group_snapshot_kind.name) == 0 &&
            strncmp(s->obj.owners[i].api_version, GROUP_SNAPSHOT_GROUP "/",
                    strlen(GROUP_SNAPSHOT_GROUP "/")) == 0)
            return &s->obj.owners[i];
    return NULL;
}

static void index_group(const struct object *o, index_emit_fn *emit, void *ctx)
{
    const struct owner *group = snapshot_group(snapshot_of(o));

    if (group)
        emit(ctx, str_of(group->uid));
}

const struct informer_index snapshots_by_group = { SNAPSHOTS_BY_GROUP, index_group };

static void index_source_snapshot(const struct object *o, index_emit_fn *emit, void *ctx)
{
    const struct claim_source *source = claim_of(o)->source;

    if (source && strcmp(source->kind, SNAPSHOT_KIND) == 0 && strcmp(source->group, SNAPSHOT_GROUP) == 0)
        emit_key(source->ns[0] ? source->ns : o->ns, source->name, emit, ctx);
}

const struct informer_index claims_by_snapshot = { CLAIMS_BY_SNAPSHOT, index_source_snapshot };

/* --- Relations --- */

bool snapshot_is_of_content(const struct snapshot *s, const struct snapshot_content *c)
{
    return strcmp(c->snapshot_ns, s->obj.ns) == 0 && strcmp(c->snapshot_name, s->obj.name) == 0 &&
           strcmp(c->snapshot_uid, s->obj.uid) == 0;
}

static bool has_own_finalizer(const struct object *o)
{
    return object_has_finalizer(o, FINALIZER_SNAPSHOT_SOURCE) ||
           object_has_finalizer(o, FINALIZER_SNAPSHOT_BOUND) ||
           object_has_finalizer(o, FINALIZER_SNAPSHOT_IN_GROUP);
}

bool snapshot_needs_claim(const struct snapshot *s)
{
    return !s->is_ready && (!s->obj.is_deleting || has_own_finalizer(&s->obj));
}

bool snapshot_is_restored(const struct snapshot_caches *w, const struct snapshot *s)
{
    char key[2 * CONTENT_NAME_BYTES];
    struct informer_cursor at;

    if (object_has_finalizer(&s->obj, FINALIZER_SNAPSHOT_RESTORE))
        return true;
    (void)snprintf(key, sizeof key, "%s/%s", s->obj.ns, s->obj.name);
    for (const struct object *o = informer_first_by(w->claims, CLAIMS_BY_SNAPSHOT, str_of(key), &at); o;
         o = informer_next(&at))
        if (claim_of(o)->phase != CLAIM_BOUND && claim_of(o)->phase != CLAIM_LOST)
            return true;
    return false;
}

/* --- Failures --- */

static void plan_failure(struct snapshot_plan *p, const char *reason, bool is_unready)
{
    p->step = SNAPSHOT_FAIL;
    p->reason = reason;
    p->is_unready = is_unready;
}

#define PLAN_FAIL(p, reason, is_unready, ...)                     \
    do {                                                          \
        (void)error_set(&(p)->failure, ERR_INVALID, __VA_ARGS__); \
        plan_failure((p), (reason), (is_unready));                \
    } while (0)

/* --- The volume of the source --- */

const struct volume *snapshot_find_volume(const struct snapshot_caches *w, const struct claim *c,
                                          const char *taken, struct error *err)
{
    const struct object *o;
    const struct volume *v;
    char quoted[QUOTED_BYTES];

    if (c->phase != CLAIM_BOUND) {
        (void)error_set(err, ERR_INVALID, "the PVC %s is not yet bound to a PV, will not attempt to take %s",
                        c->obj.name, taken);
        return NULL;
    }
    o = informer_get(w->volumes, "", c->volume_name);
    if (!o) {
        (void)error_set(err, ERR_NOT_FOUND, "persistentvolumes \"%s\" not found", c->volume_name);
        (void)error_set(err, ERR_NOT_FOUND, "failed to retrieve PV %s from the API server: %s",
                        c->volume_name, quote_text(quoted, sizeof quoted, str_of(err->msg)));
        return NULL;
    }
    v = volume_of(o);
    if (!v->claim.is_set || strcmp(v->claim.name, c->obj.name) != 0 || strcmp(v->claim.ns, c->obj.ns) != 0 ||
        (v->claim.uid[0] && strcmp(v->claim.uid, c->obj.uid) != 0)) {
        (void)error_set(err, ERR_INVALID, "claim in dataSource not bound or invalid");
        return NULL;
    }
    return v;
}

/* The driver of the source's volume; NULL: err has the reason. */
static const char *find_driver(const struct snapshot_caches *w, const struct snapshot *s, struct error *err)
{
    const struct object *claim = informer_get(w->claims, s->obj.ns, s->claim_name);
    const struct volume *v;
    char quoted[QUOTED_BYTES];

    if (!claim) {
        (void)error_set(err, ERR_NOT_FOUND, "persistentvolumeclaim \"%s\" not found", s->claim_name);
        (void)error_set(err, ERR_NOT_FOUND, "failed to retrieve PVC %s from the lister: %s", s->claim_name,
                        quote_text(quoted, sizeof quoted, str_of(err->msg)));
        return NULL;
    }
    v = snapshot_find_volume(w, claim_of(claim), TAKEN, err);
    if (v && v->source.kind != SOURCE_CSI) {
        (void)error_set(err, ERR_INVALID, "cannot find CSI PersistentVolumeSource for volume %s",
                        v->obj.name);
        return NULL;
    }
    return v ? v->source.csi->driver : NULL;
}

/* --- Class --- */

static const struct snapshot_class *find_default_class(const struct snapshot_caches *w, const char *driver,
                                                       struct error *err)
{
    const struct snapshot_class *found = NULL;
    struct informer_cursor at;
    unsigned count = 0;

    for (const struct object *o = informer_first(w->classes, &at); o; o = informer_next(&at)) {
        const struct snapshot_class *class = snapshot_class_of(o);

        if (class->is_default && strcmp(class->driver, driver) == 0) {
            found = class;
            count++;
        }
    }
    if (count == 1)
        return found;
    if (count == 0)
        (void)error_set(err, ERR_NOT_FOUND, "cannot find default snapshot class");
    else
        (void)error_set(err, ERR_INVALID, "%u default snapshot classes were found", count);
    return NULL;
}

static void plan_default_class(const struct snapshot_caches *w, const struct snapshot *s,
                               struct snapshot_plan *p)
{
    const char *driver = find_driver(w, s, &p->failure);

    p->class = driver ? find_default_class(w, driver, &p->failure) : NULL;
    p->step = SNAPSHOT_SET_CLASS;
    if (!p->class)
        PLAN_FAIL(p, "SetDefaultSnapshotClassFailed", /* is_unready= */ false,
                  "Failed to set default snapshot class with error %s", p->failure.msg);
}

/* False if there is a step for the class. */
static bool is_class_settled(const struct snapshot_caches *w, const struct snapshot *s,
                             struct snapshot_plan *p)
{
    const struct object *o;

    if (!s->class_name[0] && (!s->claim_name[0] || snapshot_group(s)))
        return true; /* an existing snapshot needs no class, and a group has one */
    if (!s->class_name[0]) {
        plan_default_class(w, s, p);
        return false;
    }
    o = informer_get(w->classes, "", s->class_name);
    if (!o) {
        PLAN_FAIL(p, "GetSnapshotClassFailed", /* is_unready= */ false,
                  "failed to get snapshot class with error volumesnapshotclass.snapshot.storage.k8s.io "
                  "\"%s\" not found",
                  s->class_name);
        return false;
    }
    p->class = snapshot_class_of(o);
    return true;
}

/* --- Content --- */

/* The name of the content that belongs to the snapshot, bound or not. Both names of a member of a group have
 * the same end. */
static void name_content(const struct snapshot *s, char ret[CONTENT_NAME_BYTES])
{
    if (snapshot_group(s) && strncmp(s->obj.name, MEMBER_NAME_PREFIX, strlen(MEMBER_NAME_PREFIX)) == 0)
        (void)snprintf(ret, CONTENT_NAME_BYTES, CONTENT_NAME_PREFIX "%s",
                       s->obj.name + strlen(MEMBER_NAME_PREFIX));
    else if (s->content_name[0])
        (void)snprintf(ret, CONTENT_NAME_BYTES, "%s", s->content_name);
    else
        (void)snprintf(ret, CONTENT_NAME_BYTES, CONTENT_NAME_PREFIX "%s", s->obj.uid);
}

/* False if the content under that name is not for this snapshot: the plan has the reason. */
static bool is_content_right(const struct snapshot *s, const struct snapshot_content *c,
                             struct snapshot_plan *p)
{
    bool is_given = s->content_name[0] != '\0';

    if (is_given && !c->source_snapshot_handle[0])
        PLAN_FAIL(p, "SnapshotContentMismatch", /* is_unready= */ true,
                  "VolumeSnapshotContent is dynamically provisioned while expecting a pre-provisioned one");
    else if (!is_given && !c->volume_handle[0])
        PLAN_FAIL(p, "SnapshotContentMismatch", /* is_unready= */ true,
                  "VolumeSnapshotContent %s is pre-provisioned while expecting a dynamically provisioned one",
                  c->obj.name);
    else if (strcmp(c->snapshot_ns, s->obj.ns) != 0 || strcmp(c->snapshot_name, s->obj.name) != 0 ||
             ((!is_given || c->snapshot_uid[0]) && strcmp(c->snapshot_uid, s->obj.uid) != 0))
        PLAN_FAIL(p, "SnapshotContentMisbound", /* is_unready= */ true,
                  "VolumeSnapshotContent [%s] is bound to a different snapshot", c->obj.name);
    else
        return true;
    return false;
}

static bool has_same_error(const struct snapshot *s, const struct snapshot_content *c)
{
    return s->has_error == c->has_error &&
           (!s->has_error || (strcmp(s->error_message, c->error_message) == 0 &&
                              timestamp_cmp(s->error_time, c->error_time) == 0));
}

static bool is_status_copied(const struct snapshot *s, const struct snapshot_content *c)
{
    const struct owner *group = snapshot_group(s);

    return (!group || strcmp(s->group_name, group->name) == 0) && s->bound_content_name[0] && s->has_ready &&
           s->is_ready == c->is_ready && (!timestamp_is_zero(s->taken) || c->taken_ns == 0) &&
           (!c->has_restore_bytes ||
            (s->has_restore_size && (!quantity_is_zero(&s->restore_size) || c->restore_bytes == 0))) &&
           has_same_error(s, c);
}

/* --- Creation --- */

#define FAILED_TO_CREATE "Failed to create snapshot content with error "
#define FAILED_TO_UPDATE FAILED_TO_CREATE "snapshot controller failed to update %s on API server: "

void snapshot_plan_bad_input(const struct snapshot *s, struct snapshot_plan *p)
{
    char quoted[QUOTED_BYTES];

    PLAN_FAIL(p, "SnapshotContentCreationFailed", /* is_unready= */ true,
              FAILED_TO_CREATE "failed to get input parameters to create snapshot %s: %s", s->obj.name,
              quote_text(quoted, sizeof quoted, str_of(p->failure.msg)));
}

/* The class was found. */
static void plan_new_content(const struct snapshot_caches *w, const struct snapshot *s,
                             struct snapshot_plan *p)
{
    const struct object *o = informer_get(w->claims, s->obj.ns, s->claim_name);

    if (!o) {
        PLAN_FAIL(p, "SnapshotContentCreationFailed", /* is_unready= */ true,
                  FAILED_TO_UPDATE "cannot get claim from snapshot", s->obj.name);
        return;
    }
    if (o->is_deleting) {
        PLAN_FAIL(p, "SnapshotContentCreationFailed", /* is_unready= */ true,
                  FAILED_TO_UPDATE "cannot add finalizer on claim because it is being deleted", o->name);
        return;
    }
    p->claim = claim_of(o);
    if (!object_has_finalizer(o, FINALIZER_SNAPSHOT_CLAIM)) {
        p->step = SNAPSHOT_PROTECT_CLAIM;
        return;
    }
    p->volume = snapshot_find_volume(w, p->claim, TAKEN, &p->failure);
    if (!p->volume)
        snapshot_plan_bad_input(s, p);
    else if (p->volume->source.kind != SOURCE_CSI)
        PLAN_FAIL(p, "SnapshotContentCreationFailed", /* is_unready= */ true,
                  FAILED_TO_CREATE "cannot find CSI PersistentVolumeSource for volume %s",
                  p->volume->obj.name);
    else if (strcmp(p->volume->source.csi->driver, p->class->driver) != 0)
        PLAN_FAIL(p, "SnapshotContentCreationFailed", /* is_unready= */ true,
                  FAILED_TO_CREATE "snapshot class %s is for driver %s, and volume %s is of driver %s",
                  p->class->obj.name, p->class->driver, p->volume->obj.name, p->volume->source.csi->driver);
    else
        p->step = SNAPSHOT_CREATE_CONTENT;
}

/* --- Live snapshots --- */

static void plan_missing_content(struct snapshot_plan *p)
{
    PLAN_FAIL(p, "SnapshotContentMissing", /* is_unready= */ true, "VolumeSnapshotContent is missing");
}

static void plan_bound(const struct snapshot_caches *w, const struct snapshot *s, struct snapshot_plan *p)
{
    const struct object *o = informer_get(w->contents, "", s->bound_content_name);

    if (!o)
        plan_missing_content(p);
    else if (!snapshot_is_of_content(s, snapshot_content_of(o)))
        PLAN_FAIL(p, "SnapshotMisbound", /* is_unready= */ true,
                  "VolumeSnapshotContent is not bound to the VolumeSnapshot correctly");
}

static void plan_unready(const struct snapshot_caches *w, const struct snapshot *s, struct snapshot_plan *p)
{
    const struct snapshot_content *c = p->content ? snapshot_content_of(p->content) : NULL;

    if (!c && snapshot_group(s) && !s->bound_content_name[0])
        p->step = SNAPSHOT_REST; /* the group creates it */
    else if (!c && !s->content_name[0] && !s->bound_content_name[0])
        plan_new_content(w, s, p);
    else if (!c)
        plan_missing_content(p);
    else if (!c->snapshot_uid[0] || (s->class_name[0] && !c->class_name[0]))
        p->step = SNAPSHOT_BIND_CONTENT;
    else if (!is_status_copied(s, c))
        p->step = SNAPSHOT_COPY_STATUS;
}

static void plan_live(const struct snapshot_caches *w, const struct snapshot *s, struct snapshot_plan *p)
{
    bool is_bound = s->bound_content_name[0] != '\0';

    if (!s->is_ready && !is_class_settled(w, s, p))
        return;
    name_content(s, p->content_name);
    p->content = informer_get(w->contents, "", p->content_name);
    if (!object_has_finalizer(&s->obj, FINALIZER_SNAPSHOT_SOURCE)) {
        p->step = SNAPSHOT_ADD_FINALIZER;
        p->finalizer = FINALIZER_SNAPSHOT_SOURCE;
    } else if (p->content && !is_content_right(s, snapshot_content_of(p->content), p)) {
        return;
    } else if (is_bound && p->content && snapshot_content_of(p->content)->deletes &&
               !object_has_finalizer(&s->obj, FINALIZER_SNAPSHOT_BOUND)) {
        p->step = SNAPSHOT_ADD_FINALIZER;
        p->finalizer = FINALIZER_SNAPSHOT_BOUND;
    } else if (s->is_ready && is_bound) {
        plan_bound(w, s, p);
    } else {
        plan_unready(w, s, p);
    }
}

/* --- Deleted snapshots --- */

static void plan_release(const struct snapshot *s, bool keeps_bound, struct snapshot_plan *p)
{
    static const char *const all[] = { FINALIZER_SNAPSHOT_SOURCE, FINALIZER_SNAPSHOT_IN_GROUP,
                                       FINALIZER_SNAPSHOT_BOUND };
    size_t count = 0;

    for (size_t i = 0; i < ARRAY_LEN(all) - keeps_bound; i++)
        if (object_has_finalizer(&s->obj, all[i]))
            p->released[count++] = all[i];
    if (count > 0)
        p->step = SNAPSHOT_RELEASE;
}

/* A member of a group is deleted with the group. */
static bool is_kept_by_group(const struct snapshot_caches *w, const struct snapshot *s,
                             struct snapshot_plan *p)
{
    const struct owner *owner = snapshot_group(s);
    const struct object *group = owner ? informer_get(w->groups, s->obj.ns, owner->name) : NULL;

    if (!group || strcmp(group->uid, owner->uid) != 0 || group->is_deleting)
        return false;
    p->step = SNAPSHOT_WAIT;
    p->reason = "SnapshotDeletePending";
    (void)error_set(
        &p->failure, ERR_BUSY,
        "deletion of the individual volume snapshot %s is not allowed as it belongs to group "
        "snapshot %s. Deleting the group snapshot will trigger the deletion of all the individual "
        "volume snapshots that are part of the group.",
        s->obj.name, group->name);
    return true;
}

static void plan_content_deletion(const struct snapshot_caches *w, const struct snapshot *s,
                                  struct snapshot_plan *p)
{
    const struct snapshot_content *c = snapshot_content_of(p->content);

    if (snapshot_is_restored(w, s)) {
        p->step = SNAPSHOT_WAIT;
        p->reason = "SnapshotDeletePending";
        (void)error_set(&p->failure, ERR_BUSY, "Snapshot is being used to restore a PVC");
    } else if (!object_annotation(p->content, ANN_SNAPSHOT_BEING_DELETED)) {
        p->step = SNAPSHOT_MARK_CONTENT;
    } else if (c->deletes && !p->content->is_deleting) {
        p->step = SNAPSHOT_DELETE_CONTENT;
    } else {
        plan_release(s, /* keeps_bound= */ c->deletes, p);
    }
}

static void plan_deleted(const struct snapshot_caches *w, const struct snapshot *s, struct snapshot_plan *p)
{
    if (!has_own_finalizer(&s->obj) || is_kept_by_group(w, s, p))
        return;
    if (s->bound_content_name[0])
        (void)snprintf(p->content_name, sizeof p->content_name, "%s", s->bound_content_name);
    else
        name_content(s, p->content_name);
    p->content = informer_get(w->contents, "", p->content_name);
    if (p->content && !snapshot_is_of_content(s, snapshot_content_of(p->content)))
        p->content = NULL;
    if (p->content) {
        plan_content_deletion(w, s, p);
        return;
    }
    plan_release(s, /* keeps_bound= */ false, p);
    if (name_is_valid(NAME_DNS_SUBDOMAIN, str_of(p->content_name)))
        p->step = SNAPSHOT_CONFIRM_RELEASE; /* a missing cache entry proves nothing */
}

void snapshot_plan_step(const struct snapshot_caches *w, const struct snapshot *s, struct snapshot_plan *ret)
{
    ret->step = SNAPSHOT_REST;
    ret->finalizer = ret->reason = NULL;
    memset(ret->released, 0, sizeof ret->released);
    ret->content = NULL;
    ret->claim = NULL;
    ret->volume = NULL;
    ret->class = NULL;
    ret->content_name[0] = '\0';
    ret->is_unready = false;
    error_init(&ret->failure, ERR_NONE);
    if (s->obj.is_deleting)
        plan_deleted(w, s, ret);
    else
        plan_live(w, s, ret);
}
