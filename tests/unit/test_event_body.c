/* The words of events: names, messages, both forms. */
#include "tests/unit/test_kind.h"

#include "base/clock.h"
#include "machinery/event_body.h"
#include "machinery/recorder.h"

#include "api/uid.h"

static struct object *made(enum kind kind, const char *text)
{
    _cleanup_(json_done_p) struct json d;
    _cleanup_(buf_done_p) struct buf quoted = BUF_INIT(1 << 20);
    struct object *o;

    json_init(&d, 1 << 20);
    kind_quotes(text, &quoted);
    ASSERT_OK(object_decode(kind_info(kind), buf_str(&quoted), &d, &o, &err));
    return o;
}

TEST(event_name_is_the_objects_and_the_time)
{
    char name[EVENT_NAME_BYTES];
    struct rng rng;

    rng_init(&rng, 1);
    event_name("db", INT64_C(1700000000000000000), &rng, name);
    ASSERT_STR("db.17979cfe362a0000", name);
}

TEST(event_name_is_a_uuid_where_that_is_no_name)
{
    static const struct {
        size_t len; /* of the object's name */
        bool is_uuid;
    } rows[] = { { 236, false }, { 237, true }, { 250, true }, { 5000, true } };
    char name[EVENT_NAME_BYTES], other[EVENT_NAME_BYTES], object[5001];
    struct rng rng;

    rng_init(&rng, 1);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        memset(object, 'a', rows[i].len);
        object[rows[i].len] = '\0';
        event_name(object, INT64_C(1700000000000000000), &rng, name);
        ASSERT_INT(rows[i].is_uuid, uid_is_valid(str_of(name)));
    }
    event_name("Not:A:Name", 5, &rng, name);
    assert_true(uid_is_valid(str_of(name)));
    event_name("Not:A:Name", 5, &rng, other);
    assert_string_not_equal(name, other);
}

/* machinery-65: and both ends stay. */
TEST(event_message_loses_its_middle)
{
    static const struct {
        const char *text;
        size_t bytes_max;
        const char *expected;
    } rows[] = {
        { "", 5, "" },
        { "hello", 5, "hello" },
        { "hello!", 5, "h…!" },
        { "hello, world", 9, "hel…rld" },
        { "hello, world", 10, "hell…rld" },
        { "h\xc3\xa9", 3, "h\xc3\xa9" },
        { "h\xc3\xa9", 2, "h" },
        { "€uro€", 7, "…" },
        { "€uro€", 8, "€…" },
        { "aaa€aaa€a", 10, "aaa…a" },
        { "\xf0\x9f\x98\x80!", 3, "" },
        { "a\xff"
          "b",
          9,
          "a\xef\xbf\xbd"
          "b" },
        { "\xff\xff", 5, "…" },
        { "\xe2\x82", 9, "\xef\xbf\xbd\xef\xbf\xbd" },
        { "x", 0, "" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(buf_done_p) struct buf out = BUF_INIT(100);

        event_message(str_of(rows[i].text), rows[i].bytes_max, &out);
        ASSERT_STR(rows[i].expected, buf_cstr(&out));
    }
}

TEST(event_message_has_no_nul)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(100);

    event_message((struct str){ "a\0b", 3 }, 100, &out);
    ASSERT_STR("a\xef\xbf\xbd"
               "b",
               buf_cstr(&out));
}

/* What is before the message in a body of either form. */
static const struct event_body a_body = {
    .name = "db.1",
    .component = "binder",
    .host = "h1",
    .type = "Warning",
    .reason = "R",
    .action = "Binding",
    .message = { "say \"x\"", 7 },
    .first_real_ns = INT64_C(1700000000123456789),
    .last_real_ns = INT64_C(1700000065123456789),
    .count = 3,
};

TEST(event_core_form)
{
    _cleanup_(object_unref_p) struct object *claim =
        made(KIND_CLAIM, "{'metadata':{'name':'db','namespace':'shop','uid':'u','resourceVersion':'12'}}");
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(4096), patch = BUF_INIT(4096);
    struct event_body b = a_body;

    b.about = claim;
    event_write_core(&b, &out);
    ASSERT_STR(
        "{\"kind\":\"Event\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"db.1\",\"namespace\":\"shop\"},"
        "\"involvedObject\":{\"kind\":\"PersistentVolumeClaim\",\"namespace\":\"shop\",\"name\":\"db\","
        "\"uid\":\"u\",\"apiVersion\":\"v1\",\"resourceVersion\":\"12\"},\"reason\":\"R\","
        "\"message\":\"say \\\"x\\\"\",\"source\":{\"component\":\"binder\",\"host\":\"h1\"},"
        "\"firstTimestamp\":\"2023-11-14T22:13:20Z\",\"lastTimestamp\":\"2023-11-14T22:14:25Z\","
        "\"count\":3,\"type\":\"Warning\",\"eventTime\":null,\"reportingComponent\":\"binder\","
        "\"reportingInstance\":\"h1\"}",
        buf_cstr(&out));
    event_write_core_patch(&b, &patch);
    ASSERT_STR("{\"count\":3,\"lastTimestamp\":\"2023-11-14T22:14:25Z\",\"message\":\"say \\\"x\\\"\"}",
               buf_cstr(&patch));
}

TEST(event_core_form_without_a_host_at_cluster_scope)
{
    _cleanup_(object_unref_p) struct object *class = made(KIND_CLASS, "{'metadata':{'name':'fast'}}");
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(4096);
    struct event_body b = a_body;

    b.about = class;
    b.host = "";
    ASSERT_STR("default", event_namespace(class));
    event_write_core(&b, &out);
    assert_non_null(strstr(buf_cstr(&out), "\"namespace\":\"default\"},\"involvedObject\":{\"kind\":"
                                           "\"StorageClass\",\"name\":\"fast\",\"apiVersion\":"
                                           "\"storage.k8s.io/v1\"},"));
    assert_non_null(strstr(buf_cstr(&out), "\"source\":{\"component\":\"binder\"},"));
    assert_non_null(strstr(buf_cstr(&out), "\"reportingInstance\":\"\"}"));
}

TEST(event_v1_form)
{
    _cleanup_(object_unref_p) struct object *pod =
        made(KIND_POD, "{'metadata':{'name':'p','namespace':'shop','uid':'u','resourceVersion':'12'}}");
    _cleanup_(object_unref_p) struct object *node = made(KIND_NODE, "{'metadata':{'name':'n','uid':'v'}}");
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(4096);
    struct event_body b = a_body;

    b.about = pod;
    b.related = node;
    event_write_v1_open(&b, &out);
    buf_add_char(&out, ',');
    event_write_series(4, b.last_real_ns, &out);
    ASSERT_STR(
        "{\"kind\":\"Event\",\"apiVersion\":\"events.k8s.io/v1\",\"metadata\":{\"name\":\"db.1\","
        "\"namespace\":\"shop\"},\"eventTime\":\"2023-11-14T22:13:20.123456Z\","
        "\"reportingController\":\"binder\",\"reportingInstance\":\"binder-h1\",\"action\":\"Binding\","
        "\"reason\":\"R\",\"regarding\":{\"kind\":\"Pod\",\"namespace\":\"shop\",\"name\":\"p\","
        "\"uid\":\"u\",\"apiVersion\":\"v1\",\"resourceVersion\":\"12\"},"
        "\"related\":{\"kind\":\"Node\",\"name\":\"n\",\"uid\":\"v\",\"apiVersion\":\"v1\"},"
        "\"note\":\"say \\\"x\\\"\",\"type\":\"Warning\",\"series\":{\"count\":4,"
        "\"lastObservedTime\":\"2023-11-14T22:14:25.123456Z\"}",
        buf_cstr(&out));
}

TEST(event_v1_instance_is_short)
{
    _cleanup_(object_unref_p) struct object *pod =
        made(KIND_POD, "{'metadata':{'name':'p','namespace':'a'}}");
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(4096), want = BUF_INIT(4096);
    struct event_body b = a_body;
    char host[300];

    memset(host, 'h', sizeof host - 1);
    host[sizeof host - 1] = '\0';
    b.about = pod;
    b.host = host;
    event_write_v1_open(&b, &out);
    buf_addf(&want, "\"reportingInstance\":\"binder-%.*s…%.*s\",", 56, host, 62, host);
    assert_non_null(strstr(buf_cstr(&out), buf_cstr(&want)));
    buf_clear(&out);
    b.host = "";
    event_write_v1_open(&b, &out);
    assert_non_null(strstr(buf_cstr(&out), "\"reportingInstance\":\"binder\","));
}

TEST_MAIN()
