/* Lookups of access_lookup.h in the store's newest committed state. */
#include "apiserver/store_lookup.h"

#include "store/store.h"

static const struct object *lookup_object(void *ctx, enum kind kind, const char *ns, const char *name)
{
    return store_get(ctx, kind, ns, name);
}

static bool lookup_pods(void *ctx, const char *ns, access_lookup_pod_fn *fn, void *arg)
{
    struct error ignored; /* occurs only for past revisions */
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

struct access_lookup store_lookup(struct store *s)
{
    return (struct access_lookup){ .get = lookup_object, .any_pod = lookup_pods, .ctx = s };
}
