/* A claim: what was decided for it (decide.h) is done. The rows are those of docs/binder.md. */
#include "controllers/binder/binder_int.h"

#include <string.h>

#include "api/pod.h"
#include "base/log.h"
#include "base/mutant.h"
#include "base/vec.h"
#include "controllers/binder/binder_metrics.h"

/* --- Events of claims that wait --- */

static struct binder_key key_of(struct round *r)
{
    return (struct binder_key){ BINDER_CLAIMS, str_of(round_name(r)) };
}

static void tell_waits_for_pods(struct round *r, const struct claim *c)
{
    _cleanup_(buf_done_p) struct buf names = BUF_INIT(4096);
    struct binder *b = round_binder(r);
    struct informer_cursor at;
    unsigned count = 0;

    /* In the order of keys: of one namespace, by name. */
    for (const struct object *o = informer_first_by(b->pods, PODS_BY_CLAIM, str_of(round_name(r)), &at); o;
         o = informer_next(&at))
        if (decide_is_waiting_pod(pod_of(o)))
            buf_addf(&names, "%s%s", count++ ? "," : "", o->name);
    if (count == 0)
        binder_tell(b, key_of(r), &c->obj, EVENT_NORMAL, "WaitForFirstConsumer",
                    "waiting for first consumer to be created before binding");
    else
        binder_tell(b, key_of(r), &c->obj, EVENT_NORMAL, "WaitForPodScheduled",
                    "waiting for pod%s %s to be scheduled", count > 1 ? "s" : "", buf_cstr(&names));
}

/* --- The default class --- */

static void on_class_set(struct binder *b, const struct step *s, const struct client_answer *a)
{
    (void)s;
    binder_metrics_retroactive(b->metrics, a->r < 0);
}

static void set_class(struct round *r, const struct claim *c, const struct storage_class *k)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(BINDER_BODY_BYTES_MAX);
    struct merge_patch p;
    struct error err;

    merge_patch_begin(&p, &body, &c->obj);
    merge_patch_member(&p, "spec");
    buf_add_cstr(&body, "{\"storageClassName\":");
    json_write_string(&body, str_of(k->obj.name));
    buf_add_char(&body, '}');
    if (merge_patch_end(&p, &err) < 0)
        round_fail(r);
    else
        round_patch(r, &c->obj, NULL, &body, "claim-class", on_class_set, NULL);
}

/* --- Without a volume's name --- */

static enum wants wants_of(const struct match_options *search)
{
    if (search->is_delayed)
        return WANTS_NO_VOLUME;
    return search->awaits_class ? WANTS_UNPINNED : WANTS_ANY;
}

/* It comes again when volumes with node affinity are its too. Its class wakes it before that. */
static void come_when_old(struct round *r, const struct claim *c)
{
    struct binder *b = round_binder(r);
    uint64_t now_ns = loop_now_ns(b->o.part.loop), until_ns = binder_new_until_ns(b, c);

    workqueue_add_after(controller_queue(b->queues[BINDER_CLAIMS]), key_of(r).name,
                        until_ns > now_ns ? until_ns - now_ns : 0);
}

/* A3 to A6: nothing fits. */
static enum sync_result sync_unmatched(struct round *r, const struct claim *c, const struct claim_decision *d)
{
    struct binder *b = round_binder(r);

    waiting_put(b->waiting, c, wants_of(&d->search));
    if (d->search.awaits_class)
        come_when_old(r, c);
    if (d->step == CLAIM_STEP_SET_CLASS) {
        set_class(r, c, d->class);
    } else if (d->step == CLAIM_STEP_AWAIT_POD) {
        tell_waits_for_pods(r, c);
        (void)set_claim_status(r, c, CLAIM_PENDING, NULL, NULL, NULL);
    } else if (d->step == CLAIM_STEP_NO_CLASS) {
        binder_tell(b, key_of(r), &c->obj, EVENT_NORMAL, "FailedBinding",
                    "no persistent volumes available for this claim and no storage class is set");
        (void)set_claim_status(r, c, CLAIM_PENDING, NULL, NULL, NULL);
    } else if (d->step != CLAIM_STEP_AWAIT_CLASS) {
        provision_claim(r, c, d);
    }
    return round_end(r);
}

/* The volume that this claim was woken for, if it takes another, may serve somebody else. Before the claim
 * waits again: it is not to be asked twice. */
static void pass_on_offer(struct binder *b, struct binder_key k, const struct volume *taken)
{
    struct key_state *state = binder_find_state(b, k);
    const char *offered = state ? TAKE(state->offered) : NULL;

    if (offered && (!taken || strcmp(taken->obj.name, offered) != 0))
        binder_offer(b, offered);
    free((void *)(uintptr_t)offered);
}

static enum sync_result sync_unbound(struct round *r, const struct claim *c, const struct claim_decision *d)
{
    struct binder *b = round_binder(r);

    if (d->step == CLAIM_STEP_FAIL)
        waiting_put(b->waiting, c, WANTS_NO_VOLUME); /* a class may help, or time */
    else if (d->step == CLAIM_STEP_BIND)
        waiting_remove(b->waiting, c->obj.ns, c->obj.name);
    pass_on_offer(b, key_of(r), d->volume);
    if (d->step == CLAIM_STEP_BIND)
        return bind_pair(r, d->volume, c);
    if (d->step != CLAIM_STEP_FAIL)
        return sync_unmatched(r, c, d);
    log_error("claim not synced", LOG_STR("claim", round_name(r)), LOG_ERR(&d->err));
    binder_note_failure(b, key_of(r), d->err.msg);
    round_fail(r);
    return round_end(r);
}

/* --- With a volume's name --- */

static void stay_pending(struct round *r, const struct claim *c)
{
    (void)set_claim_status(r, c, CLAIM_PENDING, NULL, NULL, NULL);
}

/* B5, B6: the named volume is another claim's. */
static void sync_refused(struct round *r, const struct claim *c, const struct volume *v)
{
    struct binder *b = round_binder(r);
    struct error err;

    binder_tell(b, key_of(r), &c->obj, EVENT_WARNING, "FailedBinding",
                "volume \"%s\" already bound to a different claim.", v->obj.name);
    if (!object_annotation(&c->obj, ANN_BOUND_BY_CONTROLLER)) {
        stay_pending(r, c);
        return;
    }
    (void)error_set(&err, ERR_CONFLICT,
                    "invalid binding of claim \"%s\" to volume \"%s\": volume already claimed by \"%s/%s\"",
                    round_name(r), v->obj.name, v->claim.ns, v->claim.name);
    log_error("should never happen", LOG_STR("claim", round_name(r)), LOG_ERR(&err));
    round_fail(r);
}

static void tell_mismatch(struct round *r, const struct claim *c, const struct volume *v, enum reject why)
{
    struct binder *b = round_binder(r);

    if (why == REJECT_DELETING)
        binder_tell(b, key_of(r), &c->obj, EVENT_WARNING, "VolumeMismatch",
                    "Cannot bind to requested volume \"%s\": the volume is marked for deletion \"%s\"",
                    v->obj.name, v->obj.name);
    else
        binder_tell(b, key_of(r), &c->obj, EVENT_WARNING, "VolumeMismatch",
                    "Cannot bind to requested volume \"%s\": %s", v->obj.name, match_named_text(why));
}

static enum sync_result sync_named(struct round *r, const struct claim *c, const struct claim_decision *d)
{
    if (d->step == CLAIM_STEP_BIND)
        return bind_pair(r, d->volume, c);
    if (d->step == CLAIM_STEP_TAKEN) {
        sync_refused(r, c, d->volume);
        return round_end(r);
    }
    if (d->step == CLAIM_STEP_MISMATCH)
        tell_mismatch(r, c, d->volume, d->reject);
    stay_pending(r, c);
    return round_end(r);
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

static void on_lost(struct binder *b, const struct step *s, const struct client_answer *a)
{
    const struct loss *loss = s->ctx;

    if (a->r == 0 && a->object)
        recorder_event(b->recorder, a->object, EVENT_WARNING, loss->reason, "%s", loss->message);
}

static void lose(struct round *r, const struct claim *c, const struct loss *why)
{
    if (c->phase != CLAIM_LOST)
        (void)set_claim_status(r, c, CLAIM_LOST, NULL, on_lost, (void *)(uintptr_t)why);
}

/* The server has been asked for the volume: what it says counts. */
static void on_volume(struct binder *b, const struct step *s, const struct client_answer *a)
{
    const struct object *o = informer_get_key(b->claims, str_of(round_name(s->round)));
    const struct volume *v = a->object ? volume_of(a->object) : NULL;
    const struct claim *c = o ? claim_of(o) : NULL;

    if (a->r < 0 && a->error.code != ERR_NOT_FOUND)
        return; /* no proof of anything */
    if (v)
        informer_observe(b->volumes, a->object);
    if (!c || strcmp(c->obj.uid, s->ctx) != 0 || !object_annotation(&c->obj, ANN_BIND_COMPLETED) ||
        (v && strcmp(v->obj.name, c->volume_name) != 0))
        return; /* it is another story by now; its event brings it back */
    if (decide_has_volume(c, v))
        bind_steps(s->round, v, c);
    else
        lose(s->round, c, v ? &misbound : &lost_volume);
}

/* C2 to C5. Only the server's word makes a claim Lost, or undoes that: a cache that is behind would cry out
 * for data that is there, and two binders would take turns for ever. */
static enum sync_result sync_bound(struct round *r, const struct claim *c, const struct claim_decision *d)
{
    bool is_lost = c->phase == CLAIM_LOST, has_volume = d->step == CLAIM_STEP_BIND;

    if (d->step == CLAIM_STEP_LOST_REFERENCE)
        lose(r, c, &lost_reference);
    else if (has_volume && (!is_lost || !d->volume->claim.is_set))
        return bind_pair(r, d->volume, c); /* as a rule there is nothing to write */
    else if (has_volume == is_lost && MUTANT("binder-cries-lost"))
        is_lost ? bind_steps(r, d->volume, c) : lose(r, c, d->volume ? &misbound : &lost_volume);
    else if (has_volume == is_lost)
        round_get(r, KIND_VOLUME, "", c->volume_name, on_volume, round_keep(r, c->obj.uid));
    return round_end(r);
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
    struct binder_sight sight = binder_sight(b);
    struct binder_key k = { BINDER_CLAIMS, key };
    struct claim_decision d;
    const struct claim *c;
    struct round *r;

    if (!o) {
        binder_end_promise(b, k);
        pass_on_offer(b, k, NULL);
        binder_forget(b, k);
        binder_log_gone(k);
        return SYNC_DONE;
    }
    c = claim_of(o);
    r = round_begin(b, k);
    if (migrate_claim(r, c))
        return round_end(r);
    sight.match = find_volume;
    binder_end_promise(b, k); /* by the same rules as any other volume, and nobody comes in between */
    decide_claim(&sight, c, &d);
    round_rest(r, d.step == CLAIM_STEP_MISMATCH ? reject_names[d.reject] : claim_step_names[d.step]);
    if (c->volume_name[0] == '\0' && d.step != CLAIM_STEP_LOST_REFERENCE)
        return sync_unbound(r, c, &d);
    waiting_remove(b->waiting, c->obj.ns, c->obj.name);
    pass_on_offer(b, k, d.volume);
    if (object_annotation(&c->obj, ANN_BIND_COMPLETED))
        return sync_bound(r, c, &d);
    return sync_named(r, c, &d);
}
