/* Runs the duties of the server: passes every commit to them, and sends their calls with a limit per duty.
 *
 * At the start every stored object is passed to every duty once. Costs one function call per duty and commit.
 */
#include "apiserver/duties.h"

#include <stdlib.h>

#include "apiserver/own_call.h"

static const struct duty *const all_duties[] = {
    &duty_accounts, &duty_expiry,  &duty_garbage,      &duty_namespaces,
    &duty_pods,     &duty_root_ca, &duty_self_service,
};
#define DUTIES_COUNT (sizeof all_duties / sizeof *all_duties)

struct duties {
    struct apiserver *server;
    struct store_watcher watcher;
    struct duty_base *items[DUTIES_COUNT];
    bool is_watching;
};

static void duties_observe(void *ctx, const struct store_event *ev)
{
    struct duties *d = ctx;

    for (size_t i = 0; i < DUTIES_COUNT; i++)
        all_duties[i]->observe(d->items[i], ev);
}

static int observe_kind(struct duties *d, enum kind k, struct error *err)
{
    struct store_iter it;
    const struct object *o;
    int r = store_iter_begin(&it, d->server->store, k, NULL, STR_LIT(""), STR_LIT(""), 0, err);

    if (r < 0)
        return r;
    while ((o = store_iter_next(&it)))
        duties_observe(d, &(struct store_event){ .object = o, .revision = o->revision });
    store_iter_done(&it);
    return 0;
}

static int duty_start(struct apiserver *s, const struct duty *duty, struct duty_base **ret, struct error *err)
{
    struct duty_base *b = calloc(1, duty->bytes);
    int r = b ? duty_calls_new(s, duty->answered, b, &b->calls, err) : error_no_memory(err);

    if (r < 0) {
        free(b);
        return r;
    }
    b->server = s;
    deferred_init(&b->reconcile, s->loop, duty->reconcile, b);
    timer_init(&b->timer, s->loop, duty->reconcile, b);
    if (duty->init)
        duty->init(b);
    *ret = b;
    return 0;
}

static void duty_stop(const struct duty *duty, struct duty_base *b)
{
    loop_undefer(&b->reconcile);
    timer_disarm(&b->timer);
    (void)duty_calls_free(b->calls);
    if (duty->done)
        duty->done(b);
    free(b);
}

int duties_new(struct apiserver *s, struct duties **ret, struct error *err)
{
    struct duties *d = calloc(1, sizeof *d);
    int r = 0;

    if (!d)
        return error_no_memory(err);
    d->server = s;
    for (size_t i = 0; i < DUTIES_COUNT && r == 0; i++)
        r = duty_start(s, all_duties[i], &d->items[i], err);
    for (int k = 0; k < KIND_COUNT && r == 0; k++) {
        if (k != KIND_EVENT_V1) /* stored as KIND_EVENT */
            r = observe_kind(d, (enum kind)k, err);
    }
    if (r < 0) {
        (void)duties_free(d);
        return r;
    }
    store_watch(s->store, &d->watcher, KIND_COUNT, duties_observe, NULL, d);
    d->is_watching = true;
    *ret = d;
    return 0;
}

int duties_rescan(struct duties *d, enum kind k, struct error *err)
{
    return d->is_watching ? observe_kind(d, k, err) : 0;
}

void duties_stop(struct duties *d)
{
    if (d->is_watching)
        store_unwatch(d->server->store, &d->watcher);
    d->is_watching = false;
    for (size_t i = 0; i < DUTIES_COUNT; i++) {
        if (d->items[i])
            duty_stop(all_duties[i], d->items[i]);
        d->items[i] = NULL;
    }
}

struct duties *duties_free(struct duties *d)
{
    if (!d)
        return NULL;
    duties_stop(d);
    free(d);
    return NULL;
}

void object_path(const struct object *o, struct buf *out)
{
    const struct kind_info *k = o->kind;

    buf_addf(out, "/%s%s/%s", k->group[0] ? "apis/" : "api", k->group, k->version);
    if (o->ns[0])
        buf_addf(out, "/namespaces/%s", o->ns);
    buf_addf(out, "/%s/%s", k->plural, o->name);
}

#define DUTY_PAUSE_NS NS_PER_S

struct duty_calls {
    struct apiserver *server;
    loop_fn then; /* NULL when the duty was freed */
    void *ctx;
    unsigned in_flight;
    bool have_failed;
    struct deferred end;
    struct timer pause;
};

static void duty_calls_end(void *ctx)
{
    struct duty_calls *q = ctx;

    if (q->in_flight == 0)
        q->then(q->ctx);
}

int duty_calls_new(struct apiserver *s, loop_fn then, void *ctx, struct duty_calls **ret, struct error *err)
{
    struct duty_calls *q = calloc(1, sizeof *q);

    if (!q)
        return error_no_memory(err);
    q->server = s;
    q->then = then;
    q->ctx = ctx;
    deferred_init(&q->end, s->loop, duty_calls_end, q);
    timer_init(&q->pause, s->loop, duty_calls_end, q);
    *ret = q;
    return 0;
}

struct duty_calls *duty_calls_free(struct duty_calls *q)
{
    if (!q)
        return NULL;
    loop_undefer(&q->end);
    timer_disarm(&q->pause);
    q->then = NULL;
    if (q->in_flight == 0)
        free(q);
    return NULL;
}

bool duty_calls_are_full(const struct duty_calls *q)
{
    return q->in_flight >= DUTY_CALLS_MAX;
}

bool duty_calls_are_busy(const struct duty_calls *q)
{
    return q->in_flight > 0 || timer_is_armed(&q->pause);
}

bool duty_calls_have_failed(const struct duty_calls *q)
{
    return q->have_failed;
}

static void duty_call_answered(void *ctx, const struct call *answered)
{
    struct duty_calls *q = ctx;

    q->have_failed = q->have_failed || answered->status >= 500;
    q->in_flight--;
    if (q->in_flight)
        return;
    if (!q->then)
        free(q);
    else if (q->have_failed)
        timer_arm_after(&q->pause, DUTY_PAUSE_NS);
    else
        loop_defer(&q->end);
}

void duty_calls_send(struct duty_calls *q, enum http_method method, const char *content_type,
                     struct str target, struct str body)
{
    if (q->in_flight++ == 0)
        q->have_failed = false; /* a new round begins */
    own_call(q->server,
             &(struct own_request){
                 .method = method, .content_type = content_type, .target = target, .body = body },
             duty_call_answered, q);
}
