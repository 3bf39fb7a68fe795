/* Get and list. A list reads the store's objects in order and concatenates their texts. Later pages show the
 * objects as they were when the first page was read: the store rebuilds them from its history, as long as it
 * has it. A list of one name is a lookup. Of a long list only the beginning is written here, the rest as its
 * client reads: lists.h. */
#include "apiserver/read.h"

#include <inttypes.h>

#include "api/quote.h"
#include "apiserver/await.h"
#include "apiserver/list_walk.h"
#include "apiserver/lists.h"
#include "apiserver/render.h"
#include "apiserver/server.h"
#include "base/cleanup.h"

#define CONTINUE_IS_TOO_OLD                                                                                \
    "The provided continue parameter is too old to display a consistent list result. You can start a new " \
    "list without the continue parameter, or use the continue token in this response to retrieve the "     \
    "remainder of the results. Continuing with the provided token results in an inconsistent list - "      \
    "objects "                                                                                             \
    "that were created, modified, or deleted between the time the first chunk was returned and now may "   \
    "show "                                                                                                \
    "up in the list."
#define VERSION_IS_TOO_OLD "The resourceVersion for the provided list is too old."

/* --- Get --- */

void read_fail_not_found(struct call *c)
{
    const struct resource *r = c->route.resource;
    char quoted[ERROR_MSG_BYTES_MAX / 2];
    struct error err;

    (void)error_set(&err, ERR_NOT_FOUND, "%s%s%s %s not found", r->plural, r->group[0] != '\0' ? "." : "",
                    r->group, quote_text(quoted, sizeof quoted, c->route.name));
    call_fail_resource(c, &err, c->route.name);
}

static void get_serve(struct call *c)
{
    const struct resource *r = c->route.resource;
    const struct object *o =
        store_get(c->server->store, stored_kind(r), call_copy(c, c->route.ns), call_copy(c, c->route.name));

    if (o)
        call_answer_object(c, 200, o);
    else
        read_fail_not_found(c);
}

void read_get(struct call *c)
{
    struct error err;
    int64_t revision;

    if (list_options_revision(&c->params, &revision, &err) < 0)
        call_fail(c, &err, /* about= */ NULL);
    else
        await_revision(c, revision, get_serve);
}

/* --- Pages --- */

struct page_reading {
    struct call *call;
    const struct list_options *options;
    int64_t at;       /* the revision to read at; 0 for the newest */
    int64_t revision; /* the revision that is read */
    struct list_walk walk;
    struct list_page page;
};

/* Number of objects after the page: from the token, from the store, or counted. */
static int64_t count_left(struct page_reading *reading)
{
    const struct list_options *o = reading->options;
    int64_t shown = (int64_t)reading->page.objects.count,
            left = 1; /* one object after the page was read already */

    if (o->is_continued && o->token.left > shown)
        return o->token.left - shown;
    if (!o->is_continued && reading->at == 0 && o->selection.ns.len == 0)
        return (int64_t)store_count(reading->call->server->store,
                                    stored_kind(reading->call->route.resource)) -
               shown;
    while (list_walk_next(&reading->walk))
        left++;
    return left;
}

/* Sets the continue token in the metadata. */
static int page_continue(struct page_reading *reading, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(CONTINUE_TOKEN_BYTES_MAX);
    const struct object *last = reading->page.objects.items[reading->page.objects.count - 1];
    struct continue_token token = {
        .revision = reading->revision,
        .ns = str_of(last->ns),
        .name = str_of(last->name),
        .left = reading->options->selection.is_partial ? -1 : count_left(reading),
    };

    continue_token_write(&token, &text);
    if (text.failed)
        return buf_check(&text, "continue token", err);
    reading->page.meta.continue_token = str_of(call_copy(reading->call, buf_str(&text)));
    reading->page.meta.remaining = token.left;
    return 0;
}

static int page_fill(struct page_reading *reading, struct error *err)
{
    int64_t limit = reading->options->limit;
    const struct object *next;

    reading->page.meta = (struct list_meta){
        .resource_version = str_of(call_text(reading->call, "%" PRId64, reading->revision)),
        .remaining = -1,
    };
    while ((next = list_walk_next(&reading->walk))) {
        if (limit && (int64_t)reading->page.objects.count == limit)
            return page_continue(reading, err);
        if (vec_push(&reading->page.objects, next) < 0)
            return error_no_memory(err);
    }
    return 0;
}

static int page_read(struct page_reading *reading, struct error *err)
{
    const struct list_options *o = reading->options;
    const struct store *store = reading->call->server->store;
    int r;

    reading->at = o->match == MATCH_EXACT ? o->revision : 0;
    if (o->is_continued && o->token.revision != CONTINUE_AT_NEWEST)
        reading->at = o->token.revision;
    reading->revision = store_revision(store);
    if (reading->at > reading->revision) /* a token of a server with a later revision: treated as expired */
        return error_set(err, ERR_GONE, "revision %" PRId64 " is newer than this server's", reading->at);
    if (reading->at == reading->revision)
        reading->at = 0;
    if (reading->at)
        reading->revision = reading->at;
    r = list_walk_begin(&reading->walk, store, reading->call->route.resource, &o->selection, o->token.ns,
                        o->token.name, reading->at, err);
    if (r < 0)
        return r;
    r = page_fill(reading, err);
    list_walk_done(&reading->walk);
    return r;
}

/* 410. For a continued list the response has a token for the remaining objects at the newest revision. */
static void fail_gone(struct call *c, const struct list_options *o)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(CONTINUE_TOKEN_BYTES_MAX);
    struct continue_token token = o->token;
    struct status_info s = { .code = 410, .reason = status_reason(ERR_GONE), .message = VERSION_IS_TOO_OLD };

    if (o->is_continued) {
        token.revision = CONTINUE_AT_NEWEST;
        token.left = -1;
        if (token.name.len && token.name.s[token.name.len - 1] == '\0')
            token.name.len--; /* writing adds it again */
        continue_token_write(&token, &text);
        s.message = CONTINUE_IS_TOO_OLD;
        s.continue_token = buf_cstr(&text);
    }
    call_fail_status(c, &s);
}

bool read_page(struct call *c, const struct list_options *o, struct list_page *ret)
{
    struct page_reading x = { .call = c, .options = o };
    struct error err;
    int r = page_read(&x, &err);

    if (r == 0) {
        *ret = x.page;
        ret->revision = x.revision;
        return true;
    }
    page_done(&x.page);
    if (r == -ERR_GONE)
        fail_gone(c, o);
    else
        call_fail(c, &err, /* about= */ NULL);
    return false;
}

void page_done(struct list_page *p)
{
    vec_done(&p->objects);
}

/* --- List --- */

/* For a caller that wants objects: the page is passed on as it is. */
static void list_answer_objects(struct call *c, const struct rendering *r, const struct list_page *p)
{
    struct error err;

    c->list = p->meta;
    if (vec_reserve(&c->items, p->objects.count) < 0) {
        (void)error_no_memory(&err);
        call_fail(c, &err, /* about= */ NULL);
        return;
    }
    for (size_t i = 0; i < p->objects.count; i++) {
        if (render_as_object(r, p->objects.items[i], &c->items.items[i], &err) < 0) {
            call_fail(c, &err, /* about= */ NULL);
            return;
        }
        c->items.count++;
    }
    call_answer_objects(c, 200);
}

static void list_serve_objects(struct call *c, const struct list_options *o)
{
    _cleanup_(page_done_p) struct list_page p = { 0 };
    struct rendering r = rendering_of(c);

    if (read_page(c, o, &p))
        list_answer_objects(c, &r, &p);
}

/* A list in progress. */
struct list_writing {
    struct call *call;
    const struct list_options *options;
    struct list_rest rest;
    size_t first_len; /* length of the text up to rest.seen */
};

/* Adds an object. False when the limit of a complete response is reached. */
static bool list_add(struct list_writing *writing, const struct object *o)
{
    struct call *c = writing->call;

    list_text_add(&writing->rest.text, o, &c->reply);
    if (!c->carrier->takes_documents)
        return true;
    if (c->reply.len <= LIST_FIRST_BYTES || !writing->rest.seen) {
        writing->rest.seen = o;
        writing->first_len = c->reply.len;
    }
    return c->reply.len < LIST_WHOLE_BYTES_MAX;
}

/* Sends the complete list, or the beginning and the rest as a stream. */
static void list_end(struct list_writing *writing, bool is_whole)
{
    struct call *c = writing->call;

    if (is_whole) {
        list_text_end(&writing->rest.text, &c->reply);
        call_answer_reply(c, 200, list_text_type(&writing->rest.text));
        return;
    }
    if (!c->reply.failed && writing->first_len)
        buf_cut(&c->reply, writing->first_len);
    lists_answer(c, &writing->rest);
}

/* All objects of the newest revision: their number need not be known before the first is written. */
static void list_write_newest(struct list_writing *writing)
{
    struct call *c = writing->call;
    struct list_meta meta = {
        .resource_version = str_of(call_text(c, "%" PRId64, store_revision(c->server->store))),
        .remaining = -1,
    };
    const struct object *o;
    bool is_whole = true;
    struct error err;
    struct list_walk w;

    if (list_walk_begin(&w, c->server->store, c->route.resource, &writing->options->selection, STR_LIT(""),
                        STR_LIT(""),
                        /* at= */ 0, &err) < 0) {
        call_fail(c, &err, /* about= */ NULL);
        return;
    }
    w.steps_left = c->carrier->takes_documents ? LIST_STEPS_MAX : 0;
    list_text_begin(&writing->rest.text, &meta, &c->reply);
    while (is_whole && (o = list_walk_next(&w)))
        is_whole = list_add(writing, o);
    list_end(writing, is_whole && !w.is_paused);
    list_walk_done(&w);
}

/* A page must be read completely before it is written: its metadata has the continue token. */
static void list_serve_page(struct list_writing *writing)
{
    _cleanup_(page_done_p) struct list_page p = { 0 };
    bool is_whole = true;

    if (!read_page(writing->call, writing->options, &p))
        return;
    writing->rest.revision = p.revision;
    if (p.objects.count > 0)
        writing->rest.until = p.objects.items[p.objects.count - 1];
    list_text_begin(&writing->rest.text, &p.meta, &writing->call->reply);
    for (size_t i = 0; i < p.objects.count && is_whole; i++)
        is_whole = list_add(writing, p.objects.items[i]);
    list_end(writing, is_whole);
}

static void list_serve(struct call *c)
{
    const struct list_options *o = c->work;
    struct list_writing x = { .call = c, .options = o, .rest.text.rendering = rendering_of(c) };

    if (c->wants_objects)
        list_serve_objects(c, o);
    else if (o->limit || o->is_continued || o->match == MATCH_EXACT)
        list_serve_page(&x);
    else
        list_write_newest(&x);
}

void read_list(struct call *c)
{
    struct list_options *o = arena_alloc(&c->arena, sizeof *o);
    struct error err;

    if (!o) {
        (void)error_no_memory(&err);
        call_fail(c, &err, /* about= */ NULL);
        return;
    }
    if (!list_options_read(c, /* is_watch= */ false, &c->arena, o))
        return;
    c->work = o;
    await_revision(c, o->revision, list_serve);
}
