/* Iteration over the image, in its present state or as of an earlier revision.
 *
 * For an old revision the events after it are collected once, sorted by key; the first event of each key has
 * the object as it was before. Image and events are then merged. O(e log e) for e events since then, which
 * the ring bounds. A snapshot has its versions sorted already: they are merged in the same way, and resuming
 * in the middle takes O(log n). */
#include "store/store_int.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

static struct store_key event_key(const struct store_event *ev)
{
    return store_key_of(ev->object->ns, ev->object->name);
}

static int event_cmp(const void *a, const void *b)
{
    const struct store_event *left = *(const struct store_event *const *)a;
    const struct store_event *right = *(const struct store_event *const *)b;
    int c = store_key_cmp(event_key(left), event_key(right));

    return c != 0 ? c : (left->revision > right->revision) - (left->revision < right->revision);
}

/* Collects the first event of each key, by key. */
static int iter_gather(struct store_iter *it, struct store_key from, int64_t at, struct error *err)
{
    const struct store_history *h = &it->store->history;
    size_t first = store_history_after(h, at), kept = 0;
    const struct store_event **past = malloc((h->count - first + 1) * sizeof *past);

    if (!past)
        return error_no_memory(err);
    for (size_t i = first; i < h->count; i++) {
        const struct store_event *ev = store_history_at(h, i);
        if (ev->object->kind->kind == it->kind && (!it->ns || str_is(event_key(ev).ns, it->ns)) &&
            store_key_cmp(event_key(ev), from) >= 0)
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

/* Skips entries that are not committed, and stops after the namespace. */
static void iter_settle(struct store_iter *it, const struct store_entry *e)
{
    while (e && !e->object)
        e = omap_next(&it->cursor);
    it->entry = e && (!it->ns || str_is(store_entry_key(e).ns, it->ns)) ? e : NULL;
}

/* A write that was submitted meanwhile may have moved the entries; the current one is committed and stays. */
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

static struct store_key version_key(const struct store_version *v)
{
    return store_key_of(v->object->ns, v->object->name);
}

/* The next versions, from a key on: of each key the first that is visible in the snapshot. */
static void iter_settle_version(struct store_iter *it, const struct store_version *v)
{
    while (v && v->until <= it->snapshot->revision)
        v = omap_next(&it->version_cursor);
    it->version = v && (!it->ns || str_is(version_key(v).ns, it->ns)) ? v : NULL;
}

static void iter_advance_version(struct store_iter *it)
{
    const struct store_version *was = it->version, *v;

    do
        v = omap_next(&it->version_cursor);
    while (v && store_key_cmp(version_key(v), version_key(was)) == 0);
    iter_settle_version(it, v);
}

int store_iter_begin_snapshot(struct store_iter *it, const struct store_snapshot *snap, const char *ns,
                              struct str from_ns, struct str from_name, struct error *err)
{
    const struct store *s = snap->store;
    struct store_key from = { from_ns, from_name };
    struct store_iter begun = { .store = s, .kind = snap->kind, .ns = ns, .snapshot = snap };

    assert(s);
    if (snap->is_lost)
        return error_set(err, ERR_GONE, "the snapshot of revision %" PRId64 " is lost: out of memory",
                         snap->revision);
    if (ns && str_cmp(from_ns, str_of(ns)) < 0)
        from = (struct store_key){ str_of(ns), STR_LIT("") };
    iter_settle_version(&begun,
                        store_past_from(&s->pasts[snap->kind], from, snap->revision, &begun.version_cursor));
    iter_settle(&begun, store_image_from(&s->image, snap->kind, from, &begun.cursor));
    *it = begun;
    return 0;
}

/* The past state at the next key that was changed since; false when there is none. */
static bool iter_past(const struct store_iter *it, struct store_key *ret_key, const struct object **ret_old)
{
    if (it->past_at < it->past_count) {
        *ret_key = event_key(it->past[it->past_at]);
        *ret_old = it->past[it->past_at]->old;
        return true;
    }
    if (it->version) {
        *ret_key = version_key(it->version);
        *ret_old = it->version->was_there ? it->version->object : NULL;
        return true;
    }
    return false;
}

const struct object *store_iter_next(struct store_iter *it)
{
    for (;;) {
        const struct object *o = it->entry ? it->entry->object : NULL;
        const struct object *old = NULL;
        struct store_key key;
        bool has_past = iter_past(it, &key, &old);
        int c; /* negative: the image is ahead; zero: same key; positive: the past is ahead */

        if (!o && !has_past)
            return NULL;
        if (!o || !has_past)
            c = o ? -1 : 1;
        else
            c = store_key_cmp(store_entry_key(it->entry), key);
        if (c <= 0)
            iter_advance(it);
        if (c < 0)
            return o;
        if (it->version)
            iter_advance_version(it);
        else
            it->past_at++;
        if (old)
            return old;
        /* It was created later: it did not exist at that revision. */
    }
}

void store_iter_done(struct store_iter *it)
{
    free(it->past);
    *it = (struct store_iter){ 0 };
}
