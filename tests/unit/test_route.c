/* What a method and a path ask for, and what of it there is. */
#include "tests/unit/test.h"

#include "apiserver/route.h"

static struct error err;

static struct str no_header(const struct call *c, const char *name)
{
    (void)c;
    (void)name;
    return (struct str){ NULL, 0 };
}

static void no_headers(const struct call *c, call_header_fn *fn, void *ctx)
{
    (void)c;
    (void)fn;
    (void)ctx;
}

static void no_answer(struct call *c)
{
    (void)c;
}

static const struct carrier carrier = { no_header, no_headers, no_answer };

/* "verb group/version plural ns name sub", "-" for what is empty; or the path that is no resource's. */
static const char *read_route(struct call *c, enum http_method method, const char *target)
{
    static char text[512];
    const struct route *r = &c->route;

    call_init(c, &carrier, NULL);
    c->method = method;
    c->target = str_of(target);
    ASSERT_OK(route_parse(c, &err));
    if (!r->is_resource) {
        (void)snprintf(text, sizeof text, "%s", r->path);
        return text;
    }
#define SHOWN(part) (int)((part).len ? (part).len : 1), ((part).len ? (part).s : "-")
    (void)snprintf(text, sizeof text, "%s %.*s/%.*s %.*s %.*s %.*s %.*s", verb_names[r->verb],
                   SHOWN(r->group), SHOWN(r->version), SHOWN(r->plural), SHOWN(r->ns), SHOWN(r->name),
                   SHOWN(r->sub_name));
#undef SHOWN
    return text;
}

TEST(paths_are_read)
{
    static const struct {
        enum http_method method;
        const char *target;
        const char *expected;
    } rows[] = {
        { HTTP_GET, "/api/v1/persistentvolumes", "list -/v1 persistentvolumes - - -" },
        { HTTP_GET, "/api/v1/persistentvolumes/", "list -/v1 persistentvolumes - - -" },
        { HTTP_GET, "//api//v1/persistentvolumes", "list -/v1 persistentvolumes - - -" },
        { HTTP_GET, "/api/v1/persistentvolumes?watch=true", "watch -/v1 persistentvolumes - - -" },
        { HTTP_GET, "/api/v1/persistentvolumes?watch=1", "watch -/v1 persistentvolumes - - -" },
        { HTTP_GET, "/api/v1/persistentvolumes?watch=false", "list -/v1 persistentvolumes - - -" },
        { HTTP_GET, "/api/v1/persistentvolumes?watch=nonsense", "watch -/v1 persistentvolumes - - -" },
        { HTTP_GET, "/api/v1/watch/persistentvolumes", "watch -/v1 persistentvolumes - - -" },
        { HTTP_GET, "/api/v1/watch/namespaces/a/pods/x", "watch -/v1 pods a x -" },
        { HTTP_GET, "/api/v1/persistentvolumes/x", "get -/v1 persistentvolumes - x -" },
        { HTTP_GET, "/api/v1/persistentvolumes/x/status", "get -/v1 persistentvolumes - x status" },
        { HTTP_GET, "/api/v1/persistentvolumes/x/status/y", "get -/v1 persistentvolumes - x status/y" },
        { HTTP_POST, "/api/v1/namespaces", "create -/v1 namespaces - - -" },
        { HTTP_GET, "/api/v1/namespaces/a", "get -/v1 namespaces - a -" },
        { HTTP_PUT, "/api/v1/namespaces/a/finalize", "update -/v1 namespaces - a finalize" },
        { HTTP_PATCH, "/api/v1/namespaces/a/status", "patch -/v1 namespaces - a status" },
        { HTTP_GET, "/api/v1/namespaces/a/pods", "list -/v1 pods a - -" },
        { HTTP_DELETE, "/api/v1/namespaces/a/pods", "deletecollection -/v1 pods a - -" },
        { HTTP_DELETE, "/api/v1/namespaces/a/pods/x", "delete -/v1 pods a x -" },
        { HTTP_POST, "/api/v1/namespaces/a/pods/x/binding", "create -/v1 pods a x binding" },
        { HTTP_GET, "/apis/storage.k8s.io/v1/storageclasses/fast",
          "get storage.k8s.io/v1 storageclasses - fast -" },
        { HTTP_GET, "/apis/a/b/c", "list a/b c - - -" },
        { HTTP_GET, "/api/v1/persistentvolumes/a%2Fb", "get -/v1 persistentvolumes - a b" },
        { HTTP_GET, "/api/v1/x/../persistentvolumes/./y", "get -/v1 persistentvolumes - y -" },
        { HTTP_GET, "/api/v1/persistentvolumes/%2e%2e/pods", "list -/v1 pods - - -" },
        { HTTP_GET, "/../../api/v1", "/api/v1" },
        { HTTP_GET, "/", "/" },
        { HTTP_GET, "/api", "/api" },
        { HTTP_GET, "/apis/storage.k8s.io/v1/", "/apis/storage.k8s.io/v1" },
        { HTTP_GET, "/readyz/store?verbose", "/readyz/store" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct call c;
        const char *text = read_route(&c, rows[i].method, rows[i].target);

        if (strcmp(text, rows[i].expected) != 0)
            fail_msg("%s: %s, expected %s", rows[i].target, text, rows[i].expected);
        call_done(&c);
    }
}

TEST(what_is_there_is_found)
{
    static const struct {
        enum http_method method;
        const char *target;
        enum route_result expected;
    } rows[] = {
        { HTTP_GET, "/api/v1/persistentvolumes", ROUTE_OK },
        { HTTP_GET, "/apis/storage.k8s.io/v2/storageclasses", ROUTE_NO_PATH },
        { HTTP_GET, "/apis/nothing.io/v1/storageclasses", ROUTE_NO_PATH },
        { HTTP_GET, "/api/v1/foos", ROUTE_NO_RESOURCE }, /* apiserver-53 */
        { HTTP_GET, "/api/v1/storageclasses", ROUTE_NO_RESOURCE },
        { HTTP_GET, "/api/v1/persistentvolumes/x/nothing", ROUTE_NO_RESOURCE },
        { HTTP_GET, "/api/v1/persistentvolumes/x/status/y", ROUTE_NO_RESOURCE },
        { HTTP_GET, "/api/v1/namespaces/a/persistentvolumes", ROUTE_NO_RESOURCE },
        { HTTP_GET, "/api/v1/persistentvolumeclaims/x", ROUTE_NO_RESOURCE },
        { HTTP_GET, "/api/v1/persistentvolumeclaims", ROUTE_OK },
        { HTTP_GET, "/api/v1/persistentvolumeclaims?watch=true", ROUTE_OK },
        { HTTP_POST, "/api/v1/persistentvolumeclaims", ROUTE_NO_METHOD },
        { HTTP_DELETE, "/api/v1/persistentvolumeclaims", ROUTE_NO_METHOD },
        { HTTP_PUT, "/api/v1/persistentvolumes", ROUTE_NO_METHOD }, /* apiserver-54 */
        { HTTP_PATCH, "/api/v1/persistentvolumes", ROUTE_NO_METHOD },
        { HTTP_POST, "/api/v1/persistentvolumes/x", ROUTE_NO_METHOD },
        { HTTP_HEAD, "/api/v1/persistentvolumes", ROUTE_NO_METHOD },
        { HTTP_OTHER, "/api/v1/persistentvolumes", ROUTE_NO_METHOD },
        { HTTP_DELETE, "/api/v1/persistentvolumes/x/status", ROUTE_NO_METHOD },
        { HTTP_DELETE, "/api/v1/namespaces", ROUTE_NO_METHOD },
        { HTTP_DELETE, "/api/v1/nodes", ROUTE_OK },
        { HTTP_GET, "/api/v1/namespaces/a/bindings", ROUTE_NO_METHOD },
        { HTTP_POST, "/api/v1/namespaces/a/bindings", ROUTE_OK },
        { HTTP_POST, "/api/v1/namespaces/a/pods/x/eviction", ROUTE_OK },
        { HTTP_GET, "/api/v1/namespaces/a/pods/x/eviction", ROUTE_NO_METHOD },
        { HTTP_POST, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", ROUTE_OK },
        { HTTP_GET, "/api/v1/namespaces/kube-system/services", ROUTE_OK },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct call c;
        enum route_result r;

        (void)read_route(&c, rows[i].method, rows[i].target);
        r = route_resolve(&c);
        if (r != rows[i].expected)
            fail_msg("%s: %d, expected %d", rows[i].target, (int)r, (int)rows[i].expected);
        call_done(&c);
    }
}

TEST(what_is_no_path_is_refused)
{
    static const char *const targets[] = { "", "*", "api/v1", "http://x/api", "/a%00b", "/%zz", "/%4" };

    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        struct call c;

        call_init(&c, &carrier, NULL);
        c.target = str_of(targets[i]);
        ASSERT_ERR(ERR_BAD_REQUEST, route_parse(&c, &err));
        call_done(&c);
    }
}

TEST(a_path_of_too_many_segments_is_refused)
{
    char target[300];
    struct call c;

    for (size_t i = 0; i < sizeof target - 1; i++)
        target[i] = i % 2 ? 'a' : '/';
    target[sizeof target - 1] = '\0';
    call_init(&c, &carrier, NULL);
    c.target = str_of(target);
    ASSERT_ERR(ERR_BAD_REQUEST, route_parse(&c, &err));
    call_done(&c);
}

TEST(parameters_are_decoded)
{
    struct call c;
    int64_t n;

    (void)read_route(
        &c, HTTP_GET,
        "/api?a=b%20c&d=e+f&empty=&bare&a=second&bad=%zz&=x&&t=true&n=-5&w=abc&p=%2B7&no=False&zero=0");
    ASSERT_STR("b c", params_get(&c.params, "a").s);
    ASSERT_STR("e f", params_get(&c.params, "d").s);
    ASSERT_INT(0, params_get(&c.params, "empty").len);
    assert_non_null(params_get(&c.params, "empty").s);
    assert_null(params_get(&c.params, "bad").s);
    assert_null(params_get(&c.params, "absent").s);
    assert_true(params_bool(&c.params, "bare"));
    assert_true(params_bool(&c.params, "t"));
    assert_true(params_bool(&c.params, "w"));
    assert_false(params_bool(&c.params, "absent"));
    assert_false(params_bool(&c.params, "no"));
    assert_false(params_bool(&c.params, "zero"));
    ASSERT_OK(params_int(&c.params, "n", 1, &n, &err));
    ASSERT_INT(-5, n);
    ASSERT_OK(params_int(&c.params, "p", 1, &n, &err));
    ASSERT_INT(7, n);
    ASSERT_OK(params_int(&c.params, "absent", 9, &n, &err));
    ASSERT_INT(9, n);
    ASSERT_ERR(ERR_BAD_REQUEST, params_int(&c.params, "w", 1, &n, &err));
    ASSERT_STR("strconv.ParseInt: parsing \"abc\": invalid syntax", err.msg);
    call_done(&c);
}

TEST(too_many_parameters_are_refused)
{
    char target[2200] = "/a?";
    struct call c;

    memset(target + 3, '&', sizeof target - 4);
    call_init(&c, &carrier, NULL);
    c.target = str_of(target);
    ASSERT_ERR(ERR_BAD_REQUEST, route_parse(&c, &err));
    call_done(&c);
}

TEST_MAIN()
