/* For the tests of the client: a carrier that writes down what it is given and answers what the test says,
 * when the test says so, in time that is moved by hand. */
#ifndef BERTH_TESTS_TEST_CLIENT_H
#define BERTH_TESTS_TEST_CLIENT_H

#include "tests/unit/test_io.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "client/client.h"
#include "client/client_target.h"

#define WORLD_ATTEMPTS_MAX 20000
#define WORLD_START_NS (5 * NS_PER_S)

static struct error err;

/* The carrier. What it has, it has in the order it came. */
struct scripted {
    struct client_carrier carrier;
    struct world *world;
    struct client_attempt *attempts[WORLD_ATTEMPTS_MAX];
    size_t count;
    unsigned cancelled;
};

struct world {
    struct manual_clock time;
    struct loop *loop;
    struct scripted scripted;
    bool carrier_is_freed;
    struct client *client;
    struct buf sent; /* "12.500 GET /path body\n", seconds since the start */
    struct buf told; /* a line for each thing an owner was told */
    struct buf seen; /* and for each thing the observer was */
    struct logger logger;
    struct buf logged;
    bool is_gate_shut;
    unsigned asked_gate;
};

/* A call and what its owner wants to do when it is over. */
struct owner_call {
    struct client_call call;
    struct world *world;
    const char *name;
    unsigned ended;
    struct client_answer answer; /* the last; texts and objects are gone */
    bool resends;
    bool cancels; /* at the first event */
    bool frees;
};

static inline void world_stamp(struct world *w, struct buf *out)
{
    uint64_t ms = (clock_mono_ns(&w->time.clock) - WORLD_START_NS) / NS_PER_MS;

    buf_addf(out, "%u.%03u ", (unsigned)(ms / 1000), (unsigned)(ms % 1000));
}

/* --- The carrier --- */

static inline void scripted_start(struct client_carrier *c, struct client_attempt *a)
{
    struct scripted *s = CONTAINER_OF(c, struct scripted, carrier);
    const struct client_request *q = a->request;

    assert_true(s->count < WORLD_ATTEMPTS_MAX);
    s->attempts[s->count++] = a;
    world_stamp(s->world, &s->world->sent);
    buf_addf(&s->world->sent, "%s ", target_method(q));
    target_write(q, &s->world->sent);
    if (q->body.len)
        buf_addf(&s->world->sent, " %.*s", STR_ARG(q->body));
    buf_add_cstr(&s->world->sent, "\n");
    a->work = s;
}

static inline void scripted_forget(struct scripted *s, const struct client_attempt *a)
{
    size_t i = 0;

    while (i < s->count && s->attempts[i] != a)
        i++;
    if (i == s->count)
        fail_msg("the carrier does not have this attempt");
    s->count--;
    memmove(&s->attempts[i], &s->attempts[i + 1], (s->count - i) * sizeof s->attempts[0]);
}

static inline void scripted_cancel(struct client_carrier *c, struct client_attempt *a)
{
    struct scripted *s = CONTAINER_OF(c, struct scripted, carrier);

    assert_ptr_equal(s, a->work);
    scripted_forget(s, a);
    s->cancelled++;
}

static inline void scripted_free(struct client_carrier *c)
{
    struct scripted *s = CONTAINER_OF(c, struct scripted, carrier);

    ASSERT_INT(0, s->count);
    s->world->carrier_is_freed = true;
}

static const struct client_carrier_type scripted_type = {
    .start = scripted_start,
    .cancel = scripted_cancel,
    .free = scripted_free,
};

/* --- The observer, the log, the gate --- */

static inline void seen_attempt(void *ctx, const char *method, int code, uint64_t took_ns)
{
    struct world *w = ctx;

    if (took_ns == CLIENT_TOOK_NONE)
        buf_addf(&w->seen, "%s %d\n", method, code);
    else
        buf_addf(&w->seen, "%s %d after %u ms\n", method, code, (unsigned)(took_ns / NS_PER_MS));
}

static inline void seen_retry(void *ctx, const char *method, int code)
{
    struct world *w = ctx;

    buf_addf(&w->seen, "retry %s %d\n", method, code);
}

static inline void seen_wait(void *ctx, const char *method, uint64_t waited_ns)
{
    struct world *w = ctx;

    buf_addf(&w->seen, "%s waited %u ms\n", method, (unsigned)(waited_ns / NS_PER_MS));
}

static inline void keep_line(void *ctx, const char *line, size_t len)
{
    struct world *w = ctx;
    const char *sentence = memchr(line, ' ', len); /* without the time */

    buf_add(&w->logged, sentence + 1, len - (size_t)(sentence + 1 - line));
}

static inline bool world_gate(void *ctx, struct error *e)
{
    struct world *w = ctx;

    w->asked_gate++;
    if (w->is_gate_shut)
        (void)error_set(e, ERR_CANCELLED, "the term is over");
    return !w->is_gate_shut;
}

/* --- The world --- */

static inline struct world *world_new_with(double qps, unsigned burst, const struct client_observer *observer)
{
    struct world *w = calloc(1, sizeof *w);
    struct client_options o = { .qps = qps, .burst = burst, .observer = observer };

    assert_non_null(w);
    manual_clock_init(&w->time, WORLD_START_NS, 0);
    w->loop = new_loop(&w->time.clock);
    w->scripted = (struct scripted){ .carrier = { .type = &scripted_type }, .world = w };
    buf_init(&w->sent, 16 << 20);
    buf_init(&w->told, 16 << 20);
    buf_init(&w->seen, 16 << 20);
    buf_init(&w->logged, 16 << 20);
    w->logger = (struct logger){ LOG_LEVEL_DEBUG, LOG_FORMAT_TEXT, &w->time.clock, keep_line, w };
    log_install(&w->logger);
    o.loop = w->loop;
    o.carrier = &w->scripted.carrier;
    ASSERT_OK(client_new(&o, &w->client, &err));
    return w;
}

static inline struct world *world_new(void)
{
    return world_new_with(/* qps= */ 0, /* burst= */ 0, /* observer= */ NULL);
}

/* Nothing may be left behind: no timer, nothing deferred, nothing with the carrier. */
static inline struct world *world_free(struct world *w)
{
    uint64_t at_ns;

    assert_false(loop_poll(w->loop));
    assert_false(loop_next_timer_ns(w->loop, &at_ns));
    w->client = client_free(w->client);
    assert_true(w->carrier_is_freed);
    log_install(NULL);
    loop_free(w->loop);
    buf_done(&w->sent);
    buf_done(&w->told);
    buf_done(&w->seen);
    buf_done(&w->logged);
    free(w);
    return NULL;
}
DEFINE_CLEANUP(struct world, world_free)

static inline void world_advance_ms(struct world *w, uint64_t ms)
{
    loop_advance(w->loop, &w->time, ms * NS_PER_MS);
}

/* What was written since the last time. */
static inline void assert_text(struct buf *b, const char *expected)
{
    ASSERT_STR(expected, buf_cstr(b));
    buf_clear(b);
}

/* --- Answers --- */

static inline struct client_answer answer_of(int http_status, int64_t retry_after_seconds)
{
    struct client_answer a = { .http_status = http_status, .retry_after_seconds = retry_after_seconds };

    if (http_status >= 300) {
        a.r =
            error_set(&a.error, http_status == 409 ? ERR_CONFLICT : ERR_UNAVAILABLE, "said %d", http_status);
    }
    return a;
}

/* No answer came. */
static inline struct client_answer failure_of(enum err code, bool was_connected, bool may_have_happened)
{
    struct client_answer a = { .retry_after_seconds = -1 };

    a.r = error_set(&a.error, code, "%s", was_connected ? "connection reset" : "connection refused");
    a.was_connected = was_connected;
    a.may_have_happened = may_have_happened;
    return a;
}

/* The carrier's oldest attempt ends. */
static inline void world_end(struct world *w, struct client_answer answer)
{
    struct client_attempt *a = w->scripted.attempts[0];

    assert_true(w->scripted.count > 0);
    scripted_forget(&w->scripted, a);
    a->on_end(a, &answer);
}

static inline void world_answer(struct world *w, int http_status)
{
    world_end(w, answer_of(http_status, -1));
}

/* --- Owners --- */

static inline void owner_send(struct owner_call *o, const struct client_request *q);

static inline void owner_done(void *ctx, const struct client_answer *a)
{
    struct owner_call *o = ctx;
    struct client_request again = { .verb = CLIENT_RAW, .path = "/again" };

    assert_false(client_call_is_active(&o->call));
    o->ended++;
    o->answer = *a;
    world_stamp(o->world, &o->world->told);
    buf_addf(&o->world->told, "%s: %s%s\n", o->name, a->r == 0 ? "ok" : a->error.msg,
             a->may_have_happened ? " (maybe)" : "");
    ASSERT_INT(a->r, a->r == 0 ? 0 : -(int)a->error.code);
    if (o->resends) {
        o->resends = false;
        owner_send(o, &again);
    }
    if (o->frees)
        free(o);
}

static inline void owner_event(void *ctx, const struct client_event *ev)
{
    struct owner_call *o = ctx;

    buf_addf(&o->world->told, "%s: event %s\n", o->name, ev->version);
    if (o->cancels)
        client_cancel(&o->call);
}

static inline void owner_send(struct owner_call *o, const struct client_request *q)
{
    unsigned ended = o->ended;

    if (q->verb == CLIENT_WATCH)
        client_watch(o->world->client, &o->call, q, owner_event, owner_done, o);
    else
        client_send(o->world->client, &o->call, q, owner_done, o);
    ASSERT_INT(ended, o->ended); /* never from inside */
    assert_true(client_call_is_active(&o->call));
}

/* A request for a volume, as simple as the verb allows. */
static inline struct client_request request_of(enum client_verb verb)
{
    struct client_request q = { .verb = verb, .kind = kind_info(KIND_VOLUME), .name = "v" };

    if (verb == CLIENT_CREATE || verb == CLIENT_PATCH)
        q.body = STR_LIT("{}");
    if (verb == CLIENT_CREATE || verb == CLIENT_LIST || verb == CLIENT_WATCH)
        q.name = NULL;
    if (verb == CLIENT_RAW)
        q = (struct client_request){ .verb = CLIENT_RAW, .path = "/version" };
    return q;
}

static inline void send_verb(struct owner_call *o, enum client_verb verb)
{
    struct client_request q = request_of(verb);

    owner_send(o, &q);
}

#define PV "/api/v1/persistentvolumes"
#define OWNER(w, text) ((struct owner_call){ .world = (w), .name = (text) })

#endif
