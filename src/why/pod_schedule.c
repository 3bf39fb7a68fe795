/* Why a pod has no node: the words for what scheduler_explain() tells.
 *
 * Of many nodes with many reasons the one that was asked last is the verdict: what stopped the node that came
 * nearest. Nodes that the pod's people left out themselves, by taints and selectors, are counted behind it.
 */
#include "why/pod.h"

#include <string.h>

#include "api/csi.h"
#include "api/pod_claims.h"
#include "base/cleanup.h"
#include "why/users.h"
#include "why/walk.h"

/* What the person can do about a reason of nodes. */
static const char *const advices[REASON_COUNT] = {
    [REASON_UNSCHEDULABLE] = "Open a node to pods again: kubectl uncordon NODE.",
    [REASON_TAINT] = "Give the pod a toleration, or take the taint away.",
    [REASON_AFFINITY] =
        "Change the pod's nodeSelector or node affinity, or label a node: berth label node NAME KEY=VALUE.",
    [REASON_ABSENT] = "The pod's node affinity names nodes by metadata.name: name one that will do.",
    [REASON_PODS] = "Remove pods from a node, or add one.",
    [REASON_CPU] = "Ask for less cpu, or make room.",
    [REASON_MEMORY] = "Ask for less memory, or make room.",
    [REASON_POD_ALONE] = "End the other pod, or use a claim with ReadWriteOnce or ReadWriteMany.",
    [REASON_DISK] = "End the pod that has the disk, or let the two be on different nodes.",
    [REASON_VOLUME_COUNT] = "Add a node, or move pods with volumes of that driver.",
    [REASON_VOLUME_AFFINITY] = "Let the pod go where its volume is: the volume cannot move.",
    [REASON_NO_VOLUME] = "Create volumes that fit where the pod may go, or use a class that provisions them.",
    [REASON_NO_SPACE] = "Ask for less, or give the driver more room.",
    [REASON_VOLUME_GONE] = "See the claim: its volume was deleted.",
    [REASON_ZONE] = "Let the pod go to the zone of its volume.",
};

/* --- One node --- */

/* The label of the selector that the node has not. */
static const struct kv *missing_label(const struct pod *p, const struct node *n)
{
    for (uint32_t i = 0; i < p->node_selector.count; i++) {
        const struct kv *want = &p->node_selector.items[i];
        const char *has = kv_get(n->obj.labels.items, n->obj.labels.count, want->key);

        if (!has || strcmp(has, want->value) != 0)
            return want;
    }
    return NULL;
}

static void write_node(const struct pod *p, const struct schedule_node *n, struct buf *out)
{
    enum reason why = verdict_first(n->verdict.reasons);
    const struct kv *label = why == REASON_AFFINITY ? missing_label(p, n->node) : NULL;

    buf_add_cstr(out, reason_of_node(why));
    if (why == REASON_TAINT)
        buf_addf(out, ": {%s: %s}", n->verdict.taint->key, n->verdict.taint->value);
    else if (label)
        buf_addf(out, ": it has not %s=%s", label->key, label->value);
}

static void add_nodes(struct report *r, const struct schedule *x)
{
    for (size_t i = 0; i < x->nodes.count; i++) {
        const struct schedule_node *n = &x->nodes.items[i];
        _cleanup_(buf_done_p) struct buf words = BUF_INIT(WHY_LINE_BYTES_MAX);
        const char *word =
            n->verdict.reasons ? reason_word(verdict_first(n->verdict.reasons)) : refusal_word(REFUSAL_NONE);

        if (!report_count(r, word))
            continue;
        if (n->verdict.reasons)
            write_node(x->pod, n, &words);
        else
            buf_add_cstr(&words, "will do");
        report_example(r, word, n->node->obj.name, "%s", buf_cstr(&words));
    }
}

/* --- Which claim it is --- */

/* The claims of the pod with their volumes, one after the other; NULL at the end. */
static const struct claim *next_claim(const struct why_world *w, const struct pod *p, uint32_t *at,
                                      const struct volume **ret)
{
    while (*at < p->volumes.count) {
        const char *name = pod_claim_name(&p->volumes.items[(*at)++]);
        const struct object *o = name ? why_get(w, KIND_CLAIM, p->obj.ns, name) : NULL;
        const struct object *v = o ? why_get(w, KIND_VOLUME, "", claim_of(o)->volume_name) : NULL;

        if (!o)
            continue;
        *ret = v ? volume_of(v) : NULL;
        return claim_of(o);
    }
    return NULL;
}

static bool reaches(const struct volume *v, const struct node *n)
{
    struct error ignored;

    return node_affinity_check(v->affinity, n->obj.labels.items, n->obj.labels.count, &ignored) == 0;
}

/* Where the volume can be had, and what is the matter there. */
static void write_place(const struct why_world *w, const struct schedule *x, const struct volume *v,
                        struct buf *out)
{
    _cleanup_(buf_done_p) struct buf nodes = BUF_INIT(WHY_LINE_BYTES_MAX);

    if (why_reach(w, v, &nodes) == 0) {
        buf_add_cstr(out, "needs ");
        why_write_need(w, v, out);
        return;
    }
    buf_addf(out, "can only be used from %s", buf_cstr(&nodes));
    for (size_t i = 0; i < x->nodes.count; i++) {
        const struct schedule_node *n = &x->nodes.items[i];

        if (n->verdict.reasons == 0 || !reaches(v, n->node))
            continue;
        buf_addf(out, "; %s ", n->node->obj.name);
        write_node(x->pod, n, out);
        break;
    }
}

/* Each of its volumes can be had somewhere, and not all of them from one node. */
static bool are_apart(const struct why_world *w, const struct schedule *x)
{
    const struct volume *v;
    uint32_t at = 0;

    while (next_claim(w, x->pod, &at, &v)) {
        _cleanup_(buf_done_p) struct buf nodes = BUF_INIT(WHY_LINE_BYTES_MAX);

        if (v && why_reach(w, v, &nodes) == 0)
            return false;
    }
    for (size_t i = 0; i < x->nodes.count; i++) {
        bool has_all = true;

        for (at = 0; next_claim(w, x->pod, &at, &v);)
            has_all &= !v || reaches(v, x->nodes.items[i].node);
        if (has_all)
            return false;
    }
    return true;
}

static void explain_apart(const struct why_world *w, struct report *r, const struct schedule *x)
{
    _cleanup_(buf_done_p) struct buf words = BUF_INIT(WHY_LINE_BYTES_MAX);
    const struct volume *v;
    uint32_t at = 0;

    while (next_claim(w, x->pod, &at, &v)) {
        if (!v || !v->affinity)
            continue;
        buf_addf(&words, "%s%s on ", words.len ? ", " : "", v->obj.name);
        (void)why_reach(w, v, &words);
    }
    report_cause(r, "volumes-apart", "no node reaches all of its volumes: %s", buf_cstr(&words));
}

static void advise_node(struct report *r, const struct volume *v)
{
    _cleanup_(buf_done_p) struct buf labels = BUF_INIT(WHY_LINE_BYTES_MAX);

    node_selector_words(v->affinity, &labels);
    report_advise(r, "Add a node labelled %s; the volume cannot move.", buf_cstr(&labels));
}

/* Of the volumes that the node cannot reach. */
static void explain_affinity(const struct why_world *w, struct report *r, const struct schedule *x,
                             const struct schedule_node *n)
{
    const struct claim *c;
    const struct volume *v;
    uint32_t at = 0;

    if (are_apart(w, x)) {
        explain_apart(w, r, x);
        return;
    }
    while ((c = next_claim(w, x->pod, &at, &v))) {
        _cleanup_(buf_done_p) struct buf words = BUF_INIT(WHY_LINE_BYTES_MAX), none = BUF_INIT(64);
        bool is_gone;

        if (!v || reaches(v, n->node))
            continue;
        write_place(w, x, v, &words);
        is_gone = why_reach(w, v, &none) == 0;
        report_cause(r, is_gone ? "node-gone" : reason_word(REASON_VOLUME_AFFINITY),
                     "volume %s of claim %s %s", v->obj.name, c->obj.name, buf_cstr(&words));
        if (is_gone)
            advise_node(r, v);
    }
}

static void explain_alone(const struct why_world *w, struct report *r, const struct schedule *x)
{
    const struct claim *c;
    const struct volume *v;
    uint32_t at = 0;

    while ((c = next_claim(w, x->pod, &at, &v))) {
        _cleanup_(buf_done_p) struct buf pods = BUF_INIT(WHY_LINE_BYTES_MAX);

        if (c->modes & ACCESS_RWOP && why_users_placed(w, c->obj.ns, c->obj.name, x->pod->obj.uid, &pods) > 0)
            report_cause(r, reason_word(REASON_POD_ALONE),
                         "claim %s is for one pod alone (ReadWriteOncePod), and pod %s has it", c->obj.name,
                         buf_cstr(&pods));
    }
}

static void explain_zone(const struct why_world *w, struct report *r, const struct schedule *x)
{
    static const char *const keys[] = { "topology.kubernetes.io/zone", "topology.kubernetes.io/region",
                                        "failure-domain.beta.kubernetes.io/zone",
                                        "failure-domain.beta.kubernetes.io/region" };
    const struct claim *c;
    const struct volume *v;
    uint32_t at = 0;

    while ((c = next_claim(w, x->pod, &at, &v)))
        for (size_t i = 0; v && i < ARRAY_LEN(keys); i++)
            if (object_label(&v->obj, keys[i]))
                report_cause(r, reason_word(REASON_ZONE),
                             "volume %s of claim %s is in %s=%s, and the nodes "
                             "that would do are not",
                             v->obj.name, c->obj.name, keys[i], object_label(&v->obj, keys[i]));
}

static void explain_limit(const struct why_world *w, struct report *r, const struct schedule_node *n)
{
    const struct object *o = why_get(w, KIND_CSI_NODE, "", n->node->obj.name);
    const struct csi_node *k = (const struct csi_node *)(const void *)o;

    report_cause(r, reason_word(REASON_VOLUME_COUNT), "node %s has as many volumes as it can",
                 n->node->obj.name);
    for (uint32_t i = 0; k && i < k->drivers_count; i++)
        if (k->drivers[i].count_max >= 0)
            report_fact(r, "node %s takes %lld volumes of driver %s", n->node->obj.name,
                        (long long)k->drivers[i].count_max, k->drivers[i].name);
}

/* --- No node --- */

/* The reason that was asked last, of a node that has it. */
static const struct schedule_node *nearest(const struct schedule *x)
{
    const struct schedule_node *best = &x->nodes.items[0];

    for (size_t i = 1; i < x->nodes.count; i++)
        if (verdict_first(x->nodes.items[i].verdict.reasons) > verdict_first(best->verdict.reasons))
            best = &x->nodes.items[i];
    return best;
}

static void explain_no_node(const struct why_world *w, struct report *r, const struct schedule *x,
                            const struct pod_verdict *volumes)
{
    const struct schedule_node *n = nearest(x);
    enum reason why = verdict_first(n->verdict.reasons);
    _cleanup_(buf_done_p) struct buf words = BUF_INIT(WHY_LINE_BYTES_MAX);

    if (why == REASON_VOLUME_AFFINITY)
        explain_affinity(w, r, x, n);
    else if (why == REASON_POD_ALONE)
        explain_alone(w, r, x);
    else if (why == REASON_ZONE)
        explain_zone(w, r, x);
    else if (why == REASON_VOLUME_COUNT)
        explain_limit(w, r, n);
    else if ((why == REASON_NO_VOLUME || why == REASON_NO_SPACE) && volumes->volume)
        report_cause(r, reason_word(why), "claim %s: %s", pod_claim_name(volumes->volume), volumes->sentence);
    else if (why == REASON_NO_VOLUME && volumes->fits_alone)
        report_cause(r, "too-few-volumes",
                     "each of its claims would find a volume, and no node has volumes for all of them");
    write_node(x->pod, n, &words);
    if (x->nodes.count == 1)
        report_cause(r, reason_word(why), "the only node, %s, %s", n->node->obj.name, buf_cstr(&words));
    else
        report_cause(r, reason_word(why), "none of the %zu nodes will do; the nearest, %s, %s",
                     x->nodes.count, n->node->obj.name, buf_cstr(&words));
    if (why == REASON_NO_VOLUME || why == REASON_NO_SPACE)
        report_advise_as(r, volumes->advice);
    if (advices[why] && !str_is(report_cause_code(r), "node-gone"))
        report_advise(r, "%s", advices[why]);
}

/* --- The whole pod --- */

static void explain_refused(struct report *r, const struct schedule *x, const struct pod_verdict *volumes)
{
    const char *claim = x->about ? pod_claim_name(x->about) : NULL;

    switch (x->refusal) {
    case REFUSAL_NO_NODES:
        report_cause(r, refusal_word(x->refusal), "there is no node");
        report_advise(r, "Start a node: berth serve has one, or berth node.");
        break;
    case REFUSAL_NAMES:
        report_cause(r, refusal_word(x->refusal), "its node affinity names nodes in a way that leaves none");
        break;
    case REFUSAL_NO_CLAIM:
        report_cause(r, refusal_word(x->refusal), "claim %s does not exist", claim);
        report_advise(r, "Create the claim in namespace %s.", x->pod->obj.ns);
        break;
    case REFUSAL_UNBOUND:
        report_cause(r, refusal_word(x->refusal), "claim %s is not bound: %s", claim,
                     strcmp(volumes->cause, WHY_NOTHING) == 0
                         ? "the binder has not set pv.kubernetes.io/bind-completed"
                         : volumes->sentence);
        report_advise_as(r, volumes->advice);
        break;
    case REFUSAL_CLAIM_AWAITED:
    case REFUSAL_CLAIM_LOST:
    case REFUSAL_CLAIM_DELETING:
    case REFUSAL_FOREIGN_CLAIM:
    case REFUSAL_NO_CLASS:
    case REFUSAL_NO_MODE:
    case REFUSAL_NO_VOLUME:
        report_cause(r, refusal_word(x->refusal), "claim %s: %s", claim, volumes->sentence);
        report_advise_as(r, volumes->advice);
        break;
    case REFUSAL_NONE:
    case REFUSAL_COUNT:
        break;
    }
}

/* --- On its way --- */

static void explain_binding(const struct why_world *w, struct report *r, const struct schedule *x)
{
    uint64_t now_ns = clock_mono_ns(w->clock);

    if (!x->is_written || x->claims.count == 0) {
        report_cause(r, "binding", "node %s is chosen, and that is being written", x->chosen);
        report_next(r, "it is given node %s", x->chosen);
        return;
    }
    for (size_t i = 0; i < x->claims.count; i++) {
        const struct schedule_claim *c = &x->claims.items[i];

        if (c->volume)
            report_cause(r, "binding", "node %s is chosen, and claim %s is not yet bound to volume %s",
                         x->chosen, c->claim->obj.name, c->volume->obj.name);
        else
            report_cause(r, "provisioning", "node %s is chosen, and claim %s is not yet provisioned there",
                         x->chosen, c->claim->obj.name);
    }
    if (x->binding_until_ns > now_ns)
        report_next(r, "it is given the node when they are bound; in %llu s the choice is made anew",
                    (unsigned long long)((x->binding_until_ns - now_ns) / NS_PER_S));
}

static void add_queue(const struct why_world *w, struct report *r, const struct schedule *x)
{
    uint64_t now_ns = clock_mono_ns(w->clock);

    if (!x->is_live)
        return;
    if (x->place == SCHEDULE_ASIDE) {
        report_fact(r, "tried %u time%s, the last time %llu s ago", x->attempts, x->attempts == 1 ? "" : "s",
                    (unsigned long long)((now_ns - x->since_ns) / NS_PER_S));
        report_next(r, "the scheduler tries again when something changes that may help, or after 5 minutes");
    } else if (x->place == SCHEDULE_RESTING) {
        report_fact(r, "tried %u time%s", x->attempts, x->attempts == 1 ? "" : "s");
        report_next(r, "the scheduler tries again in %llu s",
                    (unsigned long long)(x->rest_until_ns > now_ns
                                             ? (x->rest_until_ns - now_ns + NS_PER_S - 1) / NS_PER_S
                                             : 0));
    } else if (x->place == SCHEDULE_READY) {
        report_next(r, "it is the scheduler's next, or soon");
    }
}

/* --- Not to be scheduled --- */

/* The gates are not in the view. */
static void write_gates(const struct pod *p, struct buf *out)
{
    _cleanup_(json_done_p) struct json d;
    struct error ignored;
    json_ref root, gates;

    json_init(&d, WHY_BYTES_MAX);
    if (json_parse(&d, p->obj.text, &root, &ignored) < 0)
        return;
    gates = json_path(&d, root, "spec", "schedulingGates");
    for (json_ref g = json_first(&d, gates); g; g = json_next(&d, g))
        buf_addf(out, "%s%.*s", out->len ? ", " : "", STR_ARG(json_get_text(&d, g, "name")));
}

static void explain_gated(struct report *r, const struct pod *p)
{
    _cleanup_(buf_done_p) struct buf gates = BUF_INIT(WHY_LINE_BYTES_MAX);

    write_gates(p, &gates);
    report_cause(r, "gated", "its scheduling gates are there: %s", buf_cstr(&gates));
    report_advise(
        r, "Whoever set a gate takes it away when the pod may go; the scheduler does not look before.");
    report_next(r, "it is scheduled when the last gate is gone");
}

/* No scheduler to ask: what one wrote. */
static void explain_condition(struct report *r, const struct pod *p)
{
    const struct status_condition *c = condition_get(&p->conditions, "PodScheduled");

    if (p->scheduling_gates_count > 0)
        explain_gated(r, p);
    else if (c && c->status == CONDITION_FALSE)
        report_cause(r, "unschedulable", "%s", c->message);
    else
        report_cause(r, "not-looked-at", "no scheduler has looked at it yet");
}

static void explain_state(const struct why_world *w, struct report *r, const struct schedule *x,
                          const struct pod_verdict *volumes)
{
    switch (x->state) {
    case SCHEDULE_OTHERS:
        report_cause(r, "other-scheduler", "it names scheduler \"%s\", which is not " SCHEDULER_NAME,
                     x->pod->scheduler_name);
        report_advise(r, "Start that scheduler, or leave spec.schedulerName out of the pod.");
        break;
    case SCHEDULE_GATED:
        explain_gated(r, x->pod);
        break;
    case SCHEDULE_GOING:
        report_cause(r, "deleting", "it is being deleted, and gets no node any more");
        break;
    case SCHEDULE_BINDING:
        explain_binding(w, r, x);
        report_advise_as(r, volumes->advice);
        break;
    case SCHEDULE_REFUSED:
        explain_refused(r, x, volumes);
        break;
    case SCHEDULE_NO_NODE:
        explain_no_node(w, r, x, volumes);
        break;
    case SCHEDULE_FAILED:
        report_cause(r, "scheduler-error", "%s", buf_cstr(&x->message));
        break;
    case SCHEDULE_FITS:
        report_cause(r, "about-to-be-scheduled", "node %s will do, and it is about to be given it",
                     x->chosen);
        if (!x->is_live)
            report_advise(r, "If this lasts, no scheduler runs: berth serve, or berth scheduler.");
        break;
    case SCHEDULE_ENDED:
    case SCHEDULE_PLACED:
    case SCHEDULE_STATE_COUNT:
        break;
    }
}

/* --- The scheduler's answer, kept for all passes --- */

struct schedule_walk {
    struct why_walk walk; /* about a pod */
    struct schedule schedule;
    bool is_there;
};

/* The cost of a node is that of a look. */
static size_t step_schedule(const struct why_world *w, struct why_walk *walk, size_t looks_max)
{
    struct schedule_walk *x = CONTAINER_OF(walk, struct schedule_walk, walk);
    struct error ignored;

    (void)looks_max;
    x->is_there = scheduler_explain(w->scheduler, pod_of(walk->about), &x->schedule, &ignored) == 0;
    walk->is_done = true;
    return 1 + (x->is_there ? x->schedule.nodes.count : 0);
}

static void clear_schedule(struct why_walk *walk)
{
    struct schedule_walk *x = CONTAINER_OF(walk, struct schedule_walk, walk);

    if (x->is_there)
        schedule_done(&x->schedule);
}

static const struct why_walk_type schedule_walk_type = {
    .bytes = sizeof(struct schedule_walk), .kind = KIND_NODE, .step = step_schedule, .clear = clear_schedule
};

struct schedule *why_schedule(const struct why_world *w, const struct pod *p)
{
    bool was_waiting = w->work->is_waiting;
    struct schedule_walk *x;
    struct why_walk *walk;

    if (!w->scheduler)
        return NULL;
    walk = why_walk_get(w, &schedule_walk_type, &p->obj, /* other= */ NULL, /* flags= */ 0);
    if (!walk)
        return NULL;
    if (!walk->is_done) {
        w->work->pass_looks += step_schedule(w, walk, SIZE_MAX);
        w->work->is_waiting = was_waiting;
    }
    x = CONTAINER_OF(walk, struct schedule_walk, walk);
    return x->is_there ? &x->schedule : NULL;
}

void why_scheduling(const struct why_world *w, struct report *r, const struct pod *p)
{
    const struct schedule *x = why_schedule(w, p);
    struct pod_verdict volumes;

    why_pod_volumes(w, r, p, x, x ? x->about : NULL, &volumes);
    if (!x) {
        explain_condition(r, p);
        return;
    }
    explain_state(w, r, x, &volumes);
    add_nodes(r, x);
    add_queue(w, r, x);
    if (x->message.len > 0 && x->state != SCHEDULE_GATED)
        report_fact(r, "the scheduler says: %s", buf_cstr(&x->message));
}
