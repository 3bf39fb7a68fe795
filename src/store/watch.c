/* Notifies the watchers: in the order in which they were added, those of the kind before those of all kinds.
 *
 * Callbacks may watch and unwatch: the position of the walk is kept in the store, and unwatching the next
 * watcher advances it. */
#include "store/store_int.h"

#include <assert.h>

void store_watch(struct store *s, struct store_watcher *w, enum kind k, store_event_fn *event,
                 void (*settled)(void *ctx, int64_t revision), void *ctx)
{
    assert(k <= KIND_COUNT);
    assert(event || settled);
    *w = (struct store_watcher){
        .kind = k, .after = s->revision, .event = event, .settled = settled, .ctx = ctx
    };
    TAILQ_INSERT_TAIL(&s->watchers[k], w, link);
}

void store_unwatch(struct store *s, struct store_watcher *w)
{
    assert(w->kind <= KIND_COUNT && (w->event || w->settled));
    if (s->walk == w)
        s->walk = TAILQ_NEXT(w, link);
    TAILQ_REMOVE(&s->watchers[w->kind], w, link);
}

/* The next watcher of the walk; NULL at its end. */
static struct store_watcher *walk_next(struct store *s)
{
    struct store_watcher *w = s->walk;

    if (w)
        s->walk = TAILQ_NEXT(w, link);
    return w;
}

static void tell_list(struct store *s, struct store_watchers *list, const struct store_event *ev)
{
    struct store_watcher *w;

    s->walk = TAILQ_FIRST(list);
    while ((w = walk_next(s)))
        if (w->event &&
            ev->revision > w->after) /* a watcher added during this batch has seen all of it in the image */
            w->event(w->ctx, ev);
}

void store_notify(struct store *s, const struct store_event *ev)
{
    tell_list(s, &s->watchers[ev->object->kind->kind], ev);
    tell_list(s, &s->watchers[KIND_COUNT], ev);
}

void store_notify_settled(struct store *s)
{
    struct store_watcher *w;

    for (size_t k = 0; k <= KIND_COUNT; k++) {
        s->walk = TAILQ_FIRST(&s->watchers[k]);
        while ((w = walk_next(s)))
            if (w->settled)
                w->settled(w->ctx, s->revision);
    }
}
