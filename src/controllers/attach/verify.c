/* Verification: asks periodically, per node, whether attached volumes are still attached.
 *
 * A volume that is no longer attached becomes detached here and is attached again if it is wanted. A pair
 * that changes during the verification is skipped, as is one whose plugin cannot determine the state. Costs:
 * one call per attached volume and period. */
#include "controllers/attach/attach_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

struct verification;

/* A pair. */
struct check {
    struct attach_work work;
    struct verification *all;
    uint64_t changes; /* of the pair at the start */
};

/* A node. */
struct verification {
    TAILQ_ENTRY(verification) link;
    struct attach *attach;
    struct pending_operation *op;
    uint64_t began_ns;
    size_t pending;
    size_t count;
    struct check checks[];
};

static void verification_free(struct verification *v)
{
    TAILQ_REMOVE(&v->attach->verifications, v, link);
    for (size_t i = 0; i < v->count; i++)
        attach_work_done(&v->checks[i].work);
    free(v);
}

static void on_checked(struct attach_work *w, int r, const struct error *err)
{
    struct check *c = CONTAINER_OF(w, struct check, work);
    struct verification *v = c->all;
    struct attach_pair *p = attach_pair(w->attach, w->volume, w->node);

    if (r < 0 && r != -ERR_UNSUPPORTED)
        log_warn("cannot verify attachment", LOG_STR("volume", w->volume), LOG_STR("node", w->node),
                 LOG_ERR(err));
    if (p)
        p->is_verified = false;
    if (p && r == 0 && !w->is_attached && p->changes == c->changes) {
        log_warn("volume no longer attached", LOG_STR("volume", w->volume), LOG_STR("node", w->node));
        attach_state_set_detached(p);
    }
    if (--v->pending > 0)
        return;
    attach_metrics_operation(w->attach,
                             &(struct attach_operation){ "<n/a>", OP_VERIFY, v->began_ns, false, false });
    operation_end(v->op, 0, NULL);
    verification_free(v);
}

static bool is_to_be_checked(const struct attach_pair *p)
{
    return p->state == PAIR_ATTACHED && p->volume->spec.holder && !p->is_verified && !p->is_busy;
}

/* Adds the pair if its volume has an attacher. */
static void add_check(struct attach *a, struct verification *v, struct attach_pair *p)
{
    struct check *c = &v->checks[v->count];
    struct attacher_choice m = { 0 };
    struct error err;

    if (attacher_select_detacher(a, p->volume, &m, &err) < 0 ||
        attach_work_init(&c->work, a, &p->volume->spec, p->volume->name, p->node->name, &err) < 0) {
        attach_work_done(&c->work);
        *c = (struct check){ 0 };
        return;
    }
    attach_work_use(&c->work, &m);
    c->work.done = on_checked;
    c->all = v;
    c->changes = p->changes;
    p->is_verified = true;
    v->count++;
}

static void verify_node(struct attach *a, const struct attach_node *n)
{
    struct verification *v;
    size_t count = 0;
    struct error err;

    for (size_t i = 0; i < n->pairs.count; i++)
        count += is_to_be_checked(n->pairs.items[i]);
    v = count ? calloc(1, sizeof *v + count * sizeof v->checks[0]) : NULL;
    if (!v)
        return; /* at the next period */
    v->attach = a;
    v->began_ns = loop_now_ns(a->o.part.loop);
    TAILQ_INSERT_TAIL(&a->verifications, v, link);
    for (size_t i = 0; i < n->pairs.count; i++)
        if (is_to_be_checked(n->pairs.items[i]))
            add_check(a, v, n->pairs.items[i]);
    if (v->count == 0 ||
        operations_start(a->operations, &(struct operation_key){ "", "", "" }, OP_VERIFY, &v->op, &err) < 0) {
        for (size_t i = 0; i < n->pairs.count; i++)
            n->pairs.items[i]->is_verified = false;
        verification_free(v);
        return;
    }
    v->pending = v->count;
    for (size_t i = 0; i < v->count; i++)
        v->checks[i].work.attacher->verify(&v->checks[i].work);
}

static void on_verify(void *ctx)
{
    struct attach *a = ctx;
    struct omap_cursor at;

    for (struct attach_node *n = omap_first(&a->state.nodes, &at); n; n = omap_next(&at))
        verify_node(a, n);
    timer_arm_after(&a->verify_timer, a->o.sync_period_ns);
}

void attach_verify_start(struct attach *a)
{
    timer_init(&a->verify_timer, a->o.part.loop, on_verify, a);
    if (a->o.sync_period_ns > 0)
        timer_arm_after(&a->verify_timer, a->o.sync_period_ns);
}

void attach_verify_stop(struct attach *a)
{
    struct verification *next;

    timer_disarm(&a->verify_timer);
    for (struct verification *v = TAILQ_FIRST(&a->verifications); v; v = next) {
        next = TAILQ_NEXT(v, link);
        verification_free(v);
    }
}
