/* A volume: whose is it, and what follows from that. The rows are those of docs/binder.md. */
#include "controllers/binder/binder_int.h"

#include <assert.h>
#include <string.h>

#include "base/mutant.h"

/* How long a volume that nobody has waits for claims that are in the queue. */
#define CLAIMS_FIRST_NS (20 * NS_PER_MS)

static bool is_released(const struct volume *v)
{
    return v->phase == VOLUME_RELEASED || v->phase == VOLUME_FAILED;
}

static bool is_claim(const struct claim *c, const struct volume *v)
{
    return strcmp(c->obj.uid, v->claim.uid) == 0;
}

/* Available, or not: its own phase decides from here on whether it is free. */
static void on_available(const struct sync_request *request, enum api_outcome outcome,
                         const struct client_answer *a)
{
    (void)outcome;
    (void)a;
    binder_expect(request->sync->ctx, request->about->name);
}

/* V1. While the write is in flight the volume counts as free, whatever phase it had: a claim waits for it
 * rather than be told that there is none, or be provisioned for. */
static void make_available(struct sync *s, const struct volume *v)
{
    struct binder *b = s->ctx;

    if (sync_await_writer(s, &v->obj))
        return;
    if (set_volume_phase(s, v, VOLUME_AVAILABLE, "", on_available, NULL))
        volume_index_expect(b->index, v->obj.name, /* is_expected= */ true);
}

/* V1, V2: nobody's, or kept for a claim by name. A claim that is about to take it spares us the write. One
 * that was bound to it takes it back: were it Available meanwhile, somebody else could have the data. */
static void sync_unclaimed(struct sync *s, const struct volume *v)
{
    struct binder *b = s->ctx;
    const struct claim *c = v->claim.is_set ? binder_claim(b, v->claim.ns, v->claim.name) : NULL;
    struct binder_view sight = binder_view(b);
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
        decide_search(&sight, c, &search, &err) == 0 &&
        volume_index_match(b->index, c, &search, &match, &err) == 0 && match &&
        strcmp(match->obj.name, v->obj.name) == 0) {
        s->rest = volume_rest_names[VOLUME_REST_HALF_BOUND];
        binder_add_claim(b, c->obj.ns, c->obj.name);
        return;
    }
    if (!v->claim.is_set && workqueue_depth(controller_queue(b->queues[BINDER_CLAIMS])) > 0 &&
        !MUTANT("binder-forgets-waiters")) {
        /* One of the claims that wait for their turn may take it, and spares us the write. */
        workqueue_add_after(controller_queue(b->queues[BINDER_VOLUMES]), str_of(v->obj.name),
                            CLAIMS_FIRST_NS);
        return;
    }
    make_available(s, v);
}

/* V5, V8a: its claim is gone, or has another. What has been let go already is reclaimed. */
static void release_volume(struct sync *s, const struct volume *v)
{
    if (!is_released(v))
        (void)set_volume_phase(s, v, VOLUME_RELEASED, "", NULL, NULL);
    else
        reclaim_volume(s, v);
}

/* V6: the claim is there and has no volume yet. */
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
        return; /* both have been told before */
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

/* c: the claim with the uid that the volume names; NULL when there is none. */
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

/* A volume that was let go is its claim's after all: kept for it anew, or let go by somebody who was wrong.
 * Only the server's word undoes a release: where a cache is behind, two binders would take turns for ever. */
static void rebind_volume(struct sync *s, const struct volume *v, const struct claim *c)
{
    if (c->volume_name[0] != '\0' && strcmp(c->volume_name, v->obj.name) != 0)
        sync_claim_bound_elsewhere(s, v);
    else
        (void)set_volume_phase(s, v, VOLUME_BOUND, "", NULL, NULL);
}

/* The server has been asked for the claim: what it says counts. */
static void on_claim(const struct sync_request *request, enum api_outcome outcome,
                     const struct client_answer *a)
{
    struct binder *b = request->sync->ctx;
    const struct volume *v = binder_volume(b, request->sync->key);
    const struct claim *c = a->object ? claim_of(a->object) : NULL;

    if (outcome == API_REFUSED && a->r != -ERR_NOT_FOUND)
        return; /* no proof of anything */
    if (!v || !v->claim.is_set || v->claim.uid[0] == '\0' || strcmp(v->obj.uid, request->about->uid) != 0)
        return; /* it is another story by now; its event brings it back */
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
