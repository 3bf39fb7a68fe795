#include "tests/unit/test.h"

#include "api/json.h"
#include "apiserver/discovery.h"
#include "apiserver/resource.h"
#include "base/cleanup.h"

#define ADDRESS "127.0.0.1:7443"
#define V2 "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
#define V2BETA1 "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
/* As kubectl sends it. */
#define ACCEPT_KUBECTL V2 "," V2BETA1 ",application/json"

static struct error err;

/* --- A carrier that keeps the answer --- */

struct exchange {
    struct call call;
    const char *accept;
    const char *if_none_match;
    unsigned answers;
    struct json doc; /* of the body */
    json_ref root;
};

static struct str exchange_header(const struct call *c, const char *name)
{
    const struct exchange *x = c->carrier_ctx;
    const char *value = NULL;

    if (strcmp(name, "Accept") == 0)
        value = x->accept;
    else if (strcmp(name, "If-None-Match") == 0)
        value = x->if_none_match;
    return value ? str_of(value) : (struct str){ 0 };
}

static void exchange_answer(struct call *c)
{
    struct exchange *x = c->carrier_ctx;

    x->answers++;
}

static const struct carrier carrier = { .header = exchange_header, .answer = exchange_answer };

static void exchange_done(struct exchange *x)
{
    json_done(&x->doc);
    call_done(&x->call);
}

static void ask_with(struct discovery *d, struct exchange *x, enum http_method method, const char *path)
{
    call_init(&x->call, &carrier, x);
    json_init(&x->doc, 1 << 20);
    x->call.method = method;
    x->call.route.path = path;
    discovery_serve(d, &x->call);
    assert_int_equal(x->answers, 1);
}

/* The answer's body is JSON and is parsed. */
static void ask(struct discovery *d, struct exchange *x, const char *path)
{
    ask_with(d, x, HTTP_GET, path);
    assert_int_equal(x->call.status, 200);
    assert_true(str_has_suffix(buf_str(&x->call.reply), "\n"));
    ASSERT_OK(json_parse(&x->doc, buf_str(&x->call.reply), &x->root, &err));
}

static const char *answer_header(const struct exchange *x, const char *name)
{
    for (size_t i = 0; i < x->call.headers.count; i++)
        if (strcmp(x->call.headers.items[i].name, name) == 0)
            return x->call.headers.items[i].value;
    return "";
}

static struct discovery *make(void)
{
    struct discovery *d = NULL;

    ASSERT_OK(discovery_new(ADDRESS, &d, &err));
    return d;
}

/* --- Comparing with the table of resources --- */

static void check_text(const struct json *d, json_ref v, const char *key, const char *expected)
{
    struct str text = json_get_text(d, v, key);

    if (!str_is(text, expected))
        fail_msg("%s is '%.*s', not '%s'", key, STR_ARG(text), expected);
}

static void check_verbs(const struct json *d, json_ref v, unsigned verbs)
{
    json_ref m = json_first(d, json_get(d, v, "verbs"));

    for (unsigned verb = 0; verb < VERB_COUNT; verb++) {
        if (!(verbs & VERB_BIT(verb)))
            continue;
        assert_true(json_is_string(d, m, verb_names[verb]));
        m = json_next(d, m);
    }
    assert_int_equal(m, 0);
}

static void check_words(const struct json *d, json_ref v, const char *key, const char *const *words)
{
    json_ref list = json_get(d, v, key), m = json_first(d, list);

    assert_int_equal(list != 0, words != NULL);
    for (; words && *words; words++, m = json_next(d, m))
        assert_true(json_is_string(d, m, *words));
    assert_int_equal(m, 0);
}

/* --- Legacy --- */

TEST(discovery_tells_the_core_versions_and_the_address)
{
    _cleanup_(discovery_free_p) struct discovery *d = make();
    _cleanup_(exchange_done) struct exchange x = { .accept = "application/json" };

    ask(d, &x, "/api");
    ASSERT_STR("{\"kind\":\"APIVersions\",\"versions\":[\"v1\"],\"serverAddressByClientCIDRs\":["
               "{\"clientCIDR\":\"0.0.0.0/0\",\"serverAddress\":\"" ADDRESS "\"}]}\n",
               buf_cstr(&x.call.reply));
    ASSERT_STR("application/json", x.call.content_type);
    ASSERT_STR("Accept", answer_header(&x, "Vary"));
    ASSERT_STR("", answer_header(&x, "ETag"));
}

static void check_group(const struct json *d, json_ref group, const char *name)
{
    size_t count;
    const struct resource *r = resource_table(&count);
    json_ref version = json_first(d, json_get(d, group, "versions")), preferred = version;
    const char *last = "";

    check_text(d, group, "name", name);
    for (size_t i = 0; i < count; i++) {
        char group_version[128];
        if (strcmp(r[i].group, name) != 0 || strcmp(r[i].version, last) == 0)
            continue;
        last = r[i].version;
        (void)snprintf(group_version, sizeof group_version, "%s/%s", name, last);
        check_text(d, version, "groupVersion", group_version);
        check_text(d, version, "version", last);
        version = json_next(d, version);
    }
    assert_int_equal(version, 0);
    assert_true(json_equal(d, json_get(d, group, "preferredVersion"), preferred));
}

TEST(discovery_lists_the_groups)
{
    _cleanup_(discovery_free_p) struct discovery *d = make();
    _cleanup_(exchange_done) struct exchange x = { 0 };
    size_t count, groups = 0;
    const struct resource *r = resource_table(&count);
    json_ref group;

    ask(d, &x, "/apis");
    check_text(&x.doc, x.root, "kind", "APIGroupList");
    check_text(&x.doc, x.root, "apiVersion", "v1");
    group = json_first(&x.doc, json_get(&x.doc, x.root, "groups"));
    for (size_t i = 0; i < count; i++) {
        if (!r[i].group[0] || strcmp(r[i].group, r[i - 1].group) == 0)
            continue;
        check_group(&x.doc, group, r[i].group);
        group = json_next(&x.doc, group);
        groups++;
    }
    assert_int_equal(group, 0);
    assert_true(groups >= 6);
}

TEST(discovery_describes_one_group)
{
    _cleanup_(discovery_free_p) struct discovery *d = make();
    _cleanup_(exchange_done) struct exchange x = { 0 }, y = { 0 };

    ask(d, &x, "/apis/storage.k8s.io");
    ASSERT_STR("{\"kind\":\"APIGroup\",\"apiVersion\":\"v1\",\"name\":\"storage.k8s.io\",\"versions\":["
               "{\"groupVersion\":\"storage.k8s.io/v1\",\"version\":\"v1\"}],\"preferredVersion\":"
               "{\"groupVersion\":\"storage.k8s.io/v1\",\"version\":\"v1\"}}\n",
               buf_cstr(&x.call.reply));
    ASSERT_STR("", answer_header(&x, "Vary"));
    ask(d, &y, "/apis/authentication.k8s.io");
    assert_int_equal(json_count(&y.doc, json_get(&y.doc, y.root, "versions")), 2);
    check_text(&y.doc, json_get(&y.doc, y.root, "preferredVersion"), "version", "v1");
}

static void check_resource(const struct json *d, json_ref v, const struct resource *r)
{
    check_text(d, v, "name", r->plural);
    check_text(d, v, "singularName", r->singular);
    check_text(d, v, "kind", r->kind);
    assert_int_equal(json_type(d, json_get(d, v, "namespaced")), r->is_namespaced ? JSON_TRUE : JSON_FALSE);
    check_verbs(d, v, r->verbs);
    check_words(d, v, "shortNames", r->short_names);
    check_words(d, v, "categories", r->categories);
    /* eight bytes in base64, for what is stored */
    assert_int_equal(json_get_text(d, v, "storageVersionHash").len, r->info ? 12 : 0);
}

static void check_subresource(const struct json *d, json_ref v, const struct resource *r,
                              const struct subresource *s)
{
    bool is_foreign = s->kind && (strcmp(s->group, r->group) != 0 || strcmp(s->version, r->version) != 0);
    char name[128];

    (void)snprintf(name, sizeof name, "%s/%s", r->plural, s->name);
    check_text(d, v, "name", name);
    check_text(d, v, "kind", s->kind ? s->kind : r->kind);
    check_text(d, v, "group", is_foreign ? s->group : "");
    check_text(d, v, "version", is_foreign ? s->version : "");
    assert_int_equal(json_type(d, json_get(d, v, "singularName")), JSON_STRING);
    assert_int_equal(json_type(d, json_get(d, v, "namespaced")), r->is_namespaced ? JSON_TRUE : JSON_FALSE);
    check_verbs(d, v, s->verbs);
}

static void check_group_version(struct discovery *d, const char *group, const char *version)
{
    _cleanup_(exchange_done) struct exchange x = { .accept = ACCEPT_KUBECTL };
    char path[256], group_version[128];
    size_t count;
    const struct resource *r = resource_group_version(str_of(group), str_of(version), &count);
    json_ref v;

    (void)snprintf(group_version, sizeof group_version, "%s%s%s", group, group[0] ? "/" : "", version);
    (void)snprintf(path, sizeof path, "%s/%s", group[0] ? "/apis" : "/api", group_version);
    ask(d, &x, path);
    ASSERT_STR("application/json", x.call.content_type);
    check_text(&x.doc, x.root, "kind", "APIResourceList");
    check_text(&x.doc, x.root, "apiVersion", "v1");
    check_text(&x.doc, x.root, "groupVersion", group_version);
    v = json_first(&x.doc, json_get(&x.doc, x.root, "resources"));
    for (size_t i = 0; i < count; i++) {
        check_resource(&x.doc, v, &r[i]);
        v = json_next(&x.doc, v);
        for (const struct subresource *s = r[i].subs; s->name; s++, v = json_next(&x.doc, v))
            check_subresource(&x.doc, v, &r[i], s);
    }
    assert_int_equal(v, 0);
}

TEST(discovery_lists_the_resources_of_every_group_version)
{
    _cleanup_(discovery_free_p) struct discovery *d = make();
    size_t count;
    const struct resource *r = resource_table(&count);

    for (size_t i = 0; i < count; i++)
        check_group_version(d, r[i].group, r[i].version);
}

TEST(discovery_writes_resources_and_subresources_to_the_letter)
{
    _cleanup_(discovery_free_p) struct discovery *d = make();
    _cleanup_(exchange_done) struct exchange x = { 0 };
    static const char *const expected[] = {
        "{\"name\":\"persistentvolumes/status\",\"singularName\":\"\",\"namespaced\":false,"
        "\"kind\":\"PersistentVolume\",\"verbs\":[\"get\",\"patch\",\"update\"]}",
        "{\"name\":\"pods/eviction\",\"singularName\":\"\",\"namespaced\":true,\"group\":\"policy\","
        "\"version\":\"v1\",\"kind\":\"Eviction\",\"verbs\":[\"create\"]}",
        "{\"name\":\"serviceaccounts/token\",\"singularName\":\"\",\"namespaced\":true,"
        "\"group\":\"authentication.k8s.io\",\"version\":\"v1\",\"kind\":\"TokenRequest\",\"verbs\":["
        "\"create\"]}",
        "{\"name\":\"pods/binding\",\"singularName\":\"\",\"namespaced\":true,\"kind\":\"Binding\","
        "\"verbs\":[\"create\"]}",
        "{\"name\":\"pods\",\"singularName\":\"pod\",\"namespaced\":true,\"kind\":\"Pod\",\"verbs\":["
        "\"create\","
        "\"delete\",\"deletecollection\",\"get\",\"list\",\"patch\",\"update\",\"watch\"],\"shortNames\":["
        "\"po\"],"
        "\"categories\":[\"all\"],\"storageVersionHash\":\"",
    };

    ask(d, &x, "/api/v1");
    for (size_t i = 0; i < ARRAY_LEN(expected); i++)
        if (!strstr(buf_cstr(&x.call.reply), expected[i]))
            fail_msg("%s not in %s", expected[i], buf_cstr(&x.call.reply));
}

/* Names, and so the list, are sorted: clients and people look them up by eye. */
TEST(discovery_sorts_the_resources_of_a_group_version)
{
    _cleanup_(discovery_free_p) struct discovery *d = make();
    _cleanup_(exchange_done) struct exchange x = { 0 };
    struct str last = STR_LIT("");

    ask(d, &x, "/api/v1");
    for (json_ref v = json_first(&x.doc, json_get(&x.doc, x.root, "resources")); v;
         v = json_next(&x.doc, v)) {
        struct str name = json_get_text(&x.doc, v, "name");
        assert_true(str_cmp(last, name) < 0);
        last = name;
    }
}

/* --- Aggregated --- */

static void check_response_kind(const struct json *d, json_ref v, const char *group, const char *version,
                                const char *kind)
{
    json_ref response = json_get(d, v, "responseKind");

    check_text(d, response, "group", group);
    check_text(d, response, "version", version);
    check_text(d, response, "kind", kind);
}

static void check_found_resource(const struct json *d, json_ref v, const struct resource *r)
{
    json_ref subs = json_get(d, v, "subresources"), sub = json_first(d, subs);

    check_text(d, v, "resource", r->plural);
    check_response_kind(d, v, r->group, r->version, r->kind);
    check_text(d, v, "scope", r->is_namespaced ? "Namespaced" : "Cluster");
    check_text(d, v, "singularResource", r->singular);
    check_verbs(d, v, r->verbs);
    check_words(d, v, "shortNames", r->short_names);
    check_words(d, v, "categories", r->categories);
    assert_int_equal(subs != 0, r->subs->name != NULL);
    for (const struct subresource *s = r->subs; s->name; s++, sub = json_next(d, sub)) {
        check_text(d, sub, "subresource", s->name);
        check_response_kind(d, sub, s->kind ? s->group : r->group, s->kind ? s->version : r->version,
                            s->kind ? s->kind : r->kind);
        check_verbs(d, sub, s->verbs);
    }
    assert_int_equal(sub, 0);
}

/* Walks the items in step with the resources from `at` on; returns the index behind the last one told. */
static size_t check_items(const struct json *d, json_ref items, size_t at)
{
    size_t count;
    const struct resource *r = resource_table(&count);

    for (json_ref g = json_first(d, items); g; g = json_next(d, g)) {
        check_text(d, json_get(d, g, "metadata"), "name", r[at].group);
        for (json_ref v = json_first(d, json_get(d, g, "versions")); v; v = json_next(d, v)) {
            check_text(d, v, "version", r[at].version);
            check_text(d, v, "freshness", "Current");
            for (json_ref m = json_first(d, json_get(d, v, "resources")); m; m = json_next(d, m)) {
                assert_true(at < count);
                check_found_resource(d, m, &r[at++]);
            }
        }
    }
    return at;
}

/* Checks one of the two documents in one form and returns where the other goes on. */
static size_t check_aggregated(struct discovery *d, const char *path, const char *accept, const char *version,
                               size_t at)
{
    _cleanup_(exchange_done) struct exchange x = { .accept = accept };
    char api_version[64];

    (void)snprintf(api_version, sizeof api_version, "apidiscovery.k8s.io/%s", version);
    ask(d, &x, path);
    ASSERT_STR(strcmp(version, "v2") == 0 ? V2 : V2BETA1, x.call.content_type);
    ASSERT_STR("Accept", answer_header(&x, "Vary"));
    check_text(&x.doc, x.root, "kind", "APIGroupDiscoveryList");
    check_text(&x.doc, x.root, "apiVersion", api_version);
    assert_int_equal(json_type(&x.doc, json_get(&x.doc, x.root, "metadata")), JSON_OBJECT);
    return check_items(&x.doc, json_get(&x.doc, x.root, "items"), at);
}

TEST(discovery_tells_everything_at_once)
{
    static const struct {
        const char *accept;
        const char *version;
    } forms[] = { { ACCEPT_KUBECTL, "v2" }, { V2BETA1 ",application/json", "v2beta1" } };
    _cleanup_(discovery_free_p) struct discovery *d = make();
    size_t count, core;

    (void)resource_table(&count);
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        core = check_aggregated(d, "/api", forms[i].accept, forms[i].version, 0);
        assert_true(core > 0);
        assert_int_equal(check_aggregated(d, "/apis", forms[i].accept, forms[i].version, core), count);
    }
}

TEST(discovery_takes_the_form_that_is_liked_best)
{
    static const struct {
        const char *accept;
        const char *content_type;
    } rows[] = {
        { NULL, "application/json" },
        { "*/*", "application/json" },
        { "application/json," V2, "application/json" },
        { "application/json;q=0.8," V2, V2 },
        { V2 ";q=0.5," V2BETA1 ";q=0.6,application/json;q=0.1", V2BETA1 },
        { "application/vnd.kubernetes.protobuf," V2, V2 },
        { "application/vnd.kubernetes.protobuf,application/json", "application/json" },
        { "application/json;g=apidiscovery.k8s.io;v=v3;as=APIGroupDiscoveryList,application/json",
          "application/json" },
        { "application/json;g=meta.k8s.io;v=v1;as=APIGroupDiscoveryList,application/json",
          "application/json" },
        { "application/yaml;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,*/*", "application/json" },
        { "application/json; as=APIGroupDiscoveryList; v=v2; g=apidiscovery.k8s.io", V2 },
        { "application/yaml", "application/yaml" },
    };
    _cleanup_(discovery_free_p) struct discovery *d = make();

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(exchange_done) struct exchange x = { .accept = rows[i].accept };
        ask_with(d, &x, HTTP_GET, "/apis");
        assert_int_equal(x.call.status, 200);
        ASSERT_STR(rows[i].content_type, x.call.content_type);
    }
}

/* Scenario 90. */
TEST(discovery_answers_304_to_who_has_it)
{
    static const struct {
        const char *format;
        int status;
    } rows[] = {
        { "%s", 304 },    { "W/%s", 304 }, { "\"x\", %s", 304 }, { "%s ,\"x\"", 304 },
        { "\"x\"", 200 }, { "x%s", 200 },  { "", 200 },
    };
    _cleanup_(discovery_free_p) struct discovery *d = make();
    _cleanup_(exchange_done) struct exchange first = { .accept = ACCEPT_KUBECTL };
    const char *etag;

    ask(d, &first, "/apis");
    etag = answer_header(&first, "ETag");
    assert_int_equal(strlen(etag), 18);
    assert_true(etag[0] == '"' && etag[17] == '"');
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char known[64];
        const char *at = strstr(rows[i].format, "%s");
        (void)snprintf(known, sizeof known, "%.*s%s%s", at ? (int)(at - rows[i].format) : 64, rows[i].format,
                       at ? etag : "", at ? at + 2 : "");
        _cleanup_(exchange_done) struct exchange x = { .accept = ACCEPT_KUBECTL, .if_none_match = known };
        ask_with(d, &x, HTTP_GET, "/apis");
        assert_int_equal(x.call.status, rows[i].status);
        assert_int_equal(x.call.reply.len > 0, rows[i].status == 200);
        ASSERT_STR(etag, answer_header(&x, "ETag"));
        ASSERT_STR("Accept", answer_header(&x, "Vary"));
    }
    _cleanup_(exchange_done) struct exchange any = { .accept = V2, .if_none_match = "*" };
    ask_with(d, &any, HTTP_GET, "/apis");
    assert_int_equal(any.call.status, 304);
}

/* The tag belongs to what is told, not to the process that tells it or where that listens. */
TEST(discovery_tags_are_stable_and_told_apart)
{
    static const char *const paths[] = { "/api", "/apis" }, *const accepts[] = { V2, V2BETA1 };
    _cleanup_(discovery_free_p) struct discovery *a = make(), *b = NULL;
    char tags[4][32];

    ASSERT_OK(discovery_new("[::1]:1", &b, &err));
    for (size_t i = 0; i < 4; i++) {
        _cleanup_(exchange_done) struct exchange x = { .accept = accepts[i / 2] },
                                                 y = { .accept = accepts[i / 2] };
        ask(a, &x, paths[i % 2]);
        ask(b, &y, paths[i % 2]);
        ASSERT_STR(answer_header(&x, "ETag"), answer_header(&y, "ETag"));
        (void)snprintf(tags[i], sizeof tags[i], "%s", answer_header(&x, "ETag"));
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(tags[i], tags[j]);
    }
}

/* --- Refusals --- */

TEST(discovery_knows_nothing_else)
{
    static const char *const paths[] = { "/apis/apps", "/apis/apps/v1",
                                         "/api/v2",    "/apis/storage.k8s.io/v1beta1",
                                         "/apis/v1",   "/" };
    _cleanup_(discovery_free_p) struct discovery *d = make();

    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        _cleanup_(exchange_done) struct exchange x = { .accept = ACCEPT_KUBECTL };
        ask_with(d, &x, HTTP_GET, paths[i]);
        assert_int_equal(x.call.status, 404);
        ASSERT_STR("404 page not found\n", buf_cstr(&x.call.reply));
        assert_true(str_has_prefix(str_of(x.call.content_type), "text/plain"));
    }
}

TEST(discovery_refuses_other_methods_and_media)
{
    static const enum http_method methods[] = { HTTP_POST, HTTP_PUT, HTTP_PATCH, HTTP_DELETE, HTTP_HEAD };
    _cleanup_(discovery_free_p) struct discovery *d = make();
    _cleanup_(exchange_done) struct exchange proto = { .accept = "application/vnd.kubernetes.protobuf" };

    for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
        _cleanup_(exchange_done) struct exchange x = { .accept = ACCEPT_KUBECTL };
        ask_with(d, &x, methods[i], "/apis");
        assert_int_equal(x.call.status, 405);
        assert_non_null(
            strstr(buf_cstr(&x.call.reply), "\"reason\":\"MethodNotAllowed\",\"details\":{},\"code\":405"));
    }
    ask_with(d, &proto, HTTP_GET, "/apis");
    assert_int_equal(proto.call.status, 406);
    assert_non_null(strstr(buf_cstr(&proto.call.reply),
                           "\"message\":\"only the following media types are accepted: application/json, "
                           "application/yaml\",\"reason\":\"NotAcceptable\",\"code\":406"));
}

TEST(discovery_quotes_an_odd_address)
{
    _cleanup_(discovery_free_p) struct discovery *d = NULL;
    _cleanup_(exchange_done) struct exchange x = { 0 };

    ASSERT_OK(discovery_new("a\"b", &d, &err));
    ask(d, &x, "/api");
    check_text(&x.doc, json_first(&x.doc, json_get(&x.doc, x.root, "serverAddressByClientCIDRs")),
               "serverAddress", "a\"b");
    assert_null(discovery_free(NULL));
}

TEST_MAIN()
