/* Interprets the answers of servers, the same way for every carrier.
 *
 * A refusal is interpreted by its Status, whose reason takes precedence over its code. For a refusal without
 * one (by a proxy, for a path that is not served) a Status is derived from the HTTP status, so that callers
 * need not distinguish; except for a 404, which is then about the path and not about an object.
 *
 * The text is parsed once. Objects are decoded from the tree, item by item: an item that cannot be decoded is
 * left out of the list, without other effects. Costs are linear in the length of the text. */
#include "client/client_answer.h"

#include <string.h>

#include "api/json.h"
#include "api/list.h"
#include "api/quote.h"
#include "api/schema.h"

/* Limit of a refusal's texts and a list's metadata. */
#define ANSWER_TEXT_BYTES_MAX ((size_t)16 << 20)
#define ANSWER_BODY_SHOWN_BYTES_MAX ((size_t)2 << 10)
#define ANSWER_NAME_SHOWN_BYTES 128

#define INITIAL_EVENTS_END "k8s.io/initial-events-end"

/* --- Refusals --- */

/* The meaning of an HTTP status without a Status. The row with 0 is for all others. */
static const struct {
    int http;
    const char *reason;
    const char *words; /* "the server …" */
} refusals[] = {
    { 400, "BadRequest", "did not understand the request" },
    { 401, "Unauthorized", "does not accept the credentials" },
    { 403, "Forbidden", "does not allow the request" },
    { 404, "NotFound", "does not serve this path" },
    { 405, "MethodNotAllowed", "does not support this method here" },
    { 406, "NotAcceptable", "cannot answer in JSON" },
    { 409, "Conflict", "reports a conflict with the present state" },
    { 410, "Gone", "no longer has the requested data" },
    { 413, "RequestEntityTooLarge", "does not accept a request of this size" },
    { 415, "UnsupportedMediaType", "does not accept this type of body" },
    { 422, "Invalid", "reports that the request is invalid" },
    { 429, "TooManyRequests", "has too many requests" },
    { 503, "ServiceUnavailable", "is not available" },
    { 504, "Timeout", "did not answer in time" },
    { 0, "", "answered with an unexpected status" },
};

static size_t refusal_row(int http_status)
{
    size_t i = 0;

    while (refusals[i].http && refusals[i].http != http_status)
        i++;
    return i;
}

static const char *refusal_reason(const struct client_request *q, int http_status)
{
    if (http_status == 409 && q->verb == CLIENT_CREATE)
        return "AlreadyExists";
    if (http_status >= 500 && refusals[refusal_row(http_status)].http == 0)
        return "InternalError";
    return refusals[refusal_row(http_status)].reason;
}

/* The beginning of a body of unknown content, made printable: other bytes become blanks. */
static void add_body_shown(struct str body, struct buf *out)
{
    struct str rest = str_trim(body);

    if (rest.len > ANSWER_BODY_SHOWN_BYTES_MAX)
        rest.len = ANSWER_BODY_SHOWN_BYTES_MAX;
    if (rest.len)
        buf_add_cstr(out, ": ");
    while (rest.len) {
        size_t n = str_utf8_first(rest);
        bool is_text = n > 1 || (n == 1 && rest.s[0] >= ' ' && rest.s[0] != 0x7f);

        n = n ? n : 1;
        buf_add(out, is_text ? rest.s : " ", is_text ? n : 1);
        rest.s += n;
        rest.len -= n;
    }
}

static void make_up_status(const struct client_request *q, const struct raw_answer *raw,
                           struct read_answer *ret)
{
    _cleanup_(buf_done_p) struct buf message = BUF_INIT(ANSWER_BODY_SHOWN_BYTES_MAX + 256);
    const char *copy;

    buf_addf(&message, "the server %s (HTTP %d)", refusals[refusal_row(raw->http_status)].words,
             raw->http_status);
    add_body_shown(raw->body, &message);
    copy = message.failed ? NULL : arena_dup(&ret->arena, buf_str(&message));
    ret->status = (struct status_info){
        .code = raw->http_status,
        .message = copy ? copy : "",
        .reason = refusal_reason(q, raw->http_status),
        .continue_token = "",
        .has_details = raw->retry_after_seconds > 0,
        .name = "",
        .group = "",
        .kind = "",
        .uid = "",
        .retry_after_seconds = raw->retry_after_seconds > 0 ? raw->retry_after_seconds : 0,
    };
}

/* False when the body contains no Status that is a refusal. */
static bool read_refusal(const struct answer_reader *reader, const struct raw_answer *raw,
                         struct read_answer *ret)
{
    struct status_info s;
    struct error ignored;
    json_ref v;

    json_clear(reader->scratch);
    if (json_parse(reader->scratch, raw->body, &v, &ignored) < 0 ||
        status_read(reader->scratch, v, &ret->arena, &s, &ignored) < 0 || s.is_success)
        return false;
    s.code = s.code ? s.code : raw->http_status;
    ret->status = s;
    return true;
}

static bool is_write(const struct client_request *q)
{
    return q->verb == CLIENT_CREATE || q->verb == CLIENT_PATCH || q->verb == CLIENT_DELETE;
}

static void fail_with_status(struct read_answer *ret)
{
    ret->answer.r = status_error(&ret->status, &ret->answer.error);
    ret->answer.status = &ret->status;
}

static void answer_refusal(const struct answer_reader *reader, const struct client_request *q,
                           const struct raw_answer *raw, struct read_answer *ret)
{
    bool is_said = read_refusal(reader, raw, ret);

    if (!is_said)
        make_up_status(q, raw, ret);
    fail_with_status(ret);
    if (!is_said && raw->http_status == 404) {
        ret->answer.error.code = ERR_UNSUPPORTED;
        ret->answer.r = -ERR_UNSUPPORTED;
    }
    /* After an error of the server, or of a proxy that lost it, the state of the write is unknown. */
    ret->answer.may_have_happened = is_write(q) && raw->http_status >= 500;
}

/* --- Objects --- */

/* The kind in the tree must be the requested one; a tree without a kind gets it. */
static int check_kind(const struct kind_info *k, struct json *d, json_ref v, struct error *err)
{
    struct str name = json_get_text(d, v, "kind"), api_version = json_get_text(d, v, "apiVersion");
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(256);
    char said[ANSWER_NAME_SHOWN_BYTES], version[ANSWER_NAME_SHOWN_BYTES];

    if (name.len || api_version.len) {
        if (kind_by_api_version(api_version, name) == k)
            return 0;
        return error_set(err, ERR_BAD_REQUEST, "expected a %s, found a %s of %s", k->name,
                         quote_text(said, sizeof said, name),
                         quote_text(version, sizeof version, api_version));
    }
    kind_api_version(k, &text);
    json_set_string(d, v, "kind", k->name);
    json_set_string(d, v, "apiVersion", buf_cstr(&text));
    return json_check(d, err);
}

static void drop_managed_fields(const struct answer_reader *reader, json_ref object)
{
    if (!reader->keeps_managed_fields)
        (void)json_remove(reader->scratch, json_get(reader->scratch, object, "metadata"), "managedFields");
}

static int read_object(const struct answer_reader *reader, const struct kind_info *k, json_ref v,
                       struct object **ret, struct error *err)
{
    struct json *d = reader->scratch;
    int r;

    if (json_type(d, v) != JSON_OBJECT)
        return error_set(err, ERR_BAD_REQUEST, "expected a %s, found %s", k->name,
                         v ? json_type_name(json_type(d, v)) : "nothing");
    r = check_kind(k, d, v, err);
    if (r < 0)
        return r;
    drop_managed_fields(reader, v);
    r = schema_normalize(k->schema, d, v, SCHEMA_KEEP_UNKNOWN, /* report= */ NULL, err);
    return r < 0 ? r : object_new(k, d, v, ret, err);
}

/* --- Requested objects --- */

/* Requests that are answered with a Status instead of an object: deletes, and subresources that create none
 * ("binding"). */
static bool may_answer_status(const struct client_request *q)
{
    return q->verb == CLIENT_DELETE || (q->verb == CLIENT_CREATE && q->subresource);
}

static int answer_object(const struct answer_reader *reader, const struct client_request *q, json_ref v,
                         struct read_answer *ret, struct error *err)
{
    struct object *o = NULL;
    int r;

    if (json_is_string(reader->scratch, json_get(reader->scratch, v, "kind"), "Status")) {
        r = status_read(reader->scratch, v, &ret->arena, &ret->status, err);
        if (r < 0)
            return r;
        if (!ret->status.is_success) {
            fail_with_status(ret); /* the Status decides, whatever the HTTP status */
            return 0;
        }
        if (may_answer_status(q))
            return 0;
    }
    r = read_object(reader, q->kind, v, &o, err);
    if (r < 0)
        return r;
    r = vec_push(&ret->items, o);
    if (r < 0) {
        (void)object_unref(o);
        return error_no_memory(err);
    }
    ret->answer.object = o;
    return 0;
}

static int answer_items(const struct answer_reader *reader, struct list_reader *l, struct read_answer *ret,
                        struct error *err)
{
    struct client_list *list = &ret->answer.list;
    struct error why;
    int r;

    if (vec_reserve(&ret->items, l->count) < 0)
        return error_no_memory(err);
    for (;;) {
        struct object *o = NULL;
        drop_managed_fields(reader, json_first(l->d, l->items));
        r = list_next(l, &o, &why);
        if (r == 0)
            break;
        if (r == -ERR_NO_MEMORY) { /* a list with items missing because of our memory would look complete */
            *err = why;
            return r;
        }
        if (r < 0)
            list->undecodable++;
        else
            ret->items.items[ret->items.count++] = o;
    }
    list->items = ret->items.items;
    list->count = ret->items.count;
    return 0;
}

static int answer_list(const struct answer_reader *reader, const struct client_request *q, json_ref v,
                       struct read_answer *ret, struct error *err)
{
    struct json *d = reader->scratch;
    json_ref meta = json_get(d, v, "metadata");
    struct decoder decoder = { .d = d, .arena = &ret->arena, .err = err };
    struct list_reader l;
    int r = list_open(d, v, q->kind, &l, err);

    if (r < 0)
        return r;
    ret->answer.list = (struct client_list){
        .resource_version = decode_text(&decoder, meta, "resourceVersion"),
        .continue_token = decode_text(&decoder, meta, "continue"),
        .remaining = l.meta.remaining,
    };
    return decoder.r < 0 ? decoder.r : answer_items(reader, &l, ret, err);
}

static int answer_success(const struct answer_reader *reader, const struct client_request *q,
                          const struct raw_answer *raw, struct read_answer *ret, struct error *err)
{
    json_ref v;
    int r;

    if (q->verb == CLIENT_WATCH)
        return 0; /* its content was reported as events */
    if (q->verb == CLIENT_RAW || q->accept || q->wants_text) {
        ret->answer.text = raw->body;
        return 0;
    }
    json_clear(reader->scratch);
    r = json_parse(reader->scratch, raw->body, &v, err);
    if (r < 0)
        return r;
    return q->verb == CLIENT_LIST ? answer_list(reader, q, v, ret, err)
                                  : answer_object(reader, q, v, ret, err);
}

static void forget_items(struct read_answer *a)
{
    for (size_t i = 0; i < a->items.count; i++)
        (void)object_unref(a->items.items[i]);
    vec_clear(&a->items);
}

static const struct client_list no_list = { .resource_version = "", .continue_token = "", .remaining = -1 };

void answer_read(const struct answer_reader *reader, const struct client_request *q,
                 const struct raw_answer *raw, struct read_answer *ret)
{
    struct error err;
    int r;

    ret->arena = ARENA_INIT(ANSWER_TEXT_BYTES_MAX);
    ret->answer = (struct client_answer){
        .http_status = raw->http_status,
        .retry_after_seconds = raw->retry_after_seconds,
        .list = no_list,
    };
    if (raw->http_status < 200 || raw->http_status > 299) {
        answer_refusal(reader, q, raw, ret);
        return;
    }
    r = answer_success(reader, q, raw, ret, &err);
    if (r < 0) {
        forget_items(ret);
        ret->answer.list = no_list;
        ret->answer.r = error_wrap(&err, "the server's answer cannot be read");
        ret->answer.error = err;
        ret->answer.may_have_happened = is_write(q);
    }
}

void read_answer_done(struct read_answer *a)
{
    forget_items(a);
    vec_done(&a->items);
    arena_done(&a->arena);
}

/* --- Watches --- */

static const char *const event_types[] = {
    [CLIENT_ADDED] = "ADDED",       [CLIENT_MODIFIED] = "MODIFIED", [CLIENT_DELETED] = "DELETED",
    [CLIENT_BOOKMARK] = "BOOKMARK", [CLIENT_ERROR] = "ERROR",
};

/* An event and its memory. */
struct read_event {
    struct client_event event;
    struct object *object;
    struct status_info status;
    struct error error;
    struct arena arena;
};

/* A watch continues from the version of its last event: without one it would restart from the beginning. */
static int read_version(const struct json *d, json_ref object, struct read_event *ret, struct error *err)
{
    struct decoder decoder = { .d = d, .arena = &ret->arena, .err = err };

    ret->event.version = decode_text(&decoder, json_get(d, object, "metadata"), "resourceVersion");
    if (decoder.r == 0 && ret->event.version[0] == '\0')
        return error_set(err, ERR_BAD_REQUEST, "metadata.resourceVersion: Required value");
    return decoder.r;
}

static void read_error_event(const struct json *d, json_ref object, struct read_event *ret)
{
    struct error ignored;

    if (status_read(d, object, &ret->arena, &ret->status, &ignored) < 0)
        ret->status = (struct status_info){
            .code = 500,
            .message = "the server ended the watch without a reason",
            .reason = "InternalError",
            .continue_token = "",
            .name = "",
            .group = "",
            .kind = "",
            .uid = "",
        };
    (void)status_error(&ret->status, &ret->error);
    ret->event.error = &ret->error;
    ret->event.status = &ret->status;
}

static int read_event(const struct answer_reader *reader, const struct client_request *q, struct str line,
                      struct read_event *ret, struct error *err)
{
    struct json *d = reader->scratch;
    char shown[ANSWER_NAME_SHOWN_BYTES];
    json_ref v, object;
    struct str type;
    int n, r;

    json_clear(d);
    r = json_parse(d, line, &v, err);
    if (r < 0)
        return r;
    type = json_get_text(d, v, "type");
    object = json_get(d, v, "object");
    n = name_index(type, event_types, (int)ARRAY_LEN(event_types), -1);
    if (n < 0)
        return error_set(err, ERR_BAD_REQUEST, "unknown event type %s",
                         quote_text(shown, sizeof shown, type));
    ret->event.type = (enum client_event_type)n;
    if (ret->event.type == CLIENT_ERROR) {
        read_error_event(d, object, ret);
        return 0;
    }
    if (q->accept)
        ret->event.text = line;
    if (object)
        json_unlink(d, object); /* so that paths in errors begin there */
    r = read_version(d, object, ret, err);
    if (r < 0)
        return r;
    if (ret->event.type == CLIENT_BOOKMARK) {
        ret->event.ends_initial_events =
            json_is_string(d, json_path(d, object, "metadata", "annotations", INITIAL_EVENTS_END), "true");
        return 0;
    }
    return q->accept ? 0 : read_object(reader, q->kind, object, &ret->object, err);
}

void answer_read_event(const struct answer_reader *reader, const struct client_request *q, struct str line,
                       client_event_fn *fn, void *ctx)
{
    struct read_event read = { .arena = ARENA_INIT(ANSWER_TEXT_BYTES_MAX) };

    if (read_event(reader, q, line, &read, &read.error) < 0)
        read.event = (struct client_event){ .type = CLIENT_UNREADABLE, .error = &read.error };
    read.event.object = read.object;
    read.event.version = read.event.version ? read.event.version : "";
    fn(ctx, &read.event);
    (void)object_unref(read.object);
    arena_done(&read.arena);
}

/* --- Interpretation of answers --- */

bool client_is_conflict(const struct client_answer *a)
{
    if (a->r == -ERR_CONFLICT)
        return true;
    if (a->r != -ERR_INVALID || !a->status)
        return false;
    for (uint32_t i = 0; i < a->status->causes_count; i++)
        if (strcmp(a->status->causes[i].field, "metadata.uid") == 0)
            return true;
    return false;
}

bool client_is_terminating(const struct client_answer *a)
{
    return a->r == -ERR_DENIED && a->status && status_has_cause(a->status, "NamespaceTerminating");
}

bool client_is_too_large_version(const struct status_info *s)
{
    static const char words[] = "Too large resource version";

    if (!s || status_code(s) != ERR_TIMEOUT)
        return false;
    if (status_has_cause(s, "ResourceVersionTooLarge") || strstr(s->message, words))
        return true;
    for (uint32_t i = 0; i < s->causes_count; i++)
        if (strstr(s->causes[i].message, words))
            return true;
    return false;
}
