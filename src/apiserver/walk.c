#include "apiserver/walk.h"

#include <assert.h>

enum kind stored_kind(const struct resource *r)
{
    assert(r->info);
    return r->info->kind == KIND_EVENT_V1 ? KIND_EVENT : r->info->kind;
}

int walk_begin(struct walk *w, const struct store *store, const struct resource *r, const struct selection *s,
               struct str from_ns, struct str from_name, int64_t at, struct error *err)
{
    bool is_of_one = s->name.s && (s->ns.len || !r->is_namespaced);

    if (is_of_one &&
        (str_cmp(from_ns, s->ns) < 0 || (str_eq(from_ns, s->ns) && str_cmp(from_name, s->name) < 0))) {
        from_ns = s->ns;
        from_name = s->name;
    }
    w->selection = s;
    w->is_of_one = is_of_one;
    return store_iter_begin(&w->iter, store, stored_kind(r), s->ns.len ? s->ns.s : NULL, from_ns, from_name,
                            at, err);
}

const struct object *walk_next(struct walk *w)
{
    const struct object *o;

    while ((o = store_iter_next(&w->iter))) {
        if (selection_has(w->selection, o))
            return o;
        if (w->is_of_one)
            return NULL; /* it would have come first */
    }
    return NULL;
}

void walk_done(struct walk *w)
{
    store_iter_done(&w->iter);
}
