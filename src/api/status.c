#include "api/status.h"

#include <assert.h>
#include <string.h>

#include "api/json_out.h"
#include "api/object.h"
#include "base/cleanup.h"

/* Field errors hold at most 4 MiB of text (api/validate.h). */
#define STATUS_TEXT_BYTES_MAX ((size_t)16 << 20)

/* Codes that no request should end with are here all the same: whoever leaks one gets an honest answer. */
static const struct {
    int http;
    const char *reason;
} api_status[] = {
    [ERR_NONE] = { 200, "" },
    [ERR_NO_MEMORY] = { 500, "InternalError" },
    [ERR_BAD_REQUEST] = { 400, "BadRequest" },
    [ERR_INVALID] = { 422, "Invalid" },
    [ERR_NOT_FOUND] = { 404, "NotFound" },
    [ERR_EXISTS] = { 409, "AlreadyExists" },
    [ERR_CONFLICT] = { 409, "Conflict" },
    [ERR_GONE] = { 410, "Expired" },
    [ERR_UNAUTHORIZED] = { 401, "Unauthorized" },
    [ERR_DENIED] = { 403, "Forbidden" },
    [ERR_TOO_LARGE] = { 413, "RequestEntityTooLarge" },
    [ERR_TIMEOUT] = { 504, "Timeout" },
    [ERR_UNCERTAIN] = { 504, "Timeout" },
    [ERR_INCOMPLETE] = { 500, "InternalError" },
    [ERR_UNAVAILABLE] = { 503, "ServiceUnavailable" },
    [ERR_UNSUPPORTED] = { 501, "NotImplemented" },
    [ERR_BUSY] = { 429, "TooManyRequests" },
    [ERR_CANCELLED] = { 503, "ServiceUnavailable" },
    [ERR_IO] = { 500, "InternalError" },
    [ERR_INTERNAL] = { 500, "InternalError" },
    [ERR_OP_PENDING] = { 503, "ServiceUnavailable" },
    [ERR_BACKOFF] = { 503, "ServiceUnavailable" },
};
static_assert(ARRAY_LEN(api_status) == ERR_COUNT, "answer every error");

/* The way back, where several codes share an answer or the other server has words that we do not use. First
 * match wins: by reason over the whole table, then by HTTP status. */
static const struct {
    const char *reason;
    int http;
    enum err code;
} api_errors[] = {
    { "BadRequest", 400, ERR_BAD_REQUEST },
    { "Unauthorized", 401, ERR_UNAUTHORIZED },
    { "Forbidden", 403, ERR_DENIED },
    { "NotFound", 404, ERR_NOT_FOUND },
    { "MethodNotAllowed", 405, ERR_UNSUPPORTED },
    { "NotAcceptable", 406, ERR_UNSUPPORTED },
    { "Conflict", 409, ERR_CONFLICT },
    { "AlreadyExists", 409, ERR_EXISTS },
    { "Expired", 410, ERR_GONE },
    { "Gone", 410, ERR_GONE },
    { "RequestEntityTooLarge", 413, ERR_TOO_LARGE },
    { "UnsupportedMediaType", 415, ERR_UNSUPPORTED },
    { "Invalid", 422, ERR_INVALID },
    { "TooManyRequests", 429, ERR_BUSY },
    { "InternalError", 500, ERR_INTERNAL },
    { "ServerTimeout", 500, ERR_TIMEOUT },
    { "NotImplemented", 501, ERR_UNSUPPORTED },
    { "ServiceUnavailable", 503, ERR_UNAVAILABLE },
    { "Timeout", 504, ERR_TIMEOUT },
};

int status_http(enum err code)
{
    assert(code < ERR_COUNT);
    return api_status[code].http;
}

const char *status_reason(enum err code)
{
    assert(code < ERR_COUNT);
    return api_status[code].reason;
}

/* --- Reading --- */

static const struct status_cause *status_read_causes(struct decoder *dec, json_ref list, uint32_t *ret_count)
{
    struct status_cause *causes = decode_items(dec, list, sizeof *causes, ret_count);
    uint32_t n = 0;

    for (json_ref m = causes ? json_first(dec->d, list) : 0; m; m = json_next(dec->d, m))
        causes[n++] = (struct status_cause){
            .reason = decode_text(dec, m, "reason"),
            .message = decode_text(dec, m, "message"),
            .field = decode_text(dec, m, "field"),
        };
    return causes;
}

int status_read(const struct json *d, json_ref v, struct arena *arena, struct status_info *ret,
                struct error *err)
{
    struct decoder decoder = { .d = d, .arena = arena, .err = err };
    json_ref details = json_get(d, v, "details");
    int64_t code = decode_int(&decoder, v, "code", 0);
    struct status_info s;

    if (!json_is_string(d, json_get(d, v, "kind"), "Status"))
        return error_set(err, ERR_BAD_REQUEST, "the response is not a Status");
    s = (struct status_info){
        .is_success = json_is_string(d, json_get(d, v, "status"), "Success"),
        .code = code > 0 && code < 1000 ? (int)code : 0,
        .message = decode_text(&decoder, v, "message"),
        .reason = decode_text(&decoder, v, "reason"),
        .continue_token = decode_text(&decoder, json_get(d, v, "metadata"), "continue"),
        .has_details = json_type(d, details) == JSON_OBJECT,
        .name = decode_text(&decoder, details, "name"),
        .group = decode_text(&decoder, details, "group"),
        .kind = decode_text(&decoder, details, "kind"),
        .uid = decode_text(&decoder, details, "uid"),
        .retry_after_seconds = decode_int(&decoder, details, "retryAfterSeconds", 0),
    };
    s.causes = status_read_causes(&decoder, json_get(d, details, "causes"), &s.causes_count);
    if (decoder.r == 0)
        *ret = s;
    return decoder.r;
}

enum err status_code(const struct status_info *s)
{
    if (s->is_success)
        return ERR_NONE;
    for (size_t i = 0; i < ARRAY_LEN(api_errors); i++)
        if (strcmp(s->reason, api_errors[i].reason) == 0)
            return api_errors[i].code;
    for (size_t i = 0; i < ARRAY_LEN(api_errors); i++)
        if (s->code == api_errors[i].http)
            return api_errors[i].code;
    return ERR_INTERNAL;
}

int status_error(const struct status_info *s, struct error *err)
{
    enum err code = status_code(s);
    const char *message = s->message[0] != '\0' ? s->message : s->reason;

    return error_set(err, code != ERR_NONE ? code : ERR_INTERNAL, "%s",
                     message[0] != '\0' ? message : "the server refused the request without a message");
}

bool status_has_cause(const struct status_info *s, const char *reason)
{
    for (uint32_t i = 0; i < s->causes_count; i++)
        if (strcmp(s->causes[i].reason, reason) == 0)
            return true;
    return false;
}

/* --- Writing --- */

static void write_text(struct buf *out, const char *key, const char *text)
{
    if (text && text[0] != '\0')
        json_out_text(out, key, text);
}

static void write_causes(struct buf *out, const struct status_cause *causes, uint32_t count)
{
    json_out_array(out, "causes");
    for (uint32_t i = 0; i < count; i++) {
        json_out_object(out, NULL);
        write_text(out, "reason", causes[i].reason);
        write_text(out, "message", causes[i].message);
        write_text(out, "field", causes[i].field);
        json_out_end_object(out);
    }
    json_out_end_array(out);
}

static void write_details(struct buf *out, const struct status_info *s)
{
    json_out_object(out, "details");
    write_text(out, "name", s->name);
    write_text(out, "group", s->group);
    write_text(out, "kind", s->kind);
    write_text(out, "uid", s->uid);
    if (s->causes_count)
        write_causes(out, s->causes, s->causes_count);
    if (s->retry_after_seconds)
        json_out_int(out, "retryAfterSeconds", s->retry_after_seconds);
    json_out_end_object(out);
}

void status_write(const struct status_info *s, struct buf *out)
{
    json_out_object(out, NULL);
    json_out_text(out, "kind", "Status");
    json_out_text(out, "apiVersion", "v1");
    json_out_object(out, "metadata");
    write_text(out, "continue", s->continue_token);
    json_out_end_object(out);
    json_out_text(out, "status", s->is_success ? "Success" : "Failure");
    write_text(out, "message", s->message);
    write_text(out, "reason", s->reason);
    if (s->has_details)
        write_details(out, s);
    if (s->code)
        json_out_int(out, "code", s->code);
    json_out_end_object(out);
}

void status_write_error(const struct error *e, const struct status_info *about, struct buf *out)
{
    _cleanup_(buf_done_p) struct buf message = BUF_INIT(ERROR_MSG_BYTES_MAX + 64);
    struct status_cause cause = { .message = e->msg };
    struct status_info s = about ? *about : (struct status_info){ 0 };

    assert(e->code != ERR_NONE);
    s.is_success = false;
    s.has_details |= about != NULL;
    s.code = status_http(e->code);
    s.reason = status_reason(e->code);
    s.message = e->msg;
    if (s.code == 500) { /* says so, and has the bare words as its cause */
        buf_addf(&message, "Internal error occurred: %s", e->msg);
        s.message = buf_cstr(&message);
        s.has_details = true;
        s.causes = &cause;
        s.causes_count = 1;
    }
    status_write(&s, out);
}

void status_write_invalid(const struct kind_info *k, struct str name, const struct field_errors *errors,
                          struct buf *out)
{
    _cleanup_(buf_done_p) struct buf message = BUF_INIT(STATUS_TEXT_BYTES_MAX);
    _cleanup_(arena_done_p) struct arena arena = ARENA_INIT(STATUS_TEXT_BYTES_MAX);
    struct status_cause *causes = arena_array(&arena, errors->count, sizeof *causes);
    struct status_info s = {
        .code = status_http(ERR_INVALID),
        .reason = status_reason(ERR_INVALID),
        .has_details = true,
        .name = arena_dup(&arena, name),
        .group = k->group,
        .kind = k->name,
        .causes = causes,
        .causes_count = causes ? errors->count : 0,
    };

    for (uint32_t i = 0; i < s.causes_count; i++) {
        buf_clear(&message);
        field_error_message(&errors->items[i], &message);
        causes[i] = (struct status_cause){
            .reason = field_error_reason(errors->items[i].type),
            .message = arena_dup(&arena, buf_str(&message)),
            .field = errors->items[i].path,
        };
    }
    buf_clear(&message);
    field_errors_message(errors, k, name, &message);
    if (message.failed || arena.failed)
        buf_fail(out, message.failed ? message.failed : arena.failed);
    s.message = buf_cstr(&message);
    status_write(&s, out);
}
