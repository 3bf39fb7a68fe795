#include "scheduler/queue.h"

#include <assert.h>
#include <stdlib.h>

#include "base/die.h"

/* By priority, the highest first; then who came first. */
static int ready_cmp(void *ctx, const void *a, const void *b)
{
    const struct queued_pod *x = a, *y = b;

    (void)ctx;
    if (x->pod->priority != y->pod->priority)
        return x->pod->priority > y->pod->priority ? -1 : 1;
    return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

static uint64_t ready_rank(const struct queued_pod *x)
{
    return (uint64_t)((int64_t)INT32_MAX - x->pod->priority);
}

static int resting_cmp(void *ctx, const void *a, const void *b)
{
    const struct queued_pod *x = a, *y = b;

    (void)ctx;
    return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

static void on_rest_over(void *ctx);
static void on_sweep(void *ctx);

void queue_init(struct pod_queue *q, struct loop *l, struct hash_seed seed, void (*on_ready)(void *ctx),
                void *ctx)
{
    *q = (struct pod_queue){ .loop = l, .on_ready = on_ready, .ctx = ctx };
    map_init(&q->by_uid, seed);
    omap_init(&q->ready, (struct omap_order){ ready_cmp, ready_cmp, NULL });
    omap_init(&q->resting, (struct omap_order){ resting_cmp, resting_cmp, NULL });
    TAILQ_INIT(&q->aside);
    timer_init(&q->rest_timer, l, on_rest_over, q);
    timer_init(&q->sweep_timer, l, on_sweep, q);
}

static void pod_free(struct queued_pod *x)
{
    (void)object_unref((struct object *)(uintptr_t)&x->pod->obj);
    free(x);
}

void queue_done(struct pod_queue *q)
{
    struct queued_pod *x;

    timer_disarm(&q->rest_timer);
    timer_disarm(&q->sweep_timer);
    omap_done(&q->ready);
    omap_done(&q->resting);
    for (size_t at = 0; (x = map_next(&q->by_uid, &at, NULL));)
        pod_free(x);
    map_done(&q->by_uid);
}

static void must(int r)
{
    if (r == 0)
        return;
    die("no memory to remember a pod that waits to be scheduled: it would never be scheduled");
}

/* --- Places --- */

static void leave(struct pod_queue *q, struct queued_pod *x)
{
    q->counts[x->place]--;
    switch (x->place) {
    case QUEUE_READY:
        (void)omap_remove(&q->ready, ready_rank(x), x);
        break;
    case QUEUE_RESTING:
        (void)omap_remove(&q->resting, x->rest_until_ns, x);
        break;
    case QUEUE_ASIDE:
        TAILQ_REMOVE(&q->aside, x, link);
        break;
    case QUEUE_UNDER_WAY:
    case QUEUE_PLACE_COUNT:
        break;
    }
}

static void enter(struct pod_queue *q, struct queued_pod *x, enum queue_place place)
{
    x->place = place;
    q->counts[place]++;
}

static void arm_rest_timer(struct pod_queue *q)
{
    struct omap_cursor at;
    const struct queued_pod *first = omap_first(&q->resting, &at);

    if (first)
        timer_arm(&q->rest_timer, first->rest_until_ns);
    else
        timer_disarm(&q->rest_timer);
}

static void make_ready(struct pod_queue *q, struct queued_pod *x)
{
    x->added_ns = loop_now_ns(q->loop);
    x->sequence = ++q->sequence;
    must(omap_insert(&q->ready, ready_rank(x), x));
    enter(q, x, QUEUE_READY);
    q->on_ready(q->ctx);
}

static void make_rest(struct pod_queue *q, struct queued_pod *x)
{
    x->sequence = ++q->sequence;
    must(omap_insert(&q->resting, x->rest_until_ns, x));
    enter(q, x, QUEUE_RESTING);
    arm_rest_timer(q);
}

static void come_back(struct pod_queue *q, struct queued_pod *x)
{
    if (x->rest_until_ns > loop_now_ns(q->loop))
        make_rest(q, x);
    else
        make_ready(q, x);
}

static void on_rest_over(void *ctx)
{
    struct pod_queue *q = ctx;
    uint64_t now_ns = loop_now_ns(q->loop);
    struct omap_cursor at;
    struct queued_pod *x;

    while ((x = omap_first(&q->resting, &at)) && x->rest_until_ns <= now_ns) {
        leave(q, x);
        make_ready(q, x);
    }
    arm_rest_timer(q);
}

static void on_sweep(void *ctx)
{
    struct pod_queue *q = ctx;
    uint64_t now_ns = loop_now_ns(q->loop);
    struct queued_pod *next;

    for (struct queued_pod *x = TAILQ_FIRST(&q->aside); x; x = next) {
        next = TAILQ_NEXT(x, link);
        if (now_ns - x->aside_since_ns < QUEUE_ASIDE_NS)
            continue;
        leave(q, x);
        come_back(q, x);
    }
    if (!TAILQ_EMPTY(&q->aside))
        timer_arm_after(&q->sweep_timer, QUEUE_SWEEP_NS);
}

/* --- Coming and going --- */

static void put_new(struct pod_queue *q, const struct pod *p)
{
    struct queued_pod *x = calloc(1, sizeof *x);

    must(x ? 0 : -ERR_NO_MEMORY);
    x->pod = pod_of(object_ref(&p->obj));
    must(map_put(&q->by_uid, str_of(x->pod->obj.uid), x, NULL));
    make_ready(q, x);
}

void queue_put(struct pod_queue *q, const struct pod *p, bool is_changed)
{
    struct queued_pod *x = queue_get(q, p->obj.uid);
    const struct pod *old;
    enum queue_place was;

    if (!x) {
        put_new(q, p);
        return;
    }
    was = x->place;
    leave(q, x); /* its priority may be another, and the map's key its uid's text */
    old = x->pod;
    x->pod = pod_of(object_ref(&p->obj));
    must(map_put(&q->by_uid, str_of(x->pod->obj.uid), x, NULL));
    (void)object_unref((struct object *)(uintptr_t)&old->obj);
    if (was == QUEUE_UNDER_WAY) {
        enter(q, x, was);
    } else if (was == QUEUE_ASIDE && !is_changed) {
        TAILQ_INSERT_TAIL(&q->aside, x, link);
        enter(q, x, was);
    } else if (was == QUEUE_READY) {
        must(omap_insert(&q->ready, ready_rank(x), x));
        enter(q, x, was);
    } else {
        come_back(q, x);
    }
}

void queue_remove(struct pod_queue *q, const char *uid)
{
    struct queued_pod *x = map_remove(&q->by_uid, str_of(uid));

    if (!x)
        return;
    leave(q, x);
    pod_free(x);
}

struct queued_pod *queue_get(const struct pod_queue *q, const char *uid)
{
    return map_get(&q->by_uid, str_of(uid));
}

struct queued_pod *queue_take(struct pod_queue *q)
{
    struct omap_cursor at;
    struct queued_pod *x = omap_first(&q->ready, &at);

    if (!x)
        return NULL;
    leave(q, x);
    enter(q, x, QUEUE_UNDER_WAY);
    x->attempts++;
    return x;
}

/* The rest counts from the end of the attempt. */
static void note_rest(struct pod_queue *q, struct queued_pod *x)
{
    uint64_t rest_ns = QUEUE_REST_NS;

    for (unsigned i = 1; i < x->attempts && rest_ns < QUEUE_REST_MAX_NS; i++)
        rest_ns *= 2;
    if (rest_ns > QUEUE_REST_MAX_NS)
        rest_ns = QUEUE_REST_MAX_NS;
    x->rest_until_ns = loop_now_ns(q->loop) + rest_ns;
}

void queue_set_aside(struct pod_queue *q, struct queued_pod *x, uint32_t judges)
{
    assert(x->place == QUEUE_UNDER_WAY);
    leave(q, x);
    note_rest(q, x);
    x->judges = judges;
    x->aside_since_ns = loop_now_ns(q->loop);
    TAILQ_INSERT_TAIL(&q->aside, x, link);
    enter(q, x, QUEUE_ASIDE);
    if (!timer_is_armed(&q->sweep_timer))
        timer_arm_after(&q->sweep_timer, QUEUE_SWEEP_NS);
}

void queue_rest(struct pod_queue *q, struct queued_pod *x)
{
    assert(x->place == QUEUE_UNDER_WAY);
    leave(q, x);
    note_rest(q, x);
    x->judges = 0;
    make_rest(q, x);
}

void queue_move(struct pod_queue *q, queue_helps_fn *helps, void *ctx)
{
    struct queued_pod *next;

    for (struct queued_pod *x = TAILQ_FIRST(&q->aside); x; x = next) {
        next = TAILQ_NEXT(x, link);
        if (!helps(ctx, x))
            continue;
        leave(q, x);
        come_back(q, x);
    }
}
