#include "tests/unit/test_attempt.h"

#include "api/config.h"
#include "api/event.h"
#include "apiserver/watch_int.h"

#define BODY(text) .body = { text, sizeof(text) - 1 }
#define MAPS_OF(ns_) .kind = &config_map_kind, .ns = ns_

static const struct client_request watch_maps = { .verb = CLIENT_WATCH, MAPS_OF("default") };

/* The text with each "+N" in it as the revision that many after `from`. */
static const char *lines_after(int64_t from, const char *text)
{
    static char out[1024];
    size_t len = 0;

    while (*text != '\0' && len < sizeof out - 24) {
        char *end;

        if (*text != '+') {
            out[len++] = *text++;
            continue;
        }
        len += (size_t)snprintf(out + len, 24, "%lld", (long long)from + strtoll(text, &end, 10));
        text = end;
    }
    out[len] = '\0';
    return out;
}

static int64_t newest(const struct near *n)
{
    return store_revision(n->served.store);
}

/* A watch from this moment on. */
static void watch_from_now(struct near *n, struct attempt *x, const struct client_request *like)
{
    static char version[24];
    struct client_request q = *like;

    (void)snprintf(version, sizeof version, "%lld", (long long)newest(n));
    q.resource_version = version;
    attempt_run(n, x, &q);
    ASSERT_INT(0, x->events);
}

static void label(struct near *n, const char *name, const char *value)
{
    char body[128];

    (void)snprintf(body, sizeof body, "{'metadata':{'labels':{'x':%s}}}", value);
    near_patch(n, KIND_CONFIG_MAP, "default", name, body);
}

/* --- What is told --- */

TEST(a_watch_tells_of_the_servers_own_objects)
{
    _cleanup_(near_done) struct near n;
    _cleanup_(attempt_done) struct attempt x = { 0 };
    int64_t from;

    near_init(&n);
    watch_from_now(&n, &x, &watch_maps);
    from = newest(&n);
    near_create_maps(&n, "a");
    label(&n, "a", "'1'");
    near_delete(&n, KIND_CONFIG_MAP, "default", "a");
    near_create(&n, KIND_CONFIG_MAP, "kube-system", "{'metadata':{'name':'elsewhere'}}");
    /* A deletion has a revision of its own, and the object carries it. */
    ASSERT_STR(lines_after(from, "ADDED default/a +1\nMODIFIED default/a +2\nDELETED default/a +3\n"),
               buf_cstr(&x.seen));
    ASSERT_INT(0, x.ends);
}

/* machinery-32 */
TEST(what_leaves_the_selection_is_deleted)
{
    _cleanup_(near_done) struct near n;
    _cleanup_(attempt_done) struct attempt x = { 0 };
    struct client_request q = watch_maps;
    int64_t from;

    near_init(&n);
    near_create_maps(&n, "a");
    label(&n, "a", "'1'");
    from = newest(&n);
    q.label_selector = "x=1";
    watch_from_now(&n, &x, &q);
    label(&n, "a", "'2'");
    assert_non_null(strstr(buf_cstr(&x.lines), "\"x\":\"1\"")); /* as it was when it was selected */
    label(&n, "a", "'3'");                                      /* none of its business */
    label(&n, "a", "'1'");
    ASSERT_STR(lines_after(from, "DELETED default/a +1\nADDED default/a +3\n"), buf_cstr(&x.seen));
}

/* Every kind of watch beside its like in text; then what happens to them all. */
static const struct {
    struct client_request q;
} alike[] = {
    { { .verb = CLIENT_WATCH, MAPS_OF("default") } },
    { { .verb = CLIENT_WATCH, MAPS_OF(NULL), .resource_version = "0" } },
    { { .verb = CLIENT_WATCH, MAPS_OF(NULL), .resource_version = "2" } },
    { { .verb = CLIENT_WATCH, MAPS_OF("default"), .label_selector = "x=1" } },
    { { .verb = CLIENT_WATCH, MAPS_OF("default"), .label_selector = "x!=1" } },
    { { .verb = CLIENT_WATCH, MAPS_OF("default"), .field_selector = "metadata.name=b" } },
    { { .verb = CLIENT_WATCH, MAPS_OF("default"), .label_selector = "x", .resource_version = "5" } },
    { { .verb = CLIENT_WATCH, .kind = &event_kind } },
    { { .verb = CLIENT_WATCH, .kind = &event_v1_kind } },
    { { .verb = CLIENT_WATCH, .kind = &event_v1_kind, .ns = "default", .resource_version = "1" } },
};

#define EVENT_BODY                                                                                           \
    "{'metadata':{'name':'e'},'regarding':{'kind':'Pod','name':'p','namespace':'default'},'note':'n',"       \
    "'reason':'R','type':'Normal','action':'A','reportingController':'c','reportingInstance':'i','eventTime" \
    "':'2023-11-14T22:13:20.000000Z'}"

static void change_things(struct near *n)
{
    near_create_maps(n, "abc");
    label(n, "a", "'1'");
    label(n, "b", "'1'");
    near_create(n, KIND_EVENT_V1, "default", EVENT_BODY);
    near_patch(n, KIND_EVENT_V1, "default", "e", "{'metadata':{'labels':{'x':'1'}}}");
    label(n, "a", "'2'");
    label(n, "b", "null");
    near_delete(n, KIND_CONFIG_MAP, "default", "c");
    label(n, "b", "'1'");
    near_delete(n, KIND_CONFIG_MAP, "default", "b");
    near_delete(n, KIND_CONFIG_MAP, "default", "a");
    near_delete(n, KIND_EVENT, "default", "e");
}

static void pull_all(struct sent *x, struct buf *out)
{
    char part[1000];
    ssize_t got_bytes;

    while ((got_bytes = x->call.stream->pull(x->call.stream, part, sizeof part)) > 0)
        buf_add(out, part, (size_t)got_bytes);
    ASSERT_INT(0, got_bytes);
}

struct pair {
    struct attempt x;
    struct sent text;
    struct buf target;
    struct buf lines;
};

static void pair_open(struct near *n, struct pair *p, const struct client_request *q, bool is_text_first)
{
    *p = (struct pair){ .target = BUF_INIT(4096), .lines = BUF_INIT(1 << 20) };
    target_write(q, &p->target);
    if (!is_text_first)
        attempt_run(n, &p->x, q);
    send_begin(&n->served, &p->text, "GET", buf_cstr(&p->target), NULL);
    assert_non_null(p->text.call.stream);
    pull_all(&p->text, &p->lines); /* it is live from here on */
    if (is_text_first)
        attempt_run(n, &p->x, q);
}

static void pair_close(struct pair *p)
{
    attempt_done(&p->x);
    sent_done(&p->text);
    buf_done(&p->target);
    buf_done(&p->lines);
}

/* Whoever is told first must not decide what the others get. */
static void compare_pairs(bool is_text_first)
{
    _cleanup_(near_done) struct near n;
    struct pair pairs[ARRAY_LEN(alike)];

    near_init(&n);
    change_things(&n);
    for (size_t i = 0; i < ARRAY_LEN(alike); i++)
        pair_open(&n, &pairs[i], &alike[i].q, is_text_first);
    change_things(&n);
    for (size_t i = 0; i < ARRAY_LEN(alike); i++) {
        pull_all(&pairs[i].text, &pairs[i].lines);
        assert_true(pairs[i].lines.len > 0);
        if (strcmp(buf_cstr(&pairs[i].lines), buf_cstr(&pairs[i].x.lines)) != 0)
            fail_msg("row %zu:\n%s\nin text\n%s", i, buf_cstr(&pairs[i].x.lines), buf_cstr(&pairs[i].lines));
    }
    for (size_t i = 0; i < ARRAY_LEN(alike); i++)
        pair_close(&pairs[i]);
}

TEST(every_event_is_what_a_text_watch_gets)
{
    compare_pairs(/* is_text_first= */ true);
    compare_pairs(/* is_text_first= */ false);
}

TEST(one_commit_is_one_object_for_all_watches)
{
    _cleanup_(near_done) struct near n;
    _cleanup_(attempt_done) struct attempt one = { 0 }, two = { 0 };
    _cleanup_(buf_done_p) struct buf ignored = BUF_INIT(1 << 20);
    struct sent text;

    near_init(&n);
    send_begin(&n.served, &text, "GET", MAPS "?watch=true", NULL);
    pull_all(&text, &ignored); /* it is live: told first, and in its own form */
    watch_from_now(&n, &one, &watch_maps);
    watch_from_now(&n, &two, &(struct client_request){ .verb = CLIENT_WATCH, MAPS_OF(NULL) });
    near_create_maps(&n, "a");
    assert_non_null(one.last_object);
    assert_ptr_equal(one.last_object, two.last_object);
    assert_ptr_equal(one.last_object, store_get(n.served.store, KIND_CONFIG_MAP, "default", "a"));
    sent_done(&text);
}

/* --- Where it starts, and bookmarks --- */

TEST(a_watch_goes_on_from_a_version)
{
    _cleanup_(near_done) struct near n;
    _cleanup_(attempt_done) struct attempt x = { 0 };
    struct client_request q = watch_maps;
    char version[24];
    int64_t from;

    near_init(&n);
    near_create_maps(&n, "a");
    from = newest(&n);
    near_create_maps(&n, "bc");
    (void)snprintf(version, sizeof version, "%lld", (long long)from);
    q.resource_version = version;
    attempt_run(&n, &x, &q);
    near_create_maps(&n, "d");
    ASSERT_STR(lines_after(from, "ADDED default/b +1\nADDED default/c +2\nADDED default/d +3\n"),
               buf_cstr(&x.seen));
}

TEST(initial_events_end_with_a_bookmark)
{
    _cleanup_(near_done) struct near n;
    _cleanup_(attempt_done) struct attempt x = { 0 };
    int64_t from;

    near_init(&n);
    from = newest(&n);
    near_create_maps(&n, "ab");
    attempt_run(&n, &x,
                &(struct client_request){ .verb = CLIENT_WATCH,
                                          MAPS_OF("default"),
                                          .resource_version = "",
                                          .version_match = "NotOlderThan",
                                          .wants_bookmarks = true,
                                          .wants_initial_events = true });
    ASSERT_STR(lines_after(from, "ADDED default/a +1\nADDED default/b +2\nBOOKMARK +2 end\n"),
               buf_cstr(&x.seen));
    buf_clear(&x.seen);
    near_create(&n, KIND_CONFIG_MAP, "kube-system", "{'metadata':{'name':'elsewhere'}}");
    served_pass(&n.served, 60);
    ASSERT_STR(lines_after(newest(&n), "BOOKMARK +0\n"), buf_cstr(&x.seen));
}

/* A version that the store has forgotten: said in the stream, which then ends. */
TEST(a_version_that_is_gone_is_an_error_event)
{
    _cleanup_(near_done) struct near n;
    _cleanup_(attempt_done) struct attempt x = { 0 };
    struct client_request q = watch_maps;

    near_init(&n);
    for (unsigned i = 0; i < STORE_HISTORY_COUNT + 10; i++) {
        char value[16];

        (void)snprintf(value, sizeof value, "'v%u'", i);
        if (i == 0)
            near_create_maps(&n, "a");
        else
            label(&n, "a", value);
    }
    q.resource_version = "1";
    attempt_run(&n, &x, &q);
    ASSERT_STR("ERROR 410 Expired\n", buf_cstr(&x.seen));
    ASSERT_INT(1, x.ends);
    ASSERT_INT(0, x.r);
}

/* --- Its end --- */

TEST(a_watch_ends_after_its_time)
{
    _cleanup_(near_done) struct near n;
    _cleanup_(attempt_done) struct attempt x = { 0 };
    struct client_request q = watch_maps;

    near_init(&n);
    q.timeout_seconds = 7;
    watch_from_now(&n, &x, &q);
    served_pass(&n.served, 6);
    ASSERT_INT(0, x.ends);
    served_pass(&n.served, 1);
    ASSERT_INT(1, x.ends);
    ASSERT_INT(0, x.r);
    ASSERT_INT(200, x.http_status);
}

TEST(a_server_that_stops_ends_its_watches_cleanly)
{
    _cleanup_(near_done) struct near n;
    _cleanup_(attempt_done) struct attempt x = { 0 }, late = { 0 };

    near_init(&n);
    near_create_maps(&n, "a");
    attempt_start(&n, &x, &(struct client_request){ .verb = CLIENT_WATCH, MAPS_OF(NULL) });
    apiserver_stop(n.served.server);
    served_settle(&n.served);
    ASSERT_INT(1, x.ends);
    ASSERT_INT(0, x.r);
    attempt_run(&n, &late, &watch_maps);
    ASSERT_INT(1, late.ends);
    ASSERT_INT(-ERR_UNAVAILABLE, late.r);
    ASSERT_INT(503, late.http_status);
    ASSERT_INT(1, late.retry_after_seconds);
    ASSERT_STR("the server is shutting down", late.error.msg);
}

/* More than a queue holds, in one transaction: the watch is cut off like everybody's, and says so. */
TEST(a_watch_that_falls_behind_is_cut)
{
    _cleanup_(near_done) struct near n;
    _cleanup_(attempt_done) struct attempt x = { 0 };
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(1 << 20);
    static struct attempt writes[STORE_BATCH_MAX];
    size_t made = 0;

    near_init(&n);
    watch_from_now(&n, &x, &watch_maps);
    buf_add_cstr(&body, "{'metadata':{'generateName':'g-'},'data':{'k':'");
    for (size_t i = 0; i < 2 * WATCH_QUEUE_BYTES_MAX / STORE_BATCH_MAX; i++)
        buf_add_char(&body, 'x');
    buf_add_cstr(&body, "'}}");
    for (; made < STORE_BATCH_MAX; made++)
        attempt_start(
            &n, &writes[made],
            &(struct client_request){ .verb = CLIENT_CREATE, MAPS_OF("default"), .body = buf_str(&body) });
    served_settle(&n.served);
    ASSERT_INT(1, x.ends);
    ASSERT_INT(-ERR_UNAVAILABLE, x.r);
    assert_true(x.events < STORE_BATCH_MAX);
    while (made > 0) {
        ASSERT_INT(0, writes[--made].r);
        attempt_done(&writes[made]);
    }
}

/* --- Turns --- */

static void create_many(struct near *n, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        char body[64];

        (void)snprintf(body, sizeof body, "{'metadata':{'name':'m%05u'}}", i);
        near_create(n, KIND_CONFIG_MAP, "default", body);
    }
}

TEST(a_long_watch_takes_turns)
{
    _cleanup_(near_done) struct near n;
    _cleanup_(attempt_done) struct attempt x = { 0 };
    unsigned before = 0, turns = 0;
    bool has_more = true;
    char name[32];

    near_init(&n);
    create_many(&n, 1500);
    attempt_start(&n, &x, &watch_maps);
    while (has_more) {
        has_more = loop_poll(n.served.loop);
        assert_true(x.events - before <= STORE_BATCH_MAX);
        turns += x.events > before;
        before = x.events;
    }
    assert_true(x.events >= 1500);
    assert_true(turns >= 3);
    for (unsigned i = 0, at = 0; i < 1500; i++) { /* in order */
        const char *found;

        (void)snprintf(name, sizeof name, "ADDED default/m%05u ", i);
        found = strstr(buf_cstr(&x.seen) + at, name);
        assert_non_null(found);
        at = (unsigned)(found - buf_cstr(&x.seen));
    }
}

/* A watch that is still sending what there is hears of what happened meanwhile behind it. */
TEST(changes_come_behind_the_initial_events)
{
    _cleanup_(near_done) struct near n;
    _cleanup_(attempt_done) struct attempt x = { 0 };
    const char *last;

    near_init(&n);
    create_many(&n, 1200);
    attempt_start(&n, &x, &watch_maps);
    (void)loop_poll(n.served.loop);
    assert_true(x.events > 0 && x.events < 1200);
    near_delete(&n, KIND_CONFIG_MAP, "default", "m01199");
    near_delete(&n, KIND_CONFIG_MAP, "default", "m00000");
    assert_non_null(strstr(buf_cstr(&x.seen), "ADDED default/m01199 "));
    assert_true(strstr(buf_cstr(&x.seen), "ADDED default/m01199 ") <
                strstr(buf_cstr(&x.seen), "DELETED default/m01199 "));
    last = strstr(buf_cstr(&x.seen), "DELETED default/m00000 ");
    assert_non_null(last);
    ASSERT_STR("\n", strchr(last, '\n')); /* nothing behind it */
}

/* --- Cancelling --- */

/* Inside the callback of every event that there is, of every type; nothing is heard afterwards. */
TEST(a_watch_is_cancelled_in_each_of_its_events)
{
    _cleanup_(near_done) struct near n;
    unsigned at = 0, events;

    near_init(&n);
    near_create_maps(&n, "ab");
    do {
        struct attempt x = { .cancels_after = ++at };

        attempt_run(&n, &x,
                    &(struct client_request){ .verb = CLIENT_WATCH,
                                              MAPS_OF("default"),
                                              .resource_version = "",
                                              .version_match = "NotOlderThan",
                                              .timeout_seconds = 70,
                                              .wants_bookmarks = true,
                                              .wants_initial_events = true });
        label(&n, "a", at % 2 ? "'1'" : "'2'");
        served_pass(&n.served, 100);
        events = x.events;
        ASSERT_INT(events == at ? 0 : 1, x.ends);
        attempt_done(&x);
    } while (events == at);
    assert_true(at > 5);
    ASSERT_INT(0, watches_count(n.served.server->watches));
}

TEST(a_watch_is_cancelled_in_each_of_its_turns)
{
    _cleanup_(near_done) struct near n;

    near_init(&n);
    create_many(&n, 1200);
    for (unsigned turns = 0; turns < 8; turns++) {
        struct attempt x = { 0 };
        unsigned events;

        attempt_start(&n, &x, &watch_maps);
        for (unsigned i = 0; i < turns; i++)
            (void)loop_poll(n.served.loop);
        events = x.events;
        attempt_cancel(&x);
        ASSERT_INT(0, watches_count(n.served.server->watches));
        label(&n, "m00000", turns % 2 ? "'1'" : "'2'");
        ASSERT_INT(events, x.events);
        attempt_done(&x);
    }
}

static void cancel_and_stop(struct client_attempt *a, const struct client_event *ev)
{
    struct attempt *x = CONTAINER_OF(a, struct attempt, a);

    (void)ev;
    attempt_cancel(x);
    apiserver_stop(x->near->served.server); /* which wakes every watch */
}

TEST(a_watch_that_was_cancelled_is_woken_no_more)
{
    _cleanup_(near_done) struct near n;
    struct attempt x = { 0 };

    near_init(&n);
    near_create_maps(&n, "ab");
    attempt_start(&n, &x, &watch_maps);
    x.a.on_event = cancel_and_stop;
    served_settle(&n.served);
    ASSERT_INT(0, x.ends);
    attempt_done(&x);
}

/* --- Limits --- */

TEST(watches_in_this_process_always_get_through)
{
    _cleanup_(near_done) struct near n;
    _cleanup_(attempt_done) struct attempt x = { 0 };

    near_init(&n);
    n.served.server->watches->count += WATCHES_COUNT_MAX;
    ASSERT_SENT(&n.served, 429, "GET", MAPS "?watch=true", NULL);
    watch_from_now(&n, &x, &watch_maps);
    near_create_maps(&n, "a");
    ASSERT_INT(1, x.events);
    n.served.server->watches->count -= WATCHES_COUNT_MAX;
}

TEST_MAIN()
