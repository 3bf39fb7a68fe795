/* Reviews as they are asked and answered, and tokens as they are issued: through calls, without a store. */
#include "tests/unit/test_io.h"

#include "tests/unit/test_access_lookup.h"
#include "tests/unit/test_call.h"

#include "apiserver/authenticate.h"
#include "apiserver/reviews.h"
#include "apiserver/route.h"
#include "apiserver/server.h"
#include "apiserver/store_lookup.h"
#include "apiserver/token.h"
#include "apiserver/user.h"
#include "base/cleanup.h"

#define AUTHN "/apis/authentication.k8s.io/v1/"
#define AUTHZ "/apis/authorization.k8s.io/v1/"
#define GROUPS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* The server's facts are the test's. */
struct access_lookup store_lookup(struct store *s)
{
    (void)s;
    return test_facts;
}

struct world {
    struct test_dir dir;
    struct manual_clock time;
    struct key *key;
    struct apiserver server;
    struct user user;
};

static void world_init(struct world *w, const char *name, const char *const *groups)
{
    struct authenticator_options o;

    *w = (struct world){ .dir = test_dir_new(), .user = { name, "", groups, NULL } };
    manual_clock_init(&w->time, 0, INT64_C(1714557600) * (int64_t)NS_PER_S); /* 2024-05-01T10:00:00Z */
    put_file(in_dir(&w->dir, "tokens"), "static,alice,7,staff\n");
    ASSERT_OK(key_new(&w->key, &err));
    o = (struct authenticator_options){
        .clock = &w->time.clock,
        .token_key = w->key,
        .token_file = in_dir(&w->dir, "tokens"),
        .lookup = test_facts,
    };
    ASSERT_OK(authenticator_new(&o, &w->server.authenticator, &err));
    w->server.clock = &w->time.clock;
}

static void world_done(struct world *w)
{
    w->server.authenticator = authenticator_free(w->server.authenticator);
    w->key = key_free(w->key);
    facts_clear();
    test_dir_done(&w->dir);
}

/* "STATUS body": what comes back for a POST of this body. */
static const char *post(struct world *w, const char *target, const char *body)
{
    static struct buf out = { .len_max = 1 << 20 };
    _cleanup_(json_done_p) struct json d;
    json_ref root = 0;
    struct call c;

    json_init(&d, 1 << 20);
    call_init(&c, &test_carrier, NULL);
    c.method = HTTP_POST;
    c.target = str_of(target);
    c.server = &w->server;
    c.user = &w->user;
    ASSERT_OK(route_parse(&c, &err));
    ASSERT_INT(ROUTE_OK, route_resolve(&c));
    ASSERT_OK(json_parse(&d, str_of(kind_row(body)), &root, &err));
    if (c.route.sub)
        token_answer(&c, &d, root);
    else
        review_answer(&c, &d, root);
    buf_clear(&out);
    buf_addf(&out, "%d %s", c.status, buf_cstr(&c.reply));
    call_done(&c);
    return buf_cstr(&out);
}

/* Quotes may be ', and the line end of every answer is left out. */
static void assert_post(struct world *w, const char *target, const char *body, const char *expected)
{
    _cleanup_(buf_done_p) struct buf wanted = BUF_INIT(1 << 20);

    buf_addf(&wanted, "%s\n", kind_row(expected));
    ASSERT_STR(buf_cstr(&wanted), post(w, target, body));
}

TEST(apiserver_21_who_am_i)
{
    const struct user_extra extra[] = {
        { "b/c", GROUPS("x") }, { "a", GROUPS("1", "2") }, { "b/c", GROUPS("y") }, { NULL, NULL }
    };
    struct world w;

    world_init(&w, "bob", GROUPS("staff", GROUP_AUTHENTICATED));
    assert_post(
        &w, AUTHN "selfsubjectreviews", "{}",
        "201 {'kind':'SelfSubjectReview','apiVersion':'authentication.k8s.io/v1','metadata':{"
        "'creationTimestamp':'2024-05-01T10:00:00Z'},'status':{'userInfo':{'username':'bob','groups':["
        "'staff','system:authenticated']}}}");
    w.user.uid = "u-7";
    w.user.extra = extra;
    assert_post(
        &w, "/apis/authentication.k8s.io/v1beta1/selfsubjectreviews", "{}",
        "201 {'kind':'SelfSubjectReview','apiVersion':'authentication.k8s.io/v1beta1','metadata':{"
        "'creationTimestamp':'2024-05-01T10:00:00Z'},'status':{'userInfo':{'username':'bob','uid':'u-7',"
        "'groups':['staff','system:authenticated'],'extra':{'b/c':['x','y'],'a':['1','2']}}}}");
    world_done(&w);
}

TEST(token_reviews)
{
    struct world w;

    world_init(&w, "root", GROUPS(GROUP_MASTERS));
    assert_post(
        &w, AUTHN "tokenreviews", "{'spec':{'token':'static'}}",
        "201 {'kind':'TokenReview','apiVersion':'authentication.k8s.io/v1','metadata':{},'spec':{'token':"
        "'static'},'status':{'authenticated':true,'user':{'username':'alice','uid':'7','groups':['staff',"
        "'system:authenticated']},'audiences':['https://kubernetes.default.svc.cluster.local']}}");
    assert_post(
        &w, AUTHN "tokenreviews", "{'spec':{'token':'static','audiences':['vault']}}",
        "201 {'kind':'TokenReview','apiVersion':'authentication.k8s.io/v1','metadata':{},'spec':{'token':"
        "'static','audiences':['vault']},'status':{'authenticated':true,'user':{'username':'alice','uid':"
        "'7','groups':['staff','system:authenticated']},'audiences':['vault']}}");
    assert_post(
        &w, AUTHN "tokenreviews", "{'spec':{'token':'wrong'}}",
        "201 {'kind':'TokenReview','apiVersion':'authentication.k8s.io/v1','metadata':{},'spec':{'token':"
        "'wrong'},'status':{'user':{},'error':'invalid bearer token: it is not a token of this server'}}");
    assert_post(&w, AUTHN "tokenreviews", "{'spec':{}}",
                "400 {'kind':'Status','apiVersion':'v1','metadata':{},'status':'Failure','message':'token is "
                "required "
                "for TokenReview in authentication','reason':'BadRequest','code':400}");
    world_done(&w);
}

#define SSAR(spec, status)                                                                                \
    "201 "                                                                                                \
    "{'kind':'SelfSubjectAccessReview','apiVersion':'authorization.k8s.io/v1','metadata':{},'spec':" spec \
    ",'status':" status "}"

TEST(apiserver_20_may_i)
{
    static const struct {
        const char *spec;
        const char *answer;
    } rows[] = {
        { "{'resourceAttributes':{'verb':'list','resource':'pods','namespace':'shop'}}",
          "{'allowed':true,'reason':'allowed by the role reader'}" },
        { "{'resourceAttributes':{'verb':'create','resource':'persistentvolumes'}}", "{'allowed':false}" },
        { "{'resourceAttributes':{'verb':'get','group':'storage.k8s.io','resource':'storageclasses','name':'"
          "x'}}",
          "{'allowed':true,'reason':'allowed by the role reader'}" },
        { "{'resourceAttributes':{'verb':'get','resource':'pods','subresource':'log'}}",
          "{'allowed':true,'reason':'allowed by the role reader'}" },
        { "{'resourceAttributes':{'verb':'*','resource':'*'}}", "{'allowed':false}" },
        { "{'nonResourceAttributes':{'verb':'get','path':'/metrics'}}",
          "{'allowed':true,'reason':'allowed by the role reader'}" },
        { "{'nonResourceAttributes':{'verb':'get','path':'/debug'}}", "{'allowed':false}" },
        { "{'resourceAttributes':{}}", "{'allowed':false}" },
    };
    struct world w;

    world_init(&w, "eve", GROUPS(GROUP_READERS, GROUP_AUTHENTICATED));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char body[512], expected[1024];
        (void)snprintf(body, sizeof body, "{'spec':%s}", rows[i].spec);
        (void)snprintf(expected, sizeof expected, SSAR("%s", "%s"), rows[i].spec, rows[i].answer);
        assert_post(&w, AUTHZ "selfsubjectaccessreviews", body, expected);
    }
    w.user.groups = GROUPS(GROUP_MASTERS);
    assert_post(&w, AUTHZ "selfsubjectaccessreviews",
                "{'spec':{'resourceAttributes':{'verb':'*','resource':'*'}}}",
                SSAR("{'resourceAttributes':{'verb':'*','resource':'*'}}",
                     "{'allowed':true,'reason':'allowed by the role admin'}"));
    world_done(&w);
}

TEST(a_node_hears_why_not)
{
    struct world w;

    world_init(&w, "system:node:n1", GROUPS(GROUP_NODES));
    assert_post(&w, AUTHZ "selfsubjectaccessreviews",
                "{'spec':{'resourceAttributes':{'verb':'list','resource':'secrets','namespace':'shop'}}}",
                SSAR("{'resourceAttributes':{'verb':'list','resource':'secrets','namespace':'shop'}}",
                     "{'allowed':false,'reason':'No Object name found'}"));
    world_done(&w);
}

TEST(questions_that_are_none)
{
    static const char neither[] =
        "Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must "
        "be specified";
    struct world w;
    const char *answer;

    world_init(&w, "root", GROUPS(GROUP_MASTERS));
    answer = post(&w, AUTHZ "selfsubjectaccessreviews", "{}");
    assert_non_null(strstr(answer, "422 {"));
    assert_non_null(strstr(answer, neither));
    assert_non_null(strstr(answer, "SelfSubjectAccessReview.authorization.k8s.io \\\"\\\" is invalid: "
                                   "spec.resourceAttributes: "));
    answer = post(&w, AUTHZ "selfsubjectaccessreviews",
                  "{'spec':{'resourceAttributes':{'verb':'x'},'nonResourceAttributes':{'path':'/'}}}");
    assert_non_null(strstr(answer, "spec.nonResourceAttributes: Invalid value: "));
    assert_non_null(strstr(answer, "cannot be specified in combination with resourceAttributes"));
    answer = post(&w, AUTHZ "subjectaccessreviews", "{'spec':{'resourceAttributes':{'verb':'x'}}}");
    assert_non_null(strstr(answer,
                           "SubjectAccessReview.authorization.k8s.io \\\"\\\" is invalid: spec.user: Invalid "
                           "value: \\\"\\\": at least one of user or group must be specified"));
    answer = post(&w, "/apis/authorization.k8s.io/v1/namespaces/shop/localsubjectaccessreviews",
                  "{'spec':{'user':'bob','resourceAttributes':{'verb':'get','namespace':'bank'}}}");
    assert_non_null(strstr(answer,
                           "spec.resourceAttributes.namespace: Invalid value: \\\"bank\\\": must match "
                           "metadata.namespace"));
    answer = post(&w, "/apis/authorization.k8s.io/v1/namespaces/shop/localsubjectaccessreviews",
                  "{'spec':{'user':'bob','nonResourceAttributes':{'verb':'get','path':'/x'}}}");
    assert_non_null(strstr(answer, "spec.nonResourceAttributes: Invalid value: "));
    assert_non_null(strstr(answer, "disallowed on this kind of request"));
    world_done(&w);
}

TEST(may_they)
{
    static const struct {
        const char *target;
        const char *spec;
        bool allowed;
    } rows[] = {
        { "subjectaccessreviews",
          "'user':'eve','groups':['berth:readers'],'resourceAttributes':{'verb':'list','resource':'pods'}",
          true },
        { "subjectaccessreviews", "'user':'eve','resourceAttributes':{'verb':'list','resource':'pods'}",
          false },
        { "subjectaccessreviews",
          "'groups':['system:masters'],'resourceAttributes':{'verb':'list','resource':'x'}", true },
        { "subjectaccessreviews",
          "'user':'system:berth-scheduler','resourceAttributes':{'verb':'create','resource':"
          "'pods','subresource':'binding','namespace':'shop'}",
          true },
        { "subjectaccessreviews",
          "'user':'bob','groups':[7,'system:authenticated'],'nonResourceAttributes':{'verb':"
          "'get','path':'/api'}",
          true },
        { "subjectaccessreviews",
          "'user':'bob','groups':'system:masters','nonResourceAttributes':{'verb':'get',"
          "'path':'/x'}",
          false },
        { "namespaces/shop/localsubjectaccessreviews",
          "'user':'e','groups':['berth:readers'],'resourceAttributes':{'verb':'get','resource':'pods','"
          "namespace':"
          "'shop'}",
          true },
    };
    struct world w;

    world_init(&w, "root", GROUPS(GROUP_MASTERS));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char target[128], body[512];
        const char *answer;
        (void)snprintf(target, sizeof target, AUTHZ "%s", rows[i].target);
        (void)snprintf(body, sizeof body, "{'spec':{%s}}", rows[i].spec);
        answer = post(&w, target, body);
        if (strncmp(answer, "201 ", 4) != 0 ||
            !strstr(answer, rows[i].allowed ? "\"allowed\":true" : "\"allowed\":false"))
            fail_msg("row %zu: %s", i, answer);
    }
    world_done(&w);
}

TEST(what_may_i)
{
    struct world w;
    const char *answer;

    world_init(&w, "bob", GROUPS(GROUP_AUTHENTICATED));
    assert_post(
        &w, AUTHZ "selfsubjectrulesreviews", "{'spec':{'namespace':'shop'}}",
        "201 {'kind':'SelfSubjectRulesReview','apiVersion':'authorization.k8s.io/v1','metadata':{},'spec':{"
        "'namespace':'shop'},'status':{'resourceRules':[{'verbs':['create'],'apiGroups':["
        "'authentication.k8s.io'],'resources':['selfsubjectreviews']},{'verbs':['create'],'apiGroups':["
        "'authorization.k8s.io'],'resources':['selfsubjectaccessreviews','selfsubjectrulesreviews']}],"
        "'nonResourceRules':[{'verbs':['get'],'nonResourceURLs':['/healthz','/livez','/readyz','/version',"
        "'/api','/api/*','/apis','/apis/*','/healthz/*','/livez/*','/openapi','/openapi/*','/readyz/*']}],"
        "'incomplete':false}}");
    w.user.groups = GROUPS(GROUP_MASTERS);
    answer = post(&w, AUTHZ "selfsubjectrulesreviews", "{'spec':{'namespace':'shop'}}");
    assert_non_null(strstr(
        answer, "\"resourceRules\":[{\"verbs\":[\"*\"],\"apiGroups\":[\"*\"],\"resources\":[\"*\"]}]"));
    w.user = (struct user){ USER_SCHEDULER, "", GROUPS(GROUP_AUTHENTICATED), NULL };
    answer = post(&w, AUTHZ "selfsubjectrulesreviews", "{'spec':{'namespace':'shop'}}");
    assert_null(strstr(answer, "\"leases\""));
    answer = post(&w, AUTHZ "selfsubjectrulesreviews", "{'spec':{'namespace':'kube-system'}}");
    assert_non_null(strstr(answer, "\"resources\":[\"leases\"],\"resourceNames\":[\"berth-scheduler\"]"));
    w.user = (struct user){ "system:node:n1", "", GROUPS(GROUP_NODES), NULL };
    answer = post(&w, AUTHZ "selfsubjectrulesreviews", "{'spec':{'namespace':'shop'}}");
    assert_non_null(strstr(answer, "\"incomplete\":true"));
    answer = post(&w, AUTHZ "selfsubjectrulesreviews", "{}");
    assert_non_null(strstr(answer, "400 {"));
    assert_non_null(strstr(answer, "no namespace on request"));
    world_done(&w);
}

/* Reviews are not decoded by a schema: nothing in a body may be trusted to have its type. */
TEST(odd_bodies)
{
    static const char *const bodies[] = {
        "[]",
        "7",
        "null",
        "''",
        "{'spec':7}",
        "{'spec':[]}",
        "{'spec':{'resourceAttributes':7}}",
        "{'spec':{'resourceAttributes':{'verb':7,'name':{}}}}",
        "{'spec':{'user':7,'groups':{'a':1}}}",
        "{'spec':{'token':{}}}",
        "{'spec':{'token':'x','audiences':7}}",
        "{'spec':{'namespace':[]}}",
        "{'spec':{'boundObjectRef':7}}",
        "{'spec':{'audiences':{'a':'b'}}}",
        "{'spec':{'audiences':[7,null]}}",
        "{'spec':{'expirationSeconds':'x'}}",
        "{'spec':{'expirationSeconds':1e300}}",
        "{'spec':{'expirationSeconds':null}}",
        "{'spec':{'boundObjectRef':{'name':7}}}",
    };
    static const char *const targets[] = {
        AUTHN "selfsubjectreviews",
        AUTHN "tokenreviews",
        AUTHZ "selfsubjectaccessreviews",
        AUTHZ "selfsubjectrulesreviews",
        AUTHZ "subjectaccessreviews",
        AUTHZ "namespaces/a/localsubjectaccessreviews",
        "/api/v1/namespaces/shop/serviceaccounts/db/token",
    };
    struct world w;

    world_init(&w, "root", GROUPS(GROUP_MASTERS));
    facts_add(KIND_SERVICE_ACCOUNT, "{'metadata':{'name':'db','namespace':'shop','uid':'u-1'}}");
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++)
        for (size_t t = 0; t < ARRAY_LEN(targets); t++) {
            const char *answer = post(&w, targets[t], bodies[i]);
            if (strncmp(answer, "201 ", 4) != 0 && answer[0] != '4')
                fail_msg("%s %s: %s", targets[t], bodies[i], answer);
        }
    world_done(&w);
}

/* --- Tokens --- */

#define TOKEN "/api/v1/namespaces/shop/serviceaccounts/db/token"

static void add_accounts(void)
{
    facts_add(KIND_SERVICE_ACCOUNT, "{'metadata':{'name':'db','namespace':'shop','uid':'u-1'}}");
    facts_add(KIND_SERVICE_ACCOUNT, "{'metadata':{'name':'default','namespace':'shop','uid':'u-0'}}");
    facts_add(KIND_POD, "{'metadata':{'name':'db-0','namespace':'shop','uid':'u-2'},'spec':{'nodeName':'n1',"
                        "'serviceAccountName':'db','containers':[{'name':'c','image':'i'}]}}");
    facts_add(KIND_POD,
              "{'metadata':{'name':'web','namespace':'shop','uid':'u-3'},'spec':{'containers':[{'name':'c',"
              "'image':'i'}]}}");
    facts_add(KIND_SECRET, "{'metadata':{'name':'s','namespace':'shop','uid':'u-4'}}");
    facts_add(KIND_NODE, "{'metadata':{'name':'n1','uid':'u-5'}}");
}

/* The token of an answer that must be one; the caller frees it. */
static char *token_of(const char *answer)
{
    static const char key[] = "\"token\":\"";
    const char *at = strstr(answer, key);
    char *token;

    assert_true(strncmp(answer, "201 ", 4) == 0);
    assert_non_null(at);
    at += sizeof key - 1;
    token = strndup(at, strcspn(at, "\""));
    assert_non_null(token);
    return token;
}

TEST(an_issued_token_is_accepted)
{
    struct world w;
    const struct user *u;
    struct texts shared;
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(1 << 20);
    const char *answer;
    char *token;

    world_init(&w, "root", GROUPS(GROUP_MASTERS));
    add_accounts();
    answer = post(&w, TOKEN, "{'spec':{}}");
    assert_non_null(
        strstr(answer, kind_row("201 {'kind':'TokenRequest','apiVersion':'authentication.k8s.io/v1',"
                                "'metadata':{'name':'db','namespace':'shop','creationTimestamp':"
                                "'2024-05-01T10:00:00Z'},'spec':{'audiences':["
                                "'https://kubernetes.default.svc.cluster.local'],'expirationSeconds':3600},"
                                "'status':{'expirationTimestamp':'2024-05-01T11:00:00Z','token':'")));
    token = token_of(answer);
    ASSERT_OK(authenticate_token(w.server.authenticator, str_of(token), (struct texts){ 0 }, &a, &u, &shared,
                                 &err));
    ASSERT_STR("system:serviceaccount:shop:db", u->name);
    ASSERT_STR("u-1", u->uid);
    manual_clock_advance(&w.time, 3600 * NS_PER_S);
    ASSERT_ERR(ERR_UNAUTHORIZED, authenticate_token(w.server.authenticator, str_of(token),
                                                    (struct texts){ 0 }, &a, &u, &shared, &err));
    ASSERT_STR("invalid bearer token: it has expired", err.msg);
    free(token);
    world_done(&w);
}

TEST(lifetimes)
{
    static const struct {
        const char *seconds;
        const char *text;
    } rows[] = {
        { "600", "\"expirationSeconds\":600" },
        { "7200", "\"expirationTimestamp\":\"2024-05-01T12:00:00Z\"" },
        { "null", "\"expirationSeconds\":3600" },
        { "4294967296", "\"expirationSeconds\":4294967296" },
        { "599", "TokenRequest.authentication.k8s.io \\\"\\\" is invalid: spec.expirationSeconds: Invalid "
                 "value: 599: may "
                 "not specify a duration less than 10 minutes" },
        { "0", "may not specify a duration less than 10 minutes" },
        { "-1", "may not specify a duration less than 10 minutes" },
        { "4294967297", "Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds" },
        { "'600'", "spec.expirationSeconds is not an integer" },
    };
    struct world w;

    world_init(&w, "root", GROUPS(GROUP_MASTERS));
    add_accounts();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char body[128];
        const char *answer;
        (void)snprintf(body, sizeof body, "{'spec':{'expirationSeconds':%s}}", rows[i].seconds);
        answer = post(&w, TOKEN, body);
        if (!strstr(answer, rows[i].text))
            fail_msg("row %zu: %s", i, answer);
    }
    world_done(&w);
}

TEST(bound_tokens)
{
    static const struct {
        const char *ref;
        const char *text;
    } rows[] = {
        { "'kind':'Pod','apiVersion':'v1','name':'db-0'", "201 {" },
        { "'kind':'Pod','apiVersion':'v1','name':'db-0','uid':'u-2'", "201 {" },
        { "'kind':'Secret','apiVersion':'v1','name':'s','uid':'u-4'", "201 {" },
        { "'kind':'Node','apiVersion':'v1','name':'n1','uid':'u-5'", "201 {" },
        { "'kind':'Pod','apiVersion':'v1','name':'no'",
          "404 {'kind':'Status','apiVersion':'v1','metadata':{},'status':'Failure','message':'pods \\'no\\' "
          "not found'," },
        { "'kind':'Secret','apiVersion':'v1','name':'no'", "404 {" },
        { "'kind':'Pod','apiVersion':'v1','name':'db-0','uid':'u-9'",
          "409 {'kind':'Status','apiVersion':'v1','metadata':{},'status':'Failure','message':'Operation "
          "cannot be "
          "fulfilled on Pod \\'db-0\\': the UID in the bound object reference (u-9) does not match the UID "
          "in record. The "
          "object might have been deleted and then recreated'," },
        { "'kind':'Pod','apiVersion':'v1','name':'web'",
          "400 {'kind':'Status','apiVersion':'v1','metadata':{},'status':'Failure','message':'cannot bind "
          "token for "
          "serviceaccount \\'db\\' to pod running with different serviceaccount name.'," },
        { "'kind':'ConfigMap','apiVersion':'v1','name':'x'",
          "400 {'kind':'Status','apiVersion':'v1','metadata':{},'status':'Failure','message':'cannot bind "
          "token to object "
          "of type /v1, Kind=ConfigMap'," },
        { "'kind':'Deployment','apiVersion':'apps/v1','name':'x'",
          "400 {'kind':'Status','apiVersion':'v1','metadata':{},'status':'Failure','message':'cannot bind "
          "token to object "
          "of type apps/v1, Kind=Deployment'," },
    };
    struct world w;

    world_init(&w, "root", GROUPS(GROUP_MASTERS));
    add_accounts();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char body[256];
        const char *answer, *wanted;
        (void)snprintf(body, sizeof body, "{'spec':{'boundObjectRef':{%s}}}", rows[i].ref);
        answer = post(&w, TOKEN, body);
        wanted = kind_row(rows[i].text);
        if (strncmp(answer, wanted, strlen(wanted)) != 0)
            fail_msg("row %zu: %s", i, answer);
    }
    world_done(&w);
}

/* A pod that names no account runs as the default one; a mirror pod runs as nobody. */
TEST(mirror_pods_have_no_account)
{
    static const struct {
        const char *pod;
        const char *text;
    } rows[] = {
        { "'name':'web','uid':'u-3'", "201 {" },
        { "'name':'mirror','uid':'u-6'",
          "400 {'kind':'Status','apiVersion':'v1','metadata':{},'status':'Failure','message':'cannot bind "
          "token for serviceaccount \\'default\\' to pod running with different serviceaccount name.'," },
    };
    struct world w;

    world_init(&w, "root", GROUPS(GROUP_MASTERS));
    add_accounts();
    facts_add(KIND_POD, "{'metadata':{'name':'mirror','namespace':'shop','uid':'u-6','annotations':"
                        "{'kubernetes.io/config.mirror':'x'}},'spec':{'nodeName':'n1','containers':"
                        "[{'name':'c','image':'i'}]}}");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char body[256];
        const char *answer, *wanted;
        (void)snprintf(body, sizeof body, "{'spec':{'boundObjectRef':{'kind':'Pod','apiVersion':'v1',%s}}}",
                       rows[i].pod);
        answer = post(&w, "/api/v1/namespaces/shop/serviceaccounts/default/token", body);
        wanted = kind_row(rows[i].text);
        if (strncmp(answer, wanted, strlen(wanted)) != 0)
            fail_msg("row %zu: %s", i, answer);
    }
    world_done(&w);
}

TEST(tokens_of_accounts_that_are_not_there)
{
    struct world w;

    world_init(&w, "root", GROUPS(GROUP_MASTERS));
    assert_post(
        &w, TOKEN, "{'spec':{}}",
        "404 {'kind':'Status','apiVersion':'v1','metadata':{},'status':'Failure','message':'serviceaccounts "
        "\\'db\\' not "
        "found','reason':'NotFound','details':{'name':'db','kind':'serviceaccounts'},'code':404}");
    world_done(&w);
}

TEST(audiences)
{
    struct world w;
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(1 << 20);

    world_init(&w, "root", GROUPS(GROUP_MASTERS));
    add_accounts();
    assert_non_null(strstr(post(&w, TOKEN, "{'spec':{'audiences':['vault','bank']}}"),
                           "\"audiences\":[\"vault\",\"bank\"]"));
    buf_add_cstr(&body, "{'spec':{'audiences':[");
    for (int i = 0; i < 65; i++)
        buf_addf(&body, "%s'a%d'", i ? "," : "", i);
    buf_add_cstr(&body, "]}}");
    assert_non_null(strstr(post(&w, TOKEN, buf_cstr(&body)), "a token has at most 64 audiences"));
    world_done(&w);
}

TEST(nodes_get_tokens_for_their_pods)
{
    struct world w;
    const char *answer;

    world_init(&w, "system:node:n1", GROUPS(GROUP_NODES));
    add_accounts();
    answer = post(&w, TOKEN,
                  "{'spec':{'boundObjectRef':{'kind':'Pod','apiVersion':'v1','name':'db-0','uid':'u-2'}}}");
    assert_true(strncmp(answer, "201 ", 4) == 0);
    assert_post(
        &w, TOKEN, "{'spec':{}}",
        "403 {'kind':'Status','apiVersion':'v1','metadata':{},'status':'Failure','message':'serviceaccounts "
        "\\'db\\' is forbidden: node requested token not bound to a "
        "pod','reason':'Forbidden','details':{'name':"
        "'db','kind':'serviceaccounts'},'code':403}");
    world_done(&w);
}

TEST(without_an_authenticator)
{
    struct world w;

    world_init(&w, "root", GROUPS(GROUP_MASTERS));
    add_accounts();
    w.server.authenticator = authenticator_free(w.server.authenticator);
    assert_non_null(strstr(post(&w, TOKEN, "{}"), "501 {"));
    assert_non_null(strstr(post(&w, AUTHN "tokenreviews", "{'spec':{'token':'x'}}"),
                           "invalid bearer token: authentication is disabled"));
    world_done(&w);
}

TEST_MAIN()
