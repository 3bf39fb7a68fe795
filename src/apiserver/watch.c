/* One watch: its start, catching up, bookmarks, and its end.
 *
 * A watch that begins with existing objects, or in the past, is not filled beforehand: its client pulls, and
 * each pull that finds the queue empty reads the next few objects or events from the store. So it costs the
 * same for ten objects and for a million. All of them are of one revision; if the client is so slow that the
 * store no longer has it, the watch ends with 410 or is closed. A watch that has caught up is live. */
#include "apiserver/watch.h"

#include <stdlib.h>

#include "apiserver/await.h"
#include "apiserver/list_options.h"
#include "apiserver/list_walk.h"
#include "apiserver/server.h"
#include "apiserver/watch_int.h"
#include "base/mutant.h"

/* Read ahead per pull. */
#define REFILL_LINES_MAX 64
#define REFILL_BYTES_MAX ((size_t)256 << 10)
/* The same for objects that need no text: most objects are in the store anyway. Low enough below the queue's
 * limit for one object more. */
#define REFILL_OBJECTS_MAX 512
#define REFILL_OBJECTS_BYTES_MAX ((size_t)4 << 20)

#define BOOKMARK_EVERY_NS (60 * NS_PER_S)
#define BOOKMARK_BEFORE_END_NS (2 * NS_PER_S)
#define TIMEOUT_NS_MIN (1800 * NS_PER_S)

#define SELECTION_BYTES_MAX ((size_t)1 << 20)
/* Most watches select at most a namespace or a name, and there are thousands of them. */
#define SELECTION_BYTES_USUAL 128

/* --- Catching up --- */

static bool is_filled(const struct watch *w)
{
    if (w->wants_objects)
        return w->queue.count >= REFILL_OBJECTS_MAX || w->queue.bytes >= REFILL_OBJECTS_BYTES_MAX;
    return w->queue.count >= REFILL_LINES_MAX || w->queue.bytes >= REFILL_BYTES_MAX;
}

static int send_objects(struct watch *w, bool *ret_is_through, struct error *err)
{
    /* After the last object: its name followed by NUL sorts after it and before any other. */
    struct str from_ns = w->last ? str_of(w->last->ns) : STR_LIT("");
    struct str from_name = w->last ? (struct str){ w->last->name, strlen(w->last->name) + 1 } : STR_LIT("");
    const struct object *o;
    struct list_walk walk;
    int r = list_walk_begin(&walk, w->all->server->store, w->resource, &w->selection, from_ns, from_name,
                            w->position, err);

    if (r < 0)
        return r;
    while (r == 0 && !is_filled(w) && (o = list_walk_next(&walk))) {
        r = watch_send_initial(w, o);
        (void)object_unref(w->last);
        w->last = object_ref(o);
    }
    list_walk_done(&walk);
    if (r < 0)
        return error_no_memory(err);
    *ret_is_through = !is_filled(w);
    return 0;
}

static int refill_initial(struct watch *w, struct error *err)
{
    bool is_through = true;
    int r = 0;

    if (w->position > 0) /* there are no objects at revision 0 */
        r = send_objects(w, &is_through, err);
    if (r < 0 || !is_through)
        return r;
    w->last = object_unref(w->last);
    if (w->marks_initial_end && watch_send_bookmark(w, w->position, /* ends_initial_events= */ true) < 0)
        return error_no_memory(err);
    watch_set_state(w, WATCH_REPLAY);
    return 0;
}

struct replaying {
    struct watch *watch;
    int r;
};

static bool replay_event(void *ctx, const struct store_event *ev)
{
    struct replaying *replay = ctx;
    struct watch *w = replay->watch;
    struct watch_change change;

    if (watch_match_event(w, ev, &change)) {
        replay->r = watch_send_change(w, ev, change);
        watches_drop_encodings(w->all);
    }
    w->position = ev->revision;
    return replay->r == 0 && !is_filled(w);
}

static int refill_replay(struct watch *w, struct error *err)
{
    struct replaying x = { .watch = w };
    int64_t after = w->position + (MUTANT("server-loses-an-event") ? 1 : 0);
    int r = store_replay(w->all->server->store, stored_kind(w->resource), after, replay_event, &x, err);

    if (r < 0)
        return r;
    if (x.r < 0)
        return error_no_memory(err);
    if (!is_filled(w))
        watch_set_state(w, WATCH_LIVE);
    return 0;
}

static bool is_lagging(const struct watch *w)
{
    return w->all && (w->state == WATCH_INITIAL || w->state == WATCH_REPLAY);
}

/* --- The stream --- */

static struct watch *watch_of(struct stream *s)
{
    return CONTAINER_OF(s, struct watch, stream);
}

static void watch_fill(struct watch *w)
{
    struct error err;

    while (w->queue.count == 0 && is_lagging(w)) {
        if ((w->state == WATCH_INITIAL ? refill_initial(w, &err) : refill_replay(w, &err)) == 0)
            continue;
        /* Queued lines are valid; the error follows them. */
        watch_send_error(w, &err);
        watch_set_state(w, WATCH_ENDED);
    }
}

static bool is_over(const struct watch *w)
{
    return w->state == WATCH_ENDED || !w->all;
}

static ssize_t watch_pull(struct stream *s, char *to, size_t room)
{
    struct watch *w = watch_of(s);
    size_t done;

    watch_fill(w);
    done = watch_queue_pull(&w->queue, to, room);
    if (done)
        return (ssize_t)done;
    return is_over(w) ? -1 : 0;
}

int watch_next(struct stream *s, struct watch_line **ret)
{
    struct watch *w = watch_of(s);
    struct watch_line *l;

    watch_fill(w);
    l = watch_queue_next(&w->queue);
    if (!l)
        return is_over(w) ? -1 : 0;
    *ret = l;
    return 1;
}

/* Lines that are read ahead are not shared. A live watch shares its lines and has its own limits. */
static size_t watch_held(const struct stream *s)
{
    const struct watch *w = watch_of((struct stream *)(uintptr_t)s);

    return is_lagging(w) ? sizeof *w + w->queue.bytes : 0;
}

static struct watch *watch_free(struct watch *w)
{
    if (!w)
        return NULL;
    watch_remove(w);
    timer_disarm(&w->timer);
    watch_queue_done(&w->queue);
    (void)object_unref(w->last);
    arena_done(&w->arena);
    free(w);
    return NULL;
}
DEFINE_CLEANUP(struct watch, watch_free)

static void watch_close(struct stream *s)
{
    (void)watch_free(watch_of(s));
}

/* --- Timers --- */

static uint64_t next_bookmark_ns(const struct watch *w, uint64_t now_ns)
{
    uint64_t last_call = w->ends_at_ns - BOOKMARK_BEFORE_END_NS, at = now_ns + BOOKMARK_EVERY_NS;

    if (!w->has_bookmarks)
        return UINT64_MAX;
    return now_ns < last_call && last_call < at ? last_call : at;
}

static void watch_arm(struct watch *w, uint64_t now_ns)
{
    w->bookmark_at_ns = next_bookmark_ns(w, now_ns);
    timer_arm(&w->timer, w->bookmark_at_ns < w->ends_at_ns ? w->bookmark_at_ns : w->ends_at_ns);
}

/* All commits that the store has reported, of any kind, are in the queue or before it. A lagging watch gets
 * no bookmarks: it has other lines to send. */
static void send_bookmark(struct watch *w)
{
    int64_t revision = w->position > w->all->settled ? w->position : w->all->settled;

    if (w->state != WATCH_LIVE)
        return;
    if (watch_send_bookmark(w, revision, /* ends_initial_events= */ false) < 0)
        watch_cut(w);
    else
        watch_wake(w);
}

static void on_timer(void *ctx)
{
    struct watch *w = ctx;
    uint64_t now_ns = loop_now_ns(w->all->server->loop);

    if (now_ns >= w->ends_at_ns) {
        watch_end(w);
        return;
    }
    watch_arm(w, now_ns);
    send_bookmark(w);
}

/* --- Start --- */

static void watch_start(struct watch *w, struct watches *all, const struct list_options *o)
{
    uint64_t now_ns = loop_now_ns(all->server->loop);
    int64_t newest = store_revision(all->server->store);

    if (o->initial == INITIAL_SENT || (o->initial == INITIAL_UNSET && o->revision == 0))
        w->state = WATCH_INITIAL;
    else
        w->state = o->revision && o->revision < newest ? WATCH_REPLAY : WATCH_LIVE;
    w->position = w->state == WATCH_INITIAL || o->revision == 0 ? newest : o->revision;
    w->selection = o->selection;
    w->has_bookmarks = o->has_bookmarks;
    w->marks_initial_end = o->has_bookmarks && o->initial == INITIAL_SENT;
    /* Clients without a timeout reconnect at random times, not all at once. */
    w->ends_at_ns = now_ns + (o->timeout_seconds ? (uint64_t)o->timeout_seconds * NS_PER_S
                                                 : TIMEOUT_NS_MIN + rng_below(&all->rng, TIMEOUT_NS_MIN));
    watch_add(all, w);
    timer_init(&w->timer, all->server->loop, on_timer, w);
    watch_arm(w, now_ns);
}

static struct watch *watch_new(const struct call *c)
{
    struct watch *w = calloc(1, sizeof *w);

    if (!w)
        return NULL;
    w->stream = (struct stream){ .pull = watch_pull, .close = watch_close, .held = watch_held };
    w->arena = ARENA_INIT(SELECTION_BYTES_MAX);
    arena_reserve(&w->arena, SELECTION_BYTES_USUAL);
    w->resource = c->route.resource;
    w->view = c->view;
    w->wants_columns = c->view.shape == SHAPE_TABLE;
    w->wants_objects = c->wants_objects;
    return w;
}

static bool may_watch(struct call *c)
{
    struct error err;

    if (c->server->is_stopping) {
        (void)error_set(&err, ERR_UNAVAILABLE, "the server is shutting down");
        call_fail(c, &err, &(struct status_info){ .has_details = true, .retry_after_seconds = 1 });
        return false;
    }
    if (!c->is_trusted && !c->wants_objects && watches_count(c->server->watches) >= WATCHES_COUNT_MAX) {
        call_add_header(c, "Retry-After", "1");
        call_answer_text(c, 429, "Too many requests, please try again later.");
        return false;
    }
    return true;
}

/* Reads the options again, into memory of the watch: the call is freed first. */
static void watch_begin(struct call *c)
{
    _cleanup_(watch_free_p) struct watch *w = NULL;
    struct list_options o;
    struct error err;

    if (!may_watch(c))
        return;
    w = watch_new(c);
    if (!w) {
        (void)error_no_memory(&err);
        call_fail(c, &err, /* about= */ NULL);
        return;
    }
    if (!list_options_read(c, /* is_watch= */ true, &w->arena, &o))
        return;
    watch_start(w, c->server->watches, &o);
    call_answer_stream(c, &TAKE(w)->stream, "application/json");
}

void watch_serve(struct call *c)
{
    struct list_options o;

    if (!list_options_read(c, /* is_watch= */ true, &c->arena, &o))
        return;
    /* Initial objects must not be older than requested; for later events the stream itself waits. */
    await_revision(c, o.initial == INITIAL_SENT ? o.revision : 0, watch_begin);
}
