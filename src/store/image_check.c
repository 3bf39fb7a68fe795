/* Verifies the invariants of the store: image, writes in flight and history are consistent. Visits
 * everything; for the simulator. */
#include "store/store_int.h"

#include <string.h>

#include "base/tailq.h"

static const char *entry_check(const struct store *s, enum kind k, const struct store_entry *e)
{
    const struct object *o = e->object ? e->object : e->newest ? e->newest->object : NULL;

    if (!o)
        return "a key without an object was kept";
    if (store_key_cmp(store_entry_key(e), store_key_of(o->ns, o->name)) != 0 || o->kind->kind != k)
        return "an object is under the key of another";
    if (e->object && (e->object->revision <= 0 || e->object->revision > s->revision))
        return "an object is newer than the store";
    if (e->newest && (e->newest->entry != e || e->newest->object->revision <= s->revision))
        return "a key has a write in flight that is not its own, or has ended";
    return NULL;
}

static const char *kind_check(const struct store *s, enum kind k, size_t *writing)
{
    const struct store_entry *before = NULL;
    size_t objects = 0;
    struct omap_cursor at;

    for (const struct store_entry *e = omap_first(&s->image.kinds[k], &at); e;
         before = e, e = omap_next(&at)) {
        const char *wrong = entry_check(s, k, e);

        if (wrong)
            return wrong;
        if (before && store_key_cmp(store_entry_key(before), store_entry_key(e)) >= 0)
            return "keys are out of order";
        objects += e->object != NULL;
        *writing += e->newest != NULL;
    }
    return objects == s->image.counts[k] ? NULL : "the number of objects of a kind is wrong";
}

/* In the order of their revisions, all of them newer than the committed ones. */
static const char *writes_check(const struct store_writes *l, int64_t *revision, size_t *count,
                                size_t *newest)
{
    *count = 0;
    if (!tailq_is_sound(l, offsetof(struct store_write, link), SIZE_MAX - 1, count))
        return "writes in flight are not linked both ways";
    for (const struct store_write *w = TAILQ_FIRST(l); w; w = TAILQ_NEXT(w, link)) {
        if (w->object->revision <= *revision)
            return "writes in flight are out of order";
        if (!w->entry || !w->entry->newest)
            return "a write is in flight, but not recorded at its key";
        *revision = w->object->revision;
        *newest += w->entry->newest == w;
    }
    return NULL;
}

static const char *history_check(const struct store *s)
{
    const struct store_history *h = &s->history;
    int64_t revision = h->start;
    size_t bytes = 0;

    if (h->count > h->cap)
        return "history has more events than it holds";
    for (size_t i = 0; i < h->count; i++) {
        const struct store_event *ev = store_history_at(h, i);

        if (ev->revision <= revision || (!ev->is_delete && ev->object->revision != ev->revision))
            return "history is out of order";
        revision = ev->revision;
        bytes += ev->object->text.len;
    }
    if (revision > s->revision)
        return "history is newer than the store";
    return bytes == h->bytes ? NULL : "the number of bytes in history is wrong";
}

const char *store_check_image(const struct store *s)
{
    size_t writing = 0, newest = 0, in_batch = 0, queued = 0;
    int64_t revision = s->revision;
    const char *wrong = NULL;

    for (size_t k = 0; k < KIND_COUNT && !wrong; k++)
        wrong = kind_check(s, (enum kind)k, &writing);
    if (!wrong)
        wrong = writes_check(&s->batch, &revision, &in_batch, &newest);
    if (!wrong)
        wrong = writes_check(&s->queue, &revision, &queued, &newest);
    if (!wrong)
        wrong = history_check(s);
    if (wrong)
        return wrong;
    if (queued != s->queued)
        return "the number of queued writes is wrong";
    if (writing != newest)
        return "a key has a write in flight that is in no list";
    return s->revision <= s->submitted && s->submitted <= s->reserved && revision <= s->submitted
               ? NULL
               : "revisions are out of order";
}
