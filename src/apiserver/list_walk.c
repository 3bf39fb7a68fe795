/* Iterates over the stored objects of a selection. A selection of one object is found directly, others by a
 * scan of the kind or namespace. */
#include "apiserver/list_walk.h"

#include <assert.h>

enum kind stored_kind(const struct resource *r)
{
    assert(r->info);
    return r->info->kind == KIND_EVENT_V1 ? KIND_EVENT : r->info->kind;
}

/* Sets everything but the iterator; starts at the only object that can match, if there is one. */
static void walk_init(struct list_walk *w, const struct resource *r, const struct selection *s,
                      struct str *from_ns, struct str *from_name)
{
    bool is_of_one = s->name.s && (s->ns.len || !r->is_namespaced);

    if (is_of_one &&
        (str_cmp(*from_ns, s->ns) < 0 || (str_eq(*from_ns, s->ns) && str_cmp(*from_name, s->name) < 0))) {
        *from_ns = s->ns;
        *from_name = s->name;
    }
    *w = (struct list_walk){ .selection = s, .is_of_one = is_of_one };
}

int list_walk_begin(struct list_walk *w, const struct store *store, const struct resource *r,
                    const struct selection *s, struct str from_ns, struct str from_name, int64_t at,
                    struct error *err)
{
    walk_init(w, r, s, &from_ns, &from_name);
    return store_iter_begin(&w->iter, store, stored_kind(r), s->ns.len ? s->ns.s : NULL, from_ns, from_name,
                            at, err);
}

int list_walk_begin_snapshot(struct list_walk *w, const struct store_snapshot *snap, const struct resource *r,
                             const struct selection *s, struct str from_ns, struct str from_name,
                             struct error *err)
{
    walk_init(w, r, s, &from_ns, &from_name);
    return store_iter_begin_snapshot(&w->iter, snap, s->ns.len ? s->ns.s : NULL, from_ns, from_name, err);
}

const struct object *list_walk_next(struct list_walk *w)
{
    const struct object *o;

    while ((o = store_iter_next(&w->iter))) {
        w->seen = o;
        if (selection_has(w->selection, o))
            return o;
        if (w->is_of_one)
            return NULL; /* it would have been first */
        if (w->steps_left && --w->steps_left == 0) {
            w->is_paused = true;
            return NULL;
        }
    }
    return NULL;
}

void list_walk_done(struct list_walk *w)
{
    store_iter_done(&w->iter);
}
