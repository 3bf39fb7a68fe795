/* Filters that read only the node: cordoned, untolerated taints, node selector and affinity, free resources.
 */
#include "scheduler/scheduler_int.h"

#include <string.h>

/* The taint that a cordoned node implies. */
static const struct taint closed = { TAINT_UNSCHEDULABLE, "", TAINT_NO_SCHEDULE };

static const struct taint *find_untolerated_taint(const struct pod *p, const struct node *n)
{
    for (uint32_t i = 0; i < n->taints.count; i++) {
        const struct taint *t = &n->taints.items[i];

        if ((t->effect == TAINT_NO_SCHEDULE || t->effect == TAINT_NO_EXECUTE) &&
            !tolerations_match(&p->tolerations, t))
            return t;
    }
    return NULL;
}

static bool matches_selector(const struct pod *p, const struct node *n)
{
    for (uint32_t i = 0; i < p->node_selector.count; i++) {
        const struct kv *want = &p->node_selector.items[i];
        const char *has = kv_get(n->obj.labels.items, n->obj.labels.count, want->key);

        if (!has || strcmp(has, want->value) != 0)
            return false;
    }
    return true;
}

static bool matches_affinity(const struct pod *p, const struct node *n)
{
    struct error ignored; /* an invalid term does not match */

    return !p->required_affinity || node_selector_matches(p->required_affinity, n->obj.labels.items,
                                                          n->obj.labels.count, n->obj.name, &ignored) == 1;
}

static bool exceeds_room(int64_t used, int64_t asked, int64_t room)
{
    int64_t sum;

    return room >= 0 && asked > 0 && (__builtin_add_overflow(used, asked, &sum) || sum > room);
}

static uint32_t find_missing_resources(const struct cycle *c, const struct sched_node *n)
{
    uint32_t reasons = 0;

    if (exceeds_room(n->used.pods, c->needs.pods, n->room.pods))
        reasons |= 1U << REASON_PODS;
    if (exceeds_room(n->used.milli_cpu, c->needs.milli_cpu, n->room.milli_cpu))
        reasons |= 1U << REASON_CPU;
    if (exceeds_room(n->used.memory, c->needs.memory, n->room.memory))
        reasons |= 1U << REASON_MEMORY;
    return reasons;
}

struct filter_result filter_node(const struct cycle *c, const struct sched_node *n)
{
    const struct pod *p = c->pod;
    const struct taint *t;

    if (n->node->is_unschedulable && !tolerations_match(&p->tolerations, &closed))
        return filter_result_of(REASON_UNSCHEDULABLE);
    t = find_untolerated_taint(p, n->node);
    if (t)
        return (struct filter_result){ .reasons = 1U << REASON_TAINT, .taint = t };
    if (!matches_selector(p, n->node) || !matches_affinity(p, n->node))
        return filter_result_of(REASON_AFFINITY);
    return (struct filter_result){ .reasons = find_missing_resources(c, n) };
}

/* --- Nodes by name --- */

enum term_names { TERM_OPEN, TERM_NAMES, TERM_CONFLICTS };

/* Whether the term has `metadata.name In [x]`, and its x; two that differ match no node. */
static enum term_names term_name(const struct node_term *t, struct str *ret)
{
    enum term_names names = TERM_OPEN;

    for (size_t i = 0; i < t->fields.count; i++) {
        const struct field_term *f = &t->fields.terms[i];

        if (f->is_not)
            continue;
        if (names == TERM_NAMES && !str_eq(*ret, f->value))
            return TERM_CONFLICTS;
        names = TERM_NAMES;
        *ret = f->value;
    }
    return names;
}

/* Nodes are restricted only if every term names nodes. */
static bool every_term_names(const struct pod *p)
{
    struct str name;

    if (!p->required_affinity || p->required_affinity->count == 0)
        return false;
    for (size_t i = 0; i < p->required_affinity->count; i++)
        if (term_name(&p->required_affinity->terms[i], &name) == TERM_OPEN)
            return false;
    return true;
}

/* Some term names this node, or with NULL any node. */
static bool has_named(const struct pod *p, const char *node_name)
{
    struct str name;

    for (size_t i = 0; i < p->required_affinity->count; i++)
        if (term_name(&p->required_affinity->terms[i], &name) == TERM_NAMES &&
            (!node_name || str_is(name, node_name)))
            return true;
    return false;
}

bool affinity_names(const struct pod *p, const char *node_name)
{
    return !every_term_names(p) || has_named(p, node_name);
}

bool affinity_is_contradictory(const struct pod *p)
{
    return every_term_names(p) && !has_named(p, /* node_name= */ NULL);
}
