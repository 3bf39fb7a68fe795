/* Garbage collection: deletes dependents of deleted owners, and implements foreground deletion and orphaning.
 *
 * An object is deleted when all of its owners are gone. An owner that is deleted in the foreground deletes
 * the dependents that have no other remaining owner, and waits for those with blockOwnerDeletion, except in a
 * cycle; one whose dependents are orphaned waits until they no longer name it. An owner of a kind that is not
 * served here cannot be checked up and counts as existing.
 *
 * Dependents are kept by uid, with an index from the uid of each owner to its dependents. Few objects have
 * owners, so this is small. */
#include "apiserver/duties.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_out.h"
#include "apiserver/delete.h"
#include "base/map.h"
#include "base/vec.h"

/* An owner's uid and the dependents that name it. */
struct owner_entry {
    VEC(const char *) dependents; /* uids, in the memory of the dependents' objects */
    char uid[];
};

struct garbage {
    struct duty_base base;
    struct map dependents;        /* uid -> struct object *, a reference: every object with owners */
    struct map owners;            /* uid -> struct owner_entry */
    struct map suspects;          /* uid -> struct object *, a reference: to be checked */
    VEC(struct object *) checked; /* checked in this round: again if the server fails meanwhile */
};

/* --- The index --- */

static void owner_index_remove(struct garbage *g, const struct object *o)
{
    for (uint32_t i = 0; i < o->owners_count; i++) {
        struct owner_entry *e = map_get(&g->owners, str_of(o->owners[i].uid));

        for (size_t k = 0; e && k < e->dependents.count; k++) {
            if (strcmp(e->dependents.items[k], o->uid) == 0) {
                vec_remove(&e->dependents, k);
                break;
            }
        }
        if (e && e->dependents.count == 0) {
            (void)map_remove(&g->owners, str_of(e->uid));
            vec_done(&e->dependents);
            free(e);
        }
    }
}

static struct owner_entry *owner_entry(struct garbage *g, const char *uid)
{
    struct owner_entry *e = map_get(&g->owners, str_of(uid));

    if (e)
        return e;
    e = calloc(1, sizeof *e + strlen(uid) + 1);
    if (!e)
        return NULL;
    memcpy(e->uid, uid, strlen(uid) + 1);
    if (map_put(&g->owners, str_of(e->uid), e, NULL) < 0) {
        free(e);
        return NULL;
    }
    return e;
}

/* Without memory the entry is missing: the dependent then outlives its owner until the next start. */
static void owner_index_add(struct garbage *g, const struct object *o)
{
    for (uint32_t i = 0; i < o->owners_count; i++) {
        struct owner_entry *e = owner_entry(g, o->owners[i].uid);

        if (e)
            (void)vec_push(&e->dependents, o->uid);
    }
}

static void add_suspect(struct garbage *g, const struct object *o)
{
    struct object *mine = object_ref(o);
    void *old = NULL;

    if (map_put(&g->suspects, str_of(mine->uid), mine, &old) < 0)
        old = mine;
    (void)object_unref(old);
    loop_defer(&g->base.reconcile);
}

static void suspect_dependents(struct garbage *g, const char *uid)
{
    const struct owner_entry *e = map_get(&g->owners, str_of(uid));

    for (size_t i = 0; e && i < e->dependents.count; i++) {
        const struct object *o = map_get(&g->dependents, str_of(e->dependents.items[i]));

        if (o)
            add_suspect(g, o);
    }
}

static const struct object *owner_object(const struct garbage *g, const struct object *o,
                                         const struct owner *w, bool *ret_is_known)
{
    const struct kind_info *k = kind_by_api_version(str_of(w->api_version), str_of(w->kind));
    const struct object *found;

    /* An owner in a namespace cannot be found for a dependent at cluster scope. */
    *ret_is_known = k != NULL && (!k->is_namespaced || o->ns[0]);
    if (!*ret_is_known)
        return NULL;
    found = store_get_newest(g->base.server->store, k->kind == KIND_EVENT_V1 ? KIND_EVENT : k->kind,
                             k->is_namespaced ? o->ns : "", w->name);
    return found && strcmp(found->uid, w->uid) == 0 ? found : NULL;
}

/* Checks owners that wait for the deletion or release of this object. */
static void suspect_waiting_owners(struct garbage *g, const struct object *o)
{
    for (uint32_t i = 0; i < o->owners_count; i++) {
        bool is_known;
        const struct object *owner = owner_object(g, o, &o->owners[i], &is_known);

        if (owner && owner->is_deleting)
            add_suspect(g, owner);
    }
}

/* --- Actions --- */

static void send_delete(struct garbage *g, const struct object *o, const char *policy)
{
    _cleanup_(buf_done_p) struct buf path = BUF_INIT(4096), body = BUF_INIT(512);

    object_path(o, &path);
    json_out_object(&body, NULL);
    json_out_text(&body, "propagationPolicy", policy);
    json_out_object(&body, "preconditions");
    json_out_text(&body, "uid", o->uid);
    json_out_end_object(&body);
    json_out_end_object(&body);
    duty_calls_send(g->base.calls, HTTP_DELETE, NULL, buf_str(&path), buf_str(&body));
}

static void send_patch(struct garbage *g, const struct object *o, const struct buf *body)
{
    _cleanup_(buf_done_p) struct buf path = BUF_INIT(4096);

    object_path(o, &path);
    if (!body->failed)
        duty_calls_send(g->base.calls, HTTP_PATCH, "application/merge-patch+json", buf_str(&path),
                        buf_str(body));
}

/* Writes up to the list of this name in metadata, which end_patch() closes. */
static void begin_patch(const struct object *o, const char *list, struct buf *body)
{
    json_out_object(body, NULL);
    json_out_object(body, "metadata");
    json_out_text(body, "uid", o->uid);
    json_out_textf(body, "resourceVersion", "%" PRId64, o->revision);
    json_out_array(body, list);
}

static void end_patch(struct buf *body)
{
    json_out_end_array(body);
    json_out_end_object(body);
    json_out_end_object(body);
}

/* A conflict means that the object has changed; its event causes another check. */
static void remove_finalizer(struct garbage *g, const struct object *o, const char *finalizer)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT((size_t)1 << 20);

    begin_patch(o, "finalizers", &body);
    for (uint32_t i = 0; i < o->finalizers.count; i++)
        if (strcmp(o->finalizers.items[i], finalizer) != 0)
            json_out_text(&body, NULL, o->finalizers.items[i]);
    end_patch(&body);
    send_patch(g, o, &body);
}

static void write_owner(const struct owner *w, struct buf *out)
{
    json_out_object(out, NULL);
    json_out_text(out, "apiVersion", w->api_version);
    json_out_text(out, "kind", w->kind);
    json_out_text(out, "name", w->name);
    json_out_text(out, "uid", w->uid);
    if (w->is_controller)
        json_out_bool(out, "controller", true);
    if (w->blocks_deletion)
        json_out_bool(out, "blockOwnerDeletion", true);
    json_out_end_object(out);
}

static void remove_owner(struct garbage *g, const struct object *o, const char *uid)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT((size_t)1 << 20);

    begin_patch(o, "ownerReferences", &body);
    for (uint32_t i = 0; i < o->owners_count; i++)
        if (strcmp(o->owners[i].uid, uid) != 0)
            write_owner(&o->owners[i], &body);
    end_patch(&body);
    send_patch(g, o, &body);
}

static bool blocks_owner(const struct object *o, const char *uid)
{
    for (uint32_t i = 0; i < o->owners_count; i++) {
        if (strcmp(o->owners[i].uid, uid) == 0 && o->owners[i].blocks_deletion)
            return true;
    }
    return false;
}

/* The current version of a dependent: the one in the index may be outdated. */
static const struct object *current_dependent(const struct garbage *g, const char *uid)
{
    const struct object *o = map_get(&g->dependents, str_of(uid));
    const struct object *now =
        o ? store_get_newest(g->base.server->store, o->kind->kind, o->ns, o->name) : NULL;

    return now && strcmp(now->uid, uid) == 0 ? now : NULL;
}

static bool waits_in_foreground(const struct object *o)
{
    return o->is_deleting && object_has_finalizer(o, FINALIZER_FOREGROUND);
}

static bool has_staying_owner(const struct garbage *g, const struct object *o)
{
    for (uint32_t i = 0; i < o->owners_count; i++) {
        bool is_known;
        const struct object *owner = owner_object(g, o, &o->owners[i], &is_known);

        if (!is_known || (owner && !waits_in_foreground(owner)))
            return true;
    }
    return false;
}

static bool has_waiting_dependent(const struct garbage *g, const struct object *o)
{
    const struct owner_entry *e = map_get(&g->owners, str_of(o->uid));

    for (size_t i = 0; e && i < e->dependents.count; i++) {
        const struct object *d = current_dependent(g, e->dependents.items[i]);

        if (d && waits_in_foreground(d))
            return true;
    }
    return false;
}

/* A dependent of an owner that waits in the foreground. If one of its own dependents already waits, the
 * owners form a cycle: deleting it without waiting breaks the cycle. */
static void end_dependent(struct garbage *g, const struct object *d, const char *owner_uid)
{
    if (d->is_deleting)
        return;
    if (has_staying_owner(g, d))
        remove_owner(g, d, owner_uid);
    else
        send_delete(g, d, has_waiting_dependent(g, d) ? "Background" : "Foreground");
}

static void end_in_foreground(struct garbage *g, const struct object *o)
{
    const struct owner_entry *e = map_get(&g->owners, str_of(o->uid));
    bool is_blocked = false;

    for (size_t i = 0; e && i < e->dependents.count; i++) {
        const struct object *d = current_dependent(g, e->dependents.items[i]);

        if (!d)
            continue;
        /* Two objects that wait for each other do not block; nor does an object block itself. */
        is_blocked =
            is_blocked || (blocks_owner(d, o->uid) && !(waits_in_foreground(d) && blocks_owner(o, d->uid)));
        end_dependent(g, d, o->uid);
    }
    if (!is_blocked)
        remove_finalizer(g, o, FINALIZER_FOREGROUND);
}

static void orphan_dependents(struct garbage *g, const struct object *o)
{
    const struct owner_entry *e = map_get(&g->owners, str_of(o->uid));
    bool is_held = false;

    for (size_t i = 0; e && i < e->dependents.count; i++) {
        const struct object *d = current_dependent(g, e->dependents.items[i]);

        if (!d)
            continue;
        is_held = true;
        remove_owner(g, d, o->uid);
    }
    if (!is_held)
        remove_finalizer(g, o, FINALIZER_ORPHAN);
}

static void check_owners(struct garbage *g, const struct object *o)
{
    for (uint32_t i = 0; i < o->owners_count; i++) {
        bool is_known;

        if (owner_object(g, o, &o->owners[i], &is_known) || !is_known)
            return;
    }
    if (o->owners_count)
        send_delete(g, o, "Background");
}

static void check_suspect(struct garbage *g, const struct object *seen)
{
    const struct object *o = store_get_newest(g->base.server->store, seen->kind->kind, seen->ns, seen->name);

    if (!o || strcmp(o->uid, seen->uid) != 0)
        return;
    if (!o->is_deleting)
        check_owners(g, o);
    else if (object_has_finalizer(o, FINALIZER_ORPHAN))
        orphan_dependents(g, o);
    else if (object_has_finalizer(o, FINALIZER_FOREGROUND))
        end_in_foreground(g, o);
}

static void garbage_reconcile(void *ctx)
{
    struct garbage *g = ctx;
    struct object *o;

    if (duty_calls_are_busy(g->base.calls))
        return; /* the last answer starts it again */
    for (size_t at = 0; !duty_calls_are_full(g->base.calls) && (o = map_next(&g->suspects, &at, NULL));
         at = 0) {
        (void)map_remove(&g->suspects, str_of(o->uid));
        check_suspect(g, o);
        if (!duty_calls_are_busy(g->base.calls) || vec_push(&g->checked, o) < 0)
            (void)object_unref(o); /* no call was needed; or without memory it is checked at the next start */
    }
}

/* The end of a round: checked objects are done, or must be checked again after a failure. */
static void garbage_answered(void *ctx)
{
    struct garbage *g = ctx;

    for (size_t i = 0; i < g->checked.count; i++) {
        if (duty_calls_have_failed(g->base.calls))
            add_suspect(g, g->checked.items[i]);
        (void)object_unref(g->checked.items[i]);
    }
    vec_clear(&g->checked);
    garbage_reconcile(g);
}

/* --- Observed commits --- */

/* Whether the owners are the same, as far as it matters to an owner that waits. */
static bool owners_are_equal(const struct object *a, const struct object *b)
{
    if (a->owners_count != b->owners_count)
        return false;
    for (uint32_t i = 0; i < a->owners_count; i++) {
        if (strcmp(a->owners[i].uid, b->owners[i].uid) != 0 ||
            a->owners[i].blocks_deletion != b->owners[i].blocks_deletion)
            return false;
    }
    return true;
}

static void garbage_observe(void *duty, const struct store_event *ev)
{
    struct garbage *g = duty;
    const struct object *o = ev->object;
    struct object *known = map_remove(&g->dependents, str_of(o->uid));

    if (known) {
        owner_index_remove(g, known);
        if (ev->is_delete || !owners_are_equal(known, o))
            suspect_waiting_owners(g, known);
        (void)object_unref(known);
    }
    if (ev->is_delete) {
        suspect_dependents(g, o->uid);
        return;
    }
    if (o->owners_count) {
        struct object *mine = object_ref(o);

        if (map_put(&g->dependents, str_of(mine->uid), mine, NULL) == 0)
            owner_index_add(g, mine);
        else
            (void)object_unref(mine);
        add_suspect(g, o);
    } else if (o->is_deleting &&
               (object_has_finalizer(o, FINALIZER_ORPHAN) || object_has_finalizer(o, FINALIZER_FOREGROUND))) {
        add_suspect(g, o);
    }
}

static void garbage_init(void *duty)
{
    struct garbage *g = duty;
    struct rng *rng = &g->base.server->rng;
    struct hash_seed seed = { rng_u64(rng), rng_u64(rng) };

    map_init(&g->dependents, seed);
    map_init(&g->owners, seed);
    map_init(&g->suspects, seed);
}

static void garbage_done(void *duty)
{
    struct garbage *g = duty;
    struct owner_entry *e;
    struct object *o;

    for (size_t at = 0; (e = map_next(&g->owners, &at, NULL));) {
        vec_done(&e->dependents);
        free(e);
    }
    for (size_t i = 0; i < g->checked.count; i++)
        (void)object_unref(g->checked.items[i]);
    vec_done(&g->checked);
    for (size_t at = 0; (o = map_next(&g->dependents, &at, NULL));)
        (void)object_unref(o);
    for (size_t at = 0; (o = map_next(&g->suspects, &at, NULL));)
        (void)object_unref(o);
    map_done(&g->owners);
    map_done(&g->dependents);
    map_done(&g->suspects);
}

const struct duty duty_garbage = {
    sizeof(struct garbage), garbage_reconcile, garbage_answered, garbage_observe, garbage_init, garbage_done,
};
