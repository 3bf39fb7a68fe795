/* A claim: what was decided for it (decide.h) is done. The rows are those of docs/binder.md. */
#include "controllers/binder/binder_int.h"

#include <string.h>

#include "api/json_out.h"
#include "api/pod.h"
#include "base/log.h"
#include "base/mutant.h"
#include "base/vec.h"
#include "controllers/binder/binder_metrics.h"

/* --- Events of claims that wait --- */

static struct binder_key key_of(struct sync *s)
{
    return (struct binder_key){ BINDER_CLAIMS, str_of(s->key) };
}

static void report_waiting_for_pods(struct sync *s, const struct claim *c)
{
    _cleanup_(buf_done_p) struct buf names = BUF_INIT(4096);
    struct binder *b = s->ctx;
    struct informer_cursor at;
    unsigned count = 0;

    /* In the order of keys: of one namespace, by name. */
    for (const struct object *o = informer_first_by(b->pods, PODS_BY_CLAIM, str_of(s->key), &at); o;
         o = informer_next(&at))
        if (decide_is_waiting_pod(pod_of(o)))
            buf_addf(&names, "%s%s", count++ ? "," : "", o->name);
    if (count == 0)
        binder_record_event(b, key_of(s), &c->obj, EVENT_NORMAL, "WaitForFirstConsumer",
                            "waiting for first consumer to be created before binding");
    else
        binder_record_event(b, key_of(s), &c->obj, EVENT_NORMAL, "WaitForPodScheduled",
                            "waiting for pod%s %s to be scheduled", count > 1 ? "s" : "", buf_cstr(&names));
}

/* --- The default class --- */

static void on_class_set(const struct sync_request *request, enum api_outcome outcome,
                         const struct client_answer *a)
{
    struct binder *b = request->sync->ctx;

    (void)a;
    binder_metrics_retroactive(b->metrics, !api_write_succeeded(outcome));
}

static enum api_decision decide_class(void *ctx, const struct object *now, struct buf *body,
                                      struct error *err)
{
    const struct storage_class *k = ctx;
    struct merge_patch p;

    merge_patch_begin(&p, body, now);
    merge_patch_member(&p, "spec");
    json_out_object(body, NULL);
    json_out_text(body, "storageClassName", k->obj.name);
    json_out_end_object(body);
    return api_decision_of(merge_patch_end(&p, err));
}

static void set_class(struct sync *s, const struct claim *c, const struct storage_class *k)
{
    (void)binder_patch(s, &c->obj, NULL, decide_class, k, API_STEP_CLAIM_CLASS, on_class_set, NULL);
}

/* --- Without a volume's name --- */

static enum wants wants_of(const struct match_options *search)
{
    if (search->is_delayed)
        return WANTS_NO_VOLUME;
    return search->awaits_class ? WANTS_UNPINNED : WANTS_ANY;
}

/* It comes again when volumes with node affinity are its too. Its class wakes it before that. */
static void requeue_when_old(struct sync *s, const struct claim *c)
{
    struct binder *b = s->ctx;
    uint64_t now_ns = loop_now_ns(b->o.part.loop), until_ns = binder_new_until_ns(b, c);

    workqueue_add_after(controller_queue(b->queues[BINDER_CLAIMS]), key_of(s).name,
                        until_ns > now_ns ? until_ns - now_ns : 0);
}

/* A3 to A6: nothing fits. */
static enum sync_result sync_unmatched(struct sync *s, const struct claim *c, const struct claim_decision *d)
{
    struct binder *b = s->ctx;

    waiting_put(b->waiting, c, wants_of(&d->search));
    if (d->search.awaits_class)
        requeue_when_old(s, c);
    if (d->step == CLAIM_STEP_SET_CLASS) {
        set_class(s, c, d->class);
    } else if (d->step == CLAIM_STEP_AWAIT_POD) {
        report_waiting_for_pods(s, c);
        set_claim_status(s, c, CLAIM_PENDING, NULL, NULL, NULL);
    } else if (d->step == CLAIM_STEP_NO_CLASS) {
        binder_record_event(b, key_of(s), &c->obj, EVENT_NORMAL, "FailedBinding",
                            "no persistent volumes available for this claim and no storage class is set");
        set_claim_status(s, c, CLAIM_PENDING, NULL, NULL, NULL);
    } else if (d->step != CLAIM_STEP_AWAIT_CLASS) {
        provision_claim(s, c, d);
    }
    return sync_end(s);
}

/* The volume that this claim was woken for, if it takes another, may serve somebody else. Before the claim
 * waits again: it is not to be asked twice. */
static void pass_on_offer(struct binder *b, struct binder_key k, const struct volume *taken)
{
    struct key_state *state = binder_find_state(b, k);
    char *offered = state ? TAKE(state->offered) : NULL;

    if (offered && (!taken || strcmp(taken->obj.name, offered) != 0))
        binder_offer(b, offered);
    free(offered);
}

static enum sync_result sync_unbound(struct sync *s, const struct claim *c, const struct claim_decision *d)
{
    struct binder *b = s->ctx;

    if (d->step == CLAIM_STEP_FAIL)
        waiting_put(b->waiting, c, WANTS_NO_VOLUME); /* a class may help, or time */
    else if (d->step == CLAIM_STEP_BIND)
        waiting_remove(b->waiting, c->obj.ns, c->obj.name);
    pass_on_offer(b, key_of(s), d->volume);
    if (d->step == CLAIM_STEP_BIND)
        return bind_pair(s, d->volume, c);
    if (d->step != CLAIM_STEP_FAIL)
        return sync_unmatched(s, c, d);
    log_error("claim sync failed", LOG_STR("claim", s->key), LOG_ERR(&d->err));
    binder_note_failure(b, key_of(s), d->err.msg);
    sync_fail(s);
    return sync_end(s);
}

/* --- With a volume's name --- */

static void stay_pending(struct sync *s, const struct claim *c)
{
    set_claim_status(s, c, CLAIM_PENDING, NULL, NULL, NULL);
}

/* B5, B6: the named volume is another claim's. */
static void sync_refused(struct sync *s, const struct claim *c, const struct volume *v)
{
    struct binder *b = s->ctx;
    struct error err;

    binder_record_event(b, key_of(s), &c->obj, EVENT_WARNING, "FailedBinding",
                        "volume \"%s\" already bound to a different claim.", v->obj.name);
    if (!object_annotation(&c->obj, ANN_BOUND_BY_CONTROLLER)) {
        stay_pending(s, c);
        return;
    }
    (void)error_set(&err, ERR_CONFLICT,
                    "invalid binding of claim \"%s\" to volume \"%s\": volume already claimed by \"%s/%s\"",
                    s->key, v->obj.name, v->claim.ns, v->claim.name);
    log_error("claim bound by this controller to volume of another claim", LOG_STR("claim", s->key),
              LOG_ERR(&err));
    sync_fail(s);
}

static void report_mismatch(struct sync *s, const struct claim *c, const struct volume *v, enum reject why)
{
    struct binder *b = s->ctx;

    if (why == REJECT_DELETING)
        binder_record_event(
            b, key_of(s), &c->obj, EVENT_WARNING, "VolumeMismatch",
            "Cannot bind to requested volume \"%s\": the volume is marked for deletion \"%s\"", v->obj.name,
            v->obj.name);
    else
        binder_record_event(b, key_of(s), &c->obj, EVENT_WARNING, "VolumeMismatch",
                            "Cannot bind to requested volume \"%s\": %s", v->obj.name, match_named_text(why));
}

static enum sync_result sync_named(struct sync *s, const struct claim *c, const struct claim_decision *d)
{
    if (d->step == CLAIM_STEP_BIND)
        return bind_pair(s, d->volume, c);
    if (d->step == CLAIM_STEP_TAKEN) {
        sync_refused(s, c, d->volume);
        return sync_end(s);
    }
    if (d->step == CLAIM_STEP_MISMATCH)
        report_mismatch(s, c, d->volume, d->reject);
    stay_pending(s, c);
    return sync_end(s);
}

/* --- Bound before --- */

struct loss {
    const char *reason;
    const char *message;
};

static const struct loss lost_reference = {
    "ClaimLost", "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"
};
static const struct loss lost_volume = {
    "ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
};
static const struct loss misbound = {
    "ClaimMisbound", "Two claims are bound to the same volume, this one is bound incorrectly"
};

static void on_lost(const struct sync_request *request, enum api_outcome outcome,
                    const struct client_answer *a)
{
    struct binder *b = request->sync->ctx;
    const struct loss *loss = request->arg;

    if (outcome == API_DONE && a->object)
        recorder_event(b->recorder, a->object, EVENT_WARNING, loss->reason, "%s", loss->message);
}

static void set_claim_lost(struct sync *s, const struct claim *c, const struct loss *why)
{
    if (c->phase != CLAIM_LOST)
        set_claim_status(s, c, CLAIM_LOST, NULL, on_lost, why);
}

/* The server has been asked for the volume: what it says counts. */
static void on_volume(const struct sync_request *request, enum api_outcome outcome,
                      const struct client_answer *a)
{
    struct binder *b = request->sync->ctx;
    const struct object *o = informer_get_key(b->claims, str_of(request->sync->key));
    const struct volume *v = a->object ? volume_of(a->object) : NULL;
    const struct claim *c = o ? claim_of(o) : NULL;

    if (outcome == API_REFUSED && a->r != -ERR_NOT_FOUND)
        return; /* no proof of anything */
    if (v)
        informer_observe(b->volumes, a->object);
    if (!c || strcmp(c->obj.uid, request->about->uid) != 0 ||
        !object_annotation(&c->obj, ANN_BIND_COMPLETED) || (v && strcmp(v->obj.name, c->volume_name) != 0))
        return; /* it is another story by now; its event brings it back */
    if (decide_has_volume(c, v))
        bind_steps(request->sync, v, c);
    else
        set_claim_lost(request->sync, c, v ? &misbound : &lost_volume);
}

/* C2 to C5. Only the server's word makes a claim Lost, or undoes that: a cache that is behind would cry out
 * for data that is there, and two binders would take turns for ever. */
static enum sync_result sync_bound(struct sync *s, const struct claim *c, const struct claim_decision *d)
{
    bool is_lost = c->phase == CLAIM_LOST, has_volume = d->step == CLAIM_STEP_BIND;

    if (d->step == CLAIM_STEP_LOST_REFERENCE)
        set_claim_lost(s, c, &lost_reference);
    else if (has_volume && (!is_lost || !d->volume->claim.is_set))
        return bind_pair(s, d->volume, c); /* as a rule there is nothing to write */
    else if (has_volume && is_lost && MUTANT("binder-cries-lost"))
        bind_steps(s, d->volume, c);
    else if (has_volume == is_lost && MUTANT("binder-cries-lost"))
        set_claim_lost(s, c, d->volume ? &misbound : &lost_volume);
    else if (has_volume == is_lost)
        sync_read(s, KIND_VOLUME, "", c->volume_name, &c->obj, on_volume);
    return sync_end(s);
}

/* The same search as everybody's, and timed. */
static int find_volume(void *ctx, const struct claim *c, const struct match_options *o,
                       const struct volume **ret, struct error *err)
{
    struct binder *b = ctx;
    const struct clock *clock = b->o.part.clock;
    uint64_t from_ns = clock_mono_ns(clock);
    int r = volume_index_match(b->index, c, o, ret, err);

    binder_metrics_matched(b->metrics, clock_mono_ns(clock) - from_ns);
    return r;
}

enum sync_result sync_claim(struct binder *b, struct str key)
{
    const struct object *o = informer_get_key(b->claims, key);
    struct binder_view sight = binder_view(b);
    struct binder_key k = { BINDER_CLAIMS, key };
    struct claim_decision d;
    const struct claim *c;
    struct sync *s;

    if (!o) {
        binder_unassume(b, k);
        pass_on_offer(b, k, NULL);
        binder_forget(b, k);
        binder_log_deleted(k);
        return SYNC_DONE;
    }
    c = claim_of(o);
    s = sync_begin(b->queues[k.queue], key);
    if (migrate_claim(s, c))
        return sync_end(s);
    sight.match = find_volume;
    binder_unassume(b, k); /* by the same rules as any other volume, and nobody comes in between */
    decide_claim(&sight, c, &d);
    s->rest = d.step == CLAIM_STEP_MISMATCH ? reject_names[d.reject] : claim_step_names[d.step];
    if (c->volume_name[0] == '\0' && d.step != CLAIM_STEP_LOST_REFERENCE)
        return sync_unbound(s, c, &d);
    waiting_remove(b->waiting, c->obj.ns, c->obj.name);
    pass_on_offer(b, k, d.volume);
    if (object_annotation(&c->obj, ANN_BIND_COMPLETED))
        return sync_bound(s, c, &d);
    return sync_named(s, c, &d);
}
