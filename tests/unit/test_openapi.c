/* Serving OpenAPI documents: forms, tags, caching, refusals. What the documents say is test_openapi_schema's.
 */
#include "tests/unit/test_openapi.h"

#include "api/json.h"

#define PROTOBUF "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
#define PROTOBUF_ANSWER "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
#define PROTOBUF_V3 "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"
#define JSON "application/json"

static struct error err;

static struct openapi *new_openapi(void)
{
    struct openapi *o = NULL;

    ASSERT_OK(openapi_new(&o, &err));
    return o;
}

TEST(nothing_is_freed)
{
    assert_null(openapi_free(NULL));
}

TEST(forms)
{
    static const struct {
        const char *path, *accept;
        int status;
        const char *type;
    } rows[] = {
        { "/openapi/v2", NULL, 200, JSON },
        { "/openapi/v2", JSON, 200, JSON },
        { "/openapi/v2", "*/*", 200, JSON },
        { "/openapi/v2", "application/*", 200, JSON },
        { "/openapi/v2", PROTOBUF, 200, PROTOBUF_ANSWER },
        { "/openapi/v2", PROTOBUF_ANSWER, 200, PROTOBUF_ANSWER },
        { "/openapi/v2", PROTOBUF ", " JSON, 200, PROTOBUF_ANSWER },
        { "/openapi/v2", JSON ", " PROTOBUF, 200, JSON },
        { "/openapi/v2", PROTOBUF ";q=0.5, " JSON ";q=0.9", 200, JSON },
        { "/openapi/v2", "text/html, */*;q=0.1", 200, JSON },
        { "/openapi/v2", "application/yaml", 406, JSON },
        { "/openapi/v2", PROTOBUF_V3, 406, JSON },
        { "/openapi/v2", JSON ";q=0", 406, JSON },
        { "/openapi/v3", NULL, 200, JSON },
        { "/openapi/v3", "application/json, */*", 200, JSON },
        { "/openapi/v3", PROTOBUF_V3, 406, JSON },
        { "/openapi/v3", PROTOBUF_V3 ", " JSON, 200, JSON },
        { "/openapi/v3/api/v1", JSON, 200, JSON },
        { "/openapi/v3/api/v1", PROTOBUF_V3, 406, JSON },
        { "/openapi/v3/api/v1", PROTOBUF, 406, JSON },
    };
    _cleanup_(openapi_free_p) struct openapi *o = new_openapi();

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fake f = { .accept = rows[i].accept };
        struct call c;

        serve(o, HTTP_GET, rows[i].path, NULL, &f, &c);
        if (c.status != rows[i].status || strcmp(c.content_type, rows[i].type) != 0)
            fail_msg("%s, Accept %s: %d %s", rows[i].path, rows[i].accept, c.status, c.content_type);
        if (c.status == 406)
            assert_non_null(strstr(buf_cstr(&c.reply), "\"only the following media types are accepted: "
                                                       "application/json\",\"reason\":\"NotAcceptable\""));
        else
            assert_int_equal(c.reply.len == 0, rows[i].type == rows[4].type); /* an empty message */
        call_done(&c);
    }
}

TEST(what_is_not_there)
{
    static const char *const paths[] = {
        "/openapi",
        "/openapi/v1",
        "/openapi/v22",
        "/openapi/v2/api",
        "/openapi/v3/",
        "/openapi/v3/api",
        "/openapi/v3/api/v2",
        "/openapi/v3/api/v1/nodes",
        "/openapi/v3/apis",
        "/openapi/v3/apis/v1",
        "/openapi/v3/apis//v1",
        "/openapi/v3/apis/storage.k8s.io",
        "/openapi/v3/apis/storage.k8s.io/v1beta1",
        "/openapi/v3/apis/storage.k8s.io/v1/",
        "/openapi/v3/api/storage.k8s.io/v1",
    };
    _cleanup_(openapi_free_p) struct openapi *o = new_openapi();

    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        struct fake f = { .accept = JSON };
        struct call c;

        serve(o, HTTP_GET, paths[i], NULL, &f, &c);
        if (c.status != 404)
            fail_msg("%s: %d", paths[i], c.status);
        ASSERT_STR("404 page not found\n", buf_cstr(&c.reply));
        call_done(&c);
    }
}

TEST(only_reading)
{
    static const enum http_method others[] = { HTTP_POST, HTTP_PUT, HTTP_PATCH, HTTP_DELETE, HTTP_OTHER };
    _cleanup_(openapi_free_p) struct openapi *o = new_openapi();
    struct fake f = { .accept = JSON };
    struct call c;

    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        serve(o, others[i], "/openapi/v3", NULL, &f, &c);
        ASSERT_INT(405, c.status);
        assert_non_null(strstr(buf_cstr(&c.reply), "\"reason\":\"MethodNotAllowed\",\"details\":{}"));
        call_done(&c);
    }
    serve(o, HTTP_HEAD, "/openapi/v3", NULL, &f, &c);
    ASSERT_INT(200, c.status);
    call_done(&c);
}

/* The answer's tag without its quotes, in the call's arena. */
static const char *tag_of(struct call *c)
{
    struct str tag = str_of(answer_header(c, "ETag"));

    assert_true(tag.len > 2 && tag.s[0] == '"' && tag.s[tag.len - 1] == '"');
    return call_copy(c, (struct str){ tag.s + 1, tag.len - 2 });
}

TEST(index_names_every_group_version_and_its_tag)
{
    _cleanup_(openapi_free_p) struct openapi *o = new_openapi();
    _cleanup_(json_done_p) struct json d;
    size_t count, expected = 0;
    const struct resource *r = resource_table(&count);
    struct fake f = { .accept = JSON };
    struct call index, c;
    json_ref root, paths;

    json_init(&d, 1 << 20);
    serve(o, HTTP_GET, "/openapi/v3", NULL, &f, &index);
    ASSERT_OK(json_parse(&d, buf_str(&index.reply), &root, &err));
    paths = json_get(&d, root, "paths");
    for (size_t i = 0; i < count; i++) {
        char path[128], url[256];
        json_ref entry;

        if (i > 0 && strcmp(r[i].group, r[i - 1].group) == 0 && strcmp(r[i].version, r[i - 1].version) == 0)
            continue;
        expected++;
        (void)snprintf(path, sizeof path, "api%s%s/%s", r[i].group[0] ? "s/" : "", r[i].group, r[i].version);
        entry = json_get(&d, paths, path);
        assert_int_equal(json_count(&d, entry), 1);
        (void)snprintf(url, sizeof url, "/openapi/v3/%s", path);
        serve(o, HTTP_GET, url, NULL, &f, &c);
        ASSERT_INT(200, c.status);
        (void)snprintf(url, sizeof url, "/openapi/v3/%s?hash=%s", path, tag_of(&c));
        if (!json_is_string(&d, json_get(&d, entry, "serverRelativeURL"), url))
            fail_msg("expected %s in %s", url, buf_cstr(&index.reply));
        call_done(&c);
    }
    assert_int_equal(json_count(&d, paths), expected);
    call_done(&index);
}

TEST(who_has_the_text_is_not_sent_it_again)
{
    static const struct {
        const char *if_none_match; /* T stands for the tag */
        int status;
    } rows[] = {
        { NULL, 200 },           { "", 200 },       { "\"T\"", 304 },       { "W/\"T\"", 304 },
        { "\"x\", \"T\"", 304 }, { "*", 304 },      { "\"x\"", 200 },       { "T", 200 },
        { "\"T", 200 },          { "\"xT\"", 200 }, { ",", 200 },           { "\"", 200 },
        { "W/", 200 },           { "\"TT\"", 200 }, { "\"T\",\"x\"", 304 }, { "xTx", 200 },
    };
    static const char *const paths[] = { "/openapi/v2", "/openapi/v3", "/openapi/v3/apis/storage.k8s.io/v1" };
    _cleanup_(openapi_free_p) struct openapi *o = new_openapi();

    for (size_t i = 0; i < ARRAY_LEN(paths) * ARRAY_LEN(rows); i++) {
        const char *path = paths[i / ARRAY_LEN(rows)], *form = rows[i % ARRAY_LEN(rows)].if_none_match;
        _cleanup_(buf_done_p) struct buf sent = BUF_INIT(4096);
        struct fake f = { .accept = JSON };
        struct call first, c;

        serve(o, HTTP_GET, path, NULL, &f, &first);
        for (const char *p = form; p && *p; p++)
            buf_addf(&sent, "%.*s", *p == 'T' ? 64 : 1, *p == 'T' ? tag_of(&first) : p);
        f.if_none_match = form ? buf_cstr(&sent) : NULL;
        serve(o, HTTP_GET, path, NULL, &f, &c);
        if (c.status != rows[i % ARRAY_LEN(rows)].status)
            fail_msg("%s, If-None-Match %s: %d", path, form, c.status);
        assert_int_equal(c.reply.len, c.status == 304 ? 0 : first.reply.len);
        ASSERT_STR(answer_header(&first, "ETag"), answer_header(&c, "ETag"));
        call_done(&c);
        call_done(&first);
    }
}

TEST(what_is_behind_its_hash_may_be_kept_for_ever)
{
    _cleanup_(openapi_free_p) struct openapi *o = new_openapi();
    struct fake f = { .accept = JSON };
    struct call first, c;

    serve(o, HTTP_GET, "/openapi/v3/api/v1", NULL, &f, &first);
    assert_null(answer_header(&first, "Cache-Control"));

    serve(o, HTTP_GET, "/openapi/v3/api/v1", tag_of(&first), &f, &c);
    ASSERT_INT(200, c.status);
    ASSERT_STR("public, max-age=31536000, immutable", answer_header(&c, "Cache-Control"));
    call_done(&c);

    serve(o, HTTP_GET, "/openapi/v3/api/v1", "0123", &f, &c); /* another program's */
    ASSERT_INT(200, c.status);
    assert_null(answer_header(&c, "Cache-Control"));
    ASSERT_STR(buf_cstr(&first.reply), buf_cstr(&c.reply));
    call_done(&c);
    call_done(&first);
}

/* The index makes documents without keeping them; what is asked for later must be the same. */
TEST(documents_are_the_same_every_time)
{
    _cleanup_(openapi_free_p) struct openapi *o = new_openapi();
    _cleanup_(openapi_free_p) struct openapi *other = new_openapi();
    struct fake f = { .accept = JSON };
    struct call a, b;

    serve(o, HTTP_GET, "/openapi/v3", NULL, &f, &a);
    call_done(&a);
    serve(o, HTTP_GET, "/openapi/v3/api/v1", NULL, &f, &a);
    serve(other, HTTP_GET, "/openapi/v3/api/v1", NULL, &f, &b);
    ASSERT_STR(answer_header(&a, "ETag"), answer_header(&b, "ETag"));
    ASSERT_STR(buf_cstr(&a.reply), buf_cstr(&b.reply));
    assert_int_equal(a.reply.data[a.reply.len - 1], '\n');
    call_done(&b);
    serve(o, HTTP_GET, "/openapi/v3/apis/storage.k8s.io/v1", NULL, &f, &b);
    assert_string_not_equal(answer_header(&a, "ETag"), answer_header(&b, "ETag"));
    call_done(&b);
    call_done(&a);
}

TEST_MAIN()
