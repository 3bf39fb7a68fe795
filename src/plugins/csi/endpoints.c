/* A vector of entries in the order of their first addition, and one deferred notification of their reader. */
#include "plugins/csi/endpoints.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

struct endpoint_entry {
    struct csi_known_endpoint known; /* owns its texts */
};

struct csi_endpoints {
    VEC(struct endpoint_entry) all;
    loop_fn fn; /* NULL: nobody reads */
    void *ctx;
    struct deferred change;
};

static void on_change(void *ctx)
{
    struct csi_endpoints *e = ctx;

    if (e->fn)
        e->fn(e->ctx);
}

static void entry_done(struct endpoint_entry *entry)
{
    free((char *)(uintptr_t)entry->known.driver);
    free((char *)(uintptr_t)entry->known.socket);
}

int csi_endpoints_new(struct loop *l, struct csi_endpoints **ret, struct error *err)
{
    struct csi_endpoints *e = calloc(1, sizeof *e);

    if (!e)
        return error_no_memory(err);
    deferred_init(&e->change, l, on_change, e);
    *ret = e;
    return 0;
}

struct csi_endpoints *csi_endpoints_free(struct csi_endpoints *e)
{
    if (!e)
        return NULL;
    loop_undefer(&e->change);
    for (size_t i = 0; i < e->all.count; i++)
        entry_done(&e->all.items[i]);
    vec_done(&e->all);
    free(e);
    return NULL;
}

/* The index of the entry; the number of all: there is none. */
static size_t find_entry(const struct csi_endpoints *e, enum csi_endpoint_origin origin, const char *driver)
{
    size_t i = 0;

    while (i < e->all.count &&
           (e->all.items[i].known.origin != origin || strcmp(e->all.items[i].known.driver, driver) != 0))
        i++;
    return i;
}

int csi_endpoints_put(struct csi_endpoints *e, const struct csi_known_endpoint *known, struct error *err)
{
    struct endpoint_entry entry = { .known = { known->origin, strdup(known->driver),
                                               strdup(known->socket) } };
    size_t at = find_entry(e, known->origin, known->driver);
    bool is_new = at == e->all.count || !known->driver[0];

    if (!entry.known.driver || !entry.known.socket || (is_new && vec_push(&e->all, entry) < 0)) {
        entry_done(&entry);
        return error_no_memory(err);
    }
    if (!is_new) {
        entry_done(&e->all.items[at]);
        e->all.items[at] = entry;
    }
    loop_defer(&e->change);
    return 0;
}

void csi_endpoints_remove(struct csi_endpoints *e, enum csi_endpoint_origin origin, const char *driver)
{
    size_t at = find_entry(e, origin, driver);

    if (at == e->all.count)
        return;
    entry_done(&e->all.items[at]);
    vec_remove(&e->all, at);
    loop_defer(&e->change);
}

size_t csi_endpoints_count(const struct csi_endpoints *e)
{
    return e->all.count;
}

const struct csi_known_endpoint *csi_endpoints_at(const struct csi_endpoints *e, size_t i)
{
    return &e->all.items[i].known;
}

void csi_endpoints_watch(struct csi_endpoints *e, loop_fn fn, void *ctx)
{
    e->fn = fn;
    e->ctx = ctx;
    if (fn)
        loop_defer(&e->change);
}
