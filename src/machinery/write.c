/* One loop for all three: [read] → decide → send → (again | end). A try is a write that was sent; reads are
 * free. What is told at the end is the answer to the last request, whichever it was; doubt that no read has
 * cleared goes with it. */
#include "machinery/write.h"

#include <assert.h>

#include "client/request.h"

static const struct {
    unsigned tries_max;
    uint64_t delay_ns;
    uint64_t factor; /* from one delay to the next */
    unsigned jitter_percent;
} patience_table[] = {
    [WRITE_FEW_FAST] = { 5, 10 * NS_PER_MS, 1, 10 },
    [WRITE_BACKOFF] = { 4, 10 * NS_PER_MS, 5, 0 },
};
static_assert(ARRAY_LEN(patience_table) == WRITE_PATIENCE_COUNT, "say how for each");

static void on_written(void *ctx, const struct client_answer *a);
static void on_read(void *ctx, const struct client_answer *a);

/* --- The end --- */

static void write_let_go(struct write *w)
{
    client_cancel(&w->call);
    timer_disarm(&w->timer);
    buf_done(&w->body);
    arena_done(&w->arena);
    *w = (struct write){ 0 };
}

/* The write may be gone when this returns. */
static void write_end(struct write *w, const struct client_answer *a)
{
    client_done_fn *done = w->o.done;
    void *ctx = w->o.ctx;
    struct client_answer doubtful;

    if (w->is_uncertain && a->r < 0 && !a->may_have_happened) {
        doubtful = *a;
        doubtful.may_have_happened = true;
        a = &doubtful;
    }
    write_let_go(w);
    done(ctx, a);
}

static void write_fail(struct write *w, const struct error *e)
{
    struct client_answer a = request_failed(e);

    write_end(w, &a);
}

/* Nothing had to be done, or nothing more. */
static void write_succeed(struct write *w, const struct object *now)
{
    struct client_answer a = request_failed(&(struct error){ .code = ERR_NONE });

    a.object = now ? object_ref(now) : NULL;
    write_end(w, &a);
    object_unref(a.object);
}

/* --- One round --- */

static void send_body(struct write *w)
{
    w->tries++;
    w->o.request.body = buf_str(&w->body);
    client_send(w->o.client, &w->call, &w->o.request, on_written, w);
}

static void decide(struct write *w, const struct object *now)
{
    struct error e = { .code = ERR_INTERNAL };

    buf_clear(&w->body);
    switch (w->o.decide(w->o.ctx, now, &w->body, &e)) {
    case WRITE_SEND:
        if (buf_check(&w->body, "body", &e) < 0)
            write_fail(w, &e);
        else
            send_body(w);
        break;
    case WRITE_ALREADY:
        write_succeed(w, now);
        break;
    case WRITE_REFUSE:
        write_fail(w, &e);
        break;
    }
}

/* Is the object that was to be deleted still to be? */
static void decide_delete(struct write *w, const struct object *now)
{
    const struct client_request *q = &w->o.request;

    if (!now || now->is_deleting || (q->if_uid && strcmp(now->uid, q->if_uid) != 0))
        write_succeed(w, NULL);
    else
        send_body(w);
}

static void send_read(struct write *w)
{
    const struct client_request *q = &w->o.request;
    /* Without a version: what the server knows, not what it remembers. */
    struct client_request get = { .verb = CLIENT_GET, .kind = q->kind, .ns = q->ns, .name = q->name };

    client_send(w->o.client, &w->call, &get, on_read, w);
}

static void on_read(void *ctx, const struct client_answer *a)
{
    struct write *w = ctx;
    bool is_patch = w->o.request.verb == CLIENT_PATCH;

    assert(a->r < 0 || a->object);
    if (a->r < 0 && (a->r != -ERR_NOT_FOUND || is_patch)) {
        if (a->r == -ERR_NOT_FOUND)
            w->is_uncertain = false; /* nothing is left that could have been changed */
        write_end(w, a);
        return;
    }
    w->is_uncertain = false;
    w->wants_read = false;
    if (w->o.request.verb == CLIENT_DELETE)
        decide_delete(w, a->r == 0 ? a->object : NULL);
    else
        decide(w, a->r == 0 ? a->object : NULL);
}

static void on_round(void *ctx)
{
    struct write *w = ctx;
    struct error e;

    if (w->failed) {
        (void)error_set(&e, w->failed, "the request cannot be kept");
        write_fail(w, &e);
    } else if (w->wants_read) {
        send_read(w);
    } else if (w->o.request.verb == CLIENT_DELETE) {
        send_body(w);
    } else {
        decide(w, /* now= */ NULL);
    }
}

/* --- After a write --- */

/* Does looking again promise more than the answer says? */
static bool wants_another_round(const struct write *w, const struct client_answer *a)
{
    const struct client_request *q = &w->o.request;

    if (a->r == 0 || w->tries >= patience_table[w->o.patience].tries_max)
        return false;
    if (a->may_have_happened)
        return !w->had_doubt;
    switch (q->verb) {
    case CLIENT_PATCH:
        return client_is_conflict(a);
    case CLIENT_CREATE:
        return a->r == -ERR_EXISTS;
    case CLIENT_DELETE:
        /* Of an object that has changed, its owner must say whether it is still to go. */
        return client_is_conflict(a) && !q->if_version;
    case CLIENT_GET:
    case CLIENT_LIST:
    case CLIENT_WATCH:
    case CLIENT_RAW:
    case CLIENT_VERB_COUNT:
        break;
    }
    return false;
}

static uint64_t next_delay_ns(struct write *w)
{
    uint64_t delay_ns = patience_table[w->o.patience].delay_ns;
    uint64_t spread_ns = delay_ns * patience_table[w->o.patience].jitter_percent / 100;

    for (unsigned n = 1; n < w->tries; n++)
        delay_ns *= patience_table[w->o.patience].factor;
    return delay_ns - spread_ns + (spread_ns ? rng_below(w->o.rng, 2 * spread_ns + 1) : 0);
}

static void on_written(void *ctx, const struct client_answer *a)
{
    struct write *w = ctx;

    bool goes_on = wants_another_round(w, a);

    if (a->may_have_happened) {
        w->is_uncertain = true;
        w->had_doubt = true;
    }
    if (goes_on) {
        w->wants_read = true;
        timer_arm_after(&w->timer, next_delay_ns(w));
    } else if (w->o.request.verb == CLIENT_DELETE && a->r == -ERR_NOT_FOUND) {
        write_succeed(w, NULL);
    } else {
        write_end(w, a);
    }
}

/* --- What owners call --- */

void write_start(struct write *w, const struct write_options *o)
{
    struct error e;

    assert(!write_is_active(w));
    assert(request_is_write(&o->request));
    assert(o->request.name);
    if (o->request.verb == CLIENT_DELETE)
        assert(o->request.if_uid);
    else
        assert(o->decide);
    *w = (struct write){ .o = *o, .arena = ARENA_INIT(CLIENT_REQUEST_BYTES_MAX) };
    w->o.request.body = (struct str){ 0 };
    buf_init(&w->body, WRITE_BODY_BYTES_MAX);
    timer_init(&w->timer, o->loop, on_round, w);
    w->wants_read = o->request.verb == CLIENT_PATCH;
    if (request_own_texts(&w->o.request, &w->arena, &e) < 0)
        w->failed = e.code;
    timer_arm_after(&w->timer, 0);
}

void write_cancel(struct write *w)
{
    if (write_is_active(w))
        write_let_go(w);
}

/* --- Before what cannot be undone --- */

enum live write_live_of(const struct client_answer *a, const char *uid)
{
    if (a->r == -ERR_NOT_FOUND)
        return LIVE_GONE;
    if (a->r < 0 || !a->object)
        return LIVE_UNKNOWN;
    return strcmp(a->object->uid, uid) == 0 ? LIVE_THERE : LIVE_GONE;
}
