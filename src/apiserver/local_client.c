/* The client transport within the process: turns attempts of a client into calls of the server, without HTTP.
 *
 * An attempt becomes a call that is served immediately, in start(): a write is in the store's next batch
 * before the caller continues. All results are delivered from a deferred callback, so that no callback of a
 * client runs inside the server or the store.
 *
 * The response to a get, a list or a write is the server's object, and so is that of a watch event. Rare
 * results (refusals, bookmarks, the error that ends a watch) are text, parsed as that of any server
 * (client/answer.h), so that the messages are the same. A watch delivers WATCH_EVENTS_PER_TURN events and
 * then yields to others; that is not less than the store commits at a time, so it keeps up.
 *
 * A call that is cancelled before it is answered stays with the server, which returns it later, possibly
 * after the carrier was freed: releasing it needs only the call itself. */
#include "apiserver/local_client.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/uid.h"
#include "apiserver/watch.h"
#include "apiserver/watch_queue.h"
#include "client/client_answer.h"
#include "client/client_target.h"
#include "store/store.h"

#define WATCH_EVENTS_PER_TURN STORE_BATCH_MAX
/* Limit of a refusal or a raw response while it is parsed. */
#define ANSWER_TREE_BYTES_MAX ((size_t)64 << 20)
/* Path and query; the call's arena has its own limit. */
#define TARGET_BYTES_MAX ((size_t)8 << 20)

struct local_client {
    struct client_carrier carrier;
    struct apiserver *server;
    const struct user *user;
    /* Attempts for which there was no memory, linked through their work pointers. */
    struct client_attempt *failed;
    struct deferred deliver_failed;
};

struct local_call {
    struct call call;
    struct client_attempt *attempt; /* NULL: cancelled, or ended */
    struct deferred deliver;
    const char *content_type; /* NULL without a body */
    bool is_answered;         /* the server has returned the call */
    bool has_warned;
    bool is_cut;
    bool is_delivering; /* deliver_result() is on the stack and releases it */
};

static struct local_client *client_of(struct client_carrier *c)
{
    return CONTAINER_OF(c, struct local_client, carrier);
}

static void local_release(struct local_call *local)
{
    loop_undefer(&local->deliver);
    if (local->call.stream)
        local->call.stream->close(local->call.stream);
    call_done(&local->call);
    free(local);
}

/* --- Delivering --- */

static void deliver_end(struct local_call *local, const struct client_answer *answer)
{
    struct client_attempt *a = TAKE(local->attempt);

    a->work = NULL;
    a->on_end(a, answer);
}

static struct client_answer answer_base(const struct local_call *local)
{
    return (struct client_answer){
        .http_status = local->call.status,
        .retry_after_seconds = -1,
        .list = { .resource_version = "", .continue_token = "", .remaining = -1 },
    };
}

/* Removes the quotes of `299 - "text"` in place. */
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

static void deliver_warnings(struct local_call *local)
{
    struct call *c = &local->call;

    local->has_warned = true;
    for (size_t i = 0; i < c->headers.count && local->attempt; i++) {
        char *copy;

        if (strcmp(c->headers.items[i].name, "Warning") != 0)
            continue;
        copy = arena_dup(&c->arena, str_of(c->headers.items[i].value));
        if (copy)
            local->attempt->on_warning(local->attempt, unquote_warning(copy));
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

/* Delivers a response that is text, parsed as any server's. */
static void deliver_text(struct local_call *local)
{
    _cleanup_(json_done_p) struct json tree;
    struct answer_reader reader = { .scratch = &tree, .keeps_managed_fields = true };
    struct raw_answer raw = {
        .http_status = local->call.status,
        .body = buf_str(&local->call.reply),
        .retry_after_seconds = retry_after(&local->call),
    };
    struct read_answer read = { 0 };

    json_init(&tree, ANSWER_TREE_BYTES_MAX);
    answer_read(&reader, local->attempt->request, &raw, &read);
    deliver_end(local, &read.answer);
    read_answer_done(&read);
}

static void deliver_list(struct local_call *local)
{
    const struct call *c = &local->call;
    struct client_answer answer = answer_base(local);

    answer.list = (struct client_list){
        .items = c->items.items,
        .count = c->items.count,
        .resource_version = c->list.resource_version.s,
        .continue_token = c->list.continue_token.len ? c->list.continue_token.s : "",
        .remaining = c->list.remaining,
    };
    deliver_end(local, &answer);
}

static void deliver_failure(struct local_call *local, enum err code, const char *message)
{
    struct client_answer answer = answer_base(local);

    answer.r = error_set(&answer.error, code, "%s", message);
    answer.was_connected = true;
    deliver_end(local, &answer);
}

static void deliver_answer(struct local_call *local)
{
    struct client_answer answer = answer_base(local);
    enum client_verb verb = local->attempt->request->verb;

    answer.object = local->call.result;
    if (local->call.stream) /* a raw path that turned out to be a watch */
        deliver_failure(local, ERR_UNSUPPORTED, "path returns a stream");
    else if (local->call.result)
        deliver_end(local, &answer);
    else if (verb == CLIENT_LIST && local->call.status == 200)
        deliver_list(local);
    else
        deliver_text(local);
}

/* --- Watches --- */

static void deliver_event(void *ctx, const struct client_event *ev)
{
    struct local_call *local = ctx;

    local->attempt->on_event(local->attempt, ev);
}

static void deliver_text_event(struct local_call *local, const struct watch_line *l)
{
    _cleanup_(json_done_p) struct json tree;
    struct answer_reader reader = { .scratch = &tree, .keeps_managed_fields = true };

    json_init(&tree, ANSWER_TREE_BYTES_MAX);
    answer_read_event(&reader, local->attempt->request, str_trim((struct str){ l->text, l->len }),
                      deliver_event, local);
}

static void deliver_line(struct local_call *local, const struct watch_line *l)
{
    static const enum client_event_type types[WATCH_EVENT_TYPE_COUNT] = {
        [WATCH_ADDED] = CLIENT_ADDED,
        [WATCH_MODIFIED] = CLIENT_MODIFIED,
        [WATCH_DELETED] = CLIENT_DELETED,
    };
    char version[RESOURCE_VERSION_BYTES];

    if (!l->object) {
        deliver_text_event(local, l);
        return;
    }
    resource_version_format(l->object->revision, version);
    deliver_event(local,
                  &(struct client_event){ .type = types[l->type], .object = l->object, .version = version });
}

static void deliver_events(struct local_call *local)
{
    struct stream *s = local->call.stream;

    for (unsigned budget = WATCH_EVENTS_PER_TURN; local->attempt && !local->is_cut && budget > 0; budget--) {
        _cleanup_(watch_line_unref_p) struct watch_line *l = NULL;
        int r = watch_next(s, &l);

        if (r == 0)
            return; /* wake() follows */
        if (r < 0) {
            struct client_answer answer = answer_base(local);

            deliver_end(local, &answer);
        } else {
            deliver_line(local, l);
        }
    }
    if (local->attempt)
        loop_defer(&local->deliver);
}

/* --- The call --- */

static void deliver_result(void *ctx)
{
    struct local_call *local = ctx;

    local->is_delivering = true;
    if (!local->has_warned)
        deliver_warnings(local);
    if (!local->attempt)
        ; /* cancelled meanwhile */
    else if (local->is_cut)
        deliver_failure(local, ERR_UNAVAILABLE, "watch closed by server: events were not read fast enough");
    else if (local->call.stream && local->attempt->request->verb == CLIENT_WATCH)
        deliver_events(local);
    else
        deliver_answer(local);
    local->is_delivering = false;
    if (!local->attempt)
        local_release(local);
}

static void local_call_wake(struct stream *s)
{
    struct local_call *local = s->carrier;

    loop_defer(&local->deliver);
}

static void local_cut(struct stream *s)
{
    struct local_call *local = s->carrier;

    local->is_cut = true;
    loop_defer(&local->deliver);
}

static struct str local_header(const struct call *c, const char *name)
{
    const struct local_call *local = c->carrier_ctx;

    if (strcmp(name, "Content-Type") == 0 && local->content_type)
        return str_of(local->content_type);
    if (strcmp(name, "User-Agent") == 0)
        return STR_LIT("berth");
    return (struct str){ NULL, 0 };
}

static void local_each_header(const struct call *c, call_header_fn *fn, void *ctx)
{
    (void)c;
    (void)fn;
    (void)ctx; /* only authentication reads them, and our user is known */
}

static void local_answer(struct call *c)
{
    struct local_call *local = c->carrier_ctx;

    local->is_answered = true;
    if (!local->attempt) {
        local_release(local);
        return;
    }
    if (c->stream) {
        c->stream->carrier = local;
        c->stream->wake = local_call_wake;
        c->stream->cut = local_cut;
    }
    loop_defer(&local->deliver);
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

/* Copies target and body into the call: it may outlive the request. */
static int local_fill(struct local_call *local, const struct client_request *q)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(TARGET_BYTES_MAX);
    struct arena *arena = &local->call.arena;
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
        local->call.body_is_too_large = true; /* the server reports it without reading it */
        bytes = STR_LIT("");
    }
    body = text.failed ? NULL : arena_dup(arena, bytes);
    if (!target || !body)
        return -ERR_NO_MEMORY;
    local->content_type = target_content_type(q);
    local->call.method = method_of(q);
    local->call.target = str_of(target);
    local->call.body = (struct str){ body, bytes.len };
    return 0;
}

static struct local_call *local_call_new(struct local_client *l, struct client_attempt *a)
{
    struct local_call *local = calloc(1, sizeof *local);

    if (!local)
        return NULL;
    call_init(&local->call, &local_carrier, local);
    deferred_init(&local->deliver, l->server->loop, deliver_result, local);
    if (local_fill(local, a->request) < 0) {
        local_release(local);
        return NULL;
    }
    local->attempt = a;
    local->call.user = l->user;
    local->call.is_trusted = !l->user;
    local->call.wants_objects = a->request->verb != CLIENT_RAW && !a->request->wants_text;
    return local;
}

/* --- Without memory --- */

static void deliver_failed(void *ctx)
{
    struct local_client *l = ctx;
    struct client_attempt *a = l->failed;
    struct client_answer answer = {
        .retry_after_seconds = -1,
        .list = { .resource_version = "", .continue_token = "", .remaining = -1 },
    };

    l->failed = a->work;
    if (l->failed)
        loop_defer(&l->deliver_failed);
    a->work = NULL;
    answer.r = error_no_memory(&answer.error);
    a->on_end(a, &answer);
}

/* Whether it was in the list. */
static bool remove_failed(struct local_client *l, struct client_attempt *a)
{
    for (struct client_attempt *at = l->failed, *before = NULL; at; before = at, at = at->work) {
        if (at != a)
            continue;
        if (before)
            before->work = a->work;
        else
            l->failed = a->work;
        if (!l->failed)
            loop_undefer(&l->deliver_failed);
        return true;
    }
    return false;
}

/* --- The carrier --- */

static void local_client_start(struct client_carrier *c, struct client_attempt *a)
{
    struct local_client *l = client_of(c);
    struct local_call *local = local_call_new(l, a);

    if (!local) {
        a->work = l->failed;
        l->failed = a;
        loop_defer(&l->deliver_failed);
        return;
    }
    a->work = local;
    apiserver_serve(l->server, &local->call);
}

static void local_cancel(struct client_carrier *c, struct client_attempt *a)
{
    struct local_client *l = client_of(c);
    struct local_call *local;

    if (!remove_failed(l, a)) {
        local = a->work;
        local->attempt = NULL;
        loop_undefer(&local->deliver);
        if (local->is_answered && !local->is_delivering)
            local_release(local);
    }
    a->work = NULL;
}

static void local_client_free(struct client_carrier *c)
{
    struct local_client *l = client_of(c);

    assert(!l->failed);
    free(l);
}

static const struct client_carrier_type local_type = { local_client_start, local_cancel, local_client_free };

int local_client_new(struct apiserver *s, const struct user *user, struct client_carrier **ret,
                     struct error *err)
{
    struct local_client *l = calloc(1, sizeof *l);

    if (!l)
        return error_no_memory(err);
    l->carrier.type = &local_type;
    l->server = s;
    l->user = user;
    deferred_init(&l->deliver_failed, s->loop, deliver_failed, l);
    *ret = &l->carrier;
    return 0;
}
