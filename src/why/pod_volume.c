/* The volumes of a pod, one part of its report each: claims, and what comes from ConfigMaps and Secrets.
 * Volumes that need nobody (emptyDir, hostPath, …) are left out. */
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
#include "why/walk.h"

#define BIT(reason) (1U << (reason))
/* Not the node's fault but that of the claims: one of them may be this one. */
#define CLAIMS_REASONS (BIT(REASON_NO_VOLUME) | BIT(REASON_NO_SPACE))
#define PROMISED "promised"
/* So many nodes are asked about a volume for one look. */
#define CHECKS_PER_LOOK 8

/* --- A claim that waits for the pod --- */

/* How near a volume is: the rule that was asked last refuses it. */
struct near {
    const struct volume *volume; /* NULL: there is none */
    struct schedule_volume verdict;
    int rank;
};

static int rank_of(const struct schedule_volume *v)
{
    if (v->reject == REJECT_NONE)
        return REJECT_COUNT;
    return v->reject == REJECT_TAKEN ? -1 : (int)v->reject; /* somebody has it: says nothing */
}

static bool fits(const struct schedule_volume *v)
{
    return v->reject == REJECT_NONE && (v->reasons & ~CLAIMS_REASONS) == 0;
}

static const char *word_of(const struct schedule_volume *v)
{
    if (v->is_promised)
        return PROMISED;
    if (v->reject != REJECT_NONE || fits(v))
        return reject_names[v->reject];
    return reason_word(verdict_first(v->reasons & ~CLAIMS_REASONS));
}

static void write_labels(const struct volume *v, struct buf *out)
{
    buf_add_cstr(out, "needs a node labelled ");
    node_selector_words(v->affinity, out);
}

static void write_volume(const struct schedule_volume *x, const struct volume *v, const struct claim *c,
                         struct buf *out)
{
    if (x->is_promised)
        buf_add_cstr(out, "promised to another pod that is on its way");
    else if (x->reject == REJECT_NODE && v->affinity)
        write_labels(v, out);
    else if (x->reject != REJECT_NONE)
        match_words(x->reject, v, c, out);
    else if (fits(x))
        buf_addf(out, "fits%s%s", x->node ? ", from node " : "", x->node ? x->node->obj.name : "");
    else
        buf_addf(out, "node %s %s", x->node->obj.name,
                 reason_of_node(verdict_first(x->reasons & ~CLAIMS_REASONS)));
}

/* Every volume, and the nearest. */
struct volumes_walk {
    struct why_walk walk; /* about a claim, for a pod */
    struct report counted;
    struct near near;
    const struct object *nearest; /* a reference to its volume */
};

static void count_volume(struct volumes_walk *x, const struct claim *c, const struct volume *v,
                         const struct schedule_volume *verdict)
{
    _cleanup_(buf_done_p) struct buf words = BUF_INIT(WHY_LINE_BYTES_MAX);

    if (!report_count(&x->counted, word_of(verdict)))
        return;
    write_volume(verdict, v, c, &words);
    report_example(&x->counted, word_of(verdict), v->obj.name, "%s", buf_cstr(&words));
}

static size_t visit_volume(const struct why_world *w, struct why_walk *walk, const struct object *o)
{
    struct volumes_walk *x = CONTAINER_OF(walk, struct volumes_walk, walk);
    struct schedule *schedule = why_schedule(w, pod_of(walk->other));
    const struct claim *c = claim_of(walk->about);
    const struct volume *v = volume_of(o);
    struct schedule_volume verdict;
    size_t checks;

    if (!schedule)
        return 1;
    checks = schedule->checks_left;
    why_walk_begin_counting(w, &x->counted);
    schedule_judge_volume(schedule, c, v, &verdict);
    if (!x->near.volume || rank_of(&verdict) > x->near.rank || (fits(&verdict) && !fits(&x->near.verdict))) {
        x->near = (struct near){ .volume = v, .verdict = verdict, .rank = rank_of(&verdict) };
        why_walk_hold(&x->nearest, o);
    }
    count_volume(x, c, v, &verdict);
    return 1 + (checks - schedule->checks_left) / CHECKS_PER_LOOK;
}

static void clear_volumes(struct why_walk *walk)
{
    why_walk_hold(&CONTAINER_OF(walk, struct volumes_walk, walk)->nearest, NULL);
}

static const struct why_walk_type volumes_walk_type = {
    .bytes = sizeof(struct volumes_walk), .kind = KIND_VOLUME, .visit = visit_volume, .clear = clear_volumes
};

static void add_volumes(const struct why_world *w, struct report *r, const struct pod *p,
                        const struct claim *c, struct near *ret)
{
    struct why_walk *walk = why_walk_get(w, &volumes_walk_type, &c->obj, &p->obj, /* flags= */ 0);
    struct volumes_walk *x = walk ? CONTAINER_OF(walk, struct volumes_walk, walk) : NULL;

    *ret = (struct near){ .volume = NULL };
    if (!x || !walk->is_done)
        return;
    *ret = x->near;
    why_walk_take_candidates(w, walk, &x->counted, r);
}

static const struct storage_class *class_of(const struct why_world *w, const struct claim *c)
{
    return (const struct storage_class *)(const void *)why_get(w, KIND_CLASS, "", c->class);
}

static bool any_node_has(const struct schedule *x, enum reason why)
{
    for (size_t i = 0; i < x->nodes.count; i++)
        if (x->nodes.items[i].verdict.reasons & BIT(why))
            return true;
    return false;
}

/* Nothing free: can it be made? */
static bool explain_provision(struct report *r, const struct schedule *x, const struct claim *c,
                              const struct storage_class *k, struct buf *fine)
{
    _cleanup_(buf_done_p) struct buf size = BUF_INIT(256);

    quantity_format(&c->request, &size);
    if (any_node_has(x, REASON_NO_SPACE)) {
        report_cause(r, reason_word(REASON_NO_SPACE),
                     "driver %s has not enough free storage for %s where the pod may go", k->provisioner,
                     buf_cstr(&size));
        return false;
    }
    if (any_node_has(x, REASON_NO_VOLUME) && k->topologies) {
        report_cause(r, "topology",
                     "class %s provisions only where its allowedTopologies are, and the pod may go nowhere "
                     "there",
                     k->obj.name);
        return false;
    }
    buf_addf(fine, "%s provisions it for the node that the pod is given", k->provisioner);
    return true;
}

/* It was to be made for that node, before; the pod has to go there. */
static bool explain_selected(struct report *r, const struct schedule *x, const struct claim *c,
                             const char *node, struct buf *fine)
{
    for (size_t i = 0; i < x->nodes.count; i++) {
        const struct schedule_node *n = &x->nodes.items[i];
        uint32_t reasons = n->verdict.reasons;

        if (strcmp(n->node->obj.name, node) != 0)
            continue;
        if (reasons != 0)
            report_cause(r, "selected-node", "it is to be provisioned for node %s, chosen before, which %s",
                         node, reason_of_node(verdict_first(reasons)));
        else
            buf_addf(fine, "it is being provisioned for node %s", node);
        return reasons == 0;
    }
    report_cause(r, "selected-node", "it is to be provisioned for node %s, chosen before, which is not there",
                 node);
    report_advise(r,
                  "Take the annotation away, so that a node is chosen anew: berth patch pvc %s -n %s "
                  "--type=merge -p '{\"metadata\":{\"annotations\":{\"" ANN_SELECTED_NODE "\":null}}}'",
                  c->obj.name, c->obj.ns);
    return false;
}

static bool explain_none(const struct why_world *w, struct report *r, const struct claim *c,
                         const struct near *near)
{
    _cleanup_(buf_done_p) struct buf words = BUF_INIT(WHY_LINE_BYTES_MAX);
    bool is_node_gone;

    if (!near->volume) {
        report_cause(r, "no-volumes", "there is no volume at all, and class %s provisions none", c->class);
        return false;
    }
    is_node_gone = near->verdict.reject == REJECT_NODE && near->volume->affinity;
    if (is_node_gone) {
        buf_add_cstr(&words, "it needs ");
        why_write_need(w, near->volume, &words);
    } else {
        write_volume(&near->verdict, near->volume, c, &words);
    }
    report_cause(r, is_node_gone ? "node-gone" : word_of(&near->verdict),
                 "no free volume can be had where the pod may go; the nearest is %s: %s",
                 near->volume->obj.name, buf_cstr(&words));
    if (is_node_gone)
        why_advise_need(r, near->volume);
    return false;
}

bool why_delayed_claim(const struct why_world *w, struct report *r, const struct pod *p,
                       const struct claim *c, struct buf *fine)
{
    const struct schedule *x = why_schedule(w, p);
    const char *selected = object_annotation(&c->obj, ANN_SELECTED_NODE);
    const struct storage_class *k = class_of(w, c);
    struct near near;

    assert(x);
    report_fact(r,
                "class \"%s\" waits for the first consumer: a volume is chosen together with the pod's node",
                c->class);
    add_volumes(w, r, p, c, &near);
    if (selected)
        return explain_selected(r, x, c, selected, fine);
    if (near.volume && fits(&near.verdict)) {
        buf_addf(fine, "volume %s would do", near.volume->obj.name);
        return true;
    }
    if (k && k->provisioner[0] && strcmp(k->provisioner, PROVISIONER_NONE) != 0)
        return explain_provision(r, x, c, k, fine);
    return explain_none(w, r, c, &near);
}

/* --- Claims --- */

static bool waits_for_pod(const struct why_world *w, const struct claim *c)
{
    struct match_options search = { .is_delayed = false };
    struct error ignored;

    return c->volume_name[0] == '\0' && !object_annotation(&c->obj, ANN_BIND_COMPLETED) &&
           why_search(w, c, &search, &ignored) == 0 && search.is_delayed;
}

static void explain_missing(struct report *r, const struct pod *p, const struct pod_volume *v)
{
    report_state(r, "missing");
    if (v->type == POD_VOLUME_EPHEMERAL) {
        report_cause(r, "claim-awaited", "it is made for the pod, and is not there yet");
        report_advise(r, "If this lasts, no controller runs: berth serve, or berth controllers.");
    } else {
        report_cause(r, "no-such-claim", "it does not exist");
        report_advise(r, "Create it in namespace %s.", p->obj.ns);
    }
}

static void explain_claim(const struct why_world *w, struct report *r, const struct pod *p,
                          const struct pod_volume *v, const struct claim *c, const struct schedule *x)
{
    const struct object *volume = c->volume_name[0] ? why_get(w, KIND_VOLUME, "", c->volume_name) : NULL;
    _cleanup_(buf_done_p) struct buf fine = BUF_INIT(WHY_LINE_BYTES_MAX);

    if (c->obj.is_deleting && p->node_name[0] == '\0') {
        report_cause(r, "claim-deleting", "it is being deleted");
        report_advise(r, "Make it again, then the pod.");
    }
    if (v->type == POD_VOLUME_EPHEMERAL && !pod_controls_claim(p, c)) {
        report_cause(r, "claim-not-owned", "it has the name of the pod's own claim and is not the pod's");
        report_advise(r, "Delete or rename that claim; the pod's own is then made.");
    }
    if (x && x->nodes.count > 0 && waits_for_pod(w, c)) {
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

static void explain_keyed(const struct why_world *w, struct report *r, const struct pod *p,
                          const struct pod_keyed *k, enum kind kind)
{
    const struct object *o = why_get(w, kind, p->obj.ns, k->name);
    const struct config_entries *has = NULL;

    if (o)
        has = kind == KIND_SECRET ? &secret_of(o)->data : &config_map_of(o)->data;
    report_state(r, "%s", o ? "there" : "missing");
    if (!o && k->is_optional) {
        report_cause(r, WHY_NOTHING, "it is not there, and need not be");
    } else if (!o) {
        report_cause(r, kind == KIND_SECRET ? "no-such-secret" : "no-such-config-map", "it does not exist");
        report_advise(r, "Create it in namespace %s; the node looks again by itself.", p->obj.ns);
    }
    for (uint32_t i = 0; has && !k->is_optional && i < k->items_count; i++)
        if (!config_find(has, k->items[i].key))
            report_cause(r, "no-such-key", "it has no key \"%s\"", k->items[i].key);
}

/* --- All of them --- */

/* What is collected while the parts are made. */
struct parts_made {
    const struct why_world *world;
    struct report *report;
    const struct pod *pod;
    const struct schedule *schedule;
    const struct pod_volume *about; /* whose verdict is asked for; NULL: the first that has one */
    struct pod_verdict *verdict;
};

static void end_part(struct parts_made *x, struct report *part, const struct pod_volume *v)
{
    report_fact(part, "volume \"%s\" of the pod", v->name);
    report_end(part);
    if (str_is(report_cause_code(part), WHY_NOTHING) && x->about != v)
        return;
    x->verdict->fits_alone = false;
    if (x->about ? x->about != v : x->verdict->volume != NULL)
        return;
    x->verdict->volume = v;
    (void)snprintf(x->verdict->cause, sizeof x->verdict->cause, "%.*s", STR_ARG(report_cause_code(part)));
    x->verdict->advice = part->advice;
    (void)snprintf(x->verdict->sentence, sizeof x->verdict->sentence, "%.*s", STR_ARG(report_sentence(part)));
}

static void add_claim(struct parts_made *x, const struct pod_volume *v)
{
    const char *name = pod_claim_name(v);
    const struct object *o = why_get(x->world, KIND_CLAIM, x->pod->obj.ns, name);
    struct report part;

    if (!report_begin_part(x->report, &part, kind_info(KIND_CLAIM)->name, x->pod->obj.ns, name))
        return;
    if (o)
        explain_claim(x->world, &part, x->pod, v, claim_of(o), x->schedule);
    else
        explain_missing(&part, x->pod, v);
    end_part(x, &part, v);
}

/* Where they are not cached nobody knows more than the node says. */
static void add_keyed(struct parts_made *x, const struct pod_volume *v, const struct pod_keyed *k,
                      enum kind kind)
{
    struct report part;

    if (!x->world->caches[kind] ||
        !report_begin_part(x->report, &part, kind_info(kind)->name, x->pod->obj.ns, k->name))
        return;
    explain_keyed(x->world, &part, x->pod, k, kind);
    end_part(x, &part, v);
}

static void add_projected(struct parts_made *x, const struct pod_volume *v)
{
    for (uint32_t i = 0; i < v->projected->items_count; i++) {
        const struct pod_projection *p = &v->projected->items[i];

        if (p->type == PROJECTION_SECRET || p->type == PROJECTION_CONFIG_MAP)
            add_keyed(x, v, p->keyed, p->type == PROJECTION_SECRET ? KIND_SECRET : KIND_CONFIG_MAP);
    }
}

void why_pod_volumes(const struct why_world *w, struct report *r, const struct pod *p,
                     const struct schedule *x, const struct pod_volume *about, struct pod_verdict *ret)
{
    struct parts_made made = {
        .world = w, .report = r, .pod = p, .schedule = x, .about = about, .verdict = ret
    };

    *ret = (struct pod_verdict){ .fits_alone = true };
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
