/* The order of steps for a group snapshot:
 *
 *   live      class → finalizer → content → members → status
 *   deleted   wait for restores → mark content → delete content (policy Delete) → delete members → finalizer
 *
 * The finalizer precedes the content, so that no content is left behind by a group snapshot that is deleted
 * early. Costs: a walk over the claims of the namespace before the content exists, and over the volumes for
 * each new member. */
#include "controllers/snapshot/group_plan.h"

#include <stdio.h>
#include <string.h>

#include "api/names.h"
#include "api/quote.h"
#include "base/cleanup.h"
#include "io/digest.h"

#define QUOTED_BYTES 1024
#define SELECTOR_BYTES_MAX 512
#define TAKEN "a group snapshot"

#define GROUP_PLAN_FAIL(p, why, unready, ...)                     \
    do {                                                          \
        (void)error_set(&(p)->failure, ERR_INVALID, __VA_ARGS__); \
        (p)->step = GROUP_FAIL;                                   \
        (p)->reason = (why);                                      \
        (p)->is_unready = (unready);                              \
    } while (0)

bool group_is_of_content(const struct group_snapshot *g, const struct group_snapshot_content *c)
{
    return strcmp(c->group_ns, g->obj.ns) == 0 && strcmp(c->group_name, g->obj.name) == 0 &&
           strcmp(c->group_uid, g->obj.uid) == 0;
}

/* --- The volumes of the source --- */

static int add_volume(const struct snapshot_caches *w, const struct claim *c, struct group_plan *p)
{
    const struct volume *v = snapshot_find_volume(w, c, TAKEN, &p->failure);

    if (!v)
        return -ERR_INVALID;
    if (p->volumes_count == GROUP_VOLUMES_MAX)
        return error_set(&p->failure, ERR_TOO_LARGE, "a group has at most %d volumes", GROUP_VOLUMES_MAX);
    p->volumes[p->volumes_count++] = v;
    return 0;
}

/* The volumes of the claims that the selector matches; p->failure has the reason of a failure. */
static int find_volumes(const struct snapshot_caches *w, const struct group_snapshot *g, struct group_plan *p)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(SELECTOR_BYTES_MAX);
    char prefix[CONTENT_NAME_BYTES];
    struct informer_cursor at;
    int r = 0;

    p->volumes_count = 0;
    if (g->selector->error)
        return error_set(&p->failure, ERR_INVALID, "%s", g->selector->error);
    (void)snprintf(prefix, sizeof prefix, "%s/", g->obj.ns);
    for (const struct object *o = informer_first_after(w->claims, str_of(prefix), &at);
         o && strcmp(o->ns, g->obj.ns) == 0 && r == 0; o = informer_next(&at))
        if (label_selector_matches(g->selector, o->labels.items, o->labels.count))
            r = add_volume(w, claim_of(o), p);
    if (r == 0 && p->volumes_count == 0) {
        for (size_t i = 0; i < g->selector->count; i++) {
            buf_add_cstr(&text, i ? "," : "");
            requirement_words(&g->selector->items[i], &text);
        }
        r = error_set(&p->failure, ERR_NOT_FOUND,
                      "label selector %s for group snapshot not applied to any PVC",
                      text.failed ? "" : buf_cstr(&text));
    }
    return r;
}

/* --- Class --- */

static const struct group_snapshot_class *find_default(const struct snapshot_caches *w, const char *driver,
                                                       struct error *err)
{
    const struct group_snapshot_class *found = NULL;
    struct informer_cursor at;
    unsigned count = 0;

    for (const struct object *o = informer_first(w->group_classes, &at); o; o = informer_next(&at)) {
        const struct group_snapshot_class *class = group_snapshot_class_of(o);

        if (class->is_default && strcmp(class->driver, driver) == 0) {
            found = class;
            count++;
        }
    }
    if (count == 1)
        return found;
    if (count == 0)
        (void)error_set(err, ERR_NOT_FOUND, "cannot find default group snapshot class");
    else
        (void)error_set(err, ERR_INVALID, "%u default snapshot classes were found", count);
    return NULL;
}

static void plan_default_class(const struct snapshot_caches *w, const struct group_snapshot *g,
                               struct group_plan *p)
{
    if (find_volumes(w, g, p) == 0) {
        if (p->volumes[0]->source.kind != SOURCE_CSI)
            (void)error_set(&p->failure, ERR_INVALID,
                            "snapshotting non-CSI volumes is not supported, group snapshot:%s/%s", g->obj.ns,
                            g->obj.name);
        else
            p->class = find_default(w, p->volumes[0]->source.csi->driver, &p->failure);
    }
    p->step = GROUP_SET_CLASS;
    if (!p->class)
        GROUP_PLAN_FAIL(p, "SetDefaultGroupSnapshotClassFailed", /* unready= */ false,
                        "Failed to set default group snapshot class with error %s", p->failure.msg);
}

/* False if there is a step for the class. */
static bool is_class_settled(const struct snapshot_caches *w, const struct group_snapshot *g,
                             struct group_plan *p)
{
    const struct object *o;

    if (!g->class_name[0] && !g->selector)
        return true; /* an existing group snapshot needs no class */
    if (!g->class_name[0]) {
        plan_default_class(w, g, p);
        return false;
    }
    o = informer_get(w->group_classes, "", g->class_name);
    if (!o) {
        GROUP_PLAN_FAIL(p, "GetGroupSnapshotClassFailed", /* unready= */ false,
                        "failed to get group snapshot class with error "
                        "volumegroupsnapshotclass.groupsnapshot.storage.k8s.io \"%s\" not found",
                        g->class_name);
        return false;
    }
    p->class = group_snapshot_class_of(o);
    return true;
}

/* --- Content --- */

static bool is_content_right(const struct group_snapshot *g, const struct group_snapshot_content *c,
                             struct group_plan *p)
{
    bool is_given = g->selector == NULL;

    if (is_given && !c->has_handles)
        GROUP_PLAN_FAIL(
            p, "GroupSnapshotContentMismatch", /* unready= */ true,
            "VolumeGroupSnapshotContent is dynamically provisioned while expecting a pre-provisioned one");
    else if (!is_given && c->has_handles)
        GROUP_PLAN_FAIL(p, "GroupSnapshotContentMismatch", /* unready= */ true,
                        "VolumeGroupSnapshotContent %s is pre-provisioned while expecting a dynamically "
                        "provisioned one",
                        c->obj.name);
    else if (strcmp(c->group_ns, g->obj.ns) != 0 || strcmp(c->group_name, g->obj.name) != 0 ||
             ((!is_given || c->group_uid[0]) && strcmp(c->group_uid, g->obj.uid) != 0))
        GROUP_PLAN_FAIL(p, "GroupSnapshotContentMisbound", /* unready= */ true,
                        "VolumeGroupSnapshotContent [%s] is bound to a different group snapshot",
                        c->obj.name);
    else
        return true;
    return false;
}

#define FAILED_TO_CREATE "failed to create group snapshot content with error "

void group_plan_bad_input(const struct group_snapshot *g, struct group_plan *p)
{
    char quoted[QUOTED_BYTES];

    GROUP_PLAN_FAIL(p, "GroupSnapshotContentCreationFailed", /* unready= */ true,
                    FAILED_TO_CREATE "failed to get input parameters to create group snapshot %s: %s",
                    g->obj.name, quote_text(quoted, sizeof quoted, str_of(p->failure.msg)));
}

/* The class was found. All volumes must be of its driver. */
static void plan_new_content(const struct snapshot_caches *w, const struct group_snapshot *g,
                             struct group_plan *p)
{
    if (find_volumes(w, g, p) < 0) {
        group_plan_bad_input(g, p);
        return;
    }
    p->step = GROUP_CREATE_CONTENT;
    for (size_t i = 0; i < p->volumes_count && p->step != GROUP_FAIL; i++) {
        const struct volume *v = p->volumes[i];

        if (v->source.kind != SOURCE_CSI)
            GROUP_PLAN_FAIL(p, "GroupSnapshotContentCreationFailed", /* unready= */ true,
                            FAILED_TO_CREATE "cannot snapshot a non-CSI volume for group snapshot %s/%s: %s",
                            g->obj.ns, g->obj.name, v->obj.name);
        else if (strcmp(v->source.csi->driver, p->class->driver) != 0)
            GROUP_PLAN_FAIL(
                p, "GroupSnapshotContentCreationFailed", /* unready= */ true,
                FAILED_TO_CREATE
                "snapshot controller failed to update %s/%s on API server: Volume CSI driver (%s) "
                "mismatch with VolumeGroupSnapshotClass (%s) %s/%s: %s",
                g->obj.ns, g->obj.name, v->source.csi->driver, p->class->driver, g->obj.ns, g->obj.name,
                v->obj.name);
    }
}

/* --- Members --- */

/* The end of the names of a member's snapshot and content. */
static bool name_member(const struct group_snapshot *g, const char *volume_handle, char ret[SHA256_HEX_BYTES])
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT((size_t)64 << 10);
    struct error err;

    buf_addf(&text, "%s%s", g->obj.uid, volume_handle);
    return !text.failed && sha256_hex(buf_str(&text), ret, &err) == 0;
}

static const struct volume *find_by_handle(const struct snapshot_caches *w, const char *driver,
                                           const char *handle)
{
    struct informer_cursor at;

    for (const struct object *o = informer_first(w->volumes, &at); o; o = informer_next(&at)) {
        const struct volume *v = volume_of(o);

        if (v->source.kind == SOURCE_CSI && strcmp(v->source.csi->handle, handle) == 0 &&
            strcmp(v->source.csi->driver, driver) == 0)
            return v;
    }
    return NULL;
}

/* True if there is a step for the member. */
static bool plan_member(const struct snapshot_caches *w, const struct group_snapshot *g,
                        const struct group_snapshot_content *c, const struct group_member *member,
                        struct group_plan *p)
{
    char end[SHA256_HEX_BYTES];
    const struct object *content;

    if (!name_member(g, member->volume_handle, end))
        return false;
    p->member = member;
    (void)snprintf(p->member_name, sizeof p->member_name, MEMBER_NAME_PREFIX "%s", end);
    p->object = informer_get(w->snapshots, g->obj.ns, p->member_name);
    if (p->object && p->object->is_deleting)
        return false;
    p->volume = p->object ? NULL : find_by_handle(w, c->driver, member->volume_handle);
    p->step = GROUP_CREATE_MEMBER;
    if (!p->object)
        return true;
    (void)snprintf(p->member_name, sizeof p->member_name, CONTENT_NAME_PREFIX "%s", end);
    content = informer_get(w->contents, "", p->member_name);
    p->step = GROUP_CREATE_MEMBER_CONTENT;
    if (!content) {
        p->volume = find_by_handle(w, c->driver, member->volume_handle);
        return true;
    }
    p->step = GROUP_REPORT_MEMBER;
    p->object = content;
    return !snapshot_content_of(content)->snapshot_handle[0] && !content->is_deleting;
}

/* --- Live group snapshots --- */

static bool is_status_copied(const struct group_snapshot *g, const struct group_snapshot_content *c)
{
    return g->bound_content_name[0] && g->has_ready && g->is_ready == c->is_ready &&
           (!timestamp_is_zero(g->taken) || timestamp_is_zero(c->taken)) && g->has_error == c->has_error &&
           (!g->has_error || (strcmp(g->error_message, c->error_message) == 0 &&
                              timestamp_cmp(g->error_time, c->error_time) == 0));
}

/* The driver has created the group snapshot of the selected claims. */
static bool plan_members(const struct snapshot_caches *w, const struct group_snapshot *g,
                         const struct group_snapshot_content *c, struct group_plan *p)
{
    for (uint32_t i = 0; g->selector && c->handle[0] && i < c->members_count; i++)
        if (plan_member(w, g, c, &c->members[i], p))
            return true;
    p->step = GROUP_REST;
    return false;
}

static void plan_unready(const struct snapshot_caches *w, const struct group_snapshot *g,
                         struct group_plan *p)
{
    const struct group_snapshot_content *c = p->content ? group_snapshot_content_of(p->content) : NULL;

    if (!c && g->selector && !g->bound_content_name[0])
        plan_new_content(w, g, p);
    else if (!c)
        GROUP_PLAN_FAIL(p, "GroupSnapshotContentMissing", /* unready= */ true,
                        "VolumeGroupSnapshotContent is missing");
    else if (!c->group_uid[0] || (g->class_name[0] && !c->class_name[0]))
        p->step = GROUP_BIND_CONTENT;
    else if (!plan_members(w, g, c, p) && !is_status_copied(g, c))
        p->step = GROUP_COPY_STATUS;
}

static void plan_bound(const struct snapshot_caches *w, const struct group_snapshot *g, struct group_plan *p)
{
    const struct object *o = informer_get(w->group_contents, "", g->bound_content_name);

    if (!o)
        GROUP_PLAN_FAIL(p, "GroupSnapshotContentMissing", /* unready= */ true,
                        "VolumeGroupSnapshotContent is missing");
    else if (!group_is_of_content(g, group_snapshot_content_of(o)))
        GROUP_PLAN_FAIL(p, "GroupSnapshotMisbound", /* unready= */ true,
                        "VolumeGroupSnapshotContent is not bound to the VolumeGroupSnapshot correctly");
}

static void name_content(const struct group_snapshot *g, struct group_plan *p)
{
    if (g->selector)
        (void)snprintf(p->content_name, sizeof p->content_name, GROUP_CONTENT_NAME_PREFIX "%s", g->obj.uid);
    else
        (void)snprintf(p->content_name, sizeof p->content_name, "%s", g->content_name);
}

static void plan_live(const struct snapshot_caches *w, const struct group_snapshot *g, struct group_plan *p)
{
    if (!g->is_ready && !is_class_settled(w, g, p))
        return;
    name_content(g, p);
    p->content = informer_get(w->group_contents, "", p->content_name);
    if (p->content && !is_content_right(g, group_snapshot_content_of(p->content), p))
        return;
    if (!object_has_finalizer(&g->obj, FINALIZER_GROUP_SNAPSHOT) && (p->content || g->selector))
        p->step = GROUP_ADD_FINALIZER;
    else if (g->is_ready && g->bound_content_name[0])
        plan_bound(w, g, p);
    else
        plan_unready(w, g, p);
}

/* --- Deleted group snapshots --- */

/* True if a claim is restored from a member: the plan waits for it. */
static bool is_member_restored(const struct snapshot_caches *w, const struct group_snapshot *g,
                               struct group_plan *p)
{
    struct informer_cursor at;

    for (const struct object *o =
             informer_first_by(w->snapshots, SNAPSHOTS_BY_GROUP, str_of(g->obj.uid), &at);
         o; o = informer_next(&at)) {
        if (!snapshot_is_restored(w, snapshot_of(o)))
            continue;
        p->step = GROUP_WAIT;
        p->reason = "SnapshotDeletePending";
        (void)error_set(
            &p->failure, ERR_BUSY,
            "Snapshot %s/%s belonging to VolumeGroupSnapshot %s/%s is being used to restore a PVC", o->ns,
            o->name, g->obj.ns, g->obj.name);
        return true;
    }
    return false;
}

static const struct object *find_live_member(const struct snapshot_caches *w, const struct group_snapshot *g)
{
    struct informer_cursor at;

    for (const struct object *o =
             informer_first_by(w->snapshots, SNAPSHOTS_BY_GROUP, str_of(g->obj.uid), &at);
         o; o = informer_next(&at))
        if (!o->is_deleting)
            return o;
    return NULL;
}

static void plan_deleted(const struct snapshot_caches *w, const struct group_snapshot *g,
                         struct group_plan *p)
{
    const struct group_snapshot_content *c;

    if (!object_has_finalizer(&g->obj, FINALIZER_GROUP_SNAPSHOT))
        return;
    name_content(g, p);
    p->content = informer_get(w->group_contents, "", p->content_name);
    if (p->content && !group_is_of_content(g, group_snapshot_content_of(p->content)))
        p->content = NULL;
    c = p->content ? group_snapshot_content_of(p->content) : NULL;
    if (is_member_restored(w, g, p))
        return;
    p->object = find_live_member(w, g);
    if (c && !object_annotation(p->content, ANN_GROUP_SNAPSHOT_BEING_DELETED))
        p->step = GROUP_MARK_CONTENT;
    else if (c && c->deletes && !p->content->is_deleting)
        p->step = GROUP_DELETE_CONTENT;
    else if (p->object)
        p->step = GROUP_DELETE_MEMBER;
    else if (c && c->deletes)
        p->step = GROUP_REST; /* until the content is gone */
    else if (c || !name_is_valid(NAME_DNS_SUBDOMAIN, str_of(p->content_name)))
        p->step = GROUP_RELEASE;
    else
        p->step = GROUP_CONFIRM_RELEASE;
}

void group_plan_step(const struct snapshot_caches *w, const struct group_snapshot *g, struct group_plan *ret)
{
    ret->step = GROUP_REST;
    ret->content = ret->object = NULL;
    ret->member = NULL;
    ret->volume = NULL;
    ret->class = NULL;
    ret->volumes_count = 0;
    ret->content_name[0] = ret->member_name[0] = '\0';
    ret->reason = NULL;
    ret->is_unready = false;
    error_init(&ret->failure, ERR_NONE);
    if (g->obj.is_deleting)
        plan_deleted(w, g, ret);
    else
        plan_live(w, g, ret);
}
