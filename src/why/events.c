/* Events about an object, read from the store, and the walk that collects them for an explanation.
 *
 * Costs one look per event of the object's namespace, in slices. */
#include "why/events.h"

#include <string.h>

#include "why/why_walk.h"

bool why_event_is_about(const struct event *e, const struct object *about)
{
    if (e->involved.uid[0] != '\0')
        return strcmp(e->involved.uid, about->uid) == 0;
    return strcmp(e->involved.kind, about->kind->name) == 0 && strcmp(e->involved.name, about->name) == 0 &&
           strcmp(e->involved.ns, about->ns) == 0;
}

void why_each_stored_event(void *ctx, const struct object *about, struct why_event_slice *slice,
                           why_event_fn *fn, void *fn_ctx)
{
    const char *ns = about->ns[0] ? about->ns : "default";
    struct store_iter it;
    const struct object *o;
    struct error ignored; /* an explanation without events is still useful */

    if (store_iter_begin(&it, ctx, KIND_EVENT, ns, str_of(ns), str_of(slice->from), /* at= */ 0, &ignored) <
        0)
        return;
    for (o = store_iter_next(&it); o && slice->looks_left > 0; o = store_iter_next(&it)) {
        const struct event *e = (const struct event *)(const void *)o;

        slice->looks_left--;
        if (why_event_is_about(e, about))
            fn(fn_ctx, e);
    }
    slice->has_more = o && strlen(o->name) < sizeof slice->from;
    if (slice->has_more)
        memcpy(slice->from, o->name, strlen(o->name) + 1);
    store_iter_done(&it);
}

/* --- Events of an explanation --- */

struct events_walk {
    struct why_walk walk;
    struct why_event_slice slice;
    struct why_found found;
};

struct events_found {
    const struct why_world *world;
    struct why_found *found;
};

static void on_found(void *ctx, const struct event *e)
{
    const struct events_found *found = ctx;

    why_found_add(found->world, found->found, &e->obj);
}

static size_t step_events(const struct why_world *w, struct why_walk *walk, size_t looks_max)
{
    struct events_walk *events_walk = CONTAINER_OF(walk, struct events_walk, walk);
    struct events_found found = { w, &events_walk->found };

    events_walk->slice.looks_left = looks_max;
    events_walk->slice.has_more = false;
    w->each_event(w->ctx, walk->about, &events_walk->slice, on_found, &found);
    walk->is_done = !events_walk->slice.has_more;
    return looks_max - events_walk->slice.looks_left;
}

static void clear_events(struct why_walk *walk)
{
    why_found_clear(&CONTAINER_OF(walk, struct events_walk, walk)->found);
}

static const struct why_walk_type events_walk_type = {
    .bytes = sizeof(struct events_walk), .kind = KIND_EVENT, .step = step_events, .clear = clear_events
};

void why_each_event(const struct why_world *w, const struct object *about, why_event_fn *fn, void *fn_ctx)
{
    struct why_event_slice whole = { .looks_left = SIZE_MAX };
    const struct events_walk *events_walk;

    if (!w->each_event)
        return;
    if (!w->work) {
        w->each_event(w->ctx, about, &whole, fn, fn_ctx);
        return;
    }
    events_walk = why_walk_result(w, &events_walk_type, about, /* other= */ NULL, /* flags= */ 0);
    for (size_t i = 0; events_walk && i < events_walk->found.items.count; i++)
        fn(fn_ctx, (const struct event *)(const void *)events_walk->found.items.items[i]);
}
