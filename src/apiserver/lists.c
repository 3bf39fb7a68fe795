/* Streams of long lists: each pull continues the walk over a snapshot and writes as much as the client takes.
 *
 * All streams are in one list, ordered by their last progress; the first is closed when snapshots hold too
 * much memory. */
#include "apiserver/lists.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "apiserver/list_options.h"
#include "apiserver/list_walk.h"
#include "apiserver/server.h"
#include "base/log.h"
#include "store/store.h"

#define SELECTION_BYTES_MAX ((size_t)1 << 20)

struct list_stream {
    struct stream stream;
    struct lists *all; /* NULL when the server was freed, or the list was closed */
    TAILQ_ENTRY(list_stream) link;
    struct list_text text;
    struct arena arena; /* memory of the selection */
    struct selection selection;
    struct store_snapshot snapshot;
    struct object *seen;  /* last object visited */
    struct object *until; /* last object to write; NULL: all */
    struct buf rest;      /* written but not pulled yet */
    size_t rest_at;
    bool is_through; /* all objects are written */
    bool is_written; /* everything is written */
};

TAILQ_HEAD(list_streams, list_stream);

struct lists {
    struct apiserver *server;
    struct store_watcher watcher;
    struct list_streams streams; /* ordered by their last pull */
    uint64_t cut_count;
};

static struct list_stream *list_of(const struct stream *s)
{
    return CONTAINER_OF((struct stream *)(uintptr_t)s, struct list_stream, stream);
}

/* Removes it from the other lists and releases its snapshot. */
static void list_leave(struct list_stream *l)
{
    if (l->all)
        TAILQ_REMOVE(&l->all->streams, l, link);
    l->all = NULL;
    store_snapshot_close(&l->snapshot);
    l->seen = object_unref(l->seen);
    l->until = object_unref(l->until);
}

static struct list_stream *list_free(struct list_stream *l)
{
    if (!l)
        return NULL;
    list_leave(l);
    buf_done(&l->rest);
    arena_done(&l->arena);
    free(l);
    return NULL;
}
DEFINE_CLEANUP(struct list_stream, list_free)

static void list_close(struct stream *s)
{
    (void)list_free(list_of(s));
}

static size_t list_held(const struct stream *s)
{
    const struct list_stream *l = list_of(s);

    return sizeof *l + l->rest.cap;
}

/* --- Writing --- */

/* Pulls from the text written before. */
static size_t rest_pull(struct list_stream *l, char *to, size_t room)
{
    size_t left = l->rest.len - l->rest_at, n = left < room ? left : room;

    if (n == 0)
        return 0;
    memcpy(to, l->rest.data + l->rest_at, n);
    l->rest_at += n;
    if (l->rest_at == l->rest.len) {
        buf_done(&l->rest);
        l->rest_at = 0;
    }
    return n;
}

/* Writes an object, or the end of the list. */
static void list_add(struct list_stream *l, const struct object *o, struct buf *out)
{
    if (o)
        list_text_add(&l->text, o, out);
    else
        list_text_end(&l->text, out);
}

/* The same if it fits: false, and nothing is written, if it does not. */
static bool list_add_if_fits(struct list_stream *l, const struct object *o, struct buf *out)
{
    bool has_items = l->text.has_items;
    size_t len = out->len;

    list_add(l, o, out);
    if (!out->failed)
        return true;
    out->len = len;
    out->failed = ERR_NONE;
    out->room = out->len_max;
    l->text.has_items = has_items;
    return false;
}

/* The same into the rest, for an object larger than the room. */
static int list_add_large(struct list_stream *l, const struct object *o, struct error *err)
{
    struct buf *text = &l->all->server->text;

    buf_clear(text);
    list_add(l, o, text);
    if (text->failed)
        return buf_check(text, "item of a list", err);
    buf_add_str(&l->rest, buf_str(text));
    return l->rest.failed ? error_no_memory(err) : 0;
}

static void list_set_seen(struct list_stream *l, const struct object *o)
{
    (void)object_unref(l->seen);
    l->seen = object_ref(o);
    l->is_through = o == l->until;
}

/* Continues the walk until out is full, or enough objects were visited. */
static int list_write_objects(struct list_stream *l, struct list_walk *w, struct buf *out, struct error *err)
{
    int r = 0;

    while (r == 0 && l->rest.len == 0 && !l->is_written) {
        const struct object *o = l->is_through ? NULL : list_walk_next(w);

        if (!o && w->is_paused) {
            list_set_seen(l, w->seen);
            return 0;
        }
        if (!list_add_if_fits(l, o, out)) {
            if (out->len > 0)
                return 0; /* it is first in the next pull */
            r = list_add_large(l, o, err);
        }
        if (o)
            list_set_seen(l, o);
        else
            l->is_written = true;
    }
    return r;
}

static int list_write_more(struct list_stream *l, struct buf *out, struct error *err)
{
    struct str from_ns = l->seen ? str_of(l->seen->ns) : STR_LIT("");
    /* After the last object: its name followed by NUL sorts after it and before any other. */
    struct str from_name = l->seen ? (struct str){ l->seen->name, strlen(l->seen->name) + 1 } : STR_LIT("");
    struct list_walk w;
    int r = list_walk_begin_snapshot(&w, &l->snapshot, l->text.rendering.resource, &l->selection, from_ns,
                                     from_name, err);

    if (r < 0)
        return r;
    w.steps_left = LIST_STEPS_MAX;
    r = list_write_objects(l, &w, out, err);
    list_walk_done(&w);
    return r;
}

/* --- The stream --- */

static ssize_t list_pull_more(struct list_stream *l, char *to, size_t room)
{
    struct buf out = BUF_ON(to, room);
    struct error err;

    if (list_write_more(l, &out, &err) < 0) {
        log_warn("list cannot be continued", LOG_STR("error", err.msg));
        return STREAM_FAILED;
    }
    if (l->is_written)
        list_leave(l);
    return (ssize_t)(out.len + rest_pull(l, to + out.len, room - out.len));
}

static ssize_t list_pull(struct stream *s, char *to, size_t room)
{
    struct list_stream *l = list_of(s);
    size_t n = rest_pull(l, to, room);
    ssize_t more;

    if (l->all) {
        TAILQ_REMOVE(&l->all->streams, l, link);
        TAILQ_INSERT_TAIL(&l->all->streams, l, link);
    }
    if (n > 0)
        return (ssize_t)n;
    if (l->is_written)
        return STREAM_END;
    more = l->all ? list_pull_more(l, to, room) : STREAM_FAILED;
    if (more == 0)
        s->wake(s); /* nothing was selected among these objects: other callbacks first */
    return more;
}

/* --- Starting --- */

static struct list_stream *list_new(const struct list_rest *rest)
{
    struct list_stream *l = calloc(1, sizeof *l);

    if (!l)
        return NULL;
    l->stream =
        (struct stream){ .pull = list_pull, .close = list_close, .held = list_held, .is_document = true };
    l->arena = ARENA_INIT(SELECTION_BYTES_MAX);
    l->text = rest->text;
    l->seen = rest->seen ? object_ref(rest->seen) : NULL;
    l->until = rest->until ? object_ref(rest->until) : NULL;
    l->is_through = l->seen && l->seen == l->until;
    buf_init(&l->rest, CALL_ANSWER_BYTES_MAX);
    return l;
}

void lists_answer(struct call *c, const struct list_rest *rest)
{
    _cleanup_(list_free_p) struct list_stream *l = list_new(rest);
    struct lists *all = c->server->lists;
    struct list_options o;
    struct error err;
    int r;

    if (!l) {
        (void)error_no_memory(&err);
        call_fail(c, &err, /* about= */ NULL);
        return;
    }
    if (!list_options_read(c, /* is_watch= */ false, &l->arena, &o))
        return;
    l->selection = o.selection;
    r = store_snapshot_open(c->server->store, stored_kind(c->route.resource), rest->revision, &l->snapshot,
                            &err);
    if (r < 0) {
        call_fail(c, &err, /* about= */ NULL);
        return;
    }
    buf_add_str(&l->rest, buf_str(&c->reply));
    if (buf_check(&l->rest, "list", &err) < 0) {
        call_fail(c, &err, /* about= */ NULL);
        return;
    }
    buf_done(&c->reply);
    l->all = all;
    TAILQ_INSERT_TAIL(&all->streams, l, link);
    call_answer_stream(c, &TAKE(l)->stream, list_text_type(&rest->text));
}

/* --- All of them --- */

static void list_cut(struct list_stream *l)
{
    l->all->cut_count++;
    log_info("list closed, client reads too slowly", LOG_STR("resource", l->text.rendering.resource->plural));
    list_leave(l);
    buf_done(&l->rest);
    l->rest_at = 0;
    l->stream.cut(&l->stream);
}

static void on_settled(void *ctx, int64_t revision)
{
    struct lists *all = ctx;
    struct list_stream *l;

    (void)revision;
    while (store_snapshots_bytes(all->server->store) > LISTS_PAST_BYTES_MAX &&
           (l = TAILQ_FIRST(&all->streams)))
        list_cut(l);
}

int lists_new(struct apiserver *s, struct lists **ret, struct error *err)
{
    struct lists *all = calloc(1, sizeof *all);

    if (!all)
        return error_no_memory(err);
    all->server = s;
    TAILQ_INIT(&all->streams);
    store_watch(s->store, &all->watcher, KIND_COUNT, /* event= */ NULL, on_settled, all);
    *ret = all;
    return 0;
}

struct lists *lists_free(struct lists *all)
{
    struct list_stream *l;

    if (!all)
        return NULL;
    store_unwatch(all->server->store, &all->watcher);
    while ((l = TAILQ_FIRST(&all->streams)))
        list_leave(l);
    free(all);
    return NULL;
}

uint64_t lists_cut_count(const struct lists *all)
{
    return all->cut_count;
}
