/* Calls of workers: handed to the loop, awaited on a condition.
 *
 * A waiter belongs to the worker until it is handed over, and to whoever finds it in the end: to the worker
 * when the answer has come, to the loop when the worker has given up. So a worker never waits for the loop
 * longer than its limit or its stop word says, and may leave while the loop stands still. */
#include "rpc/rpc_int.h"

#include <assert.h>
#include <time.h>

#include "base/clock.h"
#include "io/clock.h"

struct rpc_waiter {
    struct rpc_client *client;
    struct rpc_call call; /* the loop's while it is handed over */
    TAILQ_ENTRY(rpc_waiter) handed;
    TAILQ_ENTRY(rpc_waiter) waiting;

    /* The client's lock guards the rest. */
    pthread_cond_t changed;
    bool is_handed;   /* in the list of the client */
    bool is_given_up; /* the worker has left */
    bool is_over;     /* the worker's again */
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

/* The worker's from here on, unless it has left: then it has handed the waiter back. */
static void waiter_end(struct rpc_waiter *w, enum rpc_code code, struct str answer, const struct error *err)
{
    struct rpc_client *x = w->client;

    TAILQ_REMOVE(&x->waiting, w, waiting);
    pthread_mutex_lock(&x->lock);
    w->code = code;
    w->err = *err;
    buf_add_str(&w->answer, answer);
    w->is_over = true;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&x->lock);
}

static void waiter_on_done(struct rpc_call *c, const struct rpc_result *result)
{
    waiter_end(CONTAINER_OF(c, struct rpc_waiter, call), result->code, result->message, result->err);
}

static void waiter_begin(struct rpc_waiter *w)
{
    struct error err = { 0 };

    TAILQ_INSERT_TAIL(&w->client->waiting, w, waiting);
    if (rpc_client_begin(w->client, &w->call, &err) < 0)
        waiter_end(w, RPC_UNAVAILABLE, STR_LIT(""), &err);
}

/* NULL when there is none. */
static struct rpc_waiter *take_handed(struct rpc_client *x, bool *ret_is_given_up)
{
    struct rpc_waiter *w;

    pthread_mutex_lock(&x->lock);
    w = TAILQ_FIRST(&x->handed);
    if (w) {
        TAILQ_REMOVE(&x->handed, w, handed);
        w->is_handed = false;
        *ret_is_given_up = w->is_given_up;
    }
    pthread_mutex_unlock(&x->lock);
    return w;
}

/* The worker has left: nobody wants the answer. */
static void waiter_discard(struct rpc_waiter *w)
{
    if (rpc_call_is_active(&w->call)) {
        TAILQ_REMOVE(&w->client->waiting, w, waiting);
        rpc_call_cancel(&w->call);
    } else if (!w->is_over) {
        rpc_call_release(&w->call); /* never begun */
    }
    waiter_free(w);
}

void rpc_wait_on_handed(void *ctx)
{
    struct rpc_client *x = ctx;
    struct rpc_waiter *w;
    bool is_given_up = false;

    while ((w = take_handed(x, &is_given_up))) {
        if (is_given_up)
            waiter_discard(w);
        else
            waiter_begin(w);
    }
}

void rpc_wait_close(struct rpc_client *x)
{
    struct rpc_waiter *w;
    struct error err = { 0 };

    pthread_mutex_lock(&x->lock);
    x->is_closed = true; /* no worker sends a wake-up from here on */
    pthread_mutex_unlock(&x->lock);
    rpc_wait_on_handed(x);
    (void)rpc_failure(RPC_CANCELLED, "context canceled", &err);
    while ((w = TAILQ_FIRST(&x->waiting))) {
        rpc_call_cancel(&w->call);
        waiter_end(w, RPC_CANCELLED, STR_LIT(""), &err);
    }
    x->wakeup = wakeup_free(x->wakeup);
}

/* --- On the worker --- */

static struct rpc_waiter *waiter_new(struct rpc_client *x)
{
    struct rpc_waiter *w = calloc(1, sizeof *w);
    pthread_condattr_t attributes;

    if (!w)
        return NULL;
    w->client = x;
    w->call.done = waiter_on_done;
    w->answer = BUF_INIT(RPC_MESSAGE_BYTES_MAX);
    (void)pthread_condattr_init(&attributes); /* these cannot fail on Linux */
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&w->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    return w;
}

/* Under the lock. RPC_OK: nothing keeps the worker from waiting on. */
static enum rpc_code check_patience(const struct rpc_client *x, uint64_t until_ns, const atomic_int *stop)
{
    if (x->is_closed || (stop && atomic_load(stop) != 0))
        return RPC_CANCELLED;
    return clock_mono_ns(clock_system()) >= until_ns ? RPC_DEADLINE_EXCEEDED : RPC_OK;
}

/* Under the lock, which it gives back meanwhile. Until something changes, or the next look. */
static void sleep_a_while(struct rpc_waiter *w, uint64_t until_ns, bool has_stop)
{
    uint64_t look_ns = clock_mono_ns(clock_system()) + RPC_STOP_LOOK_MS * NS_PER_MS;
    uint64_t at_ns = has_stop && look_ns < until_ns ? look_ns : until_ns;
    struct timespec at = { (time_t)(at_ns / NS_PER_S), (long)(at_ns % NS_PER_S) };

    if (at_ns == UINT64_MAX)
        (void)pthread_cond_wait(&w->changed, &w->client->lock);
    else
        (void)pthread_cond_timedwait(&w->changed, &w->client->lock, &at);
}

/* Under the lock. */
static void hand_over(struct rpc_waiter *w)
{
    if (!w->is_handed) {
        w->is_handed = true;
        TAILQ_INSERT_TAIL(&w->client->handed, w, handed);
        wakeup_send(w->client->wakeup);
    }
}

/* RPC_OK: w is over. Else why the worker did not wait for that; w is not the worker's any more. */
static enum rpc_code await(struct rpc_waiter *w, uint64_t until_ns, const atomic_int *stop)
{
    struct rpc_client *x = w->client;
    enum rpc_code code;

    pthread_mutex_lock(&x->lock);
    code = check_patience(x, until_ns, stop);
    if (code != RPC_OK) { /* never handed over */
        pthread_mutex_unlock(&x->lock);
        rpc_call_release(&w->call);
        waiter_free(w);
        return code;
    }
    hand_over(w);
    while (!w->is_over && (x->is_closed || (code = check_patience(x, until_ns, stop)) == RPC_OK))
        sleep_a_while(w, until_ns, stop != NULL);
    if (w->is_over) {
        code = RPC_OK;
    } else {
        w->is_given_up = true;
        hand_over(w);
    }
    pthread_mutex_unlock(&x->lock);
    return code;
}

int rpc_wait(struct rpc_client *x, const struct rpc_request *q, const atomic_int *stop, struct buf *ret,
             enum rpc_code *ret_code, struct error *err)
{
    uint64_t now_ns = clock_mono_ns(clock_system());
    uint64_t until_ns = q->limit_ns && q->limit_ns < UINT64_MAX - now_ns ? now_ns + q->limit_ns : UINT64_MAX;
    struct rpc_waiter *w;
    int r = 0;

    assert(!loop_is_own_thread(x->loop));
    *ret_code = RPC_UNAVAILABLE;
    w = waiter_new(x);
    if (!w)
        return error_no_memory(err);
    r = rpc_call_prepare(&w->call, q, err);
    if (r < 0) {
        waiter_free(w);
        return r;
    }
    *ret_code = await(w, until_ns, stop);
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
