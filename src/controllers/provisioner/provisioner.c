/* The parts of a provisioner that claims and volumes share: operations, queues and lifecycle.
 *
 * Each key has at most one operation, which owns it until one of the three functions that end it: done,
 * failed (retried with delay, after PROVISIONER_FAILURES_MAX failures at the next resync), or slow. At most
 * WORKERS keys per queue are in process. Without memory for an operation the process exits, because its
 * object would never be processed again. */
#include "controllers/provisioner/provisioner.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/die.h"
#include "base/log.h"
#include "controllers/provisioner/provisioner_int.h"

#define RESYNC_NS (900 * NS_PER_S)

static const struct provisioner_limits default_limits = {
    .retry_ns = 15 * NS_PER_S,
    .retry_ns_max = 1000 * NS_PER_S,
    .slow_ns = 1000 * NS_PER_S,
    .qps = 10,
    .burst = 100,
    .in_flight_max = 4,
};

/* --- Operations --- */

struct provisioner_op *provisioner_op_new(struct provisioner *p, struct controller *queue, struct str key,
                                          const struct object *about)
{
    struct provisioner_op *op = calloc(1, sizeof *op);

    if (op)
        op->key = calloc(1, key.len + 1);
    if (!op || !op->key)
        die_with_reason(
            "no memory for an operation of a provisioner: its claim or volume would never be processed "
            "again");
    op->provisioner = p;
    op->queue = queue;
    memcpy(op->key, key.s, key.len); /* not a string; calloc() has added the NUL */
    op->about = object_ref(about);
    op->body = BUF_INIT(PROVISIONER_BODY_BYTES_MAX);
    LIST_INSERT_HEAD(&p->ops, op, link);
    return op;
}

static void op_free(struct provisioner_op *op)
{
    LIST_REMOVE(op, link);
    op->provisioner->o.type->provision_cancel(op->provisioner->o.ctx, &op->call);
    op->provisioner->o.type->remove_cancel(op->provisioner->o.ctx, &op->removal);
    timer_disarm(&op->timer);
    api_write_cancel(&op->write);
    if (op->provisioner->record)
        call_record_cancel(op->provisioner->record, &op->recorded);
    (void)object_unref(op->fresh);
    (void)object_unref(op->about);
    (void)object_unref(op->class);
    (void)object_unref(op->node);
    buf_done(&op->body);
    free(op->key);
    free(op);
}

void provisioner_op_end(struct provisioner_op *op)
{
    controller_finish(op->queue, str_of(op->key), SYNC_DONE);
    op_free(op);
}

void provisioner_op_fail(struct provisioner_op *op, bool must_go_on)
{
    struct workqueue *q = controller_queue(op->queue);
    bool is_enough = workqueue_failures(q, str_of(op->key)) + 1 >= PROVISIONER_FAILURES_MAX && !must_go_on &&
                     !op->provisioner->o.limits.has_no_failures_max;

    if (is_enough)
        log_warn("retries exhausted, next attempt after resync", LOG_STR("key", op->key),
                 LOG_ERR(&op->failure));
    controller_finish(op->queue, str_of(op->key), is_enough ? SYNC_DONE : SYNC_AGAIN);
    op_free(op);
}

void provisioner_op_end_until(struct provisioner_op *op, uint64_t until_ns)
{
    uint64_t now_ns = loop_now_ns(op->provisioner->o.part.loop);

    controller_finish_after(op->queue, str_of(op->key), until_ns > now_ns ? until_ns - now_ns : 0);
    op_free(op);
}

/* --- Event handlers --- */

/* A key that waits for its retry keeps its delay, whatever changes meanwhile. */
static void enqueue_object(struct controller *c, const struct object *o)
{
    _cleanup_(buf_done_p) struct buf key = BUF_INIT(PROVISIONER_KEY_BYTES_MAX);

    object_key(o, &key);
    if (!key.failed && workqueue_failures(controller_queue(c), buf_str(&key)) == 0)
        controller_add(c, buf_str(&key));
}

static void on_claim(void *ctx, const struct object *o)
{
    struct provisioner *p = ctx;

    if (object_annotation_is(o, ANN_PROVISIONER, p->o.name) ||
        object_annotation_is(o, ANN_PROVISIONER_BETA, p->o.name))
        enqueue_object(p->claims, o);
}

/* A new claim with the same name starts without its failures. */
static void on_claim_gone(void *ctx, const struct object *o)
{
    struct provisioner *p = ctx;
    _cleanup_(buf_done_p) struct buf key = BUF_INIT(PROVISIONER_KEY_BYTES_MAX);

    object_key(o, &key);
    slow_set_drop(&p->slow, o->uid);
    if (!key.failed && !provisioner_in_progress(p, buf_str(&key)))
        workqueue_forget(controller_queue(p->claims), buf_str(&key));
}

static void enqueue_released(void *ctx, const struct object *claim)
{
    struct provisioner *p = ctx;

    enqueue_object(p->claims, claim);
}

/* What failed for good with the class may succeed with another one of that name. */
static void on_class(void *ctx, const struct object *o)
{
    struct provisioner *p = ctx;

    slow_set_release(&p->slow, o, enqueue_released, p);
}

static void on_volume(void *ctx, const struct object *o)
{
    struct provisioner *p = ctx;

    if (provisioner_concerns(p, volume_of(o)))
        enqueue_object(p->volumes, o);
}

static void on_volume_gone(void *ctx, const struct object *o)
{
    struct provisioner *p = ctx;

    workqueue_forget(controller_queue(p->volumes), str_of(o->name));
}

/* --- Lifecycle --- */

static bool is_record_loaded(void *ctx)
{
    const struct provisioner *p = ctx;

    return p->is_loaded;
}

static void on_record_entry(void *ctx, const char *uid, struct str value)
{
    provisioner_restore(ctx, uid, value);
}

static void on_record_loaded(void *ctx)
{
    struct provisioner *p = ctx;

    p->is_loaded = true;
    controller_wake(p->claims);
    controller_wake(p->volumes);
}

static int open_record(struct provisioner *p, struct error *err)
{
    struct call_record_options o = { .part = p->o.part,
                                     .ns = p->o.record_ns,
                                     .name = p->o.record_name,
                                     .node_name = p->o.node_name,
                                     .on_loaded = on_record_loaded,
                                     .on_entry = on_record_entry,
                                     .ctx = p };

    p->is_loaded = !o.name;
    return o.name ? call_record_new(&o, &p->record, err) : 0;
}

/* label: of its metrics. */
static int open_queue(struct provisioner *p, const char *name, const char *label,
                      enum sync_result (*sync)(void *ctx, struct str key), struct controller **ret,
                      struct error *err)
{
    struct controller_options c = { .queue = { .loop = p->o.part.loop,
                                               .name = label,
                                               .metrics = p->o.part.metrics,
                                               .seed = component_seed(&p->o.part, name),
                                               .base_ns = p->o.limits.retry_ns,
                                               .max_ns = p->o.limits.retry_ns_max,
                                               .bucket_qps = p->o.limits.qps,
                                               .bucket_burst = p->o.limits.burst },
                                    .sync = sync,
                                    .is_ready = is_record_loaded,
                                    .api = p->api,
                                    .ctx = p,
                                    .in_flight_max = p->o.limits.in_flight_max };

    return controller_new(&c, ret, err);
}

static void fill_limits(struct provisioner_limits *l)
{
    const struct provisioner_limits *d = &default_limits;

    l->retry_ns = l->retry_ns ? l->retry_ns : d->retry_ns;
    l->retry_ns_max = l->retry_ns_max ? l->retry_ns_max : d->retry_ns_max;
    l->slow_ns = l->slow_ns ? l->slow_ns : d->slow_ns;
    l->burst = l->burst ? l->burst : d->burst;
    l->in_flight_max = l->in_flight_max ? l->in_flight_max : d->in_flight_max;
    l->qps = l->qps != 0 ? l->qps : d->qps;
}

int provisioner_new(const struct provisioner_options *o, struct provisioner **ret, struct error *err)
{
    _cleanup_(provisioner_free_p) struct provisioner *p = calloc(1, sizeof *p);
    struct informers *all = o->part.informers;
    uint64_t seed = component_seed(&o->part, "provisioner-slow");
    int r;

    if (!p)
        return error_no_memory(err);
    p->o = *o;
    fill_limits(&p->o.limits);
    LIST_INIT(&p->ops);
    LIST_INIT(&p->in_progress);
    slow_set_init(&p->slow, (struct hash_seed){ seed, ~seed });
    (void)snprintf(p->queue_names[0], sizeof p->queue_names[0], "provision/%s", o->name);
    (void)snprintf(p->queue_names[1], sizeof p->queue_names[1], "reclaim/%s", o->name);
    r = component_api(&o->part, PROVISIONER_FIELD_MANAGER, &p->api, err);
    if (r < 0)
        return r;
    p->claims_cache = informers_get(all, KIND_CLAIM, err);
    p->volumes_cache = p->claims_cache ? informers_get(all, KIND_VOLUME, err) : NULL;
    p->classes = p->volumes_cache ? informers_get(all, KIND_CLASS, err) : NULL;
    p->nodes = p->classes ? informers_get(all, KIND_NODE, err) : NULL;
    if (!p->nodes)
        return -(int)err->code;
    r = component_recorder(&o->part, o->component ? o->component : o->name, &p->recorder, err);
    if (r == 0)
        r = open_queue(p, "claims", p->queue_names[0], provisioner_sync_claim, &p->claims, err);
    if (r == 0)
        r = open_queue(p, "volumes", p->queue_names[1], provisioner_sync_volume, &p->volumes, err);
    if (r == 0)
        r = open_record(p, err);
    if (r == 0)
        *ret = TAKE(p);
    return r;
}

const char *provisioner_check(const struct provisioner *p)
{
    const char *wrong = controller_check(p->claims);

    return wrong ? wrong : controller_check(p->volumes);
}

void provisioner_start(struct provisioner *p)
{
    assert(!p->claims_handler.informer); /* once */
    p->claims_handler = (struct informer_handler){
        .on_upsert = on_claim, .on_removed = on_claim_gone, .ctx = p, .resync_ns = RESYNC_NS
    };
    p->volumes_handler = (struct informer_handler){
        .on_upsert = on_volume, .on_removed = on_volume_gone, .ctx = p, .resync_ns = RESYNC_NS
    };
    p->classes_handler = (struct informer_handler){ .on_upsert = on_class, .ctx = p };
    if (p->record)
        call_record_start(p->record);
    informer_add_handler(p->classes, &p->classes_handler);
    informer_add_handler(p->claims_cache, &p->claims_handler);
    informer_add_handler(p->volumes_cache, &p->volumes_handler);
}

struct provisioner *provisioner_free(struct provisioner *p)
{
    struct provisioner_op *op, *next_op;
    struct in_progress *i, *next;

    if (!p)
        return NULL;
    informer_remove_handler(&p->claims_handler);
    informer_remove_handler(&p->volumes_handler);
    informer_remove_handler(&p->classes_handler);
    for (op = LIST_FIRST(&p->ops); op; op = next_op) {
        next_op = LIST_NEXT(op, link);
        op_free(op);
    }
    for (i = LIST_FIRST(&p->in_progress); i; i = next) {
        next = LIST_NEXT(i, link);
        in_progress_free(i);
    }
    slow_set_done(&p->slow);
    p->record = call_record_free(p->record);
    controller_free(p->claims);
    controller_free(p->volumes);
    recorder_free(p->recorder);
    free(p);
    return NULL;
}

static uint64_t next_try_ns(const struct provisioner *p, const struct object *about)
{
    struct controller *queue = about->kind->kind == KIND_CLAIM ? p->claims : p->volumes;
    _cleanup_(buf_done_p) struct buf key = BUF_INIT(PROVISIONER_KEY_BYTES_MAX);

    object_key(about, &key);
    return workqueue_due_ns(controller_queue(queue), buf_str(&key));
}

const struct provisioner_loop provisioner_loop = { provisioner_new, provisioner_start, provisioner_check,
                                                   next_try_ns, provisioner_free };
