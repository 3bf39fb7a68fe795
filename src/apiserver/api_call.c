/* The parts of a call: memory, headers, and the functions that answer it, with an object, text, a stream or a
 * Status.
 *
 * A call is answered exactly once. A response that exceeds its buffer becomes a 500. */
#include "apiserver/api_call.h"

#include <assert.h>
#include <stdarg.h>

#include "api/yaml.h"

#define CALL_ARENA_BYTES_MAX ((size_t)16 << 20)

void call_init(struct call *c, const struct carrier *carrier, void *carrier_ctx)
{
    *c = (struct call){
        .carrier = carrier,
        .carrier_ctx = carrier_ctx,
        .arena = ARENA_INIT(CALL_ARENA_BYTES_MAX),
        .route = { .path = "/" },
        .view = { .shape_version = "v1" },
    };
    buf_init(&c->reply, CALL_ANSWER_BYTES_MAX);
}

void call_done(struct call *c)
{
    (void)object_unref(TAKE(c->result));
    for (size_t i = 0; i < c->items.count; i++)
        (void)object_unref(c->items.items[i]);
    vec_done(&c->items);
    vec_done(&c->headers);
    buf_done(&c->reply);
    arena_done(&c->arena);
}

struct str call_header(const struct call *c, const char *name)
{
    struct str value = c->carrier->header(c, name);

    return value.s ? value : STR_LIT("");
}

const char *call_text(struct call *c, const char *fmt, ...)
{
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(CALL_ARENA_BYTES_MAX);
    const char *text;
    va_list args;

    va_start(args, fmt);
    buf_addv(&b, fmt, args);
    va_end(args);
    text = call_copy(c, buf_str(&b));
    return text;
}

const char *call_copy(struct call *c, struct str s)
{
    const char *copy = arena_dup(&c->arena, s);

    return copy ? copy : "";
}

void call_add_header(struct call *c, const char *name, const char *value)
{
    (void)vec_push(&c->headers,
                   (struct http_header){ name, value }); /* without memory the header is omitted */
}

void call_warn(struct call *c, struct str text)
{
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(16384);

    buf_add_cstr(&b, "299 - \"");
    for (size_t i = 0; i < text.len; i++) {
        char ch = text.s[i];

        if (ch == '"' || ch == '\\')
            buf_add_char(&b, '\\');
        buf_add_char(&b, (unsigned char)ch < ' ' || ch == 0x7f ? ' ' : ch);
    }
    buf_add_char(&b, '"');
    if (!b.failed)
        call_add_header(c, "Warning", call_copy(c, buf_str(&b)));
}

static void call_end(struct call *c, int status, const char *content_type)
{
    assert(c->status == 0); /* must be answered only once */
    c->status = status;
    c->content_type = content_type;
    if (c->reply.failed) {
        buf_clear(&c->reply);
        c->status = 500;
        c->content_type = "text/plain";
        buf_add_cstr(&c->reply, "response exceeds the size limit of this server\n");
    }
    if (c->on_answer)
        c->on_answer(c);
    c->carrier->answer(c);
}

void call_answer_reply(struct call *c, int status, const char *content_type)
{
    call_end(c, status, content_type);
}

void call_answer_text(struct call *c, int status, const char *text)
{
    buf_add_cstr(&c->reply, text);
    if (status >= 400)
        call_add_header(c, "X-Content-Type-Options", "nosniff");
    call_end(c, status, "text/plain; charset=utf-8");
}

static void rewrite_json(const struct view *view, struct buf *text)
{
    struct json d;
    struct error err;
    json_ref v;

    json_init(&d, CALL_ANSWER_BYTES_MAX);
    if (json_parse(&d, buf_str(text), &v, &err) == 0) {
        buf_clear(text);
        if (view->media == MEDIA_JSON)
            json_write_pretty(&d, v, text);
        else
            (void)yaml_write(&d, v, text, &err); /* a failure sticks in the buffer */
    }
    json_done(&d);
}

const char *view_content_type(const struct view *view)
{
    return view->media == MEDIA_JSON ? "application/json" : "application/yaml";
}

void view_shape_json(const struct view *view, struct buf *text)
{
    if (view->is_pretty || view->media != MEDIA_JSON)
        rewrite_json(view, text);
    if (view->media == MEDIA_JSON)
        buf_add_char(text, '\n');
}

static void answer_json_reply(struct call *c, int status)
{
    view_shape_json(&c->view, &c->reply);
    call_end(c, status, view_content_type(&c->view));
}

void call_answer_json(struct call *c, int status, const struct json *d, json_ref v)
{
    json_write(d, v, &c->reply);
    answer_json_reply(c, status);
}

void call_answer_json_text(struct call *c, int status, struct str json)
{
    buf_add_str(&c->reply, json);
    answer_json_reply(c, status);
}

void call_answer_json_reply(struct call *c, int status)
{
    answer_json_reply(c, status);
}

void call_answer_stream(struct call *c, struct stream *s, const char *content_type)
{
    c->stream = s;
    call_end(c, 200, content_type);
}

void call_answer_objects(struct call *c, int status)
{
    call_end(c, status, /* content_type= */ NULL);
}

void call_fail_status(struct call *c, const struct status_info *s)
{
    buf_clear(&c->reply);
    if (s->retry_after_seconds > 0)
        call_add_header(c, "Retry-After", call_text(c, "%lld", (long long)s->retry_after_seconds));
    call_add_header(c, "X-Content-Type-Options", "nosniff");
    status_write(s, &c->reply);
    answer_json_reply(c, s->code);
}

bool call_refuse(struct call *c, int code, const char *reason, bool has_details, const char *message)
{
    call_fail_status(c, &(struct status_info){
                            .code = code, .reason = reason, .has_details = has_details, .message = message });
    return false;
}

void call_fail(struct call *c, const struct error *e, const struct status_info *about)
{
    struct status_info s = about ? *about : (struct status_info){ 0 };
    struct status_cause cause = { .message = e->msg };

    s.is_success = false;
    s.code = status_http(e->code);
    s.reason = status_reason(e->code);
    s.message = e->msg;
    /* Internal errors are marked as such, in the message and as a cause. */
    if (e->code == ERR_NO_MEMORY || e->code == ERR_IO || e->code == ERR_INTERNAL) {
        s.message = call_text(c, "Internal error occurred: %s", e->msg);
        s.has_details = true;
        s.causes = &cause;
        s.causes_count = 1;
    }
    call_fail_status(c, &s);
}

void call_fail_resource(struct call *c, const struct error *e, struct str name)
{
    const struct resource *r = c->route.resource;
    struct status_info about = { .has_details = true, .name = call_copy(c, name) };

    about.group = r ? r->group : call_copy(c, c->route.group);
    about.kind = r ? r->plural : call_copy(c, c->route.plural);
    call_fail(c, e, &about);
}

void call_fail_invalid(struct call *c, const struct kind_info *k, struct str name,
                       const struct field_errors *errors)
{
    buf_clear(&c->reply);
    call_add_header(c, "X-Content-Type-Options", "nosniff");
    status_write_invalid(k, name, errors, &c->reply);
    answer_json_reply(c, 422);
}

void call_fail_options(struct call *c, const char *options, const struct field_errors *errors)
{
    const struct kind_info k = { .name = options, .group = "meta.k8s.io" };

    call_fail_invalid(c, &k, STR_LIT(""), errors);
}
