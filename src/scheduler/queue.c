/* The queue of pods that need a node: maps of ready pods and of pods in backoff, and a list of unschedulable
 * ones.
 *
 * A pod is in exactly one place, and counts has the number of pods per place. Timers end the backoff of the
 * first pod, and requeue unschedulable pods after five minutes. */
#include "scheduler/queue.h"

#include <assert.h>
#include <stdlib.h>

#include "base/die.h"
#include "base/mutant.h"
#include "base/tailq.h"

/* Highest priority first, then in the order of arrival. */
static int ready_cmp(void *ctx, const void *a, const void *b)
{
    const struct queued_pod *queued = a, *y = b;

    (void)ctx;
    if (queued->pod->priority != y->pod->priority)
        return queued->pod->priority > y->pod->priority ? -1 : 1;
    return queued->sequence < y->sequence ? -1 : queued->sequence > y->sequence;
}

static uint64_t ready_rank(const struct queued_pod *queued)
{
    return (uint64_t)((int64_t)INT32_MAX - queued->pod->priority);
}

static int backoff_cmp(void *ctx, const void *a, const void *b)
{
    const struct queued_pod *queued = a, *y = b;

    (void)ctx;
    return queued->sequence < y->sequence ? -1 : queued->sequence > y->sequence;
}

static void on_backoff_over(void *ctx);
static void on_sweep(void *ctx);

void queue_init(struct pod_queue *q, struct loop *l, struct hash_seed seed, void (*on_ready)(void *ctx),
                void *ctx)
{
    *q = (struct pod_queue){ .loop = l, .on_ready = on_ready, .ctx = ctx };
    map_init(&q->by_uid, seed);
    omap_init(&q->ready, (struct omap_order){ ready_cmp, ready_cmp, NULL });
    omap_init(&q->backoff, (struct omap_order){ backoff_cmp, backoff_cmp, NULL });
    TAILQ_INIT(&q->unschedulable);
    timer_init(&q->backoff_timer, l, on_backoff_over, q);
    timer_init(&q->sweep_timer, l, on_sweep, q);
}

static void queued_pod_free(struct queued_pod *queued)
{
    (void)object_unref((struct object *)(uintptr_t)&queued->pod->obj);
    free(queued);
}

void queue_done(struct pod_queue *q)
{
    struct queued_pod *queued;

    timer_disarm(&q->backoff_timer);
    timer_disarm(&q->sweep_timer);
    omap_done(&q->ready);
    omap_done(&q->backoff);
    for (size_t at = 0; (queued = map_next(&q->by_uid, &at, NULL));)
        queued_pod_free(queued);
    map_done(&q->by_uid);
}

static void must_succeed(int r)
{
    if (r == 0)
        return;
    die_with_reason("out of memory: cannot queue a pod, it would never be scheduled");
}

/* --- Places --- */

static void leave_place(struct pod_queue *q, struct queued_pod *queued)
{
    assert(queued->place < QUEUE_PLACE_COUNT && q->counts[queued->place] > 0);
    q->counts[queued->place]--;
    switch (queued->place) {
    case QUEUE_READY:
        (void)omap_remove(&q->ready, ready_rank(queued), queued);
        break;
    case QUEUE_BACKOFF:
        (void)omap_remove(&q->backoff, queued->backoff_until_ns, queued);
        break;
    case QUEUE_UNSCHEDULABLE:
        TAILQ_REMOVE(&q->unschedulable, queued, link);
        break;
    case QUEUE_IN_FLIGHT:
    case QUEUE_PLACE_COUNT:
        break;
    }
}

static void enter_place(struct pod_queue *q, struct queued_pod *queued, enum queue_place place)
{
    queued->place = place;
    q->counts[place]++;
}

static void arm_backoff_timer(struct pod_queue *q)
{
    struct omap_cursor at;
    const struct queued_pod *first = omap_first(&q->backoff, &at);

    if (first)
        timer_arm(&q->backoff_timer, first->backoff_until_ns);
    else
        timer_disarm(&q->backoff_timer);
}

static void make_ready(struct pod_queue *q, struct queued_pod *queued)
{
    queued->added_ns = loop_now_ns(q->loop);
    queued->sequence = ++q->sequence;
    must_succeed(omap_insert(&q->ready, ready_rank(queued), queued));
    enter_place(q, queued, QUEUE_READY);
    q->on_ready(q->ctx);
}

static void make_backoff(struct pod_queue *q, struct queued_pod *queued)
{
    queued->sequence = ++q->sequence;
    must_succeed(omap_insert(&q->backoff, queued->backoff_until_ns, queued));
    enter_place(q, queued, QUEUE_BACKOFF);
    arm_backoff_timer(q);
}

static void requeue_pod(struct pod_queue *q, struct queued_pod *queued)
{
    if (queued->backoff_until_ns > loop_now_ns(q->loop))
        make_backoff(q, queued);
    else
        make_ready(q, queued);
}

static void on_backoff_over(void *ctx)
{
    struct pod_queue *q = ctx;
    uint64_t now_ns = loop_now_ns(q->loop);
    struct omap_cursor at;
    struct queued_pod *queued;

    while ((queued = omap_first(&q->backoff, &at)) && queued->backoff_until_ns <= now_ns) {
        leave_place(q, queued);
        make_ready(q, queued);
    }
    arm_backoff_timer(q);
}

static void on_sweep(void *ctx)
{
    struct pod_queue *q = ctx;
    uint64_t now_ns = loop_now_ns(q->loop);
    struct queued_pod *next;

    for (struct queued_pod *queued = TAILQ_FIRST(&q->unschedulable); queued; queued = next) {
        next = TAILQ_NEXT(queued, link);
        if (now_ns - queued->unschedulable_since_ns < QUEUE_UNSCHEDULABLE_NS)
            continue;
        leave_place(q, queued);
        requeue_pod(q, queued);
    }
    if (!TAILQ_EMPTY(&q->unschedulable))
        timer_arm_after(&q->sweep_timer, QUEUE_SWEEP_NS);
}

/* --- Adding and removing --- */

void queue_put(struct pod_queue *q, const struct pod *p, bool is_changed)
{
    struct queued_pod *queued = queue_get(q, p->obj.uid);
    const struct pod *old;
    enum queue_place was;

    if (!queued) {
        queued = calloc(1, sizeof *queued);
        must_succeed(queued ? 0 : -ERR_NO_MEMORY);
        queued->pod = pod_of(object_ref(&p->obj));
        must_succeed(map_put(&q->by_uid, str_of(queued->pod->obj.uid), queued, NULL));
        make_ready(q, queued);
        return;
    }
    was = queued->place;
    leave_place(q, queued); /* its priority may have changed, and the map's key is the text of its uid */
    old = queued->pod;
    queued->pod = pod_of(object_ref(&p->obj));
    must_succeed(map_put(&q->by_uid, str_of(queued->pod->obj.uid), queued, NULL));
    (void)object_unref((struct object *)(uintptr_t)&old->obj);
    if (was == QUEUE_IN_FLIGHT && !MUTANT("scheduler-queues-pods-twice")) {
        enter_place(q, queued, was);
    } else if (was == QUEUE_UNSCHEDULABLE && !is_changed) {
        TAILQ_INSERT_TAIL(&q->unschedulable, queued, link);
        enter_place(q, queued, was);
    } else if (was == QUEUE_READY) {
        must_succeed(omap_insert(&q->ready, ready_rank(queued), queued));
        enter_place(q, queued, was);
    } else {
        requeue_pod(q, queued);
    }
}

void queue_remove(struct pod_queue *q, const char *uid)
{
    struct queued_pod *queued = map_remove(&q->by_uid, str_of(uid));

    if (!queued)
        return;
    leave_place(q, queued);
    queued_pod_free(queued);
}

struct queued_pod *queue_get(const struct pod_queue *q, const char *uid)
{
    return map_get(&q->by_uid, str_of(uid));
}

struct queued_pod *queue_take(struct pod_queue *q)
{
    struct omap_cursor at;
    struct queued_pod *queued = omap_first(&q->ready, &at);

    if (!queued)
        return NULL;
    leave_place(q, queued);
    enter_place(q, queued, QUEUE_IN_FLIGHT);
    queued->attempts++;
    return queued;
}

/* The backoff counts from the end of the attempt. */
static void set_backoff(struct pod_queue *q, struct queued_pod *queued)
{
    uint64_t backoff_ns = QUEUE_BACKOFF_NS;

    for (unsigned i = 1; i < queued->attempts && backoff_ns < QUEUE_BACKOFF_MAX_NS; i++)
        backoff_ns *= 2;
    if (backoff_ns > QUEUE_BACKOFF_MAX_NS)
        backoff_ns = QUEUE_BACKOFF_MAX_NS;
    queued->backoff_until_ns = loop_now_ns(q->loop) + backoff_ns;
}

void queue_put_unschedulable(struct pod_queue *q, struct queued_pod *queued, uint32_t filters)
{
    assert(queued->place == QUEUE_IN_FLIGHT);
    leave_place(q, queued);
    set_backoff(q, queued);
    queued->filters = filters;
    queued->unschedulable_since_ns = loop_now_ns(q->loop);
    TAILQ_INSERT_TAIL(&q->unschedulable, queued, link);
    enter_place(q, queued, QUEUE_UNSCHEDULABLE);
    if (!timer_is_armed(&q->sweep_timer))
        timer_arm_after(&q->sweep_timer, QUEUE_SWEEP_NS);
}

void queue_put_backoff(struct pod_queue *q, struct queued_pod *queued)
{
    assert(queued->place == QUEUE_IN_FLIGHT);
    leave_place(q, queued);
    set_backoff(q, queued);
    queued->filters = 0;
    make_backoff(q, queued);
}

void queue_requeue(struct pod_queue *q, queue_helps_fn *helps, void *ctx)
{
    struct queued_pod *next;

    for (struct queued_pod *queued = TAILQ_FIRST(&q->unschedulable); queued; queued = next) {
        next = TAILQ_NEXT(queued, link);
        if (!helps(ctx, queued))
            continue;
        leave_place(q, queued);
        requeue_pod(q, queued);
    }
}

/* --- The invariant --- */

const char *queue_check(const struct pod_queue *q)
{
    size_t counts[QUEUE_PLACE_COUNT] = { 0 }, unschedulable = 0;
    const struct queued_pod *queued;
    struct str uid;

    for (size_t at = 0; (queued = map_next(&q->by_uid, &at, &uid));) {
        if (!str_is(uid, queued->pod->obj.uid) || queued->place >= QUEUE_PLACE_COUNT)
            return "a pod is queued by another uid, or in no place";
        counts[queued->place]++;
    }
    for (size_t i = 0; i < QUEUE_PLACE_COUNT; i++)
        if (counts[i] != q->counts[i])
            return "the number of pods in a place of the queue is wrong";
    if (q->ready.count != counts[QUEUE_READY] || q->backoff.count != counts[QUEUE_BACKOFF])
        return "a ready pod or a pod in backoff is not in the map of its place";
    if (!tailq_is_sound(&q->unschedulable, offsetof(struct queued_pod, link), counts[QUEUE_UNSCHEDULABLE],
                        &unschedulable) ||
        unschedulable != counts[QUEUE_UNSCHEDULABLE])
        return "the list of unschedulable pods is not linked both ways";
    if (counts[QUEUE_BACKOFF] > 0 && !timer_is_armed(&q->backoff_timer))
        return "pods are in backoff, and no timer is armed";
    return unschedulable == 0 || timer_is_armed(&q->sweep_timer)
               ? NULL
               : "pods are unschedulable, and no timer is armed";
}
