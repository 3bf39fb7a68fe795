/* Iterating: the image as it is, or with what has changed since put back.
 *
 * For an old revision the events after it are gathered once, sorted by key; of each key the first event tells
 * what the object was before. Image and these are then merged. O(e log e) for e events since, which the ring
 * bounds. */
#include "store/store_int.h"

#include <assert.h>
#include <stdlib.h>

static struct store_key event_key(const struct store_event *ev)
{
    return store_key_of(ev->object->ns, ev->object->name);
}

static int event_cmp(const void *a, const void *b)
{
    const struct store_event *x = *(const struct store_event *const *)a;
    const struct store_event *y = *(const struct store_event *const *)b;
    int c = store_key_cmp(event_key(x), event_key(y));

    return c != 0 ? c : (x->revision > y->revision) - (x->revision < y->revision);
}

static bool iter_wants(const struct store_iter *it, struct store_key key, struct store_key from)
{
    return (!it->ns || str_is(key.ns, it->ns)) && store_key_cmp(key, from) >= 0;
}

/* The first event of each key, by key. */
static int iter_gather(struct store_iter *it, struct store_key from, int64_t at, struct error *err)
{
    const struct store_history *h = &it->store->history;
    size_t first = store_history_after(h, at), kept = 0;
    const struct store_event **past = malloc((h->count - first + 1) * sizeof *past);

    if (!past)
        return error_no_memory(err);
    for (size_t i = first; i < h->count; i++) {
        const struct store_event *ev = store_history_at(h, i);
        if (ev->object->kind->kind == it->kind && iter_wants(it, event_key(ev), from))
            past[kept++] = ev;
    }
    qsort(past, kept, sizeof *past, event_cmp);
    it->past = past;
    for (size_t i = 0; i < kept; i++) {
        size_t n = it->past_count;
        if (n == 0 || store_key_cmp(event_key(past[n - 1]), event_key(past[i])) != 0)
            past[it->past_count++] = past[i];
    }
    return 0;
}

/* Passes over what is not committed, and stops behind the namespace. */
static void iter_settle(struct store_iter *it, const struct store_entry *e)
{
    while (e && !e->object)
        e = omap_next(&it->cursor);
    it->entry = e && (!it->ns || str_is(store_entry_key(e).ns, it->ns)) ? e : NULL;
}

/* A write that was submitted meanwhile may have moved the entries; the one at hand is committed and stays. */
static void iter_advance(struct store_iter *it)
{
    const struct store_image *m = &it->store->image;

    if (it->cursor.version != m->kinds[it->kind].version)
        (void)store_image_from(m, it->kind, store_entry_key(it->entry), &it->cursor);
    iter_settle(it, omap_next(&it->cursor));
}

int store_iter_begin(struct store_iter *it, const struct store *s, enum kind k, const char *ns,
                     struct str from_ns, struct str from_name, int64_t at, struct error *err)
{
    struct store_key from = { from_ns, from_name };
    struct store_iter begun = { .store = s, .kind = k, .ns = ns };
    int r;

    assert(k < KIND_COUNT);
    if (ns && str_cmp(from_ns, str_of(ns)) < 0)
        from = (struct store_key){ str_of(ns), STR_LIT("") };
    if (at > 0 && at < s->revision) {
        r = store_history_check(&s->history, at, err);
        if (r == 0)
            r = iter_gather(&begun, from, at, err);
        if (r < 0)
            return r;
    }
    iter_settle(&begun, store_image_from(&s->image, k, from, &begun.cursor));
    *it = begun;
    return 0;
}

const struct object *store_iter_next(struct store_iter *it)
{
    for (;;) {
        const struct store_event *ev = it->past_at < it->past_count ? it->past[it->past_at] : NULL;
        const struct object *o = it->entry ? it->entry->object : NULL;
        int c; /* negative: the image is ahead; zero: both are at the same key; positive: the past is */

        if (!o && !ev)
            return NULL;
        if (!o || !ev)
            c = o ? -1 : 1;
        else
            c = store_key_cmp(store_entry_key(it->entry), event_key(ev));
        if (c <= 0)
            iter_advance(it);
        if (c < 0)
            return o;
        it->past_at++;
        if (ev->old)
            return ev->old;
        /* It was made since: at that revision there was none. */
    }
}

void store_iter_done(struct store_iter *it)
{
    free(it->past);
    *it = (struct store_iter){ 0 };
}
