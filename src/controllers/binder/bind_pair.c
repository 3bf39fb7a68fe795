/* Binds a claim and a volume with four writes. Each leaves a state from which the next sync continues, so
 * that a crash between them does no harm.
 *
 *   W1  volume: claimRef          first: from here on the volume belongs to the claim
 *   W2  volume: phase Bound       together with W3
 *   W3  claim: volumeName, annotations
 *   W4  claim: status             after W2 and W3: a claim is never Bound before its volume is */
#include "controllers/binder/binder_int.h"

#include <string.h>

#include "api/json_out.h"
#include "base/log.h"
#include "base/mutant.h"
#include "controllers/binder/binder_metrics.h"

static bool refers_to(const struct volume *v, const struct claim *c)
{
    return v->claim.is_set && strcmp(v->claim.ns, c->obj.ns) == 0 &&
           strcmp(v->claim.name, c->obj.name) == 0 && strcmp(v->claim.uid, c->obj.uid) == 0;
}

/* Provisioning of a claim counts until the claim is bound, including failures of these writes. */
static void record_result(const struct sync_request *request, enum api_outcome outcome)
{
    struct binder *b = request->sync->ctx;

    if (outcome == API_UNCERTAIN || outcome == API_REFUSED)
        binder_metrics_failed(b->metrics, LONG_PROVISION, str_of(request->sync->key));
}

/* --- W1 --- */

/* The answer is in the cache, or an event will follow, so the volume need not be held any longer. If the
 * write failed, the volume is offered to another claim when this one is deleted or takes another volume. */
static void on_reserved(const struct sync_request *request, enum api_outcome outcome,
                        const struct client_answer *a)
{
    struct binder *b = request->sync->ctx;

    record_result(request, outcome);
    if (!MUTANT("binder-keeps-holds"))
        volume_index_release(b->index, request->about->name, /* claim_uid= */ NULL);
    if (a->r < 0)
        binder_remember(b, claim_key(str_of(request->sync->key)), request->about->name);
    else
        log_debug("volume reserved for claim", LOG_STR("volume", request->about->name));
}

static enum api_decision decide_reserve(void *ctx, const struct object *now, struct buf *body,
                                        struct error *err)
{
    return api_decision_of(volume_write_reservation(volume_of(now), ctx, body, err));
}

static void reserve_volume(struct sync *s, const struct volume *v, const struct claim *c)
{
    struct binder *b = s->ctx;

    if (sync_await_writer(s, &v->obj)) {
        /* Holds the volume for this claim until that write has ended, unless another claim holds it: of all
         * claims whose best match it is, one waits for it. */
        if (!MUTANT("binder-shares-busy-volumes"))
            (void)binder_assume(b, claim_key(str_of(s->key)), v->obj.name, c->obj.uid);
        return;
    }
    if (volume_index_hold(b->index, v->obj.name, c->obj.uid) < 0) {
        sync_fail(s); /* held for a claim that waited for the last write of the volume; it is in the queue */
        return;
    }
    if (!binder_patch(s, &v->obj, NULL, decide_reserve, c, API_STEP_CLAIM_REF, on_reserved, NULL))
        volume_index_release(b->index, v->obj.name, /* claim_uid= */ NULL); /* not sent */
}

/* --- W3 --- */

static void on_named(const struct sync_request *request, enum api_outcome outcome,
                     const struct client_answer *a)
{
    record_result(request, outcome);
    if (a->r == 0 && a->object)
        log_info("claim bound to volume", LOG_STR("namespace", request->about->ns),
                 LOG_STR("claim", request->about->name), LOG_STR("volume", claim_of(a->object)->volume_name));
}

static enum api_decision decide_name(void *ctx, const struct object *now, struct buf *body, struct error *err)
{
    const struct volume *v = ctx;
    bool is_named = strcmp(claim_of(now)->volume_name, v->obj.name) == 0;
    struct merge_patch p;

    merge_patch_begin(&p, body, now);
    if (!is_named && !object_annotation(now, ANN_BOUND_BY_CONTROLLER))
        merge_patch_annotation(&p, ANN_BOUND_BY_CONTROLLER, "yes");
    if (!object_annotation(now, ANN_BIND_COMPLETED))
        merge_patch_annotation(&p, ANN_BIND_COMPLETED, "yes");
    if (!is_named) {
        merge_patch_member(&p, "spec");
        json_out_object(body, NULL);
        json_out_text(body, "volumeName", v->obj.name);
        json_out_end_object(body);
    }
    return api_decision_of(merge_patch_end(&p, err));
}

static void name_volume(struct sync *s, const struct claim *c, const struct volume *v)
{
    (void)binder_patch(s, &c->obj, NULL, decide_name, v, API_STEP_CLAIM_VOLUME, on_named, NULL);
}

/* --- W4 --- */

static void on_bound(const struct sync_request *request, enum api_outcome outcome,
                     const struct client_answer *a)
{
    struct binder *b = request->sync->ctx;
    const struct claim *was = claim_of(request->about);

    record_result(request, outcome);
    if (a->r < 0 || !a->object || was->phase == CLAIM_BOUND)
        return;
    binder_metrics_end(b->metrics, LONG_PROVISION, str_of(request->sync->key));
    if (b->o.part.server.is_berth) /* the stock binder records no such event */
        recorder_event(b->recorder, a->object, EVENT_NORMAL, "Bound", "Bound to PV %s", was->volume_name);
    binder_metrics_bound(b->metrics, was);
}

/* --- All steps --- */

void bind_steps(struct sync *s, const struct volume *v, const struct claim *c)
{
    bool is_named =
        strcmp(c->volume_name, v->obj.name) == 0 && object_annotation(&c->obj, ANN_BIND_COMPLETED);

    if (!refers_to(v, c)) {
        reserve_volume(s, v, c);
        return;
    }
    if (v->phase == VOLUME_RELEASED || v->phase == VOLUME_FAILED) {
        s->rest = volume_rest_names[VOLUME_REST_RELEASED];
        binder_add_volume(
            s->ctx, v->obj.name); /* its sync reads the claim from the server before it changes the phase */
    } else if (v->phase != VOLUME_BOUND) {
        (void)set_volume_phase(s, v, VOLUME_BOUND, "", NULL, NULL);
    }
    if (!is_named)
        name_volume(s, c, v);
    else if (v->phase == VOLUME_BOUND)
        set_claim_status(s, c, CLAIM_BOUND, v, on_bound, NULL);
}

enum sync_result bind_pair(struct sync *s, const struct volume *v, const struct claim *c)
{
    bind_steps(s, v, c);
    return sync_end(s);
}

/* --- Unbinding --- */

enum api_decision decide_unbind(void *ctx, const struct object *now, struct buf *body, struct error *err)
{
    bool is_ours = object_annotation(now, ANN_BOUND_BY_CONTROLLER) != NULL;
    struct merge_patch p;

    (void)ctx;
    merge_patch_begin(&p, body, now);
    if (is_ours)
        merge_patch_annotation(&p, ANN_BOUND_BY_CONTROLLER, NULL);
    merge_patch_member(&p, "spec");
    json_out_object(body, NULL);
    if (is_ours) {
        json_out_null(body, "claimRef");
    } else {
        json_out_object(body, "claimRef");
        json_out_null(body, "uid");
        json_out_end_object(body);
    }
    json_out_end_object(body);
    return api_decision_of(merge_patch_end(&p, err));
}

void unbind_volume(struct sync *s, const struct volume *v)
{
    /* The next sync makes it Available. */
    (void)binder_patch(s, &v->obj, NULL, decide_unbind, NULL, API_STEP_UNBIND, NULL, NULL);
}
