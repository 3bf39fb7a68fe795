/* From a server's words to answers and events: refusals with and without a Status, objects, lists, watches.
 */
#include "tests/unit/test_kind.h"

#include "client/client_answer.h"

struct asking {
    struct json scratch;
    struct answer_reader reader;
    struct client_request q;
};

/* What the last one was answered. */
static struct read_answer got;

static void asking_init(struct asking *a, enum client_verb verb, enum kind kind)
{
    *a = (struct asking){ .q = { .verb = verb, .kind = kind_info(kind) } };
    json_init(&a->scratch, 16 << 20);
    a->reader.scratch = &a->scratch;
}

static void asking_done(struct asking *a)
{
    read_answer_done(&got);
    json_done(&a->scratch);
}

static struct client_answer *ask(struct asking *a, int http_status, const char *body)
{
    struct raw_answer raw = { .http_status = http_status, .retry_after_seconds = -1 };

    read_answer_done(&got);
    got = (struct read_answer){ 0 };
    raw.body = str_of(kind_row(body));
    answer_read(&a->reader, &a->q, &raw, &got);
    assert_int_equal(got.answer.http_status, http_status);
    if (got.answer.r < 0)
        assert_int_equal(got.answer.r, -(int)got.answer.error.code);
    return &got.answer;
}

#define MAP(name, more) "{'kind':'ConfigMap','apiVersion':'v1','metadata':{'name':'" name "'" more "}}"
#define STATUS(code, reason, more)                                                          \
    "{'kind':'Status','apiVersion':'v1','status':'Failure','message':'words','code':" #code \
    ",'reason':'" reason "'" more "}"

/* --- Refusals --- */

TEST(refusals_with_a_status)
{
    static const struct {
        int http_status;
        const char *body;
        enum err code;
        int status_code;
    } rows[] = {
        { 404, STATUS(404, "NotFound", ""), ERR_NOT_FOUND, 404 },
        { 409, STATUS(409, "AlreadyExists", ""), ERR_EXISTS, 409 },
        { 409, STATUS(409, "Conflict", ""), ERR_CONFLICT, 409 },
        { 409, STATUS(409, "", ""), ERR_CONFLICT, 409 },
        { 410, STATUS(410, "Expired", ""), ERR_GONE, 410 },
        { 410, STATUS(410, "Gone", ""), ERR_GONE, 410 },
        { 410, STATUS(410, "Other", ""), ERR_GONE, 410 },
        { 422, STATUS(422, "Invalid", ""), ERR_INVALID, 422 },
        { 429, STATUS(429, "TooManyRequests", ""), ERR_BUSY, 429 },
        { 500, STATUS(500, "ServerTimeout", ""), ERR_TIMEOUT, 500 },
        { 504, STATUS(504, "Timeout", ""), ERR_TIMEOUT, 504 },
        { 504, STATUS(504, "", ""), ERR_TIMEOUT, 504 },
        { 401, STATUS(401, "Unauthorized", ""), ERR_UNAUTHORIZED, 401 },
        { 403, STATUS(403, "Forbidden", ""), ERR_DENIED, 403 },
        { 500, STATUS(500, "InternalError", ""), ERR_INTERNAL, 500 },
        { 503, STATUS(503, "ServiceUnavailable", ""), ERR_UNAVAILABLE, 503 },
        /* the reason goes before the code */
        { 400, STATUS(400, "NotFound", ""), ERR_NOT_FOUND, 400 },
        /* without a code it has that of the answer */
        { 404, "{'kind':'Status','status':'Failure','message':'words'}", ERR_NOT_FOUND, 404 },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(asking_done) struct asking a;
        asking_init(&a, CLIENT_GET, KIND_CONFIG_MAP);
        ASSERT_INT(-(int)rows[i].code, ask(&a, rows[i].http_status, rows[i].body)->r);
        ASSERT_STR("words", got.answer.error.msg);
        assert_ptr_equal(got.answer.status, &got.status);
        ASSERT_INT(rows[i].status_code, got.status.code);
        assert_null(got.answer.object);
    }
}

TEST(refusals_keep_their_details)
{
    _cleanup_(asking_done) struct asking a;
    const struct status_info *s;

    asking_init(&a, CLIENT_PATCH, KIND_CLAIM);
    s = ask(&a, 409,
            STATUS(409, "Conflict",
                   ",'details':{'name':'c','kind':'persistentvolumeclaims','uid':'u',"
                   "'retryAfterSeconds':7,'causes':[{'reason':'R','message':'m','field':'f'}]}"))
            ->status;
    ASSERT_STR("Conflict", s->reason);
    ASSERT_STR("c", s->name);
    ASSERT_STR("u", s->uid);
    ASSERT_INT(7, s->retry_after_seconds);
    ASSERT_INT(1, s->causes_count);
    ASSERT_STR("m", s->causes[0].message);
}

TEST(refusals_without_a_status_get_one)
{
    static const struct {
        int http_status;
        enum client_verb verb;
        const char *reason;
        enum err code;
    } rows[] = {
        { 400, CLIENT_GET, "BadRequest", ERR_BAD_REQUEST },
        { 401, CLIENT_GET, "Unauthorized", ERR_UNAUTHORIZED },
        { 403, CLIENT_GET, "Forbidden", ERR_DENIED },
        { 405, CLIENT_GET, "MethodNotAllowed", ERR_UNSUPPORTED },
        { 406, CLIENT_GET, "NotAcceptable", ERR_UNSUPPORTED },
        { 409, CLIENT_CREATE, "AlreadyExists", ERR_EXISTS },
        { 409, CLIENT_PATCH, "Conflict", ERR_CONFLICT },
        { 409, CLIENT_DELETE, "Conflict", ERR_CONFLICT },
        { 410, CLIENT_WATCH, "Gone", ERR_GONE },
        { 413, CLIENT_CREATE, "RequestEntityTooLarge", ERR_TOO_LARGE },
        { 415, CLIENT_PATCH, "UnsupportedMediaType", ERR_UNSUPPORTED },
        { 422, CLIENT_PATCH, "Invalid", ERR_INVALID },
        { 429, CLIENT_LIST, "TooManyRequests", ERR_BUSY },
        { 500, CLIENT_GET, "InternalError", ERR_INTERNAL },
        { 502, CLIENT_GET, "InternalError", ERR_INTERNAL },
        { 503, CLIENT_GET, "ServiceUnavailable", ERR_UNAVAILABLE },
        { 504, CLIENT_GET, "Timeout", ERR_TIMEOUT },
        { 599, CLIENT_RAW, "InternalError", ERR_INTERNAL },
        { 302, CLIENT_GET, "", ERR_INTERNAL },
        { 418, CLIENT_GET, "", ERR_INTERNAL },
    };
    /* None of them is a Status that refuses. */
    static const char *const bodies[] = { "<html>no</html>", "", "{'kind':'Status','status':'Success'}",
                                          "{'kind':'Pod'}", "[1]" };

    for (size_t i = 0; i < ARRAY_LEN(rows) * ARRAY_LEN(bodies); i++) {
        size_t n = i / ARRAY_LEN(bodies);
        _cleanup_(asking_done) struct asking a;
        asking_init(&a, rows[n].verb, KIND_CONFIG_MAP);
        ASSERT_INT(-(int)rows[n].code, ask(&a, rows[n].http_status, bodies[i % ARRAY_LEN(bodies)])->r);
        ASSERT_STR(rows[n].reason, got.answer.status->reason);
        ASSERT_INT(rows[n].http_status, got.answer.status->code);
        assert_true(str_has_prefix(str_of(got.answer.error.msg), "the server "));
        assert_non_null(strstr(got.answer.status->message,
                               bodies[i % ARRAY_LEN(bodies)][0] == '<' ? ": <html>no</html>" : "(HTTP "));
    }
}

/* machinery-15 */
TEST(path_that_is_not_served)
{
    _cleanup_(asking_done) struct asking a;

    asking_init(&a, CLIENT_LIST, KIND_SNAPSHOT);
    ASSERT_INT(-ERR_UNSUPPORTED, ask(&a, 404, "404 page not found\n")->r);
    ASSERT_INT(ERR_UNSUPPORTED, got.answer.error.code);
    ASSERT_STR("the server does not serve this path (HTTP 404): 404 page not found", got.answer.error.msg);
    ASSERT_STR("NotFound", got.answer.status->reason);
    ASSERT_INT(-ERR_NOT_FOUND, ask(&a, 404, STATUS(404, "NotFound", ""))->r);
}

TEST(body_in_the_message_is_cut_and_cleaned)
{
    _cleanup_(asking_done) struct asking a;
    char body[5000];
    size_t len;

    asking_init(&a, CLIENT_GET, KIND_POD);
    memset(body, 'x', sizeof body - 1);
    body[sizeof body - 1] = '\0';
    (void)ask(&a, 500, body);
    len = strlen(got.status.message);
    assert_true(len > 2048 && len < 2048 + 100);
    (void)ask(&a, 502, " \x1b[31mred\xff\n\xc3\xa9\x7f. ");
    ASSERT_STR("the server answered with an unexpected status (HTTP 502):  [31mred  \xc3\xa9 .",
               got.status.message);
}

TEST(retry_after_is_kept)
{
    struct raw_answer raw = { .http_status = 429, .body = STR_LIT("slow"), .retry_after_seconds = 5 };
    _cleanup_(asking_done) struct asking a;

    asking_init(&a, CLIENT_CREATE, KIND_POD);
    answer_read(&a.reader, &a.q, &raw, &got);
    ASSERT_INT(5, got.answer.retry_after_seconds);
    ASSERT_INT(5, got.answer.status->retry_after_seconds);
    ASSERT_INT(-1, ask(&a, 429, "slow")->retry_after_seconds);
    ASSERT_INT(0, got.answer.status->retry_after_seconds);
}

TEST(which_writes_may_have_happened)
{
    static const struct {
        enum client_verb verb;
        int http_status;
        const char *body;
        bool may;
    } rows[] = {
        { CLIENT_PATCH, 500, "", true },
        { CLIENT_PATCH, 504, STATUS(504, "Timeout", ""), true },
        { CLIENT_DELETE, 502, "", true },
        { CLIENT_CREATE, 201, "garbage", true }, /* it has: only the answer is lost */
        { CLIENT_CREATE, 409, "", false },
        { CLIENT_CREATE, 429, "", false },
        { CLIENT_PATCH, 422, "", false },
        { CLIENT_PATCH, 200, MAP("a", ""), false },
        { CLIENT_GET, 500, "", false },
        { CLIENT_GET, 200, "garbage", false },
        { CLIENT_LIST, 504, "", false },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(asking_done) struct asking a;
        asking_init(&a, rows[i].verb, KIND_CONFIG_MAP);
        ASSERT_INT(rows[i].may, ask(&a, rows[i].http_status, rows[i].body)->may_have_happened);
    }
}

/* --- Objects --- */

TEST(object_comes_back)
{
    _cleanup_(asking_done) struct asking a;

    asking_init(&a, CLIENT_GET, KIND_CONFIG_MAP);
    ASSERT_INT(0, ask(&a, 200, MAP("a", ",'uid':'u','managedFields':[{'manager':'x'}],'odd':1"))->r);
    ASSERT_STR("a", got.answer.object->name);
    ASSERT_STR(kind_row("{'kind':'ConfigMap','apiVersion':'v1','metadata':{'name':'a','uid':'u','odd':1}}"),
               got.answer.object->text.s);
    assert_null(got.answer.status);
    a.reader.keeps_managed_fields = true;
    (void)ask(&a, 200, MAP("a", ",'managedFields':[{'manager':'x'}]"));
    assert_non_null(strstr(got.answer.object->text.s, "managedFields"));
    /* who does not say what it is, is what was asked for */
    (void)ask(&a, 201, "{'metadata':{'name':'b'}}");
    ASSERT_STR(kind_row(MAP("b", "")), got.answer.object->text.s);
}

TEST(answers_that_are_no_object)
{
    static const char *const rows[] = {
        "",
        "{",
        "<html>",
        "null",
        "[]",
        "'text'",
        "{'kind':'Secret','apiVersion':'v1','metadata':{'name':'a'}}",
        "{'kind':'ConfigMap','apiVersion':'v2','metadata':{'name':'a'}}",
        "{'kind':'ConfigMap'}",
        "{'kind':'ConfigMap','apiVersion':'v1','metadata':{'name':7}}",
        "{'kind':'ConfigMap','apiVersion':'v1','metadata':{'name':'a\\u0000b'}}",
        "{'kind':'Status','status':'Success'}",
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(asking_done) struct asking a;
        asking_init(&a, CLIENT_GET, KIND_CONFIG_MAP);
        if (ask(&a, 200, rows[i])->r == 0)
            fail_msg("read: %s", rows[i]);
        assert_null(got.answer.object);
        assert_true(str_has_prefix(str_of(got.answer.error.msg), "the server's answer cannot be read: "));
    }
}

TEST(status_where_an_object_might_be)
{
    static const char success[] = "{'kind':'Status','apiVersion':'v1','status':'Success'}";
    _cleanup_(asking_done) struct asking a;

    asking_init(&a, CLIENT_DELETE, KIND_POD);
    ASSERT_INT(0, ask(&a, 200, success)->r);
    assert_null(got.answer.object);
    assert_null(got.answer.status);
    ASSERT_INT(0, ask(&a, 200, "{'kind':'Pod','apiVersion':'v1','metadata':{'name':'p'},'spec':{}}")->r);
    ASSERT_STR("p", got.answer.object->name);
    ASSERT_INT(-ERR_CONFLICT, ask(&a, 200, STATUS(409, "Conflict", ""))->r);
    asking_done(&a);
    asking_init(&a, CLIENT_CREATE, KIND_POD);
    a.q.subresource = "binding";
    ASSERT_INT(0, ask(&a, 201, success)->r);
    a.q.subresource = NULL;
    ASSERT_INT(-ERR_BAD_REQUEST, ask(&a, 201, success)->r);
    assert_true(got.answer.may_have_happened);
}

TEST(raw_text_is_handed_on)
{
    _cleanup_(asking_done) struct asking a;

    asking_init(&a, CLIENT_RAW, KIND_POD);
    a.q.kind = NULL;
    ASSERT_INT(0, ask(&a, 200, "ok")->r);
    assert_true(str_is(got.answer.text, "ok"));
    ASSERT_INT(-ERR_UNSUPPORTED, ask(&a, 404, "no")->r);
}

/* A token for a service account: no service account, and no Status either. */
TEST(an_answer_of_another_kind_is_handed_on_as_text)
{
    _cleanup_(asking_done) struct asking a;

    asking_init(&a, CLIENT_CREATE, KIND_SERVICE_ACCOUNT);
    a.q.subresource = "token";
    ASSERT_INT(-ERR_BAD_REQUEST, ask(&a, 201, "{'kind':'TokenRequest','apiVersion':'x/v1'}")->r);
    a.q.wants_text = true;
    ASSERT_INT(0, ask(&a, 201, "{'kind':'TokenRequest','apiVersion':'x/v1'}")->r);
    assert_true(str_has_prefix(got.answer.text, "{\"kind\":\"TokenRequest\""));
    assert_null(got.answer.object);
    ASSERT_INT(-ERR_NOT_FOUND, ask(&a, 404, STATUS(404, "NotFound", ""))->r);
}

/* Whoever says in what form shows it and decodes nothing: also what no kind of ours can be read from. */
TEST(text_in_the_form_that_was_asked_for)
{
    static const enum client_verb verbs[] = { CLIENT_GET, CLIENT_LIST, CLIENT_CREATE, CLIENT_PATCH,
                                              CLIENT_DELETE };

    for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
        _cleanup_(asking_done) struct asking a;

        asking_init(&a, verbs[i], KIND_POD);
        a.q.accept = "application/json;as=Table";
        ASSERT_INT(0, ask(&a, 200, "{'kind':'Table'}")->r);
        assert_true(str_is(got.answer.text, kind_row("{'kind':'Table'}")));
        assert_null(got.answer.object);
        ASSERT_INT(-ERR_NOT_FOUND, ask(&a, 404, STATUS(404, "NotFound", ""))->r);
    }
}

TEST(watch_that_ended_well_has_nothing_to_say)
{
    _cleanup_(asking_done) struct asking a;

    asking_init(&a, CLIENT_WATCH, KIND_POD);
    ASSERT_INT(0, ask(&a, 200, "half a li")->r);
    ASSERT_INT(-ERR_GONE, ask(&a, 410, STATUS(410, "Expired", ""))->r);
}

/* --- Lists --- */

TEST(list_with_holes)
{
    _cleanup_(asking_done) struct asking a;
    const struct client_list *l;

    asking_init(&a, CLIENT_LIST, KIND_CONFIG_MAP);
    l = &ask(&a, 200,
             "{'kind':'ConfigMapList','apiVersion':'v1','metadata':{'resourceVersion':'12','continue':'tok',"
             "'remainingItemCount':3},'items':[{'metadata':{'name':'a','managedFields':[{}]}},7,"
             "{'metadata':{'name':7}},{'metadata':{'name':'b'}}]}")
             ->list;
    ASSERT_INT(0, got.answer.r);
    ASSERT_INT(2, l->count);
    ASSERT_INT(2, l->undecodable);
    ASSERT_STR(kind_row(MAP("a", "")), l->items[0]->text.s);
    ASSERT_STR("b", l->items[1]->name);
    ASSERT_STR("12", l->resource_version);
    ASSERT_STR("tok", l->continue_token);
    ASSERT_INT(3, l->remaining);
    l = &ask(&a, 200, "{'kind':'ConfigMapList','apiVersion':'v1','metadata':{},'items':[]}")->list;
    ASSERT_INT(0, l->count);
    ASSERT_STR("", l->resource_version);
    ASSERT_STR("", l->continue_token);
    ASSERT_INT(-1, l->remaining);
}

TEST(answers_that_are_no_list)
{
    static const char *const rows[] = {
        "{}",
        "[]",
        MAP("a", ""),
        "{'kind':'SecretList','apiVersion':'v1','items':[]}",
        "{'kind':'ConfigMapList','apiVersion':'v1','items':{}}",
        "{'kind':'ConfigMapList','apiVersion':'v1','metadata':{'resourceVersion':'a\\u0000'},'items':[]}",
        "{'kind':'Status','status':'Success'}",
        "{'kind':'ConfigMapList','apiVersion':'v1','items':[",
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(asking_done) struct asking a;
        asking_init(&a, CLIENT_LIST, KIND_CONFIG_MAP);
        if (ask(&a, 200, rows[i])->r == 0)
            fail_msg("read: %s", rows[i]);
        ASSERT_INT(0, got.answer.list.count);
        ASSERT_STR("", got.answer.list.resource_version);
        ASSERT_INT(-1, got.answer.list.remaining);
    }
}

/* --- Watches --- */

/* What came, as a text. */
static void note_event(void *ctx, const struct client_event *ev)
{
    static const char *const types[] = { "added", "modified", "deleted", "bookmark", "error", "unreadable" };
    struct buf *out = ctx;

    buf_addf(out, "%s %s", types[ev->type], ev->version);
    if (ev->object)
        buf_addf(out, " %s", ev->object->name);
    if (ev->ends_initial_events)
        buf_add_cstr(out, " end");
    if (ev->status)
        buf_addf(out, " %s", ev->status->reason);
    if (ev->error)
        buf_addf(out, " %s: %s", error_name(ev->error->code), ev->error->msg);
}

static const char *event(const char *line)
{
    static struct buf out = { .len_max = 4096 };
    _cleanup_(asking_done) struct asking a;

    asking_init(&a, CLIENT_WATCH, KIND_CONFIG_MAP);
    buf_clear(&out);
    answer_read_event(&a.reader, &a.q, str_of(kind_row(line)), note_event, &out);
    return buf_cstr(&out);
}

#define EVENT(type, object) "{'type':'" type "','object':" object "}"
#define BOOKMARK(meta) EVENT("BOOKMARK", "{'kind':'ConfigMap','apiVersion':'v1','metadata':{" meta "}}")

TEST(events_of_a_watch)
{
    static const struct {
        const char *line;
        const char *event;
    } rows[] = {
        { EVENT("ADDED", MAP("a", ",'resourceVersion':'5'")), "added 5 a" },
        { EVENT("MODIFIED", MAP("a", ",'resourceVersion':'99999999999999999999'")),
          "modified 99999999999999999999 a" },
        { "{'object':" MAP("a", ",'resourceVersion':'odd'") ",'type':'DELETED'}", "deleted odd a" },
        { BOOKMARK("'resourceVersion':'9'"), "bookmark 9" },
        { BOOKMARK("'resourceVersion':'9','annotations':{'k8s.io/initial-events-end':'true'}"),
          "bookmark 9 end" },
        { BOOKMARK("'resourceVersion':'9','annotations':{'k8s.io/initial-events-end':'false'}"),
          "bookmark 9" },
        { EVENT("ERROR", STATUS(410, "Expired", "")), "error  Expired gone: words" },
        { EVENT("ERROR", STATUS(429, "TooManyRequests", "")), "error  TooManyRequests busy: words" },
        { EVENT("ERROR", "{'kind':'Pod'}"),
          "error  InternalError internal: the server ended the watch without a reason" },
        { "{'type':'ERROR'}", "error  InternalError internal: the server ended the watch without a reason" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_STR(rows[i].event, event(rows[i].line));
}

/* machinery-29 */
TEST(lines_that_are_no_event)
{
    static const char *const rows[] = {
        "",
        "garbage",
        "7",
        "{}",
        EVENT("RENAMED", MAP("a", ",'resourceVersion':'5'")),
        EVENT("added", MAP("a", ",'resourceVersion':'5'")),
        EVENT("ADDED", "7"),
        EVENT("ADDED", MAP("a", "")),
        EVENT("ADDED", MAP("a", ",'resourceVersion':''")),
        EVENT("ADDED", MAP("a", ",'resourceVersion':'5\\u00006'")),
        EVENT("ADDED", MAP("a", ",'resourceVersion':'5','labels':7")),
        EVENT("ADDED", "{'kind':'Secret','apiVersion':'v1','metadata':{'name':'a','resourceVersion':'5'}}"),
        "{'type':'ADDED'}",
        "{'type':'BOOKMARK'}",
        BOOKMARK(""),
        EVENT("ADDED", MAP("a", ",'resourceVersion':'5'")) EVENT("ADDED", MAP("a", ",'resourceVersion':'5'")),
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (!str_has_prefix(str_of(event(rows[i])), "unreadable  bad-request: "))
            fail_msg("row %zu: %s", i, event(rows[i]));
    ASSERT_STR("unreadable  bad-request: unknown event type \"REN\\nAMED\"",
               event(EVENT("REN\\nAMED", "{}")));
}

TEST(events_come_without_managed_fields)
{
    _cleanup_(asking_done) struct asking a;
    _cleanup_(buf_done_p) struct buf line = BUF_INIT(1 << 20);
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(1 << 20);

    asking_init(&a, CLIENT_WATCH, KIND_CONFIG_MAP);
    kind_quotes(EVENT("ADDED", MAP("a", ",'resourceVersion':'5','managedFields':7")), &line);
    answer_read_event(&a.reader, &a.q, buf_str(&line), note_event, &out);
    ASSERT_STR("added 5 a", buf_cstr(&out)); /* whatever they are: nobody looks */
    a.reader.keeps_managed_fields = true;
    buf_clear(&out);
    answer_read_event(&a.reader, &a.q, buf_str(&line), note_event, &out);
    assert_true(str_has_prefix(buf_str(&out), "unreadable"));
}

static void note_text(void *ctx, const struct client_event *ev)
{
    assert_null(ev->object);
    buf_addf(ctx, "%d %s %.*s", (int)ev->type, ev->version, STR_ARG(ev->text));
}

TEST(events_in_the_form_that_was_asked_for)
{
    static const char line[] =
        "{'type':'MODIFIED','object':{'kind':'Table','metadata':{'resourceVersion':'7'}}}";
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(1 << 16), expected = BUF_INIT(1 << 16);
    _cleanup_(asking_done) struct asking a;

    asking_init(&a, CLIENT_WATCH, KIND_POD);
    a.q.accept = "application/json;as=Table";
    buf_addf(&expected, "%d 7 %s", (int)CLIENT_MODIFIED, kind_row(line));
    answer_read_event(&a.reader, &a.q, str_of(kind_row(line)), note_text, &out);
    ASSERT_STR(buf_cstr(&expected), buf_cstr(&out));
}

/* --- What answers mean --- */

TEST(what_is_a_conflict)
{
    static const struct {
        int http_status;
        const char *body;
        bool is;
    } rows[] = {
        { 409, STATUS(409, "Conflict", ""), true },
        { 409, "", true },
        { 409, STATUS(409, "AlreadyExists", ""), false },
        /* machinery-42 */
        { 422, STATUS(422, "Invalid", ",'details':{'causes':[{'field':'x'},{'field':'metadata.uid'}]}"),
          true },
        { 422, STATUS(422, "Invalid", ",'details':{'causes':[{'field':'spec'}]}"), false },
        { 422, "", false },
        { 404, STATUS(404, "NotFound", ",'details':{'causes':[{'field':'metadata.uid'}]}"), false },
        { 200, MAP("a", ""), false },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(asking_done) struct asking a;
        asking_init(&a, CLIENT_PATCH, KIND_CONFIG_MAP);
        ASSERT_INT(rows[i].is, client_is_conflict(ask(&a, rows[i].http_status, rows[i].body)));
    }
}

TEST(what_is_terminating)
{
    static const char cause[] =
        STATUS(403, "Forbidden", ",'details':{'causes':[{'reason':'NamespaceTerminating'}]}");
    _cleanup_(asking_done) struct asking a;

    asking_init(&a, CLIENT_CREATE, KIND_CONFIG_MAP);
    assert_true(client_is_terminating(ask(&a, 403, cause)));
    assert_false(client_is_terminating(ask(&a, 403, STATUS(403, "Forbidden", ""))));
    assert_false(client_is_terminating(ask(&a, 403, "NamespaceTerminating")));
}

TEST(what_is_a_version_too_large)
{
    static const struct {
        const char *body;
        bool is;
    } rows[] = {
        { STATUS(504, "Timeout", ",'details':{'causes':[{'reason':'ResourceVersionTooLarge'}]}"), true },
        { STATUS(504, "Timeout", ",'details':{'causes':[{'message':'Too large resource version'}]}"), true },
        { STATUS(504, "Timeout", ",'message':'Too large resource version: 9, current: 1'"), true },
        { STATUS(504, "Timeout", ""), false },
        { STATUS(500, "InternalError", ",'message':'Too large resource version: 9'"), false },
    };
    _cleanup_(asking_done) struct asking a;

    asking_init(&a, CLIENT_LIST, KIND_CONFIG_MAP);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_INT(rows[i].is, client_is_too_large_version(ask(&a, 504, rows[i].body)->status));
    assert_false(client_is_too_large_version(NULL));
}

TEST_MAIN()
