/* For tests of what is read from caches: a server that has these objects, nothing ever happens on it, and
 * what is written to it stays unanswered; the caches, and a scheduler that follows them. */
#ifndef BERTH_TESTS_TEST_STILL_H
#define BERTH_TESTS_TEST_STILL_H

#include "test.h"

#include "client/client.h"
#include "client/client_request.h"
#include "machinery/informer.h"
#include "scheduler/scheduler.h"
#include "tests/unit/test_kind.h"

#define STILL_OBJECTS_MAX 1200
#define STILL_TEXT_MAX 8192
#define STILL_REAL_NS (1767225600 * (int64_t)NS_PER_S) /* 2026-01-01 */

struct still {
    struct client_carrier carrier; /* first: see start() */
    struct deferred answering;
    struct client_attempt *lists[STILL_OBJECTS_MAX];
    size_t lists_count;
    struct object *objects[STILL_OBJECTS_MAX];
    size_t objects_count;
    struct manual_clock clock;
    struct loop *loop;
    struct client *client;
    struct informers *informers;
    struct scheduler *scheduler;
};

static inline void still_start(struct client_carrier *c, struct client_attempt *a)
{
    struct still *s = (struct still *)c;

    if (a->request->verb != CLIENT_LIST)
        return;
    assert_true(s->lists_count < STILL_OBJECTS_MAX);
    s->lists[s->lists_count++] = a;
    loop_defer(&s->answering);
}

static inline void still_cancel(struct client_carrier *c, struct client_attempt *a)
{
    (void)c;
    (void)a;
}

static inline void still_free(struct client_carrier *c)
{
    (void)c;
}

static inline void on_answering(void *ctx)
{
    struct still *s = ctx;
    size_t count = s->lists_count;

    s->lists_count = 0;
    for (size_t i = 0; i < count; i++) {
        struct client_answer answer = { .http_status = 200, .retry_after_seconds = -1 };
        struct object *items[STILL_OBJECTS_MAX];

        for (size_t k = 0; k < s->objects_count; k++)
            if (s->objects[k]->kind == s->lists[i]->request->kind)
                items[answer.list.count++] = s->objects[k];
        answer.list.items = items;
        answer.list.resource_version = "100";
        answer.list.continue_token = "";
        s->lists[i]->on_end(s->lists[i], &answer);
    }
}

/* ' stands for ". */
static inline struct object *new_object(enum kind k, const char *text)
{
    _cleanup_(buf_done_p) struct buf quoted = BUF_INIT(STILL_TEXT_MAX);
    _cleanup_(json_done_p) struct json scratch;
    struct object *o = NULL;

    json_init(&scratch, 1 << 20);
    kind_quotes(text, &quoted);
    ASSERT_OK(object_decode(kind_info(k), buf_str(&quoted), &scratch, &o, &err));
    return o;
}

static inline void still_add(struct still *s, enum kind k, const char *text)
{
    assert_true(s->objects_count < STILL_OBJECTS_MAX);
    s->objects[s->objects_count++] = new_object(k, text);
}

/* Informers that nobody has started: a test may ask for more of them. */
static inline void still_open(struct still *s)
{
    static const struct client_carrier_type type = { still_start, still_cancel, still_free };
    struct scheduler_options o = { .name = SCHEDULER_NAME, .host = "here" };
    struct client_options co = { .carrier = &s->carrier };
    struct informer_options io = { .seed = 1 };

    s->carrier.type = &type;
    manual_clock_init(&s->clock, NS_PER_S, STILL_REAL_NS);
    ASSERT_OK(loop_new(&s->clock.clock, &s->loop, &err));
    deferred_init(&s->answering, s->loop, on_answering, s);
    co.loop = io.loop = s->loop;
    ASSERT_OK(client_new(&co, &s->client, &err));
    io.client = s->client;
    ASSERT_OK(informers_new(&io, &s->informers, &err));
    o.part = (struct component_deps){
        .loop = s->loop, .clock = &s->clock.clock, .client = s->client, .informers = s->informers, .seed = 1
    };
    ASSERT_OK(scheduler_new(&o, &s->scheduler, &err));
}

static inline void still_fill(struct still *s)
{
    informers_start(s->informers);
    while (loop_poll(s->loop))
        ;
    assert_true(informers_are_synced(s->informers));
}

static inline void still_run(struct still *s)
{
    still_open(s);
    still_fill(s);
}

/* And the scheduler takes its turns; what it writes is never answered. */
static inline void still_start_scheduler(struct still *s)
{
    scheduler_start(s->scheduler);
    while (loop_poll(s->loop))
        ;
}

static inline void still_done(struct still *s)
{
    scheduler_free(s->scheduler);
    informers_free(s->informers);
    client_free(s->client);
    loop_undefer(&s->answering);
    loop_free(s->loop);
    for (size_t i = 0; i < s->objects_count; i++)
        (void)object_unref(s->objects[i]);
}

#endif
