/* The carrier over HTTP: requests, watches, and servers that fail or lie. */
#include "tests/unit/test_client_http.h"

/* --- Requests --- */

TEST(get_brings_the_object)
{
    _cleanup_(net_free_p) struct net *n = net_new_plain();
    _cleanup_(ask_done) struct asked a = ASK_MAP(.name = "a b");

    n->body = MAP_TEXT("a");
    ASSERT_INT(0, ask(n, &a)->r);
    ASSERT_STR("a", a.object);
    ASSERT_INT(200, a.answer.http_status);
    ASSERT_INT(-1, a.answer.retry_after_seconds);
    assert_true(net_saw(n, "GET /api/v1/namespaces/shop/configmaps/a%20b\n"));
    assert_true(net_saw(n, "Accept=application/json\n"));
    assert_true(net_saw(n, "User-Agent=berth/"));
    assert_true(net_saw(n, " (linux/"));
    assert_true(net_saw(n, ") kubernetes/"));
    assert_false(net_saw(n, "Accept-Encoding"));
    assert_false(net_saw(n, "Expect"));
    assert_false(net_saw(n, "Content-Type"));
}

TEST(form_of_the_answer)
{
    _cleanup_(net_free_p) struct net *n = net_new_plain();
    _cleanup_(ask_done) struct asked a = ASK_MAP(.name = "a", .accept = "application/json;as=Table");

    n->body = "{\"kind\":\"Table\"}";
    ASSERT_INT(0, ask(n, &a)->r);
    assert_true(net_saw(n, "Accept=application/json;as=Table\n"));
}

TEST(bodies_have_their_types)
{
    static const struct {
        struct client_request q;
        const char *line;
        const char *type;
        const char *body;
    } rows[] = {
        { { .verb = CLIENT_CREATE, .body = STR_LIT("{}") }, "POST ", "application/json", "{}" },
        { { .verb = CLIENT_PATCH, .name = "a", .body = STR_LIT("1"), .patch = CLIENT_PATCH_MERGE },
          "PATCH ",
          "application/merge-patch+json",
          "1" },
        { { .verb = CLIENT_PATCH, .name = "a", .body = STR_LIT("2"), .patch = CLIENT_PATCH_JSON },
          "PATCH ",
          "application/json-patch+json",
          "2" },
        { { .verb = CLIENT_PATCH, .name = "a", .body = STR_LIT("3"), .patch = CLIENT_PATCH_STRATEGIC },
          "PATCH ",
          "application/strategic-merge-patch+json",
          "3" },
        { { .verb = CLIENT_PATCH, .name = "a", .body = STR_LIT("4"), .patch = CLIENT_PATCH_APPLY },
          "PATCH ",
          "application/apply-patch+yaml",
          "4" },
        { { .verb = CLIENT_DELETE, .name = "a", .if_uid = "u" },
          "DELETE ",
          "application/json",
          "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"preconditions\":{\"uid\":\"u\"}}" },
        { { .verb = CLIENT_DELETE, .name = "a" }, "DELETE ", NULL, "" },
    };
    _cleanup_(net_free_p) struct net *n = net_new_plain();

    n->body = MAP_TEXT("a");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(ask_done) struct asked a = { .q = rows[i].q };
        char type[100];

        a.q.kind = kind_info(KIND_CONFIG_MAP);
        a.q.ns = "shop";
        ASSERT_INT(0, ask(n, &a)->r);
        assert_true(str_has_prefix(buf_str(&n->seen), rows[i].line));
        (void)snprintf(type, sizeof type, "Content-Type=%s\n", rows[i].type ? rows[i].type : "");
        ASSERT_INT(rows[i].type != NULL, net_saw(n, type));
        ASSERT_STR(rows[i].body, strstr(buf_cstr(&n->seen), "\n\n") + 2);
    }
}

TEST(large_bodies_are_sent_at_once)
{
    _cleanup_(net_free_p) struct net *n = net_new_plain();
    _cleanup_(ask_done) struct asked a = ASK_MAP(.verb = CLIENT_CREATE);
    size_t len = 2500000;
    char *body = malloc(len);

    assert_non_null(body);
    memset(body, 'x', len);
    a.q.body = (struct str){ body, len };
    n->body = MAP_TEXT("a");
    ASSERT_INT(0, ask(n, &a)->r);
    assert_true(n->seen.len > len);
    assert_false(net_saw(n, "Expect"));
    free(body);
}

TEST(lists_come_compressed)
{
    _cleanup_(net_free_p) struct net *n = net_new_plain();
    _cleanup_(buf_done_p) struct buf list = BUF_INIT(NET_TEXT_BYTES_MAX);

    buf_add_cstr(&list, "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{"
                        "\"resourceVersion\":\"7\"},\"items\":[");
    for (unsigned i = 0; i < 20000; i++)
        buf_addf(&list, "%s{\"metadata\":{\"name\":\"m%u\"}}", i ? "," : "", i);
    buf_add_cstr(&list, "]}");
    n->body = buf_cstr(&list);
    for (unsigned i = 0; i < 2; i++) {
        _cleanup_(ask_done) struct asked a = ASK_MAP(.verb = CLIENT_LIST, .limit = 500);
        n->config.disables_compression = i;
        ASSERT_INT(0, ask(n, &a)->r);
        ASSERT_INT(20000, a.answer.list.count);
        ASSERT_INT(!i, net_saw(n, "Accept-Encoding=gzip\n"));
        assert_true(net_saw(n, "GET /api/v1/namespaces/shop/configmaps?limit=500\n"));
    }
}

TEST(raw_paths)
{
    _cleanup_(net_free_p) struct net *n = net_new_plain();
    _cleanup_(ask_done) struct asked a = ASK_RAW("/a/../version?x=1");

    n->body = "hello";
    ASSERT_INT(0, ask(n, &a)->r);
    ASSERT_STR("hello", a.text);
    assert_true(net_saw(n, "GET /a/../version?x=1\n")); /* as it is written */
}

/* machinery-7 */
TEST(prefix_is_kept)
{
    static const char *const prefixes[] = { "/prefix", "/prefix/", "/k8s/clusters/c1" };

    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
        _cleanup_(net_free_p) struct net *n = net_new(NULL);
        _cleanup_(ask_done) struct asked a = ASK_MAP(.verb = CLIENT_GET, .name = "a");
        net_listen(n, (struct http_options){ 0 });
        net_set_server(n, http_address(n->http), prefixes[i]);
        net_start_client(n);
        n->body = MAP_TEXT("a");
        ASSERT_INT(0, ask(n, &a)->r);
        assert_true(net_saw(n, i < 2 ? "GET /prefix/api/v1/namespaces/shop/configmaps/a\n"
                                     : "GET /k8s/clusters/c1/api/v1/namespaces/shop/configmaps/a\n"));
    }
}

/* machinery-10 */
TEST(credentials_are_not_sent_in_the_clear)
{
    static const char *const groups[] = { "g", NULL };
    _cleanup_(net_free_p) struct net *n = net_new(NULL);
    _cleanup_(ask_done) struct asked a = ASK_RAW("/version");

    net_listen(n, (struct http_options){ 0 });
    n->config.token = "secret";
    n->config.as = "somebody";
    n->config.as_groups = groups;
    net_start_client(n);
    ASSERT_INT(0, ask(n, &a)->r);
    assert_false(net_saw(n, "Authorization"));
    assert_false(net_saw(n, "secret"));
    assert_false(net_saw(n, "Impersonate"));
}

/* Transport halves of machinery-11 and machinery-12. */
TEST(refusals_with_and_without_retry_after)
{
    static const struct {
        int status;
        const char *retry_after;
        int64_t seconds;
        enum err code;
    } rows[] = {
        { 429, "1", 1, ERR_BUSY },          { 503, NULL, -1, ERR_UNAVAILABLE },
        { 503, "20", 20, ERR_UNAVAILABLE }, { 500, "Mon, 16 Nov 2026 00:00:00 GMT", -1, ERR_INTERNAL },
        { 429, "-5", -1, ERR_BUSY },        { 429, "99999999999999999999", -1, ERR_BUSY },
        { 429, "1.5", -1, ERR_BUSY },
    };
    _cleanup_(net_free_p) struct net *n = net_new_plain();

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(ask_done) struct asked a = ASK_MAP(.verb = CLIENT_CREATE, .body = STR_LIT("{}"));
        n->status = rows[i].status;
        n->headers[0] = rows[i].retry_after ? "Retry-After" : NULL;
        n->headers[1] = rows[i].retry_after;
        ASSERT_INT(-(int)rows[i].code, ask(n, &a)->r);
        ASSERT_INT(rows[i].seconds, a.answer.retry_after_seconds);
        ASSERT_INT(rows[i].status, a.answer.http_status);
        ASSERT_INT(i + 1, n->served); /* asked once each */
    }
}

/* machinery-15 */
TEST(path_that_is_not_served)
{
    _cleanup_(net_free_p) struct net *n = net_new_plain();
    _cleanup_(ask_done) struct asked a = ASK_MAP(.verb = CLIENT_LIST);

    n->status = 404;
    n->body = "404 page not found\n";
    ASSERT_INT(-ERR_UNSUPPORTED, ask(n, &a)->r);
    ASSERT_STR("NotFound", a.reason);
}

TEST(redirects_are_not_followed)
{
    _cleanup_(net_free_p) struct net *n = net_new_plain();
    _cleanup_(ask_done) struct asked a = ASK_MAP(.name = "a");

    n->status = 302;
    n->headers[0] = "Location";
    n->headers[1] = "/elsewhere";
    ASSERT_INT(-ERR_INTERNAL, ask(n, &a)->r);
    ASSERT_INT(302, a.answer.http_status);
    ASSERT_INT(1, n->served);
}

/* machinery-16: each is handed on; telling them once is for those above. */
TEST(warnings_are_handed_on)
{
    static const struct {
        const char *header;
        const char *told;
    } rows[] = {
        { "299 - \"text\"", "warning text\n" },
        { "299 - \"a \\\"b\\\" \\\\ c\"", "warning a \"b\" \\ c\n" },
        { "299 kube \"one\", 299 - \"two\"", "warning one\nwarning two\n" },
        { "299 - \"dated\" \"Mon, 16 Nov 2026\"", "warning dated\n" },
        { "199 - \"other code\"", "" },
        { "299 - unquoted", "" },
        { "299 - \"no end", "" },
        { "299", "" },
        { "299 -", "" },
    };
    _cleanup_(net_free_p) struct net *n = net_new_plain();

    n->body = MAP_TEXT("a");
    n->headers[0] = "Warning";
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(ask_done) struct asked a = ASK_MAP(.name = "a");
        n->headers[1] = rows[i].header;
        ASSERT_INT(0, ask(n, &a)->r);
        ASSERT_STR(rows[i].told, buf_cstr(&a.told));
    }
    _cleanup_(ask_done) struct asked both = ASK_MAP(.name = "a");
    n->headers[1] = "299 - \"first\"";
    n->headers[2] = "Warning";
    n->headers[3] = "299 - \"second\"";
    ASSERT_INT(0, ask(n, &both)->r);
    ASSERT_STR("warning first\nwarning second\n", buf_cstr(&both.told));
}

TEST(answers_have_a_ceiling)
{
    static char body[5000];
    _cleanup_(net_free_p) struct net *n = net_new(NULL);
    _cleanup_(ask_done) struct asked get = ASK_RAW("/x");
    _cleanup_(ask_done) struct asked patch = ASK_MAP(.verb = CLIENT_PATCH, .name = "a");
    _cleanup_(ask_done) struct asked fits = ASK_RAW("/x");

    net_listen(n, (struct http_options){ 0 });
    n->options.answer_bytes_max = 1000;
    net_start_client(n);
    memset(body, 'x', sizeof body - 1);
    n->body = body;
    ASSERT_INT(-ERR_TOO_LARGE, ask(n, &get)->r);
    assert_non_null(strstr(get.answer.error.msg, "the answer has more than 1000 bytes"));
    assert_false(get.answer.may_have_happened);
    ASSERT_INT(-ERR_TOO_LARGE, ask(n, &patch)->r);
    assert_true(patch.answer.may_have_happened); /* it has */
    n->body = body + sizeof body - 1 - 1000;
    ASSERT_INT(0, ask(n, &fits)->r);
}

/* A compressed answer is measured by what it grows to. */
TEST(compressed_answers_have_the_same_ceiling)
{
    _cleanup_(net_free_p) struct net *n = net_new(NULL);
    _cleanup_(ask_done) struct asked a = ASK_MAP(.verb = CLIENT_LIST);
    size_t len = (size_t)4 << 20;
    char *body = malloc(len + 1);

    assert_non_null(body);
    memset(body, ' ', len);
    body[len] = '\0';
    net_listen(n, (struct http_options){ 0 });
    n->options.answer_bytes_max = (size_t)1 << 20;
    net_start_client(n);
    n->body = body;
    ASSERT_INT(-ERR_TOO_LARGE, ask(n, &a)->r);
    free(body);
}

TEST(refusals_that_never_end_are_cut)
{
    _cleanup_(net_free_p) struct net *n = net_new_plain();
    _cleanup_(ask_done) struct asked a = ASK_MAP(.name = "a");
    size_t len = (size_t)8 << 20;
    char *body = malloc(len + 1);

    assert_non_null(body);
    memset(body, 'x', len);
    body[len] = '\0';
    n->body = body;
    n->status = 503;
    ASSERT_INT(-ERR_UNAVAILABLE, ask(n, &a)->r);
    ASSERT_INT(503, a.answer.http_status);
    ASSERT_STR("ServiceUnavailable", a.reason);
    free(body);
}

TEST(hundreds_at_once)
{
    static struct asked asked[300];
    _cleanup_(net_free_p) struct net *n = net_new_plain();
    size_t done = 0;

    n->body = MAP_TEXT("a");
    n->is_late = true;
    for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
        asked[i] = (struct asked)ASK_MAP(.verb = i % 3 ? CLIENT_PATCH : CLIENT_GET, .name = "a");
        ask_start(n, &asked[i]);
    }
    AWAIT(n, n->late_count == 16); /* the others wait their turn */
    for (unsigned i = 0; i < 10; i++)
        (void)loop_poll(n->loop);
    ASSERT_INT(16, n->late_count);
    ASSERT_INT(16, http_connections(n->http));
    n->is_late = false;
    for (size_t i = 0; i < n->late_count; i++)
        net_answer(n, n->late[i]);
    AWAIT(n, n->served == ARRAY_LEN(asked));
    for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
        run_until(n->loop, &asked[i].is_done);
        ASSERT_INT(0, asked[i].answer.r);
        done += asked[i].ends;
        ask_done(&asked[i]);
    }
    ASSERT_INT(ARRAY_LEN(asked), done);
    assert_true(http_connections(n->http) <= 16);
}

/* --- Watches --- */

#define WATCH(...) ASK_MAP(.verb = CLIENT_WATCH, __VA_ARGS__)

TEST(watch_tells_its_events)
{
    _cleanup_(net_free_p) struct net *n = net_new_plain();
    _cleanup_(ask_done) struct asked a = WATCH(.timeout_seconds = 300, .wants_bookmarks = true);

    n->is_stream = true;
    n->headers[0] = "Warning";
    n->headers[1] = "299 - \"old\"";
    ask_start(n, &a);
    AWAIT(n, n->served == 1);
    assert_true(net_saw(n, "?watch=true&allowWatchBookmarks=true&timeoutSeconds=300\n"));
    assert_false(net_saw(n, "Accept-Encoding"));
    net_say(n, EVENT_TEXT("ADDED", "a") EVENT_TEXT("MODIFIED", "b"));
    AWAIT(n, a.events == 2);
    ASSERT_INT(0, a.ends);
    net_say(n, "\n\r\n" /* is nothing */ EVENT_TEXT("DELETED", "c") "garbage\n");
    AWAIT(n, a.events == 4);
    n->stream.is_at_end = true;
    net_say(n, "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"9\"}}}");
    run_until(n->loop, &a.is_done);
    ASSERT_INT(0, a.answer.r);
    ASSERT_STR("warning old\nadded a\nmodified b\ndeleted c\nunreadable \nbookmark 9\n", buf_cstr(&a.told));
}

TEST(lines_may_be_split_anywhere)
{
    static const char text[] =
        EVENT_TEXT("ADDED", "a") EVENT_TEXT("MODIFIED", "b") "\n" EVENT_TEXT("DELETED", "c");

    for (size_t piece = 1; piece < sizeof text; piece += piece < 8 ? 1 : 29) {
        _cleanup_(net_free_p) struct net *n = net_new_plain();
        _cleanup_(ask_done) struct asked a = WATCH(.timeout_seconds = 1);
        n->is_stream = true;
        n->stream.piece_bytes = piece;
        n->stream.is_at_end = true;
        buf_add_cstr(&n->stream.text, text);
        ASSERT_INT(0, ask(n, &a)->r);
        ASSERT_STR("added a\nmodified b\ndeleted c\n", buf_cstr(&a.told));
    }
}

TEST(lines_have_a_ceiling)
{
    static char line[2000];
    static const struct {
        bool has_end;
        size_t len;
        enum err code;
    } rows[] = { { true, 1500, ERR_TOO_LARGE }, { false, 1500, ERR_TOO_LARGE }, { true, 900, ERR_NONE } };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(net_free_p) struct net *n = net_new(NULL);
        _cleanup_(ask_done) struct asked a = WATCH(.timeout_seconds = 1);
        net_listen(n, (struct http_options){ 0 });
        n->options.line_bytes_max = 1000;
        net_start_client(n);
        memset(line, 'x', sizeof line);
        line[rows[i].len] = rows[i].has_end ? '\n' : 'x';
        line[rows[i].len + 1] = '\0';
        n->is_stream = true;
        n->stream.is_at_end = rows[i].has_end;
        buf_addf(&n->stream.text, "%s%s", EVENT_TEXT("ADDED", "a"), line);
        ASSERT_INT(-(int)rows[i].code, ask(n, &a)->r);
        ASSERT_INT(200, a.answer.http_status);
        assert_true(str_has_prefix(buf_str(&a.told), "added a\n")); /* what came before is told */
    }
}

TEST(watch_that_is_refused)
{
    _cleanup_(net_free_p) struct net *n = net_new_plain();
    _cleanup_(ask_done) struct asked a = WATCH(.timeout_seconds = 1);

    n->status = 410;
    n->body = "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Expired\",\"code\":410}\n";
    ASSERT_INT(-ERR_GONE, ask(n, &a)->r);
    ASSERT_INT(410, a.answer.http_status);
    ASSERT_INT(0, a.events);
}

TEST(watches_take_nothing_from_requests)
{
    static struct asked watches[40];
    _cleanup_(net_free_p) struct net *n = net_new_plain();
    _cleanup_(ask_done) struct asked a = ASK_MAP(.name = "a");

    n->is_late = true;
    for (size_t i = 0; i < ARRAY_LEN(watches); i++) {
        watches[i] = (struct asked)WATCH(.timeout_seconds = 300);
        ask_start(n, &watches[i]);
    }
    AWAIT(n, n->late_count == ARRAY_LEN(watches)); /* all at once */
    n->is_late = false;
    n->body = MAP_TEXT("a");
    ASSERT_INT(0, ask(n, &a)->r);
    for (size_t i = 0; i < ARRAY_LEN(watches); i++) {
        n->carrier->type->cancel(n->carrier, &watches[i].attempt);
        net_answer(n, n->late[i]);
        ask_done(&watches[i]);
    }
    AWAIT(n, http_connections(n->http) <= 1);
}

TEST(quiet_watches_are_given_up)
{
    struct manual_clock clock;
    _cleanup_(net_free_p) struct net *n = NULL;
    _cleanup_(ask_done) struct asked a = WATCH(.timeout_seconds = 300);

    manual_clock_init(&clock, NS_PER_S, 0);
    n = net_new(&clock.clock);
    net_listen(n, (struct http_options){ 0 });
    net_start_client(n);
    n->is_stream = true;
    ask_start(n, &a);
    AWAIT(n, n->served == 1);
    net_say(n, EVENT_TEXT("ADDED", "a"));
    AWAIT(n, a.events == 1);
    loop_advance(n->loop, &clock, 329 * NS_PER_S);
    ASSERT_INT(0, a.ends);
    net_say(n, EVENT_TEXT("ADDED", "b")); /* a word, and it counts anew */
    AWAIT(n, a.events == 2);
    loop_advance(n->loop, &clock, 329 * NS_PER_S);
    ASSERT_INT(0, a.ends);
    loop_advance(n->loop, &clock, NS_PER_S);
    ASSERT_INT(1, a.ends);
    ASSERT_INT(-ERR_TIMEOUT, a.answer.r);
    assert_non_null(strstr(a.answer.error.msg, "watch received nothing for 330 s"));
    AWAIT(n, n->stream.is_closed);
}

/* --- Cancelling --- */

TEST(cancelled_from_inside_an_event)
{
    for (unsigned i = 1; i <= 3; i++) {
        _cleanup_(net_free_p) struct net *n = net_new_plain();
        _cleanup_(ask_done) struct asked a = WATCH(.timeout_seconds = 300);
        n->is_stream = true;
        a.cancel_at_event = i;
        ask_start(n, &a);
        AWAIT(n, n->served == 1);
        n->stream.is_at_end = true;
        net_say(n, EVENT_TEXT("ADDED", "a") EVENT_TEXT("ADDED", "b") EVENT_TEXT("ADDED", "c"));
        run_until(n->loop, &a.is_done);
        AWAIT(n, n->stream.is_closed);
        ASSERT_INT(i, a.events);
        ASSERT_INT(0, a.ends);
    }
}

TEST(restarted_from_inside_an_event)
{
    _cleanup_(net_free_p) struct net *n = net_new_plain();
    _cleanup_(ask_done) struct asked a = WATCH(.timeout_seconds = 300);

    n->is_stream = true;
    n->stream.is_at_end = true;
    a.cancel_at_event = 1;
    a.restarts = true;
    buf_add_cstr(&n->stream.text, EVENT_TEXT("ADDED", "a") EVENT_TEXT("ADDED", "b"));
    ask_start(n, &a);
    AWAIT(n, a.ends == 1);
    ASSERT_INT(2, n->served);
    ASSERT_STR("added a\n", buf_cstr(&a.told));
    ASSERT_INT(0, a.answer.r);
}

/* After any number of turns. */
TEST(cancelled_at_any_moment)
{
    for (unsigned turns = 0; turns < 12; turns++) {
        for (unsigned verb = 0; verb < CLIENT_VERB_COUNT; verb++) {
            _cleanup_(net_free_p) struct net *n = net_new_plain();
            _cleanup_(ask_done) struct asked a =
                ASK_MAP(.verb = (enum client_verb)verb, .name = "a", .path = "/x");
            n->body = MAP_TEXT("a");
            ask_start(n, &a);
            for (unsigned i = 0; i < turns; i++)
                (void)loop_poll(n->loop);
            if (a.ends)
                continue;
            n->carrier->type->cancel(n->carrier, &a.attempt);
            for (unsigned i = 0; i < 10; i++)
                (void)loop_poll(n->loop);
            ASSERT_INT(0, a.ends);
        }
    }
}

/* --- Requests that cannot be begun --- */

TEST(targets_have_a_ceiling)
{
    static struct asked asked[3];
    size_t len = (size_t)2 << 20;
    char *selector = malloc(len + 1);
    _cleanup_(net_free_p) struct net *n = net_new_plain();

    assert_non_null(selector);
    memset(selector, 'x', len);
    selector[len] = '\0';
    for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
        asked[i] = (struct asked)ASK_MAP(.verb = CLIENT_LIST, .label_selector = selector);
        ask_start(n, &asked[i]);
    }
    n->carrier->type->cancel(n->carrier, &asked[1].attempt);
    for (size_t i = 0; i < ARRAY_LEN(asked); i += 2) {
        run_until(n->loop, &asked[i].is_done);
        ASSERT_INT(-ERR_TOO_LARGE, asked[i].answer.r);
        ASSERT_INT(0, asked[i].answer.http_status);
        assert_false(asked[i].answer.was_connected);
    }
    ASSERT_INT(0, asked[1].ends);
    ask_start(n, &asked[1]); /* and once more, all of them cancelled */
    n->carrier->type->cancel(n->carrier, &asked[1].attempt);
    (void)loop_poll(n->loop);
    ASSERT_INT(0, asked[1].ends);
    ASSERT_INT(0, n->served);
    free(selector);
}

/* --- Peers that fail --- */

TEST(nobody_listens)
{
    for (unsigned verb = CLIENT_GET; verb <= CLIENT_DELETE; verb++) {
        _cleanup_(net_free_p) struct net *n = net_new(NULL);
        _cleanup_(ask_done) struct asked a = ASK_MAP(.verb = (enum client_verb)verb, .name = "a");
        struct hand h;

        hand_init(&h, n);
        hand_done(&h); /* its port is nobody's now */
        net_start_client(n);
        ASSERT_INT(-ERR_UNAVAILABLE, ask(n, &a)->r);
        ASSERT_INT(0, a.answer.http_status);
        assert_false(a.answer.was_connected);
        assert_false(a.answer.may_have_happened);
        if (!strcasestr(a.answer.error.msg, "cannot connect to 127.0.0.1 port ") ||
            !strcasestr(a.answer.error.msg, ": connection refused"))
            fail_msg("%s", a.answer.error.msg);
        assert_non_null(strstr(a.answer.error.msg, n->server));
    }
}

TEST(no_such_host)
{
    _cleanup_(net_free_p) struct net *n = net_new(NULL);
    _cleanup_(ask_done) struct asked a = ASK_MAP(.verb = CLIENT_PATCH, .name = "a");

    net_set_server(n, "no-such-host.invalid:1", "");
    net_start_client(n);
    ASSERT_INT(-ERR_UNAVAILABLE, ask(n, &a)->r);
    assert_false(a.answer.was_connected);
    assert_false(a.answer.may_have_happened);
    assert_non_null(strstr(a.answer.error.msg, "no such host"));
}

/* A name that is being looked up holds nobody back. */
TEST(cancelled_while_the_name_is_looked_up)
{
    _cleanup_(net_free_p) struct net *n = net_new(NULL);
    _cleanup_(ask_done) struct asked a = ASK_MAP(.name = "a");

    net_set_server(n, "no-such-host.invalid:1", "");
    net_start_client(n);
    ask_start(n, &a);
    (void)loop_poll(n->loop);
    n->carrier->type->cancel(n->carrier, &a.attempt);
    ASSERT_INT(0, a.ends);
}

/* Transport halves of machinery-13 and machinery-14. */
TEST(connection_lost_after_sending)
{
    static const char *const said[] = {
        "",                                                        /* nothing */
        "HTTP/1.1 200 O",                                          /* half a line */
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"kind\"", /* half an answer */
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"ki",
        "garbage that is no HTTP\r\n\r\n",
    };

    for (size_t i = 0; i < ARRAY_LEN(said) * 4; i++) {
        bool resets = i & 1, writes = i & 2;
        _cleanup_(net_free_p) struct net *n = net_new(NULL);
        _cleanup_(ask_done) struct asked a = ASK_MAP(.name = "a", .body = STR_LIT("{\"x\":1}"));
        struct hand h;

        a.q.verb = writes ? CLIENT_PATCH : CLIENT_GET;
        hand_init(&h, n);
        net_start_client(n);
        ask_start(n, &a);
        hand_accept(&h, n);
        hand_read(&h, n, writes ? "{\"x\":1}" : "\r\n\r\n");
        hand_say(&h, said[i / 4]);
        if (resets)
            hand_reset(&h);
        else
            fd_closep(&h.fd), h.fd = -1;
        run_until(n->loop, &a.is_done);
        ASSERT_INT(-ERR_UNAVAILABLE, a.answer.r);
        ASSERT_INT(0, a.answer.http_status);
        assert_true(a.answer.was_connected);
        ASSERT_INT(writes, a.answer.may_have_happened);
        assert_int_equal(accept(h.listener, NULL, NULL), -1); /* not sent again */
        hand_done(&h);
    }
}

TEST(heads_have_a_ceiling)
{
    size_t len = (size_t)150 << 10;
    char *line = malloc(len + 1);
    _cleanup_(net_free_p) struct net *n = net_new(NULL);
    _cleanup_(ask_done) struct asked a = ASK_MAP(.name = "a");
    struct hand h;

    assert_non_null(line);
    memset(line, 'x', len);
    line[len] = '\0';
    hand_init(&h, n);
    net_start_client(n);
    ask_start(n, &a);
    hand_accept(&h, n);
    hand_read(&h, n, "\r\n\r\n");
    hand_say(&h, "HTTP/1.1 200 OK\r\nX: ");
    hand_say(&h, line);
    run_until(n->loop, &a.is_done);
    assert_true(a.answer.r < 0);
    ASSERT_INT(0, a.answer.http_status);
    if (!strstr(a.answer.error.msg, "the header of the answer is too large"))
        fail_msg("%s", a.answer.error.msg);
    hand_done(&h);
    free(line);
}

/* machinery-13, on a connection that was good before: libcurl would send it again by itself. */
TEST(writes_are_not_sent_twice_on_a_stale_connection)
{
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";

    for (unsigned writes = 0; writes < 2; writes++) {
        _cleanup_(net_free_p) struct net *n = net_new(NULL);
        _cleanup_(ask_done) struct asked first = ASK_RAW("/first");
        _cleanup_(ask_done) struct asked a = ASK_MAP(.name = "a");
        struct hand h;

        a.q.verb = writes ? CLIENT_DELETE : CLIENT_GET;
        hand_init(&h, n);
        net_start_client(n);
        ask_start(n, &first);
        hand_accept(&h, n);
        hand_read(&h, n, "\r\n\r\n");
        hand_say(&h, answer);
        run_until(n->loop, &first.is_done);
        buf_clear(&h.got);
        ask_start(n, &a);
        hand_read(&h, n, "\r\n\r\n");
        hand_reset(&h);
        if (writes) {
            run_until(n->loop, &a.is_done);
            ASSERT_INT(-ERR_UNAVAILABLE, a.answer.r);
            assert_true(a.answer.may_have_happened);
            assert_true(a.answer.was_connected);
        } else {
            hand_accept(&h, n); /* reads are welcome to */
            hand_read(&h, n, "GET /api/v1/namespaces/shop/configmaps/a ");
            n->carrier->type->cancel(n->carrier, &a.attempt);
        }
        hand_done(&h);
    }
}

TEST(watch_that_breaks)
{
    for (unsigned resets = 0; resets < 2; resets++) {
        _cleanup_(net_free_p) struct net *n = net_new(NULL);
        _cleanup_(ask_done) struct asked a = WATCH(.timeout_seconds = 300);
        struct hand h;

        hand_init(&h, n);
        net_start_client(n);
        ask_start(n, &a);
        hand_accept(&h, n);
        hand_read(&h, n, "\r\n\r\n");
        hand_say(&h, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1000\r\n" EVENT_TEXT(
                         "ADDED", "a") "{\"type\":\"ADD");
        AWAIT(n, a.events == 1);
        if (resets)
            hand_reset(&h);
        else
            fd_closep(&h.fd), h.fd = -1;
        run_until(n->loop, &a.is_done);
        ASSERT_INT(-ERR_UNAVAILABLE, a.answer.r);
        ASSERT_INT(200, a.answer.http_status); /* it was answered once */
        assert_false(a.answer.may_have_happened);
        ASSERT_STR("added a\n", buf_cstr(&a.told)); /* half a line is no event */
        hand_done(&h);
    }
}

TEST(cancelled_while_the_peer_says_nothing)
{
    _cleanup_(net_free_p) struct net *n = net_new(NULL);
    _cleanup_(ask_done) struct asked a = ASK_MAP(.verb = CLIENT_PATCH, .name = "a");
    struct hand h;

    hand_init(&h, n);
    net_start_client(n);
    ask_start(n, &a);
    hand_accept(&h, n);
    hand_read(&h, n, "\r\n\r\n");
    n->carrier->type->cancel(n->carrier, &a.attempt);
    assert_int_equal(recv(h.fd, (char[1]){ 0 }, 1, 0), 0); /* the connection is not kept */
    ASSERT_INT(0, a.ends);
    hand_done(&h);
}

TEST(connections_notice_dead_peers)
{
    _cleanup_(net_free_p) struct net *n = net_new(NULL);
    _cleanup_(ask_done) struct asked a = ASK_RAW("/x");
    struct hand h;
    int count = 0;

    hand_init(&h, n);
    net_start_client(n);
    ask_start(n, &a);
    hand_accept(&h, n);
    hand_read(&h, n, "\r\n\r\n");
    for (int fd = 3; fd < 100; fd++) {
        struct sockaddr_in to = { 0 };
        socklen_t len = sizeof to, alive_len = sizeof(int);
        int alive = 0;
        if (fd == h.fd || getpeername(fd, (struct sockaddr *)&to, &len) < 0 || to.sin_family != AF_INET)
            continue;
        assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &alive, &alive_len), 0);
        ASSERT_INT(1, alive);
        count++;
    }
    ASSERT_INT(1, count);
    n->carrier->type->cancel(n->carrier, &a.attempt);
    hand_done(&h);
}

/* --- Configuration --- */

TEST(servers_that_are_refused)
{
    static const struct {
        const char *server;
        bool is_tls;
        const char *proxy;
        const char *words;
    } rows[] = {
        { "ftp://h", false, NULL, "server: scheme 'ftp', expected http" },
        { "http://h", true, NULL, "server: scheme 'http', expected https" },
        { "https://h", false, NULL, "server: scheme 'https', expected http" },
        { "http://", false, NULL, "server: not the address of a server" },
        { "http://user:secret@h", false, NULL, "server: a user or password in the address is not supported" },
        { "http://h?q=1", false, NULL, "server: the address must not have a query or a fragment" },
        { "http://h", false, "gopher://p",
          "proxy-url: unsupported scheme \"gopher\", must be http, https, or socks5" },
        { "http://h", false, "p:3128", "proxy-url: unsupported scheme \"\", must be http, https, or socks5" },
    };
    _cleanup_(net_free_p) struct net *n = net_new(NULL);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        n->config.server = rows[i].server;
        n->config.is_tls = rows[i].is_tls;
        n->config.proxy_url = rows[i].proxy;
        ASSERT_ERR(ERR_INVALID, http_client_new(&n->options, &n->carrier, &err));
        ASSERT_STR(rows[i].words, err.msg);
        assert_null(n->carrier);
    }
}

TEST(proxies)
{
    _cleanup_(net_free_p) struct net *n = net_new(NULL);
    _cleanup_(ask_done) struct asked a = ASK_RAW("/x");
    char proxy[200];
    struct hand h;

    hand_init(&h, n);
    (void)snprintf(proxy, sizeof proxy, "http://user:secret@%s", n->server + strlen("http://"));
    n->config.proxy_url = proxy;
    assert_int_equal(setenv("no_proxy", "*", 1), 0); /* is not for one that was configured */
    net_set_server(n, "127.0.0.1:9", "");
    net_start_client(n);
    ask_start(n, &a);
    hand_accept(&h, n);
    hand_read(&h, n, "GET http://127.0.0.1:9/x HTTP/1.1\r\n");
    hand_reset(&h);
    run_until(n->loop, &a.is_done);
    assert_null(strstr(a.answer.error.msg, "secret"));
    assert_int_equal(unsetenv("no_proxy"), 0);
    hand_done(&h);
}

TEST(the_environments_proxy_is_not_for_this_machine)
{
    _cleanup_(net_free_p) struct net *n = net_new(NULL);
    _cleanup_(ask_done) struct asked a = ASK_RAW("/x");

    net_listen(n, (struct http_options){ 0 });
    assert_int_equal(setenv("http_proxy", "http://127.0.0.1:9", 1), 0);
    net_start_client(n);
    ASSERT_INT(0, ask(n, &a)->r);
    assert_int_equal(unsetenv("http_proxy"), 0);
}

TEST_MAIN()
