/* Finds a session for each call, and reports results to the owners of calls. All functions run on the loop;
 * owners are called only from client_on_deliver(). */
#include "rpc/rpc_int.h"

#include <assert.h>
#include <string.h>

#include "io/sys.h"
#include "rpc/framing.h"

/* --- Events --- */

void rpc_client_add_event(struct rpc_client *client, struct rpc_call *c)
{
    if (c->has_event)
        return;
    c->has_event = true;
    TAILQ_INSERT_TAIL(&client->events, c, event);
    client->events_count++;
    loop_defer(&client->deliver);
}

static void drop_event(struct rpc_client *client, struct rpc_call *c)
{
    if (!c->has_event)
        return;
    c->has_event = false;
    TAILQ_REMOVE(&client->events, c, event);
    client->events_count--;
}

/* Ends a call with a failure, which is reported to its owner. */
static void end_call(struct rpc_call *c, enum rpc_code code, const char *words)
{
    rpc_call_fail(c, code, words);
    if (c->session)
        rpc_h2_reset(c);
    rpc_client_add_event(c->client, c);
}

/* --- Sessions --- */

/* The session to the socket that is at the path now. Sessions to its predecessors accept no more calls. */
static struct rpc_session *find_session(struct rpc_client *client, const char *path,
                                        const struct socket_id *id)
{
    struct rpc_session *s, *next, *found = NULL;

    for (s = TAILQ_FIRST(&client->sessions); s; s = next) {
        next = TAILQ_NEXT(s, link);
        if (!s->takes_calls || strcmp(s->path, path) != 0)
            continue;
        if (!id || !socket_id_is_same(&s->id, id))
            s->takes_calls = false;
        else if (s->calls_count == 0)
            rpc_session_read(s); /* the peer may have closed it since the last turn */
        if (rpc_session_settle(s) && s->takes_calls)
            found = s;
    }
    return found;
}

int rpc_client_session(struct rpc_client *client, const char *path, struct rpc_session **ret,
                       struct error *err)
{
    struct socket_id id = { 0 };
    bool has_id = socket_identify(path, &id);
    struct rpc_session *s = find_session(client, path, has_id ? &id : NULL);

    if (!s && client->sessions_count >= RPC_SESSIONS_MAX)
        return error_set(err, ERR_UNAVAILABLE, "more than %d connected peers", RPC_SESSIONS_MAX);
    if (!s)
        return rpc_session_open(client, path, &id, ret, err);
    *ret = s;
    return 0;
}

void rpc_client_begin_session(struct rpc_session *s)
{
    if (s->fd < 0 && !timer_is_armed(&s->timer))
        rpc_session_connect(s);
    if (rpc_session_settle(s))
        rpc_session_flush_later(s);
}

static int place_call(struct rpc_client *client, struct rpc_call *c, struct error *err)
{
    struct rpc_session *s = NULL;
    int r = rpc_client_session(client, c->socket, &s, err);

    if (r < 0)
        return r;
    if (s->calls_count >= RPC_CALLS_MAX)
        return error_set(err, ERR_UNAVAILABLE, "more than %d concurrent calls to '%s'", RPC_CALLS_MAX,
                         c->socket);
    if (!rpc_h2_submit(s, c)) {
        s->takes_calls = false; /* out of memory, or out of stream ids */
        (void)rpc_session_settle(s);
        return error_no_memory(err);
    }
    rpc_client_begin_session(s);
    return 0;
}

/* --- Delivery --- */

static void finish_call(struct rpc_client *client, struct rpc_call *c)
{
    struct rpc_call over = *c; /* done may free the call, or start it again */
    struct rpc_result result;
    struct error err = { 0 };

    timer_disarm(&c->limit);
    over.limit = (struct timer){ 0 };
    c->in = c->out = c->words = BUF_INIT(0);
    c->arena = ARENA_INIT(0);
    c->client = NULL;
    client->current = NULL;
    result = rpc_call_result(&over, &err);
    c->done(c, &result);
    rpc_call_release(&over);
}

/* Passes complete messages to their owner. False: the call has ended, or is held. */
static bool deliver_messages(struct rpc_client *client, struct rpc_call *c)
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
        if (client->current != c)
            return false;
    }
    rpc_call_drop_input(c, used);
    if (c->is_held)
        return false;
    if (frame == RPC_FRAME_TOO_LARGE || frame == RPC_FRAME_COMPRESSED) {
        c->is_closed = false; /* whatever its status is */
        end_call(c, frame == RPC_FRAME_TOO_LARGE ? RPC_RESOURCE_EXHAUSTED : RPC_UNAVAILABLE,
                 frame == RPC_FRAME_TOO_LARGE ? RPC_WORDS_TOO_LARGE : "the answer contains no valid message");
        drop_event(client, c);
        rpc_call_drop_input(c, c->in.len);
    }
    if (c->session) {
        rpc_h2_acknowledge(c);
        rpc_session_flush_later(c->session);
    }
    return true;
}

static void deliver_call(struct rpc_client *client, struct rpc_call *c)
{
    bool is_unseen =
        c->is_closed && c->reset == NGHTTP2_REFUSED_STREAM && c->http_status == 0 && c->status == UINT64_MAX;
    struct error err = { 0 };

    client->current = c;
    if (is_unseen && !c->is_retried) { /* retry once */
        c->is_retried = true;
        rpc_call_rewind(c);
        if (place_call(client, c, &err) < 0)
            end_call(c, RPC_UNAVAILABLE, err.msg);
    } else if ((!c->on_message || deliver_messages(client, c)) && c->is_closed) {
        finish_call(client, c);
    }
    client->current = NULL;
}

/* Only what is queued now: calls started by owners are reported in the next turn. */
static void client_on_deliver(void *ctx)
{
    struct rpc_client *client = ctx;
    struct rpc_call *c;

    for (size_t n = client->events_count; n > 0 && (c = TAILQ_FIRST(&client->events)); n--) {
        drop_event(client, c);
        deliver_call(client, c);
    }
    if (client->events_count > 0)
        loop_defer(&client->deliver);
}

/* --- Calls --- */

static void call_on_limit(void *ctx)
{
    end_call(ctx, RPC_DEADLINE_EXCEEDED, "context deadline exceeded");
}

int rpc_client_begin(struct rpc_client *client, struct rpc_call *c, struct error *err)
{
    int r;

    rpc_call_rewind(c);
    timer_init(&c->limit, client->loop, call_on_limit, c);
    c->client = client;
    r = place_call(client, c, err);
    if (r < 0)
        rpc_call_release(c);
    return r;
}

int rpc_call_start(struct rpc_client *client, const struct rpc_request *q, struct rpc_call *c,
                   struct error *err)
{
    int r;

    assert(c->done);
    assert(!client->is_closed);
    if (sys_here)
        return sys_here->calls->rpc_start(sys_here, client, q, c, err);
    r = rpc_call_prepare(c, q, err);
    if (r == 0)
        r = rpc_client_begin(client, c, err);
    if (r == 0 && q->limit_ns > 0)
        timer_arm_after(&c->limit, q->limit_ns);
    return r;
}

void rpc_call_cancel(struct rpc_call *c)
{
    struct rpc_client *client = c->client;

    if (!client)
        return;
    if (sys_here) {
        sys_here->calls->rpc_cancel(sys_here, c);
        return;
    }
    if (client->current == c)
        client->current = NULL;
    if (c->session)
        rpc_h2_reset(c);
    drop_event(client, c);
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
    struct rpc_client *client = calloc(1, sizeof *client);
    int r;

    if (!client)
        return error_no_memory(err);
    client->loop = l;
    TAILQ_INIT(&client->sessions);
    TAILQ_INIT(&client->events);
    TAILQ_INIT(&client->waiting);
    TAILQ_INIT(&client->submitted);
    deferred_init(&client->deliver, l, client_on_deliver, client);
    r = wakeup_new(l, rpc_wait_on_handed, client, &client->wakeup, err);
    if (r < 0) {
        free(client);
        return r;
    }
    (void)pthread_mutex_init(&client->lock, NULL); /* with default attributes it cannot fail on Linux */
    *ret = client;
    return 0;
}

void rpc_client_close(struct rpc_client *client)
{
    struct rpc_session *s;

    if (client->is_closed)
        return;
    rpc_wait_close(client);
    assert(TAILQ_EMPTY(&client->events)); /* otherwise a call was not cancelled by its owner */
    while ((s = TAILQ_FIRST(&client->sessions)))
        (void)rpc_session_free(s);
    loop_undefer(&client->deliver);
}

struct rpc_client *rpc_client_free(struct rpc_client *client)
{
    if (!client)
        return NULL;
    rpc_client_close(client);
    (void)pthread_mutex_destroy(&client->lock);
    free(client);
    return NULL;
}
