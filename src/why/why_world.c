/* The data that explanations read: caches, lookups by name, events and operations of an object, and the paths
 * of requests. */
#include "why/why_world.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "controllers/binder/binder.h"
#include "machinery/component_deps.h"

/* --- Caches --- */

static const struct {
    enum kind kind;
    bool is_needed; /* no explanation is possible without it */
} kinds[] = {
    { KIND_VOLUME, true },    { KIND_CLAIM, true },       { KIND_CLASS, true },
    { KIND_POD, true },       { KIND_NODE, false },       { KIND_ATTACHMENT, false },
    { KIND_CSI_NODE, false }, { KIND_CSI_DRIVER, false }, { KIND_CSI_CAPACITY, false },
    { KIND_LEASE, false },
};

int why_world_caches(struct why_world *w, struct informers *all, struct error *err)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        bool is_pods = kinds[i].kind == KIND_POD;

        w->caches[kinds[i].kind] =
            is_pods ? component_pods(all, err) : informers_get(all, kinds[i].kind, err);
        if (!w->caches[kinds[i].kind])
            return -(int)err->code;
    }
    return 0;
}

const struct kind_info *why_world_missing(const struct why_world *w)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (kinds[i].is_needed && !informer_is_synced(w->caches[kinds[i].kind]))
            return kind_info(kinds[i].kind);
    return NULL;
}

void why_world_drop_missing(struct why_world *w)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        const struct informer **cache = &w->caches[kinds[i].kind];

        if (!kinds[i].is_needed && (!informer_is_synced(*cache) || informer_is_not_served(*cache)))
            *cache = NULL;
    }
}

/* --- Lookup --- */

const struct object *why_get(const struct why_world *w, enum kind k, const char *ns, const char *name)
{
    return w->caches[k] ? informer_get(w->caches[k], ns, name) : NULL;
}

const char *why_age(const struct why_world *w, struct timestamp since, char to[static WHY_AGE_BYTES_MAX])
{
    struct buf text = BUF_INIT(WHY_AGE_BYTES_MAX - 1);

    timestamp_age(since, timestamp_of_ns(clock_real_ns(w->clock)), &text);
    (void)snprintf(to, WHY_AGE_BYTES_MAX, "%s", buf_cstr(&text));
    buf_done(&text);
    return to;
}

/* --- Events --- */

/* The newest events so far, as references. */
struct newest {
    struct event *items[WHY_EVENTS_MAX];
    size_t count;
};

struct timestamp why_event_at(const struct event *e)
{
    const struct timestamp times[] = { e->series_last, e->last, e->time, e->first, e->obj.created };

    for (size_t i = 0; i < ARRAY_LEN(times); i++)
        if (!timestamp_is_zero(times[i]))
            return times[i];
    return (struct timestamp){ 0 };
}

/* Keeps the list sorted, oldest first; events of the same second by name. */
static void on_event(void *ctx, const struct event *e)
{
    struct newest *n = ctx;
    size_t at = n->count;

    for (; at > 0; at--) {
        int order = timestamp_cmp(why_event_at(n->items[at - 1]), why_event_at(e));

        if (order < 0 || (order == 0 && strcmp(n->items[at - 1]->obj.name, e->obj.name) <= 0))
            break;
    }
    if (n->count < WHY_EVENTS_MAX) {
        memmove(&n->items[at + 1], &n->items[at], (n->count - at) * sizeof *n->items);
        n->count++;
    } else {
        if (at == 0)
            return;
        (void)object_unref(&n->items[0]->obj);
        at--;
        memmove(&n->items[0], &n->items[1], at * sizeof *n->items);
    }
    n->items[at] = (struct event *)(void *)object_ref(&e->obj);
}

void why_add_events(const struct why_world *w, struct why_report *r, const struct object *about,
                    const char *const *over)
{
    struct newest n = { .count = 0 };
    char age[WHY_AGE_BYTES_MAX];

    why_each_event(w, about, on_event, &n);
    for (size_t i = 0; i < n.count; i++) {
        const struct event *e = n.items[i];
        int32_t count = e->series_count ? e->series_count : e->count;

        report_event(r, &(struct report_event){ .type = e->type,
                                                .reason = e->reason,
                                                .message = e->message,
                                                .count = count > 0 ? count : 1,
                                                .age = why_age(w, why_event_at(e), age),
                                                .is_over = why_is_one_of(over, e->reason) });
        (void)object_unref(&n.items[i]->obj);
    }
}

/* --- Operations --- */

struct why_operations {
    const struct why_world *world;
    struct why_report *report;
};

static void add_operation(void *ctx, const struct operation_state *s)
{
    const struct why_operations *operations = ctx;
    uint64_t now_ns = clock_mono_ns(operations->world->clock);
    bool is_waiting = s->retry_at_ns > now_ns;

    report_operation(
        operations->report,
        &(struct report_operation){
            .name = s->name,
            .is_running = s->is_running,
            .failures = s->failures,
            .retry_seconds = is_waiting ? (int64_t)((s->retry_at_ns - now_ns + NS_PER_S - 1) / NS_PER_S) : -1,
            .message = s->message });
}

void why_add_operations(const struct why_world *w, struct why_report *r, const struct object *about)
{
    struct why_operations x = { w, r };

    if (w->binder)
        binder_each_operation(w->binder, about, add_operation, &x);
}

/* --- Paths --- */

static const struct {
    enum kind kind;
    const char *type;
} types[] = {
    { KIND_CLAIM, "pvc" },
    { KIND_VOLUME, "pv" },
    { KIND_POD, "pod" },
    { KIND_ATTACHMENT, "va" },
    { KIND_CSI_DRIVER, "csidriver" },
};

const char *why_type(enum kind k)
{
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (types[i].kind == k)
            return types[i].type;
    return NULL;
}

/* Splits the path at its slashes. */
int why_read_path(const char *path, char to[static WHY_PATH_BYTES_MAX], struct why_question *ret,
                  struct error *err)
{
    int len = snprintf(to, WHY_PATH_BYTES_MAX, "%s", path);
    char *name = strrchr(to, '/'), *ns = strchr(to, '/');

    for (size_t i = 0; len > 0 && len < WHY_PATH_BYTES_MAX && name && i < ARRAY_LEN(types); i++) {
        bool is_namespaced = kind_info(types[i].kind)->is_namespaced;

        if (!str_eq((struct str){ to, (size_t)(ns - to) }, str_of(types[i].type)) ||
            is_namespaced != (ns != name))
            continue;
        *ns = *name = '\0';
        ret->kind = types[i].kind;
        ret->ns = is_namespaced ? ns + 1 : "";
        ret->name = name + 1;
        return 0;
    }
    return error_set(
        err, ERR_NOT_FOUND,
        "cannot explain \"%s\": supported are pvc/NAMESPACE/NAME, pv/NAME, pod/NAMESPACE/NAME, va/NAME and "
        "csidriver/NAME",
        path);
}
