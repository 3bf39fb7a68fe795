/* Claims and the pods that wait for them. */
#include "why/check.h"

#include <string.h>

#include "controllers/expand/expand.h"

/* --- Claims --- */

static void check_lost(struct checkup *x, const struct claim *c)
{
    const struct object *o = inventory_find(x->all, KIND_VOLUME, "", c->volume_name);
    bool is_gone = c->volume_name[0] && !o && inventory_covers(x->all, KIND_VOLUME);

    if (c->phase != CLAIM_LOST && !(c->phase == CLAIM_BOUND && is_gone))
        return;
    if (is_gone)
        check_find(x, SEVERITY_ERROR, "claim-lost", &c->obj, NULL, "is %s, and its volume %s is gone",
                   claim_phase_name((enum claim_phase)c->phase), c->volume_name);
    else if (o && inventory_is_of(volume_of(o), c))
        check_find(x, SEVERITY_ERROR, "claim-lost", &c->obj, NULL, "is Lost, though its volume %s is there",
                   c->volume_name);
    else if (o && volume_of(o)->claim.is_set)
        check_find(x, SEVERITY_ERROR, "claim-lost", &c->obj, NULL, "is Lost: its volume %s belongs to %s/%s",
                   c->volume_name, volume_of(o)->claim.ns, volume_of(o)->claim.name);
    else
        check_find(x, SEVERITY_ERROR, "claim-lost", &c->obj, NULL, "is Lost: no volume is its own");
}

static bool is_waiting_claim(const struct claim *c)
{
    return (c->phase == CLAIM_PENDING || c->phase == CLAIM_PHASE_UNSET) && !c->obj.is_deleting;
}

static void check_pending(struct checkup *x, const struct claim *c)
{
    struct cause cause = { "", "" };
    bool is_known = is_waiting_claim(c) && causes_find(x->causes, &c->obj, &cause);
    bool is_meant = strcmp(cause.code, "waits-for-consumer") == 0;

    if (!is_waiting_claim(c))
        return;
    if (!check_is_permanent(cause.code) && !check_is_late(x, c->obj.created)) {
        x->waiting_claims++;
        return;
    }
    check_find(x, is_meant ? SEVERITY_HINT : SEVERITY_WARNING, is_meant ? "claim-unused" : "claim-stuck",
               &c->obj, is_meant ? "make a pod that uses it, or delete it" : NULL,
               "has been Pending for %s%s%s", check_since(x, c->obj.created), is_known ? ": " : "",
               cause.sentence);
}

static void check_resize(struct checkup *x, const struct claim *c)
{
    if (c->resize == RESIZE_CONTROLLER_INFEASIBLE || c->resize == RESIZE_NODE_INFEASIBLE)
        check_find(x, SEVERITY_WARNING, "resize-failed", &c->obj, "ask for less, or for more space below it",
                   "cannot grow: %s", resize_status_name((enum resize_status)c->resize));
}

/* Nobody will come for it. */
static void check_growth(struct checkup *x, const struct claim *c)
{
    const struct object *o = inventory_find(x->all, KIND_VOLUME, "", c->volume_name);
    _cleanup_(buf_done_p) struct buf has = BUF_INIT(256), asks = BUF_INIT(256), advice = BUF_INIT(1024);

    if (c->phase != CLAIM_BOUND || !c->has_capacity || quantity_cmp(&c->request, &c->capacity) <= 0 || !o ||
        !expand_is_by_hand(volume_of(o)) || quantity_cmp(&volume_of(o)->capacity, &c->request) >= 0)
        return;
    quantity_format(&c->capacity, &has);
    quantity_format(&c->request, &asks);
    buf_addf(&advice,
             "grow what is behind it, then: berth patch pv %s -p "
             "'{\"spec\":{\"capacity\":{\"storage\":\"%s\"}}}'",
             o->name, buf_cstr(&asks));
    check_find(x, SEVERITY_WARNING, "resize-by-hand", &c->obj, buf_cstr(&advice),
               "has %s and asks for %s, and nothing here expands its volume %s", buf_cstr(&has),
               buf_cstr(&asks), o->name);
}

void check_claims(struct checkup *x)
{
    if (!x->all->kinds[KIND_CLAIM].is_known)
        return;
    for (size_t i = 0; i < x->all->kinds[KIND_CLAIM].list.count; i++) {
        const struct claim *c = claim_of(x->all->kinds[KIND_CLAIM].list.items[i]);

        check_lost(x, c);
        check_pending(x, c);
        check_resize(x, c);
        check_growth(x, c);
        check_deleting(x, &c->obj);
    }
}

/* --- Pods --- */

static bool has_claims(const struct pod *p)
{
    for (uint32_t i = 0; i < p->volumes.count; i++)
        if (pod_claim_name(&p->volumes.items[i]))
            return true;
    return false;
}

/* Pods without claims concern us when their volumes are what they wait for. */
static bool is_about_volumes(const struct pod *p)
{
    const struct status_condition *ready = condition_get(&p->conditions, POD_READY_CONDITION);

    return has_claims(p) || (p->node_name[0] && ready && ready->status == CONDITION_FALSE);
}

static void check_waiting_pod(struct checkup *x, const struct pod *p)
{
    const struct status_condition *ready = condition_get(&p->conditions, POD_READY_CONDITION);
    struct cause cause = { "", "" };
    bool is_known = causes_find(x->causes, &p->obj, &cause);

    if (strcmp(cause.code, WHY_NOTHING) == 0 || (!is_known && ready && ready->status == CONDITION_TRUE))
        return; /* its containers are not started: that is not about volumes */
    if (!check_is_permanent(cause.code) && !is_about_volumes(p))
        return;
    if (!check_is_permanent(cause.code) && !check_is_late(x, p->obj.created))
        x->waiting_pods++;
    else
        check_find(x, SEVERITY_WARNING, "pod-waits", &p->obj, NULL, "has waited %s%s%s",
                   check_since(x, p->obj.created), is_known ? ": " : "", cause.sentence);
}

static void check_ending_pod(struct checkup *x, const struct pod *p)
{
    struct cause cause = { "", "" };

    if (!check_is_late(x, p->obj.deleted))
        return;
    (void)causes_find(x->causes, &p->obj, &cause);
    check_find(x, SEVERITY_WARNING, "deletion-stuck", &p->obj, NULL, "has been Terminating for %s%s%s",
               check_since(x, p->obj.deleted), cause.sentence[0] ? ": " : "", cause.sentence);
}

void check_pods(struct checkup *x)
{
    if (!x->all->kinds[KIND_POD].is_known || !x->all->kinds[KIND_CLAIM].is_known)
        return;
    for (size_t i = 0; i < x->all->kinds[KIND_POD].list.count; i++) {
        const struct pod *p = pod_of(x->all->kinds[KIND_POD].list.items[i]);

        if (p->obj.is_deleting)
            check_ending_pod(x, p);
        else if (p->phase == POD_PENDING || p->phase == POD_PHASE_UNSET)
            check_waiting_pod(x, p);
    }
}
