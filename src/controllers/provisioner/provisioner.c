#include "controllers/provisioner/provisioner.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/die.h"
#include "base/log.h"
#include "controllers/provisioner/provisioner_int.h"

#define RETRY_MIN_NS (15 * NS_PER_S)
#define RETRY_MAX_NS (1000 * NS_PER_S)
#define QPS 10
#define BURST 100
#define WORKERS 4
#define RESYNC_NS (900 * NS_PER_S)

/* --- Operations --- */

struct provisioner_op *provisioner_op_new(struct provisioner *p, struct controller *queue, struct str key,
                                          const struct object *about)
{
    struct provisioner_op *x = calloc(1, sizeof *x);

    if (x)
        x->key = calloc(1, key.len + 1);
    if (!x || !x->key)
        die_with_reason(
            "no memory for an operation of a provisioner: its claim or volume would never be processed "
            "again");
    x->provisioner = p;
    x->queue = queue;
    memcpy(x->key, key.s, key.len); /* no string: nothing ends it */
    x->about = object_ref(about);
    x->body = BUF_INIT(PROVISIONER_BODY_BYTES_MAX);
    LIST_INSERT_HEAD(&p->ops, x, link);
    return x;
}

static void op_free(struct provisioner_op *x)
{
    LIST_REMOVE(x, link);
    x->job = job_drop(x->job);
    timer_disarm(&x->timer);
    api_write_cancel(&x->write);
    (void)object_unref(x->fresh);
    (void)object_unref(x->about);
    (void)object_unref(x->class);
    (void)object_unref(x->node);
    buf_done(&x->body);
    free(x->key);
    free(x);
}

void provisioner_op_end(struct provisioner_op *x)
{
    controller_finish(x->queue, str_of(x->key), SYNC_DONE);
    op_free(x);
}

void provisioner_op_fail(struct provisioner_op *x, bool must_go_on)
{
    struct workqueue *q = controller_queue(x->queue);
    bool is_enough = workqueue_failures(q, str_of(x->key)) + 1 >= PROVISIONER_FAILURES_MAX && !must_go_on;

    if (is_enough)
        log_warn("retries exhausted, next attempt after resync", LOG_STR("key", x->key),
                 LOG_ERR(&x->failure));
    controller_finish(x->queue, str_of(x->key), is_enough ? SYNC_DONE : SYNC_AGAIN);
    op_free(x);
}

void provisioner_op_end_slowly(struct provisioner_op *x)
{
    controller_finish_after(x->queue, str_of(x->key), PROVISIONER_SLOW_NS);
    op_free(x);
}

/* --- The identity of the storage --- */

void identity_check_init(struct identity_check *c, const struct provisioner *p, bool needs_volumes)
{
    struct informer_cursor at;

    *c = (struct identity_check){ .identity.has_volumes = needs_volumes };
    memcpy(c->identity.id, p->identity, sizeof c->identity.id);
    for (const struct object *o = needs_volumes ? informer_first(p->volumes_cache, &at) : NULL; o;
         o = informer_next(&at)) {
        if (!object_annotation_is(o, ANN_PROVISIONED_BY, p->o.name))
            continue;
        if (vec_reserve(&c->volumes, 1) < 0)
            die_with_reason("no memory to check the storage of a provisioner: volumes would be overlooked");
        c->volumes.items[c->volumes.count++] = object_ref(o);
    }
    c->identity.volumes = c->volumes.items;
    c->identity.volumes_count = c->volumes.count;
}

void identity_check_done(struct identity_check *c)
{
    for (size_t i = 0; i < c->volumes.count; i++)
        (void)object_unref(c->volumes.items[i]);
    vec_done(&c->volumes);
}

bool identity_check_needs_volumes(const struct identity_check *c, int r)
{
    return r < 0 && c->identity.needs_volumes && !c->identity.has_volumes;
}

void provisioner_keep_identity(struct provisioner *p, const struct identity_check *c)
{
    memcpy(p->identity, c->identity.id, sizeof p->identity);
}

/* --- What to look at --- */

/* What waits for its next try keeps its delay, whatever is written meanwhile. */
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

/* Another of the same name begins without its failures. */
static void on_claim_gone(void *ctx, const struct object *o)
{
    struct provisioner *p = ctx;
    _cleanup_(buf_done_p) struct buf key = BUF_INIT(PROVISIONER_KEY_BYTES_MAX);

    object_key(o, &key);
    if (!key.failed && !provisioner_in_progress(p, buf_str(&key)))
        workqueue_forget(controller_queue(p->claims), buf_str(&key));
}

static void on_volume(void *ctx, const struct object *o)
{
    struct provisioner *p = ctx;

    if (provisioner_may_delete(p, volume_of(o)))
        enqueue_object(p->volumes, o);
}

static void on_volume_gone(void *ctx, const struct object *o)
{
    struct provisioner *p = ctx;

    workqueue_forget(controller_queue(p->volumes), str_of(o->name));
}

/* --- Lifecycle --- */

static int open_queue(struct provisioner *p, const char *name,
                      enum sync_result (*sync)(void *ctx, struct str key), struct controller **ret,
                      struct error *err)
{
    struct controller_options c = { .queue = { .loop = p->o.part.loop,
                                               .name = name,
                                               .seed = component_seed(&p->o.part, name),
                                               .base_ns = RETRY_MIN_NS,
                                               .max_ns = RETRY_MAX_NS,
                                               .bucket_qps = QPS,
                                               .bucket_burst = BURST },
                                    .sync = sync,
                                    .ctx = p,
                                    .in_flight_max = WORKERS };

    return controller_new(&c, ret, err);
}

int provisioner_new(const struct provisioner_options *o, struct provisioner **ret, struct error *err)
{
    _cleanup_(provisioner_free_p) struct provisioner *p = calloc(1, sizeof *p);
    struct informers *all = o->part.informers;
    int r;

    if (!p)
        return error_no_memory(err);
    p->o = *o;
    LIST_INIT(&p->ops);
    LIST_INIT(&p->in_progress);
    r = component_api(&o->part, PROVISIONER_FIELD_MANAGER, &p->api, err);
    if (r < 0)
        return r;
    p->claims_cache = informers_get(all, KIND_CLAIM, err);
    p->volumes_cache = p->claims_cache ? reclaim_volumes(all, err) : NULL;
    p->classes = p->volumes_cache ? informers_get(all, KIND_CLASS, err) : NULL;
    p->nodes = p->classes ? informers_get(all, KIND_NODE, err) : NULL;
    if (!p->nodes)
        return -(int)err->code;
    r = component_recorder(&o->part, o->name, &p->recorder, err);
    if (r == 0)
        r = open_queue(p, "claims", provisioner_sync_claim, &p->claims, err);
    if (r == 0)
        r = open_queue(p, "volumes", provisioner_sync_volume, &p->volumes, err);
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
    informer_add_handler(p->claims_cache, &p->claims_handler);
    informer_add_handler(p->volumes_cache, &p->volumes_handler);
}

struct provisioner *provisioner_free(struct provisioner *p)
{
    struct provisioner_op *x, *next_op;
    struct in_progress *i, *next;

    if (!p)
        return NULL;
    informer_remove_handler(&p->claims_handler);
    informer_remove_handler(&p->volumes_handler);
    for (x = LIST_FIRST(&p->ops); x; x = next_op) {
        next_op = LIST_NEXT(x, link);
        op_free(x);
    }
    for (i = LIST_FIRST(&p->in_progress); i; i = next) {
        next = LIST_NEXT(i, link);
        (void)object_unref(i->claim);
        free(i);
    }
    controller_free(p->claims);
    controller_free(p->volumes);
    recorder_free(p->recorder);
    free(p);
    return NULL;
}
