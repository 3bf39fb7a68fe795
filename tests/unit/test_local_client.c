#include "tests/unit/test_attempt.h"

#include "api/claim.h"
#include "api/config.h"
#include "api/event.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/volume.h"
#include "apiserver/user.h"

#define BODY(text) .body = { text, sizeof(text) - 1 }
#define MAP(name_) .kind = &config_map_kind, .ns = "default", .name = name_
#define NEW_MAP .verb = CLIENT_CREATE, .kind = &config_map_kind, .ns = "default"

static const struct client_request get_a = { .verb = CLIENT_GET, MAP("a") };

/* --- As text callers have it --- */

/* What two servers that are alike are asked one after the other, one in text and one for objects. */
static const struct client_request script[] = {
    { .verb = CLIENT_GET, MAP("a") }, /* nothing there yet */
    { NEW_MAP, BODY("{'metadata':{'name':'a','labels':{'x':'1'}},'data':{'k':'v'}}") },
    { NEW_MAP, BODY("{'metadata':{'name':'a'}}") }, /* again */
    { NEW_MAP, BODY("{'metadata':{'generateName':'g-'}}"), .field_manager = "me" },
    { NEW_MAP, BODY("{'metadata':{'name':'dry'}}"), .is_dry_run = true },
    { NEW_MAP, BODY("{'metadata':{'name':'A/B'}}") },
    { NEW_MAP, BODY("{nonsense") },
    { .verb = CLIENT_GET, MAP("a") },
    { .verb = CLIENT_GET, MAP("a"), .resource_version = "junk" },
    { .verb = CLIENT_PATCH, MAP("a"), BODY("{'data':{'k':'w'}}") },
    { .verb = CLIENT_PATCH, MAP("a"), BODY("{'data':{'k':'w'}}") }, /* changes nothing */
    { .verb = CLIENT_PATCH, MAP("a"), BODY("{'metadata':{'resourceVersion':'1'},'data':{'k':'x'}}") },
    { .verb = CLIENT_PATCH, MAP("a"), BODY("{'metadata':{'uid':'other'},'data':{'k':'x'}}") },
    { .verb = CLIENT_PATCH,
      .patch = CLIENT_PATCH_JSON,
      MAP("a"),
      BODY("[{'op':'add','path':'/data/j','value':'1'}]") },
    { .verb = CLIENT_PATCH, .patch = CLIENT_PATCH_STRATEGIC, MAP("a"), BODY("{'data':{'k':null}}") },
    { .verb = CLIENT_PATCH,
      .patch = CLIENT_PATCH_APPLY,
      .field_manager = "me",
      MAP("made"),
      BODY("{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'made'},'data':{'k':'v'}}") },
    { .verb = CLIENT_PATCH,
      .patch = CLIENT_PATCH_APPLY,
      .field_manager = "you",
      MAP("made"),
      BODY("{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'made'},'data':{'k':'w'}}") },
    { .verb = CLIENT_PATCH,
      .patch = CLIENT_PATCH_APPLY,
      .field_manager = "you",
      .is_forced = true,
      MAP("made"),
      BODY("{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'made'},'data':{'k':'w'}}") },
    { .verb = CLIENT_PATCH, MAP("none"), BODY("{}") },
    { .verb = CLIENT_LIST, MAP(NULL) },
    { .verb = CLIENT_LIST, .kind = &config_map_kind },
    { .verb = CLIENT_LIST, MAP(NULL), .label_selector = "x=1" },
    { .verb = CLIENT_LIST, MAP(NULL), .field_selector = "metadata.name=made" },
    { .verb = CLIENT_LIST, MAP(NULL), .label_selector = "((" },
    { .verb = CLIENT_LIST, MAP(NULL), .field_selector = "data.k=v" },
    { .verb = CLIENT_LIST, MAP(NULL), .limit = 2 },
    { .verb = CLIENT_LIST, MAP(NULL), .limit = 2, .label_selector = "x" },
    { .verb = CLIENT_LIST, MAP(NULL), .continue_token = "junk" },
    { .verb = CLIENT_LIST, MAP(NULL), .resource_version = "0" },
    { .verb = CLIENT_LIST, MAP(NULL), .resource_version = "1", .version_match = "Exact" },
    { .verb = CLIENT_LIST, MAP(NULL), .resource_version = "2", .version_match = "Wrong" },
    { .verb = CLIENT_DELETE, MAP("a"), .if_uid = "other" },
    { .verb = CLIENT_DELETE, MAP("a"), .if_version = "1" },
    { .verb = CLIENT_DELETE, MAP("a"), .propagation = "Sideways" },
    { .verb = CLIENT_DELETE, MAP("a"), .is_dry_run = true },
    { .verb = CLIENT_DELETE, MAP("a") },
    { .verb = CLIENT_DELETE, MAP("a") },
    { .verb = CLIENT_CREATE, .kind = &pod_kind, .ns = "nowhere", BODY("{'metadata':{'name':'p'}}") },
    { .verb = CLIENT_CREATE,
      .kind = &pod_kind,
      .ns = "default",
      BODY("{'metadata':{'name':'p'}," POD_SPEC "}") },
    { .verb = CLIENT_CREATE,
      .kind = &pod_kind,
      .ns = "default",
      .name = "p",
      .subresource = "binding",
      BODY("{'apiVersion':'v1','kind':'Binding','target':{'kind':'Node','name':'n'}}") },
    { .verb = CLIENT_PATCH,
      .kind = &pod_kind,
      .ns = "default",
      .name = "p",
      .subresource = "status",
      BODY("{'status':{'phase':'Running'}}") },
    { .verb = CLIENT_GET, .kind = &pod_kind, .ns = "default", .name = "p", .subresource = "status" },
    { .verb = CLIENT_DELETE, .kind = &pod_kind, .ns = "default", .name = "p" }, /* answers with it */
    { .verb = CLIENT_DELETE,
      .kind = &pod_kind,
      .ns = "default",
      .name = "p",
      .has_grace = true,
      .grace_seconds = 0 },
    { .verb = CLIENT_CREATE, .kind = &volume_kind, BODY("{'metadata':{'name':'v'}," VOLUME_SPEC "}") },
    { .verb = CLIENT_CREATE, .kind = &volume_kind, BODY("{'metadata':{'name':'w'},'spec':{}}") },
    { .verb = CLIENT_GET, .kind = &volume_kind, .name = "v" },
    /* Both forms of events, which are stored as one. */
    { .verb = CLIENT_CREATE,
      .kind = &event_v1_kind,
      .ns = "default",
      BODY("{'metadata':{'name':'e'},'regarding':{'kind':'Pod','name':'p','namespace':'default'},'note':'n',"
           "'reason':'R','type':'Normal','action':'A','reportingController':'c','reportingInstance':'i',"
           "'eventTime':'2023-11-14T22:13:20.000000Z'}") },
    { .verb = CLIENT_GET, .kind = &event_v1_kind, .ns = "default", .name = "e" },
    { .verb = CLIENT_GET, .kind = &event_kind, .ns = "default", .name = "e" },
    { .verb = CLIENT_LIST, .kind = &event_v1_kind, .ns = "default" },
    { .verb = CLIENT_LIST, .kind = &event_kind },
    { .verb = CLIENT_PATCH, .kind = &event_v1_kind, .ns = "default", .name = "e", BODY("{'note':'m'}") },
    { .verb = CLIENT_RAW, .path = "/version" },
    { .verb = CLIENT_RAW, .path = "/readyz" },
    { .verb = CLIENT_RAW, .path = "/nothing/here" },
    { .verb = CLIENT_RAW, .path = "/api/v1/namespaces/default/configmaps" },
    { .verb = CLIENT_RAW, .path = "/api/v1/nonsense" },
};

/* In text: without the newline at the end, and nothing where only a Status says that it went well. */
static const char *text_expected(struct served *w)
{
    if (w->text.len && w->text.data[w->text.len - 1] == '\n')
        w->text.data[--w->text.len] = '\0';
    return w->status < 300 && w->root && strcmp(got(w, "kind"), "Status") == 0 ? "" : buf_cstr(&w->text);
}

static bool has_status_text(const struct served *w)
{
    return w->status < 300 || w->root;
}

static void compare(struct served *w, const struct attempt *x, size_t row)
{
    bool has_own_words = x->q.verb != CLIENT_RAW;
    const char *expected = text_expected(w), *seen;
    _cleanup_(buf_done_p) struct buf trimmed = BUF_INIT((size_t)64 << 20);
    struct str text = buf_str(&x->text);

    if (!has_own_words)
        text = str_trim(text);
    buf_add_str(&trimmed, text);
    seen = buf_cstr(&trimmed);
    if (x->http_status != w->status)
        fail_msg("row %zu: %d, in text %d %s", row, x->http_status, w->status, expected);
    if (has_status_text(w) && strcmp(seen, expected) != 0)
        fail_msg("row %zu:\n%s\nin text\n%s", row, seen, expected);
    assert_true((x->r == 0) == (w->status < 300));
}

TEST(every_answer_is_what_a_text_caller_gets)
{
    _cleanup_(near_done) struct near n;
    _cleanup_(served_done) struct served w;

    near_init(&n);
    served_init(&w);
    for (size_t i = 0; i < ARRAY_LEN(script); i++) {
        _cleanup_(attempt_done) struct attempt x = { 0 };

        (void)send_as_text(&w, &script[i]);
        attempt_run(&n, &x, &script[i]);
        compare(&w, &x, i);
    }
}

/* --- Objects --- */

TEST(objects_are_the_servers_own)
{
    _cleanup_(near_done) struct near n;
    _cleanup_(attempt_done) struct attempt x = { 0 }, y = { 0 };

    near_init(&n);
    near_create_maps(&n, "a");
    attempt_run(&n, &x, &get_a);
    assert_ptr_equal(x.object, store_get(n.served.store, KIND_CONFIG_MAP, "default", "a"));
    attempt_run(&n, &y,
                &(struct client_request){ .verb = CLIENT_PATCH, MAP("a"), BODY("{'data':{'k':'v'}}") });
    assert_ptr_equal(y.object, store_get(n.served.store, KIND_CONFIG_MAP, "default", "a"));
    assert_ptr_not_equal(y.object, x.object);
}

TEST(pages_follow_one_another_as_of_the_first)
{
    _cleanup_(near_done) struct near n;
    _cleanup_(attempt_done) struct attempt one = { 0 }, two = { 0 };
    struct client_request q = { .verb = CLIENT_LIST, MAP(NULL), .limit = 2 };

    near_init(&n);
    near_create_maps(&n, "abc");
    attempt_run(&n, &one, &q);
    ASSERT_INT(2, one.items);
    assert_true(one.remaining > 0);
    near_delete(&n, KIND_CONFIG_MAP, "default", "c");
    near_create_maps(&n, "d");
    q.continue_token = buf_cstr(&one.token);
    q.limit = 0;
    attempt_run(&n, &two, &q);
    ASSERT_STR(buf_cstr(&one.version), buf_cstr(&two.version));
    assert_non_null(strstr(buf_cstr(&two.text), "\"name\":\"c\""));
    assert_null(strstr(buf_cstr(&two.text), "\"name\":\"d\""));
    ASSERT_STR("", buf_cstr(&two.token));
    ASSERT_INT(-1, two.remaining);
}

/* --- Refusals --- */

TEST(a_refusal_is_the_servers_status)
{
    _cleanup_(near_done) struct near n;
    _cleanup_(attempt_done) struct attempt missing = { 0 }, unserved = { 0 };

    near_init(&n);
    attempt_run(&n, &missing, &get_a);
    ASSERT_INT(-ERR_NOT_FOUND, missing.r);
    ASSERT_INT(404, missing.http_status);
    ASSERT_STR("configmaps \"a\" not found", missing.error.msg);
    ASSERT_INT(-1, missing.retry_after_seconds);
    assert_false(missing.may_have_happened);
    /* No Status: the path, not the object. */
    attempt_run(&n, &unserved, &(struct client_request){ .verb = CLIENT_RAW, .path = "/no/where" });
    ASSERT_INT(-ERR_UNSUPPORTED, unserved.r);
}

/* machinery-23: the server is behind, and says when to ask again. */
TEST(a_version_ahead_of_the_server_times_out)
{
    _cleanup_(near_done) struct near n;
    _cleanup_(attempt_done) struct attempt x = { 0 }, waits = { 0 };
    struct client_request q = { .verb = CLIENT_LIST, MAP(NULL), .resource_version = "1000000" };
    char next[24];

    near_init(&n);
    attempt_start(&n, &x, &q);
    served_pass(&n.served, 3);
    ASSERT_INT(1, x.ends);
    ASSERT_INT(504, x.http_status);
    ASSERT_INT(-ERR_TIMEOUT, x.r);
    ASSERT_INT(1, x.retry_after_seconds);
    assert_non_null(strstr(buf_cstr(&x.text), "ResourceVersionTooLarge"));
    assert_false(x.may_have_happened);
    (void)snprintf(next, sizeof next, "%lld", (long long)store_revision(n.served.store) + 1);
    q.resource_version = next;
    attempt_start(&n, &waits, &q);
    served_settle(&n.served);
    ASSERT_INT(0, waits.ends);
    near_create_maps(&n, "a");
    ASSERT_INT(1, waits.ends);
    ASSERT_INT(0, waits.r);
}

TEST(a_store_that_fails_leaves_writers_in_doubt)
{
    _cleanup_(near_done) struct near n = { 0 };
    _cleanup_(attempt_done) struct attempt x = { 0 };

    near_init(&n);
    n.served.log.fails_from = n.served.log.appends + 1;
    n.served.log.fails_to = n.served.log.fails_from;
    attempt_run(&n, &x, &(struct client_request){ NEW_MAP, BODY("{'metadata':{'name':'a'}}") });
    ASSERT_INT(-ERR_INTERNAL, x.r);
    ASSERT_INT(500, x.http_status);
    ASSERT_STR("Internal error occurred: no luck", x.error.msg);
    assert_true(x.may_have_happened);
    near_create_maps(&n, "a");
}

TEST(a_body_that_is_too_large_is_refused_unread)
{
    _cleanup_(near_done) struct near n;
    _cleanup_(attempt_done) struct attempt x = { 0 };
    _cleanup_(freep) char *body = calloc(1, CALL_BODY_BYTES_MAX + 2);

    near_init(&n);
    memset(body, ' ', CALL_BODY_BYTES_MAX + 1);
    attempt_run(&n, &x, &(struct client_request){ NEW_MAP, .body = { body, CALL_BODY_BYTES_MAX + 1 } });
    ASSERT_INT(-ERR_TOO_LARGE, x.r);
    ASSERT_INT(413, x.http_status);
}

TEST(a_raw_path_that_streams_is_refused)
{
    _cleanup_(near_done) struct near n;
    _cleanup_(attempt_done) struct attempt x = { 0 };

    near_init(&n);
    attempt_run(&n, &x, &(struct client_request){ .verb = CLIENT_RAW, .path = MAPS "?watch=true" });
    ASSERT_INT(-ERR_UNSUPPORTED, x.r);
    ASSERT_STR("path returns a stream", x.error.msg);
}

TEST(warnings_come_unquoted_before_the_end)
{
    _cleanup_(near_done) struct near n;
    _cleanup_(attempt_done) struct attempt x = { 0 };

    near_init(&n);
    attempt_run(
        &n, &x,
        &(struct client_request){ NEW_MAP, BODY("{'metadata':{'name':'a'},'back\\\\slash':1,'b':2}") });
    ASSERT_INT(0, x.r);
    ASSERT_STR("unknown field \"back\\\\slash\"\nunknown field \"b\"\n", buf_cstr(&x.warnings));
}

/* Requests that do not fit the memory of a call; each is told, also when others are cancelled before. */
TEST(without_memory_there_is_an_answer_too)
{
    _cleanup_(near_done) struct near n;
    _cleanup_(freep) char *large = calloc(1, (size_t)20 << 20);
    struct client_request q = get_a;
    struct attempt x[4] = { 0 };

    near_init(&n);
    memset(large, 'x', ((size_t)20 << 20) - 1);
    q.label_selector = large;
    for (size_t i = 0; i < ARRAY_LEN(x); i++)
        attempt_start(&n, &x[i], &q);
    attempt_cancel(&x[3]); /* the one that was put there last, then one among others */
    attempt_cancel(&x[1]);
    served_settle(&n.served);
    for (size_t i = 0; i < ARRAY_LEN(x); i++) {
        ASSERT_INT(i % 2 == 0, x[i].ends);
        ASSERT_INT(i % 2 == 0 ? -ERR_NO_MEMORY : 0, x[i].r);
        attempt_done(&x[i]);
    }
    attempt_start(&n, &x[0], &q);
    attempt_cancel(&x[0]); /* the only one */
    attempt_done(&x[0]);
    near_create_maps(&n, "a");
}

/* --- Who asks --- */

static const char *const reader_groups[] = { GROUP_READERS, GROUP_AUTHENTICATED, NULL };
static const char *const node_groups[] = { GROUP_NODES, GROUP_AUTHENTICATED, NULL };
static const struct user reader = { .name = "kim", .uid = "", .groups = reader_groups };
static const struct user node = { .name = USER_NODE_PREFIX "one", .uid = "", .groups = node_groups };

/* A secure server: what a user may not do over the network, it may not do here. */
static void near_init_as(struct near *n, const struct user *user)
{
    served_make(&n->served, /* is_insecure= */ false, 0, 0);
    served_settle(&n->served);
    near_make(n, user);
}

TEST(a_user_has_the_access_it_has)
{
    static const struct {
        const struct user *user;
        struct client_request q;
        int http_status;
    } rows[] = {
        { &reader, { .verb = CLIENT_LIST, MAP(NULL) }, 200 },
        { &reader, { NEW_MAP, BODY("{'metadata':{'name':'a'}}") }, 403 },
        { &reader, { .verb = CLIENT_LIST, .kind = &secret_kind, .ns = "default" }, 403 },
        { &node, { .verb = CLIENT_CREATE, .kind = &node_kind, BODY("{'metadata':{'name':'one'}}") }, 201 },
        { &node, { .verb = CLIENT_CREATE, .kind = &node_kind, BODY("{'metadata':{'name':'two'}}") }, 403 },
        { NULL, { NEW_MAP, BODY("{'metadata':{'name':'a'}}") }, 201 },
        { NULL, { .verb = CLIENT_CREATE, .kind = &node_kind, BODY("{'metadata':{'name':'two'}}") }, 201 },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(near_done) struct near n;
        _cleanup_(attempt_done) struct attempt x = { 0 };

        near_init_as(&n, rows[i].user);
        attempt_run(&n, &x, &rows[i].q);
        if (x.http_status != rows[i].http_status)
            fail_msg("row %zu: %d %s", i, x.http_status, x.error.msg);
        ASSERT_INT(rows[i].http_status == 403 ? -ERR_DENIED : 0, x.r);
    }
}

/* --- Many at once --- */

/* More than the server lets clients of the network have under way; also in somebody's name. */
static void send_many(const struct user *user)
{
    _cleanup_(near_done) struct near n;
    static struct attempt x[1000];

    near_init_as(&n, user);
    for (size_t i = 0; i < ARRAY_LEN(x); i++) {
        struct client_request q = { NEW_MAP, BODY("{'metadata':{'generateName':'g-'}}") };

        if (i % 2)
            q = (struct client_request){ .verb = CLIENT_LIST, MAP(NULL), .resource_version = "1000000" };
        attempt_start(&n, &x[i], &q);
    }
    ASSERT_INT(0, n.served.server->writes_in_flight);
    ASSERT_INT(0, n.served.server->reads_in_flight);
    served_settle(&n.served);
    served_pass(&n.served, 3);
    for (size_t i = 0; i < ARRAY_LEN(x); i++) {
        ASSERT_INT(1, x[i].ends);
        ASSERT_INT(i % 2 ? 504 : 201, x[i].http_status);
        attempt_done(&x[i]);
    }
}

TEST(a_thousand_calls_at_once)
{
    static const char *const masters[] = { GROUP_MASTERS, NULL };
    const struct user user = { .name = "boss", .uid = "", .groups = masters };

    send_many(NULL);
    send_many(&user);
}

/* --- Cancelling --- */

/* After so many turns; a write that was sent takes effect, whether or not anybody hears of it. */
TEST(a_cancelled_write_takes_effect)
{
    bool was_answered = false;

    for (unsigned turns = 0; !was_answered; turns++) {
        _cleanup_(near_done) struct near n;
        struct attempt x = { 0 };

        near_init(&n);
        attempt_start(&n, &x, &(struct client_request){ NEW_MAP, BODY("{'metadata':{'name':'a'}}") });
        for (unsigned i = 0; i < turns; i++)
            (void)loop_poll(n.served.loop);
        was_answered = x.ends == 1;
        attempt_done(&x);
        near_free(&n); /* the carrier may go before the server hands back what it had */
        served_settle(&n.served);
        assert_non_null(store_get(n.served.store, KIND_CONFIG_MAP, "default", "a"));
        assert_true(turns < 10);
    }
}

TEST(a_read_that_waits_is_cancelled)
{
    _cleanup_(near_done) struct near n;
    struct attempt x = { 0 };

    near_init(&n);
    attempt_start(&n, &x,
                  &(struct client_request){ .verb = CLIENT_LIST, MAP(NULL), .resource_version = "1000000" });
    attempt_done(&x);
    near_free(&n);
    served_pass(&n.served, 3);
}

/* A warning is the other callback before the end; the end may start the next. */
static void cancel_on_warning(struct client_attempt *a, struct str text)
{
    struct attempt *x = CONTAINER_OF(a, struct attempt, a);

    attempt_on_warning(a, text);
    attempt_cancel(x);
}

TEST(a_call_is_cancelled_at_its_first_warning)
{
    _cleanup_(near_done) struct near n;
    struct attempt x = { 0 };

    near_init(&n);
    attempt_start(&n, &x, &(struct client_request){ NEW_MAP, BODY("{'metadata':{'name':'a'},'b':1,'c':2}") });
    x.a.on_warning = cancel_on_warning;
    served_settle(&n.served);
    ASSERT_INT(0, x.ends);
    ASSERT_STR("unknown field \"b\"\n", buf_cstr(&x.warnings));
    attempt_done(&x);
}

struct chain {
    struct client_attempt a;
    struct near *near;
    unsigned left;
};

static void chain_on_end(struct client_attempt *a, const struct client_answer *answer)
{
    struct chain *c = CONTAINER_OF(a, struct chain, a);

    ASSERT_INT(-ERR_NOT_FOUND, answer->r);
    assert_non_null(answer->status);
    if (c->left-- > 0)
        c->near->carrier->type->start(c->near->carrier, a);
    else
        near_free(c->near);
    ASSERT_STR("configmaps \"a\" not found", answer->status->message); /* the answer is still there */
}

TEST(the_end_may_start_the_next_and_free_the_carrier)
{
    _cleanup_(near_done) struct near n;
    struct chain c = { .near = &n, .left = 5, .a = { .request = &get_a, .on_end = chain_on_end } };

    near_init(&n);
    n.carrier->type->start(n.carrier, &c.a);
    served_settle(&n.served);
    assert_null(n.carrier);
}

TEST_MAIN()
