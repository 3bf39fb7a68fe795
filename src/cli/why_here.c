/* Explaining in front of a server that does not: what it has is listed into caches, the parts that decide are
 * asked as everywhere. */
#include "cli/why.h"

#include <string.h>

#include "io/random.h"
#include "scheduler/explain.h"
#include "why/events.h"

#define POLL_NS (5 * NS_PER_MS)
/* For what cannot be done without; and, once that is there, for the rest: a server that refuses a kind is
 * asked for it again and again. */
#define NEEDED_NS (60 * NS_PER_S)
#define REST_NS (2 * NS_PER_S)

struct onlooker {
    struct session *session;
    struct informers *informers;
    struct scheduler *scheduler; /* judges, and schedules nothing */
    struct informer *events[2];  /* of the object's namespace; of objects at cluster scope */
    struct why_world world;
    struct timer timer;
    uint64_t began_ns;
    uint64_t enough_ns; /* since when nothing is missing that is needed; 0: something is */
};

static bool has_events(const struct onlooker *x)
{
    return informer_is_synced(x->events[0]) && informer_is_synced(x->events[1]);
}

static void look(void *ctx)
{
    struct onlooker *x = ctx;
    uint64_t now_ns = loop_now_ns(x->session->loop);

    if (!x->enough_ns && !why_world_missing(&x->world))
        x->enough_ns = now_ns;
    if ((informers_are_synced(x->informers) && has_events(x)) ||
        (x->enough_ns && now_ns - x->enough_ns > REST_NS) || now_ns - x->began_ns > NEEDED_NS)
        loop_stop(x->session->loop);
    else
        timer_arm_after(&x->timer, POLL_NS);
}

static void each_event(void *ctx, const struct object *about, why_event_fn *fn, void *fn_ctx)
{
    const struct onlooker *x = ctx;
    const struct informer *events = x->events[about->ns[0] ? 0 : 1];
    struct informer_cursor at;

    for (const struct object *o = informer_first(events, &at); o; o = informer_next(&at)) {
        const struct event *e = (const struct event *)(const void *)o;

        if (why_event_is_about(e, about))
            fn(fn_ctx, e);
    }
}

static int open_events(struct onlooker *x, const struct why_question *q, struct error *err)
{
    const char *namespaces[] = { q->ns[0] ? q->ns : "default", "default" };
    int r = 0;

    for (size_t i = 0; i < ARRAY_LEN(x->events) && r == 0; i++) {
        struct informer_options o = { .loop = x->session->loop,
                                      .client = x->session->client,
                                      .kind = kind_info(KIND_EVENT),
                                      .ns = namespaces[i] };

        r = informer_new(&o, &x->events[i], err);
    }
    return r;
}

static int open_scheduler(struct onlooker *x, struct error *err)
{
    struct scheduler_options o = { .part = { .loop = x->session->loop,
                                             .clock = x->session->clock,
                                             .client = x->session->client,
                                             .informers = x->informers },
                                   .name = SCHEDULER_NAME,
                                   .host = "" };
    int r = io_random(&o.part.seed, sizeof o.part.seed, err);

    if (r == 0)
        r = scheduler_new(&o, &x->scheduler, err);
    if (r < 0)
        return r;
    scheduler_follow(x->scheduler);
    x->world.scheduler = x->scheduler;
    return 0;
}

static int open_caches(struct onlooker *x, const struct why_question *q, struct error *err)
{
    struct informer_options o = { .loop = x->session->loop, .client = x->session->client };
    int r = informers_new(&o, &x->informers, err);

    if (r == 0)
        r = why_world_caches(&x->world, x->informers, err);
    if (r == 0 && q->kind != KIND_VOLUME)
        r = open_scheduler(x, err);
    if (r == 0)
        r = open_events(x, q, err);
    if (r < 0)
        return r;
    informers_start(x->informers);
    for (size_t i = 0; i < ARRAY_LEN(x->events); i++)
        informer_start(x->events[i]);
    x->began_ns = loop_now_ns(x->session->loop);
    timer_arm_after(&x->timer, 0);
    loop_run(x->session->loop);
    if (why_world_missing(&x->world))
        return error_set(err, ERR_TIMEOUT,
                         "the server does not show its %s: nothing can be explained without",
                         why_world_missing(&x->world)->plural);
    why_world_drop_missing(&x->world);
    if (!x->world.caches[KIND_NODE])
        x->world.scheduler = NULL; /* it would judge from nodes that it cannot see */
    return 0;
}

int why_explain_here(struct session *s, const struct why_question *q, struct buf *out, struct error *err)
{
    struct onlooker x = { .session = s };
    int r;

    x.world.clock = s->clock;
    x.world.each_event = each_event;
    x.world.ctx = &x;
    timer_init(&x.timer, s->loop, look, &x);
    r = open_caches(&x, q, err);
    if (r == 0)
        r = why_explain(&x.world, q, out, err);
    timer_disarm(&x.timer);
    for (size_t i = 0; i < ARRAY_LEN(x.events); i++)
        x.events[i] = informer_free(x.events[i]);
    x.scheduler = scheduler_free(x.scheduler);
    x.informers = informers_free(x.informers);
    return r;
}
