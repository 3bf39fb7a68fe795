/* What all carriers have in common: the limit, the gate, deadlines, retries, counts.
 *
 * A call is idle, or in one of the states below, and client->active counts those that are not idle. Calls
 * that wait for the limit stand in one queue, first come first served; while it is not empty, and only then,
 * one token is reserved for its head and the token timer is armed for the moment it is there.
 *
 * A call ends in one place, call_end(): it is idle and owns nothing any more when its owner hears of it, so
 * the owner may send it anew or free it.
 *
 * Costs: one block of memory a call, of the size of its texts; O(1) besides the timers' heap. */
#include "client/client.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/bucket.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mutant.h"
#include "client/client_warnings.h"
#include "client/request.h"
#include "client/target.h"

/* Between a lost connection and the next try. */
#define LOST_RETRY_NS NS_PER_S
/* From when a wait is worth a line, and a line for everybody. */
#define WAIT_DEBUG_NS (50 * NS_PER_MS)
#define WAIT_INFO_NS NS_PER_S

enum call_state {
    CALL_IDLE,
    CALL_FAILED,  /* before anything was sent; told in a moment */
    CALL_QUEUED,  /* for the limit */
    CALL_SENT,    /* the carrier has it */
    CALL_WAITING, /* for the next try */
};

struct client {
    struct loop *loop;
    struct client_carrier *carrier;
    const struct client_observer *observer;
    client_gate_fn *gate;
    void *gate_ctx;
    size_t active;
    bool has_limit;
    bool has_token; /* reserved, and there from token_at_ns on */
    uint64_t token_at_ns;
    struct bucket bucket;
    struct timer token_timer;
    TAILQ_HEAD(, client_call) queue;
    struct client_warnings warnings;
    struct map writers;
};

static void queue_run(void *ctx);

/* --- The client --- */

int client_new(const struct client_options *o, struct client **ret, struct error *err)
{
    struct client *c = calloc(1, sizeof *c);

    assert(o->loop);
    assert(o->carrier);
    if (!c) {
        o->carrier->type->free(o->carrier);
        return error_no_memory(err);
    }
    c->loop = o->loop;
    c->carrier = o->carrier;
    c->observer = o->observer;
    c->has_limit = o->qps > 0;
    if (c->has_limit)
        bucket_init(&c->bucket, o->qps, o->burst ? o->burst : 1, loop_now_ns(o->loop));
    timer_init(&c->token_timer, o->loop, queue_run, c);
    TAILQ_INIT(&c->queue);
    client_warnings_init(&c->warnings, o->on_warning);
    map_init(&c->writers, (struct hash_seed){ 0 }); /* uids are the server's own */
    *ret = c;
    return 0;
}

struct client *client_free(struct client *c)
{
    if (!c)
        return NULL;
    assert(c->active == 0);
    assert(!timer_is_armed(&c->token_timer));
    c->carrier->type->free(c->carrier);
    client_warnings_done(&c->warnings);
    map_done(&c->writers);
    free(c);
    return NULL;
}

void client_set_gate(struct client *c, client_gate_fn *gate, void *ctx)
{
    c->gate = gate;
    c->gate_ctx = ctx;
}

struct map *client_writers(struct client *c)
{
    return &c->writers;
}

/* --- The request --- */

static bool is_limited(const struct client *c, const struct client_request *q)
{
    return c->has_limit && q->verb != CLIENT_WATCH && !q->is_urgent;
}

static uint64_t call_deadline_ns(const struct client_call *call)
{
    uint64_t after = call->request.deadline_ns ? call->request.deadline_ns : CLIENT_DEADLINE_NS;

    if (call->request.verb == CLIENT_WATCH || after > UINT64_MAX - call->started_ns)
        return UINT64_MAX;
    return call->started_ns + after;
}

/* Nobody waits any more. */
static void limit_rest(struct client *c)
{
    timer_disarm(&c->token_timer);
    if (c->has_token)
        bucket_give_back(&c->bucket);
    c->has_token = false;
}

/* --- How a call ends --- */

/* Idle again. What its texts live in is the caller's to release, when nobody reads them any more. */
static struct arena call_let_go(struct client_call *call)
{
    struct client *c = call->client;
    struct arena arena = call->arena;

    timer_disarm(&call->timer);
    loop_undefer(&call->deferred);
    if (call->state == CALL_QUEUED) {
        TAILQ_REMOVE(&c->queue, call, link);
        if (TAILQ_EMPTY(&c->queue))
            limit_rest(c);
    }
    assert(c->active > 0);
    c->active--;
    *call = (struct client_call){ .state = CALL_IDLE };
    return arena;
}

/* The call may be gone when this returns. */
static void call_end(struct client_call *call, const struct client_answer *answer)
{
    client_done_fn *done = call->done;
    void *ctx = call->ctx;
    struct client_answer doubtful;
    struct arena arena;

    if (call->is_uncertain && answer->r < 0 && !answer->may_have_happened) {
        doubtful = *answer;
        doubtful.may_have_happened = true;
        answer = &doubtful;
    }
    arena = call_let_go(call);
    done(ctx, answer);
    arena_done(&arena);
}

/* Without an answer from anybody. */
static void call_end_with(struct client_call *call, const struct error *e)
{
    struct client_answer answer = request_failed(e);

    call_end(call, &answer);
}

/* In the arena, so that calls stay small; NULL when that has no memory left. */
static void call_keep_error(struct client_call *call, const struct error *e)
{
    if (!call->failure) {
        arena_reserve(&call->arena, sizeof *call->failure + sizeof(void *));
        call->failure = arena_alloc(&call->arena, sizeof *call->failure);
    }
    if (call->failure)
        *call->failure = *e;
}

static void on_deferred(void *ctx)
{
    struct client_call *call = ctx;
    struct error e;

    assert(call->state == CALL_FAILED);
    if (call->failure)
        e = *call->failure;
    else
        (void)error_no_memory(&e);
    call_end_with(call, &e);
}

/* The sender must not hear of it before client_send() is through. */
static void call_fail_later(struct client_call *call, const struct error *e)
{
    call_keep_error(call, e);
    timer_disarm(&call->timer);
    call->state = CALL_FAILED;
    loop_defer(&call->deferred);
}

/* --- One try --- */

static void observe_attempt(const struct client_call *call, int http_status)
{
    const struct client_observer *o = call->client->observer;
    uint64_t took_ns = loop_now_ns(call->client->loop) - call->sent_ns;

    if (o && o->on_attempt)
        o->on_attempt(o->ctx, target_method(&call->request), http_status,
                      call->request.verb == CLIENT_WATCH ? CLIENT_TOOK_NONE : took_ns);
}

static bool is_retryable_status(int http_status)
{
    return http_status == 429 || (http_status >= 500 && http_status <= 599);
}

/* May it be tried again, and when? A watch is its owner's to start anew, who knows from where. */
static bool call_may_retry(const struct client_call *call, const struct client_answer *a, uint64_t *ret_wait)
{
    if (a->r == 0 || call->request.verb == CLIENT_WATCH || call->retries >= CLIENT_RETRIES_MAX)
        return false;
    if (is_retryable_status(a->http_status) && a->retry_after_seconds >= 0) {
        uint64_t seconds = (uint64_t)a->retry_after_seconds;

        *ret_wait =
            seconds < CLIENT_RETRY_AFTER_NS_MAX / NS_PER_S ? seconds * NS_PER_S : CLIENT_RETRY_AFTER_NS_MAX;
        return true;
    }
    if (a->http_status == 0 && a->error.code == ERR_UNAVAILABLE && a->was_connected &&
        !request_is_write(&call->request)) {
        *ret_wait = LOST_RETRY_NS;
        return true;
    }
    return false;
}

static void log_retry(const struct client_call *call, uint64_t wait_ns)
{
    const struct client_request *q = &call->request;
    enum log_level level = wait_ns > WAIT_INFO_NS ? LOG_LEVEL_INFO : LOG_LEVEL_DEBUG;

    LOG_AT(level, "request will be tried again", LOG_STR("method", target_method(q)),
           LOG_STR("resource", request_resource(q)), LOG_STR("namespace", q->ns), LOG_STR("name", q->name),
           LOG_UINT("after_ms", wait_ns / NS_PER_MS), LOG_UINT("retry", call->retries),
           LOG_STR("error", call->failure ? call->failure->msg : NULL), LOG_END);
}

static void call_enter_waiting(struct client_call *call, const struct client_answer *a, uint64_t wait_ns)
{
    const struct client_observer *o = call->client->observer;
    uint64_t deadline_ns = call_deadline_ns(call);
    uint64_t retry_at_ns = loop_now_ns(call->client->loop) + wait_ns;

    call->retries++;
    call_keep_error(call, &a->error);
    if (o && o->on_retry)
        o->on_retry(o->ctx, target_method(&call->request), a->http_status);
    log_retry(call, wait_ns);
    call->state = CALL_WAITING;
    timer_arm(&call->timer, retry_at_ns < deadline_ns ? retry_at_ns : deadline_ns);
}

static void attempt_end(struct client_attempt *a, const struct client_answer *answer)
{
    struct client_call *call = CONTAINER_OF(a, struct client_call, attempt);
    uint64_t wait_ns;

    assert(call->state == CALL_SENT);
    observe_attempt(call, answer->http_status);
    if (answer->may_have_happened)
        call->is_uncertain = true;
    if (call_may_retry(call, answer, &wait_ns))
        call_enter_waiting(call, answer, wait_ns);
    else
        call_end(call, answer);
}

static void attempt_event(struct client_attempt *a, const struct client_event *ev)
{
    struct client_call *call = CONTAINER_OF(a, struct client_call, attempt);

    assert(call->on_event);
    call->on_event(call->ctx, ev);
}

static void attempt_warning(struct client_attempt *a, struct str text)
{
    struct client_call *call = CONTAINER_OF(a, struct client_call, attempt);

    client_warnings_note(&call->client->warnings, text);
}

static bool gate_lets_pass(const struct client_call *call, struct error *err)
{
    const struct client *c = call->client;

    if (!c->gate || !request_is_write(&call->request) || call->request.is_urgent || c->gate(c->gate_ctx, err))
        return true;
    err->code = ERR_CANCELLED;
    return false;
}

/* Hands the call to the carrier; false when the gate is closed, and that will be told. */
static bool call_leave(struct client_call *call)
{
    struct client *c = call->client;
    struct error e = { .code = ERR_CANCELLED };

    if (!gate_lets_pass(call, &e)) {
        call_fail_later(call, &e);
        return false;
    }
    call->state = CALL_SENT;
    call->sent_ns = loop_now_ns(c->loop);
    call->attempt = (struct client_attempt){
        .request = &call->request,
        .on_event = attempt_event,
        .on_end = attempt_end,
        .on_warning = attempt_warning,
    };
    c->carrier->type->start(c->carrier, &call->attempt);
    return true;
}

/* --- The limit --- */

static bool limit_has_token(struct client *c)
{
    uint64_t now_ns = loop_now_ns(c->loop);

    if (!c->has_token) {
        c->token_at_ns = now_ns + bucket_reserve(&c->bucket, now_ns);
        c->has_token = true;
    }
    return c->token_at_ns <= now_ns;
}

static void call_note_wait(const struct client_call *call)
{
    const struct client_request *q = &call->request;
    const struct client_observer *o = call->client->observer;
    uint64_t waited_ns = loop_now_ns(call->client->loop) - call->queued_ns;

    if (o && o->on_waited)
        o->on_waited(o->ctx, target_method(q), waited_ns);
    if (waited_ns <= WAIT_DEBUG_NS)
        return;
    LOG_AT(waited_ns > WAIT_INFO_NS ? LOG_LEVEL_INFO : LOG_LEVEL_DEBUG, "Waited before sending request",
           LOG_UINT("ms", waited_ns / NS_PER_MS), LOG_STR("method", target_method(q)),
           LOG_STR("resource", request_resource(q)), LOG_STR("namespace", q->ns), LOG_STR("name", q->name),
           LOG_END);
}

/* Lets go whom the limit allows. Those whom the gate refuses cost no token. */
static void queue_run(void *ctx)
{
    struct client *c = ctx;
    struct client_call *call;

    while ((call = TAILQ_FIRST(&c->queue)) && limit_has_token(c)) {
        TAILQ_REMOVE(&c->queue, call, link);
        if (!call_leave(call))
            continue;
        c->has_token = false;
        call_note_wait(call);
    }
    if (call)
        timer_arm(&c->token_timer, c->token_at_ns);
    else
        limit_rest(c);
}

/* Every try passes here, the first and the others. */
static void call_try(struct client_call *call)
{
    struct client *c = call->client;

    if (!is_limited(c, &call->request)) {
        (void)call_leave(call); /* a closed gate is told later */
        return;
    }
    call->state = CALL_QUEUED;
    call->queued_ns = loop_now_ns(c->loop);
    TAILQ_INSERT_TAIL(&c->queue, call, link);
    queue_run(c);
}

/* --- Time --- */

static void call_time_out(struct client_call *call)
{
    struct client *c = call->client;
    uint64_t ms = (call_deadline_ns(call) - call->started_ns) / NS_PER_MS;
    struct error e;

    if (call->state == CALL_SENT) {
        c->carrier->type->cancel(c->carrier, &call->attempt);
        observe_attempt(call, /* http_status= */ 0);
        call->is_uncertain = call->is_uncertain || request_is_write(&call->request);
    }
    if (call->failure)
        (void)error_set(&e, ERR_TIMEOUT, "no answer within %" PRIu64 " ms; the last try: %s", ms,
                        call->failure->msg);
    else
        (void)error_set(&e, ERR_TIMEOUT, "no answer within %" PRIu64 " ms", ms);
    call_end_with(call, &e);
}

static void on_timer(void *ctx)
{
    struct client_call *call = ctx;
    uint64_t deadline_ns = call_deadline_ns(call);

    if (loop_now_ns(call->client->loop) >= deadline_ns) {
        call_time_out(call);
        return;
    }
    assert(call->state == CALL_WAITING);
    timer_arm(&call->timer, deadline_ns);
    call_try(call);
}

/* --- What owners call --- */

static void call_begin(struct client *c, struct client_call *call, const struct client_request *q)
{
    struct error e;

    call->client = c;
    call->request = *q;
    call->arena = ARENA_INIT(CLIENT_REQUEST_BYTES_MAX + 2 * sizeof(struct error));
    call->started_ns = loop_now_ns(c->loop);
    timer_init(&call->timer, c->loop, on_timer, call);
    deferred_init(&call->deferred, c->loop, on_deferred, call);
    c->active++;
    if (target_check(q, &e) < 0 || request_own_texts(&call->request, &call->arena, &e) < 0) {
        call_fail_later(call, &e);
        return;
    }
    if (q->verb != CLIENT_WATCH && !MUTANT("client-waits-forever"))
        timer_arm(&call->timer, call_deadline_ns(call));
    call_try(call);
}

void client_send(struct client *c, struct client_call *call, const struct client_request *q,
                 client_done_fn *done, void *ctx)
{
    assert(!client_call_is_active(call));
    assert(q->verb != CLIENT_WATCH);
    *call = (struct client_call){ .done = done, .ctx = ctx };
    call_begin(c, call, q);
}

void client_watch(struct client *c, struct client_call *call, const struct client_request *q,
                  client_event_fn *on_event, client_done_fn *done, void *ctx)
{
    assert(!client_call_is_active(call));
    assert(q->verb == CLIENT_WATCH);
    *call = (struct client_call){ .done = done, .on_event = on_event, .ctx = ctx };
    call_begin(c, call, q);
}

void client_cancel(struct client_call *call)
{
    struct client *c = call->client;
    struct arena arena;

    if (!c)
        return;
    if (call->state == CALL_SENT)
        c->carrier->type->cancel(c->carrier, &call->attempt);
    arena = call_let_go(call);
    arena_done(&arena);
}
