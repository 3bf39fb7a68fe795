/* Finds a session for each call, and reports to owners what came of it. */
#include "rpc/rpc_int.h"

#include <assert.h>
#include <string.h>

#include "rpc/framing.h"

/* --- Events --- */

void rpc_client_add_event(struct rpc_client *x, struct rpc_call *c)
{
    if (c->has_event)
        return;
    c->has_event = true;
    TAILQ_INSERT_TAIL(&x->events, c, event);
    x->events_count++;
    loop_defer(&x->deliver);
}

static void drop_event(struct rpc_client *x, struct rpc_call *c)
{
    if (!c->has_event)
        return;
    c->has_event = false;
    TAILQ_REMOVE(&x->events, c, event);
    x->events_count--;
}

/* A call that must not go on: its owner hears of it. */
static void end_call(struct rpc_call *c, enum rpc_code code, const char *words)
{
    rpc_call_fail(c, code, words);
    if (c->session)
        rpc_h2_reset(c);
    rpc_client_add_event(c->client, c);
}

/* --- Sessions --- */

/* The one to the socket that is at the path now. Those to its predecessors take no more calls. */
static struct rpc_session *find_session(struct rpc_client *x, const char *path, const struct socket_id *id)
{
    struct rpc_session *s, *next, *found = NULL;

    for (s = TAILQ_FIRST(&x->sessions); s; s = next) {
        next = TAILQ_NEXT(s, link);
        if (!s->takes_calls || strcmp(s->path, path) != 0)
            continue;
        if (!id || !socket_id_is_same(&s->id, id))
            s->takes_calls = false;
        else if (s->calls_count == 0)
            rpc_session_read(s); /* it may have ended since the last turn */
        if (rpc_session_settle(s) && s->takes_calls)
            found = s;
    }
    return found;
}

static int place_call(struct rpc_client *x, struct rpc_call *c, struct error *err)
{
    struct socket_id id = { 0 };
    bool has_id = socket_identify(c->socket, &id);
    struct rpc_session *s = find_session(x, c->socket, has_id ? &id : NULL);
    int r = 0;

    if (s && s->calls_count >= RPC_CALLS_MAX)
        return error_set(err, ERR_UNAVAILABLE, "more than %d calls of '%s' at a time", RPC_CALLS_MAX,
                         c->socket);
    if (!s && x->sessions_count >= RPC_SESSIONS_MAX)
        return error_set(err, ERR_UNAVAILABLE, "more than %d peers at a time", RPC_SESSIONS_MAX);
    if (!s)
        r = rpc_session_open(x, c->socket, &id, &s, err);
    if (r < 0)
        return r;
    if (!rpc_h2_submit(s, c)) {
        s->takes_calls = false; /* without memory, or without numbers for streams */
        (void)rpc_session_settle(s);
        return error_no_memory(err);
    }
    if (s->fd < 0 && !timer_is_armed(&s->timer))
        rpc_session_connect(s);
    if (rpc_session_settle(s))
        rpc_session_flush_later(s);
    return 0;
}

/* --- Delivery --- */

static void finish_call(struct rpc_client *x, struct rpc_call *c)
{
    struct rpc_call over = *c; /* done may free it, or start it again */
    struct rpc_result result;
    struct error err = { 0 };

    timer_disarm(&c->limit);
    over.limit = (struct timer){ 0 };
    c->in = c->out = c->words = BUF_INIT(0);
    c->arena = ARENA_INIT(0);
    c->client = NULL;
    x->current = NULL;
    result = rpc_call_result(&over, &err);
    c->done(c, &result);
    rpc_call_release(&over);
}

/* Whole messages go to their owner. False: the call is gone, or held. */
static bool deliver_messages(struct rpc_client *x, struct rpc_call *c)
{
    enum rpc_frame frame = RPC_FRAME_WHOLE;
    struct str message;
    size_t used = 0;

    while (!c->is_held && frame == RPC_FRAME_WHOLE) {
        struct str rest = buf_str(&c->in);
        rest.s += used;
        rest.len -= used;
        frame = rpc_frame_read(rest, c->answer_bytes_max, &message);
        if (frame != RPC_FRAME_WHOLE)
            break;
        used += RPC_PREFIX_BYTES + message.len;
        c->on_message(c, message);
        if (x->current != c)
            return false;
    }
    rpc_call_drop_input(c, used);
    if (c->is_held)
        return false;
    if (frame == RPC_FRAME_TOO_LARGE || frame == RPC_FRAME_COMPRESSED) {
        c->is_closed = false; /* whatever its status says */
        end_call(c, frame == RPC_FRAME_TOO_LARGE ? RPC_RESOURCE_EXHAUSTED : RPC_UNAVAILABLE,
                 frame == RPC_FRAME_TOO_LARGE ? RPC_WORDS_TOO_LARGE
                                              : "the answer holds no message that can be read");
        drop_event(x, c);
        rpc_call_drop_input(c, c->in.len);
    }
    if (c->session) {
        rpc_h2_acknowledge(c);
        rpc_session_flush_later(c->session);
    }
    return true;
}

/* The peer has not seen it: once more. */
static void retry_call(struct rpc_client *x, struct rpc_call *c)
{
    struct error err = { 0 };

    c->is_retried = true;
    rpc_call_rewind(c);
    if (place_call(x, c, &err) < 0)
        end_call(c, RPC_UNAVAILABLE, err.msg);
}

static void deliver_call(struct rpc_client *x, struct rpc_call *c)
{
    bool is_unseen =
        c->is_closed && c->reset == NGHTTP2_REFUSED_STREAM && c->http_status == 0 && c->status == UINT64_MAX;

    x->current = c;
    if (is_unseen && !c->is_retried)
        retry_call(x, c);
    else if ((!c->on_message || deliver_messages(x, c)) && c->is_closed)
        finish_call(x, c);
    x->current = NULL;
}

/* What is there now: owners that start calls are heard in the next turn. */
static void client_on_deliver(void *ctx)
{
    struct rpc_client *x = ctx;
    struct rpc_call *c;

    for (size_t n = x->events_count; n > 0 && (c = TAILQ_FIRST(&x->events)); n--) {
        drop_event(x, c);
        deliver_call(x, c);
    }
    if (x->events_count > 0)
        loop_defer(&x->deliver);
}

/* --- Calls --- */

static void call_on_limit(void *ctx)
{
    end_call(ctx, RPC_DEADLINE_EXCEEDED, "context deadline exceeded");
}

int rpc_client_begin(struct rpc_client *x, struct rpc_call *c, struct error *err)
{
    int r;

    rpc_call_rewind(c);
    timer_init(&c->limit, x->loop, call_on_limit, c);
    c->client = x;
    r = place_call(x, c, err);
    if (r < 0)
        rpc_call_release(c);
    return r;
}

int rpc_call_start(struct rpc_client *x, const struct rpc_request *q, struct rpc_call *c, struct error *err)
{
    int r;

    assert(c->done);
    assert(!x->is_closed);
    r = rpc_call_prepare(c, q, err);
    if (r == 0)
        r = rpc_client_begin(x, c, err);
    if (r == 0 && q->limit_ns > 0)
        timer_arm_after(&c->limit, q->limit_ns);
    return r;
}

void rpc_call_cancel(struct rpc_call *c)
{
    struct rpc_client *x = c->client;

    if (!x)
        return;
    if (x->current == c)
        x->current = NULL;
    if (c->session)
        rpc_h2_reset(c);
    drop_event(x, c);
    rpc_call_release(c);
}

void rpc_call_hold(struct rpc_call *c)
{
    c->is_held = true;
}

void rpc_call_resume(struct rpc_call *c)
{
    c->is_held = false;
    if (c->client)
        rpc_client_add_event(c->client, c);
}

/* --- Life --- */

int rpc_client_new(struct loop *l, struct rpc_client **ret, struct error *err)
{
    struct rpc_client *x = calloc(1, sizeof *x);
    int r;

    if (!x)
        return error_no_memory(err);
    x->loop = l;
    TAILQ_INIT(&x->sessions);
    TAILQ_INIT(&x->events);
    TAILQ_INIT(&x->waiting);
    TAILQ_INIT(&x->handed);
    deferred_init(&x->deliver, l, client_on_deliver, x);
    r = wakeup_new(l, rpc_wait_on_handed, x, &x->wakeup, err);
    if (r < 0) {
        free(x);
        return r;
    }
    (void)pthread_mutex_init(&x->lock, NULL); /* with default attributes it cannot fail on Linux */
    *ret = x;
    return 0;
}

void rpc_client_close(struct rpc_client *x)
{
    struct rpc_session *s;

    if (x->is_closed)
        return;
    rpc_wait_close(x);
    assert(TAILQ_EMPTY(&x->events)); /* else a call was not cancelled by its owner */
    while ((s = TAILQ_FIRST(&x->sessions)))
        (void)rpc_session_free(s);
    loop_undefer(&x->deliver);
}

struct rpc_client *rpc_client_free(struct rpc_client *x)
{
    if (!x)
        return NULL;
    rpc_client_close(x);
    (void)pthread_mutex_destroy(&x->lock);
    free(x);
    return NULL;
}
