/* Status: reading answers, writing them, codes both ways. */
#include "tests/unit/test_kind.h"

#include "api/status.h"

/* Parses the row and reads it; texts live in the arena. */
static int read_row(const char *row, struct arena *arena, struct status_info *ret)
{
    _cleanup_(json_done_p) struct json d;
    json_ref v;

    json_init(&d, 1 << 20);
    ASSERT_OK(json_parse(&d, str_of(kind_row(row)), &v, &err));
    return status_read(&d, v, arena, ret, &err);
}

static const char *written(const struct status_info *s)
{
    static struct buf out = { .len_max = 1 << 20 };

    buf_clear(&out);
    status_write(s, &out);
    ASSERT_OK(buf_check(&out, "status", &err));
    return buf_cstr(&out);
}

#define FULL                                                                                            \
    "{'kind':'Status','apiVersion':'v1','metadata':{'continue':'tok'},'status':'Failure','message':'m " \
    "\\\"q\\\"',"                                                                                       \
    "'reason':'Invalid','details':{'name':'n','group':'g','kind':'Kind','uid':'u','causes':[{'reason':" \
    "'FieldValueInvalid','message':'bad','field':'spec.x'},{'message':'only "                           \
    "words'}],'retryAfterSeconds':7},"                                                                  \
    "'code':422}"

TEST(status_reads_every_field)
{
    _cleanup_(arena_done_p) struct arena arena = ARENA_INIT(1 << 20);
    struct status_info s;

    ASSERT_OK(read_row(FULL, &arena, &s));
    assert_false(s.is_success);
    ASSERT_INT(422, s.code);
    ASSERT_STR("m \"q\"", s.message);
    ASSERT_STR("Invalid", s.reason);
    ASSERT_STR("tok", s.continue_token);
    assert_true(s.has_details);
    ASSERT_STR("n", s.name);
    ASSERT_STR("g", s.group);
    ASSERT_STR("Kind", s.kind);
    ASSERT_STR("u", s.uid);
    ASSERT_INT(2, s.causes_count);
    ASSERT_STR("FieldValueInvalid", s.causes[0].reason);
    ASSERT_STR("bad", s.causes[0].message);
    ASSERT_STR("spec.x", s.causes[0].field);
    ASSERT_STR("", s.causes[1].reason);
    ASSERT_INT(7, s.retry_after_seconds);
    assert_true(status_has_cause(&s, "FieldValueInvalid"));
    assert_false(status_has_cause(&s, "NamespaceTerminating"));
}

TEST(status_writes_what_it_read)
{
    static const char *const rows[] = {
        FULL,
        "{'kind':'Status','apiVersion':'v1','metadata':{},'status':'Success'}",
        "{'kind':'Status','apiVersion':'v1','metadata':{},'status':'Success','code':201}",
        "{'kind':'Status','apiVersion':'v1','metadata':{},'status':'Success','details':{'name':'c','kind':"
        "'configmaps','uid':'u'}}",
        "{'kind':'Status','apiVersion':'v1','metadata':{},'status':'Failure','message':'x','reason':'"
        "NotFound',"
        "'details':{},'code':404}",
        "{'kind':'Status','apiVersion':'v1','metadata':{},'status':'Failure','message':'x','reason':'Timeout'"
        ","
        "'details':{'causes':[{'reason':'ResourceVersionTooLarge','message':'y'},{}],'retryAfterSeconds':1},"
        "'code':504}",
        "{'kind':'Status','apiVersion':'v1','metadata':{},'status':'Failure','message':'x','reason':"
        "'TooManyRequests','details':{'retryAfterSeconds':1},'code':429}",
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(arena_done_p) struct arena arena = ARENA_INIT(1 << 20);
        struct status_info s;
        ASSERT_OK(read_row(rows[i], &arena, &s));
        ASSERT_STR(kind_row(rows[i]), written(&s));
    }
}

TEST(status_reads_what_is_odd)
{
    _cleanup_(arena_done_p) struct arena arena = ARENA_INIT(1 << 20);
    struct status_info s = { .code = 42 };

    ASSERT_OK(read_row("{'kind':'Status','message':5,'code':'x','details':[1],'status':null}", &arena, &s));
    ASSERT_STR("", s.message);
    ASSERT_STR("", s.name);
    ASSERT_INT(0, s.code);
    ASSERT_INT(0, s.causes_count);
    assert_false(s.has_details);
    assert_false(s.is_success);
    ASSERT_OK(read_row("{'kind':'Status','code':99999999999,'details':{'causes':[7,null]}}", &arena, &s));
    ASSERT_INT(0, s.code);
    ASSERT_INT(2, s.causes_count);
    ASSERT_STR("", s.causes[1].message);
}

TEST(status_is_an_object_of_that_kind)
{
    static const char *const rows[] = { "{'kind':'Pod'}", "[]", "'Status'", "null", "{'kind':['Status']}" };
    _cleanup_(arena_done_p) struct arena arena = ARENA_INIT(1 << 20);
    struct status_info s = { .code = 42 };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_ERR(ERR_BAD_REQUEST, read_row(rows[i], &arena, &s));
    ASSERT_STR("the response is not a Status", err.msg);
    ASSERT_ERR(ERR_BAD_REQUEST, read_row("{'kind':'Status','message':'a\\u0000b'}", &arena, &s));
    ASSERT_INT(42, s.code); /* untouched */
}

TEST(status_of_every_error_code)
{
    static const struct {
        enum err code;
        int http;
        const char *reason;
        enum err back; /* what a client makes of it */
    } rows[] = {
        { ERR_NO_MEMORY, 500, "InternalError", ERR_INTERNAL },
        { ERR_BAD_REQUEST, 400, "BadRequest", ERR_BAD_REQUEST },
        { ERR_INVALID, 422, "Invalid", ERR_INVALID },
        { ERR_NOT_FOUND, 404, "NotFound", ERR_NOT_FOUND },
        { ERR_EXISTS, 409, "AlreadyExists", ERR_EXISTS },
        { ERR_CONFLICT, 409, "Conflict", ERR_CONFLICT },
        { ERR_GONE, 410, "Expired", ERR_GONE },
        { ERR_UNAUTHORIZED, 401, "Unauthorized", ERR_UNAUTHORIZED },
        { ERR_DENIED, 403, "Forbidden", ERR_DENIED },
        { ERR_TOO_LARGE, 413, "RequestEntityTooLarge", ERR_TOO_LARGE },
        { ERR_TIMEOUT, 504, "Timeout", ERR_TIMEOUT },
        { ERR_UNCERTAIN, 504, "Timeout", ERR_TIMEOUT },
        { ERR_INCOMPLETE, 500, "InternalError", ERR_INTERNAL },
        { ERR_UNAVAILABLE, 503, "ServiceUnavailable", ERR_UNAVAILABLE },
        { ERR_UNSUPPORTED, 501, "NotImplemented", ERR_UNSUPPORTED },
        { ERR_BUSY, 429, "TooManyRequests", ERR_BUSY },
        { ERR_CANCELLED, 503, "ServiceUnavailable", ERR_UNAVAILABLE },
        { ERR_IO, 500, "InternalError", ERR_INTERNAL },
        { ERR_INTERNAL, 500, "InternalError", ERR_INTERNAL },
        { ERR_OP_PENDING, 503, "ServiceUnavailable", ERR_UNAVAILABLE },
        { ERR_BACKOFF, 503, "ServiceUnavailable", ERR_UNAVAILABLE },
    };
    ASSERT_INT(ERR_COUNT - 1, ARRAY_LEN(rows));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct status_info s = { .reason = rows[i].reason };
        ASSERT_INT(rows[i].http, status_http(rows[i].code));
        ASSERT_STR(rows[i].reason, status_reason(rows[i].code));
        ASSERT_INT(rows[i].back, status_code(&s));
    }
    ASSERT_INT(200, status_http(ERR_NONE));
    ASSERT_STR("", status_reason(ERR_NONE));
}

TEST(status_code_by_reason_then_by_http_status)
{
    static const struct {
        const char *reason;
        int http;
        enum err code;
    } rows[] = {
        { "Gone", 410, ERR_GONE },
        { "", 410, ERR_GONE },
        { "Unauthorized", 401, ERR_UNAUTHORIZED },
        { "", 401, ERR_UNAUTHORIZED },
        { "ServerTimeout", 500, ERR_TIMEOUT },
        { "", 500, ERR_INTERNAL },
        { "", 409, ERR_CONFLICT },
        { "AlreadyExists", 409, ERR_EXISTS },
        { "MethodNotAllowed", 405, ERR_UNSUPPORTED },
        { "NotAcceptable", 406, ERR_UNSUPPORTED },
        { "UnsupportedMediaType", 415, ERR_UNSUPPORTED },
        { "Odd", 404, ERR_NOT_FOUND },
        { "", 418, ERR_INTERNAL },
        { "", 0, ERR_INTERNAL },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_INT(rows[i].code,
                   status_code(&(struct status_info){ .reason = rows[i].reason, .code = rows[i].http }));
    ASSERT_INT(ERR_NONE, status_code(&(struct status_info){ .is_success = true, .reason = "", .code = 201 }));
}

TEST(status_as_an_error)
{
    struct status_info s = { .reason = "Conflict", .message = "has been modified", .code = 409 };

    ASSERT_ERR(ERR_CONFLICT, status_error(&s, &err));
    ASSERT_STR("has been modified", err.msg);
    s.message = "";
    ASSERT_ERR(ERR_CONFLICT, status_error(&s, &err));
    ASSERT_STR("Conflict", err.msg);
    s.reason = "";
    ASSERT_ERR(ERR_CONFLICT, status_error(&s, &err));
    ASSERT_STR("the server refused the request without a message", err.msg);
    s.is_success = true;
    ASSERT_ERR(ERR_INTERNAL, status_error(&s, &err));
}

static const char *error_status(enum err code, const char *message, const struct status_info *about)
{
    static struct buf out = { .len_max = 1 << 20 };
    struct error e;

    (void)error_set(&e, code, "%s", message);
    buf_clear(&out);
    status_write_error(&e, about, &out);
    return buf_cstr(&out);
}

#define FAILURE(rest) "{'kind':'Status','apiVersion':'v1','metadata':{},'status':'Failure'," rest "}"

TEST(status_of_an_error)
{
    struct status_info about = { .name = "x", .group = "storage.k8s.io", .kind = "storageclasses" };

    ASSERT_STR(kind_row(FAILURE("'message':'bad','reason':'BadRequest','code':400")),
               error_status(ERR_BAD_REQUEST, "bad", NULL));
    ASSERT_STR(kind_row(FAILURE("'message':'gone','reason':'NotFound','details':{'name':'x','group':"
                                "'storage.k8s.io','kind':'storageclasses'},'code':404")),
               error_status(ERR_NOT_FOUND, "gone", &about));
    ASSERT_STR(kind_row(FAILURE("'message':'no such path','reason':'NotFound','details':{},'code':404")),
               error_status(ERR_NOT_FOUND, "no such path", &(struct status_info){ 0 }));
    ASSERT_STR(kind_row(FAILURE("'message':'slow down','reason':'TooManyRequests','details':{"
                                "'retryAfterSeconds':1},'code':429")),
               error_status(ERR_BUSY, "slow down", &(struct status_info){ .retry_after_seconds = 1 }));
    ASSERT_STR(kind_row(FAILURE("'message':'Internal error occurred: disk full','reason':'InternalError',"
                                "'details':{'causes':[{'message':'disk full'}]},'code':500")),
               error_status(ERR_IO, "disk full", NULL));
}

static const char *invalid_status(enum kind kind, const char *name, const struct field_errors *errors)
{
    static struct buf out = { .len_max = 1 << 20 };

    buf_clear(&out);
    status_write_invalid(kind_info(kind), str_of(name), errors, &out);
    ASSERT_OK(buf_check(&out, "status", &err));
    return buf_cstr(&out);
}

TEST(status_of_field_errors)
{
    _cleanup_(field_errors_done_p) struct field_errors e = FIELD_ERRORS_INIT;
    struct field_path spec = path_child(NULL, "spec"), size = path_child(&spec, "size");

    errors_required(&e, &spec, "say \"what\"");
    ASSERT_STR(
        kind_row(FAILURE("'message':'ConfigMap \\\"c\\\" is invalid: spec: Required value: say \\\"what\\\"',"
                         "'reason':'Invalid','details':{'name':'c','kind':'ConfigMap','causes':[{'reason':"
                         "'FieldValueRequired','message':'Required value: say \\\"what\\\"','field':'spec'}"
                         "]},'code':422")),
        invalid_status(KIND_CONFIG_MAP, "c", &e));
    /* twice the same: once in the message, twice as a cause */
    errors_invalid(&e, &size, "-1", "too small");
    errors_invalid(&e, &size, "-1", "too small");
    ASSERT_STR(
        kind_row(FAILURE(
            "'message':'StorageClass.storage.k8s.io \\\"\\\" is invalid: [spec: Required value: say "
            "\\\"what\\\", spec.size: Invalid value: -1: too small]','reason':'Invalid','details':{"
            "'group':'storage.k8s.io','kind':'StorageClass','causes':[{'reason':'FieldValueRequired',"
            "'message':'Required value: say \\\"what\\\"','field':'spec'},{'reason':'FieldValueInvalid',"
            "'message':'Invalid value: -1: too small','field':'spec.size'},{'reason':"
            "'FieldValueInvalid','message':'Invalid value: -1: too small','field':'spec.size'}]},"
            "'code':422")),
        invalid_status(KIND_CLASS, "", &e));
}

TEST(status_failures_stick_in_the_buffer)
{
    struct status_info s = { .message = "a message longer than the buffer" };
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(64);

    status_write(&s, &out);
    ASSERT_ERR(ERR_TOO_LARGE, buf_check(&out, "status", &err));
}

TEST_MAIN()
