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
    TAILQ_ENTRY(event_delivery) link;
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
    arena_done(&d->arena);
    free(d);
    return NULL;
}
DEFINE_CLEANUP(struct event_delivery, delivery_free)

static struct str dup_str(struct arena *a, struct str s)
{
    return (struct str){ arena_dup(a, s), s.len };
}

static int delivery_new(const struct event_request *q, struct event_delivery **ret, struct error *err)
{
    _cleanup_(delivery_free_p) struct event_delivery *d = calloc(1, sizeof *d);
    int r;

    if (!d)
        return error_no_memory(err);
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

/* --- Slots --- */

static void pump(void *ctx);
static void slot_on_done(void *ctx, const struct client_answer *a);

static void slot_send(void *ctx)
{
    struct event_slot *s = ctx;
    const struct event_delivery *d = s->delivery;
    struct client_request q = {
        .verb = d->is_patch ? CLIENT_PATCH : CLIENT_CREATE,
        .kind = d->request.kind,
        .ns = d->request.ns,
        .name = d->is_patch ? d->request.name : NULL,
        .body = d->is_patch ? d->request.patch : d->request.create,
        .patch = CLIENT_PATCH_STRATEGIC,
    };

    client_send(s->sender->client, &s->call, &q, slot_on_done, s);
}

static void slot_end(struct event_slot *s, enum event_outcome outcome)
{
    struct event_sender *x = s->sender;

    event_sender_count(x, outcome);
    s->delivery = delivery_free(s->delivery);
    x->count--;
    loop_defer(&x->pump);
}

static void slot_enter_waiting(struct event_slot *s, const struct client_answer *a)
{
    /* The first delay differs, so that those who lost the server together do not come back together. */
    uint64_t delay_ns = s->delivery->tries == 1 ? rng_below(&s->sender->rng, RETRY_NS) : RETRY_NS;

    log_info("event not written, trying again", LOG_STR("namespace", s->delivery->request.ns),
             LOG_STR("event", s->delivery->request.name), LOG_UINT("tries", s->delivery->tries),
             LOG_UINT("after_ms", delay_ns / NS_PER_MS), LOG_ERR(&a->error));
    timer_arm_after(&s->timer, delay_ns);
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

static void slot_give_up(struct event_slot *s, const struct client_answer *a)
{
    const struct event_delivery *d = s->delivery;
    bool was_made = a->error.code == ERR_EXISTS && d->may_be_there;

    LOG_AT(is_quiet(a) ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR, "event not written, giving up",
           LOG_STR("namespace", d->request.ns), LOG_STR("event", d->request.name),
           LOG_UINT("tries", d->tries), LOG_ERR(&a->error), LOG_END);
    slot_end(s, was_made ? EVENT_CREATED : EVENT_FAILED);
}

static void slot_on_done(void *ctx, const struct client_answer *a)
{
    struct event_slot *s = ctx;
    struct event_delivery *d = s->delivery;

    if (a->r < 0 && d->is_patch && a->error.code == ERR_NOT_FOUND) {
        /* Its time was up, or it was never written. The same try goes on. */
        d->is_patch = false;
        slot_send(s);
        return;
    }
    d->tries++;
    if (a->r == 0) {
        slot_end(s, d->is_patch ? EVENT_PATCHED : EVENT_CREATED);
    } else if (may_try_again(d, a)) {
        d->may_be_there |= !d->is_patch && a->may_have_happened;
        slot_enter_waiting(s, a);
    } else {
        slot_give_up(s, a);
    }
}

/* --- The queue --- */

static bool is_under_way(const struct event_sender *x, const struct event_delivery *d)
{
    for (size_t i = 0; i < ARRAY_LEN(x->slots); i++)
        if (x->slots[i].delivery && strcmp(x->slots[i].delivery->request.name, d->request.name) == 0)
            return true;
    return false;
}

/* The first whose event has no request under way. Events have names of their own, whatever the namespace. */
static struct event_delivery *next_delivery(const struct event_sender *x)
{
    struct event_delivery *d;

    TAILQ_FOREACH(d, &x->queue, link)
    if (!is_under_way(x, d))
        return d;
    return NULL;
}

static void pump(void *ctx)
{
    struct event_sender *x = ctx;

    for (size_t i = 0; i < ARRAY_LEN(x->slots); i++) {
        struct event_slot *s = &x->slots[i];

        if (s->delivery)
            continue;
        s->delivery = next_delivery(x);
        if (!s->delivery)
            return;
        TAILQ_REMOVE(&x->queue, s->delivery, link);
        slot_send(s);
    }
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
    struct event_delivery *d;
    struct error err;
    int r;

    if (x->count >= RECORDER_QUEUE_MAX)
        r = error_set(&err, ERR_BUSY, "%zu events wait to be written", x->count);
    else
        r = delivery_new(q, &d, &err);
    if (r < 0) {
        drop(x, q, &err);
        return;
    }
    x->is_dropping = false;
    x->count++;
    TAILQ_INSERT_TAIL(&x->queue, d, link);
    loop_defer(&x->pump);
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

int event_sender_init(struct event_sender *x, struct loop *loop, struct client *client,
                      struct metrics *metrics, const struct rng *rng, struct error *err)
{
    *x = (struct event_sender){ .client = client };
    rng_fork(rng, "delays", &x->rng);
    TAILQ_INIT(&x->queue);
    deferred_init(&x->pump, loop, pump, x);
    for (size_t i = 0; i < ARRAY_LEN(x->slots); i++) {
        x->slots[i].sender = x;
        timer_init(&x->slots[i].timer, loop, slot_send, &x->slots[i]);
    }
    return metrics ? add_metrics(x, metrics, err) : 0;
}

void event_sender_done(struct event_sender *x)
{
    struct event_delivery *d;

    loop_undefer(&x->pump);
    for (size_t i = 0; i < ARRAY_LEN(x->slots); i++) {
        client_cancel(&x->slots[i].call);
        timer_disarm(&x->slots[i].timer);
        x->slots[i].delivery = delivery_free(x->slots[i].delivery);
    }
    while ((d = TAILQ_FIRST(&x->queue))) {
        TAILQ_REMOVE(&x->queue, d, link);
        delivery_free(d);
    }
    x->count = 0;
}
