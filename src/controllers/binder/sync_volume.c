/* The sync of a volume: which claim it belongs to, and its next phase. Row numbers refer to docs/binder.md.
 */
#include "controllers/binder/binder_int.h"

#include <assert.h>
#include <string.h>

#include "base/mutant.h"

/* How long an unclaimed volume waits for queued claims before it becomes Available. */
#define CLAIMS_FIRST_NS (20 * NS_PER_MS)

static bool is_released(const struct volume *v)
{
    return v->phase == VOLUME_RELEASED || v->phase == VOLUME_FAILED;
}

static bool is_claim(const struct claim *c, const struct volume *v)
{
    return strcmp(c->obj.uid, v->claim.uid) == 0;
}

/* From now on the volume's own phase decides whether it is free. */
static void on_available(const struct sync_request *request, enum api_outcome outcome,
                         const struct client_answer *a)
{
    (void)outcome;
    (void)a;
    binder_expect(request->sync->ctx, request->about->name);
}

/* V1. While the write is in flight the volume counts as free, so that a claim waits for it instead of
 * reporting that nothing matches or being provisioned for. */
static void make_available(struct sync *s, const struct volume *v)
{
    struct binder *b = s->ctx;

    if (sync_await_writer(s, &v->obj))
        return;
    if (set_volume_phase(s, v, VOLUME_AVAILABLE, "", on_available, NULL))
        volume_index_expect(b->index, v->obj.name, /* is_expected= */ true);
}

/* V1, V2: unclaimed, or reserved for a claim by name. If a claim is about to take it, the write of Available
 * is skipped. If a bound claim names it, that claim binds it again: if it became Available, another claim
 * could get its data. */
static void sync_unclaimed(struct sync *s, const struct volume *v)
{
    struct binder *b = s->ctx;
    const struct claim *c = v->claim.is_set ? binder_claim(b, v->claim.ns, v->claim.name) : NULL;
    struct binder_view view = binder_view(b);
    const struct volume *match = NULL;
    struct match_options search;
    struct error err;

    s->rest = volume_rest_names[v->claim.is_set ? VOLUME_REST_KEPT : VOLUME_REST_FREE];
    if (v->phase == VOLUME_AVAILABLE)
        return;
    if (!v->claim.is_set && binder_has_bound_claim(b, v->obj.name)) {
        s->rest = volume_rest_names[VOLUME_REST_MISSED];
        return;
    }
    if (c && !object_annotation(&c->obj, ANN_BIND_COMPLETED) && c->volume_name[0] == '\0' &&
        decide_search(&view, c, &search, &err) == 0 &&
        volume_index_match(b->index, c, &search, &match, &err) == 0 && match &&
        strcmp(match->obj.name, v->obj.name) == 0) {
        s->rest = volume_rest_names[VOLUME_REST_HALF_BOUND];
        binder_add_claim(b, c->obj.ns, c->obj.name);
        return;
    }
    if (!v->claim.is_set && workqueue_depth(controller_queue(b->queues[BINDER_CLAIMS])) > 0 &&
        !MUTANT("binder-forgets-waiters")) {
        /* A queued claim may take it, which makes the write unnecessary. */
        workqueue_add_after(controller_queue(b->queues[BINDER_VOLUMES]), str_of(v->obj.name),
                            CLAIMS_FIRST_NS);
        return;
    }
    make_available(s, v);
}

/* V5, V8a: its claim is gone, or is bound to another volume. A volume that is already released is reclaimed.
 */
static void release_volume(struct sync *s, const struct volume *v)
{
    if (!is_released(v))
        (void)set_volume_phase(s, v, VOLUME_RELEASED, "", NULL, NULL);
    else
        reclaim_volume(s, v);
}

/* V6: the claim exists and has no volume yet. */
static void requeue_claim(struct sync *s, const struct volume *v, const struct claim *c)
{
    struct binder *b = s->ctx;

    s->rest = volume_rest_names[VOLUME_REST_HALF_BOUND];
    if (c->mode == v->mode) {
        binder_add_claim(b, c->obj.ns, c->obj.name);
        return;
    }
    s->rest = reject_names[REJECT_VOLUME_MODE];
    if (!binder_record_event(b, volume_key(v->obj.name), &v->obj, EVENT_WARNING, "VolumeMismatch",
                             "Cannot bind PersistentVolume to requested PersistentVolumeClaim \"%s\" due to "
                             "incompatible volumeMode.",
                             c->obj.name))
        return; /* both events were recorded before */
    recorder_event(
        b->recorder, &c->obj, EVENT_WARNING, "VolumeMismatch",
        "Cannot bind PersistentVolume \"%s\" to requested PersistentVolumeClaim due to incompatible "
        "volumeMode.",
        v->obj.name);
}

/* V8: the claim has another volume. */
static void sync_claim_bound_elsewhere(struct sync *s, const struct volume *v)
{
    if (object_annotation(&v->obj, ANN_PROVISIONED_BY) && v->reclaim == RECLAIM_DELETE)
        release_volume(s, v);
    else
        unbind_volume(s, v);
}

/* c: the claim with the uid in claimRef; NULL: it does not exist. */
static void sync_claimed(struct sync *s, const struct volume *v, const struct claim *c)
{
    s->rest = volume_rest_names[VOLUME_REST_BOUND];
    if (!c)
        release_volume(s, v);
    else if (c->volume_name[0] == '\0')
        requeue_claim(s, v, c);
    else if (strcmp(c->volume_name, v->obj.name) == 0)
        (void)set_volume_phase(s, v, VOLUME_BOUND, "", NULL, NULL);
    else
        sync_claim_bound_elsewhere(s, v);
}

/* A released volume belongs to its claim after all: it was reserved again, or released by mistake. A release
 * is undone only after a read from the server: with a stale cache two binders would alternate forever. */
static void rebind_volume(struct sync *s, const struct volume *v, const struct claim *c)
{
    if (c->volume_name[0] != '\0' && strcmp(c->volume_name, v->obj.name) != 0)
        sync_claim_bound_elsewhere(s, v);
    else
        (void)set_volume_phase(s, v, VOLUME_BOUND, "", NULL, NULL);
}

/* The claim as read from the server. */
static void on_claim(const struct sync_request *request, enum api_outcome outcome,
                     const struct client_answer *a)
{
    struct binder *b = request->sync->ctx;
    const struct volume *v = binder_volume(b, request->sync->key);
    const struct claim *c = a->object ? claim_of(a->object) : NULL;

    if (outcome == API_REFUSED && a->r != -ERR_NOT_FOUND)
        return; /* unknown: proves nothing */
    if (!v || strcmp(v->obj.uid, request->about->uid) != 0 || !v->claim.is_set ||
        strcmp(v->claim.uid, volume_of(request->about)->claim.uid) != 0)
        return; /* Another volume, or of another claim by now; its watch event requeues it. */
    if (c && is_claim(c, v) && is_released(v))
        rebind_volume(request->sync, v, c);
    else
        sync_claimed(request->sync, v, c && is_claim(c, v) ? c : NULL);
}

enum sync_result sync_volume(struct binder *b, struct str key)
{
    const struct object *o = informer_get_key(b->volumes, key);
    struct binder_key k = { BINDER_VOLUMES, key };
    const struct volume *v;
    const struct claim *c;
    struct sync *s;

    if (!o) {
        binder_forget(b, k);
        binder_log_deleted(k);
        return SYNC_DONE;
    }
    v = volume_of(o);
    s = sync_begin(b->queues[k.queue], key);
    if (migrate_volume(s, v))
        return sync_end(s);
    if (!v->claim.is_set || v->claim.uid[0] == '\0') {
        sync_unclaimed(s, v);
        return sync_end(s);
    }
    c = binder_claim(b, v->claim.ns, v->claim.name);
    if (c && is_claim(c, v) && !is_released(v))
        sync_claimed(s, v, c);
    else if ((is_released(v) && !(c && is_claim(c, v))) || MUTANT("binder-releases-unasked"))
        sync_claimed(s, v, NULL);
    else
        sync_read(s, KIND_CLAIM, v->claim.ns, v->claim.name, &v->obj, on_claim);
    return sync_end(s);
}
