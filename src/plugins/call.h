/* A blocking slot of a plugin on the pool: begun on the loop, ended on the loop.
 *
 * The caller's function runs on a worker and calls the slot. The time limit counts from the beginning and
 * asks: it sets the env's stop, which plugins look at between steps and which ends the commands they run.
 * What hangs in the kernel is not over: its end comes when the kernel lets go of it, since until then it may
 * still act. */
#ifndef BERTH_PLUGINS_CALL_H
#define BERTH_PLUGINS_CALL_H

#include "plugins/plugin.h"

struct plugin_call;

/* On a worker. */
typedef int plugin_call_fn(struct plugin_call *c, const struct volume_env *env, struct error *err);

/* Embedded by its owner, zeroed; stays where it is until done. */
struct plugin_call {
    /* Once, on the loop, never from within plugin_call_begin(). May free the call. */
    void (*done)(struct plugin_call *c, int r, const struct error *err);

    /* The call's own. */
    plugin_call_fn *fn;
    const struct volume_plugin *plugin; /* a reference, until done */
    struct volume_env env;
    host_stop stop; /* 1: the limit, 2: plugin_call_stop() */
    struct loop *loop;
    struct pool *pool;
    struct pool_work pooled;
    struct deferred later; /* a failure that waits to be told */
    struct timer limit;
    uint64_t limit_ns;
    struct error err;
};

/* env's stop is the call's. limit_ns: 0 for none. What the function uses must live until done; plugin is
 * kept. */
void plugin_call_begin(struct loop *l, struct pool *pool, const struct volume_plugin *plugin,
                       const struct volume_env *env, plugin_call_fn *fn, uint64_t limit_ns,
                       struct plugin_call *c);

/* Asks it to end. Done comes as ever, with -ERR_CANCELLED if it never ran or heeded. */
void plugin_call_stop(struct plugin_call *c);

#endif
