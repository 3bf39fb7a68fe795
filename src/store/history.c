/* A ring of the most recent events, allocated at the start: recording an event allocates nothing, so that a
 * commit that is on disk cannot fail any more. */
#include "store/store_int.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

int store_history_init(struct store_history *h, size_t cap, size_t bytes_max, struct error *err)
{
    assert(cap > 0);
    *h = (struct store_history){ .events = calloc(cap, sizeof *h->events),
                                 .cap = cap,
                                 .bytes_max = bytes_max };
    return h->events ? 0 : error_no_memory(err);
}

/* An event of the ring owns its references; readers must not change them. */
static struct object *event_own(const struct object *o)
{
    union {
        const struct object *in;
        struct object *out;
    } own = { o };

    return own.out;
}

void store_event_done(struct store_event *ev)
{
    (void)object_unref(event_own(ev->object));
    (void)object_unref(event_own(ev->old));
    *ev = (struct store_event){ 0 };
}

void store_history_done(struct store_history *h)
{
    for (size_t i = 0; i < h->count; i++)
        store_event_done(&h->events[(h->first + i) % h->cap]);
    free(h->events);
    *h = (struct store_history){ 0 };
}

const struct store_event *store_history_at(const struct store_history *h, size_t index)
{
    assert(index < h->count);
    return &h->events[(h->first + index) % h->cap];
}

bool store_history_pop(struct store_history *h, size_t bytes, struct store_event *ret_gone)
{
    if (h->count == 0 || (h->count < h->cap && h->bytes + bytes <= h->bytes_max))
        return false;
    *ret_gone = h->events[h->first];
    h->start = ret_gone->revision;
    h->first = (h->first + 1) % h->cap;
    h->count--;
    assert(h->bytes >= ret_gone->object->text.len);
    h->bytes -= ret_gone->object->text.len;
    return true;
}

void store_history_push(struct store_history *h, const struct store_event *ev)
{
    assert(h->count < h->cap);
    if (h->count > 0)
        assert(store_history_at(h, h->count - 1)->revision < ev->revision);
    h->events[(h->first + h->count) % h->cap] = (struct store_event){
        .object = object_ref(ev->object),
        .old = ev->old ? object_ref(ev->old) : NULL,
        .revision = ev->revision,
        .is_delete = ev->is_delete,
    };
    h->count++;
    h->bytes += ev->object->text.len;
}

size_t store_history_after(const struct store_history *h, int64_t revision)
{
    size_t low = 0, high = h->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (store_history_at(h, middle)->revision <= revision)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int store_history_check(const struct store_history *h, int64_t revision, struct error *err)
{
    if (revision >= h->start)
        return 0;
    return error_set(err, ERR_GONE, "too old resource version: %" PRId64 " (%" PRId64 ")", revision,
                     h->start);
}

int store_replay(const struct store *s, enum kind k, int64_t after, store_replay_fn *fn, void *ctx,
                 struct error *err)
{
    const struct store_history *h = &s->history;
    int r = store_history_check(h, after, err);

    assert(k <= KIND_COUNT);
    if (r < 0)
        return r;
    for (size_t i = store_history_after(h, after); i < h->count; i++) {
        const struct store_event *ev = store_history_at(h, i);
        if ((k == KIND_COUNT || ev->object->kind->kind == k) && !fn(ctx, ev))
            break;
    }
    return 0;
}

int64_t store_history_start(const struct store *s)
{
    return s->history.start;
}
