/* For the tests of explanations: what is said of an object, and somebody who asks from caches of his own. */
#ifndef BERTH_TESTS_TEST_SAID_H
#define BERTH_TESTS_TEST_SAID_H

#include "tests/unit/test_served.h"

#include "apiserver/local_client.h"
#include "client/client.h"
#include "scheduler/explain.h"
#include "why/events.h"
#include "why/text.h"
#include "why/why_world.h"

/* What was said last. */
static struct said {
    struct json doc;
    json_ref report;
    struct buf text; /* for people */
    struct buf json;
} said;

/* Caches of somebody who knows the server alone. */
struct onlooker {
    struct client *client;
    struct informers *informers;
    struct scheduler *scheduler; /* judges, and schedules nothing */
    struct why_world world;
};

static inline void onlooker_open(struct onlooker *x, struct served *w)
{
    struct client_options co = { .loop = w->loop };
    struct informer_options io = { .loop = w->loop, .seed = 77 };
    struct scheduler_options so = { .name = SCHEDULER_NAME, .host = "here" };
    unsigned turns = 0;

    *x = (struct onlooker){
        .world = { .clock = &w->clock.clock, .each_event = why_each_stored_event, .ctx = w->store }
    };
    ASSERT_OK(local_client_new(w->server, NULL, &co.carrier, &err));
    ASSERT_OK(client_new(&co, &x->client, &err));
    io.client = x->client;
    ASSERT_OK(informers_new(&io, &x->informers, &err));
    ASSERT_OK(why_world_caches(&x->world, x->informers, &err));
    so.part = (struct component_deps){
        .loop = w->loop, .clock = &w->clock.clock, .client = x->client, .informers = x->informers, .seed = 78
    };
    ASSERT_OK(scheduler_new(&so, &x->scheduler, &err));
    informers_start(x->informers);
    while (!informers_are_synced(x->informers)) {
        (void)loop_poll(w->loop);
        assert_true(++turns < 10000);
    }
    assert_null(why_world_missing(&x->world));
    x->world.scheduler = x->scheduler;
}

static inline void onlooker_close(struct onlooker *x)
{
    x->scheduler = scheduler_free(x->scheduler);
    x->informers = informers_free(x->informers);
    x->client = client_free(x->client);
}

static inline void said_clear(void)
{
    json_done(&said.doc);
    buf_done(&said.text);
    buf_done(&said.json);
    said.report = 0;
}

static inline void say(const struct why_world *w, const struct why_question *q)
{
    said_clear();
    json_init(&said.doc, WHY_BYTES_MAX);
    said.text = BUF_INIT(WHY_BYTES_MAX);
    said.json = BUF_INIT(WHY_BYTES_MAX);
    ASSERT_OK(why_explain(w, q, &said.json, &err));
    ASSERT_OK(json_parse(&said.doc, buf_str(&said.json), &said.report, &err));
    why_text_write(&said.doc, said.report, &(struct why_style){ .is_verbose = true }, &said.text);
}

static inline const char *said_member(const char *key)
{
    static char text[4][WHY_LINE_BYTES_MAX];
    static unsigned turn;
    char *to = text[turn++ % 4];

    (void)snprintf(to, WHY_LINE_BYTES_MAX, "%.*s", STR_ARG(json_get_text(&said.doc, said.report, key)));
    return to;
}

#define ASSERT_SAID(cause_expected, sentence_expected)          \
    do {                                                        \
        ASSERT_STR(cause_expected, said_member("cause"));       \
        ASSERT_STR(sentence_expected, said_member("sentence")); \
    } while (0)

/* Somewhere in the text for people. */
#define ASSERT_TEXT(part)                                           \
    do {                                                            \
        if (!strstr(buf_cstr(&said.text), part))                    \
            fail_msg("no '%s' in\n%s", part, buf_cstr(&said.text)); \
    } while (0)

#define ASSERT_NO_TEXT(part)                                       \
    do {                                                           \
        if (strstr(buf_cstr(&said.text), part))                    \
            fail_msg("a '%s' in\n%s", part, buf_cstr(&said.text)); \
    } while (0)

#endif
