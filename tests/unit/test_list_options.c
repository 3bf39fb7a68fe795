/* The parameters of list and watch: what they mean, what is refused and in which words; and selections. */
#include "tests/unit/test_kind.h"

#include "api/status.h"
#include "apiserver/list_options.h"
#include "apiserver/resource.h"
#include "http/params.h"

#define PODS "pods"
#define VOLUMES "persistentvolumes"

static struct arena arena = ARENA_INIT(16 << 20);
static struct list_options got;

static struct route route_to(const char *plural, const char *ns, const char *name)
{
    return (struct route){
        .resource = resource_find(STR_LIT(""), STR_LIT("v1"), str_of(plural)),
        .ns = str_of(ns),
        .name = str_of(name),
    };
}

static int parse(const char *query, const struct route *route, bool is_watch, struct field_errors *invalid)
{
    struct params p;

    arena_clear(&arena);
    ASSERT_OK(params_parse(str_of(query), &arena, &p, &err));
    return list_options_parse(&p, route, is_watch, &arena, &got, invalid, &err);
}

/* What the API would answer, "" when it is fine. */
static const char *refusal(const char *query, const struct route *route, bool is_watch)
{
    static struct buf out = { .len_max = 1 << 20 };
    _cleanup_(field_errors_done_p) struct field_errors invalid = FIELD_ERRORS_INIT;
    const struct kind_info options = { .name = "ListOptions", .group = "meta.k8s.io" };
    int r = parse(query, route, is_watch, &invalid);

    buf_clear(&out);
    if (invalid.count) {
        ASSERT_INT(-ERR_INVALID, r);
        buf_add_cstr(&out, "422 ");
        field_errors_message(&invalid, &options, STR_LIT(""), &out);
    } else if (r < 0) {
        buf_addf(&out, "%d %s", status_http(err.code), err.msg);
    }
    return buf_cstr(&out);
}

#define INVALID "422 ListOptions.meta.k8s.io \"\" is invalid: "
#define FORBIDDEN INVALID "resourceVersionMatch: Forbidden: "

struct row {
    const char *query, *answer;
};

static void check_rows(const struct row *rows, size_t count, const struct route *route, bool is_watch)
{
    for (size_t i = 0; i < count; i++) {
        const char *answer = refusal(rows[i].query, route, is_watch);
        if (strcmp(answer, rows[i].answer) != 0)
            fail_msg("%s:\n%s\nexpected\n%s", rows[i].query, answer, rows[i].answer);
    }
}

#define TOKEN "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NCwic3RhcnQiOiJhL2IifQ" /* rv 4, start a/b */

TEST(list_parameters)
{
    static const struct row rows[] = {
        { "", "" },
        { "limit=500", "" },
        { "limit=-1", "" },
        { "limit=", "" },
        { "limit=abc", "400 strconv.ParseInt: parsing \"abc\": invalid syntax" },
        { "limit=1.5", "400 strconv.ParseInt: parsing \"1.5\": invalid syntax" },
        { "timeoutSeconds=x", "400 strconv.ParseInt: parsing \"x\": invalid syntax" },
        { "nobody=knows&this=one", "" },
        { "resourceVersion=0", "" },
        { "resourceVersion=12", "" },
        { "resourceVersion=abc", "400 resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing "
                                 "\"abc\": invalid syntax" },
        { "resourceVersion=-1", "400 resourceVersion: Invalid value: \"-1\": strconv.ParseUint: parsing "
                                "\"-1\": invalid syntax" },
        { "resourceVersion=9223372036854775808",
          "400 resourceVersion: Invalid value: \"9223372036854775808\": strconv.ParseUint: parsing "
          "\"9223372036854775808\": invalid syntax" },
        { "resourceVersion=5&resourceVersionMatch=NotOlderThan", "" },
        { "resourceVersion=0&resourceVersionMatch=NotOlderThan", "" },
        { "resourceVersion=5&resourceVersionMatch=Exact", "" },
        { "resourceVersionMatch=", "" },
        { "resourceVersionMatch=NotOlderThan",
          FORBIDDEN "resourceVersionMatch is forbidden unless resourceVersion is provided" },
        { "resourceVersionMatch=Exact",
          FORBIDDEN "resourceVersionMatch is forbidden unless resourceVersion is provided" },
        { "resourceVersion=0&resourceVersionMatch=Exact",
          FORBIDDEN "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"" },
        { "resourceVersion=5&resourceVersionMatch=Foo",
          INVALID "resourceVersionMatch: Unsupported value: \"Foo\": supported values: \"Exact\", "
                  "\"NotOlderThan\", \"\"" },
        { "resourceVersion=5&resourceVersionMatch=NotOlderThan&continue=" TOKEN,
          FORBIDDEN "resourceVersionMatch is forbidden when continue is provided" },
        { "resourceVersionMatch=Foo&continue=" TOKEN, INVALID
          "[resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is "
          "provided, resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is "
          "provided, resourceVersionMatch: Unsupported value: \"Foo\": supported values: \"Exact\", "
          "\"NotOlderThan\", \"\"]" },
        { "sendInitialEvents=true",
          INVALID "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list" },
        { "sendInitialEvents=false",
          INVALID "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list" },
        { "continue=" TOKEN, "" },
        { "continue=" TOKEN "&resourceVersion=0", "" },
        { "continue=" TOKEN "&resourceVersion=4",
          "400 specifying resource version is not allowed when using continue" },
        { "continue=%21%21",
          "400 invalid continue token: continue key is not valid: illegal base64 data at input byte 0" },
    };
    struct route volumes = route_to(VOLUMES, "", "");

    check_rows(rows, ARRAY_LEN(rows), &volumes, false);
}

TEST(watch_parameters)
{
    static const struct row rows[] = {
        { "", "" },
        { "allowWatchBookmarks=true&timeoutSeconds=8&limit=500", "" },
        { "resourceVersion=abc", "400 resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing "
                                 "\"abc\": invalid syntax" },
        { "continue=%21%21", "" }, /* pages are not for watches */
        { "sendInitialEvents=true&resourceVersionMatch=NotOlderThan", "" },
        { "sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=3", "" },
        { "sendInitialEvents=true",
          FORBIDDEN "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan" },
        { "sendInitialEvents=false",
          FORBIDDEN "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan" },
        { "resourceVersionMatch=NotOlderThan",
          FORBIDDEN "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided" },
        { "sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=3", INVALID
          "[resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to "
          "NotOlderThan, resourceVersionMatch: Unsupported value: \"Exact\": supported values: "
          "\"NotOlderThan\"]" },
        { "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&continue=" TOKEN,
          FORBIDDEN "resourceVersionMatch is forbidden when continue is provided" },
    };
    struct route volumes = route_to(VOLUMES, "", "");

    check_rows(rows, ARRAY_LEN(rows), &volumes, true);
}

TEST(selectors_are_parsed_and_checked)
{
    static const struct row rows[] = {
        { "labelSelector=a%3Db,c+in+(d,e),!f", "" },
        { "labelSelector=a%3Db%3Dc", "400 found '=', expected: ',' or 'end of string'" },
        { "labelSelector=a+in+b", "400 unable to parse requirement: found 'b' expected: '('" },
        { "fieldSelector=metadata.name%3Dx", "" },
        { "fieldSelector=spec.nodeName%3Dn1,status.phase!%3DFailed,metadata.namespace%3Da", "" },
        { "fieldSelector=spec.color%3Dred", "400 field label not supported: spec.color" },
        { "fieldSelector=metadata.name",
          "400 invalid selector: 'metadata.name'; can't understand 'metadata.name'" },
    };
    static const struct row of_volumes[] = {
        { "fieldSelector=metadata.namespace%3D", "" },
        { "fieldSelector=spec.nodeName%3Dx", "400 \"spec.nodeName\" is not a known field selector: only "
                                             "\"metadata.name\", \"metadata.namespace\"" },
    };
    static const struct row of_nodes[] = {
        { "fieldSelector=metadata.name%3Dx,spec.unschedulable%3Dtrue", "" },
        { "fieldSelector=metadata.namespace%3Dx", "400 field label not supported: metadata.namespace" },
    };
    static const struct row of_services[] = {
        { "labelSelector=kubernetes.io/cluster-service%3Dtrue", "" },
        { "fieldSelector=metadata.name%3Dx", "" },
        { "fieldSelector=spec.clusterIP!%3DNone,spec.type%3DClusterIP", "" },
        { "fieldSelector=spec.ports%3Dx", "400 field label not supported: spec.ports" },
    };
    struct route pods = route_to(PODS, "", ""), volumes = route_to(VOLUMES, "", ""),
                 nodes = route_to("nodes", "", "");
    struct route services = route_to("services", "", "");

    check_rows(rows, ARRAY_LEN(rows), &pods, false);
    check_rows(of_volumes, ARRAY_LEN(of_volumes), &volumes, false);
    check_rows(of_nodes, ARRAY_LEN(of_nodes), &nodes, false);
    check_rows(of_services, ARRAY_LEN(of_services), &services, false);
}

TEST(values_arrive)
{
    _cleanup_(field_errors_done_p) struct field_errors invalid = FIELD_ERRORS_INIT;
    struct route pods = route_to(PODS, "shop", "");

    ASSERT_OK(parse("limit=7&resourceVersion=12&resourceVersionMatch=Exact", &pods, false, &invalid));
    ASSERT_INT(7, got.limit);
    ASSERT_INT(12, got.revision);
    ASSERT_INT(MATCH_EXACT, got.match);
    assert_false(got.is_continued);
    assert_false(got.selection.is_partial);
    assert_true(str_is(got.selection.ns, "shop"));
    ASSERT_OK(parse("limit=-7&continue=" TOKEN, &pods, false, &invalid));
    ASSERT_INT(0, got.limit);
    assert_true(got.is_continued);
    ASSERT_INT(4, got.token.revision);
    assert_true(str_is(got.token.ns, "a"));
    ASSERT_OK(
        parse("timeoutSeconds=8&allowWatchBookmarks=1&sendInitialEvents=1&resourceVersionMatch=NotOlderThan",
              &pods, true, &invalid));
    ASSERT_INT(8, got.timeout_seconds);
    assert_true(got.has_bookmarks);
    ASSERT_INT(INITIAL_SENT, got.initial);
    ASSERT_OK(parse("timeoutSeconds=-8", &pods, true, &invalid));
    ASSERT_INT(0, got.timeout_seconds);
    ASSERT_INT(INITIAL_UNSET, got.initial);
    ASSERT_OK(parse("timeoutSeconds=9223372036854775807", &pods, true, &invalid));
    ASSERT_INT(LIST_TIMEOUT_SECONDS_MAX, got.timeout_seconds);
}

/* `/…/<name>?watch=true` and the selector are the same; both, and different, are refused. */
TEST(a_name_in_the_path_is_a_selector)
{
    static const struct row rows[] = {
        { "", "" },
        { "fieldSelector=metadata.name%3Ddb", "" },
        { "fieldSelector=metadata.name%3Ddb,status.phase%3DRunning", "" },
        { "fieldSelector=metadata.name%3Dother",
          "400 fieldSelector metadata.name doesn't match requested name" },
        { "fieldSelector=status.phase%3DRunning",
          "400 fieldSelector metadata.name doesn't match requested name" },
        { "fieldSelector=metadata.name!%3Ddb",
          "400 fieldSelector metadata.name doesn't match requested name" },
    };
    struct route pod = route_to(PODS, "shop", "db");

    check_rows(rows, ARRAY_LEN(rows), &pod, true);
    ASSERT_STR("", refusal("labelSelector=a", &pod, true));
    assert_true(str_is(got.selection.name, "db"));
    assert_true(got.selection.is_partial);
}

/* --- Selections --- */

static bool selects(const char *query, const struct object *o)
{
    struct route pods = route_to(PODS, "", "");
    const char *answer = refusal(query, &pods, false);

    if (answer[0] != '\0')
        fail_msg("%s: %s", query, answer);
    return selection_has(&got.selection, o);
}

TEST(selection_asks_labels_and_fields)
{
    static const struct {
        const char *query;
        bool is_selected;
    } rows[] = {
        { "", true },
        { "labelSelector=app%3Ddb", true },
        { "labelSelector=app!%3Ddb", false },
        { "labelSelector=!app", false },
        { "labelSelector=tier!%3Dx", true },
        { "fieldSelector=metadata.name%3Dp1", true },
        { "fieldSelector=metadata.name%3Dp2", false },
        { "fieldSelector=metadata.name%3D", false },
        { "fieldSelector=metadata.name!%3Dp1", false },
        { "fieldSelector=metadata.name!%3Dp2", true },
        { "fieldSelector=metadata.name%3Dp1,metadata.name%3Dp2", false },
        { "fieldSelector=metadata.name%3Dp1,metadata.name!%3Dp1", false },
        { "fieldSelector=metadata.namespace%3Dshop", true },
        { "fieldSelector=metadata.namespace%3Dother", false },
        { "fieldSelector=metadata.namespace%3D", false },
        { "fieldSelector=metadata.namespace%3Dshop,metadata.namespace%3Dother", false },
        { "fieldSelector=spec.nodeName%3Dn1", true },
        { "fieldSelector=spec.nodeName%3D", false },
        { "fieldSelector=status.podIP%3D", true },
        { "fieldSelector=spec.nodeName%3Dn1&labelSelector=app%3Dweb", false },
        { "fieldSelector=spec.nodeName%3Dn1&labelSelector=app%3Ddb", true },
    };
    _cleanup_(object_unref_p) struct object *o =
        kind_object(KIND_POD, "{'metadata':{'name':'p1','namespace':'shop','labels':{'app':'db'}},"
                              "'spec':{'nodeName':'n1','containers':[]}}");

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (selects(rows[i].query, o) != rows[i].is_selected)
            fail_msg("%s: %d expected", rows[i].query, rows[i].is_selected);
}

/* A namespace in the path and another in the selector: nothing is in both. */
TEST(namespace_of_path_and_of_selector)
{
    _cleanup_(object_unref_p) struct object *a =
        kind_object(KIND_POD, "{'metadata':{'name':'p','namespace':'a'}}");
    _cleanup_(object_unref_p) struct object *b =
        kind_object(KIND_POD, "{'metadata':{'name':'p','namespace':'b'}}");
    struct route in_a = route_to(PODS, "a", ""), anywhere = route_to(PODS, "", "");

    ASSERT_STR("", refusal("fieldSelector=metadata.namespace%3Db", &in_a, false));
    assert_false(selection_has(&got.selection, a));
    assert_false(selection_has(&got.selection, b));
    ASSERT_STR("", refusal("fieldSelector=metadata.namespace%3Db", &anywhere, false));
    assert_true(str_is(got.selection.ns, "b")); /* the list looks there alone */
    ASSERT_STR("b", got.selection.ns.s);
    assert_true(selection_has(&got.selection, b));
}

/* Each group's events have their own names for the same fields of the one stored object. */
TEST(events_are_selected_by_either_name)
{
    _cleanup_(object_unref_p) struct object *o = kind_object(
        KIND_EVENT, "{'metadata':{'name':'e','namespace':'a'},'involvedObject':{'kind':'Pod','name':'p'},"
                    "'reason':'R','source':{'component':'c'},'reportingComponent':'rc'}");
    struct route core = route_to("events", "", ""), v1 = core;

    v1.resource = resource_of_kind(KIND_EVENT_V1);
    ASSERT_STR("", refusal("fieldSelector=involvedObject.kind%3DPod,source%3Dc", &core, false));
    assert_true(selection_has(&got.selection, o));
    ASSERT_STR("", refusal("fieldSelector=regarding.kind%3DPod,reportingController%3Drc", &v1, false));
    assert_true(selection_has(&got.selection, o));
    ASSERT_STR("", refusal("fieldSelector=regarding.name%3Dq", &v1, false));
    assert_false(selection_has(&got.selection, o));
    ASSERT_STR("400 field label not supported: regarding.kind",
               refusal("fieldSelector=regarding.kind%3DPod", &core, false));
    ASSERT_STR("400 field label not supported: involvedObject.kind",
               refusal("fieldSelector=involvedObject.kind%3DPod", &v1, false));
}

/* Each requirement is asked of every object. */
TEST(selectors_are_bounded)
{
    _cleanup_(buf_done_p) struct buf query = BUF_INIT(1 << 16);
    struct route volumes = route_to(VOLUMES, "", "");

    buf_add_cstr(&query, "fieldSelector=metadata.name%3Dx&labelSelector=k0");
    for (int i = 1; i < SELECTION_TERMS_MAX - 1; i++)
        buf_addf(&query, ",k%d", i);
    ASSERT_STR("", refusal(buf_cstr(&query), &volumes, false));
    buf_add_cstr(&query, ",more");
    ASSERT_STR("400 the selectors have more than 256 requirements",
               refusal(buf_cstr(&query), &volumes, false));
}

/* Memory that ends at any point is an error, never a selection that means more. */
TEST(no_memory_is_an_error)
{
    struct route pods = route_to(PODS, "shop", "db");
    static const char query[] =
        "fieldSelector=metadata.name%3Ddb,spec.nodeName%3Dn&labelSelector=a%3Db,c+in+(d,e)";
    _cleanup_(arena_done_p) struct arena enough = ARENA_INIT(1 << 20);
    struct params p;
    size_t bytes = 0;
    int r;

    ASSERT_OK(params_parse(str_of(query), &enough, &p, &err));
    do {
        _cleanup_(field_errors_done_p) struct field_errors invalid = FIELD_ERRORS_INIT;
        _cleanup_(arena_done_p) struct arena a = ARENA_INIT(bytes);
        r = list_options_parse(&p, &pods, true, &a, &got, &invalid, &err);
        if (r < 0)
            assert_true(err.code == ERR_NO_MEMORY || err.code == ERR_TOO_LARGE);
        bytes += 8;
    } while (r < 0);
    assert_true(bytes > 64);
}

TEST_MAIN()
