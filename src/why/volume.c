/* Explains the state of a volume: why it is not bound, what it is bound to, what blocks its reclaiming.
 *
 * Checks run in the order in which the binder decides: deletion, node affinity, claim, then the phase.
 * match_volume() and decide_deleter() decide, as they do for the binder. Costs one look per waiting claim,
 * and the nodes. */
#include "why/why_world.h"

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
#include "why/why_csi.h"
#include "why/why_walk.h"

/* Deletion may fail for a good reason: the data can be kept. */
#define ADVISE_KEEP                                                \
    "To keep its data instead: berth patch pv %s --type=merge -p " \
    "'{\"spec\":{\"persistentVolumeReclaimPolicy\":\"Retain\"}}'"
/* Removes the record of the disk; the next scan records the present one. */
#define ADVISE_REPLACE                                                                                 \
    "If the data of the old disk may be lost, accept the new disk: berth patch pv %s --type=merge -p " \
    "'{\"metadata\":{\"annotations\":{\"" ANN_DISK "\":null}}}'"
#define ADVISE_RESIZE                                          \
    "To use its full size: berth patch pv %s --type=merge -p " \
    "'{\"spec\":{\"capacity\":{\"storage\":\"%s\"}}}'"
/* Removes the claimRef; the data becomes available to the next claim. */
#define ADVISE_REUSE                                                                                       \
    "To make it Available for another claim, once its data is not needed: berth patch pv %s --type=merge " \
    "-p '{\"spec\":{\"claimRef\":null}}'. The next claim gets the old data."

/* --- It is being deleted --- */

/* The controllers of its CSI driver. False: they explain nothing, or it has no driver. */
static bool explain_driver(const struct why_world *w, struct why_report *r, const struct volume *v,
                           enum csi_duty duty, const char *code, const char *said)
{
    const char *driver = v->source.kind == SOURCE_CSI ? v->source.csi->driver : NULL;

    return driver && why_csi_is_driver(w, driver) &&
           why_csi(w, r,
                   &(struct why_csi_question){
                       .driver = driver, .duty = duty, .about = &v->obj, .code = code, .said = said });
}

/* The attacher of its driver keeps it until it is detached. */
static void explain_attacher(const struct why_world *w, struct why_report *r, const struct volume *v,
                             const char *finalizer)
{
    _cleanup_(buf_done_p) struct buf nodes = BUF_INIT(WHY_LINE_BYTES_MAX);

    if (why_attached(w, v, NULL, WHY_ANY, &nodes) > 0) {
        report_cause(r, "attached", "it is being deleted, and is kept while it is attached to %s (%s)",
                     buf_cstr(&nodes), finalizer);
        report_advise(r, "See what keeps it attached: berth get volumeattachments");
        report_next(r, "it is detached, then the finalizer %s is removed", finalizer);
        return;
    }
    report_cause(r, "finalizer",
                 "it is being deleted, and the attacher of its CSI driver has to remove the finalizer %s",
                 finalizer);
    if (!explain_driver(w, r, v, CSI_DUTY_ATTACH, "finalizer", ""))
        report_advise(r, "Start the driver's controllers: berth controllers --csi-endpoint unix://PATH, or "
                         "external-attacher.");
    report_advise(r,
                  "Only if the driver is gone for good: berth patch pv %s --type=json -p "
                  "'[{\"op\":\"remove\",\"path\":\"/metadata/finalizers\"}]'",
                  v->obj.name);
}

static void explain_finalizer(const struct why_world *w, struct why_report *r, const struct volume *v,
                              const char *finalizer)
{
    bool is_reclaim = strcmp(finalizer, FINALIZER_RECLAIM) == 0;

    if (strcmp(finalizer, FINALIZER_VOLUME_PROTECTION) == 0 && v->phase == VOLUME_BOUND) {
        report_cause(r, "bound", "it is being deleted, and is kept while claim %s/%s is bound to it",
                     v->claim.ns, v->claim.name);
        report_advise(r, "Delete the claim if its data may be lost: berth delete pvc %s -n %s", v->claim.name,
                      v->claim.ns);
        report_next(r, "when the claim is deleted, the volume is released and removed");
    } else if (strcmp(finalizer, FINALIZER_VOLUME_PROTECTION) == 0) {
        report_cause(r, "protection",
                     "it is being deleted, and the controllers have to remove the finalizer %s", finalizer);
        report_advise(r, "If this persists, no controller runs: start berth serve or berth controllers.");
        report_next(r, "the finalizer is removed, since no claim is bound to it");
    } else if (is_reclaim || strcmp(finalizer, FINALIZER_EXTERNAL_RECLAIM) == 0) {
        const char *by = object_annotation(&v->obj, ANN_PROVISIONED_BY);

        report_cause(r, "storage-there",
                     "it is being deleted, and its storage has to be deleted first: by %s",
                     by ? by : "the component that provisioned it");
        report_next(r, "%s deletes the storage, then removes the finalizer %s",
                    is_reclaim ? "the binder"
                    : by       ? by
                               : "the provisioner",
                    finalizer);
        if (v->reclaim != RECLAIM_DELETE)
            report_fact(r, "its reclaim policy is %s: the storage is not deleted",
                        reclaim_policy_names[v->reclaim]);
        if (!is_reclaim)
            (void)explain_driver(w, r, v, CSI_DUTY_PROVISION, "failing", "");
    } else if (why_csi_attacher_of(finalizer)) {
        explain_attacher(w, r, v, finalizer);
    } else {
        report_cause(r, "finalizer", "it is being deleted, and waits for the component that set finalizer %s",
                     finalizer);
        report_advise(r, "Find the component that sets %s, and check why it does not remove it.", finalizer);
        report_next(r, "it is removed with its last finalizer");
    }
}

/* Finalizers of other components first: Berth removes its own automatically. */
static void explain_deleting(const struct why_world *w, struct why_report *r, const struct volume *v)
{
    const struct texts *all = &v->obj.finalizers;

    if (v->phase == VOLUME_BOUND && object_has_finalizer(&v->obj, FINALIZER_VOLUME_PROTECTION))
        explain_finalizer(w, r, v, FINALIZER_VOLUME_PROTECTION);
    for (uint32_t i = 0; i < all->count; i++)
        if (strcmp(all->items[i], FINALIZER_VOLUME_PROTECTION) != 0)
            explain_finalizer(w, r, v, all->items[i]);
    if (!report_has_cause(r) && all->count > 0)
        explain_finalizer(w, r, v, all->items[0]);
    if (all->count == 0)
        report_cause(r, "going", "it is being deleted, and nothing blocks it");
}

/* --- It is not bound --- */

/* The claims that wait for a volume, each with the rule that refuses this one. */
struct unbound_claims {
    struct why_walk walk; /* about the volume */
    struct why_report counted;
    size_t waiting;
    const struct object *fits;    /* the first claim that it fits, a reference; NULL */
    const struct object *nearest; /* a reference */
    unsigned refusals;            /* of the closest */
};

static void count_waiting_claim(struct unbound_claims *waiting, const struct volume *v, const struct claim *c,
                                enum reject first)
{
    _cleanup_(buf_done_p) struct buf words = BUF_INIT(WHY_LINE_BYTES_MAX), name = BUF_INIT(1024);

    if (!report_count(&waiting->counted, reject_names[first]))
        return;
    if (first == REJECT_NONE)
        buf_add_cstr(&words, "fits");
    else
        match_words(first, v, c, &words);
    object_key(&c->obj, &name);
    report_example(&waiting->counted, reject_names[first], buf_cstr(&name), "%s", buf_cstr(&words));
}

static size_t visit_waiting_claim(const struct why_world *w, struct why_walk *walk, const struct object *o)
{
    struct unbound_claims *waiting = CONTAINER_OF(walk, struct unbound_claims, walk);
    const struct volume *v = volume_of(walk->about);
    const struct claim *c = claim_of(o);
    struct match_options options;
    struct error ignored;
    unsigned refusals;
    enum reject first;

    if (c->volume_name[0] || object_annotation(&c->obj, ANN_BIND_COMPLETED) || c->obj.is_deleting ||
        why_search(w, c, &options, &ignored) < 0)
        return 1; /* it does not wait, or its class is invalid and nothing is bound to it */
    first = match_volume(v, c, &options);
    refusals = match_refusals(v, c, &options);
    why_walk_begin_counting(w, &waiting->counted);
    waiting->waiting++;
    if (first == REJECT_NONE && !waiting->fits)
        why_walk_hold(&waiting->fits, o);
    if (!waiting->nearest || __builtin_popcount(refusals) < __builtin_popcount(waiting->refusals)) {
        why_walk_hold(&waiting->nearest, o);
        waiting->refusals = refusals;
    }
    count_waiting_claim(waiting, v, c, first);
    return 1;
}

static const struct why_walk_type waiting_claims_type = {
    .bytes = sizeof(struct unbound_claims),
    .kind = KIND_CLAIM,
    .visit = visit_waiting_claim,
    .held = { offsetof(struct unbound_claims, fits), offsetof(struct unbound_claims, nearest) },
};

/* The volume that a claim prefers to this one. */
struct better_walk {
    struct why_walk walk;      /* about a claim, and a volume */
    const struct object *best; /* a reference; NULL: the volume itself */
};

static size_t visit_better(const struct why_world *w, struct why_walk *walk, const struct object *o)
{
    struct better_walk *better_walk = CONTAINER_OF(walk, struct better_walk, walk);
    const struct volume *best = volume_of(better_walk->best ? better_walk->best : walk->other),
                        *v = volume_of(o);

    (void)w;
    if (match_volume(v, claim_of(walk->about), &(struct match_options){ 0 }) == REJECT_NONE &&
        (v->claim.is_set || (!best->claim.is_set && volume_cmp_size_name(v, best) < 0)))
        why_walk_hold(&better_walk->best, strcmp(o->name, walk->other->name) == 0 ? NULL : o);
    return 1;
}

static const struct why_walk_type better_type = {
    .bytes = sizeof(struct better_walk),
    .kind = KIND_VOLUME,
    .visit = visit_better,
    .held = { offsetof(struct better_walk, best) },
};

static void explain_fits(const struct why_world *w, struct why_report *r, const struct volume *v,
                         const struct claim *c)
{
    const struct better_walk *better_walk =
        why_walk_result(w, &better_type, &c->obj, &v->obj, /* flags= */ 0);

    if (better_walk && better_walk->best) {
        report_cause(r, WHY_NOTHING, "it is free: claim %s/%s could use it, and takes %s first", c->obj.ns,
                     c->obj.name, better_walk->best->name);
        return;
    }
    report_cause(r, "binding", "claim %s/%s is about to be bound to it", c->obj.ns, c->obj.name);
    report_advise(r, "If this persists, no controller binds claims: check that the controllers run and have "
                     "write access (berth controllers, berth serve).");
    report_next(r, "the binder writes the claim into the volume, then the volume into the claim");
}

static void explain_free(const struct why_world *w, struct why_report *r, const struct volume *v)
{
    _cleanup_(buf_done_p) struct buf words = BUF_INIT(WHY_LINE_BYTES_MAX);
    struct unbound_claims *waiting =
        why_walk_result(w, &waiting_claims_type, &v->obj, /* other= */ NULL, /* flags= */ 0);
    const struct claim *nearest;
    enum reject first;
    const char *word;

    if (!waiting)
        return;
    why_walk_take_candidates(w, &waiting->walk, &waiting->counted, r);
    if (waiting->waiting == 0) {
        report_cause(r, WHY_NOTHING, "it is free, and no claim waits for a volume");
    } else if (waiting->fits) {
        explain_fits(w, r, v, claim_of(waiting->fits));
    } else {
        nearest = claim_of(waiting->nearest);
        first = (enum reject)__builtin_ctz(waiting->refusals);
        match_words(first, v, nearest, &words);
        word = __builtin_popcount(waiting->refusals) > 1 ? "no-match" : reject_names[first];
        if (waiting->waiting == 1)
            report_cause(r, word, "the only waiting claim, %s/%s, cannot use it: %s", nearest->obj.ns,
                         nearest->obj.name, buf_cstr(&words));
        else
            report_cause(r, word, "none of the %zu waiting claims can use it; the closest is %s/%s: %s",
                         waiting->waiting, nearest->obj.ns, nearest->obj.name, buf_cstr(&words));
        report_next(r, "it is bound when a claim that it fits is created%s",
                    first == REJECT_DELAYED ? ", or a pod uses the claim" : "");
        report_advise(r, "See the claim: berth why pvc/%s -n %s", nearest->obj.name, nearest->obj.ns);
    }
}

/* --- It is reserved for a claim by name --- */

static void explain_reserved(const struct why_world *w, struct why_report *r, const struct volume *v)
{
    _cleanup_(buf_done_p) struct buf words = BUF_INIT(WHY_LINE_BYTES_MAX);
    const struct claim *c = why_claim_of(w, v);
    enum reject first = c ? match_volume(v, c, &(struct match_options){ 0 }) : REJECT_NONE;

    if (!c) {
        report_cause(r, "claim-missing", "it is reserved for claim %s/%s, which does not exist", v->claim.ns,
                     v->claim.name);
        report_advise(r,
                      "Create the claim, or if it will not be created, remove the claimRef from the volume: "
                      "berth patch pv %s --type=merge -p '{\"spec\":{\"claimRef\":null}}'",
                      v->obj.name);
        report_next(r, "it is bound when claim %s/%s is created and it fits", v->claim.ns, v->claim.name);
    } else if (c->volume_name[0] && strcmp(c->volume_name, v->obj.name) != 0) {
        report_cause(r, "claim-has-another", "it is reserved for claim %s/%s, which is bound to volume %s",
                     v->claim.ns, v->claim.name, c->volume_name);
        report_advise(r,
                      "Remove the claimRef from the volume, so that other claims can use it: berth patch pv "
                      "%s --type=merge -p '{\"spec\":{\"claimRef\":null}}'",
                      v->obj.name);
    } else if (first != REJECT_NONE) {
        match_words(first, v, c, &words);
        report_cause(r, reject_names[first], "it is reserved for claim %s/%s, but does not fit it: %s",
                     v->claim.ns, v->claim.name, buf_cstr(&words));
        report_advise(r, "See the claim: berth why pvc/%s -n %s", c->obj.name, c->obj.ns);
    } else {
        explain_fits(w, r, v, c);
    }
}

/* --- It is bound --- */

static void add_users(const struct why_world *w, struct why_report *r, const struct volume *v)
{
    _cleanup_(buf_done_p) struct buf pods = BUF_INIT(WHY_LINE_BYTES_MAX),
                                     nodes = BUF_INIT(WHY_LINE_BYTES_MAX),
                                     waiting = BUF_INIT(WHY_LINE_BYTES_MAX);

    if (why_users(w, v->claim.ns, v->claim.name, NULL, /* is_placed= */ false, &pods) > 0)
        report_fact(r, "used by pods: %s", buf_cstr(&pods));
    else
        report_fact(r, "no pod uses the claim");
    if (why_attached(w, v, NULL, WHY_ATTACHED, &nodes) > 0)
        report_fact(r, "attached to: %s", buf_cstr(&nodes));
    if (why_attached(w, v, NULL, WHY_TO_BE_ATTACHED, &waiting) > 0)
        report_fact(r, "not attached yet to: %s", buf_cstr(&waiting));
}

static void explain_bound(const struct why_world *w, struct why_report *r, const struct volume *v)
{
    const struct claim *c = why_claim_of(w, v);

    if (!c) {
        report_cause(r, "claim-gone", "its claim %s/%s was deleted, and the volume is not released yet",
                     v->claim.ns, v->claim.name);
    } else if (strcmp(c->obj.uid, v->claim.uid) != 0) {
        report_cause(r, "claim-recreated",
                     "its claim %s/%s was deleted; the claim with that name now is a different one",
                     v->claim.ns, v->claim.name);
    } else if (c->volume_name[0] == '\0') {
        report_cause(r, volume_rest_names[VOLUME_REST_HALF_BOUND],
                     "it is bound to claim %s/%s, but the claim is not bound to it yet", v->claim.ns,
                     v->claim.name);
    } else if (strcmp(c->volume_name, v->obj.name) != 0) {
        report_cause(r, "claim-has-another", "it is reserved for claim %s/%s, which is bound to volume %s",
                     v->claim.ns, v->claim.name, c->volume_name);
    } else {
        report_cause(r, WHY_NOTHING, "nothing is wrong");
        add_users(w, r, v);
        return;
    }
    report_next(r, "the binder reconciles both");
    report_advise(r, "If this persists, no controller runs: start berth serve or berth controllers.");
}

/* --- Its claim was deleted --- */

/* The binder's operations for it. */
struct reclaim_operations {
    bool is_running;
    unsigned failures;
    char message[ERROR_MSG_BYTES_MAX];
};

static void on_operation(void *ctx, const struct operation_state *s)
{
    struct reclaim_operations *operations = ctx;

    operations->is_running |= s->is_running;
    operations->failures += s->failures;
    if (s->message[0])
        (void)snprintf(operations->message, sizeof operations->message, "%s", s->message);
}

static void explain_retained(const struct why_world *w, struct why_report *r, const struct volume *v)
{
    const struct claim *c = why_claim_of(w, v);

    report_cause(r, volume_rest_names[VOLUME_REST_RETAINED],
                 "its claim %s/%s was deleted, and reclaim policy Retain keeps its data", v->claim.ns,
                 v->claim.name);
    if (c)
        report_fact(r, "claim %s/%s exists again, but it is a different one: uid %s, not %s", v->claim.ns,
                    v->claim.name, c->obj.uid, v->claim.uid);
    report_advise(r, ADVISE_REUSE, v->obj.name);
    report_advise(
        r, "If neither is needed: berth delete pv %s. The storage remains and must be removed manually.",
        v->obj.name);
    report_next(r, "nothing; volumes with reclaim policy Retain must be cleaned up manually");
}

/* The node's agent cleans the volumes that it created or adopted. */
static void explain_cleaning(const struct why_world *w, struct why_report *r, const struct volume *v,
                             const char *by)
{
    struct str node = { 0 }, uid = { 0 };
    const struct object *n = NULL;
    char name[256];

    if (local_volume_maker(v, &node, &uid) && node.len < sizeof name) {
        (void)snprintf(name, sizeof name, "%.*s", (int)node.len, node.s);
        n = why_get(w, KIND_NODE, "", name);
    }
    report_cause(r, "cleaning", "its claim %s/%s was deleted, and its node has to clean it: %s", v->claim.ns,
                 v->claim.name, by);
    report_advise(
        r,
        "If this persists, see the events below, and check that the component \"local\" runs on that node.");
    if (object_annotation(&v->obj, ANN_DISK_PROBLEM))
        return; /* the cause already says what has to happen first */
    if (n && uid.len && !str_is(uid, n->uid)) {
        report_fact(r, "node %s was registered again since it created the volume", n->name);
        report_next(r, "the node adopts the volume when it has found the same disk; then it is cleaned, "
                       "deleted, and recreated under the same name");
    } else {
        report_next(r, "it is cleaned, deleted, and recreated under the same name");
    }
}

/* Deleted by an external component: its provisioner, or its CSI driver. */
static void explain_outside(const struct why_world *w, struct why_report *r, const struct volume *v)
{
    static const char *const reasons[] = { "VolumeFailedDelete", NULL };
    const char *by = object_annotation(&v->obj, ANN_PROVISIONED_BY);
    _cleanup_(buf_done_p) struct buf nodes = BUF_INIT(WHY_LINE_BYTES_MAX);
    struct why_warning said = { .message = "" };
    bool has_failed = why_last_event(w, &v->obj, reasons, &said);

    if (explain_driver(w, r, v, CSI_DUTY_PROVISION, "failing", has_failed ? said.message : "")) {
        report_advise(r, ADVISE_KEEP, v->obj.name);
        if (why_attached(w, v, NULL, WHY_ANY, &nodes) > 0)
            report_fact(r, "it is attached to %s, and cannot be deleted before it is detached",
                        buf_cstr(&nodes));
        return;
    }
    if (has_failed) {
        report_cause(r, "failing", "deleting it fails: %s", said.message);
        report_advise(r, "Fix the error above; Berth retries automatically.");
        report_advise(r, ADVISE_KEEP, v->obj.name);
    }
    if (!by)
        by = v->source.kind == SOURCE_CSI ? v->source.csi->driver : "its provisioner";
    if (strncmp(by, LOCAL_PROVISIONER, strlen(LOCAL_PROVISIONER)) == 0) {
        explain_cleaning(w, r, v, by);
    } else if (why_attached(w, v, NULL, WHY_ANY, &nodes) > 0) {
        report_cause(r, "attached",
                     "its claim was deleted, and the volume cannot be deleted while it is attached to %s",
                     buf_cstr(&nodes));
        report_advise(r, "See what keeps it attached: berth get volumeattachments");
        report_next(r, "it is detached, then %s deletes its storage", by);
    } else {
        report_cause(r, volume_rest_names[VOLUME_REST_EXTERNAL],
                     "its claim %s/%s was deleted, and %s has to delete its storage", v->claim.ns,
                     v->claim.name, by);
        report_advise(r, "If this persists, %s does not run or fails: see its log and the events below.", by);
        report_next(r, "%s deletes the storage and then the volume", by);
    }
}

/* Deleted or recycled by a plugin of the binder. */
static void explain_work(const struct why_world *w, struct why_report *r, const struct volume *v,
                         const char *what)
{
    struct reclaim_operations x = { .is_running = false };

    if (w->binder)
        binder_each_operation(w->binder, &v->obj, on_operation, &x);
    if (x.failures > 0 || v->phase == VOLUME_FAILED) {
        report_cause(r, "failing", "%s it fails: %s", what,
                     x.message[0]    ? x.message
                     : v->message[0] ? v->message
                                     : "no reason recorded");
        if (!why_advise_install(r, x.message[0] ? x.message : v->message,
                                "the machine that runs the controllers"))
            report_advise(r, "Fix the error above; Berth retries automatically.");
        report_advise(r, ADVISE_KEEP, v->obj.name);
        report_next(r, "it is retried");
    } else if (x.is_running) {
        report_cause(r, volume_rest_names[VOLUME_REST_RECLAIMING],
                     "its claim was deleted, and %s it is in progress", what);
        report_next(r, "the operation ends, and the volume is deleted or becomes Available");
    } else {
        report_cause(r, volume_rest_names[VOLUME_REST_RECLAIMING],
                     "its claim was deleted, and %s it is about to begin", what);
        report_advise(r, "If this persists, no controller runs: start berth serve or berth controllers.");
        report_next(r, "the binder starts the operation");
    }
}

static void explain_delete(const struct why_world *w, struct why_report *r, const struct volume *v)
{
    const struct volume_plugin *const *plugins = w->binder ? binder_view(w->binder).plugins : plugins_builtin;
    const struct volume_plugin *plugin;
    struct error err;

    if (decide_deleter(plugins, v, &plugin, &err) < 0) {
        report_cause(r, "no-deleter", "its claim was deleted, and no plugin can delete its storage: %s",
                     err.msg);
        report_advise(r,
                      "Delete the storage manually, then berth delete pv %s; or keep it: berth patch pv %s "
                      "--type=merge -p '{\"spec\":{\"persistentVolumeReclaimPolicy\":\"Retain\"}}'",
                      v->obj.name, v->obj.name);
    } else if (plugin) {
        explain_work(w, r, v, "deleting");
    } else {
        explain_outside(w, r, v);
    }
}

static void explain_released(const struct why_world *w, struct why_report *r, const struct volume *v)
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
        report_fact(r, "Recycle is a deprecated policy that few volume types support");
        break;
    case RECLAIM_UNKNOWN:
    case RECLAIM_COUNT:
        report_cause(r, "bad-policy", "its claim was deleted, and its reclaim policy is unknown");
    }
}

/* --- The whole volume --- */

/* False when no node matches its affinity: then nothing else matters. */
static bool explain_reach(const struct why_world *w, struct why_report *r, const struct volume *v)
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
        report_advise(
            r, "Add a node labelled %s, or if there will be none, delete the volume: berth delete pv %s",
            buf_cstr(&labels), v->obj.name);
    report_next(r, "it can be used when a matching node exists");
    return false;
}

/* What local discovery on its node records about its disk (api/local_volume.h). */
static void explain_disk(struct why_report *r, const struct volume *v)
{
    _cleanup_(buf_done_p) struct buf size = BUF_INIT(QUANTITY_TEXT_BYTES_MAX);
    const char *problem = object_annotation(&v->obj, ANN_DISK_PROBLEM);
    struct quantity disk;

    if (problem) {
        report_cause(r, local_disk_is_replaced(v) ? "disk-replaced" : "disk-missing",
                     "its disk cannot be used: %s", problem);
        report_advise(r, "Mount its disk on its node. Pods that wait for it are retried.");
        report_next(r, "it is used again, or cleaned, when its disk is available");
        if (local_disk_is_replaced(v))
            report_advise(r, ADVISE_REPLACE, v->obj.name);
    } else if (local_disk_capacity(v, &disk) && v->has_capacity && quantity_cmp(&disk, &v->capacity) != 0) {
        quantity_format(&disk, &size);
        report_fact(r, "its disk holds %s", buf_cstr(&size));
        if (quantity_cmp(&disk, &v->capacity) > 0)
            report_advise(r, ADVISE_RESIZE, v->obj.name, buf_cstr(&size));
    }
}

static void explain_phase(const struct why_world *w, struct why_report *r, const struct volume *v)
{
    const struct claim *c = why_claim_of(w, v);

    if (v->phase == VOLUME_PHASE_UNSET || v->phase == VOLUME_PENDING) {
        report_cause(r, "no-controller", "no controller has processed it yet");
        report_advise(r, "If this persists, no controller runs: start berth serve or berth controllers.");
        report_next(r, "the binder makes it Available, or binds it");
    } else if (v->phase == VOLUME_RELEASED || v->phase == VOLUME_FAILED) {
        if (decide_is_released(v, c))
            explain_released(w, r, v);
        else
            explain_bound(w, r, v);
    } else if (v->claim.is_set && v->claim.uid[0] == '\0') {
        explain_reserved(w, r, v);
    } else if (v->claim.is_set) {
        explain_bound(w, r, v);
    } else {
        explain_free(w, r, v);
    }
}

void why_volume(const struct why_world *w, struct why_report *r, const struct object *volume)
{
    const struct volume *v = volume_of(volume);
    const char *phase = volume_phase_name((enum volume_phase)v->phase);
    bool is_reachable;

    if (v->obj.is_deleting)
        report_state(r, "Terminating");
    else if (v->phase == VOLUME_BOUND)
        report_state(r, "Bound to %s/%s", v->claim.ns, v->claim.name);
    else
        report_state(r, "%s", phase[0] ? phase : "Pending");
    if (v->obj.is_deleting)
        explain_deleting(w, r, v);
    is_reachable = explain_reach(w, r, v);
    explain_disk(r, v);
    why_unmountable_kind(w, r, v);
    if (is_reachable || v->claim.is_set)
        explain_phase(w, r, v);
    if (v->message[0])
        report_fact(r, "its status message: %s", v->message);
    why_add_operations(w, r, volume);
    why_add_events(w, r, volume, /* over= */ NULL);
}
