/* The queue of notices to handlers. It is delivered by the outermost caller, so that handlers may change the
 * cache. */
#include "machinery/notices.h"

#include <assert.h>

/* A queue that grew beyond this, for a large list, is freed after use. */
#define NOTICES_KEPT_MAX 1024

void notices_init(struct notices *n)
{
    TAILQ_INIT(&n->handlers);
}

void notices_done(struct notices *n)
{
    assert(!n->is_delivering);
    assert(TAILQ_EMPTY(&n->handlers));
    notices_cut(n, 0);
    vec_done(&n->queue);
}

/* --- The queue --- */

static void notice_done(struct notice *what)
{
    object_unref(what->old);
    object_unref(what->object);
}

int notices_reserve(struct notices *n, size_t count, struct error *err)
{
    return vec_reserve(&n->queue, count) < 0 ? error_no_memory(err) : 0;
}

void notices_add(struct notices *n, struct notice what, const struct object *old, const struct object *o)
{
    assert(n->queue.count < n->queue.cap);
    what.number = notices_next_number(n);
    what.old = old ? object_ref(old) : NULL;
    what.object = o ? object_ref(o) : NULL;
    n->queue.items[n->queue.count++] = what;
}

void notices_cut(struct notices *n, size_t at)
{
    assert(at >= n->at);
    while (n->queue.count > at)
        notice_done(&n->queue.items[--n->queue.count]);
}

/* --- Delivery --- */

static void handler_notify(const struct informer_handler *h, const struct notice *what)
{
    switch (what->type) {
    case NOTICE_ADD:
        if (h->on_add)
            h->on_add(h->ctx, what->object, what->flag);
        else if (h->on_upsert)
            h->on_upsert(h->ctx, what->object);
        break;
    case NOTICE_UPDATE:
        if (h->on_update)
            h->on_update(h->ctx, what->old, what->object);
        else if (h->on_upsert)
            h->on_upsert(h->ctx, what->object);
        break;
    case NOTICE_DELETE:
        if (h->on_delete)
            h->on_delete(h->ctx, what->old, what->flag);
        else if (h->on_removed)
            h->on_removed(h->ctx, what->old);
        break;
    case NOTICE_SYNCED:
        if (h->on_synced)
            h->on_synced(h->ctx);
        break;
    }
}

void notices_deliver(struct notices *n)
{
    if (n->is_delivering)
        return;
    n->is_delivering = true;
    while (n->at < n->queue.count) {
        struct notice what = n->queue.items[n->at++]; /* the queue may be reallocated meanwhile */

        if (what.type == NOTICE_SYNCED)
            n->is_synced = true;
        /* notices_remove_handler() advances n->next if it points at the removed handler. */
        for (struct informer_handler *h = TAILQ_FIRST(&n->handlers); h; h = n->next) {
            n->next = TAILQ_NEXT(h, link);
            if (h->since < what.number && (what.only == 0 || what.only == h->since))
                handler_notify(h, &what);
        }
        notice_done(&what);
    }
    n->is_delivering = false;
    n->at = 0;
    vec_clear(&n->queue);
    if (n->queue.cap > NOTICES_KEPT_MAX)
        vec_done(&n->queue);
}

/* --- Handlers --- */

void notices_add_handler(struct notices *n, struct informer_handler *h)
{
    TAILQ_INSERT_TAIL(&n->handlers, h, link);
}

void notices_remove_handler(struct notices *n, struct informer_handler *h)
{
    if (n->next == h)
        n->next = TAILQ_NEXT(h, link);
    TAILQ_REMOVE(&n->handlers, h, link);
}
