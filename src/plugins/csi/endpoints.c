/* A vector of entries in the order of their first addition, and one deferred notification of their reader. */
#include "plugins/csi/endpoints.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

struct csi_endpoints {
    VEC(struct csi_known_endpoint *) all; /* each owns its texts */
    loop_fn fn;                           /* NULL: nobody reads */
    void *ctx;
    struct deferred change;
};

static void on_change(void *ctx)
{
    struct csi_endpoints *e = ctx;

    if (e->fn)
        e->fn(e->ctx);
}

static struct csi_known_endpoint *entry_free(struct csi_known_endpoint *entry)
{
    free((char *)(uintptr_t)entry->driver);
    free((char *)(uintptr_t)entry->socket);
    free(entry);
    return NULL;
}

/* NULL without memory. */
static struct csi_known_endpoint *entry_new(const struct csi_known_endpoint *known)
{
    struct csi_known_endpoint *entry = calloc(1, sizeof *entry);

    if (!entry)
        return NULL;
    *entry = (struct csi_known_endpoint){ known->origin, strdup(known->driver), strdup(known->socket) };
    return entry->driver && entry->socket ? entry : entry_free(entry);
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
        (void)entry_free(e->all.items[i]);
    vec_done(&e->all);
    free(e);
    return NULL;
}

/* The index of the entry; the number of all: there is none. */
static size_t find_entry(const struct csi_endpoints *e, enum csi_endpoint_origin origin, const char *driver)
{
    size_t i = 0;

    while (i < e->all.count &&
           (e->all.items[i]->origin != origin || strcmp(e->all.items[i]->driver, driver) != 0))
        i++;
    return i;
}

int csi_endpoints_put(struct csi_endpoints *e, const struct csi_known_endpoint *known, struct error *err)
{
    struct csi_known_endpoint *entry = entry_new(known);
    size_t at = find_entry(e, known->origin, known->driver);

    if (!entry)
        return error_no_memory(err);
    if (at < e->all.count && known->driver[0]) {
        (void)entry_free(e->all.items[at]);
        e->all.items[at] = entry;
    } else if (vec_push(&e->all, entry) != 0) {
        (void)entry_free(entry);
        return error_no_memory(err);
    }
    loop_defer(&e->change);
    return 0;
}

void csi_endpoints_remove(struct csi_endpoints *e, enum csi_endpoint_origin origin, const char *driver)
{
    size_t at = find_entry(e, origin, driver);

    if (at == e->all.count)
        return;
    (void)entry_free(e->all.items[at]);
    vec_remove(&e->all, at);
    loop_defer(&e->change);
}

size_t csi_endpoints_count(const struct csi_endpoints *e)
{
    return e->all.count;
}

const struct csi_known_endpoint *csi_endpoints_at(const struct csi_endpoints *e, size_t i)
{
    return e->all.items[i];
}

void csi_endpoints_watch(struct csi_endpoints *e, loop_fn fn, void *ctx)
{
    e->fn = fn;
    e->ctx = ctx;
    if (fn)
        loop_defer(&e->change);
}
