/* An attempt becomes a call that is served at once, in start(): a write is in the store's next batch before
 * the caller goes on. Whatever comes back is told from a deferred callback, so that nobody above is called
 * from inside the server or the store.
 *
 * The answer to a get, a list or a write is the server's object, and so is what a watch tells of one. What is
 * rare (refusals, bookmarks, the error that ends a watch) comes as the text that everybody gets, and is read
 * as everybody's is (client/answer.h): the words cannot differ. A watch is told WATCH_EVENTS_PER_TURN events
 * and then lets others have their turn; that is no less than the store commits at a time, so it keeps up.
 *
 * A call that is cancelled before it is answered stays with the server, which hands it back some time later,
 * perhaps when the carrier is gone: the call needs nothing but itself to be released. */
#include "apiserver/local_client.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/uid.h"
#include "apiserver/watch.h"
#include "apiserver/watch_queue.h"
#include "client/answer.h"
#include "client/target.h"
#include "store/store.h"

#define WATCH_EVENTS_PER_TURN STORE_BATCH_MAX
/* Of a refusal or a raw answer, while it is read. */
#define ANSWER_TREE_BYTES_MAX ((size_t)64 << 20)
/* Path and query; the call's memory has its own bound. */
#define TARGET_BYTES_MAX ((size_t)8 << 20)

struct local_client {
    struct client_carrier carrier;
    struct apiserver *server;
    const struct user *user;
    /* Attempts for which there was no memory, through their work pointers. */
    struct client_attempt *failed;
    struct deferred tell_failed;
};

struct local_call {
    struct call call;
    struct client_attempt *attempt; /* NULL: cancelled, or told its end */
    struct deferred tell;
    const char *content_type; /* NULL without a body */
    bool is_answered;         /* the call is ours again */
    bool has_warned;
    bool is_cut;
    bool is_telling; /* tell() is on the stack and releases it */
};

static struct local_client *client_of(struct client_carrier *c)
{
    return CONTAINER_OF(c, struct local_client, carrier);
}

static void local_release(struct local_call *x)
{
    loop_undefer(&x->tell);
    if (x->call.stream)
        x->call.stream->close(x->call.stream);
    call_done(&x->call);
    free(x);
}

/* --- Telling --- */

static void tell_end(struct local_call *x, const struct client_answer *answer)
{
    struct client_attempt *a = TAKE(x->attempt);

    a->work = NULL;
    a->on_end(a, answer);
}

static struct client_answer answer_base(const struct local_call *x)
{
    return (struct client_answer){
        .http_status = x->call.status,
        .retry_after_seconds = -1,
        .list = { .resource_version = "", .continue_token = "", .remaining = -1 },
    };
}

/* `299 - "text"`, with its quotes taken off in place. */
static struct str unquote_warning(char *value)
{
    char *from = strchr(value, '"'), *to;
    struct str text;

    if (!from)
        return str_of(value);
    text = (struct str){ ++from, 0 };
    for (to = from; *from != '\0' && *from != '"'; from++) {
        if (*from == '\\' && from[1] != '\0')
            from++;
        *to++ = *from;
    }
    text.len = (size_t)(to - text.s);
    return text;
}

static void tell_warnings(struct local_call *x)
{
    struct call *c = &x->call;

    x->has_warned = true;
    for (size_t i = 0; i < c->headers.count && x->attempt; i++) {
        char *copy;

        if (strcmp(c->headers.items[i].name, "Warning") != 0)
            continue;
        copy = arena_dup(&c->arena, str_of(c->headers.items[i].value));
        if (copy)
            x->attempt->on_warning(x->attempt, unquote_warning(copy));
    }
}

/* -1 when there is no such header. */
static int64_t retry_after(const struct call *c)
{
    int64_t seconds;

    for (size_t i = 0; i < c->headers.count; i++)
        if (strcmp(c->headers.items[i].name, "Retry-After") == 0 &&
            str_to_int64(str_of(c->headers.items[i].value), &seconds) && seconds >= 0)
            return seconds;
    return -1;
}

/* What came as text, as everybody reads it. */
static void tell_text(struct local_call *x)
{
    _cleanup_(json_done_p) struct json tree;
    struct answer_reader reader = { .scratch = &tree, .keeps_managed_fields = true };
    struct raw_answer raw = {
        .http_status = x->call.status,
        .body = buf_str(&x->call.reply),
        .retry_after_seconds = retry_after(&x->call),
    };
    struct read_answer read = { 0 };

    json_init(&tree, ANSWER_TREE_BYTES_MAX);
    answer_read(&reader, x->attempt->request, &raw, &read);
    tell_end(x, &read.answer);
    read_answer_done(&read);
}

static void tell_list(struct local_call *x)
{
    const struct call *c = &x->call;
    struct client_answer answer = answer_base(x);

    answer.list = (struct client_list){
        .items = c->items.items,
        .count = c->items.count,
        .resource_version = c->list.resource_version.s,
        .continue_token = c->list.continue_token.len ? c->list.continue_token.s : "",
        .remaining = c->list.remaining,
    };
    tell_end(x, &answer);
}

static void tell_failure(struct local_call *x, enum err code, const char *message)
{
    struct client_answer answer = answer_base(x);

    answer.r = error_set(&answer.error, code, "%s", message);
    answer.was_connected = true;
    tell_end(x, &answer);
}

static void tell_answer(struct local_call *x)
{
    struct client_answer answer = answer_base(x);
    enum client_verb verb = x->attempt->request->verb;

    answer.object = x->call.result;
    if (x->call.stream) /* a raw path that is a watch after all */
        tell_failure(x, ERR_UNSUPPORTED, "the path answers with a stream");
    else if (x->call.result)
        tell_end(x, &answer);
    else if (verb == CLIENT_LIST && x->call.status == 200)
        tell_list(x);
    else
        tell_text(x);
}

/* --- Watches --- */

static void tell_event(void *ctx, const struct client_event *ev)
{
    struct local_call *x = ctx;

    x->attempt->on_event(x->attempt, ev);
}

static void tell_text_event(struct local_call *x, const struct watch_line *l)
{
    _cleanup_(json_done_p) struct json tree;
    struct answer_reader reader = { .scratch = &tree, .keeps_managed_fields = true };

    json_init(&tree, ANSWER_TREE_BYTES_MAX);
    answer_read_event(&reader, x->attempt->request, str_trim((struct str){ l->text, l->len }), tell_event, x);
}

static void tell_line(struct local_call *x, const struct watch_line *l)
{
    static const enum client_event_type types[WATCH_EVENT_TYPE_COUNT] = {
        [WATCH_ADDED] = CLIENT_ADDED,
        [WATCH_MODIFIED] = CLIENT_MODIFIED,
        [WATCH_DELETED] = CLIENT_DELETED,
    };
    char version[RESOURCE_VERSION_BYTES];

    if (!l->object) {
        tell_text_event(x, l);
        return;
    }
    resource_version_format(l->object->revision, version);
    tell_event(x, &(struct client_event){ .type = types[l->type], .object = l->object, .version = version });
}

static void tell_watch_end(struct local_call *x)
{
    struct client_answer answer = answer_base(x);

    tell_end(x, &answer);
}

static void tell_events(struct local_call *x)
{
    struct stream *s = x->call.stream;

    for (unsigned budget = WATCH_EVENTS_PER_TURN; x->attempt && !x->is_cut && budget > 0; budget--) {
        _cleanup_(watch_line_unref_p) struct watch_line *l = NULL;
        int r = watch_next(s, &l);

        if (r == 0)
            return; /* wake() will follow */
        if (r < 0)
            tell_watch_end(x);
        else
            tell_line(x, l);
    }
    if (x->attempt)
        loop_defer(&x->tell);
}

/* --- The call --- */

static void tell(void *ctx)
{
    struct local_call *x = ctx;

    x->is_telling = true;
    if (!x->has_warned)
        tell_warnings(x);
    if (!x->attempt)
        ; /* cancelled meanwhile */
    else if (x->is_cut)
        tell_failure(x, ERR_UNAVAILABLE, "the server cut the watch off: it has fallen behind");
    else if (x->call.stream && x->attempt->request->verb == CLIENT_WATCH)
        tell_events(x);
    else
        tell_answer(x);
    x->is_telling = false;
    if (!x->attempt)
        local_release(x);
}

static void local_wake(struct stream *s)
{
    struct local_call *x = s->carrier;

    loop_defer(&x->tell);
}

static void local_cut(struct stream *s)
{
    struct local_call *x = s->carrier;

    x->is_cut = true;
    loop_defer(&x->tell);
}

static struct str local_header(const struct call *c, const char *name)
{
    const struct local_call *x = c->carrier_ctx;

    if (strcmp(name, "Content-Type") == 0 && x->content_type)
        return str_of(x->content_type);
    if (strcmp(name, "User-Agent") == 0)
        return STR_LIT("berth");
    return (struct str){ NULL, 0 };
}

static void local_each_header(const struct call *c, call_header_fn *fn, void *ctx)
{
    (void)c;
    (void)fn;
    (void)ctx; /* only an identity is looked for among them, and ours is not shown but known */
}

static void local_answer(struct call *c)
{
    struct local_call *x = c->carrier_ctx;

    x->is_answered = true;
    if (!x->attempt) {
        local_release(x);
        return;
    }
    if (c->stream) {
        c->stream->carrier = x;
        c->stream->wake = local_wake;
        c->stream->cut = local_cut;
    }
    loop_defer(&x->tell);
}

static const struct carrier local_carrier = { local_header, local_each_header, local_answer };

static enum http_method method_of(const struct client_request *q)
{
    static const enum http_method methods[CLIENT_VERB_COUNT] = {
        [CLIENT_GET] = HTTP_GET,     [CLIENT_LIST] = HTTP_GET,    [CLIENT_WATCH] = HTTP_GET,
        [CLIENT_CREATE] = HTTP_POST, [CLIENT_PATCH] = HTTP_PATCH, [CLIENT_DELETE] = HTTP_DELETE,
        [CLIENT_RAW] = HTTP_GET,
    };

    return methods[q->verb];
}

/* Target and body as the call's own: it may outlive the request. */
static int local_fill(struct local_call *x, const struct client_request *q)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(TARGET_BYTES_MAX);
    struct arena *arena = &x->call.arena;
    const char *target, *body;
    struct str bytes = q->body;

    target_write(q, &text);
    target = text.failed ? NULL : arena_dup(arena, buf_str(&text));
    if (q->verb == CLIENT_DELETE) {
        buf_clear(&text);
        target_write_delete(q, &text);
        bytes = buf_str(&text);
    }
    if (bytes.len > CALL_BODY_BYTES_MAX) {
        x->call.body_is_too_large = true; /* the server says so without reading it */
        bytes = STR_LIT("");
    }
    body = text.failed ? NULL : arena_dup(arena, bytes);
    if (!target || !body)
        return -ERR_NO_MEMORY;
    x->content_type = target_content_type(q);
    x->call.method = method_of(q);
    x->call.target = str_of(target);
    x->call.body = (struct str){ body, bytes.len };
    return 0;
}

static struct local_call *local_call_new(struct local_client *l, struct client_attempt *a)
{
    struct local_call *x = calloc(1, sizeof *x);

    if (!x)
        return NULL;
    call_init(&x->call, &local_carrier, x);
    deferred_init(&x->tell, l->server->loop, tell, x);
    if (local_fill(x, a->request) < 0) {
        local_release(x);
        return NULL;
    }
    x->attempt = a;
    x->call.user = l->user;
    x->call.is_trusted = !l->user;
    x->call.wants_objects = a->request->verb != CLIENT_RAW && !a->request->wants_text;
    return x;
}

/* --- Without memory --- */

static void tell_failed(void *ctx)
{
    struct local_client *l = ctx;
    struct client_attempt *a = l->failed;
    struct client_answer answer = {
        .retry_after_seconds = -1,
        .list = { .resource_version = "", .continue_token = "", .remaining = -1 },
    };

    l->failed = a->work;
    if (l->failed)
        loop_defer(&l->tell_failed);
    a->work = NULL;
    answer.r = error_no_memory(&answer.error);
    a->on_end(a, &answer);
}

static void fail_later(struct local_client *l, struct client_attempt *a)
{
    a->work = l->failed;
    l->failed = a;
    loop_defer(&l->tell_failed);
}

/* Whether it was one of them. */
static bool forget_failed(struct local_client *l, struct client_attempt *a)
{
    for (struct client_attempt *at = l->failed, *before = NULL; at; before = at, at = at->work) {
        if (at != a)
            continue;
        if (before)
            before->work = a->work;
        else
            l->failed = a->work;
        if (!l->failed)
            loop_undefer(&l->tell_failed);
        return true;
    }
    return false;
}

/* --- The carrier --- */

static void local_start(struct client_carrier *c, struct client_attempt *a)
{
    struct local_client *l = client_of(c);
    struct local_call *x = local_call_new(l, a);

    if (!x) {
        fail_later(l, a);
        return;
    }
    a->work = x;
    apiserver_serve(l->server, &x->call);
}

static void local_cancel(struct client_carrier *c, struct client_attempt *a)
{
    struct local_client *l = client_of(c);
    struct local_call *x;

    if (!forget_failed(l, a)) {
        x = a->work;
        x->attempt = NULL;
        loop_undefer(&x->tell);
        if (x->is_answered && !x->is_telling)
            local_release(x);
    }
    a->work = NULL;
}

static void local_free(struct client_carrier *c)
{
    struct local_client *l = client_of(c);

    assert(!l->failed);
    free(l);
}

static const struct client_carrier_type local_type = { local_start, local_cancel, local_free };

int local_client_new(struct apiserver *s, const struct user *user, struct client_carrier **ret,
                     struct error *err)
{
    struct local_client *l = calloc(1, sizeof *l);

    if (!l)
        return error_no_memory(err);
    l->carrier.type = &local_type;
    l->server = s;
    l->user = user;
    deferred_init(&l->tell_failed, s->loop, tell_failed, l);
    *ret = &l->carrier;
    return 0;
}
