/* Long lists, written as their clients read them: the same bytes as the whole, one revision, bounded memory.
 */
#include "tests/unit/test_reads.h"

#include "api/yaml.h"
#include "base/rng.h"

#define MAPS "/api/v1/configmaps"
#define TEXT_MAX ((size_t)256 << 20)
#define COUNT 400

/* A map whose data has what YAML and indentation treat specially, and enough of it. */
static int64_t put_map(struct world *w, unsigned number, const char *more)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(TEXT_MAX);

    buf_addf(
        &text,
        "{'metadata':{'name':'m-%04u','namespace':'%s','uid':'u','labels':{'n':'%u'}},'data':{"
        "'empty':'','lines':'a\\n  b\\n\\nc','keep':'x\\n\\n','dash':'- a: b','yes':'yes','umlaut':'\u00e4',"
        "'long':'",
        number, number % 2 ? "a" : "b", number % 10);
    for (unsigned i = 0; i < 400; i++)
        buf_addf(&text, "word %u ", i);
    buf_addf(&text, "','more':'%s'}}", more);
    return world_put(w, KIND_CONFIG_MAP, buf_cstr(&text));
}

static void put_event(struct world *w, unsigned number)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(TEXT_MAX);

    buf_addf(
        &text,
        "{'metadata':{'name':'e-%04u','namespace':'a','uid':'u'},'involvedObject':{'kind':'Pod','name':'p',"
        "'namespace':'a'},'reason':'R','type':'Normal','message':'",
        number);
    for (unsigned i = 0; i < 400; i++)
        buf_addf(&text, "word %u ", i);
    buf_add_cstr(&text, "'}");
    (void)world_put(w, KIND_EVENT, buf_cstr(&text));
}

static void fill(struct world *w)
{
    for (unsigned i = 0; i < COUNT; i++) {
        (void)put_map(w, i, "");
        put_event(w, i);
    }
}

/* The whole list at once, as one text; lives until the next call. */
static struct str whole(struct world *w, const char *target, const char *accept)
{
    static struct buf out = { .len_max = TEXT_MAX };
    _cleanup_(asked_done) struct asked a;

    ask(w, &a, target, accept);
    assert_true(a.is_answered);
    ASSERT_INT(200, a.call.status);
    assert_null(a.call.stream);
    buf_clear(&out);
    buf_add_str(&out, buf_str(&a.call.reply));
    return buf_str(&out);
}

/* A list that comes as a stream; the caller ends it. */
static void open_list(struct world *w, struct asked *a, const char *target, const char *accept)
{
    ask_through(w, a, &asked_stream_carrier, target, accept);
    assert_true(a->is_answered);
    ASSERT_INT(200, a->call.status);
    if (!a->call.stream)
        fail_msg("%s is not sent as a stream: %zu bytes", target, a->call.reply.len);
    assert_true(a->call.stream->is_document);
    ASSERT_INT(0, a->call.reply.len);
}

/* Pulls up to so many bytes into out; what pull() returned last. */
static ssize_t pull(struct asked *a, size_t room, size_t max, struct buf *out)
{
    static char part[100000];
    struct stream *s = a->call.stream;
    size_t done = 0;
    ssize_t n = 1;

    assert_true(room <= sizeof part);
    while (done < max) {
        unsigned woken = a->woken;

        n = s->pull(s, part, room);
        assert_true(n <= (ssize_t)room);
        if (n < 0)
            break;
        if (n == 0)
            assert_true(a->woken > woken); /* it will be asked again */
        buf_add(out, part, (size_t)n);
        done += (size_t)n;
    }
    return n;
}

static void assert_same(const char *target, struct str expected, struct str got)
{
    size_t at = 0;

    while (at < expected.len && at < got.len && expected.s[at] == got.s[at])
        at++;
    if (!str_eq(expected, got))
        fail_msg("%s: %zu bytes instead of %zu, different from byte %zu on: '%.40s' instead of '%.40s'",
                 target, got.len, expected.len, at, got.s + at, expected.s + at);
}

static void check_stream(struct world *w, const char *target, const char *accept, size_t room)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(TEXT_MAX);
    _cleanup_(asked_done) struct asked a;

    open_list(w, &a, target, accept);
    ASSERT_INT(STREAM_END, pull(&a, room, SIZE_MAX, &out));
    ASSERT_INT(STREAM_END, pull(&a, room, SIZE_MAX, &out)); /* the end stays the end */
    assert_same(target, whole(w, target, accept), buf_str(&out));
}

TEST(a_stream_has_the_bytes_of_the_whole_list)
{
    static const struct {
        const char *target;
        const char *accept;
    } rows[] = {
        { MAPS, NULL },
        { MAPS "?pretty=true", NULL },
        { MAPS, "application/yaml" },
        { MAPS "?includeObject=Object", ACCEPT_TABLE },
        { MAPS "?includeObject=Object&pretty=true", ACCEPT_TABLE },
        { MAPS "?includeObject=Object", "application/yaml;as=Table;v=v1;g=meta.k8s.io" },
        { MAPS "?labelSelector=n+notin+(3)", NULL },
        { "/apis/events.k8s.io/v1/events", NULL },
        { "/apis/events.k8s.io/v1/events", "application/yaml" },
        { "/apis/events.k8s.io/v1/events?includeObject=Object", ACCEPT_TABLE },
        { MAPS "?limit=390", NULL },
        { MAPS "?limit=390", "application/yaml" },
    };
    static const size_t rooms[] = { 700, 98165 };
    struct world w;

    world_init(&w, 0);
    fill(&w);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        for (size_t n = 0; n < ARRAY_LEN(rooms); n++)
            check_stream(&w, rows[i].target, rows[i].accept, rooms[n]);
    check_stream(&w, MAPS, NULL, 2); /* one byte, and the NUL of a buffer */
    world_done(&w);
}

/* Indentation and YAML of a list that is written item by item are those of the whole tree. */
TEST(other_forms_are_those_of_the_tree)
{
    static const char *const targets[] = { MAPS "?limit=3", MAPS "?labelSelector=none" };
    struct world w;

    world_init(&w, 0);
    for (unsigned i = 0; i < 4; i++)
        (void)put_map(&w, i, "");
    for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
        _cleanup_(buf_done_p) struct buf target = BUF_INIT(1000), pretty = BUF_INIT(TEXT_MAX);
        _cleanup_(buf_done_p) struct buf yaml = BUF_INIT(TEXT_MAX);
        _cleanup_(json_done_p) struct json d;
        json_ref v;

        json_init(&d, TEXT_MAX);
        ASSERT_OK(json_parse(&d, whole(&w, targets[i], NULL), &v, &err));
        json_write_pretty(&d, v, &pretty);
        buf_add_char(&pretty, '\n');
        ASSERT_OK(yaml_write(&d, v, &yaml, &err));
        buf_addf(&target, "%s&pretty=true", targets[i]);
        assert_same("indented", buf_str(&pretty), whole(&w, buf_cstr(&target), NULL));
        assert_same("YAML", buf_str(&yaml), whole(&w, targets[i], "application/yaml"));
    }
    world_done(&w);
}

/* --- One revision --- */

/* Deletes, changes and creates, also behind what the reader has seen, until history has forgotten the start.
 */
static void churn(struct world *w, unsigned round)
{
    char text[200];

    for (unsigned i = round % 3; i < COUNT; i += 3) {
        (void)snprintf(text, sizeof text, "{'metadata':{'name':'m-%04u','namespace':'%s'}}", i,
                       i % 2 ? "a" : "b");
        if (i % 2 == round % 2)
            (void)world_delete(w, KIND_CONFIG_MAP, text);
        else
            (void)put_map(w, i, "changed");
        if (i % 2 == round % 2 && round < 3)
            (void)put_map(w, i, "created again");
    }
    for (unsigned i = 0; i < 20; i++)
        (void)put_map(w, COUNT + round * 20 + i, "new");
}

TEST(a_list_shows_one_revision_whatever_happens_meanwhile)
{
    static const char *const forms[] = { NULL, "application/yaml", ACCEPT_TABLE };
    struct world w;

    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        const char *target = forms[i] == forms[2] ? MAPS "?includeObject=Object" : MAPS;
        _cleanup_(buf_done_p) struct buf expected = BUF_INIT(TEXT_MAX), out = BUF_INIT(TEXT_MAX);
        _cleanup_(buf_done_p) struct buf page = BUF_INIT(TEXT_MAX);
        struct asked a, b;

        world_init(&w, 50);
        fill(&w);
        buf_add_str(&expected, whole(&w, target, forms[i]));
        open_list(&w, &a, target, forms[i]);
        open_list(&w, &b, MAPS "?limit=395", NULL);
        for (unsigned round = 0; round < 4; round++) {
            churn(&w, round);
            assert_true(pull(&a, 5000, expected.len / 6, &out) > 0);
        }
        assert_true(store_snapshots_bytes(w.store) > 0);
        ASSERT_INT(STREAM_END, pull(&a, 5000, SIZE_MAX, &out));
        assert_same(target, buf_str(&expected), buf_str(&out));
        ASSERT_INT(STREAM_END, pull(&b, 98165, SIZE_MAX, &page));
        assert_null(memmem(page.data, page.len, "created again", 13));
        assert_null(memmem(page.data, page.len, "changed", 7));
        ASSERT_INT(0, store_snapshots_bytes(w.store)); /* at the end of both */
        asked_done(&a);
        asked_done(&b);
        world_done(&w);
    }
}

/* A page of an old revision, continued. */
TEST(later_pages_are_streamed_at_their_revision)
{
    _cleanup_(buf_done_p) struct buf target = BUF_INIT(10000), expected = BUF_INIT(TEXT_MAX);
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(TEXT_MAX);
    const char *token, *end;
    struct asked a;
    struct world w;
    struct str first;

    world_init(&w, 3000);
    fill(&w);
    first = whole(&w, MAPS "?limit=5", NULL);
    token = memmem(first.s, first.len, "\"continue\":\"", 12);
    assert_non_null(token);
    token += 12;
    end = strchr(token, '"');
    buf_addf(&target, MAPS "?limit=392&continue=%.*s", (int)(end - token), token);
    buf_add_str(&expected, whole(&w, buf_cstr(&target), NULL));
    churn(&w, 0);
    assert_same("continued", buf_str(&expected), whole(&w, buf_cstr(&target), NULL));
    open_list(&w, &a, buf_cstr(&target), NULL);
    assert_true(pull(&a, 5000, 200000, &out) > 0);
    churn(&w, 1);
    ASSERT_INT(STREAM_END, pull(&a, 98165, SIZE_MAX, &out));
    assert_same(buf_cstr(&target), buf_str(&expected), buf_str(&out));
    asked_done(&a);
    world_done(&w);
}

/* --- Bounds --- */

static void put_large(struct world *w, unsigned number, char fill_with)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(TEXT_MAX);
    char *at;

    buf_addf(&text, "{'metadata':{'name':'l-%04u','namespace':'a'},'data':{'x':'", number);
    at = buf_grow(&text, 1000000);
    assert_non_null(at);
    memset(at, fill_with, 1000000);
    buf_add_cstr(&text, "'}}");
    (void)world_put(w, KIND_CONFIG_MAP, buf_cstr(&text));
}

TEST(a_list_holds_no_more_than_an_object)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(TEXT_MAX);
    struct asked many, large;
    struct world w;

    world_init(&w, 0);
    for (unsigned i = 0; i < COUNT; i++)
        (void)put_map(&w, i, "");
    open_list(&w, &many, MAPS, NULL);
    assert_true(many.call.stream->held(many.call.stream) <= 4 * LIST_FIRST_BYTES);
    while (pull(&many, 98165, 1, &out) > 0)
        assert_true(many.call.stream->held(many.call.stream) <= 4 * LIST_FIRST_BYTES);
    asked_done(&many);
    for (unsigned i = 0; i < 10; i++)
        put_large(&w, i, 'x');
    open_list(&w, &large, MAPS, NULL);
    while (pull(&large, 98165, 1, &out) > 0)
        assert_true(large.call.stream->held(large.call.stream) <= (4 << 20));
    asked_done(&large);
    check_stream(&w, MAPS, NULL, 98165);
    check_stream(&w, MAPS "?pretty=1", NULL, 98165);
    world_done(&w);
}

/* Of two lists that keep the past alive the one that goes on stays. */
TEST(past_its_bound_the_list_that_stands_still_is_cut)
{
    _cleanup_(buf_done_p) struct buf expected = BUF_INIT(TEXT_MAX), out = BUF_INIT(TEXT_MAX);
    struct asked still, moving;
    struct world w;

    world_init(&w, 10);
    for (unsigned i = 0; i < 50; i++)
        put_large(&w, i, 'x');
    buf_add_str(&expected, whole(&w, MAPS, NULL));
    open_list(&w, &moving, MAPS, NULL);
    for (unsigned i = 0; i < 40; i++)
        put_large(&w, i, 'y');
    assert_true(pull(&moving, 98165, 98165, &out) > 0);
    open_list(&w, &still, MAPS, NULL);
    for (unsigned i = 0; i < 50; i++) {
        put_large(&w, i, 'z');
        assert_true(pull(&moving, 98165, 98165, &out) > 0);
        assert_true(store_snapshots_bytes(w.store) <= LISTS_PAST_BYTES_MAX);
    }
    assert_true(still.is_cut);
    ASSERT_INT(STREAM_FAILED, still.call.stream->pull(still.call.stream, (char[1000]){ 0 }, 1000));
    assert_false(moving.is_cut);
    ASSERT_INT(1, lists_cut_count(w.server.lists));
    ASSERT_INT(STREAM_END, pull(&moving, 98165, SIZE_MAX, &out));
    assert_same(MAPS, buf_str(&expected), buf_str(&out));
    asked_done(&still);
    asked_done(&moving);
    world_done(&w);
}

/* One pull looks at so many objects and no more. */
TEST(a_search_lets_others_have_their_turn)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(TEXT_MAX);
    struct world w;
    struct asked a;

    world_init(&w, 10);
    for (unsigned i = 0; i < 3 * LIST_STEPS_MAX + 10; i++) {
        char text[200];

        (void)snprintf(text, sizeof text, "{'metadata':{'name':'m-%04u','namespace':'a'}}", i);
        (void)world_put(&w, KIND_CONFIG_MAP, text);
    }
    open_list(&w, &a, MAPS "?labelSelector=none", NULL);
    ASSERT_INT(STREAM_END, pull(&a, 98165, SIZE_MAX, &out));
    ASSERT_INT(3, a.woken);
    assert_same("empty", whole(&w, MAPS "?labelSelector=none", NULL), buf_str(&out));
    asked_done(&a);
    world_done(&w);
}

TEST(lists_that_fit_are_answered_whole)
{
    struct world w;
    struct asked a;

    world_init(&w, 0);
    for (unsigned i = 0; i < 50; i++)
        (void)put_map(&w, i, "");
    ask_through(&w, &a, &asked_stream_carrier, MAPS, NULL);
    ASSERT_INT(200, a.call.status);
    assert_null(a.call.stream);
    assert_same(MAPS, whole(&w, MAPS, NULL), buf_str(&a.call.reply));
    asked_done(&a);
    world_done(&w);
}

TEST(a_list_outlives_its_server_as_a_failure)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(TEXT_MAX);
    struct world w;
    struct asked a, ended;

    world_init(&w, 0);
    for (unsigned i = 0; i < COUNT; i++)
        (void)put_map(&w, i, "");
    open_list(&w, &a, MAPS, NULL);
    open_list(&w, &ended, MAPS, NULL);
    ASSERT_INT(STREAM_END, pull(&ended, 98165, SIZE_MAX, &out));
    world_done(&w);
    ASSERT_INT(STREAM_FAILED, pull(&a, 98165, SIZE_MAX, &out));
    ASSERT_INT(STREAM_END, pull(&ended, 98165, SIZE_MAX, &out));
    asked_done(&a);
    asked_done(&ended);
}

TEST_MAIN()
