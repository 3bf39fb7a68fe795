#include "plugins/call.h"

#include <assert.h>
#include <inttypes.h>

#define STOP_LIMIT_OVER 1
#define STOP_ASKED 2

static int call_run(void *ctx)
{
    struct plugin_call *c = ctx;

    return c->fn(c, &c->env, &c->err);
}

static void call_end(struct plugin_call *c, int r)
{
    struct error err;

    timer_disarm(&c->limit);
    if (r < 0 && atomic_load(&c->stop) == STOP_LIMIT_OVER)
        r = error_set(&c->err, ERR_TIMEOUT, "not done within %" PRIu64 " s", c->limit_ns / NS_PER_S);
    else if (r == -ERR_CANCELLED && c->err.code == ERR_NONE)
        r = error_set(&c->err, ERR_CANCELLED, "stopped before it began");
    c->plugin = plugin_unref(c->plugin);
    err = c->err;
    c->done(c, r, &err);
}

static void call_on_pool_done(void *ctx, int result)
{
    call_end(ctx, result);
}

static void call_on_failure(void *ctx)
{
    struct plugin_call *c = ctx;

    call_end(c, -(int)c->err.code);
}

static void call_stop(struct plugin_call *c, int why)
{
    int none = 0;

    (void)atomic_compare_exchange_strong(&c->stop, &none, why);
    (void)pool_cancel(c->pool, &c->pooled); /* what runs sees stop */
}

static void call_on_limit(void *ctx)
{
    call_stop(ctx, STOP_LIMIT_OVER);
}

void plugin_call_begin(struct loop *l, struct pool *pool, const struct volume_plugin *plugin,
                       const struct volume_env *env, plugin_call_fn *fn, uint64_t limit_ns,
                       struct plugin_call *c)
{
    assert(c->done);
    c->fn = fn;
    c->plugin = plugin_ref(plugin);
    c->loop = l;
    c->pool = pool;
    c->limit_ns = limit_ns;
    c->err = (struct error){ 0 };
    atomic_store(&c->stop, 0);
    c->env = *env;
    c->env.stop = &c->stop;
    c->env.tools.stop = &c->stop;
    timer_init(&c->limit, l, call_on_limit, c);
    deferred_init(&c->later, l, call_on_failure, c);
    if (pool_submit(pool, &c->pooled, call_run, call_on_pool_done, c, &c->err) < 0)
        loop_defer(&c->later);
    else if (limit_ns > 0)
        timer_arm_after(&c->limit, limit_ns);
}

void plugin_call_stop(struct plugin_call *c)
{
    call_stop(c, STOP_ASKED);
}
