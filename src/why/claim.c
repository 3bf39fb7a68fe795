/* Why a claim is as it is: what the binder decided for it, and what that means.
 *
 * decide_claim() says which row of the binder's tables holds; each row has its words here. What is known only
 * to whoever provisions is in claim_provision.c, growth and deletion in claim_life.c. */
#include "why/claim.h"

#include <stdio.h>
#include <string.h>

#include "api/class.h"
#include "api/local_volume.h"
#include "api/pod.h"
#include "api/pod_claims.h"
#include "base/cleanup.h"
#include "controllers/binder/binder.h"
#include "machinery/parts.h"
#include "plugins/registry.h"
#include "volumes/index.h"
#include "why/pod.h"
#include "why/unmountable.h"
#include "why/users.h"
#include "why/walk.h"

/* Of volumes against the nodes, for one explanation. */
#define REACH_CHECKS_MAX 1000
/* So many nodes are asked about a volume for one look. */
#define NODES_PER_LOOK 8

/* --- The binder's sight, or one like it --- */

/* Without a binder at hand an index is filled from the cache: the search is the same. */
struct index_walk {
    struct why_walk walk;
    struct volume_index *index; /* NULL: no volume was put into it yet */
};

static size_t visit_indexed(const struct why_world *w, struct why_walk *walk, const struct object *o)
{
    struct index_walk *x = CONTAINER_OF(walk, struct index_walk, walk);
    struct error ignored;
    int r = x->index ? 0 : volume_index_new((struct hash_seed){ 0 }, &x->index, &ignored);

    if (r < 0 || volume_index_put(x->index, volume_of(o), &ignored) < 0)
        w->work->is_out_of_memory = true;
    return 1;
}

static void clear_index(struct why_walk *walk)
{
    struct index_walk *x = CONTAINER_OF(walk, struct index_walk, walk);

    x->index = volume_index_free(x->index);
}

static const struct why_walk_type index_walk_type = {
    .bytes = sizeof(struct index_walk), .kind = KIND_VOLUME, .visit = visit_indexed, .clear = clear_index
};

static int search_match(void *ctx, const struct claim *c, const struct match_options *o,
                        const struct volume **ret, struct error *err)
{
    const struct why_world *w = ctx;
    struct why_walk *walk = why_walk_get(w, &index_walk_type, /* about= */ NULL, /* other= */ NULL, 0);
    const struct index_walk *x = walk ? CONTAINER_OF(walk, struct index_walk, walk) : NULL;

    *ret = NULL;
    if (!x || !walk->is_done || !x->index)
        return 0;
    return volume_index_match(x->index, c, o, ret, err);
}

/* Created so lately: nobody here knows when a binder first saw it. */
static bool search_is_new(void *ctx, const struct claim *c)
{
    const struct why_world *w = ctx;
    int64_t now_ns = clock_real_ns(w->clock);

    return timestamp_cmp(c->obj.created, timestamp_of_ns(now_ns)) <= 0 &&
           timestamp_cmp(c->obj.created, timestamp_of_ns(now_ns - (int64_t)DECIDE_CLASS_WAIT_NS)) > 0;
}

static struct binder_sight sight_of(const struct why_world *w)
{
    if (w->binder)
        return binder_sight(w->binder);
    return (struct binder_sight){ .volumes = w->caches[KIND_VOLUME],
                                  .classes = w->caches[KIND_CLASS],
                                  .plugins = plugins_builtin,
                                  .match = search_match,
                                  .is_new = search_is_new,
                                  .ctx = (void *)(uintptr_t)w };
}

int why_search(const struct why_world *w, const struct claim *c, struct match_options *ret, struct error *err)
{
    struct binder_sight sight = sight_of(w);

    return decide_search(&sight, c, ret, err);
}

/* --- No volume fits --- */

/* Nothing where several rules refuse it: to satisfy one of them would not help. */
static void advise_on_nearest(struct report *r, const struct claim *c, const struct candidates *x)
{
    const char *name = x->nearest->obj.name;
    enum candidate_obstacle obstacle = candidates_obstacle(x);

    if (obstacle == OBSTACLE_SEVERAL)
        return;
    if (obstacle == OBSTACLE_RELEASED)
        report_advise(
            r,
            "If nobody needs the data of %s: berth patch pv %s --type=merge -p "
            "'{\"spec\":{\"claimRef\":null}}' makes it Available. Its data is then the next claim's.",
            name, name);
    else if (obstacle == OBSTACLE_KEPT)
        report_advise(r,
                      "If %s is not meant for %s/%s any more, take the claimRef out of it: berth patch pv %s "
                      "--type=merge -p '{\"spec\":{\"claimRef\":null}}'",
                      name, x->nearest->claim.ns, x->nearest->claim.name, name);
    else if (x->first == REJECT_SIZE)
        report_advise(r, "Ask for less, or create a larger volume.");
    else if (x->first == REJECT_CLASS && x->nearest->class[0] != '\0')
        report_advise(r, "To have %s, ask for its class: storageClassName: %s", name, x->nearest->class);
    else if (x->first == REJECT_ACCESS_MODES)
        report_advise(r,
                      "Ask for access modes that a volume has, or create one with those that are asked for.");
    else if (x->first == REJECT_DATA_SOURCE)
        report_advise(r,
                      "If %s holds that data already, or the claim is to have it as it is, name it in the "
                      "claim: berth patch pvc %s -n %s --type=merge -p '{\"spec\":{\"volumeName\":\"%s\"}}'",
                      name, c->obj.name, c->obj.ns, name);
    else if (x->first == REJECT_PHASE && x->nearest->phase == VOLUME_FAILED)
        report_advise(r, "See why reclaiming failed: berth why pv/%s", name);
    else if (x->first == REJECT_SELECTOR && !(c->selector && c->selector->error))
        report_advise(r, "Label a volume so that the selector finds it, or change the selector.");
}

static void advise_volume(struct report *r, const struct claim *c)
{
    _cleanup_(buf_done_p) struct buf size = BUF_INIT(256), modes = BUF_INIT(256);

    quantity_format(&c->request, &size);
    access_modes_short(c->modes, &modes);
    report_advise(r, "Create a volume of at least %s with access modes %s%s%s%s%s.", buf_cstr(&size),
                  buf_cstr(&modes), c->class[0] ? " and storageClassName " : " and no class", c->class,
                  c->mode == VOLUME_MODE_BLOCK ? ", volumeMode Block" : "",
                  c->source ? ", that holds the data and has a claimRef to the claim" : "");
}

static void add_source(struct report *r, const struct claim *c)
{
    if (c->source)
        report_fact(r,
                    "it is to be filled from %s %s: of the volumes that are there it takes only one that it "
                    "names, or that names it",
                    c->source->kind, c->source->name);
}

void why_no_volume(struct report *r, const struct claim *c, const struct candidates *x)
{
    _cleanup_(buf_done_p) struct buf words = BUF_INIT(WHY_LINE_BYTES_MAX);

    if (!x->nearest) {
        report_cause(r, "no-volumes", "there is no volume at all");
    } else if (x->nearest->claim.is_set && volume_is_for(x->nearest, c)) {
        candidates_words(x, c, &words);
        report_cause(r, candidates_cause(x), "volume %s is kept for it and does not fit: %s",
                     x->nearest->obj.name, buf_cstr(&words));
    } else {
        candidates_words(x, c, &words);
        report_cause(r, candidates_cause(x), "no volume fits; the nearest is %s: %s", x->nearest->obj.name,
                     buf_cstr(&words));
        advise_on_nearest(r, c, x);
    }
    advise_volume(r, c);
    add_source(r, c);
    report_next(r, c->source ? "it is bound as soon as a volume fits that names it in its claimRef"
                             : "it is bound as soon as a volume fits");
}

bool why_has_classes(const struct why_world *w)
{
    struct informer_cursor at;

    return informer_first(w->caches[KIND_CLASS], &at) != NULL;
}

/* Where there are volumes without a class somebody makes them by hand, and they are what it is about. */
static void explain_no_class(const struct why_world *w, struct report *r, const struct claim *c,
                             const struct candidates *x)
{
    if (x->of_class > 0 || c->has_class) {
        why_no_volume(r, c, x);
    } else {
        report_cause(r, "no-class-set",
                     "no volume fits, it asks for no storage class, and there is no default class");
        why_no_volume(r, c, x);
        report_advise(r, "%s",
                      why_has_classes(w)
                          ? "Or name a class that provisions: storageClassName; berth get sc shows which "
                            "there are."
                          : "Or create a StorageClass whose provisioner runs, and name it: "
                            "storageClassName. There is none yet.");
    }
    if (c->has_class)
        report_fact(
            r, "storageClassName is \"\": nothing is provisioned for it, only volumes without a class fit");
}

/* --- It waits for its class --- */

static void explain_await_class(struct report *r, const struct claim *c)
{
    report_cause(r, reject_names[REJECT_AWAITS_CLASS],
                 "StorageClass \"%s\" does not exist yet, and the binder waits a moment for it", c->class);
    report_fact(r, "only volumes with node affinity fit: the class may say that the pod's node comes first");
    report_advise(r, "Create the class now if it is to decide when the claim is bound.");
    report_next(r, "it is bound to a volume one second after the binder first saw it, or as the class says");
}

/* --- It waits for a pod --- */

struct consumers {
    const struct pod *waiting; /* the first that has no node; NULL */
    const struct pod *placed;  /* the first that has one; NULL */
    unsigned count;            /* of those that wait */
    struct buf names;          /* of a few of them */
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

/* Volumes as the scheduler judges them, for the pod: where it may go counts too. False when it cannot be
 * asked, or has not come to that. */
static bool add_for_pod(const struct why_world *w, struct report *r, const struct pod *p,
                        const struct claim *c)
{
    _cleanup_(buf_done_p) struct buf fine = BUF_INIT(WHY_LINE_BYTES_MAX);
    const struct schedule *x = why_schedule(w, p);

    if (!x)
        return false;
    if (x->state == SCHEDULE_BINDING)
        report_cause(r, "binding", "node %s is chosen for pod %s, and a volume is on its way", x->chosen,
                     p->obj.name);
    if (x->nodes.count > 0 && why_delayed_claim(w, r, p, c, &fine))
        report_fact(r, "%s", buf_cstr(&fine));
    if (x->message.len)
        report_fact(r, "the scheduler on pod %s: %s", p->obj.name, buf_cstr(&x->message));
    return x->nodes.count > 0;
}

/* Volumes that are free and fit but for the pod: one that some node reaches, and one that none does. */
struct free_for_pod {
    struct why_walk walk;                     /* about a claim */
    const struct object *reached, *unreached; /* references */
    size_t checks;
};

static size_t visit_free_for_pod(const struct why_world *w, struct why_walk *walk, const struct object *o)
{
    static const struct match_options options = { .is_delayed = true };
    _cleanup_(buf_done_p) struct buf nodes = BUF_INIT(WHY_LINE_BYTES_MAX);
    struct free_for_pod *x = CONTAINER_OF(walk, struct free_for_pod, walk);
    const struct informer *all = w->caches[KIND_NODE];
    const struct volume *v = volume_of(o);

    if (match_refusals(v, claim_of(walk->about), &options) & ~(1U << REJECT_DELAYED))
        return 1;
    if (!v->affinity || !all || why_reach(w, v, &nodes) > 0)
        why_walk_hold(&x->reached, o);
    else if (!x->unreached)
        why_walk_hold(&x->unreached, o);
    walk->is_done = x->reached || ++x->checks == REACH_CHECKS_MAX;
    return 1 + (v->affinity && all ? informer_count(all) / NODES_PER_LOOK : 0);
}

static void clear_free_for_pod(struct why_walk *walk)
{
    struct free_for_pod *x = CONTAINER_OF(walk, struct free_for_pod, walk);

    why_walk_hold(&x->reached, NULL);
    why_walk_hold(&x->unreached, NULL);
}

static const struct why_walk_type free_for_pod_type = { .bytes = sizeof(struct free_for_pod),
                                                        .kind = KIND_VOLUME,
                                                        .visit = visit_free_for_pod,
                                                        .clear = clear_free_for_pod };

static void explain_unreached(const struct why_world *w, struct report *r, const struct object *volume)
{
    const struct volume *v = volume_of(volume);
    _cleanup_(buf_done_p) struct buf need = BUF_INIT(WHY_LINE_BYTES_MAX);

    why_write_need(w, v, &need);
    report_cause(r, "node-gone", "volume %s fits, and needs %s", v->obj.name, buf_cstr(&need));
    why_advise_need(r, v);
}

static void explain_no_consumer(const struct why_world *w, struct report *r, const struct claim *c,
                                const struct candidates *candidates)
{
    const struct object *k = why_get(w, KIND_CLASS, "", c->class);
    bool is_provisioned =
        k && strcmp(((const struct storage_class *)(const void *)k)->provisioner, PROVISIONER_NONE) != 0;
    struct why_walk *walk =
        is_provisioned ? NULL : why_walk_get(w, &free_for_pod_type, &c->obj, /* other= */ NULL, 0);
    const struct free_for_pod *x = walk ? CONTAINER_OF(walk, struct free_for_pod, walk) : NULL;

    if (x && !x->reached && x->unreached)
        explain_unreached(w, r, x->unreached);
    report_cause(r, "waits-for-consumer", "its class \"%s\" waits for a pod that uses it, and there is none",
                 c->class);
    report_advise(r, "Create a pod in namespace %s that uses the claim.", c->obj.ns);
    if (x && !x->reached && !x->unreached)
        why_no_volume(r, c, candidates);
    report_next(r, "it is bound when a pod that uses it is given a node");
}

static void explain_await_pod(const struct why_world *w, struct report *r, const struct claim *c)
{
    struct consumers x = { .names = BUF_INIT(WHY_LINE_BYTES_MAX) };
    struct candidates candidates;

    find_consumers(w, c, &x);
    if (!x.waiting || !add_for_pod(w, r, x.waiting, c)) {
        report_fact(
            r, "class \"%s\" waits for the first consumer: a volume is chosen together with the pod's node",
            c->class);
        why_add_candidates(w, r, c, &(struct match_options){ .is_delayed = true }, &candidates);
    }
    if (x.waiting) {
        report_cause(r, "waits-for-scheduling", "it waits for pod%s %s%s to be given a node",
                     x.count > 1 ? "s" : "", buf_cstr(&x.names), x.count > WHY_EXAMPLES ? ", …" : "");
        report_advise(r, "See why the pod has no node: berth why pod/%s -n %s", x.waiting->obj.name,
                      c->obj.ns);
        report_next(r, "the scheduler chooses a node and with it a volume, or has one provisioned there");
    } else if (x.placed) {
        report_cause(r, "pod-not-scheduled",
                     "pod %s was put on node %s without the scheduler, and nobody else chooses a volume",
                     x.placed->obj.name, x.placed->node_name);
        report_advise(r, "Leave spec.nodeName out of the pod; a nodeSelector keeps it on the node.");
        report_next(r, "it waits for a pod that goes through the scheduler");
    } else {
        explain_no_consumer(w, r, c, &candidates);
    }
    buf_done(&x.names);
}

/* --- It names a volume --- */

static void explain_named(struct report *r, const struct claim *c, const struct claim_decision *d)
{
    _cleanup_(buf_done_p) struct buf words = BUF_INIT(WHY_LINE_BYTES_MAX);

    if (d->step == CLAIM_STEP_NOT_THERE) {
        report_cause(r, claim_step_names[d->step], "it names volume %s, which does not exist",
                     c->volume_name);
        report_advise(r, "Create volume %s, or make the claim again without spec.volumeName.",
                      c->volume_name);
        report_next(r, "it is bound when volume %s is created and fits", c->volume_name);
        return;
    }
    match_words(d->reject, d->volume, c, &words);
    if (d->step == CLAIM_STEP_TAKEN)
        report_cause(r, d->volume->phase == VOLUME_RELEASED ? "released" : reject_names[REJECT_TAKEN],
                     "it names volume %s, which is another's: %s", c->volume_name, buf_cstr(&words));
    else
        report_cause(r, reject_names[d->reject], "it names volume %s, which does not fit: %s", c->volume_name,
                     buf_cstr(&words));
    report_fact(r, "a claim that names its volume gets that one or none");
    report_advise(r,
                  "Make the claim again with another spec.volumeName, or with none. See the volume: berth "
                  "why pv/%s",
                  c->volume_name);
    report_next(r, "it is bound when volume %s can be its own", c->volume_name);
}

/* --- It has one --- */

static bool is_bound(const struct claim *c, const struct volume *v)
{
    return c->phase == CLAIM_BOUND && strcmp(c->volume_name, v->obj.name) == 0 && v->claim.is_set &&
           v->phase == VOLUME_BOUND;
}

/* What the discovery of local volumes says of the disk of its volume. */
static void explain_disk(struct report *r, const struct volume *v)
{
    const char *problem = object_annotation(&v->obj, ANN_DISK_PROBLEM);

    if (!problem)
        return;
    report_cause(r, local_disk_is_replaced(v) ? "disk-replaced" : "disk-missing",
                 "the disk of its volume %s cannot be used: %s", v->obj.name, problem);
    report_advise(r, "See the volume: berth why pv/%s", v->obj.name);
    report_next(r, "pods that use it wait until the disk is there");
}

static void explain_bind(const struct why_world *w, struct report *r, const struct claim *c,
                         const struct volume *v)
{
    struct operation_state sync;
    char age[WHY_AGE_BYTES_MAX];

    if (is_bound(c, v)) {
        explain_disk(r, v);
        why_unmountable_kind(w, r, v);
        why_growth(w, r, c);
        return;
    }
    if (w->binder && binder_look_at_sync(w->binder, &c->obj, &sync) && sync.message[0])
        report_cause(r, "writes-fail", "volume %s fits, and binding the two fails: %s", v->obj.name,
                     sync.message);
    report_cause(r, "binding", "volume %s fits and is about to be bound to it", v->obj.name);
    report_fact(r, "the claim is %s old", why_age(w, c->obj.created, age));
    report_advise(r, "If this lasts, nobody binds here: see that the controllers run and may write (berth "
                     "controllers, berth serve).");
    report_next(r, "the binder writes the claim's name into volume %s, then the volume's into the claim",
                v->obj.name);
}

static void explain_lost(struct report *r, const struct claim *c, const struct claim_decision *d)
{
    if (d->step == CLAIM_STEP_LOST_REFERENCE) {
        report_cause(r, claim_step_names[d->step],
                     "it was bound, and the name of its volume was taken out of it");
        report_advise(r, "Find the volume whose claimRef is %s/%s, and make the claim again with its name.",
                      c->obj.ns, c->obj.name);
    } else if (d->step == CLAIM_STEP_LOST_VOLUME) {
        report_cause(r, claim_step_names[d->step], "its volume %s was deleted", c->volume_name);
        report_advise(r,
                      "If the storage is still there, create volume %s again with a claimRef to %s/%s and "
                      "its uid %s: the claim takes it back. Else delete the claim.",
                      c->volume_name, c->obj.ns, c->obj.name, c->obj.uid);
    } else {
        report_cause(r, claim_step_names[d->step], "its volume %s belongs to %s/%s%s", c->volume_name,
                     d->volume->claim.ns, d->volume->claim.name,
                     d->volume->claim.uid[0] ? "" : " by name only: its claimRef has no uid");
        report_advise(r,
                      "Two claims name volume %s; only the one in its claimRef has it. Make this claim "
                      "again without spec.volumeName.",
                      c->volume_name);
    }
    report_next(r, "a Lost claim comes back only when its volume is its own again");
}

/* --- All of it --- */

static void explain_unbound(const struct why_world *w, struct report *r, const struct claim *c,
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
        report_advise(r, is_selector ? "Make the claim again with a selector that can be evaluated."
                                     : "Make the class again with a volumeBindingMode.");
        report_next(r, "nothing happens before that is mended; the binder tries again now and then");
    } else if (d->step == CLAIM_STEP_BIND) {
        explain_bind(w, r, c, d->volume);
    } else if (d->step == CLAIM_STEP_AWAIT_CLASS) {
        explain_await_class(r, c);
    } else if (d->step == CLAIM_STEP_SET_CLASS) {
        report_cause(r, claim_step_names[d->step],
                     "it asks for no class, and is about to be given the default one, \"%s\"",
                     d->class->obj.name);
        report_next(r, "the binder sets the class; then it is looked at again");
    } else if (d->step == CLAIM_STEP_NO_CLASS) {
        explain_no_class(w, r, c, &x);
    } else {
        why_provisioning(w, r, c, d, &x);
    }
}

static void explain_decision(const struct why_world *w, struct report *r, const struct claim *c)
{
    struct binder_sight sight = sight_of(w);
    struct claim_decision d;

    decide_claim(&sight, c, &d);
    switch (d.step) {
    case CLAIM_STEP_LOST_REFERENCE:
    case CLAIM_STEP_LOST_VOLUME:
    case CLAIM_STEP_MISBOUND:
        explain_lost(r, c, &d);
        break;
    case CLAIM_STEP_NOT_THERE:
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
    case CLAIM_STEP_PROVISION_NEVER:
    case CLAIM_STEP_PROVISION_CLASS:
    case CLAIM_STEP_PROVISION_NOBODY:
    case CLAIM_STEP_PROVISION_HERE:
    case CLAIM_STEP_PROVISION_OUTSIDE:
    case CLAIM_STEP_NO_CLASS:
        explain_unbound(w, r, c, &d);
        break;
    case CLAIM_STEP_COUNT:
        break;
    }
}

static void add_state(struct report *r, const struct claim *c)
{
    const char *phase = claim_phase_name((enum claim_phase)c->phase);

    if (c->obj.is_deleting)
        report_state(r, "Terminating");
    else if (c->phase == CLAIM_BOUND)
        report_state(r, "Bound to %s", c->volume_name);
    else
        report_state(r, "%s", phase[0] ? phase : "Pending");
}

void why_claim(const struct why_world *w, struct report *r, const struct object *claim)
{
    static const char *const over[] = { "FailedBinding", "ProvisioningFailed", NULL };
    const struct claim *c = claim_of(claim);

    add_state(r, c);
    if (c->obj.is_deleting)
        why_deletion(w, r, c);
    explain_decision(w, r, c);
    why_add_operations(w, r, claim);
    why_add_events(w, r, claim, c->phase == CLAIM_BOUND ? over : NULL);
}
