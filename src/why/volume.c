/* Why a volume is as it is: why nobody has it, who has it, what its reclaiming waits for.
 *
 * Asked in the order in which it is decided: is it going, is its node there, whose is it; then by its phase.
 * Whether it would serve a claim is match_volume()'s word, who deletes it is decide_deleter()'s: the binder
 * asks the same. Costs a look at every claim that waits, and at the nodes. */
#include "why/world.h"

#include <stdio.h>
#include <string.h>

#include "api/class.h"
#include "api/local_volume.h"
#include "base/cleanup.h"
#include "controllers/binder/binder.h"
#include "plugins/registry.h"
#include "volumes/match.h"
#include "why/claim.h"
#include "why/unmountable.h"
#include "why/users.h"
#include "why/walk.h"

/* It may be refused for good reasons. */
#define ADVISE_KEEP                                                \
    "To keep its data instead: berth patch pv %s --type=merge -p " \
    "'{\"spec\":{\"persistentVolumeReclaimPolicy\":\"Retain\"}}'"
/* The record goes, and the next scan records what is there. */
#define ADVISE_REPLACE                                                                             \
    "If the data of the old disk may be lost, let the volume have the new one: berth patch pv %s " \
    "--type=merge -p '{\"metadata\":{\"annotations\":{\"" ANN_DISK "\":null}}}'"
#define ADVISE_RESIZE                                      \
    "To use all of it: berth patch pv %s --type=merge -p " \
    "'{\"spec\":{\"capacity\":{\"storage\":\"%s\"}}}'"
/* The claimRef goes, and with it the claim's hold on the data. */
#define ADVISE_REUSE                                                                                \
    "To let another claim have it, once its data is not needed: berth patch pv %s --type=merge -p " \
    "'{\"spec\":{\"claimRef\":null}}'. The next claim finds the old data on it."

/* --- It is being deleted --- */

static void explain_finalizer(struct report *r, const struct volume *v, const char *finalizer)
{
    bool is_reclaim = strcmp(finalizer, FINALIZER_RECLAIM) == 0;

    if (strcmp(finalizer, FINALIZER_VOLUME_PROTECTION) == 0 && v->phase == VOLUME_BOUND) {
        report_cause(r, "bound", "it is being deleted, and stays as long as claim %s/%s has it", v->claim.ns,
                     v->claim.name);
        report_advise(r, "Delete the claim if its data may go: berth delete pvc %s -n %s", v->claim.name,
                      v->claim.ns);
        report_next(r, "when the claim is gone the volume is released and goes");
    } else if (strcmp(finalizer, FINALIZER_VOLUME_PROTECTION) == 0) {
        report_cause(r, "protection",
                     "it is being deleted, and the controllers have to take the finalizer "
                     "%s away",
                     finalizer);
        report_advise(r, "If this lasts, no controller runs: berth serve, or berth controllers.");
        report_next(r, "the finalizer is taken away, since no claim has it");
    } else if (is_reclaim || strcmp(finalizer, FINALIZER_EXTERNAL_RECLAIM) == 0) {
        const char *by = object_annotation(&v->obj, ANN_PROVISIONED_BY);

        report_cause(r, "storage-there",
                     "it is being deleted, and its storage has to be deleted before: by %s",
                     by ? by : "whoever provisioned it");
        report_next(r, "%s deletes the storage, then takes the finalizer %s away",
                    is_reclaim ? "the binder"
                    : by       ? by
                               : "the provisioner",
                    finalizer);
        if (v->reclaim != RECLAIM_DELETE)
            report_fact(r, "its reclaim policy is %s: the storage is not deleted",
                        reclaim_policy_names[v->reclaim]);
    } else {
        report_cause(r, "finalizer", "it is being deleted, and waits for whoever set the finalizer %s",
                     finalizer);
        report_advise(r, "Find out what sets %s and see why it does not take it away.", finalizer);
        report_next(r, "it goes when its last finalizer is gone");
    }
}

/* What is nobody's but a stranger's first: ours follow by themselves. */
static void explain_deleting(struct report *r, const struct volume *v)
{
    const struct texts *all = &v->obj.finalizers;

    if (v->phase == VOLUME_BOUND && object_has_finalizer(&v->obj, FINALIZER_VOLUME_PROTECTION))
        explain_finalizer(r, v, FINALIZER_VOLUME_PROTECTION);
    for (uint32_t i = 0; i < all->count; i++)
        if (strcmp(all->items[i], FINALIZER_VOLUME_PROTECTION) != 0)
            explain_finalizer(r, v, all->items[i]);
    if (!report_has_cause(r) && all->count > 0)
        explain_finalizer(r, v, all->items[0]);
    if (all->count == 0)
        report_cause(r, "going", "it is being deleted, and nothing holds it any more");
}

/* --- Nobody has it --- */

/* The claims that wait for a volume, each with the rule that refuses this one. */
struct takers {
    struct why_walk walk; /* about the volume */
    struct report counted;
    size_t waiting;
    const struct object *fits;    /* the first that could have it, a reference; NULL */
    const struct object *nearest; /* a reference */
    unsigned refusals;            /* of the nearest */
};

static bool is_waiting(const struct claim *c)
{
    return c->volume_name[0] == '\0' && !object_annotation(&c->obj, ANN_BIND_COMPLETED) &&
           !c->obj.is_deleting;
}

static void count_taker(struct takers *x, const struct volume *v, const struct claim *c, enum reject first)
{
    _cleanup_(buf_done_p) struct buf words = BUF_INIT(WHY_LINE_BYTES_MAX), name = BUF_INIT(1024);

    if (!report_count(&x->counted, reject_names[first]))
        return;
    if (first == REJECT_NONE)
        buf_add_cstr(&words, "fits");
    else
        match_words(first, v, c, &words);
    object_key(&c->obj, &name);
    report_example(&x->counted, reject_names[first], buf_cstr(&name), "%s", buf_cstr(&words));
}

static size_t visit_taker(const struct why_world *w, struct why_walk *walk, const struct object *o)
{
    struct takers *x = CONTAINER_OF(walk, struct takers, walk);
    const struct volume *v = volume_of(walk->about);
    const struct claim *c = claim_of(o);
    struct match_options options;
    struct error ignored;
    unsigned refusals;
    enum reject first;

    if (!is_waiting(c) || why_search(w, c, &options, &ignored) < 0)
        return 1; /* or its class is wrong: nothing is bound to it */
    first = match_volume(v, c, &options);
    refusals = match_refusals(v, c, &options);
    why_walk_begin_counting(w, &x->counted);
    x->waiting++;
    if (first == REJECT_NONE && !x->fits)
        why_walk_hold(&x->fits, o);
    if (!x->nearest || __builtin_popcount(refusals) < __builtin_popcount(x->refusals)) {
        why_walk_hold(&x->nearest, o);
        x->refusals = refusals;
    }
    count_taker(x, v, c, first);
    return 1;
}

static void clear_takers(struct why_walk *walk)
{
    struct takers *x = CONTAINER_OF(walk, struct takers, walk);

    why_walk_hold(&x->fits, NULL);
    why_walk_hold(&x->nearest, NULL);
}

static const struct why_walk_type takers_type = {
    .bytes = sizeof(struct takers), .kind = KIND_CLAIM, .visit = visit_taker, .clear = clear_takers
};

/* What a claim takes in place of a volume. */
struct better_walk {
    struct why_walk walk;      /* about a claim, and a volume */
    const struct object *best; /* a reference; NULL: the volume itself */
};

static size_t visit_better(const struct why_world *w, struct why_walk *walk, const struct object *o)
{
    struct better_walk *x = CONTAINER_OF(walk, struct better_walk, walk);
    const struct volume *best = volume_of(x->best ? x->best : walk->other), *v = volume_of(o);

    (void)w;
    if (match_volume(v, claim_of(walk->about), &(struct match_options){ 0 }) == REJECT_NONE &&
        (v->claim.is_set || (!best->claim.is_set && volume_cmp_size_name(v, best) < 0)))
        why_walk_hold(&x->best, strcmp(o->name, walk->other->name) == 0 ? NULL : o);
    return 1;
}

static void clear_better(struct why_walk *walk)
{
    why_walk_hold(&CONTAINER_OF(walk, struct better_walk, walk)->best, NULL);
}

static const struct why_walk_type better_type = {
    .bytes = sizeof(struct better_walk), .kind = KIND_VOLUME, .visit = visit_better, .clear = clear_better
};

/* What the claim takes in place of this one; NULL: this one. */
static const struct volume *better_for(const struct why_world *w, const struct claim *c,
                                       const struct volume *v)
{
    struct why_walk *walk = why_walk_get(w, &better_type, &c->obj, &v->obj, /* flags= */ 0);
    const struct better_walk *x = walk ? CONTAINER_OF(walk, struct better_walk, walk) : NULL;

    return x && walk->is_done && x->best ? volume_of(x->best) : NULL;
}

static void explain_fits(const struct why_world *w, struct report *r, const struct volume *v,
                         const struct claim *c)
{
    const struct volume *better = better_for(w, c, v);

    if (better) {
        report_cause(r, WHY_NOTHING, "it is free: claim %s/%s would do with it, and takes %s first",
                     c->obj.ns, c->obj.name, better->obj.name);
        return;
    }
    report_cause(r, "binding", "claim %s/%s is about to be bound to it", c->obj.ns, c->obj.name);
    report_advise(r, "If this lasts, nobody binds here: see that the controllers run and may write (berth "
                     "controllers, berth serve).");
    report_next(r, "the binder writes the claim into the volume, then the volume into the claim");
}

static void explain_free(const struct why_world *w, struct report *r, const struct volume *v)
{
    _cleanup_(buf_done_p) struct buf words = BUF_INIT(WHY_LINE_BYTES_MAX);
    struct why_walk *walk = why_walk_get(w, &takers_type, &v->obj, /* other= */ NULL, /* flags= */ 0);
    struct takers *x = walk ? CONTAINER_OF(walk, struct takers, walk) : NULL;
    const struct claim *nearest;
    enum reject first;
    const char *word;

    if (!x || !walk->is_done)
        return;
    why_walk_take_candidates(w, walk, &x->counted, r);
    if (x->waiting == 0) {
        report_cause(r, WHY_NOTHING, "it is free, and no claim waits for a volume");
    } else if (x->fits) {
        explain_fits(w, r, v, claim_of(x->fits));
    } else {
        nearest = claim_of(x->nearest);
        first = (enum reject)__builtin_ctz(x->refusals);
        match_words(first, v, nearest, &words);
        word = __builtin_popcount(x->refusals) > 1 ? "no-match" : reject_names[first];
        if (x->waiting == 1)
            report_cause(r, word, "the only waiting claim, %s/%s, cannot take it: %s", nearest->obj.ns,
                         nearest->obj.name, buf_cstr(&words));
        else
            report_cause(r, word, "none of the %zu waiting claims can take it; the nearest is %s/%s: %s",
                         x->waiting, nearest->obj.ns, nearest->obj.name, buf_cstr(&words));
        report_next(r, "it is bound when a claim that it fits is created%s",
                    first == REJECT_DELAYED ? ", or a pod uses the claim" : "");
        report_advise(r, "See the claim: berth why pvc/%s -n %s", nearest->obj.name, nearest->obj.ns);
    }
}

/* --- It is kept for a claim by name --- */

static void explain_kept(const struct why_world *w, struct report *r, const struct volume *v)
{
    _cleanup_(buf_done_p) struct buf words = BUF_INIT(WHY_LINE_BYTES_MAX);
    const struct claim *c = why_claim_of(w, v);
    enum reject first = c ? match_volume(v, c, &(struct match_options){ 0 }) : REJECT_NONE;

    if (!c) {
        report_cause(r, "claim-missing", "it is kept for claim %s/%s, which does not exist", v->claim.ns,
                     v->claim.name);
        report_advise(r,
                      "Create the claim, or if nobody will, take the claimRef out of the volume: berth "
                      "patch pv %s --type=merge -p '{\"spec\":{\"claimRef\":null}}'",
                      v->obj.name);
        report_next(r, "it is bound when claim %s/%s is created and it fits", v->claim.ns, v->claim.name);
    } else if (c->volume_name[0] && strcmp(c->volume_name, v->obj.name) != 0) {
        report_cause(r, "claim-has-another", "it is kept for claim %s/%s, which has volume %s", v->claim.ns,
                     v->claim.name, c->volume_name);
        report_advise(r,
                      "Take the claimRef out of the volume, so that others can have it: berth patch pv %s "
                      "--type=merge -p '{\"spec\":{\"claimRef\":null}}'",
                      v->obj.name);
    } else if (first != REJECT_NONE) {
        match_words(first, v, c, &words);
        report_cause(r, reject_names[first], "it is kept for claim %s/%s, and does not fit it: %s",
                     v->claim.ns, v->claim.name, buf_cstr(&words));
        report_advise(r, "See the claim: berth why pvc/%s -n %s", c->obj.name, c->obj.ns);
    } else {
        explain_fits(w, r, v, c);
    }
}

/* --- It is a claim's --- */

static void add_users(const struct why_world *w, struct report *r, const struct volume *v)
{
    _cleanup_(buf_done_p) struct buf pods = BUF_INIT(WHY_LINE_BYTES_MAX),
                                     nodes = BUF_INIT(WHY_LINE_BYTES_MAX),
                                     waiting = BUF_INIT(WHY_LINE_BYTES_MAX);

    if (why_users(w, v->claim.ns, v->claim.name, NULL, &pods) > 0)
        report_fact(r, "used by pods: %s", buf_cstr(&pods));
    else
        report_fact(r, "no pod uses the claim");
    if (why_attached(w, v, NULL, WHY_ATTACHED, &nodes) > 0)
        report_fact(r, "attached to: %s", buf_cstr(&nodes));
    if (why_attached(w, v, NULL, WHY_TO_BE_ATTACHED, &waiting) > 0)
        report_fact(r, "not attached yet to: %s", buf_cstr(&waiting));
}

static void explain_bound(const struct why_world *w, struct report *r, const struct volume *v)
{
    const struct claim *c = why_claim_of(w, v);

    if (!c) {
        report_cause(r, "claim-gone", "its claim %s/%s is gone, and nobody has released it yet", v->claim.ns,
                     v->claim.name);
    } else if (strcmp(c->obj.uid, v->claim.uid) != 0) {
        report_cause(r, "claim-recreated", "its claim %s/%s was deleted; the one of that name is another",
                     v->claim.ns, v->claim.name);
    } else if (c->volume_name[0] == '\0') {
        report_cause(r, volume_rest_names[VOLUME_REST_HALF_BOUND],
                     "it is claim %s/%s's, and the claim does not say so yet", v->claim.ns, v->claim.name);
    } else if (strcmp(c->volume_name, v->obj.name) != 0) {
        report_cause(r, "claim-has-another", "it is kept for claim %s/%s, which has volume %s", v->claim.ns,
                     v->claim.name, c->volume_name);
    } else {
        report_cause(r, WHY_NOTHING, "nothing is wrong");
        add_users(w, r, v);
        return;
    }
    report_next(r, "the binder brings both in line");
    report_advise(r, "If this lasts, no controller runs: berth serve, or berth controllers.");
}

/* --- Its claim is gone --- */

/* What the binder does about it. */
struct work {
    bool is_there, is_running;
    unsigned failures;
    char message[ERROR_MSG_BYTES_MAX];
};

static void on_operation(void *ctx, const struct operation_state *s)
{
    struct work *x = ctx;

    x->is_there = true;
    x->is_running |= s->is_running;
    x->failures += s->failures;
    if (s->message[0])
        (void)snprintf(x->message, sizeof x->message, "%s", s->message);
}

static void explain_retained(const struct why_world *w, struct report *r, const struct volume *v)
{
    const struct claim *c = why_claim_of(w, v);

    report_cause(r, volume_rest_names[VOLUME_REST_RETAINED],
                 "its claim %s/%s is gone, and reclaim policy Retain keeps its data", v->claim.ns,
                 v->claim.name);
    if (c)
        report_fact(r, "there is a claim %s/%s again, but it is another: uid %s, not %s", v->claim.ns,
                    v->claim.name, c->obj.uid, v->claim.uid);
    report_advise(r, ADVISE_REUSE, v->obj.name);
    report_advise(r,
                  "If neither is needed: berth delete pv %s. The storage behind it stays and is yours to "
                  "remove.",
                  v->obj.name);
    report_next(r, "nothing happens by itself: that is what Retain means");
}

/* The node's agent cleans what it created, and what it takes over. */
static void explain_cleaning(const struct why_world *w, struct report *r, const struct volume *v,
                             const char *by)
{
    struct str node = { 0 }, uid = { 0 };
    const struct object *n = NULL;
    char name[256];

    if (local_volume_maker(v, &node, &uid) && node.len < sizeof name) {
        (void)snprintf(name, sizeof name, "%.*s", (int)node.len, node.s);
        n = why_get(w, KIND_NODE, "", name);
    }
    report_cause(r, "cleaning", "its claim %s/%s is gone, and the node it is on has to clean it: %s",
                 v->claim.ns, v->claim.name, by);
    report_advise(r, "If this lasts, see the events below, and that the part \"local\" runs on that node.");
    if (object_annotation(&v->obj, ANN_DISK_PROBLEM))
        return; /* what has to come first was said */
    if (n && uid.len && !str_is(uid, n->uid)) {
        report_fact(r, "node %s was registered again since it created the volume", n->name);
        report_next(r, "the node takes the volume over when it has found the same disk; then it is cleaned, "
                       "deleted, and created again under the same name");
    } else {
        report_next(r, "it is cleaned, deleted, and created again under the same name");
    }
}

/* Somebody else's to delete: whoever provisioned it, or serves its driver. */
static void explain_outside(const struct why_world *w, struct report *r, const struct volume *v)
{
    static const char *const reasons[] = { "VolumeFailedDelete", NULL };
    const char *by = object_annotation(&v->obj, ANN_PROVISIONED_BY);
    _cleanup_(buf_done_p) struct buf nodes = BUF_INIT(WHY_LINE_BYTES_MAX);
    struct why_warning said;

    if (why_last_event(w, &v->obj, reasons, &said)) {
        report_cause(r, "failing", "deleting it fails: %s", said.message);
        report_advise(r, "Mend what the message says; it is tried again by itself.");
        report_advise(r, ADVISE_KEEP, v->obj.name);
    }
    if (!by)
        by = v->source.kind == SOURCE_CSI ? v->source.csi->driver : "its provisioner";
    if (strncmp(by, LOCAL_PROVISIONER, strlen(LOCAL_PROVISIONER)) == 0) {
        explain_cleaning(w, r, v, by);
    } else if (why_attached(w, v, NULL, WHY_ANY, &nodes) > 0) {
        report_cause(r, "attached", "its claim is gone, and it cannot be deleted while it is attached to %s",
                     buf_cstr(&nodes));
        report_advise(r, "See what holds it there: berth get volumeattachments");
        report_next(r, "it is detached, then %s deletes its storage", by);
    } else {
        report_cause(r, volume_rest_names[VOLUME_REST_OUTSIDE],
                     "its claim %s/%s is gone, and %s has to delete its storage", v->claim.ns, v->claim.name,
                     by);
        report_advise(r, "If this lasts, %s does not run or fails: see its log and the events below.", by);
        report_next(r, "%s deletes the storage and then the volume", by);
    }
}

/* What a plugin of the binder's does. */
static void explain_work(const struct why_world *w, struct report *r, const struct volume *v,
                         const char *what)
{
    struct work x = { .is_there = false };

    if (w->binder)
        binder_each_operation(w->binder, &v->obj, on_operation, &x);
    if (x.failures > 0 || v->phase == VOLUME_FAILED) {
        report_cause(r, "failing", "%s it fails: %s", what,
                     x.message[0]    ? x.message
                     : v->message[0] ? v->message
                                     : "nobody says why");
        if (!why_advise_install(r, x.message[0] ? x.message : v->message, "the machine of the controllers"))
            report_advise(r, "Mend what the message says; it is tried again by itself.");
        report_advise(r, ADVISE_KEEP, v->obj.name);
        report_next(r, "it is tried again");
    } else if (x.is_running) {
        report_cause(r, volume_rest_names[VOLUME_REST_RECLAIMING],
                     "its claim is gone, and %s it is under way", what);
        report_next(r, "it ends by itself");
    } else {
        report_cause(r, volume_rest_names[VOLUME_REST_RECLAIMING],
                     "its claim is gone, and %s it is about to begin", what);
        report_advise(r, "If this lasts, no controller runs: berth serve, or berth controllers.");
        report_next(r, "the binder begins");
    }
}

static void explain_delete(const struct why_world *w, struct report *r, const struct volume *v)
{
    const struct volume_plugin *const *plugins =
        w->binder ? binder_sight(w->binder).plugins : plugins_builtin;
    const struct volume_plugin *plugin;
    struct error err;

    if (decide_deleter(plugins, v, &plugin, &err) < 0) {
        report_cause(r, "no-deleter", "its claim is gone, and nobody can delete its storage: %s", err.msg);
        report_advise(r,
                      "Delete the storage by hand, then berth delete pv %s; or keep it: berth patch pv %s "
                      "--type=merge -p '{\"spec\":{\"persistentVolumeReclaimPolicy\":\"Retain\"}}'",
                      v->obj.name, v->obj.name);
    } else if (plugin) {
        explain_work(w, r, v, "deleting");
    } else {
        explain_outside(w, r, v);
    }
}

static void explain_let_go(const struct why_world *w, struct report *r, const struct volume *v)
{
    switch ((enum reclaim_policy)v->reclaim) {
    case RECLAIM_RETAIN:
        explain_retained(w, r, v);
        break;
    case RECLAIM_DELETE:
        explain_delete(w, r, v);
        break;
    case RECLAIM_RECYCLE:
        explain_work(w, r, v, "recycling");
        report_fact(r, "Recycle is an old policy that few kinds of volumes know");
        break;
    case RECLAIM_UNKNOWN:
    case RECLAIM_COUNT:
        report_cause(r, "bad-policy", "its claim is gone, and its reclaim policy is none that is known");
    }
}

/* --- All of it --- */

/* One that no node can use helps nobody, whoever has it: false. */
static bool explain_reach(const struct why_world *w, struct report *r, const struct volume *v)
{
    _cleanup_(buf_done_p) struct buf nodes = BUF_INIT(WHY_LINE_BYTES_MAX),
                                     need = BUF_INIT(WHY_LINE_BYTES_MAX),
                                     labels = BUF_INIT(WHY_LINE_BYTES_MAX);

    if (!v->affinity || !w->caches[KIND_NODE])
        return true;
    if (why_reach(w, v, &nodes) > 0) {
        report_fact(r, "it can be used from: %s", buf_cstr(&nodes));
        return true;
    }
    why_write_need(w, v, &need);
    node_selector_words(v->affinity, &labels);
    report_cause(r, "node-gone", "no node matches its node affinity: it needs %s", buf_cstr(&need));
    if (v->claim.is_set)
        report_advise(r,
                      "Add a node labelled %s, or if its data is lost: berth delete pvc %s -n %s, then "
                      "berth delete pv %s",
                      buf_cstr(&labels), v->claim.name, v->claim.ns, v->obj.name);
    else
        report_advise(r, "Add a node labelled %s, or if there will be none: berth delete pv %s",
                      buf_cstr(&labels), v->obj.name);
    report_next(r, "it can be used when a node with its labels is there");
    return false;
}

/* What the discovery on its node says of its disk: api/local_volume.h. */
static void explain_disk(struct report *r, const struct volume *v)
{
    _cleanup_(buf_done_p) struct buf size = BUF_INIT(QUANTITY_TEXT_BYTES_MAX);
    const char *problem = object_annotation(&v->obj, ANN_DISK_PROBLEM);
    struct quantity disk;

    if (problem) {
        report_cause(r, local_disk_is_replaced(v) ? "disk-replaced" : "disk-missing",
                     "its disk cannot be used: %s", problem);
        report_advise(r, "Mount its disk there, on its node. Pods that wait for it are tried again.");
        report_next(r, "it is used again, or cleaned, when its disk is there");
        if (local_disk_is_replaced(v))
            report_advise(r, ADVISE_REPLACE, v->obj.name);
    } else if (local_disk_capacity(v, &disk) && v->has_capacity && quantity_cmp(&disk, &v->capacity) != 0) {
        quantity_format(&disk, &size);
        report_fact(r, "its disk holds %s", buf_cstr(&size));
        if (quantity_cmp(&disk, &v->capacity) > 0)
            report_advise(r, ADVISE_RESIZE, v->obj.name, buf_cstr(&size));
    }
}

static void explain_phase(const struct why_world *w, struct report *r, const struct volume *v)
{
    const struct claim *c = why_claim_of(w, v);

    if (v->phase == VOLUME_PHASE_UNSET || v->phase == VOLUME_PENDING) {
        report_cause(r, "no-controller", "no controller has looked at it yet");
        report_advise(r, "If this lasts, none runs: berth serve, or berth controllers.");
        report_next(r, "the binder makes it Available, or binds it");
    } else if (v->phase == VOLUME_RELEASED || v->phase == VOLUME_FAILED) {
        if (decide_is_released(v, c))
            explain_let_go(w, r, v);
        else
            explain_bound(w, r, v);
    } else if (v->claim.is_set && v->claim.uid[0] == '\0') {
        explain_kept(w, r, v);
    } else if (v->claim.is_set) {
        explain_bound(w, r, v);
    } else {
        explain_free(w, r, v);
    }
}

static void add_state(struct report *r, const struct volume *v)
{
    const char *phase = volume_phase_name((enum volume_phase)v->phase);

    if (v->obj.is_deleting)
        report_state(r, "Terminating");
    else if (v->phase == VOLUME_BOUND)
        report_state(r, "Bound to %s/%s", v->claim.ns, v->claim.name);
    else
        report_state(r, "%s", phase[0] ? phase : "Pending");
}

void why_volume(const struct why_world *w, struct report *r, const struct object *volume)
{
    const struct volume *v = volume_of(volume);
    bool is_reachable;

    add_state(r, v);
    if (v->obj.is_deleting)
        explain_deleting(r, v);
    is_reachable = explain_reach(w, r, v);
    explain_disk(r, v);
    why_unmountable_kind(w, r, v);
    if (is_reachable || v->claim.is_set)
        explain_phase(w, r, v);
    if (v->message[0])
        report_fact(r, "its status says: %s", v->message);
    why_add_operations(w, r, volume);
    why_add_events(w, r, volume, /* over= */ NULL);
}
