/* Binding a pair: four writes, each of which leaves a state that the next sync goes on from.
 *
 *   W1  volume: claimRef          before anything else: from here on the volume is the claim's
 *   W2  volume: phase Bound       beside W3
 *   W3  claim: volumeName, annotations
 *   W4  claim: status             after both: a claim is never Bound before its volume is
 */
#include "controllers/binder/binder_int.h"

#include <string.h>

#include "base/log.h"
#include "base/mutant.h"
#include "controllers/binder/binder_metrics.h"

static bool refers_to(const struct volume *v, const struct claim *c)
{
    return v->claim.is_set && strcmp(v->claim.ns, c->obj.ns) == 0 &&
           strcmp(v->claim.name, c->obj.name) == 0 && strcmp(v->claim.uid, c->obj.uid) == 0;
}

/* A claim whose volume was provisioned is served when it is bound: what fails on the way counts. */
static void note_result(struct binder *b, const struct step *s, const struct client_answer *a)
{
    if (a->r < 0 && !client_is_conflict(a))
        binder_metrics_failed(b->metrics, LONG_PROVISION, str_of(round_name(s->round)));
}

/* --- W1 --- */

/* The answer is in the cache, or an event will follow: the hold has ended. When the write failed and the
 * claim is deleted or takes another volume, the next claim is to have this one. */
static void on_reserved(struct binder *b, const struct step *s, const struct client_answer *a)
{
    note_result(b, s, a);
    if (!MUTANT("binder-keeps-holds"))
        volume_index_release(b->index, s->target->name, /* claim_uid= */ NULL);
    if (a->r < 0)
        binder_remember(b, claim_key(str_of(round_name(s->round))), s->target->name);
    else
        log_debug("volume reserved for claim", LOG_STR("volume", s->target->name));
}

static void reserve(struct round *r, const struct volume *v, const struct claim *c)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(BINDER_BODY_BYTES_MAX);
    struct binder *b = round_binder(r);
    struct merge_patch p;
    struct error err;

    if (round_await_writer(r, &v->obj)) {
        /* Its own until then, where it is nobody else's: of all claims that it is the best match of, one
         * waits for it. */
        if (!MUTANT("binder-shares-busy-volumes"))
            (void)binder_promise(b, claim_key(str_of(round_name(r))), v->obj.name, c->obj.uid);
        return;
    }
    merge_patch_begin(&p, &body, MUTANT("binder-writes-without-version") ? NULL : &v->obj);
    /* A volume that somebody kept for the claim was not chosen by us. */
    if (!volume_is_for(v, c))
        merge_patch_annotation(&p, ANN_BOUND_BY_CONTROLLER, "yes");
    merge_patch_member(&p, "spec");
    buf_add_cstr(&body, "{\"claimRef\":");
    claim_ref_write(&body, c);
    buf_add_char(&body, '}');
    if (merge_patch_end(&p, &err) < 0 || volume_index_hold(b->index, v->obj.name, c->obj.uid) < 0) {
        round_fail(r); /* held: a claim that waited for the last write of it is in the queue */
        return;
    }
    round_patch(r, &v->obj, NULL, &body, "claim-ref", on_reserved, NULL);
    if (!binder_is_writing(b, volume_key(v->obj.name)))
        volume_index_release(b->index, v->obj.name, /* claim_uid= */ NULL); /* it was not even sent */
}

/* --- W3 --- */

static void on_named(struct binder *b, const struct step *s, const struct client_answer *a)
{
    note_result(b, s, a);
    if (a->r == 0 && a->object)
        log_info("claim bound to volume", LOG_STR("namespace", s->target->ns),
                 LOG_STR("claim", s->target->name), LOG_STR("volume", claim_of(a->object)->volume_name));
}

static void name_volume(struct round *r, const struct claim *c, const struct volume *v)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(BINDER_BODY_BYTES_MAX);
    bool is_named = strcmp(c->volume_name, v->obj.name) == 0;
    struct merge_patch p;
    struct error err;

    merge_patch_begin(&p, &body, &c->obj);
    if (!is_named && !object_annotation(&c->obj, ANN_BOUND_BY_CONTROLLER))
        merge_patch_annotation(&p, ANN_BOUND_BY_CONTROLLER, "yes");
    if (!object_annotation(&c->obj, ANN_BIND_COMPLETED))
        merge_patch_annotation(&p, ANN_BIND_COMPLETED, "yes");
    if (!is_named) {
        merge_patch_member(&p, "spec");
        buf_add_cstr(&body, "{\"volumeName\":");
        json_write_string(&body, str_of(v->obj.name));
        buf_add_char(&body, '}');
    }
    if (merge_patch_end(&p, &err) < 0)
        round_fail(r);
    else
        round_patch(r, &c->obj, NULL, &body, "claim-volume", on_named, NULL);
}

/* --- W4 --- */

static void on_bound(struct binder *b, const struct step *s, const struct client_answer *a)
{
    const struct claim *was = claim_of(s->target);

    note_result(b, s, a);
    if (a->r < 0 || !a->object || was->phase == CLAIM_BOUND)
        return;
    binder_metrics_end(b->metrics, LONG_PROVISION, str_of(round_name(s->round)));
    if (b->o.part.server.is_berth) /* no other server's binder tells that */
        recorder_event(b->recorder, a->object, EVENT_NORMAL, "Bound", "Bound to PV %s", was->volume_name);
    binder_metrics_bound(b->metrics, was);
}

/* --- All of it --- */

void bind_steps(struct round *r, const struct volume *v, const struct claim *c)
{
    bool is_named =
        strcmp(c->volume_name, v->obj.name) == 0 && object_annotation(&c->obj, ANN_BIND_COMPLETED);

    if (!refers_to(v, c)) {
        reserve(r, v, c);
        return;
    }
    if (v->phase == VOLUME_RELEASED || v->phase == VOLUME_FAILED) {
        round_rest(r, volume_rest_names[VOLUME_REST_RELEASED]);
        binder_add_volume(round_binder(r), v->obj.name); /* asks the server before it undoes that */
    } else if (v->phase != VOLUME_BOUND) {
        (void)set_volume_phase(r, v, VOLUME_BOUND, "", NULL, NULL);
    }
    if (!is_named)
        name_volume(r, c, v);
    else if (v->phase == VOLUME_BOUND)
        (void)set_claim_status(r, c, CLAIM_BOUND, v, on_bound, NULL);
}

enum sync_result bind_pair(struct round *r, const struct volume *v, const struct claim *c)
{
    bind_steps(r, v, c);
    return round_end(r);
}

/* --- Undoing --- */

int unbind_write(const struct volume *v, struct buf *out, struct error *err)
{
    bool is_ours = object_annotation(&v->obj, ANN_BOUND_BY_CONTROLLER) != NULL;
    struct merge_patch p;

    merge_patch_begin(&p, out, &v->obj);
    if (is_ours)
        merge_patch_annotation(&p, ANN_BOUND_BY_CONTROLLER, NULL);
    merge_patch_member(&p, "spec");
    buf_add_cstr(out, is_ours ? "{\"claimRef\":null}" : "{\"claimRef\":{\"uid\":null}}");
    return merge_patch_end(&p, err);
}

void unbind_volume(struct round *r, const struct volume *v)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(BINDER_BODY_BYTES_MAX);
    struct error err;

    if (unbind_write(v, &body, &err) < 0)
        round_fail(r);
    else
        round_patch(r, &v->obj, NULL, &body, "unbind", NULL, NULL); /* Available follows by the next sync */
}
