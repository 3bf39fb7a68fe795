/* Who calls are taken for, by certificate, token and headers. */
#include "tests/unit/test_io.h"

#include "tests/unit/test_access_lookup.h"
#include "tests/unit/test_call.h"

#include "apiserver/authenticate.h"
#include "apiserver/server.h"
#include "apiserver/user.h"
#include "base/cleanup.h"

#define HEADERS(...) ((const char *const[]){ __VA_ARGS__, NULL })

#define ACCOUNT "{'metadata':{'name':'db','namespace':'shop','uid':'u-1'}}"
#define POD                                                                                         \
    "{'metadata':{'name':'db-0','namespace':'shop','uid':'u-2'},'spec':{'containers':[{'name':'c'," \
    "'image':'i'}]}}"

struct world {
    struct test_dir dir;
    struct manual_clock time;
    struct key *key;
    struct authenticator *a;
    struct call c;
};

static void world_init(struct world *w, bool is_insecure)
{
    struct authenticator_options o;

    *w = (struct world){ .dir = test_dir_new() };
    manual_clock_init(&w->time, 0, 2000 * (int64_t)NS_PER_S);
    put_file(in_dir(&w->dir, "tokens"), "static-token,alice,7,\"berth:readers,staff\"\n");
    ASSERT_OK(key_new(&w->key, &err));
    facts_add(KIND_SERVICE_ACCOUNT, ACCOUNT);
    facts_add(KIND_POD, POD);
    o = (struct authenticator_options){
        .clock = &w->time.clock,
        .token_key = w->key,
        .token_file = in_dir(&w->dir, "tokens"),
        .lookup = test_facts,
        .is_insecure = is_insecure,
    };
    ASSERT_OK(authenticator_new(&o, &w->a, &err));
    call_init(&w->c, &test_carrier, NULL);
    call_headers = NULL;
}

static void world_done(struct world *w)
{
    call_done(&w->c);
    facts_clear();
    w->a = authenticator_free(w->a);
    w->key = key_free(w->key);
    test_dir_done(&w->dir);
}

/* "name (uid): group, group; key=value": as short as a row wants it. */
static const char *show(const struct user *u)
{
    static struct buf out = { .len_max = 1 << 20 };

    buf_clear(&out);
    buf_addf(&out, "%s (%s):", u->name, u->uid);
    for (const char *const *g = u->groups; *g; g++)
        buf_addf(&out, "%s %s", g == u->groups ? "" : ",", *g);
    for (const struct user_extra *e = u->extra; e && e->key; e++)
        for (const char *const *v = e->values; *v; v++)
            buf_addf(&out, "; %s=%s", e->key, *v);
    return buf_cstr(&out);
}

static const char *who(struct world *w)
{
    const struct user *u = NULL;

    if (authenticate_call(w->a, &w->c, &u, &err) < 0)
        return err.msg;
    return show(u);
}

static struct jwt account_token(void)
{
    static const char *const audiences[] = { JWT_ISSUER };

    return (struct jwt){
        .ns = "shop",
        .account = "db",
        .account_uid = "u-1",
        .bound = { KIND_COUNT, "", "" },
        .audiences = { audiences, 1 },
        .issued = 2000,
        .expires = 5600,
    };
}

/* Calls with this token from now on. */
static void show_token(struct world *w, const struct jwt *t)
{
    static char header[4096];
    static const char *headers[] = { header, NULL };
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(JWT_BYTES_MAX);

    ASSERT_OK(jwt_sign(t, w->key, &text, &err));
    (void)snprintf(header, sizeof header, "Authorization: Bearer %s", buf_cstr(&text));
    call_headers = headers;
}

TEST(nobody)
{
    static const char *const rows[] = {
        "Accept: */*",
        "Authorization:",
        "Authorization: Bearer",
        "Authorization: Basic YTpi",
        "Authorization: Token x",
        "Authorization: Bearerstatic-token",
    };
    struct world w;

    world_init(&w, false);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        call_headers = HEADERS(rows[i]);
        ASSERT_STR("system:anonymous (): system:unauthenticated", who(&w));
    }
    world_done(&w);
}

TEST(apiserver_83_static_tokens)
{
    static const struct {
        const char *header;
        const char *user;
    } rows[] = {
        { "Authorization: Bearer static-token", "alice (7): berth:readers, staff, system:authenticated" },
        { "authorization: bearer static-token", "alice (7): berth:readers, staff, system:authenticated" },
        { "Authorization: Bearer static-token and more",
          "alice (7): berth:readers, staff, system:authenticated" },
        { "Authorization: Bearer static-tokem", "Unauthorized" },
        { "Authorization: Bearer a.b.c", "Unauthorized" },
        { "Authorization: Bearer alice", "Unauthorized" },
    };
    struct world w;

    world_init(&w, false);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        call_headers = HEADERS(rows[i].header);
        ASSERT_STR(rows[i].user, who(&w));
    }
    world_done(&w);
}

TEST(certificates)
{
    const struct peer peer = { "bob", HEADERS("berth:csi", "berth:readers") };
    const struct peer alone = { "carol", HEADERS(NULL) };
    struct world w;

    world_init(&w, false);
    w.c.peer = &peer;
    ASSERT_STR("bob (): berth:csi, berth:readers, system:authenticated", who(&w));
    call_headers = HEADERS("Authorization: Bearer nonsense"); /* the certificate has settled it */
    ASSERT_STR("bob (): berth:csi, berth:readers, system:authenticated", who(&w));
    call_headers = NULL;
    w.c.peer = &alone;
    ASSERT_STR("carol (): system:authenticated", who(&w));
    w.c.peer = NULL;
    w.c.peer_is_invalid = true; /* shown, and signed by somebody else */
    ASSERT_STR("Unauthorized", who(&w));
    call_headers = HEADERS("Authorization: Bearer static-token");
    ASSERT_STR("Unauthorized", who(&w));
    world_done(&w);
}

TEST(trusted_callers)
{
    struct world w;

    world_init(&w, false);
    w.c.is_trusted = true;
    ASSERT_STR("system:admin (): system:masters, system:authenticated", who(&w));
    world_done(&w);
    world_init(&w, true);
    ASSERT_STR("system:admin (): system:masters, system:authenticated", who(&w));
    call_headers = HEADERS("Authorization: Bearer nonsense");
    ASSERT_STR("system:admin (): system:masters, system:authenticated", who(&w));
    world_done(&w);
}

TEST(service_accounts)
{
    static const char plain[] = "system:serviceaccount:shop:db (u-1): system:serviceaccounts, "
                                "system:serviceaccounts:shop, system:authenticated";
    struct world w;
    struct jwt t = account_token();

    world_init(&w, false);
    show_token(&w, &t);
    ASSERT_STR(plain, who(&w));
    t.bound = (struct jwt_bound){ KIND_POD, "db-0", "u-2" };
    show_token(&w, &t);
    ASSERT_STR("system:serviceaccount:shop:db (u-1): system:serviceaccounts, system:serviceaccounts:shop, "
               "system:authenticated; authentication.kubernetes.io/pod-name=db-0; "
               "authentication.kubernetes.io/pod-uid=u-2",
               who(&w));
    world_done(&w);
}

TEST(tokens_have_their_time)
{
    static const struct {
        int64_t seconds;
        bool is_valid;
    } rows[] = { { 1999, false }, { 2000, true }, { 5599, true }, { 5600, false }, { 99999, false } };
    struct world w;
    struct jwt t = account_token();

    world_init(&w, false);
    show_token(&w, &t);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        manual_clock_set_real(&w.time, rows[i].seconds * (int64_t)NS_PER_S);
        ASSERT_INT(rows[i].is_valid, strcmp(who(&w), "Unauthorized") != 0);
    }
    world_done(&w);
}

/* What authenticate_call() keeps to itself. */
static const char *why_not(struct world *w, const struct jwt *t, struct texts audiences)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(JWT_BYTES_MAX);
    const struct user *u;
    struct texts shared;

    ASSERT_OK(jwt_sign(t, w->key, &text, &err));
    if (authenticate_token(w->a, buf_str(&text), audiences, &w->c.arena, &u, &shared, &err) < 0)
        return err.msg;
    return shared.count == 1 ? shared.items[0] : "several";
}

TEST(tokens_die_with_their_objects)
{
    static const struct {
        const char *ns, *account, *uid;
        struct jwt_bound bound;
        const char *message;
    } rows[] = {
        { "shop", "db", "u-1", { KIND_COUNT, "", "" }, JWT_ISSUER },
        { "shop", "db", "u-9", { KIND_COUNT, "", "" }, "its service account has been deleted" },
        { "shop", "web", "u-1", { KIND_COUNT, "", "" }, "its service account has been deleted" },
        { "", "db", "u-1", { KIND_COUNT, "", "" }, "its service account has been deleted" },
        { "shop", "db", "u-1", { KIND_POD, "db-0", "u-2" }, JWT_ISSUER },
        { "shop", "db", "u-1", { KIND_POD, "db-0", "u-9" }, "the object it is bound to has been deleted" },
        { "shop", "db", "u-1", { KIND_POD, "db-1", "u-2" }, "the object it is bound to has been deleted" },
        { "shop", "db", "u-1", { KIND_SECRET, "db-0", "u-2" }, "the object it is bound to has been deleted" },
        { "shop", "db", "u-1", { KIND_NODE, "n1", "u-5" }, JWT_ISSUER },
        { "shop", "db", "u-1", { KIND_NODE, "n1", "u-6" }, "the object it is bound to has been deleted" },
    };
    struct world w;

    world_init(&w, false);
    facts_add(KIND_NODE, "{'metadata':{'name':'n1','uid':'u-5'}}");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct jwt t = account_token();
        const char *message;
        t.ns = rows[i].ns;
        t.account = rows[i].account;
        t.account_uid = rows[i].uid;
        t.bound = rows[i].bound;
        message = why_not(&w, &t, (struct texts){ 0 });
        if (!strstr(message, rows[i].message))
            fail_msg("row %zu: %s", i, message);
    }
    world_done(&w);
}

TEST(tokens_are_meant_for_somebody)
{
    static const char *const vault[] = { "vault" }, *const both[] = { "vault", "bank" };
    static const char *const other[] = { "bank" };
    struct world w;
    struct jwt t = account_token();

    world_init(&w, false);
    t.audiences = (struct texts){ vault, 1 };
    show_token(&w, &t);
    ASSERT_STR("Unauthorized", who(&w));
    ASSERT_STR("invalid bearer token: it is meant for another audience",
               why_not(&w, &t, (struct texts){ 0 }));
    ASSERT_STR("vault", why_not(&w, &t, (struct texts){ both, 2 }));
    ASSERT_STR("invalid bearer token: it is meant for another audience",
               why_not(&w, &t, (struct texts){ other, 1 }));
    t.audiences = (struct texts){ NULL, 0 };
    ASSERT_STR("invalid bearer token: it is meant for another audience",
               why_not(&w, &t, (struct texts){ 0 }));
    world_done(&w);
}

TEST(a_bad_token_file_is_told_at_once)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct authenticator_options o = { .token_file = in_dir(&d, "nothing") };
    struct authenticator *a = NULL;

    ASSERT_ERR(ERR_NOT_FOUND, authenticator_new(&o, &a, &err));
    assert_null(a);
}

/* --- Impersonation --- */

TEST(masters_act_as_others)
{
    const struct {
        const char *const *headers;
        const char *user;
    } rows[] = {
        { HEADERS("Impersonate-User: bob"), "bob (): system:authenticated" },
        { HEADERS("impersonate-user: bob", "IMPERSONATE-GROUP: a", "Impersonate-Group: b"),
          "bob (): a, b, system:authenticated" },
        { HEADERS("Impersonate-User: bob", "Impersonate-User: carol"), "bob (): system:authenticated" },
        { HEADERS("Impersonate-Uid: 7", "Impersonate-User: bob"), "bob (7): system:authenticated" },
        { HEADERS("Impersonate-User: system:anonymous"), "system:anonymous (): system:unauthenticated" },
        { HEADERS("Impersonate-User: system:serviceaccount:shop:db"),
          "system:serviceaccount:shop:db (): system:serviceaccounts, system:serviceaccounts:shop, "
          "system:authenticated" },
        { HEADERS("Impersonate-User: system:serviceaccount:shop:db", "Impersonate-Group: a"),
          "system:serviceaccount:shop:db (): a, system:authenticated" },
        { HEADERS("Impersonate-User: system:serviceaccount:shop"),
          "system:serviceaccount:shop (): system:authenticated" },
        { HEADERS("Impersonate-User: system:serviceaccount:a:b:c"),
          "system:serviceaccount:a:b:c (): system:authenticated" },
        { HEADERS("Impersonate-User: system:node:n1", "Impersonate-Group: system:nodes"),
          "system:node:n1 (): system:nodes, system:authenticated" },
        { HEADERS("Impersonate-User: bob", "Impersonate-Extra-Acme.com%2Fproject: x",
                  "Impersonate-Extra-Acme.com%2Fproject: y", "impersonate-extra-b: z"),
          "bob (): system:authenticated; acme.com/project=x; acme.com/project=y; b=z" },
        { HEADERS("Impersonate-User:"), "system:admin (): system:masters, system:authenticated" },
        { HEADERS("Impersonator: bob", "X-Impersonate-User: bob"),
          "system:admin (): system:masters, system:authenticated" },
        { HEADERS("Impersonate-Group: a"), "requested groups, uid or extra without impersonating a user" },
        { HEADERS("Impersonate-User: bob", "Impersonate-Extra-a%zz: x"), "invalid URL escape \"%zz\"" },
    };
    struct world w;

    world_init(&w, true);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        call_headers = rows[i].headers;
        ASSERT_STR(rows[i].user, who(&w));
    }
    world_done(&w);
}

TEST(nobody_else_does)
{
    const struct peer bob = { "bob", HEADERS("berth:readers", "system:nodes") };
    const struct user *u;
    struct world w;

    world_init(&w, false);
    w.c.peer = &bob;
    call_headers = HEADERS("Impersonate-User: carol");
    ASSERT_ERR(ERR_DENIED, authenticate_call(w.a, &w.c, &u, &err));
    ASSERT_STR(
        "users \"carol\" is forbidden: User \"bob\" cannot impersonate resource \"users\" in API group \"\" "
        "at the cluster scope",
        err.msg);
    call_headers = HEADERS("Impersonate-Group: system:masters");
    ASSERT_ERR(ERR_DENIED, authenticate_call(w.a, &w.c, &u, &err));
    ASSERT_STR(
        "groups \"system:masters\" is forbidden: User \"bob\" cannot impersonate resource \"groups\" in API "
        "group \"\" at the cluster scope",
        err.msg);
    w.c.peer = NULL;
    ASSERT_ERR(ERR_UNAUTHORIZED, authenticate_call(w.a, &w.c, &u, &err));
    ASSERT_STR("Unauthorized", err.msg);
    world_done(&w);
}

/* --- Users --- */

TEST(nodes_by_name_and_group)
{
    static const struct {
        const char *name;
        const char *group;
        const char *node;
    } rows[] = {
        { "system:node:n1", GROUP_NODES, "n1" }, { "system:node:", GROUP_NODES, "" },
        { "system:node:n1", "others", "" },      { "n1", GROUP_NODES, "" },
        { "system:nodes", GROUP_NODES, "" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct user u = { rows[i].name, "", HEADERS(rows[i].group), NULL };
        assert_true(str_is(user_node(&u), rows[i].node));
    }
}

TEST(users_without_memory)
{
    for (size_t bytes = 0; bytes < 200; bytes += 8) {
        _cleanup_(arena_done_p) struct arena a = ARENA_INIT(bytes);
        const struct user *u = user_new(&a, "a-user", "a-uid", HEADERS("a", "b"), NULL);
        assert_true(u == NULL || a.failed == ERR_NONE);
    }
}

/* The name by which requests take turns: nothing that a client is free to choose changes it. */
static void check_flow(bool is_insecure, const char *expected, const char *const *headers,
                       const struct peer *peer, bool peer_is_invalid)
{
    struct world w;
    struct apiserver s = { 0 };

    world_init(&w, is_insecure);
    s.authenticator = w.a;
    call_headers = headers;
    w.c.peer = peer;
    w.c.peer_is_invalid = peer_is_invalid;
    ASSERT_STR(expected, apiserver_identify(&s, &w.c));
    ASSERT_STR(expected, apiserver_identify(&s, &w.c));
    assert_true(!w.c.user == !!w.c.user_error);
    world_done(&w);
}

TEST(flows_are_users)
{
    static const char *const none[] = { NULL };
    const struct peer peer = { "bob", none };

    check_flow(false, "alice", HEADERS("Authorization: Bearer static-token", "User-Agent: a"), NULL, false);
    check_flow(false, "alice", HEADERS("User-Agent: b", "Authorization: Bearer static-token"), NULL, false);
    check_flow(false, "bob", HEADERS("User-Agent: a"), &peer, false);
    check_flow(false, "bob", HEADERS("User-Agent: b", "Authorization: Bearer x"), &peer, false);
    check_flow(false, "system:anonymous", HEADERS("User-Agent: a"), NULL, false);
    check_flow(false, "system:anonymous", HEADERS("Authorization: Bearer bad-1"), NULL, false);
    check_flow(false, "system:anonymous", HEADERS("Authorization: Bearer bad-2"), NULL, false);
    check_flow(false, "system:anonymous", HEADERS("Authorization: Basic x"), NULL, false);
    check_flow(false, "system:anonymous", HEADERS("User-Agent: a"), NULL, true);
    check_flow(true, "system:admin", HEADERS("Authorization: Bearer bad-1"), NULL, false);
    check_flow(true, "system:admin", HEADERS("User-Agent: b"), NULL, false);
}

TEST_MAIN()
