/* Distributes the store's events to the watches' queues.
 *
 * For every commit the live watches of that kind are checked in the order of their start: namespace and name
 * first, then selectors. The line is encoded for the first watch that needs it, and shared by all with the
 * same view: a commit costs one encoding per view, and one pointer per watch. After the last event of a batch
 * the watches that got something are woken, once each.
 *
 * A full queue means a client that does not read: its watch is closed, and it must start again. So is one
 * that catches up so slowly that the history no longer has its position. */
#include "apiserver/watch_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "apiserver/list_walk.h"
#include "apiserver/server.h"
#include "base/reach.h"

/* --- The lists --- */

static struct watch_list *watch_list_of(const struct watch *w)
{
    switch (w->state) {
    case WATCH_INITIAL:
    case WATCH_REPLAY:
        return &w->all->lagging;
    case WATCH_LIVE:
        return &w->all->live[stored_kind(w->resource)];
    case WATCH_ENDED:
    case WATCH_STATE_COUNT:
        break;
    }
    assert(w->state == WATCH_ENDED);
    return &w->all->ended;
}

static void watch_unmark_awake(struct watch *w)
{
    if (w->is_awake)
        TAILQ_REMOVE(&w->all->awake, w, awake);
    w->is_awake = false;
}

void watch_add(struct watches *all, struct watch *w)
{
    w->all = all;
    TAILQ_INSERT_TAIL(watch_list_of(w), w, link);
    all->count++;
}

void watch_remove(struct watch *w)
{
    if (!w->all)
        return;
    TAILQ_REMOVE(watch_list_of(w), w, link);
    watch_unmark_awake(w);
    w->all->count--;
    w->all = NULL;
}

void watch_set_state(struct watch *w, enum watch_state next)
{
    assert(next > w->state);
    reach_move(REACH_SERVER_WATCH, WATCH_STATE_COUNT, w->state, next);
    if (w->all)
        TAILQ_REMOVE(watch_list_of(w), w, link);
    w->state = next;
    if (w->all)
        TAILQ_INSERT_TAIL(watch_list_of(w), w, link);
    if (next == WATCH_ENDED)
        timer_disarm(&w->timer);
}

/* --- Waking and ending --- */

void watch_wake(struct watch *w)
{
    if (w->stream.wake)
        w->stream.wake(&w->stream);
}

/* Wakes it later, with the others. */
static void watch_mark_awake(struct watch *w)
{
    if (w->is_awake)
        return;
    w->is_awake = true;
    TAILQ_INSERT_TAIL(&w->all->awake, w, awake);
}

static void watches_wake(struct watches *all)
{
    struct watch *w;

    while ((w = TAILQ_FIRST(&all->awake))) {
        watch_unmark_awake(w);
        watch_wake(w);
    }
}

void watch_end(struct watch *w)
{
    if (w->state != WATCH_ENDED)
        watch_set_state(w, WATCH_ENDED);
    watch_wake(w);
}

void watch_cut(struct watch *w)
{
    watch_queue_done(&w->queue);
    watch_set_state(w, WATCH_ENDED);
    watch_unmark_awake(w);
    w->all->cut_count++;
    if (w->stream.cut)
        w->stream.cut(&w->stream);
    else
        watch_wake(w);
}

/* --- Lines --- */

static struct rendering watch_rendering(const struct watch *w)
{
    return (struct rendering){
        .resource = w->resource,
        .view = w->view,
        .now = apiserver_now(w->all->server),
        .scratch = &w->all->server->doc,
    };
}

/* The server's buffer as a line; NULL without memory. */
static struct watch_line *line_of_text(struct watches *all)
{
    const struct buf *text = &all->server->text;

    return text->failed ? NULL : watch_line_new(buf_str(text));
}

/* The same for a caller that wants the object. */
static struct watch_line *line_of_itself(const struct rendering *r, enum watch_event_type type,
                                         const struct object *o)
{
    _cleanup_(object_unref_p) struct object *shown = NULL;
    struct error err;

    return render_as_object(r, o, &shown, &err) == 0 ? watch_line_new_object(type, shown) : NULL;
}

static struct watch_line *line_of_object(const struct watch *w, enum watch_event_type type,
                                         const struct object *o)
{
    struct rendering r = watch_rendering(w);

    if (w->wants_objects)
        return line_of_itself(&r, type, o);
    buf_clear(&w->all->server->text);
    render_watch_event(&r, type, o, w->wants_columns, &w->all->server->text);
    return line_of_text(w->all);
}

/* The previous version of the object, with the revision at which it left the selection. Stored text is
 * canonical: the first resourceVersion in it is the object's own, and only names and the uid precede it. NULL
 * without memory. */
static const struct object *watches_left(struct watches *all, const struct store_event *ev)
{
    static const char key[] = "\"resourceVersion\":\"";
    struct apiserver *s = all->server;
    const char *at, *end;
    struct error err;

    if (all->left)
        return all->left;
    at = memmem(ev->old->text.s, ev->old->text.len, key, sizeof key - 1);
    assert(at); /* every stored object has one */
    at += sizeof key - 1;
    end = strchr(at, '"');
    assert(end);
    buf_clear(&s->text);
    buf_add(&s->text, ev->old->text.s, (size_t)(at - ev->old->text.s));
    buf_addf(&s->text, "%lld", (long long)ev->revision);
    buf_add(&s->text, end, ev->old->text.len - (size_t)(end - ev->old->text.s));
    if (s->text.failed)
        return NULL;
    (void)object_decode_stored(ev->old->kind, buf_str(&s->text), &s->doc, &all->left, &err);
    return all->left;
}

static bool encoding_fits(const struct encoding *e, const struct watch *w, enum watch_event_type type)
{
    return e->resource == w->resource && e->type == type && e->shape == w->view.shape &&
           e->include == w->view.include && e->has_columns == w->wants_columns &&
           e->wants_objects == w->wants_objects && strcmp(e->shape_version, w->view.shape_version) == 0;
}

static struct watch_line *encode_event(struct watch *w, const struct store_event *ev,
                                       struct watch_change change)
{
    struct watches *all = w->all;
    const struct object *o = change.has_left ? watches_left(all, ev) : ev->object;

    return o ? line_of_object(w, change.type, o) : NULL;
}

/* The line of an event for a watch, shared if another watch had the same; NULL without memory. */
static struct watch_line *encoding_get(struct watch *w, const struct store_event *ev,
                                       struct watch_change change)
{
    struct watches *all = w->all;
    struct encoding made = {
        .resource = w->resource,
        .shape = w->view.shape,
        .shape_version = w->view.shape_version,
        .include = w->view.include,
        .type = change.type,
        .has_columns = w->wants_columns,
        .wants_objects = w->wants_objects,
    };

    for (size_t i = 0; i < all->encodings.count; i++)
        if (encoding_fits(&all->encodings.items[i], w, change.type))
            return watch_line_ref(all->encodings.items[i].line);
    made.line = encode_event(w, ev, change);
    if (made.line && vec_push(&all->encodings, made) == 0)
        (void)watch_line_ref(made.line); /* one reference for the list, one for the caller */
    return made.line;
}

void watches_drop_encodings(struct watches *all)
{
    for (size_t i = 0; i < all->encodings.count; i++)
        (void)watch_line_unref(all->encodings.items[i].line);
    vec_clear(&all->encodings);
    all->left = object_unref(all->left);
}

/* --- Sending --- */

static int watch_push(struct watch *w, struct watch_line *line)
{
    int r = line ? watch_queue_push(&w->queue, line) : -ERR_NO_MEMORY;

    (void)watch_line_unref(line);
    return r;
}

/* The same for an event about an object. */
static int watch_push_event(struct watch *w, struct watch_line *line)
{
    int r = watch_push(w, line);

    if (r == 0) {
        w->wants_columns = false;
        w->all->events_count[w->resource->info->kind]++;
    }
    return r;
}

bool watch_match_event(const struct watch *w, const struct store_event *ev, struct watch_change *ret)
{
    bool was, is;

    if (ev->revision <= w->position || !selection_may_have(&w->selection, ev->object))
        return false;
    was = ev->old && selection_matches(&w->selection, ev->old);
    is = !ev->is_delete && selection_matches(&w->selection, ev->object);
    if (is)
        *ret = (struct watch_change){ .type = was ? WATCH_MODIFIED : WATCH_ADDED };
    else
        *ret = (struct watch_change){ .type = WATCH_DELETED, .has_left = !ev->is_delete };
    return was || is;
}

int watch_send_change(struct watch *w, const struct store_event *ev, struct watch_change change)
{
    return watch_push_event(w, encoding_get(w, ev, change));
}

int watch_send_initial(struct watch *w, const struct object *o)
{
    return watch_push_event(w, line_of_object(w, WATCH_ADDED, o));
}

int watch_send_bookmark(struct watch *w, int64_t revision, bool ends_initial_events)
{
    struct rendering r = watch_rendering(w);

    buf_clear(&w->all->server->text);
    render_bookmark(&r, revision, ends_initial_events, &w->all->server->text);
    return watch_push(w, line_of_text(w->all));
}

void watch_send_error(struct watch *w, const struct error *e)
{
    buf_clear(&w->all->server->text);
    render_watch_error(e, &w->all->server->text);
    (void)watch_push(w, line_of_text(w->all)); /* without memory the stream still ends */
}

/* --- Events of the store --- */

static void on_event(void *ctx, const struct store_event *ev)
{
    struct watches *all = ctx;
    struct watch *w, *next;
    struct watch_change change;

    for (w = TAILQ_FIRST(&all->live[ev->object->kind->kind]); w; w = next) {
        next = TAILQ_NEXT(w, link); /* closing moves w to another list */
        if (!watch_match_event(w, ev, &change))
            continue;
        if (watch_send_change(w, ev, change) < 0)
            watch_cut(w);
        else
            watch_mark_awake(w);
    }
    watches_drop_encodings(all);
}

static void on_settled(void *ctx, int64_t revision)
{
    struct watches *all = ctx;
    int64_t start = store_history_start(all->server->store);
    struct watch *w, *next;

    all->settled = revision;
    for (w = TAILQ_FIRST(&all->lagging); w; w = next) {
        next = TAILQ_NEXT(w, link);
        if (w->position < start)
            watch_cut(w);
    }
    watches_wake(all);
}

/* --- All watches --- */

int watches_new(struct apiserver *s, struct watches **ret, struct error *err)
{
    struct watches *all = calloc(1, sizeof *all);

    if (!all)
        return error_no_memory(err);
    all->server = s;
    all->settled = store_revision(s->store);
    for (size_t i = 0; i < KIND_COUNT; i++)
        TAILQ_INIT(&all->live[i]);
    TAILQ_INIT(&all->lagging);
    TAILQ_INIT(&all->ended);
    TAILQ_INIT(&all->awake);
    rng_fork(&s->rng, "watches", &all->rng);
    store_watch(s->store, &all->watcher, KIND_COUNT, on_event, on_settled, all);
    *ret = all;
    return 0;
}

static void watches_each(struct watches *all, void (*fn)(struct watch *w))
{
    struct watch_list *lists[KIND_COUNT + 2];
    size_t count = 0;

    for (size_t i = 0; i < KIND_COUNT; i++)
        lists[count++] = &all->live[i];
    lists[count++] = &all->lagging;
    lists[count++] = &all->ended;
    for (size_t i = 0; i < count; i++) {
        struct watch *w, *next;

        for (w = TAILQ_FIRST(lists[i]); w; w = next) {
            next = TAILQ_NEXT(w, link);
            fn(w);
        }
    }
}

/* The carrier still has it, and frees it. */
static void watch_orphan(struct watch *w)
{
    timer_disarm(&w->timer);
    watch_remove(w);
}

struct watches *watches_free(struct watches *all)
{
    if (!all)
        return NULL;
    store_unwatch(all->server->store, &all->watcher);
    watches_each(all, watch_orphan);
    watches_drop_encodings(all);
    vec_done(&all->encodings);
    free(all);
    return NULL;
}

void watches_stop(struct watches *all)
{
    watches_each(all, watch_end);
}

size_t watches_count(const struct watches *all)
{
    return all->count;
}

uint64_t watches_cut_count(const struct watches *all)
{
    return all->cut_count;
}

uint64_t watches_events_count(const struct watches *all, enum kind k)
{
    return all->events_count[k];
}
