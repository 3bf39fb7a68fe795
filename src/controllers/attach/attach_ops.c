/* The two operations: attaching a volume to a node, and detaching it.
 *
 * An operation has its pair until it ends: the pair stays, and says how it ended. Only one that is known to
 * have been done leaves a certain state; whatever fails may have happened. */
#include "controllers/attach/attach_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mutant.h"

/* One operation forgets the delay of another: two that go on failing, a detach here and an attach there, are
 * held apart by this. */
#define AFTER_FAILURE_NS (100 * NS_PER_MS)

struct attach_op {
    TAILQ_ENTRY(attach_op) link;
    struct attach_work work;
    struct attach_pair *pair;
    struct pending_operation *pending;
    bool is_attach;
    uint64_t began_ns;
    bool has_no_attacher;    /* an attach for which nobody was found */
    struct attach_slot slot; /* of: */
    struct api_write read;   /* what the server says of the node */
};

static void on_work_done(struct attach_work *w, int r, const struct error *err);

static void op_free(struct attach_op *op)
{
    TAILQ_REMOVE(&op->work.attach->ops, op, link);
    attach_slot_release(op->work.attach, &op->slot);
    api_write_cancel(&op->read);
    attach_work_done(&op->work);
    free(op);
}

/* With its pair and its place among the operations. */
static int op_new(struct attach *a, struct attach_pair *p, const struct held_spec *spec, const char *name,
                  struct attach_op **ret, struct error *err)
{
    struct attach_op *op = calloc(1, sizeof *op);
    struct operation_key key = { p->volume->name, "", attach_spec_is_shared(spec) ? p->node->name : "" };
    int r;

    assert(p->volume->attach == a && !a->is_stopping);
    if (!op)
        return error_no_memory(err);
    TAILQ_INSERT_TAIL(&a->ops, op, link);
    op->work.attach = a;
    r = attach_work_init(&op->work, a, spec, p->volume->name, p->node->name, err);
    if (r == 0)
        r = operations_start(a->operations, &key, name, &op->pending, err);
    if (r < 0) {
        op_free(op);
        return r;
    }
    assert(!p->is_busy);
    p->is_busy = true;
    op->pair = p;
    op->work.done = on_work_done;
    op->began_ns = loop_now_ns(a->o.part.loop);
    *ret = op;
    return 0;
}

/* --- Ends --- */

static void report_op_failure(const struct attach_op *op, const struct error *err)
{
    for (size_t i = 0; i < op->pair->pods.count; i++)
        recorder_event(op->work.attach->recorder, op->pair->pods.items[i], EVENT_WARNING,
                       "FailedAttachVolume", "%s", err->msg);
}

static void end_attached(struct attach_op *op)
{
    attach_state_set_attached(op->pair, &op->work.spec, TAKE(op->work.device));
    for (size_t i = 0; i < op->pair->pods.count; i++)
        recorder_event(op->work.attach->recorder, op->pair->pods.items[i], EVENT_NORMAL,
                       "SuccessfulAttachVolume", "AttachVolume.Attach succeeded for volume \"%s\" ",
                       held_spec_name(&op->work.spec));
    log_info("attached", LOG_STR("volume", op->work.volume), LOG_STR("node", op->work.node));
}

/* One that is attached to another node than anybody knew is found there, and detached, from its pair. */
static void end_not_attached(struct attach_op *op, int r, struct error *err)
{
    struct attach_pair *p = NULL;

    if (r == -ERR_EXISTS && op->work.device && op->work.device[0])
        p = attach_pair_get(op->work.attach, op->work.volume, op->work.device);
    if (!p)
        p = op->pair;
    if (p == op->pair || p->state == PAIR_DETACHED) /* one that is known to be attached there stays so */
        attach_state_set_uncertain(p, &op->work.spec);
    (void)error_wrap(err, "AttachVolume.Attach failed for volume \"%s\" ", held_spec_name(&op->work.spec));
    report_op_failure(op, err);
}

/* The pair may go with its operation. */
static void finish_op(struct attach_op *op, int r, const struct error *err)
{
    struct attach *a = op->work.attach;
    struct attach_pair *p = op->pair;
    const char *name = op->is_attach ? OP_ATTACH : OP_DETACH;

    if (r < 0)
        log_warn("operation failed, will retry", LOG_STR("operation", name),
                 LOG_STR("volume", op->work.volume), LOG_STR("node", op->work.node), LOG_ERR(err));
    attach_metrics_operation(a, &(struct attach_operation){ p->volume->label, name, op->began_ns, r < 0,
                                                            op->work.spec.spec.is_migrated });
    operation_end(op->pending, r, err);
    op_free(op);
    p->is_busy = r < 0 && MUTANT("attach-stays-busy");
    if (r < 0)
        attach_state_mark_at(p->volume, loop_now_ns(a->o.part.loop) + AFTER_FAILURE_NS);
    else
        attach_state_mark(p->volume);
    attach_pair_settle(p);
}

static void finish_detach(struct attach_op *op, int r, struct error *err)
{
    struct attach_pair *p = op->pair;

    if (r < 0) {
        attach_state_set_uncertain(p, &op->work.spec);
    } else if (p->state != PAIR_DETACHED) {
        log_info("detached", LOG_STR("volume", op->work.volume), LOG_STR("node", op->work.node));
        attach_state_set_detached(p); /* it is busy: it stays */
    }
    finish_op(op, r, err);
}

static void on_work_done(struct attach_work *w, int r, const struct error *err)
{
    struct attach_op *op = CONTAINER_OF(w, struct attach_op, work);
    struct error why = r < 0 ? *err : (struct error){ 0 };

    if (op->is_attach) {
        if (r == 0)
            end_attached(op);
        else if (op->has_no_attacher)
            report_op_failure(op, &why); /* the state is what it was */
        else
            end_not_attached(op, r, &why);
        finish_op(op, r, &why);
    } else {
        if (r < 0)
            (void)error_wrap(&why, "DetachVolume.Detach failed for volume \"%s\" ", held_spec_name(&w->spec));
        finish_detach(op, r, &why);
    }
}

/* --- Attaching --- */

int attach_op_attach(struct attach *a, struct attach_pair *p, struct error *err)
{
    struct attach_op *op = NULL;
    struct attacher_choice m = { 0 };
    struct error why;
    int r = op_new(a, p, &p->wanted, OP_ATTACH, &op, err);

    assert(pair_is_wanted(p));
    if (r < 0 || !op)
        return r;
    op->is_attach = true;
    r = attacher_select(a, &p->wanted, p->node->name, &m, /* ret_name= */ NULL, &why);
    if (r == 0 && !m.attacher)
        r = error_set(&why, ERR_UNSUPPORTED, "plugin do not support attachment");
    if (r < 0) {
        (void)error_wrap(&why, "AttachVolume.FindAttachablePluginBySpec failed for volume \"%s\" ",
                         held_spec_name(&p->wanted));
        op->has_no_attacher = true;
        attach_work_fail(&op->work, &why);
        return 0;
    }
    attach_work_use(&op->work, &m);
    log_info("attaching", LOG_STR("volume", p->volume->name), LOG_STR("node", p->node->name));
    m.attacher->attach(&op->work);
    return 0;
}

/* --- Detaching --- */

static bool node_uses_volume(const struct node *n, const char *volume)
{
    for (uint32_t i = 0; i < n->volumes_in_use.count; i++)
        if (strcmp(n->volumes_in_use.items[i], volume) == 0)
            return true;
    return false;
}

/* What the server says of the node, after it has acknowledged that the volume is not the node's any more.
 * That it uses the volume is taken into the cache, which may be behind: should the Node go next, this is its
 * last word. */
static void on_node(void *ctx, enum api_outcome outcome, const struct client_answer *answer)
{
    struct attach_op *op = ctx;
    const char *name = held_spec_name(&op->work.spec);
    struct error err = answer->error;
    int r = answer->r;

    attach_slot_release(op->work.attach, &op->slot);
    if (outcome == API_DONE && node_uses_volume(node_of(answer->object), op->work.volume)) {
        informer_observe(op->work.attach->nodes, answer->object);
        r = error_set(&err, ERR_BUSY,
                      "DetachVolume failed for volume \"%s\" (UniqueName: \"%s\") on node \"%s\" : volume is "
                      "still in use by node, according to Node status",
                      name, op->work.volume, op->work.node);
    } else if (r < 0 && r != -ERR_NOT_FOUND) {
        r = error_wrap(&err, "DetachVolume failed fetching node from API server for volume \"%s\" ", name);
    }
    if (r < 0 && r != -ERR_NOT_FOUND)
        finish_detach(op, r, &err);
    else
        op->work.attacher->detach(&op->work);
}

static void read_node(struct attach_slot *t)
{
    struct attach_op *op = CONTAINER_OF(t, struct attach_op, slot);

    api_read(&op->read, &op->work.attach->api, KIND_NODE, "", op->work.node, on_node, op);
}

int attach_op_detach(struct attach *a, struct attach_pair *p, const struct attacher_choice *m, bool verifies,
                     struct error *err)
{
    struct attach_op *op = NULL;
    int r = op_new(a, p, &p->volume->spec, OP_DETACH, &op, err);

    if (r < 0 || !op)
        return r;
    assert(attach_state_is_unreported(p));
    attach_work_use(&op->work, m);
    log_info("detaching", LOG_STR("volume", p->volume->name), LOG_STR("node", p->node->name),
             LOG_BOOL("verified", verifies));
    if (verifies)
        attach_slot_acquire(a, &op->slot, read_node);
    else
        m->attacher->detach(&op->work);
    return 0;
}

const char *attach_op_check(const struct attach *a, size_t *ret_count)
{
    const struct attach_op *op;

    *ret_count = 0;
    TAILQ_FOREACH(op, &a->ops, link) {
        ++*ret_count;
        if (!op->pair || !op->pair->is_busy || !op->pending)
            return "an operation has a pair that is not busy";
        if (strcmp(op->work.volume, op->pair->volume->name) != 0 ||
            strcmp(op->work.node, op->pair->node->name) != 0)
            return "two operations have the same pair";
        if (operations_pending(a->operations) < *ret_count)
            return "more operations than pending operations";
    }
    return NULL;
}

void attach_op_stop(struct attach *a)
{
    struct attach_op *next;

    for (struct attach_op *op = TAILQ_FIRST(&a->ops); op; op = next) {
        next = TAILQ_NEXT(op, link);
        op_free(op);
    }
}
