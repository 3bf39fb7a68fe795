#include "apiserver/store_facts.h"

#include "store/store.h"

static const struct object *get(void *ctx, enum kind kind, const char *ns, const char *name)
{
    return store_get(ctx, kind, ns, name);
}

static bool any_pod(void *ctx, const char *ns, facts_pod_fn *fn, void *arg)
{
    struct error ignored; /* only of a past state */
    struct store_iter it;
    const struct object *o;
    bool found = false;

    if (store_iter_begin(&it, ctx, KIND_POD, ns[0] != '\0' ? ns : NULL, str_of(ns), STR_LIT(""), /* at= */ 0,
                         &ignored) < 0)
        return false;
    while (!found && (o = store_iter_next(&it)))
        found = fn(arg, pod_of(o));
    store_iter_done(&it);
    return found;
}

struct facts store_facts(struct store *s)
{
    return (struct facts){ .get = get, .any_pod = any_pod, .ctx = s };
}
