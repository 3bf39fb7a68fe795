/* Implementation of the event sender: deliveries wait in a queue, or behind an earlier delivery of the same
 * event.
 *
 * At most under_way_max requests are in flight. A delivery that waits for its retry keeps its slot. */
#include "machinery/event_sender.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/reach.h"
#include "machinery/metrics.h"
#include "machinery/recorder.h"

#define RETRY_NS (10 * NS_PER_S)
#define DELIVERY_BYTES_MAX ((size_t)1 << 20)

struct event_delivery {
    TAILQ_ENTRY(event_delivery) link; /* in the queue, or among the followers of an earlier delivery */
    struct event_sender *sender;
    struct event_deliveries followers; /* later deliveries of the same event */
    struct client_call call;
    struct timer timer; /* for the next try */
    struct arena arena;
    struct event_request request; /* texts in the arena */
    bool is_patch;
    bool may_be_there; /* an unanswered try may have created it */
    unsigned tries;
};

static const char *const outcome_names[] = {
    [EVENT_CREATED] = "created",       [EVENT_PATCHED] = "patched",   [EVENT_FAILED] = "failed",
    [EVENT_AGGREGATED] = "aggregated", [EVENT_FILTERED] = "filtered", [EVENT_DROPPED] = "dropped",
};
static_assert(ARRAY_LEN(outcome_names) == EVENT_OUTCOME_COUNT, "name every outcome");

/* --- Deliveries --- */

static struct event_delivery *delivery_free(struct event_delivery *d)
{
    if (!d)
        return NULL;
    client_cancel(&d->call);
    timer_disarm(&d->timer);
    arena_done(&d->arena);
    free(d);
    return NULL;
}
DEFINE_CLEANUP(struct event_delivery, delivery_free)

static struct str dup_str(struct arena *a, struct str s)
{
    return (struct str){ arena_dup(a, s), s.len };
}

static void delivery_send(void *ctx);

static int delivery_new(struct event_sender *sender, const struct event_request *q,
                        struct event_delivery **ret, struct error *err)
{
    _cleanup_(delivery_free_p) struct event_delivery *d = calloc(1, sizeof *d);
    int r;

    if (!d)
        return error_no_memory(err);
    d->sender = sender;
    TAILQ_INIT(&d->followers);
    timer_init(&d->timer, sender->loop, delivery_send, d);
    d->arena = ARENA_INIT(DELIVERY_BYTES_MAX);
    d->request = (struct event_request){
        .kind = q->kind,
        .ns = arena_dup(&d->arena, str_of(q->ns)),
        .name = arena_dup(&d->arena, str_of(q->name)),
        .create = dup_str(&d->arena, q->create),
        .patch = dup_str(&d->arena, q->patch),
    };
    d->is_patch = q->patch.len > 0;
    r = arena_check(&d->arena, err);
    if (r < 0)
        return r;
    *ret = TAKE(d);
    return 0;
}

/* --- Requests --- */

static void delivery_on_done(void *ctx, const struct client_answer *a);

static void delivery_send(void *ctx)
{
    struct event_delivery *d = ctx;
    struct client_request q = {
        .verb = d->is_patch ? CLIENT_PATCH : CLIENT_CREATE,
        .kind = d->request.kind,
        .ns = d->request.ns,
        .name = d->is_patch ? d->request.name : NULL,
        .body = d->is_patch ? d->request.patch : d->request.create,
        .patch = CLIENT_PATCH_STRATEGIC,
    };

    client_send(d->sender->client, &d->call, &q, delivery_on_done, d);
}

/* The first follower is sent next, because it has waited longest. */
static void delivery_end(struct event_delivery *d, enum event_outcome outcome)
{
    struct event_sender *sender = d->sender;
    struct event_delivery *next = TAILQ_FIRST(&d->followers);
    int r = 0;

    event_sender_count(sender, outcome);
    if (next) {
        TAILQ_REMOVE(&d->followers, next, link);
        TAILQ_CONCAT(&next->followers, &d->followers, link);
        r = map_put(&sender->events, str_of(next->request.name), next, /* ret_old= */ NULL);
        TAILQ_INSERT_HEAD(&sender->queue, next, link);
    } else {
        (void)map_remove(&sender->events, str_of(d->request.name));
    }
    assert(r == 0); /* the name is in the map */
    (void)r;
    (void)delivery_free(d);
    sender->count--;
    sender->under_way--;
    loop_defer(&sender->pump);
}

static void delivery_enter_waiting(struct event_delivery *d, const struct client_answer *a)
{
    /* A random first delay keeps clients that lost the server together from returning together. */
    uint64_t delay_ns = d->tries == 1 ? rng_below(&d->sender->rng, RETRY_NS) : RETRY_NS;

    log_info("event not written, will retry", LOG_STR("namespace", d->request.ns),
             LOG_STR("event", d->request.name), LOG_UINT("tries", d->tries),
             LOG_UINT("after_ms", delay_ns / NS_PER_MS), LOG_ERR(&a->error));
    timer_arm_after(&d->timer, delay_ns);
}

/* True if no answer came and a retry may get one. */
static bool may_try_again(const struct event_delivery *d, const struct client_answer *a)
{
    if (d->tries >= RECORDER_TRIES_MAX || a->http_status != 0)
        return false;
    return a->error.code == ERR_UNAVAILABLE || a->error.code == ERR_TIMEOUT || a->error.code == ERR_IO;
}

static void delivery_on_done(void *ctx, const struct client_answer *a)
{
    struct event_delivery *d = ctx;

    if (a->r < 0 && d->is_patch && a->error.code == ERR_NOT_FOUND) {
        /* The event expired or was never written: the same try creates it. */
        d->is_patch = false;
        delivery_send(d);
        return;
    }
    d->tries++;
    if (a->r == 0) {
        delivery_end(d, d->is_patch ? EVENT_PATCHED : EVENT_CREATED);
    } else if (may_try_again(d, a)) {
        d->may_be_there |= !d->is_patch && a->may_have_happened;
        delivery_enter_waiting(d, a);
    } else {
        bool is_there = a->error.code == ERR_EXISTS;
        /* Not worth an error: the event exists, its namespace is being deleted, or writes are blocked. */
        bool is_quiet = is_there || a->error.code == ERR_CANCELLED || client_is_terminating(a);

        LOG_AT(is_quiet ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR, "event not written, giving up",
               LOG_STR("namespace", d->request.ns), LOG_STR("event", d->request.name),
               LOG_UINT("tries", d->tries), LOG_ERR(&a->error), LOG_END);
        delivery_end(d, is_there && d->may_be_there ? EVENT_CREATED : EVENT_FAILED);
    }
}

/* --- The queue --- */

static void send_queued(void *ctx)
{
    struct event_sender *sender = ctx;
    struct event_delivery *d;

    while (sender->under_way < sender->under_way_max && (d = TAILQ_FIRST(&sender->queue))) {
        TAILQ_REMOVE(&sender->queue, d, link);
        sender->under_way++;
        delivery_send(d);
    }
}

/* Queues the delivery behind others of the same event. Event names are unique across namespaces. */
static int delivery_line_up(struct event_delivery *d, struct error *err)
{
    struct event_sender *sender = d->sender;
    struct str name = str_of(d->request.name);
    struct event_delivery *first = map_get(&sender->events, name);

    if (first) {
        TAILQ_INSERT_TAIL(&first->followers, d, link);
        return 0;
    }
    if (map_put(&sender->events, name, d, /* ret_old= */ NULL) < 0)
        return error_no_memory(err);
    TAILQ_INSERT_TAIL(&sender->queue, d, link);
    loop_defer(&sender->pump);
    return 0;
}

void event_sender_add(struct event_sender *sender, const struct event_request *q)
{
    _cleanup_(delivery_free_p) struct event_delivery *d = NULL;
    struct error err;
    int r;

    if (sender->count >= RECORDER_QUEUE_MAX)
        r = error_set(&err, ERR_BUSY, "event queue is full: %zu events", sender->count);
    else
        r = delivery_new(sender, q, &d, &err);
    if (r == 0)
        r = delivery_line_up(d, &err);
    if (r < 0) {
        event_sender_count(sender, EVENT_DROPPED);
        if (!sender->is_dropping) /* logged once, because there may be thousands */
            log_error("event queue full, dropping events", LOG_STR("namespace", q->ns),
                      LOG_STR("event", q->name), LOG_ERR(&err));
        sender->is_dropping = true;
        return;
    }
    (void)TAKE(d); /* now owned by its event or an earlier delivery */
    sender->is_dropping = false;
    sender->count++;
}

void event_sender_count(struct event_sender *sender, enum event_outcome outcome)
{
    reach_move(REACH_EVENT_OUTCOME, EVENT_OUTCOME_COUNT, outcome, outcome);
    if (sender->outcomes[outcome])
        metric_add(sender->outcomes[outcome], 1);
}

/* --- Lifecycle --- */

static int add_metrics(struct event_sender *sender, struct metrics *metrics, struct error *err)
{
    static const char *const labels[] = { "outcome", NULL };
    struct metric_family *f;
    int r = metrics_share_family(metrics,
                                 &(struct metric_desc){ .name = "berth_events_total",
                                                        .help = "Events, by outcome.",
                                                        .type = METRIC_COUNTER,
                                                        .labels = labels },
                                 &f, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < EVENT_OUTCOME_COUNT; i++)
        sender->outcomes[i] = metric_of(f, outcome_names[i]);
    return 0;
}

int event_sender_init(struct event_sender *sender, const struct recorder_options *o, const struct rng *rng,
                      struct error *err)
{
    struct rng hash;
    uint64_t k0;

    *sender = (struct event_sender){ .client = o->client, .loop = o->loop };
    sender->under_way_max = o->is_local ? RECORDER_LOCAL_MAX : RECORDER_REMOTE_MAX;
    rng_fork(rng, "delays", &sender->rng);
    rng_fork(rng, "events", &hash);
    k0 = rng_u64(&hash);
    map_init(&sender->events, (struct hash_seed){ k0, rng_u64(&hash) });
    TAILQ_INIT(&sender->queue);
    deferred_init(&sender->pump, o->loop, send_queued, sender);
    return o->metrics ? add_metrics(sender, o->metrics, err) : 0;
}

void event_sender_done(struct event_sender *sender)
{
    struct event_delivery *d, *next;

    loop_undefer(&sender->pump);
    for (size_t at = 0; (d = map_next(&sender->events, &at, /* ret_key= */ NULL));) {
        while ((next = TAILQ_FIRST(&d->followers))) {
            TAILQ_REMOVE(&d->followers, next, link);
            (void)delivery_free(next);
        }
        (void)delivery_free(d);
    }
    map_done(&sender->events);
    sender->count = 0;
}
