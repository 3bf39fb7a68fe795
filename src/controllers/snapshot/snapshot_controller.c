/* Event handlers and lifecycle of the snapshot controller. A change of a content, class, claim or volume
 * requeues the snapshots that may wait for it, so that no retry has to wait for its delay. */
#include "controllers/snapshot/snapshot_controller.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/group_snapshot.h"
#include "controllers/snapshot/snapshot_int.h"

#define COMPONENT "snapshot-controller"
#define MANAGER "berth-snapshot-controller"
#define RETRY_NS (1 * NS_PER_S)
#define RETRY_NS_MAX (300 * NS_PER_S)
#define KEY_BYTES 512

/* --- Requeuing --- */

/* "namespace/name"; "" if it is longer than the server allows. */
static struct str make_key(char buf[KEY_BYTES], const char *ns, const char *name)
{
    int len = snprintf(buf, KEY_BYTES, "%s/%s", ns, name);

    return (struct str){ buf, len > 0 && len < KEY_BYTES ? (size_t)len : 0 };
}

static void add_named(struct controller *c, const char *ns, const char *name)
{
    char buf[KEY_BYTES];
    struct str key = make_key(buf, ns, name);

    if (ns[0] && name[0] && key.len)
        controller_add(c, key);
}

/* The snapshots of a claim that are not ready. */
static void add_snapshots_of(struct snapshot_controller *c, const char *ns, const char *claim)
{
    char buf[KEY_BYTES];
    struct informer_cursor at;

    for (const struct object *o =
             informer_first_by(c->caches.snapshots, SNAPSHOTS_BY_CLAIM, make_key(buf, ns, claim), &at);
         o; o = informer_next(&at))
        if (!snapshot_of(o)->is_ready)
            component_add(c->snapshots, o);
}

static void add_unready_groups(struct snapshot_controller *c)
{
    struct informer_cursor at;

    for (const struct object *o = informer_first(c->caches.groups, &at); o; o = informer_next(&at))
        if (!group_snapshot_of(o)->is_ready)
            component_add(c->groups, o);
}

/* --- Event handlers --- */

static void on_snapshot_gone(void *ctx, const struct object *o)
{
    struct snapshot_controller *c = ctx;
    const struct owner *group = snapshot_group(snapshot_of(o));

    if (group)
        add_named(c->groups, o->ns, group->name);
    add_named(c->claims, o->ns, snapshot_of(o)->claim_name);
}

static void on_snapshot(void *ctx, const struct object *o)
{
    struct snapshot_controller *c = ctx;

    component_add(c->snapshots, o);
    on_snapshot_gone(c, o);
}

static void on_content_gone(void *ctx, const struct object *o)
{
    struct snapshot_controller *c = ctx;
    const struct snapshot_content *content = snapshot_content_of(o);

    add_named(c->snapshots, content->snapshot_ns, content->snapshot_name);
}

static void on_content(void *ctx, const struct object *o)
{
    struct snapshot_controller *c = ctx;

    if (snapshot_content_needs_guard(snapshot_content_of(o)))
        component_add(c->contents, o);
    on_content_gone(c, o);
}

/* Classes change rarely: all snapshots that may wait for one are requeued. */
static void on_class(void *ctx, const struct object *class)
{
    struct snapshot_controller *c = ctx;
    struct informer_cursor at;

    (void)class;
    for (const struct object *o = informer_first(c->caches.snapshots, &at); o; o = informer_next(&at))
        if (!snapshot_of(o)->is_ready && !o->is_deleting)
            component_add(c->snapshots, o);
}

static void add_restored(void *ctx, struct str key)
{
    struct snapshot_controller *c = ctx;
    const struct object *o = informer_get_key(c->caches.snapshots, key);

    if (o && o->is_deleting)
        controller_add(c->snapshots, key);
}

/* A deleted snapshot may wait for the claim that is restored from it. */
static void on_claim_gone(void *ctx, const struct object *o)
{
    claims_by_snapshot.values(o, add_restored, ctx);
}

static void on_claim(void *ctx, const struct object *o)
{
    struct snapshot_controller *c = ctx;

    if (object_has_finalizer(o, FINALIZER_SNAPSHOT_CLAIM))
        component_add(c->claims, o);
    add_snapshots_of(c, o->ns, o->name);
    if (informer_count(c->caches.groups) > 0)
        add_unready_groups(c);
    on_claim_gone(c, o);
}

static void on_volume(void *ctx, const struct object *o)
{
    const struct claim_ref *claim = &volume_of(o)->claim;

    if (claim->is_set)
        add_snapshots_of(ctx, claim->ns, claim->name);
}

/* --- Event handlers of groups --- */

static void add_member(struct snapshot_controller *c, const struct object *group)
{
    struct informer_cursor at;

    for (const struct object *o =
             informer_first_by(c->caches.snapshots, SNAPSHOTS_BY_GROUP, str_of(group->uid), &at);
         o; o = informer_next(&at))
        if (o->is_deleting)
            component_add(c->snapshots, o);
}

/* Members that are deleted wait for the deletion of their group. */
static void on_group(void *ctx, const struct object *o)
{
    struct snapshot_controller *c = ctx;

    component_add(c->groups, o);
    if (o->is_deleting)
        add_member(c, o);
}

static void on_group_gone(void *ctx, const struct object *o)
{
    add_member(ctx, o);
}

static void on_group_content_gone(void *ctx, const struct object *o)
{
    struct snapshot_controller *c = ctx;
    const struct group_snapshot_content *content = group_snapshot_content_of(o);

    add_named(c->groups, content->group_ns, content->group_name);
}

static void on_group_content(void *ctx, const struct object *o)
{
    struct snapshot_controller *c = ctx;

    component_add(c->group_contents, o);
    on_group_content_gone(c, o);
}

static void on_group_class(void *ctx, const struct object *o)
{
    (void)o;
    add_unready_groups(ctx);
}

/* --- Lifecycle --- */

int snapshot_caches_open(struct informers *all, struct snapshot_caches *ret, struct error *err)
{
    const struct {
        enum kind kind;
        struct informer **place;
        const struct informer_index *index, *other_index; /* NULL: none */
    } rows[] = {
        { KIND_SNAPSHOT, &ret->snapshots, &snapshots_by_claim, &snapshots_by_group },
        { KIND_SNAPSHOT_CONTENT, &ret->contents, NULL, NULL },
        { KIND_SNAPSHOT_CLASS, &ret->classes, NULL, NULL },
        { KIND_CLAIM, &ret->claims, &claims_by_snapshot, NULL },
        { KIND_VOLUME, &ret->volumes, NULL, NULL },
        { KIND_GROUP_SNAPSHOT, &ret->groups, NULL, NULL },
        { KIND_GROUP_SNAPSHOT_CONTENT, &ret->group_contents, NULL, NULL },
        { KIND_GROUP_SNAPSHOT_CLASS, &ret->group_classes, NULL, NULL },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct informer *found = rows[i].index ? component_indexed(all, rows[i].kind, rows[i].index, err)
                                               : informers_get(all, rows[i].kind, err);

        if (found && rows[i].other_index)
            found = component_indexed(all, rows[i].kind, rows[i].other_index, err);
        if (!found)
            return -(int)err->code;
        *rows[i].place = found;
    }
    return 0;
}

static int open_queue(const struct component_deps *o, struct snapshot_controller *c, const char *name,
                      enum sync_result (*sync)(void *ctx, struct str key), struct controller **ret,
                      struct error *err)
{
    struct controller_options options = { .queue = { .loop = o->loop,
                                                     .name = name,
                                                     .metrics = o->metrics,
                                                     .seed = component_seed(o, name),
                                                     .base_ns = RETRY_NS,
                                                     .max_ns = RETRY_NS_MAX },
                                          .sync = sync,
                                          .ctx = c,
                                          .comes_again = true /* a sync is one step */ };
    int r = component_api(o, MANAGER, &options.api, err);

    return r < 0 ? r : controller_new(&options, ret, err);
}

static int open_parts(const struct component_deps *o, struct snapshot_controller *c, struct error *err)
{
    int r = snapshot_caches_open(o->informers, &c->caches, err);

    if (r == 0)
        r = component_recorder(o, COMPONENT, &c->recorder, err);
    if (r == 0)
        r = open_queue(o, c, "snapshot-controller-snapshot", snapshot_sync, &c->snapshots, err);
    if (r == 0)
        r = open_queue(o, c, "snapshot-controller-content", snapshot_sync_content, &c->contents, err);
    if (r == 0)
        r = open_queue(o, c, "snapshot-controller-claim", snapshot_sync_claim, &c->claims, err);
    if (r == 0)
        r = open_queue(o, c, "snapshot-controller-group-snapshot", snapshot_sync_group, &c->groups, err);
    if (r == 0)
        r = open_queue(o, c, "snapshot-controller-group-content", snapshot_sync_group_content,
                       &c->group_contents, err);
    return r;
}

int snapshot_controller_new(const struct component_deps *o, struct snapshot_controller **ret,
                            struct error *err)
{
    struct snapshot_controller *c = calloc(1, sizeof *c);
    int r;

    if (!c)
        return error_no_memory(err);
    c->clock = o->clock;
    r = open_parts(o, c, err);
    if (r < 0)
        c = snapshot_controller_free(c);
    *ret = c;
    return r;
}

void snapshot_controller_start(struct snapshot_controller *c)
{
    assert(!c->snapshots_handler.informer); /* once */
    c->snapshots_handler =
        (struct informer_handler){ .on_upsert = on_snapshot, .on_removed = on_snapshot_gone, .ctx = c };
    c->contents_handler =
        (struct informer_handler){ .on_upsert = on_content, .on_removed = on_content_gone, .ctx = c };
    c->classes_handler = (struct informer_handler){ .on_upsert = on_class, .on_removed = on_class, .ctx = c };
    c->claims_handler =
        (struct informer_handler){ .on_upsert = on_claim, .on_removed = on_claim_gone, .ctx = c };
    c->volumes_handler = (struct informer_handler){ .on_upsert = on_volume, .ctx = c };
    c->groups_handler =
        (struct informer_handler){ .on_upsert = on_group, .on_removed = on_group_gone, .ctx = c };
    c->group_contents_handler = (struct informer_handler){ .on_upsert = on_group_content,
                                                           .on_removed = on_group_content_gone,
                                                           .ctx = c };
    c->group_classes_handler =
        (struct informer_handler){ .on_upsert = on_group_class, .on_removed = on_group_class, .ctx = c };
    informer_add_handler(c->caches.contents, &c->contents_handler);
    informer_add_handler(c->caches.classes, &c->classes_handler);
    informer_add_handler(c->caches.claims, &c->claims_handler);
    informer_add_handler(c->caches.volumes, &c->volumes_handler);
    informer_add_handler(c->caches.snapshots, &c->snapshots_handler);
    informer_add_handler(c->caches.group_classes, &c->group_classes_handler);
    informer_add_handler(c->caches.group_contents, &c->group_contents_handler);
    informer_add_handler(c->caches.groups, &c->groups_handler);
}

const char *snapshot_controller_check(const struct snapshot_controller *c)
{
    const struct controller *const all[] = { c->snapshots, c->contents, c->claims, c->groups,
                                             c->group_contents };
    const char *wrong = NULL;

    for (size_t i = 0; i < ARRAY_LEN(all) && !wrong; i++)
        wrong = controller_check(all[i]);
    return wrong;
}

struct snapshot_controller *snapshot_controller_free(struct snapshot_controller *c)
{
    if (!c)
        return NULL;
    informer_remove_handler(&c->snapshots_handler);
    informer_remove_handler(&c->contents_handler);
    informer_remove_handler(&c->classes_handler);
    informer_remove_handler(&c->claims_handler);
    informer_remove_handler(&c->volumes_handler);
    informer_remove_handler(&c->groups_handler);
    informer_remove_handler(&c->group_contents_handler);
    informer_remove_handler(&c->group_classes_handler);
    controller_free(c->group_contents);
    controller_free(c->groups);
    controller_free(c->claims);
    controller_free(c->contents);
    controller_free(c->snapshots);
    recorder_free(c->recorder);
    free(c);
    return NULL;
}
