/* A list reads the store's image in order and strings texts together. Pages behind the first show the objects
 * as they were when the first was made: the store rebuilds that from its history, as long as it remembers. A
 * list of one name goes straight to it. Of a long list only the beginning is written here, the rest as its
 * client reads: lists.h. */
#include "apiserver/read.h"

#include <inttypes.h>

#include "api/quote.h"
#include "apiserver/await.h"
#include "apiserver/lists.h"
#include "apiserver/render.h"
#include "apiserver/server.h"
#include "apiserver/walk.h"
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
                    r->group, quote(quoted, sizeof quoted, c->route.name));
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

struct reading {
    struct call *call;
    const struct list_options *options;
    int64_t at;       /* the revision to read at; 0 for the newest */
    int64_t revision; /* which that is */
    struct walk walk;
    struct page page;
};

/* How many objects stand behind the page: what the token says, what the store knows, or counted. */
static int64_t count_left(struct reading *x)
{
    const struct list_options *o = x->options;
    int64_t shown = (int64_t)x->page.objects.count, left = 1; /* the one that was seen already */

    if (o->is_continued && o->token.left > shown)
        return o->token.left - shown;
    if (!o->is_continued && x->at == 0 && o->selection.ns.len == 0)
        return (int64_t)store_count(x->call->server->store, stored_kind(x->call->route.resource)) - shown;
    while (walk_next(&x->walk))
        left++;
    return left;
}

/* Says in the metadata that there is more, and where. */
static int page_continue(struct reading *x, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(CONTINUE_TOKEN_BYTES_MAX);
    const struct object *last = x->page.objects.items[x->page.objects.count - 1];
    struct continue_token token = {
        .revision = x->revision,
        .ns = str_of(last->ns),
        .name = str_of(last->name),
        .left = x->options->selection.is_partial ? -1 : count_left(x),
    };

    continue_token_write(&token, &text);
    if (text.failed)
        return buf_check(&text, "continue token", err);
    x->page.meta.continue_token = str_of(call_copy(x->call, buf_str(&text)));
    x->page.meta.remaining = token.left;
    return 0;
}

static int page_fill(struct reading *x, struct error *err)
{
    int64_t limit = x->options->limit;
    const struct object *next;

    x->page.meta = (struct list_meta){
        .resource_version = str_of(call_text(x->call, "%" PRId64, x->revision)),
        .remaining = -1,
    };
    while ((next = walk_next(&x->walk))) {
        if (limit && (int64_t)x->page.objects.count == limit)
            return page_continue(x, err);
        if (vec_push(&x->page.objects, next) < 0)
            return error_no_memory(err);
    }
    return 0;
}

static int page_read(struct reading *x, struct error *err)
{
    const struct list_options *o = x->options;
    const struct store *store = x->call->server->store;
    int r;

    x->at = o->match == MATCH_EXACT ? o->revision : 0;
    if (o->is_continued && o->token.revision != CONTINUE_AT_NEWEST)
        x->at = o->token.revision;
    x->revision = store_revision(store);
    if (x->at > x->revision) /* a token of a server that knew more: as unreadable as what is forgotten */
        return error_set(err, ERR_GONE, "revision %" PRId64 " is ahead of this server", x->at);
    if (x->at == x->revision)
        x->at = 0;
    if (x->at)
        x->revision = x->at;
    r = walk_begin(&x->walk, store, x->call->route.resource, &o->selection, o->token.ns, o->token.name, x->at,
                   err);
    if (r < 0)
        return r;
    r = page_fill(x, err);
    walk_done(&x->walk);
    return r;
}

/* 410. Of a list that was continued the answer says how to go on, from where it was, with what is there now.
 */
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

bool read_page(struct call *c, const struct list_options *o, struct page *ret)
{
    struct reading x = { .call = c, .options = o };
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

void page_done(struct page *p)
{
    vec_done(&p->objects);
}

/* --- List --- */

/* Of a list that ends with what there is now. */
static struct list_meta newest_meta(struct call *c)
{
    return (struct list_meta){
        .resource_version = str_of(call_text(c, "%" PRId64, store_revision(c->server->store))),
        .remaining = -1,
    };
}

/* For a caller that wants objects: the page goes over as it is. */
static void list_answer_objects(struct call *c, const struct rendering *r, const struct page *p)
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
    _cleanup_(page_done_p) struct page p = { 0 };
    struct rendering r = rendering_of(c);

    if (read_page(c, o, &p))
        list_answer_objects(c, &r, &p);
}

/* A list under way. */
struct listing {
    struct call *call;
    const struct list_options *options;
    struct list_rest rest;
    size_t first_len; /* of the text up to rest.seen */
};

/* Adds an object. False when there are more than are written at once. */
static bool list_add(struct listing *x, const struct object *o)
{
    struct call *c = x->call;

    list_text_add(&x->rest.text, o, &c->reply);
    if (!c->carrier->takes_documents)
        return true;
    if (c->reply.len <= LIST_FIRST_BYTES || !x->rest.seen) {
        x->rest.seen = o;
        x->first_len = c->reply.len;
    }
    return c->reply.len < LIST_WHOLE_BYTES_MAX;
}

/* Everything is written, or the client gets the beginning and the rest as it reads. */
static void list_end(struct listing *x, bool is_whole)
{
    struct call *c = x->call;

    if (is_whole) {
        list_text_end(&x->rest.text, &c->reply);
        call_answer_reply(c, 200, list_text_type(&x->rest.text));
        return;
    }
    if (!c->reply.failed && x->first_len)
        buf_cut(&c->reply, x->first_len);
    lists_answer(c, &x->rest);
}

static void list_write_page(struct listing *x, const struct page *p)
{
    bool is_whole = true;

    if (p->objects.count > 0)
        x->rest.until = p->objects.items[p->objects.count - 1];
    list_text_begin(&x->rest.text, &p->meta, &x->call->reply);
    for (size_t i = 0; i < p->objects.count && is_whole; i++)
        is_whole = list_add(x, p->objects.items[i]);
    list_end(x, is_whole);
}

/* All objects of the newest revision: nobody has to know how many there are before the first is written. */
static void list_write_newest(struct listing *x)
{
    struct call *c = x->call;
    struct list_meta meta = newest_meta(c);
    const struct object *o;
    bool is_whole = true;
    struct error err;
    struct walk w;

    if (walk_begin(&w, c->server->store, c->route.resource, &x->options->selection, STR_LIT(""), STR_LIT(""),
                   /* at= */ 0, &err) < 0) {
        call_fail(c, &err, /* about= */ NULL);
        return;
    }
    w.steps_left = c->carrier->takes_documents ? LIST_STEPS_MAX : 0;
    list_text_begin(&x->rest.text, &meta, &c->reply);
    while (is_whole && (o = walk_next(&w)))
        is_whole = list_add(x, o);
    list_end(x, is_whole && !w.is_paused);
    walk_done(&w);
}

/* A page must be known to its end before it begins: its metadata says what comes behind it. */
static void list_serve_page(struct listing *x)
{
    _cleanup_(page_done_p) struct page p = { 0 };

    if (!read_page(x->call, x->options, &p))
        return;
    x->rest.revision = p.revision;
    list_write_page(x, &p);
}

static void list_serve(struct call *c)
{
    const struct list_options *o = c->work;
    struct listing x = { .call = c, .options = o, .rest.text.rendering = rendering_of(c) };

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
