/* For the tests of the recorder: the whole API server, a client to it, and between them a wire that can be
 * cut, held and listened to. */
#ifndef BERTH_TESTS_TEST_RECORDING_H
#define BERTH_TESTS_TEST_RECORDING_H

#include "tests/unit/test_served.h"

#include "api/event.h"
#include "apiserver/local_client.h"
#include "base/log.h"
#include "client/client.h"
#include "client/client_target.h"
#include "machinery/recorder.h"

#define WIRE_HELD_MAX 512

enum wire_mode {
    WIRE_OPEN,
    WIRE_DOWN, /* nobody answers */
    WIRE_FULL, /* somebody does: 503 */
    WIRE_LOST, /* the server does what is asked, the answer is lost */
    WIRE_HELD, /* requests go no further for now */
};

struct wire {
    struct client_carrier base;
    struct client_carrier *next;
    struct loop *loop;
    enum wire_mode mode;
    struct client_attempt *held[WIRE_HELD_MAX];
    size_t held_count;
    struct deferred failing;
    unsigned started;
    struct buf log; /* "POST /path\n" */
    /* While mode is WIRE_LOST, whose end this is. */
    void (*on_end)(struct client_attempt *a, const struct client_answer *answer);
};

struct recording {
    struct served served;
    struct wire *wire;
    struct client *client;
    struct metrics *metrics; /* the recorder's own */
    struct recorder *recorder;
    struct logger logger;
    struct buf log; /* what was logged above debug */
    bool is_local;
};

/* --- The wire --- */

static inline void wire_refuse(const struct wire *x, struct client_attempt *a)
{
    struct client_answer answer = { .r = -ERR_UNAVAILABLE,
                                    .retry_after_seconds = -1,
                                    .may_have_happened = false };

    (void)error_set(&answer.error, ERR_UNAVAILABLE, "connection refused");
    answer.http_status = x->mode == WIRE_FULL ? 503 : 0;
    a->on_end(a, &answer);
}

static inline void wire_fail(void *ctx)
{
    struct wire *x = ctx;
    size_t count = x->held_count;
    struct client_attempt *held[WIRE_HELD_MAX];

    memcpy(held, x->held, sizeof held);
    x->held_count = 0;
    for (size_t i = 0; i < count; i++)
        wire_refuse(x, held[i]);
}

static struct wire *losing_wire; /* one at a time: an attempt does not know its carrier */

/* The answer came, and the last hop loses it. */
static inline void wire_lose(struct client_attempt *a, const struct client_answer *answer)
{
    struct client_answer lost = {
        .r = -ERR_UNAVAILABLE, .retry_after_seconds = -1, .was_connected = true, .may_have_happened = true
    };

    (void)answer;
    (void)error_set(&lost.error, ERR_UNAVAILABLE, "connection reset");
    a->on_end = losing_wire->on_end;
    a->on_end(a, &lost);
}

static inline void wire_start(struct client_carrier *c, struct client_attempt *a)
{
    struct wire *x = (void *)c;

    x->started++;
    buf_addf(&x->log, "%s ", target_method(a->request));
    target_write(a->request, &x->log);
    buf_add_char(&x->log, '\n');
    if (x->mode == WIRE_DOWN || x->mode == WIRE_FULL || x->mode == WIRE_HELD) {
        assert_true(x->held_count < WIRE_HELD_MAX);
        x->held[x->held_count++] = a;
        if (x->mode != WIRE_HELD)
            loop_defer(&x->failing);
        return;
    }
    if (x->mode == WIRE_LOST) {
        losing_wire = x;
        x->on_end = a->on_end;
        a->on_end = wire_lose;
    }
    x->next->type->start(x->next, a);
}

static inline void wire_cancel(struct client_carrier *c, struct client_attempt *a)
{
    struct wire *x = (void *)c;

    for (size_t i = 0; i < x->held_count; i++)
        if (x->held[i] == a) {
            x->held[i] = x->held[--x->held_count];
            return;
        }
    x->next->type->cancel(x->next, a);
}

static inline void wire_free(struct client_carrier *c)
{
    struct wire *x = (void *)c;

    loop_undefer(&x->failing);
    x->next->type->free(x->next);
    buf_done(&x->log);
    free(x);
}

static const struct client_carrier_type wire_type = { wire_start, wire_cancel, wire_free };

/* What is held goes on. */
static inline void wire_release(struct recording *w)
{
    struct wire *x = w->wire;
    size_t count = x->held_count;

    x->mode = WIRE_OPEN;
    x->held_count = 0;
    for (size_t i = 0; i < count; i++)
        x->next->type->start(x->next, x->held[i]);
    served_settle(&w->served);
}

/* --- Life --- */

static inline void keep_log(void *ctx, const char *line, size_t len)
{
    buf_add(ctx, line, len);
}

static inline void recorder_start(struct recording *w, enum recorder_dialect dialect, const char *component)
{
    struct recorder_options o = { .loop = w->served.loop,
                                  .clock = &w->served.clock.clock,
                                  .client = w->client,
                                  .metrics = w->metrics,
                                  .seed = 11,
                                  .is_local = w->is_local,
                                  .dialect = dialect,
                                  .component = component,
                                  .host = "node-1" };

    ASSERT_OK(recorder_new(&o, &w->recorder, &err));
}

static inline void recording_init(struct recording *w, enum recorder_dialect dialect)
{
    struct client_options o = { 0 };

    memset(w, 0, sizeof *w);
    served_init(&w->served);
    w->log = BUF_INIT((size_t)1 << 20);
    w->logger = (struct logger){
        .level = LOG_LEVEL_INFO, .clock = &w->served.clock.clock, .sink = keep_log, .ctx = &w->log
    };
    log_install(&w->logger);
    w->wire = calloc(1, sizeof *w->wire);
    assert_non_null(w->wire);
    w->wire->base.type = &wire_type;
    w->wire->log = BUF_INIT((size_t)1 << 20);
    deferred_init(&w->wire->failing, w->served.loop, wire_fail, w->wire);
    ASSERT_OK(local_client_new(w->served.server, NULL, &w->wire->next, &err));
    o.loop = w->served.loop;
    o.carrier = &w->wire->base;
    ASSERT_OK(client_new(&o, &w->client, &err));
    w->metrics = metrics_new((struct hash_seed){ 3, 4 });
    assert_non_null(w->metrics);
    recorder_start(w, dialect, "persistentvolume-controller");
}

static inline void recording_done(struct recording *w)
{
    w->recorder = recorder_free(w->recorder);
    w->client = client_free(w->client);
    w->metrics = metrics_free(w->metrics);
    log_install(NULL);
    buf_done(&w->log);
    served_done(&w->served);
}

/* --- Objects and events --- */

/* An object that the server need not have. */
static inline struct object *object_of(enum kind kind, const char *text)
{
    _cleanup_(buf_done_p) struct buf quoted = BUF_INIT(1 << 20);
    _cleanup_(json_done_p) struct json d;
    struct object *o;

    json_init(&d, 1 << 20);
    kind_quotes(text, &quoted);
    ASSERT_OK(object_decode(kind_info(kind), buf_str(&quoted), &d, &o, &err));
    return o;
}

/* One that it made. */
static inline struct object *object_made(struct recording *w, enum kind kind, const char *path,
                                         const char *body)
{
    _cleanup_(json_done_p) struct json d;
    struct object *o;

    json_init(&d, 1 << 20);
    ASSERT_SENT(&w->served, 201, "POST", path, body);
    ASSERT_OK(object_decode(kind_info(kind), buf_str(&w->served.text), &d, &o, &err));
    return o;
}

static inline struct object *a_claim(const char *ns, const char *name)
{
    char text[1024];

    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'%s','namespace':'%s','uid':'u-%s','resourceVersion':'7'}," CLAIM_SPEC
                   "}",
                   name, ns, name);
    return object_of(KIND_CLAIM, text);
}

/* Everything that was recorded is written. */
static inline void recording_settle(struct recording *w)
{
    served_settle(&w->served);
    assert_true(recorder_is_idle(w->recorder));
}

#define ASSERT_EVENTS(w, expected)                           \
    do {                                                     \
        ASSERT_SENT(&(w)->served, 200, "GET", EVENTS, NULL); \
        ASSERT_INT(expected, got_items(&(w)->served));       \
    } while (0)

/* "berth_events_total" of an outcome, as a scraper sees it. */
static inline void assert_outcome(struct recording *w, const char *outcome, unsigned expected)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(1 << 20);
    char line[128];

    metrics_write(w->metrics, &text);
    (void)snprintf(line, sizeof line, "berth_events_total{outcome=\"%s\"} %u\n", outcome, expected);
    if (!strstr(buf_cstr(&text), line))
        fail_msg("no %s in\n%s", line, buf_cstr(&text));
}

#endif
