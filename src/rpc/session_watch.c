/* Watches of sessions: they keep an idle session open and report its end to their owners.
 *
 * Invariant: a watch is in the list of its session, or its end is deferred. */
#include "rpc/rpc_int.h"

#include <assert.h>

#include "io/sys.h"

static void watch_on_end(void *ctx)
{
    struct rpc_watch *w = ctx;
    struct error why = w->why; /* the owner may be freed */

    w->client = NULL;
    w->ended(w, why.msg);
}

void rpc_watches_end(struct rpc_session *s, const char *why)
{
    struct rpc_watch *w;

    while ((w = TAILQ_FIRST(&s->watches))) {
        TAILQ_REMOVE(&s->watches, w, link);
        w->session = NULL;
        (void)error_set(&w->why, ERR_UNAVAILABLE, "%s", why);
        loop_defer(&w->end);
    }
}

int rpc_watch_start(struct rpc_client *client, const char *socket, struct rpc_watch *w, struct error *err)
{
    struct rpc_session *s = NULL;
    int r;

    assert(w->ended && !w->client && !client->is_closed);
    if (sys_here)
        return sys_here->calls->rpc_watch(sys_here, client, socket, w, err);
    r = rpc_client_session(client, socket, &s, err);
    if (r < 0)
        return r;
    deferred_init(&w->end, client->loop, watch_on_end, w);
    w->client = client;
    w->session = s;
    TAILQ_INSERT_TAIL(&s->watches, w, link);
    rpc_client_begin_session(s);
    return 0;
}

void rpc_watch_stop(struct rpc_watch *w)
{
    struct rpc_session *s = w->session;

    if (!w->client)
        return;
    if (sys_here) {
        sys_here->calls->rpc_unwatch(sys_here, w);
        return;
    }
    loop_undefer(&w->end);
    w->client = NULL;
    w->session = NULL;
    if (!s)
        return;
    TAILQ_REMOVE(&s->watches, w, link);
    (void)rpc_session_settle(s);
}
