/* Calls of workers: submitted to the loop, awaited on a condition variable.
 *
 * A waiter is owned by the worker until it is submitted, and by the loop after that, until one of two things
 * happens: the answer arrives, then the worker owns it again; or the worker abandons it, then the loop frees
 * it. So a worker never waits longer than its limit or its stop flag allows, even if the loop is blocked. */
#include "rpc/rpc_int.h"

#include <assert.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "io/clock.h"
#include "io/sys.h"

struct rpc_waiter {
    struct rpc_client *client;
    struct rpc_call call; /* owned by the loop while submitted */
    TAILQ_ENTRY(rpc_waiter) submitted;
    TAILQ_ENTRY(rpc_waiter) waiting;
    uint64_t began_ns;
    char note[RPC_NOTE_BYTES]; /* "": not observed */
    char method[RPC_NOTE_BYTES];

    /* Guarded by the client's lock. */
    pthread_cond_t changed;
    bool is_submitted; /* in the client's list */
    bool is_abandoned; /* the worker has left */
    bool is_over;      /* owned by the worker again */
    enum rpc_code code;
    struct buf answer;
    struct error err;
};

static void waiter_free(struct rpc_waiter *w)
{
    (void)pthread_cond_destroy(&w->changed);
    buf_done(&w->answer);
    free(w);
}

/* --- On the loop --- */

void rpc_client_observe(struct rpc_client *client, void (*fn)(void *ctx, const struct rpc_observed *o),
                        void *ctx)
{
    client->observe = fn;
    client->observe_ctx = ctx;
}

static void observe_end(const struct rpc_waiter *w, enum rpc_code code)
{
    const struct rpc_observed observed = { .note = w->note,
                                           .method = w->method,
                                           .code = code,
                                           .duration_ns = clock_mono_ns(clock_system()) - w->began_ns };

    if (w->client->observe && w->note[0])
        w->client->observe(w->client->observe_ctx, &observed);
}

/* Returns the waiter to the worker, unless it has left: then frees it. */
static void waiter_end(struct rpc_waiter *w, enum rpc_code code, struct str answer, const struct error *err)
{
    struct rpc_client *client = w->client;

    TAILQ_REMOVE(&client->waiting, w, waiting);
    observe_end(w, code);
    pthread_mutex_lock(&client->lock);
    w->code = code;
    w->err = *err;
    buf_add_str(&w->answer, answer);
    w->is_over = true;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&client->lock);
}

static void waiter_on_done(struct rpc_call *c, const struct rpc_result *result)
{
    waiter_end(CONTAINER_OF(c, struct rpc_waiter, call), result->code, result->message, result->err);
}

/* NULL when the list is empty. */
static struct rpc_waiter *take_submitted(struct rpc_client *client, bool *ret_is_abandoned)
{
    struct rpc_waiter *w;

    pthread_mutex_lock(&client->lock);
    w = TAILQ_FIRST(&client->submitted);
    if (w) {
        TAILQ_REMOVE(&client->submitted, w, submitted);
        w->is_submitted = false;
        *ret_is_abandoned = w->is_abandoned;
    }
    pthread_mutex_unlock(&client->lock);
    return w;
}

void rpc_wait_on_handed(void *ctx)
{
    struct rpc_client *client = ctx;
    struct rpc_waiter *w;
    bool is_abandoned = false;

    while ((w = take_submitted(client, &is_abandoned))) {
        struct error err = { 0 };

        if (!is_abandoned) {
            TAILQ_INSERT_TAIL(&client->waiting, w, waiting);
            if (rpc_client_begin(client, &w->call, &err) < 0)
                waiter_end(w, RPC_UNAVAILABLE, STR_LIT(""), &err);
            continue;
        }
        /* The worker has left: the answer is not needed. */
        if (rpc_call_is_active(&w->call)) {
            TAILQ_REMOVE(&client->waiting, w, waiting);
            observe_end(w, w->code); /* of the worker, which no longer changes it */
            rpc_call_cancel(&w->call);
        } else if (!w->is_over) {
            rpc_call_release(&w->call); /* never started */
        }
        waiter_free(w);
    }
}

void rpc_wait_close(struct rpc_client *client)
{
    struct rpc_waiter *w;
    struct error err = { 0 };

    pthread_mutex_lock(&client->lock);
    client->is_closed = true; /* from here on no worker sends a wake-up */
    pthread_mutex_unlock(&client->lock);
    rpc_wait_on_handed(client);
    (void)rpc_failure(RPC_CANCELLED, "context canceled", &err);
    while ((w = TAILQ_FIRST(&client->waiting))) {
        rpc_call_cancel(&w->call);
        waiter_end(w, RPC_CANCELLED, STR_LIT(""), &err);
    }
    client->wakeup = wakeup_free(client->wakeup);
}

/* --- On the worker --- */

static struct rpc_waiter *waiter_new(struct rpc_client *client)
{
    struct rpc_waiter *w = calloc(1, sizeof *w);
    pthread_condattr_t attributes;

    if (!w)
        return NULL;
    w->client = client;
    w->call.done = waiter_on_done;
    w->answer = BUF_INIT(RPC_MESSAGE_BYTES_MAX);
    (void)pthread_condattr_init(&attributes); /* cannot fail on Linux */
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&w->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    return w;
}

/* Under the lock. RPC_OK: the worker may continue to wait. */
static enum rpc_code check_wait(const struct rpc_client *client, uint64_t until_ns, const atomic_int *stop)
{
    if (client->is_closed || (stop && atomic_load(stop) != 0))
        return RPC_CANCELLED;
    return clock_mono_ns(clock_system()) >= until_ns ? RPC_DEADLINE_EXCEEDED : RPC_OK;
}

/* Under the lock, which it releases meanwhile. Waits for a change, or until stop must be polled. */
static void wait_for_change(struct rpc_waiter *w, uint64_t until_ns, bool has_stop)
{
    uint64_t look_ns = clock_mono_ns(clock_system()) + RPC_STOP_POLL_MS * NS_PER_MS;
    uint64_t at_ns = has_stop && look_ns < until_ns ? look_ns : until_ns;
    struct timespec at = { (time_t)(at_ns / NS_PER_S), (long)(at_ns % NS_PER_S) };

    if (at_ns == UINT64_MAX)
        (void)pthread_cond_wait(&w->changed, &w->client->lock);
    else
        (void)pthread_cond_timedwait(&w->changed, &w->client->lock, &at);
}

/* Under the lock. */
static void submit_waiter(struct rpc_waiter *w)
{
    if (!w->is_submitted) {
        w->is_submitted = true;
        TAILQ_INSERT_TAIL(&w->client->submitted, w, submitted);
        wakeup_send(w->client->wakeup);
    }
}

/* RPC_OK: the call has ended. Else why the worker stopped waiting; then the worker no longer owns w. */
static enum rpc_code await_answer(struct rpc_waiter *w, uint64_t until_ns, const atomic_int *stop)
{
    struct rpc_client *client = w->client;
    enum rpc_code code;

    pthread_mutex_lock(&client->lock);
    code = check_wait(client, until_ns, stop);
    if (code != RPC_OK) { /* never submitted */
        pthread_mutex_unlock(&client->lock);
        rpc_call_release(&w->call);
        waiter_free(w);
        return code;
    }
    submit_waiter(w);
    while (!w->is_over && (client->is_closed || (code = check_wait(client, until_ns, stop)) == RPC_OK))
        wait_for_change(w, until_ns, stop != NULL);
    if (w->is_over) {
        code = RPC_OK;
    } else {
        w->is_abandoned = true;
        w->code = code;
        submit_waiter(w);
    }
    pthread_mutex_unlock(&client->lock);
    return code;
}

int rpc_wait(struct rpc_client *client, const struct rpc_request *q, const atomic_int *stop, struct buf *ret,
             enum rpc_code *ret_code, struct error *err)
{
    uint64_t now_ns = clock_mono_ns(clock_system());
    uint64_t until_ns = q->limit_ns && q->limit_ns < UINT64_MAX - now_ns ? now_ns + q->limit_ns : UINT64_MAX;
    struct rpc_waiter *w;
    unsigned code = RPC_UNAVAILABLE;
    int r = 0;

    if (sys_here) {
        r = sys_here->calls->rpc_wait(sys_here, client, q, stop, ret, &code, err);
        *ret_code = (enum rpc_code)code;
        return r;
    }
    assert(!loop_is_own_thread(client->loop));
    *ret_code = RPC_UNAVAILABLE;
    w = waiter_new(client);
    if (!w)
        return error_no_memory(err);
    w->began_ns = now_ns;
    (void)snprintf(w->note, sizeof w->note, "%s", q->note ? q->note : "");
    (void)snprintf(w->method, sizeof w->method, "%s", q->method);
    r = rpc_call_prepare(&w->call, q, err);
    if (r < 0) {
        waiter_free(w);
        return r;
    }
    *ret_code = await_answer(w, until_ns, stop);
    if (*ret_code == RPC_CANCELLED)
        return rpc_failure(RPC_CANCELLED, "context canceled", err);
    if (*ret_code == RPC_DEADLINE_EXCEEDED)
        return rpc_failure(RPC_DEADLINE_EXCEEDED, "context deadline exceeded", err);
    *ret_code = w->code;
    if (w->err.code != ERR_NONE) {
        *err = w->err;
        r = -(int)err->code;
    } else {
        buf_clear(ret);
        ret->len_max = RPC_MESSAGE_BYTES_MAX;
        buf_add_str(ret, buf_str(&w->answer));
        r = buf_check(&w->answer, "the answer", err);
        if (r == 0)
            r = buf_check(ret, "the answer", err);
    }
    waiter_free(w);
    return r;
}
