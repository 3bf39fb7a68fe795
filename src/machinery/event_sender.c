#include "machinery/event_sender.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "machinery/metrics.h"
#include "machinery/recorder.h"

#define RETRY_NS (10 * NS_PER_S)
#define DELIVERY_BYTES_MAX ((size_t)1 << 20)

struct event_delivery {
    TAILQ_ENTRY(event_delivery) link; /* of the queue, or of an earlier one's followers */
    struct event_sender *sender;
    struct event_deliveries followers; /* later ones of the same event */
    struct client_call call;
    struct timer timer; /* of the next try */
    struct arena arena;
    struct event_request request; /* texts in the arena */
    bool is_patch;
    bool may_be_there; /* a try that was not answered may have made it */
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

static int delivery_new(struct event_sender *x, const struct event_request *q, struct event_delivery **ret,
                        struct error *err)
{
    _cleanup_(delivery_free_p) struct event_delivery *d = calloc(1, sizeof *d);
    int r;

    if (!d)
        return error_no_memory(err);
    d->sender = x;
    TAILQ_INIT(&d->followers);
    timer_init(&d->timer, x->loop, delivery_send, d);
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

/* --- Under way --- */

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

/* The first of its followers comes next of all: it has waited longest. */
static void delivery_end(struct event_delivery *d, enum event_outcome outcome)
{
    struct event_sender *x = d->sender;
    struct event_delivery *next = TAILQ_FIRST(&d->followers);
    int r = 0;

    event_sender_count(x, outcome);
    if (next) {
        TAILQ_REMOVE(&d->followers, next, link);
        TAILQ_CONCAT(&next->followers, &d->followers, link);
        r = map_put(&x->events, str_of(next->request.name), next, /* ret_old= */ NULL);
        TAILQ_INSERT_HEAD(&x->queue, next, link);
    } else {
        (void)map_remove(&x->events, str_of(d->request.name));
    }
    assert(r == 0); /* the name is there */
    (void)r;
    (void)delivery_free(d);
    x->count--;
    x->under_way--;
    loop_defer(&x->pump);
}

static void delivery_enter_waiting(struct event_delivery *d, const struct client_answer *a)
{
    /* The first delay differs, so that those who lost the server together do not come back together. */
    uint64_t delay_ns = d->tries == 1 ? rng_below(&d->sender->rng, RETRY_NS) : RETRY_NS;

    log_info("event not written, trying again", LOG_STR("namespace", d->request.ns),
             LOG_STR("event", d->request.name), LOG_UINT("tries", d->tries),
             LOG_UINT("after_ms", delay_ns / NS_PER_MS), LOG_ERR(&a->error));
    timer_arm_after(&d->timer, delay_ns);
}

/* No answer came, and another time one may come. */
static bool may_try_again(const struct event_delivery *d, const struct client_answer *a)
{
    if (d->tries >= RECORDER_TRIES_MAX || a->http_status != 0)
        return false;
    return a->error.code == ERR_UNAVAILABLE || a->error.code == ERR_TIMEOUT || a->error.code == ERR_IO;
}

/* Nobody needs to hear of these: the event is there, its namespace is going, or we may not write any more. */
static bool is_quiet(const struct client_answer *a)
{
    return a->error.code == ERR_EXISTS || a->error.code == ERR_CANCELLED || client_is_terminating(a);
}

static void delivery_give_up(struct event_delivery *d, const struct client_answer *a)
{
    bool was_made = a->error.code == ERR_EXISTS && d->may_be_there;

    LOG_AT(is_quiet(a) ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR, "event not written, giving up",
           LOG_STR("namespace", d->request.ns), LOG_STR("event", d->request.name),
           LOG_UINT("tries", d->tries), LOG_ERR(&a->error), LOG_END);
    delivery_end(d, was_made ? EVENT_CREATED : EVENT_FAILED);
}

static void delivery_on_done(void *ctx, const struct client_answer *a)
{
    struct event_delivery *d = ctx;

    if (a->r < 0 && d->is_patch && a->error.code == ERR_NOT_FOUND) {
        /* Its time was up, or it was never written. The same try goes on. */
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
        delivery_give_up(d, a);
    }
}

/* --- The queue --- */

static void pump(void *ctx)
{
    struct event_sender *x = ctx;
    struct event_delivery *d;

    while (x->under_way < x->under_way_max && (d = TAILQ_FIRST(&x->queue))) {
        TAILQ_REMOVE(&x->queue, d, link);
        x->under_way++;
        delivery_send(d);
    }
}

/* Behind the others of its event; the first of them waits for its turn. Events have names of their own,
 * whatever the namespace. */
static int delivery_line_up(struct event_delivery *d, struct error *err)
{
    struct event_sender *x = d->sender;
    struct str name = str_of(d->request.name);
    struct event_delivery *first = map_get(&x->events, name);

    if (first) {
        TAILQ_INSERT_TAIL(&first->followers, d, link);
        return 0;
    }
    if (map_put(&x->events, name, d, /* ret_old= */ NULL) < 0)
        return error_no_memory(err);
    TAILQ_INSERT_TAIL(&x->queue, d, link);
    loop_defer(&x->pump);
    return 0;
}

/* Said once for each time that the queue is full, not for each event: there may be thousands. */
static void drop(struct event_sender *x, const struct event_request *q, const struct error *err)
{
    event_sender_count(x, EVENT_DROPPED);
    if (!x->is_dropping)
        log_error("events are dropped", LOG_STR("namespace", q->ns), LOG_STR("event", q->name), LOG_ERR(err));
    x->is_dropping = true;
}

void event_sender_add(struct event_sender *x, const struct event_request *q)
{
    _cleanup_(delivery_free_p) struct event_delivery *d = NULL;
    struct error err;
    int r;

    if (x->count >= RECORDER_QUEUE_MAX)
        r = error_set(&err, ERR_BUSY, "%zu events wait to be written", x->count);
    else
        r = delivery_new(x, q, &d, &err);
    if (r == 0)
        r = delivery_line_up(d, &err);
    if (r < 0) {
        drop(x, q, &err);
        return;
    }
    (void)TAKE(d); /* its event's, or an earlier one's */
    x->is_dropping = false;
    x->count++;
}

void event_sender_count(struct event_sender *x, enum event_outcome outcome)
{
    if (x->outcomes[outcome])
        metric_add(x->outcomes[outcome], 1);
}

/* --- Birth and death --- */

static int add_metrics(struct event_sender *x, struct metrics *metrics, struct error *err)
{
    static const char *const labels[] = { "outcome", NULL };
    struct metric_family *f;
    int r = metrics_share_family(metrics,
                                 &(struct metric_desc){ .name = "berth_events_total",
                                                        .help = "Events by what became of them.",
                                                        .type = METRIC_COUNTER,
                                                        .labels = labels },
                                 &f, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < EVENT_OUTCOME_COUNT; i++)
        x->outcomes[i] = metric_of(f, outcome_names[i]);
    return 0;
}

int event_sender_init(struct event_sender *x, const struct recorder_options *o, const struct rng *rng,
                      struct error *err)
{
    struct rng hash;
    uint64_t k0;

    *x = (struct event_sender){ .client = o->client, .loop = o->loop };
    x->under_way_max = o->is_local ? RECORDER_LOCAL_MAX : RECORDER_REMOTE_MAX;
    rng_fork(rng, "delays", &x->rng);
    rng_fork(rng, "events", &hash);
    k0 = rng_u64(&hash);
    map_init(&x->events, (struct hash_seed){ k0, rng_u64(&hash) });
    TAILQ_INIT(&x->queue);
    deferred_init(&x->pump, o->loop, pump, x);
    return o->metrics ? add_metrics(x, o->metrics, err) : 0;
}

void event_sender_done(struct event_sender *x)
{
    struct event_delivery *d, *next;

    loop_undefer(&x->pump);
    for (size_t at = 0; (d = map_next(&x->events, &at, /* ret_key= */ NULL));) {
        while ((next = TAILQ_FIRST(&d->followers))) {
            TAILQ_REMOVE(&d->followers, next, link);
            (void)delivery_free(next);
        }
        (void)delivery_free(d);
    }
    map_done(&x->events);
    x->count = 0;
}
