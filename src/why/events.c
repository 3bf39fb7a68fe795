#include "why/events.h"

#include <string.h>

bool why_event_is_about(const struct event *e, const struct object *about)
{
    if (e->involved.uid[0] != '\0')
        return strcmp(e->involved.uid, about->uid) == 0;
    return strcmp(e->involved.kind, about->kind->name) == 0 && strcmp(e->involved.name, about->name) == 0 &&
           strcmp(e->involved.ns, about->ns) == 0;
}

void why_each_stored_event(void *ctx, const struct object *about, why_event_fn *fn, void *fn_ctx)
{
    const char *ns = about->ns[0] ? about->ns : "default";
    struct store_iter it;
    struct error ignored; /* an explanation without events is one still */

    if (store_iter_begin(&it, ctx, KIND_EVENT, ns, str_of(ns), STR_LIT(""), /* at= */ 0, &ignored) < 0)
        return;
    for (const struct object *o = store_iter_next(&it); o; o = store_iter_next(&it)) {
        const struct event *e = (const struct event *)(const void *)o;

        if (why_event_is_about(e, about))
            fn(fn_ctx, e);
    }
    store_iter_done(&it);
}
