/* Explains the state of a claim: what the binder decides for it, and the consequence.
 *
 * decide_claim() returns the row of the binder's decision table; each row has its texts here. Provisioning is
 * in claim_provision.c, expansion and deletion in claim_life.c. */
#include "why/claim.h"

#include <stdio.h>
#include <string.h>

#include "api/class.h"
#include "api/local_volume.h"
#include "api/pod.h"
#include "api/pod_claims.h"
#include "base/cleanup.h"
#include "controllers/binder/binder.h"
#include "machinery/component_deps.h"
#include "plugins/registry.h"
#include "volumes/index.h"
#include "why/pod.h"
#include "why/unmountable.h"
#include "why/users.h"
#include "why/why_walk.h"

/* Volumes compared with nodes, per explanation. */
#define REACH_CHECKS_MAX 1000
/* Nodes compared with a volume per look. */
#define NODES_PER_LOOK 8

/* --- The binder's index, or one like it --- */

/* Without a binder in this process an index is filled from the cache; the search is the same. */
struct index_walk {
    struct why_walk walk;
    struct volume_index *index; /* NULL: no volume added yet */
};

static size_t visit_indexed(const struct why_world *w, struct why_walk *walk, const struct object *o)
{
    struct index_walk *index_walk = CONTAINER_OF(walk, struct index_walk, walk);
    struct error ignored;
    int r = index_walk->index ? 0 : volume_index_new((struct hash_seed){ 0 }, &index_walk->index, &ignored);

    if (r < 0 || volume_index_put(index_walk->index, volume_of(o), &ignored) < 0)
        w->work->is_out_of_memory = true;
    return 1;
}

static void clear_index(struct why_walk *walk)
{
    struct index_walk *index_walk = CONTAINER_OF(walk, struct index_walk, walk);

    index_walk->index = volume_index_free(index_walk->index);
}

static const struct why_walk_type index_walk_type = {
    .bytes = sizeof(struct index_walk), .kind = KIND_VOLUME, .visit = visit_indexed, .clear = clear_index
};

static int search_match(void *ctx, const struct claim *c, const struct match_options *o,
                        const struct volume **ret, struct error *err)
{
    const struct why_world *w = ctx;
    const struct index_walk *index_walk =
        why_walk_result(w, &index_walk_type, /* about= */ NULL, /* other= */ NULL, /* flags= */ 0);

    *ret = NULL;
    if (!index_walk || !index_walk->index)
        return 0;
    return volume_index_match(index_walk->index, c, o, ret, err);
}

/* Created this recently: when a binder first observed the claim is not known here. */
static bool search_is_new(void *ctx, const struct claim *c)
{
    const struct why_world *w = ctx;
    int64_t now_ns = clock_real_ns(w->clock);

    return timestamp_cmp(c->obj.created, timestamp_of_ns(now_ns)) <= 0 &&
           timestamp_cmp(c->obj.created, timestamp_of_ns(now_ns - (int64_t)DECIDE_CLASS_WAIT_NS)) > 0;
}

static struct binder_view view_of(const struct why_world *w)
{
    if (w->binder)
        return binder_view(w->binder);
    return (struct binder_view){ .volumes = w->caches[KIND_VOLUME],
                                 .classes = w->caches[KIND_CLASS],
                                 .plugins = plugins_builtin,
                                 .match = search_match,
                                 .is_new = search_is_new,
                                 .ctx = (void *)(uintptr_t)w };
}

int why_search(const struct why_world *w, const struct claim *c, struct match_options *ret, struct error *err)
{
    struct binder_view view = view_of(w);

    return decide_search(&view, c, ret, err);
}

/* --- No volume fits --- */

/* Advises nothing where several rules refuse the volume: satisfying one of them does not help. */
static void advise_on_nearest(struct why_report *r, const struct claim *c, const struct candidates *found)
{
    const char *name = found->nearest->obj.name;
    enum candidate_obstacle obstacle = candidates_obstacle(found);

    if (obstacle == OBSTACLE_SEVERAL)
        return;
    if (obstacle == OBSTACLE_RELEASED)
        report_advise(r,
                      "If the data of %s is no longer needed: berth patch pv %s --type=merge -p "
                      "'{\"spec\":{\"claimRef\":null}}' makes it Available. The next claim gets its data.",
                      name, name);
    else if (obstacle == OBSTACLE_KEPT)
        report_advise(r,
                      "If %s is no longer meant for %s/%s, remove its claimRef: berth patch pv %s "
                      "--type=merge -p '{\"spec\":{\"claimRef\":null}}'",
                      name, found->nearest->claim.ns, found->nearest->claim.name, name);
    else if (found->first == REJECT_SIZE)
        report_advise(r, "Request less storage, or create a larger volume.");
    else if (found->first == REJECT_CLASS && found->nearest->class[0] != '\0')
        report_advise(r, "To use %s, request its class: storageClassName: %s", name, found->nearest->class);
    else if (found->first == REJECT_ACCESS_MODES)
        report_advise(r,
                      "Request access modes that a volume has, or create a volume with the requested ones.");
    else if (found->first == REJECT_DATA_SOURCE)
        report_advise(r,
                      "If %s already holds that data, or the claim can use it as it is, name it in the "
                      "claim: berth patch pvc %s -n %s --type=merge -p '{\"spec\":{\"volumeName\":\"%s\"}}'",
                      name, c->obj.name, c->obj.ns, name);
    else if (found->first == REJECT_PHASE && found->nearest->phase == VOLUME_FAILED)
        report_advise(r, "See why reclaiming failed: berth why pv/%s", name);
    else if (found->first == REJECT_SELECTOR && !(c->selector && c->selector->error))
        report_advise(r, "Label a volume so that the selector matches it, or change the selector.");
}

void why_no_volume(struct why_report *r, const struct claim *c, const struct candidates *found)
{
    _cleanup_(buf_done_p) struct buf words = BUF_INIT(WHY_LINE_BYTES_MAX), size = BUF_INIT(256),
                                     modes = BUF_INIT(256);

    if (!found->nearest) {
        report_cause(r, "no-volumes", "no PersistentVolume exists");
    } else if (found->nearest->claim.is_set && volume_is_for(found->nearest, c)) {
        candidates_words(found, c, &words);
        report_cause(r, candidates_cause(found), "volume %s is reserved for it, but does not fit: %s",
                     found->nearest->obj.name, buf_cstr(&words));
    } else {
        candidates_words(found, c, &words);
        report_cause(r, candidates_cause(found), "no volume fits; the closest is %s: %s",
                     found->nearest->obj.name, buf_cstr(&words));
        advise_on_nearest(r, c, found);
    }
    quantity_format(&c->request, &size);
    access_modes_short(c->modes, &modes);
    report_advise(r, "Create a volume of at least %s with access modes %s%s%s%s%s.", buf_cstr(&size),
                  buf_cstr(&modes), c->class[0] ? " and storageClassName " : " and no class", c->class,
                  c->mode == VOLUME_MODE_BLOCK ? ", volumeMode Block" : "",
                  c->source ? ", which holds the data and has a claimRef to the claim" : "");
    if (c->source)
        report_fact(
            r, "its data source is %s %s: it can use an existing volume only if one of them names the other",
            c->source->kind, c->source->name);
    report_next(r, c->source ? "it is bound as soon as a volume fits whose claimRef names it"
                             : "it is bound as soon as a volume fits");
}

bool why_has_classes(const struct why_world *w)
{
    struct informer_cursor at;

    return informer_first(w->caches[KIND_CLASS], &at) != NULL;
}

/* Where volumes without a class exist, an administrator creates them by hand: the report is about those. */
static void explain_no_class(const struct why_world *w, struct why_report *r, const struct claim *c,
                             const struct candidates *found)
{
    if (found->of_class > 0 || c->has_class) {
        why_no_volume(r, c, found);
    } else {
        report_cause(r, "no-class-set",
                     "no volume fits, it requests no storage class, and there is no default class");
        why_no_volume(r, c, found);
        report_advise(
            r, "%s",
            why_has_classes(w)
                ? "Or set storageClassName to a class with a provisioner; berth get sc lists the classes."
                : "Or create a StorageClass whose provisioner runs, and set storageClassName. No class "
                  "exists yet.");
    }
    if (c->has_class)
        report_fact(
            r,
            "storageClassName is \"\": nothing is provisioned for it, and only volumes without a class fit");
}

/* --- The claim waits for a pod --- */

struct consumers {
    const struct pod *waiting; /* the first one without a node; NULL */
    const struct pod *placed;  /* the first one with a node; NULL */
    unsigned count;            /* pods without a node */
    struct buf names;          /* names of a few of them */
};

static void find_consumers(const struct why_world *w, const struct claim *c, struct consumers *ret)
{
    struct informer_cursor at;
    char key[CLAIM_KEY_BYTES_MAX];

    (void)snprintf(key, sizeof key, "%s/%s", c->obj.ns, c->obj.name);
    for (const struct object *o = informer_first_by(w->caches[KIND_POD], PODS_BY_CLAIM, str_of(key), &at); o;
         o = informer_next(&at)) {
        const struct pod *p = pod_of(o);

        if (decide_is_waiting_pod(p)) {
            ret->waiting = ret->waiting ? ret->waiting : p;
            if (++ret->count <= WHY_EXAMPLES)
                buf_addf(&ret->names, "%s%s", ret->count > 1 ? ", " : "", o->name);
        } else if (!pod_is_terminated(p)) {
            ret->placed = ret->placed ? ret->placed : p;
        }
    }
}

/* Volumes as the scheduler filters them for the pod, its nodes included. False when there is no scheduler, or
 * it has not reached that filter: other walks are then needed. */
static bool add_for_pod(const struct why_world *w, struct why_report *r, const struct pod *p,
                        const struct claim *c)
{
    _cleanup_(buf_done_p) struct buf fine = BUF_INIT(WHY_LINE_BYTES_MAX);
    const struct schedule *schedule = why_schedule(w, p);

    if (!schedule)
        return w->scheduler != NULL; /* its explanation is not complete */
    if (schedule->state == SCHEDULE_BINDING)
        report_cause(r, "binding", "node %s is selected for pod %s; waiting for the volume", schedule->chosen,
                     p->obj.name);
    if (schedule->nodes.count > 0 && why_delayed_claim(w, r, p, c, &fine))
        report_fact(r, "%s", buf_cstr(&fine));
    if (schedule->message.len)
        report_fact(r, "scheduler message for pod %s: %s", p->obj.name, buf_cstr(&schedule->message));
    return schedule->nodes.count > 0;
}

/* Volumes that are free and fit except that they wait for the pod: one that some node reaches, and one that
 * no node reaches. */
struct free_for_pod {
    struct why_walk walk;                     /* about a claim */
    const struct object *reached, *unreached; /* references */
    size_t checks;
};

static size_t visit_free_for_pod(const struct why_world *w, struct why_walk *walk, const struct object *o)
{
    static const struct match_options options = { .is_delayed = true };
    _cleanup_(buf_done_p) struct buf nodes = BUF_INIT(WHY_LINE_BYTES_MAX);
    struct free_for_pod *free_volumes = CONTAINER_OF(walk, struct free_for_pod, walk);
    const struct informer *all = w->caches[KIND_NODE];
    const struct volume *v = volume_of(o);

    if (match_refusals(v, claim_of(walk->about), &options) & ~(1U << REJECT_DELAYED))
        return 1;
    if (!v->affinity || !all || why_reach(w, v, &nodes) > 0)
        why_walk_hold(&free_volumes->reached, o);
    else if (!free_volumes->unreached)
        why_walk_hold(&free_volumes->unreached, o);
    walk->is_done = free_volumes->reached || ++free_volumes->checks == REACH_CHECKS_MAX;
    return 1 + (v->affinity && all ? informer_count(all) / NODES_PER_LOOK : 0);
}

static const struct why_walk_type free_for_pod_type = {
    .bytes = sizeof(struct free_for_pod),
    .kind = KIND_VOLUME,
    .visit = visit_free_for_pod,
    .held = { offsetof(struct free_for_pod, reached), offsetof(struct free_for_pod, unreached) },
};

static void explain_no_consumer(const struct why_world *w, struct why_report *r, const struct claim *c,
                                const struct candidates *candidates)
{
    const struct object *k = why_get(w, KIND_CLASS, "", c->class);
    bool is_provisioned =
        k && strcmp(((const struct storage_class *)(const void *)k)->provisioner, PROVISIONER_NONE) != 0;
    const struct free_for_pod *free_volumes =
        is_provisioned ? NULL : why_walk_result(w, &free_for_pod_type, &c->obj, /* other= */ NULL, 0);
    _cleanup_(buf_done_p) struct buf need = BUF_INIT(WHY_LINE_BYTES_MAX);

    if (free_volumes && !free_volumes->reached && free_volumes->unreached) {
        why_write_need(w, volume_of(free_volumes->unreached), &need);
        report_cause(r, "node-gone", "volume %s fits, but needs %s", free_volumes->unreached->name,
                     buf_cstr(&need));
        why_advise_need(r, volume_of(free_volumes->unreached));
    }
    report_cause(r, "waits-for-consumer", "its class \"%s\" waits for a pod that uses it, and no pod does",
                 c->class);
    report_advise(r, "Create a pod in namespace %s that uses the claim.", c->obj.ns);
    if (free_volumes && !free_volumes->reached && !free_volumes->unreached)
        why_no_volume(r, c, candidates);
    report_next(r, "it is bound when a pod that uses it is scheduled");
}

static void explain_await_pod(const struct why_world *w, struct why_report *r, const struct claim *c)
{
    struct consumers x = { .names = BUF_INIT(WHY_LINE_BYTES_MAX) };
    struct candidates candidates;

    find_consumers(w, c, &x);
    if (!x.waiting || !add_for_pod(w, r, x.waiting, c)) {
        report_fact(r,
                    "class \"%s\" is WaitForFirstConsumer: the volume is chosen together with the pod's node",
                    c->class);
        why_add_candidates(w, r, c, &(struct match_options){ .is_delayed = true }, &candidates);
    }
    if (x.waiting) {
        report_cause(r, "waits-for-scheduling", "it waits for pod%s %s%s to be scheduled",
                     x.count > 1 ? "s" : "", buf_cstr(&x.names), x.count > WHY_EXAMPLES ? ", …" : "");
        report_advise(r, "See why the pod is not scheduled: berth why pod/%s -n %s", x.waiting->obj.name,
                      c->obj.ns);
        report_next(r, "the scheduler selects a node together with a volume, or requests provisioning there");
    } else if (x.placed) {
        report_cause(
            r, "pod-not-scheduled",
            "pod %s was assigned to node %s without the scheduler, which chooses the volumes of this class",
            x.placed->obj.name, x.placed->node_name);
        report_advise(r, "Remove spec.nodeName from the pod; a nodeSelector keeps it on the node.");
        report_next(r, "it is bound when the scheduler places a pod that uses it");
    } else {
        explain_no_consumer(w, r, c, &candidates);
    }
    buf_done(&x.names);
}

/* --- The claim names a volume --- */

static void explain_named(struct why_report *r, const struct claim *c, const struct claim_decision *d)
{
    _cleanup_(buf_done_p) struct buf words = BUF_INIT(WHY_LINE_BYTES_MAX);

    if (d->step == CLAIM_STEP_NAMED_MISSING) {
        report_cause(r, claim_step_names[d->step], "it names volume %s, which does not exist",
                     c->volume_name);
        report_advise(r, "Create volume %s, or recreate the claim without spec.volumeName.", c->volume_name);
        report_next(r, "it is bound when volume %s is created and fits", c->volume_name);
        return;
    }
    match_words(d->reject, d->volume, c, &words);
    if (d->step == CLAIM_STEP_TAKEN)
        report_cause(r, d->volume->phase == VOLUME_RELEASED ? "released" : reject_names[REJECT_TAKEN],
                     "it names volume %s, which belongs to another claim: %s", c->volume_name,
                     buf_cstr(&words));
    else
        report_cause(r, reject_names[d->reject], "it names volume %s, which does not fit: %s", c->volume_name,
                     buf_cstr(&words));
    report_fact(r, "a claim that names its volume binds only to that one");
    report_advise(
        r, "Recreate the claim with another spec.volumeName, or without it. See the volume: berth why pv/%s",
        c->volume_name);
    report_next(r, "it is bound when volume %s becomes available to it", c->volume_name);
}

/* --- The claim is bound --- */

/* What local discovery records about the disk of its volume. */
static void explain_disk(struct why_report *r, const struct volume *v)
{
    const char *problem = object_annotation(&v->obj, ANN_DISK_PROBLEM);

    if (!problem)
        return;
    report_cause(r, local_disk_is_replaced(v) ? "disk-replaced" : "disk-missing",
                 "the disk of its volume %s cannot be used: %s", v->obj.name, problem);
    report_advise(r, "See the volume: berth why pv/%s", v->obj.name);
    report_next(r, "pods that use it wait until the disk is available");
}

static void explain_bind(const struct why_world *w, struct why_report *r, const struct claim *c,
                         const struct volume *v)
{
    struct operation_state sync;
    char age[WHY_AGE_BYTES_MAX];

    if (c->phase == CLAIM_BOUND && strcmp(c->volume_name, v->obj.name) == 0 && v->claim.is_set &&
        v->phase == VOLUME_BOUND) {
        explain_disk(r, v);
        why_unmountable_kind(w, r, v);
        why_growth(w, r, c);
        return;
    }
    if (w->binder && binder_inspect_sync(w->binder, &c->obj, &sync) && sync.message[0])
        report_cause(r, "writes-fail", "volume %s fits, but binding it fails: %s", v->obj.name, sync.message);
    report_cause(r, "binding", "volume %s fits and is about to be bound to it", v->obj.name);
    report_fact(r, "the claim is %s old", why_age(w, c->obj.created, age));
    report_advise(r, "If this persists, no controller binds claims: check that the controllers run and have "
                     "write access (berth controllers, berth serve).");
    report_next(r, "the binder writes the claim's name into volume %s, then the volume's into the claim",
                v->obj.name);
}

static void explain_lost(struct why_report *r, const struct claim *c, const struct claim_decision *d)
{
    if (d->step == CLAIM_STEP_LOST_REFERENCE) {
        report_cause(r, claim_step_names[d->step], "it was bound, but its spec.volumeName was removed");
        report_advise(r, "Find the volume whose claimRef is %s/%s, and recreate the claim with its name.",
                      c->obj.ns, c->obj.name);
    } else if (d->step == CLAIM_STEP_LOST_VOLUME) {
        report_cause(r, claim_step_names[d->step], "its volume %s was deleted", c->volume_name);
        report_advise(r,
                      "If the storage still exists, recreate volume %s with a claimRef to %s/%s and its uid "
                      "%s, and the claim recovers. Otherwise delete the claim.",
                      c->volume_name, c->obj.ns, c->obj.name, c->obj.uid);
    } else {
        report_cause(r, claim_step_names[d->step], "its volume %s belongs to %s/%s%s", c->volume_name,
                     d->volume->claim.ns, d->volume->claim.name,
                     d->volume->claim.uid[0] ? "" : " by name only: its claimRef has no uid");
        report_advise(r,
                      "Two claims name volume %s; it belongs to the one in its claimRef. Recreate this claim "
                      "without spec.volumeName.",
                      c->volume_name);
    }
    report_next(r, "a Lost claim recovers only when its volume belongs to it again");
}

/* --- The whole claim --- */

static void explain_unbound(const struct why_world *w, struct why_report *r, const struct claim *c,
                            const struct claim_decision *d)
{
    struct candidates x;

    if (d->step == CLAIM_STEP_AWAIT_POD) {
        explain_await_pod(w, r, c);
        return;
    }
    why_add_candidates(w, r, c, &d->search, &x);
    if (d->step == CLAIM_STEP_FAIL) {
        bool is_selector = c->selector && c->selector->error;

        report_cause(r, is_selector ? "bad-selector" : "bad-class", "%s", d->err.msg);
        report_advise(r, is_selector ? "Recreate the claim with a valid selector."
                                     : "Recreate the class with a volumeBindingMode.");
        report_next(r, "nothing until that is fixed; the binder checks again periodically");
    } else if (d->step == CLAIM_STEP_BIND) {
        explain_bind(w, r, c, d->volume);
    } else if (d->step == CLAIM_STEP_AWAIT_CLASS) {
        report_cause(r, reject_names[REJECT_AWAITS_CLASS],
                     "StorageClass \"%s\" does not exist yet, and the binder waits briefly for it", c->class);
        report_fact(r, "only volumes with node affinity fit, and the class may be WaitForFirstConsumer");
        report_advise(r, "Create the class now if its volumeBindingMode should apply to the claim.");
        report_next(r, "it is bound to a volume one second after the binder first observed it, or as the "
                       "class specifies");
    } else if (d->step == CLAIM_STEP_SET_CLASS) {
        report_cause(r, claim_step_names[d->step],
                     "it requests no class, and is about to get the default class, \"%s\"",
                     d->class->obj.name);
        report_next(r, "the binder sets the class, then processes the claim again");
    } else if (d->step == CLAIM_STEP_NO_CLASS) {
        explain_no_class(w, r, c, &x);
    } else {
        why_provisioning(w, r, c, d, &x);
    }
}

static void explain_decision(const struct why_world *w, struct why_report *r, const struct claim *c)
{
    struct binder_view view = view_of(w);
    struct claim_decision d;

    decide_claim(&view, c, &d);
    switch (d.step) {
    case CLAIM_STEP_LOST_REFERENCE:
    case CLAIM_STEP_LOST_VOLUME:
    case CLAIM_STEP_MISBOUND:
        explain_lost(r, c, &d);
        break;
    case CLAIM_STEP_NAMED_MISSING:
    case CLAIM_STEP_MISMATCH:
    case CLAIM_STEP_TAKEN:
        explain_named(r, c, &d);
        break;
    case CLAIM_STEP_BIND:
        if (c->volume_name[0] != '\0') {
            explain_bind(w, r, c, d.volume);
            break;
        }
        __attribute__((fallthrough));
    case CLAIM_STEP_FAIL:
    case CLAIM_STEP_AWAIT_CLASS:
    case CLAIM_STEP_SET_CLASS:
    case CLAIM_STEP_AWAIT_POD:
    case CLAIM_STEP_PROVISION_OFF:
    case CLAIM_STEP_PROVISION_CLASS:
    case CLAIM_STEP_NO_PROVISIONER:
    case CLAIM_STEP_PROVISION_BUILTIN:
    case CLAIM_STEP_PROVISION_EXTERNAL:
    case CLAIM_STEP_NO_CLASS:
        explain_unbound(w, r, c, &d);
        break;
    case CLAIM_STEP_COUNT:
        break;
    }
}

void why_claim(const struct why_world *w, struct why_report *r, const struct object *claim)
{
    static const char *const over[] = { "FailedBinding", "ProvisioningFailed", NULL };
    const struct claim *c = claim_of(claim);
    const char *phase = claim_phase_name((enum claim_phase)c->phase);

    if (c->obj.is_deleting)
        report_state(r, "Terminating");
    else if (c->phase == CLAIM_BOUND)
        report_state(r, "Bound to %s", c->volume_name);
    else
        report_state(r, "%s", phase[0] ? phase : "Pending");
    if (c->obj.is_deleting)
        why_deletion(w, r, c);
    explain_decision(w, r, c);
    why_add_operations(w, r, claim);
    why_add_events(w, r, claim, c->phase == CLAIM_BOUND ? over : NULL);
}
