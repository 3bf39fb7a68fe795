/* Rules of `berth check` for claims and for the pods that wait for them. */
#include "why/check.h"

#include <string.h>

#include "controllers/expand/expand.h"

/* --- Claims --- */

static void check_lost(struct checkup *checkup, const struct claim *c)
{
    const struct object *o = inventory_find(checkup->all, KIND_VOLUME, "", c->volume_name);
    bool is_gone = c->volume_name[0] && !o && inventory_covers(checkup->all, KIND_VOLUME);

    if (c->phase != CLAIM_LOST && !(c->phase == CLAIM_BOUND && is_gone))
        return;
    if (is_gone)
        check_find(checkup, SEVERITY_ERROR, "claim-lost", &c->obj, NULL,
                   "is %s: its volume %s does not exist", claim_phase_name((enum claim_phase)c->phase),
                   c->volume_name);
    else if (o && inventory_is_of(volume_of(o), c))
        check_find(checkup, SEVERITY_ERROR, "claim-lost", &c->obj, NULL,
                   "is Lost, although its volume %s exists", c->volume_name);
    else if (o && volume_of(o)->claim.is_set)
        check_find(checkup, SEVERITY_ERROR, "claim-lost", &c->obj, NULL,
                   "is Lost: its volume %s belongs to %s/%s", c->volume_name, volume_of(o)->claim.ns,
                   volume_of(o)->claim.name);
    else
        check_find(checkup, SEVERITY_ERROR, "claim-lost", &c->obj, NULL, "is Lost: no volume is bound to it");
}

static bool is_waiting_claim(const struct claim *c)
{
    return (c->phase == CLAIM_PENDING || c->phase == CLAIM_PHASE_UNSET) && !c->obj.is_deleting;
}

static void check_pending(struct checkup *checkup, const struct claim *c)
{
    struct cause cause = { "", "" };
    bool is_known = is_waiting_claim(c) && causes_find(checkup->causes, &c->obj, &cause);
    bool is_meant = strcmp(cause.code, "waits-for-consumer") == 0;

    if (!is_waiting_claim(c))
        return;
    if (!check_is_permanent(cause.code) && !check_is_late(checkup, c->obj.created)) {
        checkup->waiting_claims++;
        return;
    }
    check_find(checkup, is_meant ? SEVERITY_HINT : SEVERITY_WARNING,
               is_meant ? "claim-unused" : "claim-stuck", &c->obj,
               is_meant ? "create a pod that uses it, or delete the claim" : NULL,
               "has been Pending for %s%s%s", check_since(checkup, c->obj.created), is_known ? ": " : "",
               cause.sentence);
}

/* Volumes that no controller expands: the administrator has to. */
static void check_growth(struct checkup *checkup, const struct claim *c)
{
    const struct object *o = inventory_find(checkup->all, KIND_VOLUME, "", c->volume_name);
    _cleanup_(buf_done_p) struct buf has = BUF_INIT(256), asks = BUF_INIT(256), advice = BUF_INIT(1024);

    if (c->phase != CLAIM_BOUND || !c->has_capacity || quantity_cmp(&c->request, &c->capacity) <= 0 || !o ||
        !expand_is_by_hand(volume_of(o)) || quantity_cmp(&volume_of(o)->capacity, &c->request) >= 0)
        return;
    quantity_format(&c->capacity, &has);
    quantity_format(&c->request, &asks);
    buf_addf(&advice,
             "expand the underlying storage, then: berth patch pv %s -p "
             "'{\"spec\":{\"capacity\":{\"storage\":\"%s\"}}}'",
             o->name, buf_cstr(&asks));
    check_find(checkup, SEVERITY_WARNING, "resize-by-hand", &c->obj, buf_cstr(&advice),
               "has %s and requests %s, and its volume %s must be expanded manually", buf_cstr(&has),
               buf_cstr(&asks), o->name);
}

void check_claims(struct checkup *checkup)
{
    if (!checkup->all->kinds[KIND_CLAIM].is_known)
        return;
    for (size_t i = 0; i < checkup->all->kinds[KIND_CLAIM].list.count; i++) {
        const struct claim *c = claim_of(checkup->all->kinds[KIND_CLAIM].list.items[i]);

        check_lost(checkup, c);
        check_pending(checkup, c);
        if (c->resize == RESIZE_CONTROLLER_INFEASIBLE || c->resize == RESIZE_NODE_INFEASIBLE)
            check_find(checkup, SEVERITY_WARNING, "resize-failed", &c->obj,
                       "request less, or add space to the underlying storage", "cannot be expanded: %s",
                       resize_status_name((enum resize_status)c->resize));
        check_growth(checkup, c);
        check_claim_work(checkup, c);
        check_deleting(checkup, &c->obj);
    }
}

/* --- Pods --- */

static void check_waiting_pod(struct checkup *checkup, const struct pod *p)
{
    const struct status_condition *ready = condition_get(&p->conditions, POD_READY_CONDITION);
    struct cause cause = { "", "" };
    bool is_known = causes_find(checkup->causes, &p->obj, &cause);
    /* Pods without claims are reported only when their volumes are not ready. */
    bool is_about_volumes =
        inventory_pod_has_claims(p) || (p->node_name[0] && ready && ready->status == CONDITION_FALSE);

    if (strcmp(cause.code, WHY_NOTHING) == 0 || (!is_known && ready && ready->status == CONDITION_TRUE))
        return; /* only its containers are not started */
    if (!check_is_permanent(cause.code) && !is_about_volumes)
        return;
    if (!check_is_permanent(cause.code) && !check_is_late(checkup, p->obj.created))
        checkup->waiting_pods++;
    else
        check_find(checkup, SEVERITY_WARNING, "pod-waits", &p->obj, NULL, "has been waiting for %s%s%s",
                   check_since(checkup, p->obj.created), is_known ? ": " : "", cause.sentence);
}

static void check_ending_pod(struct checkup *checkup, const struct pod *p)
{
    struct cause cause = { "", "" };

    if (!check_is_late(checkup, p->obj.deleted))
        return;
    (void)causes_find(checkup->causes, &p->obj, &cause);
    check_find(checkup, SEVERITY_WARNING, "deletion-stuck", &p->obj, NULL, "has been Terminating for %s%s%s",
               check_since(checkup, p->obj.deleted), cause.sentence[0] ? ": " : "", cause.sentence);
}

void check_pods(struct checkup *checkup)
{
    if (!checkup->all->kinds[KIND_POD].is_known || !checkup->all->kinds[KIND_CLAIM].is_known)
        return;
    for (size_t i = 0; i < checkup->all->kinds[KIND_POD].list.count; i++) {
        const struct pod *p = pod_of(checkup->all->kinds[KIND_POD].list.items[i]);

        if (p->obj.is_deleting)
            check_ending_pod(checkup, p);
        else if (p->phase == POD_PENDING || p->phase == POD_PHASE_UNSET)
            check_waiting_pod(checkup, p);
    }
}
