/* A claim: which volume is to be its own, and how far that has come. The rows are those of docs/binder.md. */
#include "controllers/binder/binder_int.h"

#include <string.h>

#include "api/pod.h"
#include "base/log.h"
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
         o = informer_next(&at)) {
        const struct pod *pod = pod_of(o);

        if (pod->node_name[0] != '\0' || pod_is_terminated(pod))
            continue;
        (void)buf_addf(&names, "%s%s", count++ ? "," : "", o->name);
    }
    if (count == 0)
        binder_tell(b, key_of(r), &c->obj, EVENT_NORMAL, "WaitForFirstConsumer",
                    "waiting for first consumer to be created before binding");
    else
        binder_tell(b, key_of(r), &c->obj, EVENT_NORMAL, "WaitForPodScheduled",
                    "waiting for pod%s %s to be scheduled", count > 1 ? "s" : "", buf_cstr(&names));
}

/* --- The default class --- */

/* The newest, then by name. */
static const struct storage_class *default_class(const struct binder *b)
{
    const struct storage_class *best = NULL;
    struct informer_cursor at;

    for (const struct object *o = informer_first(b->classes, &at); o; o = informer_next(&at)) {
        const struct storage_class *k = (const struct storage_class *)(const void *)o;

        if (k->is_default && (!best || timestamp_cmp(k->obj.created, best->obj.created) > 0))
            best = k;
    }
    return best;
}

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
    (void)buf_add_cstr(&body, "{\"storageClassName\":");
    json_write_string(&body, str_of(k->obj.name));
    (void)buf_add_char(&body, '}');
    if (merge_patch_end(&p, &err) < 0)
        round_fail(r);
    else
        round_patch(r, &c->obj, NULL, &body, "claim-class", on_class_set, NULL);
}

/* --- Without a volume's name --- */

/* A3 to A6: nothing fits. */
static enum sync_result sync_unmatched(struct round *r, const struct claim *c, bool is_delayed)
{
    struct binder *b = round_binder(r);
    const struct storage_class *k = c->has_class ? NULL : default_class(b);

    waiting_put(b->waiting, c, /* wants_volume= */ !is_delayed);
    if (k) {
        set_class(r, c, k);
    } else if (is_delayed && !object_annotation(&c->obj, ANN_SELECTED_NODE)) {
        tell_waits_for_pods(r, c);
        (void)set_claim_status(r, c, CLAIM_PENDING, NULL, NULL, NULL);
    } else if (c->class[0] != '\0') {
        provision_claim(r, c);
    } else {
        binder_tell(b, key_of(r), &c->obj, EVENT_NORMAL, "FailedBinding",
                    "no persistent volumes available for this claim and no storage class is set");
        (void)set_claim_status(r, c, CLAIM_PENDING, NULL, NULL, NULL);
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

static int find_volume(struct binder *b, const struct claim *c, bool is_delayed, const struct volume **ret,
                       struct error *err)
{
    const struct clock *clock = b->o.part.clock;
    uint64_t from_ns = clock_mono_ns(clock);
    int r = volume_index_match(b->index, c, is_delayed, ret, err);

    binder_metrics_matched(b->metrics, clock_mono_ns(clock) - from_ns);
    return r;
}

static enum sync_result sync_unbound(struct round *r, const struct claim *c)
{
    struct binder *b = round_binder(r);
    const struct volume *v = NULL;
    struct error err;
    bool is_delayed = false;
    int e = binder_is_delayed(b, c, &is_delayed, &err);

    if (e == 0) {
        e = find_volume(b, c, is_delayed, &v, &err);
        if (e < 0)
            (void)error_wrap(&err, "error finding PV for claim \"%s\"", round_name(r));
    }
    if (e < 0)
        waiting_put(b->waiting, c, /* wants_volume= */ false); /* a class may help, or time */
    else if (v)
        waiting_remove(b->waiting, c->obj.ns, c->obj.name);
    pass_on_offer(b, key_of(r), v);
    if (e < 0) {
        log_error("claim not synced", LOG_STR("claim", round_name(r)), LOG_ERR(&err));
        round_fail(r);
        return round_end(r);
    }
    if (!v)
        return sync_unmatched(r, c, is_delayed);
    return bind_pair(r, v, c);
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

static enum sync_result sync_named(struct round *r, const struct claim *c)
{
    struct binder *b = round_binder(r);
    const struct volume *v = binder_volume(b, c->volume_name);
    enum reject why;

    if (!v) {
        stay_pending(r, c);
    } else if (v->claim.is_set && volume_is_for(v, c)) {
        return bind_pair(r, v, c);
    } else if (v->claim.is_set) {
        sync_refused(r, c, v);
    } else {
        why = match_named(v, c);
        if (why == REJECT_NONE)
            return bind_pair(r, v, c);
        tell_mismatch(r, c, v, why);
        stay_pending(r, c);
    }
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

/* The volume is the claim's, or can be: nobody's, or for it. */
static bool has_volume(const struct claim *c, const struct volume *v)
{
    return v && (!v->claim.is_set || strcmp(v->claim.uid, c->obj.uid) == 0);
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
    if (has_volume(c, v))
        bind_steps(s->round, v, c);
    else
        lose(s->round, c, v ? &misbound : &lost_volume);
}

/* C2 to C5. Only the server's word makes a claim Lost, or undoes that: a cache that is behind would cry out
 * for data that is there, and two binders would take turns for ever. */
static enum sync_result sync_bound(struct round *r, const struct claim *c)
{
    struct binder *b = round_binder(r);
    const struct volume *v = c->volume_name[0] ? binder_volume(b, c->volume_name) : NULL;
    bool is_lost = c->phase == CLAIM_LOST;

    if (c->volume_name[0] == '\0')
        lose(r, c, &lost_reference);
    else if (has_volume(c, v) && (!is_lost || !v->claim.is_set))
        return bind_pair(r, v, c); /* as a rule there is nothing to write */
    else if (has_volume(c, v) == is_lost)
        round_get(r, KIND_VOLUME, "", c->volume_name, on_volume, round_keep(r, c->obj.uid));
    return round_end(r);
}

enum sync_result sync_claim(struct binder *b, struct str key)
{
    const struct object *o = informer_get_key(b->claims, key);
    struct binder_key k = { BINDER_CLAIMS, key };
    const struct claim *c;
    struct round *r;
    bool is_bound;

    if (!o) {
        pass_on_offer(b, k, NULL);
        binder_forget(b, k);
        return SYNC_DONE;
    }
    c = claim_of(o);
    r = round_begin(b, k);
    if (migrate_claim(r, c))
        return round_end(r);
    is_bound = object_annotation(&c->obj, ANN_BIND_COMPLETED) != NULL;
    if (!is_bound && c->volume_name[0] == '\0')
        return sync_unbound(r, c);
    waiting_remove(b->waiting, c->obj.ns, c->obj.name);
    pass_on_offer(b, k, binder_volume(b, c->volume_name));
    return is_bound ? sync_bound(r, c) : sync_named(r, c);
}
