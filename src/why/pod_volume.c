/* Explains the volumes of a pod, each as a part of its report: claims, ConfigMaps and Secrets. Volumes that
 * depend on no other object (emptyDir, hostPath, …) are left out. */
#include "why/pod.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "api/class.h"
#include "api/config.h"
#include "api/pod_claims.h"
#include "base/cleanup.h"
#include "controllers/binder/decide.h"
#include "volumes/match.h"
#include "why/claim.h"
#include "why/users.h"
#include "why/why_walk.h"

#define BIT(reason) (1U << (reason))
/* Reasons that come from the pod's claims, perhaps from this one. */
#define CLAIMS_REASONS (BIT(REASON_NO_VOLUME) | BIT(REASON_NO_SPACE))
#define ASSUMED "assumed"
/* Nodes compared with a volume per look. */
#define CHECKS_PER_LOOK 8

/* --- A claim that waits for the pod --- */

/* How close a volume is: the later the filter that refuses it, the closer. */
struct closest_volume {
    const struct volume *volume; /* NULL: none */
    struct schedule_volume result;
    int rank;
};

static int rank_of(const struct schedule_volume *v)
{
    if (v->reject == REJECT_NONE)
        return REJECT_COUNT;
    return v->reject == REJECT_TAKEN ? -1 : (int)v->reject; /* bound volumes explain nothing */
}

static bool volume_fits_pod(const struct schedule_volume *v)
{
    return v->reject == REJECT_NONE && (v->reasons & ~CLAIMS_REASONS) == 0;
}

static const char *rejection_code(const struct schedule_volume *v)
{
    if (v->is_assumed)
        return ASSUMED;
    if (v->reject != REJECT_NONE || volume_fits_pod(v))
        return reject_names[v->reject];
    return reason_word(filter_result_first(v->reasons & ~CLAIMS_REASONS));
}

static void write_volume(const struct schedule_volume *volume, const struct volume *v, const struct claim *c,
                         struct buf *out)
{
    if (volume->is_assumed) {
        buf_add_cstr(out, "reserved for another pod that is being scheduled");
    } else if (volume->reject == REJECT_NODE && v->affinity) {
        buf_add_cstr(out, "needs a node labelled ");
        node_selector_words(v->affinity, out);
    } else if (volume->reject != REJECT_NONE) {
        match_words(volume->reject, v, c, out);
    } else if (volume_fits_pod(volume)) {
        buf_addf(out, "fits%s%s", volume->node ? ", from node " : "",
                 volume->node ? volume->node->obj.name : "");
    } else {
        buf_addf(out, "node %s %s", volume->node->obj.name,
                 reason_of_node(filter_result_first(volume->reasons & ~CLAIMS_REASONS)));
    }
}

/* Every volume, and the closest one. */
struct volumes_walk {
    struct why_walk walk; /* about a claim, for a pod */
    struct why_report counted;
    struct closest_volume closest;
    const struct object *nearest; /* a reference to its volume */
};

static size_t visit_volume(const struct why_world *w, struct why_walk *walk, const struct object *o)
{
    _cleanup_(buf_done_p) struct buf words = BUF_INIT(WHY_LINE_BYTES_MAX);
    struct volumes_walk *volumes_walk = CONTAINER_OF(walk, struct volumes_walk, walk);
    struct schedule *schedule = why_schedule(w, pod_of(walk->other));
    const struct claim *c = claim_of(walk->about);
    const struct volume *v = volume_of(o);
    struct schedule_volume result;
    size_t checks;

    if (!schedule)
        return 1;
    checks = schedule->checks_left;
    why_walk_begin_counting(w, &volumes_walk->counted);
    schedule_filter_volume(schedule, c, v, &result);
    if (!volumes_walk->closest.volume || rank_of(&result) > volumes_walk->closest.rank ||
        (volume_fits_pod(&result) && !volume_fits_pod(&volumes_walk->closest.result))) {
        volumes_walk->closest =
            (struct closest_volume){ .volume = v, .result = result, .rank = rank_of(&result) };
        why_walk_hold(&volumes_walk->nearest, o);
    }
    if (report_count(&volumes_walk->counted, rejection_code(&result))) {
        write_volume(&result, v, c, &words);
        report_example(&volumes_walk->counted, rejection_code(&result), o->name, "%s", buf_cstr(&words));
    }
    return 1 + (checks - schedule->checks_left) / CHECKS_PER_LOOK;
}

static const struct why_walk_type volumes_walk_type = {
    .bytes = sizeof(struct volumes_walk),
    .kind = KIND_VOLUME,
    .visit = visit_volume,
    .held = { offsetof(struct volumes_walk, nearest) },
};

static bool any_node_has(const struct schedule *schedule, enum reason why)
{
    for (size_t i = 0; i < schedule->nodes.count; i++)
        if (schedule->nodes.items[i].verdict.reasons & BIT(why))
            return true;
    return false;
}

/* No volume is available: can one be provisioned? */
static bool explain_provision(struct why_report *r, const struct schedule *schedule, const struct claim *c,
                              const struct storage_class *k, struct buf *fine)
{
    _cleanup_(buf_done_p) struct buf size = BUF_INIT(256);

    quantity_format(&c->request, &size);
    if (any_node_has(schedule, REASON_NO_SPACE)) {
        report_cause(r, reason_word(REASON_NO_SPACE),
                     "driver %s has too little free storage for %s on nodes where the pod can run",
                     k->provisioner, buf_cstr(&size));
        return false;
    }
    if (any_node_has(schedule, REASON_NO_VOLUME) && k->topologies) {
        report_cause(r, "topology",
                     "class %s provisions only in its allowedTopologies, and the pod cannot run there",
                     k->obj.name);
        return false;
    }
    buf_addf(fine, "%s provisions it for the node that is selected for the pod", k->provisioner);
    return true;
}

/* A node was selected for provisioning earlier; the pod has to run there. */
static bool explain_selected(struct why_report *r, const struct schedule *schedule, const struct claim *c,
                             const char *node, struct buf *fine)
{
    for (size_t i = 0; i < schedule->nodes.count; i++) {
        const struct schedule_node *n = &schedule->nodes.items[i];
        uint32_t reasons = n->verdict.reasons;

        if (strcmp(n->node->obj.name, node) != 0)
            continue;
        if (reasons != 0)
            report_cause(r, "selected-node", "it is to be provisioned for node %s, selected before, which %s",
                         node, reason_of_node(filter_result_first(reasons)));
        else
            buf_addf(fine, "it is being provisioned for node %s", node);
        return reasons == 0;
    }
    report_cause(r, "selected-node",
                 "it is to be provisioned for node %s, selected before, which does not exist", node);
    report_advise(r,
                  "Remove the annotation, so that a node is selected again: berth patch pvc %s -n %s "
                  "--type=merge -p '{\"metadata\":{\"annotations\":{\"" ANN_SELECTED_NODE "\":null}}}'",
                  c->obj.name, c->obj.ns);
    return false;
}

static bool explain_none(const struct why_world *w, struct why_report *r, const struct claim *c,
                         const struct closest_volume *closest)
{
    _cleanup_(buf_done_p) struct buf words = BUF_INIT(WHY_LINE_BYTES_MAX);
    bool is_node_gone;

    if (!closest->volume) {
        report_cause(r, "no-volumes", "no PersistentVolume exists, and class %s provisions none", c->class);
        return false;
    }
    is_node_gone = closest->result.reject == REJECT_NODE && closest->volume->affinity;
    if (is_node_gone) {
        buf_add_cstr(&words, "it needs ");
        why_write_need(w, closest->volume, &words);
    } else {
        write_volume(&closest->result, closest->volume, c, &words);
    }
    report_cause(r, is_node_gone ? "node-gone" : rejection_code(&closest->result),
                 "no available volume can be used on a node where the pod can run; the closest is %s: %s",
                 closest->volume->obj.name, buf_cstr(&words));
    if (is_node_gone)
        why_advise_need(r, closest->volume);
    return false;
}

bool why_delayed_claim(const struct why_world *w, struct why_report *r, const struct pod *p,
                       const struct claim *c, struct buf *fine)
{
    const struct schedule *schedule = why_schedule(w, p);
    const char *selected = object_annotation(&c->obj, ANN_SELECTED_NODE);
    const struct storage_class *k =
        (const struct storage_class *)(const void *)why_get(w, KIND_CLASS, "", c->class);
    struct volumes_walk *found = why_walk_result(w, &volumes_walk_type, &c->obj, &p->obj, /* flags= */ 0);
    struct closest_volume closest = { .volume = NULL };

    assert(schedule);
    report_fact(r, "class \"%s\" is WaitForFirstConsumer: the volume is chosen together with the pod's node",
                c->class);
    if (found) {
        closest = found->closest;
        why_walk_take_candidates(w, &found->walk, &found->counted, r);
    }
    if (selected)
        return explain_selected(r, schedule, c, selected, fine);
    if (closest.volume && volume_fits_pod(&closest.result)) {
        buf_addf(fine, "volume %s is suitable", closest.volume->obj.name);
        return true;
    }
    if (k && k->provisioner[0] && strcmp(k->provisioner, PROVISIONER_NONE) != 0)
        return explain_provision(r, schedule, c, k, fine);
    return explain_none(w, r, c, &closest);
}

/* --- Claims --- */

static bool waits_for_pod(const struct why_world *w, const struct claim *c)
{
    struct match_options search = { .is_delayed = false };
    struct error ignored;

    return c->volume_name[0] == '\0' && !object_annotation(&c->obj, ANN_BIND_COMPLETED) &&
           why_search(w, c, &search, &ignored) == 0 && search.is_delayed;
}

static void explain_missing(struct why_report *r, const struct pod *p, const struct pod_volume *v)
{
    report_state(r, "missing");
    if (v->type == POD_VOLUME_EPHEMERAL) {
        report_cause(r, "claim-awaited", "it is created for the pod, and does not exist yet");
        report_advise(r, "If this persists, no controller runs: start berth serve or berth controllers.");
    } else {
        report_cause(r, "no-such-claim", "it does not exist");
        report_advise(r, "Create it in namespace %s.", p->obj.ns);
    }
}

static void explain_claim(const struct why_world *w, struct why_report *r, const struct pod *p,
                          const struct pod_volume *v, const struct claim *c, const struct schedule *schedule)
{
    const struct object *volume = c->volume_name[0] ? why_get(w, KIND_VOLUME, "", c->volume_name) : NULL;
    _cleanup_(buf_done_p) struct buf fine = BUF_INIT(WHY_LINE_BYTES_MAX);

    if (c->obj.is_deleting && p->node_name[0] == '\0') {
        report_cause(r, "claim-deleting", "it is being deleted");
        report_advise(r, "Recreate it, then the pod.");
    }
    if (v->type == POD_VOLUME_EPHEMERAL && !pod_controls_claim(p, c)) {
        report_cause(r, "claim-not-owned",
                     "it has the name of the pod's own claim, but the pod does not own it");
        report_advise(r, "Delete or rename that claim; the pod's own is then created.");
    }
    if (schedule && schedule->nodes.count > 0 && waits_for_pod(w, c)) {
        report_state(r, "Pending");
        if (why_delayed_claim(w, r, p, c, &fine))
            report_cause(r, WHY_NOTHING, "%s", buf_cstr(&fine));
        return;
    }
    if (p->node_name[0] && volume && c->phase == CLAIM_BOUND)
        why_volume_on_node(w, r, p, volume_of(volume));
    why_claim(w, r, &c->obj);
}

/* --- ConfigMaps and Secrets --- */

static void explain_keyed(const struct why_world *w, struct why_report *r, const struct pod *p,
                          const struct pod_keyed *k, enum kind kind)
{
    const struct object *o = why_get(w, kind, p->obj.ns, k->name);
    const struct config_entries *has = NULL;

    if (o)
        has = kind == KIND_SECRET ? &secret_of(o)->data : &config_map_of(o)->data;
    report_state(r, "%s", o ? "present" : "missing");
    if (!o && k->is_optional) {
        report_cause(r, WHY_NOTHING, "it does not exist, and is optional");
    } else if (!o) {
        report_cause(r, kind == KIND_SECRET ? "no-such-secret" : "no-such-config-map", "it does not exist");
        report_advise(r, "Create it in namespace %s; the node retries automatically.", p->obj.ns);
    }
    for (uint32_t i = 0; has && !k->is_optional && i < k->items_count; i++)
        if (!config_find(has, k->items[i].key))
            report_cause(r, "no-such-key", "it has no key \"%s\"", k->items[i].key);
}

/* --- All of them --- */

/* State while the parts are added. */
struct parts_made {
    const struct why_world *world;
    struct why_report *report;
    const struct pod *pod;
    const struct schedule *schedule;
    const struct pod_volume
        *about; /* the volume whose result is requested; NULL: the first one with a cause */
    struct pod_filter_result *result;
};

static void end_part(struct parts_made *parts, struct why_report *part, const struct pod_volume *v)
{
    report_fact(part, "volume \"%s\" of the pod", v->name);
    report_end(part);
    if (str_is(report_cause_code(part), WHY_NOTHING) && parts->about != v)
        return;
    parts->result->fits_alone = false;
    if (parts->about ? parts->about != v : parts->result->volume != NULL)
        return;
    parts->result->volume = v;
    (void)snprintf(parts->result->cause, sizeof parts->result->cause, "%.*s",
                   STR_ARG(report_cause_code(part)));
    parts->result->advice = part->advice;
    (void)snprintf(parts->result->sentence, sizeof parts->result->sentence, "%.*s",
                   STR_ARG(report_sentence(part)));
}

static void add_claim(struct parts_made *parts, const struct pod_volume *v)
{
    const char *name = pod_claim_name(v);
    const struct object *o = why_get(parts->world, KIND_CLAIM, parts->pod->obj.ns, name);
    struct why_report part;

    if (!report_begin_part(parts->report, &part, kind_info(KIND_CLAIM)->name, parts->pod->obj.ns, name))
        return;
    if (o)
        explain_claim(parts->world, &part, parts->pod, v, claim_of(o), parts->schedule);
    else
        explain_missing(&part, parts->pod, v);
    end_part(parts, &part, v);
}

/* Where these kinds are not cached, only the node knows their state. */
static void add_keyed(struct parts_made *parts, const struct pod_volume *v, const struct pod_keyed *k,
                      enum kind kind)
{
    struct why_report part;

    if (!parts->world->caches[kind] ||
        !report_begin_part(parts->report, &part, kind_info(kind)->name, parts->pod->obj.ns, k->name))
        return;
    explain_keyed(parts->world, &part, parts->pod, k, kind);
    end_part(parts, &part, v);
}

static void add_projected(struct parts_made *parts, const struct pod_volume *v)
{
    for (uint32_t i = 0; i < v->projected->items_count; i++) {
        const struct pod_projection *p = &v->projected->items[i];

        if (p->type == PROJECTION_SECRET || p->type == PROJECTION_CONFIG_MAP)
            add_keyed(parts, v, p->keyed, p->type == PROJECTION_SECRET ? KIND_SECRET : KIND_CONFIG_MAP);
    }
}

void why_pod_volumes(const struct why_world *w, struct why_report *r, const struct pod *p,
                     const struct schedule *schedule, const struct pod_volume *about,
                     struct pod_filter_result *ret)
{
    struct parts_made made = {
        .world = w, .report = r, .pod = p, .schedule = schedule, .about = about, .result = ret
    };

    *ret = (struct pod_filter_result){ .fits_alone = true };
    for (uint32_t i = 0; i < p->volumes.count; i++) {
        const struct pod_volume *v = &p->volumes.items[i];

        if (pod_claim_name(v))
            add_claim(&made, v);
        else if (v->type == POD_VOLUME_SECRET)
            add_keyed(&made, v, v->keyed, KIND_SECRET);
        else if (v->type == POD_VOLUME_CONFIG_MAP)
            add_keyed(&made, v, v->keyed, KIND_CONFIG_MAP);
        else if (v->type == POD_VOLUME_PROJECTED)
            add_projected(&made, v);
    }
}
