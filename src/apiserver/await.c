/* Delays a call until the store has reached a revision. Costs one store watcher and one timer per waiting
 * call. */
#include "apiserver/await.h"

#include <inttypes.h>

#include "apiserver/server.h"
#include "store/store.h"

/* In the call's arena: freed with the call. */
struct revision_wait {
    struct call *call;
    int64_t revision;
    void (*then)(struct call *c);
    struct store_watcher watcher;
    struct timer deadline;
};

static void revision_wait_end(struct revision_wait *w)
{
    store_unwatch(w->call->server->store, &w->watcher);
    timer_disarm(&w->deadline);
}

static void on_event(void *ctx, const struct store_event *ev)
{
    (void)ctx;
    (void)ev; /* only the store's revision matters */
}

static void on_settled(void *ctx, int64_t revision)
{
    struct revision_wait *w = ctx;

    if (revision < w->revision)
        return;
    revision_wait_end(w);
    w->then(w->call);
}

static void on_deadline(void *ctx)
{
    static const struct status_cause cause = { .reason = "ResourceVersionTooLarge",
                                               .message = "Too large resource version" };
    struct revision_wait *w = ctx;
    struct error err;

    revision_wait_end(w);
    (void)error_set(&err, ERR_TIMEOUT, "Timeout: Too large resource version: %" PRId64 ", current: %" PRId64,
                    w->revision, store_revision(w->call->server->store));
    call_fail(w->call, &err,
              &(struct status_info){
                  .has_details = true, .causes = &cause, .causes_count = 1, .retry_after_seconds = 1 });
}

void await_revision(struct call *c, int64_t revision, void (*then)(struct call *c))
{
    struct apiserver *s = c->server;
    struct revision_wait *w;
    struct error err;

    if (revision <= store_revision(s->store)) {
        then(c);
        return;
    }
    w = arena_alloc(&c->arena, sizeof *w);
    if (!w) {
        (void)error_no_memory(&err);
        call_fail(c, &err, /* about= */ NULL);
        return;
    }
    *w = (struct revision_wait){ .call = c, .revision = revision, .then = then };
    store_watch(s->store, &w->watcher, KIND_COUNT, on_event, on_settled, w);
    timer_init(&w->deadline, s->loop, on_deadline, w);
    timer_arm_after(&w->deadline, AWAIT_REVISION_MS_MAX * NS_PER_MS);
}
