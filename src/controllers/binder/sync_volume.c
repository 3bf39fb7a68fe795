/* A volume: whose is it, and what follows from that. The rows are those of docs/binder.md. */
#include "controllers/binder/binder_int.h"

#include <assert.h>
#include <string.h>

#include "base/mutant.h"

/* How long a volume that nobody has waits for claims that are in the queue. */
#define CLAIMS_FIRST_NS (20 * NS_PER_MS)

static bool is_let_go(const struct volume *v)
{
    return v->phase == VOLUME_RELEASED || v->phase == VOLUME_FAILED;
}

static bool is_claim(const struct claim *c, const struct volume *v)
{
    return strcmp(c->obj.uid, v->claim.uid) == 0;
}

/* Available, or not: its own phase decides from here on whether it is free. */
static void on_available(struct binder *b, const struct step *s, const struct client_answer *a)
{
    (void)a;
    binder_expect(b, s->target->name);
}

/* V1. While the write is in flight the volume counts as free, whatever phase it had: a claim waits for it
 * rather than be told that there is none, or be provisioned for. */
static void make_available(struct round *r, const struct volume *v)
{
    struct binder *b = round_binder(r);

    if (round_await_writer(r, &v->obj))
        return;
    (void)set_volume_phase(r, v, VOLUME_AVAILABLE, "", on_available, NULL);
    if (binder_is_writing(b, volume_key(v->obj.name)))
        volume_index_expect(b->index, v->obj.name, /* is_expected= */ true);
}

/* V1, V2: nobody's, or kept for a claim by name. A claim that is about to take it spares us the write. One
 * that was bound to it takes it back: were it Available meanwhile, somebody else could have the data. */
static void sync_unclaimed(struct round *r, const struct volume *v)
{
    struct binder *b = round_binder(r);
    const struct claim *c = v->claim.is_set ? binder_claim(b, v->claim.ns, v->claim.name) : NULL;
    struct binder_sight sight = binder_sight(b);
    const struct volume *match = NULL;
    struct match_options search;
    struct error err;

    round_rest(r, volume_rest_names[v->claim.is_set ? VOLUME_REST_KEPT : VOLUME_REST_FREE]);
    if (v->phase == VOLUME_AVAILABLE)
        return;
    if (!v->claim.is_set && binder_is_missed(b, v->obj.name)) {
        round_rest(r, volume_rest_names[VOLUME_REST_MISSED]);
        return;
    }
    if (c && !object_annotation(&c->obj, ANN_BIND_COMPLETED) && c->volume_name[0] == '\0' &&
        decide_search(&sight, c, &search, &err) == 0 &&
        volume_index_match(b->index, c, &search, &match, &err) == 0 && match &&
        strcmp(match->obj.name, v->obj.name) == 0) {
        round_rest(r, volume_rest_names[VOLUME_REST_HALF_BOUND]);
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
    make_available(r, v);
}

/* V5, V8a: its claim is gone, or has another. What has been let go already is reclaimed. */
static void release(struct round *r, const struct volume *v)
{
    if (!is_let_go(v))
        (void)set_volume_phase(r, v, VOLUME_RELEASED, "", NULL, NULL);
    else
        reclaim_volume(r, v);
}

/* V6: the claim is there and has no volume yet. */
static void wake_claim(struct round *r, const struct volume *v, const struct claim *c)
{
    struct binder *b = round_binder(r);

    round_rest(r, volume_rest_names[VOLUME_REST_HALF_BOUND]);
    if (c->mode == v->mode) {
        binder_add_claim(b, c->obj.ns, c->obj.name);
        return;
    }
    round_rest(r, reject_names[REJECT_VOLUME_MODE]);
    if (!binder_tell(b, volume_key(v->obj.name), &v->obj, EVENT_WARNING, "VolumeMismatch",
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
static void sync_jilted(struct round *r, const struct volume *v)
{
    if (object_annotation(&v->obj, ANN_PROVISIONED_BY) && v->reclaim == RECLAIM_DELETE)
        release(r, v);
    else
        unbind_volume(r, v);
}

/* c: the claim with the uid that the volume names; NULL when there is none. */
static void sync_claimed(struct round *r, const struct volume *v, const struct claim *c)
{
    round_rest(r, volume_rest_names[VOLUME_REST_BOUND]);
    if (!c)
        release(r, v);
    else if (c->volume_name[0] == '\0')
        wake_claim(r, v, c);
    else if (strcmp(c->volume_name, v->obj.name) == 0)
        (void)set_volume_phase(r, v, VOLUME_BOUND, "", NULL, NULL);
    else
        sync_jilted(r, v);
}

/* A volume that was let go is its claim's after all: kept for it anew, or let go by somebody who was wrong.
 * Only the server's word undoes a release: where a cache is behind, two binders would take turns for ever. */
static void take_back(struct round *r, const struct volume *v, const struct claim *c)
{
    if (c->volume_name[0] != '\0' && strcmp(c->volume_name, v->obj.name) != 0)
        sync_jilted(r, v);
    else
        (void)set_volume_phase(r, v, VOLUME_BOUND, "", NULL, NULL);
}

/* The server has been asked for the claim: what it says counts. */
static void on_claim(struct binder *b, const struct step *s, const struct client_answer *a)
{
    const struct volume *v = binder_volume(b, round_name(s->round));
    const struct claim *c = a->object ? claim_of(a->object) : NULL;

    if (a->r < 0 && a->error.code != ERR_NOT_FOUND)
        return; /* no proof of anything */
    if (!v || !v->claim.is_set || v->claim.uid[0] == '\0' || strcmp(v->obj.uid, s->ctx) != 0)
        return; /* it is another story by now; its event brings it back */
    if (c && is_claim(c, v) && is_let_go(v))
        take_back(s->round, v, c);
    else
        sync_claimed(s->round, v, c && is_claim(c, v) ? c : NULL);
}

enum sync_result sync_volume(struct binder *b, struct str key)
{
    const struct object *o = informer_get_key(b->volumes, key);
    struct binder_key k = { BINDER_VOLUMES, key };
    const struct volume *v;
    const struct claim *c;
    struct round *r;

    if (!o) {
        binder_forget(b, k);
        binder_log_gone(k);
        return SYNC_DONE;
    }
    v = volume_of(o);
    r = round_begin(b, k);
    if (migrate_volume(r, v))
        return round_end(r);
    if (!v->claim.is_set || v->claim.uid[0] == '\0') {
        sync_unclaimed(r, v);
        return round_end(r);
    }
    c = binder_claim(b, v->claim.ns, v->claim.name);
    if (c && is_claim(c, v) && !is_let_go(v))
        sync_claimed(r, v, c);
    else if ((is_let_go(v) && !(c && is_claim(c, v))) || MUTANT("binder-releases-unasked"))
        sync_claimed(r, v, NULL);
    else
        round_get(r, KIND_CLAIM, v->claim.ns, v->claim.name, on_claim, round_keep(r, v->obj.uid));
    return round_end(r);
}
