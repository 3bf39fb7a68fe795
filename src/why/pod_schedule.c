/* Explains why a pod has no node: the texts for the scheduler's explanation (scheduler/explain.h).
 *
 * When nodes are refused for several reasons, the reason of the last filter is the cause: it stopped the node
 * that came closest. Nodes that taints or
 * the pod's selectors exclude rank behind. */
#include "why/pod.h"

#include <string.h>

#include "api/csi.h"
#include "api/pod_claims.h"
#include "base/cleanup.h"
#include "why/users.h"
#include "why/why_walk.h"

/* Advice for each reason that nodes are refused for. */
static const char *const advices[REASON_COUNT] = {
    [REASON_UNSCHEDULABLE] = "Make a node schedulable again: kubectl uncordon NODE.",
    [REASON_TAINT] = "Add a toleration to the pod, or remove the taint.",
    [REASON_AFFINITY] =
        "Change the pod's nodeSelector or node affinity, or label a node: berth label node NAME KEY=VALUE.",
    [REASON_ABSENT] = "The pod's node affinity names nodes by metadata.name: name an existing one.",
    [REASON_PODS] = "Remove pods from a node, or add one.",
    [REASON_CPU] = "Request less cpu, or make room.",
    [REASON_MEMORY] = "Request less memory, or make room.",
    [REASON_POD_ALONE] = "Delete the other pod, or use a claim with ReadWriteOnce or ReadWriteMany.",
    [REASON_DISK] = "Delete the pod that uses the disk, or schedule the two to different nodes.",
    [REASON_VOLUME_COUNT] = "Add a node, or move pods with volumes of that driver.",
    [REASON_VOLUME_AFFINITY] = "Allow the pod on a node that can use its volume: the volume cannot move.",
    [REASON_NO_VOLUME] =
        "Create volumes that fit on nodes where the pod can run, or use a class that provisions them.",
    [REASON_NO_SPACE] = "Request less storage, or add capacity to the driver.",
    [REASON_VOLUME_GONE] = "See the claim: its volume was deleted.",
    [REASON_ZONE] = "Allow the pod in the zone of its volume.",
};

/* --- One node --- */

/* The label of the selector that the node lacks. */
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
    enum reason why = filter_result_first(n->verdict.reasons);
    const struct kv *label = why == REASON_AFFINITY ? missing_label(p, n->node) : NULL;

    buf_add_cstr(out, reason_of_node(why));
    if (why == REASON_TAINT)
        buf_addf(out, ": {%s: %s}", n->verdict.taint->key, n->verdict.taint->value);
    else if (label)
        buf_addf(out, ": it lacks the label %s=%s", label->key, label->value);
}

static void add_nodes(struct why_report *r, const struct schedule *schedule)
{
    for (size_t i = 0; i < schedule->nodes.count; i++) {
        const struct schedule_node *n = &schedule->nodes.items[i];
        _cleanup_(buf_done_p) struct buf words = BUF_INIT(WHY_LINE_BYTES_MAX);
        const char *word = n->verdict.reasons ? reason_word(filter_result_first(n->verdict.reasons))
                                              : refusal_word(REFUSAL_NONE);

        if (!report_count(r, word))
            continue;
        if (n->verdict.reasons)
            write_node(schedule->pod, n, &words);
        else
            buf_add_cstr(&words, "suitable");
        report_example(r, word, n->node->obj.name, "%s", buf_cstr(&words));
    }
}

/* --- The claim concerned --- */

/* Iterates over the pod's claims and their volumes; NULL at the end. */
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

static bool node_reaches_volume(const struct volume *v, const struct node *n)
{
    struct error ignored;

    return node_affinity_check(v->affinity, n->obj.labels.items, n->obj.labels.count, &ignored) == 0;
}

/* The nodes that reach the volume, and what else refuses them. */
static void write_reaching_nodes(const struct why_world *w, const struct schedule *schedule,
                                 const struct volume *v, struct buf *out)
{
    _cleanup_(buf_done_p) struct buf nodes = BUF_INIT(WHY_LINE_BYTES_MAX);

    if (why_reach(w, v, &nodes) == 0) {
        buf_add_cstr(out, "needs ");
        why_write_need(w, v, out);
        return;
    }
    buf_addf(out, "can only be used from %s", buf_cstr(&nodes));
    for (size_t i = 0; i < schedule->nodes.count; i++) {
        const struct schedule_node *n = &schedule->nodes.items[i];

        if (n->verdict.reasons == 0 || !node_reaches_volume(v, n->node))
            continue;
        buf_addf(out, "; %s ", n->node->obj.name);
        write_node(schedule->pod, n, out);
        break;
    }
}

/* Each of its volumes is reached by some node, but no node reaches all of them. */
static bool have_no_common_node(const struct why_world *w, const struct schedule *schedule)
{
    const struct volume *v;
    uint32_t at = 0;

    while (next_claim(w, schedule->pod, &at, &v)) {
        _cleanup_(buf_done_p) struct buf nodes = BUF_INIT(WHY_LINE_BYTES_MAX);

        if (v && why_reach(w, v, &nodes) == 0)
            return false;
    }
    for (size_t i = 0; i < schedule->nodes.count; i++) {
        bool has_all = true;

        for (at = 0; next_claim(w, schedule->pod, &at, &v);)
            has_all &= !v || node_reaches_volume(v, schedule->nodes.items[i].node);
        if (has_all)
            return false;
    }
    return true;
}

static void explain_no_common_node(const struct why_world *w, struct why_report *r,
                                   const struct schedule *schedule)
{
    _cleanup_(buf_done_p) struct buf words = BUF_INIT(WHY_LINE_BYTES_MAX);
    const struct volume *v;
    uint32_t at = 0;

    while (next_claim(w, schedule->pod, &at, &v)) {
        if (!v || !v->affinity)
            continue;
        buf_addf(&words, "%s%s on ", words.len ? ", " : "", v->obj.name);
        (void)why_reach(w, v, &words);
    }
    report_cause(r, "volumes-apart", "no node can use all of its volumes: %s", buf_cstr(&words));
}

/* Names a volume that the node cannot reach. */
static void explain_affinity(const struct why_world *w, struct why_report *r, const struct schedule *schedule,
                             const struct schedule_node *n)
{
    const struct claim *c;
    const struct volume *v;
    uint32_t at = 0;

    if (have_no_common_node(w, schedule)) {
        explain_no_common_node(w, r, schedule);
        return;
    }
    while ((c = next_claim(w, schedule->pod, &at, &v))) {
        _cleanup_(buf_done_p) struct buf words = BUF_INIT(WHY_LINE_BYTES_MAX), none = BUF_INIT(64),
                                         labels = BUF_INIT(WHY_LINE_BYTES_MAX);
        bool is_gone;

        if (!v || node_reaches_volume(v, n->node))
            continue;
        write_reaching_nodes(w, schedule, v, &words);
        is_gone = why_reach(w, v, &none) == 0;
        report_cause(r, is_gone ? "node-gone" : reason_word(REASON_VOLUME_AFFINITY),
                     "volume %s of claim %s %s", v->obj.name, c->obj.name, buf_cstr(&words));
        if (!is_gone)
            continue;
        node_selector_words(v->affinity, &labels);
        report_advise(r, "Add a node labelled %s; the volume cannot move.", buf_cstr(&labels));
    }
}

static void explain_exclusive_claim(const struct why_world *w, struct why_report *r,
                                    const struct schedule *schedule)
{
    const struct claim *c;
    const struct volume *v;
    uint32_t at = 0;

    while ((c = next_claim(w, schedule->pod, &at, &v))) {
        _cleanup_(buf_done_p) struct buf pods = BUF_INIT(WHY_LINE_BYTES_MAX);

        if (c->modes & ACCESS_RWOP &&
            why_users(w, c->obj.ns, c->obj.name, schedule->pod->obj.uid, /* is_placed= */ true, &pods) > 0)
            report_cause(r, reason_word(REASON_POD_ALONE),
                         "claim %s allows only one pod (ReadWriteOncePod), and pod %s uses it", c->obj.name,
                         buf_cstr(&pods));
    }
}

static void explain_zone(const struct why_world *w, struct why_report *r, const struct schedule *schedule)
{
    static const char *const keys[] = { "topology.kubernetes.io/zone", "topology.kubernetes.io/region",
                                        "failure-domain.beta.kubernetes.io/zone",
                                        "failure-domain.beta.kubernetes.io/region" };
    const struct claim *c;
    const struct volume *v;
    uint32_t at = 0;

    while ((c = next_claim(w, schedule->pod, &at, &v)))
        for (size_t i = 0; v && i < ARRAY_LEN(keys); i++)
            if (object_label(&v->obj, keys[i]))
                report_cause(r, reason_word(REASON_ZONE),
                             "volume %s of claim %s is in %s=%s, and no otherwise suitable node is",
                             v->obj.name, c->obj.name, keys[i], object_label(&v->obj, keys[i]));
}

static void explain_limit(const struct why_world *w, struct why_report *r, const struct schedule_node *n)
{
    const struct object *o = why_get(w, KIND_CSI_NODE, "", n->node->obj.name);
    const struct csi_node *k = (const struct csi_node *)(const void *)o;

    report_cause(r, reason_word(REASON_VOLUME_COUNT), "node %s has reached its volume limit",
                 n->node->obj.name);
    for (uint32_t i = 0; k && i < k->drivers_count; i++)
        if (k->drivers[i].count_max >= 0)
            report_fact(r, "node %s accepts %lld volumes of driver %s", n->node->obj.name,
                        (long long)k->drivers[i].count_max, k->drivers[i].name);
}

/* --- No suitable node --- */

/* The node whose refusal comes from the last filter. */
static const struct schedule_node *find_closest_node(const struct schedule *schedule)
{
    const struct schedule_node *best = &schedule->nodes.items[0];

    for (size_t i = 1; i < schedule->nodes.count; i++)
        if (filter_result_first(schedule->nodes.items[i].verdict.reasons) >
            filter_result_first(best->verdict.reasons))
            best = &schedule->nodes.items[i];
    return best;
}

static void explain_no_node(const struct why_world *w, struct why_report *r, const struct schedule *schedule,
                            const struct pod_filter_result *volumes)
{
    const struct schedule_node *n = find_closest_node(schedule);
    enum reason why = filter_result_first(n->verdict.reasons);
    _cleanup_(buf_done_p) struct buf words = BUF_INIT(WHY_LINE_BYTES_MAX);

    if (why == REASON_VOLUME_AFFINITY)
        explain_affinity(w, r, schedule, n);
    else if (why == REASON_POD_ALONE)
        explain_exclusive_claim(w, r, schedule);
    else if (why == REASON_ZONE)
        explain_zone(w, r, schedule);
    else if (why == REASON_VOLUME_COUNT)
        explain_limit(w, r, n);
    else if ((why == REASON_NO_VOLUME || why == REASON_NO_SPACE) && volumes->volume)
        report_cause(r, reason_word(why), "claim %s: %s", pod_claim_name(volumes->volume), volumes->sentence);
    else if (why == REASON_NO_VOLUME && volumes->fits_alone)
        report_cause(r, "too-few-volumes",
                     "each of its claims fits some volume, but no node has volumes for all of them");
    write_node(schedule->pod, n, &words);
    if (schedule->nodes.count == 1)
        report_cause(r, reason_word(why), "the only node, %s, %s", n->node->obj.name, buf_cstr(&words));
    else
        report_cause(r, reason_word(why), "none of the %zu nodes is suitable; the closest, %s, %s",
                     schedule->nodes.count, n->node->obj.name, buf_cstr(&words));
    if (why == REASON_NO_VOLUME || why == REASON_NO_SPACE)
        report_advise_as(r, volumes->advice);
    if (advices[why] && !str_is(report_cause_code(r), "node-gone"))
        report_advise(r, "%s", advices[why]);
}

/* --- The whole pod --- */

static void explain_refused(struct why_report *r, const struct schedule *schedule,
                            const struct pod_filter_result *volumes)
{
    const char *claim = schedule->about ? pod_claim_name(schedule->about) : NULL;

    switch (schedule->refusal) {
    case REFUSAL_NO_NODES:
        report_cause(r, refusal_word(schedule->refusal), "no node exists");
        report_advise(r, "Start a node: berth serve runs one, or start berth node.");
        break;
    case REFUSAL_NAMES:
        report_cause(r, refusal_word(schedule->refusal), "its node affinity allows no node by name");
        break;
    case REFUSAL_NO_CLAIM:
        report_cause(r, refusal_word(schedule->refusal), "claim %s does not exist", claim);
        report_advise(r, "Create the claim in namespace %s.", schedule->pod->obj.ns);
        break;
    case REFUSAL_UNBOUND:
        report_cause(r, refusal_word(schedule->refusal), "claim %s is not bound: %s", claim,
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
        report_cause(r, refusal_word(schedule->refusal), "claim %s: %s", claim, volumes->sentence);
        report_advise_as(r, volumes->advice);
        break;
    case REFUSAL_NONE:
    case REFUSAL_COUNT:
        break;
    }
}

/* --- Binding in progress --- */

static void explain_binding(const struct why_world *w, struct why_report *r, const struct schedule *schedule)
{
    uint64_t now_ns = clock_mono_ns(w->clock);

    if (!schedule->is_written || schedule->claims.count == 0) {
        report_cause(r, "binding", "node %s is selected, and the binding is being written", schedule->chosen);
        report_next(r, "it is assigned to node %s", schedule->chosen);
        return;
    }
    for (size_t i = 0; i < schedule->claims.count; i++) {
        const struct schedule_claim *c = &schedule->claims.items[i];

        if (c->volume)
            report_cause(r, "binding", "node %s is selected, and claim %s is not yet bound to volume %s",
                         schedule->chosen, c->claim->obj.name, c->volume->obj.name);
        else
            report_cause(r, "provisioning", "node %s is selected, and claim %s is not yet provisioned there",
                         schedule->chosen, c->claim->obj.name);
    }
    if (schedule->binding_until_ns > now_ns)
        report_next(r,
                    "it is assigned to the node when they are bound; after %llu s a node is selected again",
                    (unsigned long long)((schedule->binding_until_ns - now_ns) / NS_PER_S));
}

static void add_queue(const struct why_world *w, struct why_report *r, const struct schedule *schedule)
{
    uint64_t now_ns = clock_mono_ns(w->clock);

    if (!schedule->is_live)
        return;
    if (schedule->place == SCHEDULE_ASIDE) {
        report_fact(r, "%u scheduling attempt%s, the last one %llu s ago", schedule->attempts,
                    schedule->attempts == 1 ? "" : "s",
                    (unsigned long long)((now_ns - schedule->since_ns) / NS_PER_S));
        report_next(r, "the scheduler retries when a relevant object changes, or after 5 minutes");
    } else if (schedule->place == SCHEDULE_RESTING) {
        report_fact(r, "%u scheduling attempt%s", schedule->attempts, schedule->attempts == 1 ? "" : "s");
        report_next(r, "the scheduler retries in %llu s",
                    (unsigned long long)(schedule->rest_until_ns > now_ns
                                             ? (schedule->rest_until_ns - now_ns + NS_PER_S - 1) / NS_PER_S
                                             : 0));
    } else if (schedule->place == SCHEDULE_READY) {
        report_next(r, "it is next in the scheduling queue, or soon");
    }
}

/* --- Pods that are not scheduled --- */

/* The decoded pod does not include the gates: they are read from its JSON. */
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

static void explain_gated(struct why_report *r, const struct pod *p)
{
    _cleanup_(buf_done_p) struct buf gates = BUF_INIT(WHY_LINE_BYTES_MAX);

    write_gates(p, &gates);
    report_cause(r, "gated", "it has scheduling gates: %s", buf_cstr(&gates));
    report_advise(r, "The component that set a gate removes it when the pod may be scheduled.");
    report_next(r, "it is scheduled when the last gate is removed");
}

static void explain_state(const struct why_world *w, struct why_report *r, const struct schedule *schedule,
                          const struct pod_filter_result *volumes)
{
    switch (schedule->state) {
    case SCHEDULE_OTHERS:
        report_cause(r, "other-scheduler", "it names scheduler \"%s\", which is not " SCHEDULER_NAME,
                     schedule->pod->scheduler_name);
        report_advise(r, "Start that scheduler, or remove spec.schedulerName from the pod.");
        break;
    case SCHEDULE_GATED:
        explain_gated(r, schedule->pod);
        break;
    case SCHEDULE_GOING:
        report_cause(r, "deleting", "it is being deleted, and is not scheduled any more");
        break;
    case SCHEDULE_BINDING:
        explain_binding(w, r, schedule);
        report_advise_as(r, volumes->advice);
        break;
    case SCHEDULE_REFUSED:
        explain_refused(r, schedule, volumes);
        break;
    case SCHEDULE_NO_NODE:
        explain_no_node(w, r, schedule, volumes);
        break;
    case SCHEDULE_FAILED:
        report_cause(r, "scheduler-error", "%s", buf_cstr(&schedule->message));
        break;
    case SCHEDULE_FITS:
        report_cause(r, "about-to-be-scheduled",
                     "node %s is suitable, and the pod is about to be assigned to it", schedule->chosen);
        if (!schedule->is_live)
            report_advise(r, "If this persists, no scheduler runs: start berth serve or berth scheduler.");
        break;
    case SCHEDULE_ENDED:
    case SCHEDULE_PLACED:
    case SCHEDULE_STATE_COUNT:
        break;
    }
}

/* --- The scheduler's answer, shared by all passes --- */

struct schedule_walk {
    struct why_walk walk; /* about a pod */
    struct schedule schedule;
    bool has_begun;
};

/* A node costs one look. */
static size_t step_schedule(const struct why_world *w, struct why_walk *walk, size_t looks_max)
{
    struct schedule_walk *schedule_walk = CONTAINER_OF(walk, struct schedule_walk, walk);
    struct schedule *schedule = &schedule_walk->schedule;
    size_t before = schedule->nodes.count;
    struct error ignored;
    int r;

    if (!schedule_walk->has_begun)
        schedule_begin(schedule, w->scheduler, pod_of(walk->about));
    schedule_walk->has_begun = true;
    r = schedule_step(schedule, looks_max, &ignored);
    w->work->is_out_of_memory |= r < 0;
    walk->is_done = r != 0;
    return 1 + (schedule->nodes.count > before ? schedule->nodes.count - before : 0);
}

static void clear_schedule(struct why_walk *walk)
{
    struct schedule_walk *schedule_walk = CONTAINER_OF(walk, struct schedule_walk, walk);

    if (schedule_walk->has_begun)
        schedule_done(&schedule_walk->schedule);
}

static const struct why_walk_type schedule_walk_type = {
    .bytes = sizeof(struct schedule_walk), .kind = KIND_NODE, .step = step_schedule, .clear = clear_schedule
};

struct schedule *why_schedule(const struct why_world *w, const struct pod *p)
{
    struct schedule_walk *schedule_walk =
        w->scheduler ? why_walk_result(w, &schedule_walk_type, &p->obj, /* other= */ NULL, /* flags= */ 0)
                     : NULL;

    return schedule_walk ? &schedule_walk->schedule : NULL;
}

void why_scheduling(const struct why_world *w, struct why_report *r, const struct pod *p)
{
    const struct status_condition *c = condition_get(&p->conditions, "PodScheduled");
    const struct schedule *schedule = why_schedule(w, p);
    struct pod_filter_result volumes;

    why_pod_volumes(w, r, p, schedule, schedule ? schedule->about : NULL, &volumes);
    if (!schedule) { /* no scheduler in this process: use the condition that it wrote; or it is not done */
        if (p->scheduling_gates_count > 0)
            explain_gated(r, p);
        else if (c && c->status == CONDITION_FALSE)
            report_cause(r, "unschedulable", "%s", c->message);
        else
            report_cause(r, "not-looked-at", "no scheduler has processed it yet");
        return;
    }
    explain_state(w, r, schedule, &volumes);
    add_nodes(r, schedule);
    add_queue(w, r, schedule);
    if (schedule->message.len > 0 && schedule->state != SCHEDULE_GATED)
        report_fact(r, "the scheduler reports: %s", buf_cstr(&schedule->message));
}
