/* Which server and who: sources, merging, the chosen entries and what is refused about them. */
#include "tests/unit/test_io.h"

#include <limits.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "client/config.h"
#include "client/kubeconfig.h"

#define NO_CONFIG                                                                                           \
    "invalid configuration: no configuration has been provided, try setting KUBERNETES_MASTER environment " \
    "variable"

/* A file with one context 'x' of one cluster 'c' and one user 'u', in flow style: fields of both. */
#define KUBECONFIG(cluster, user) KUBECONFIG_IN("", cluster, user)
#define KUBECONFIG_IN(context, cluster, user)                            \
    "apiVersion: v1\nkind: Config\ncurrent-context: x\n"                 \
    "contexts: [{name: x, context: {cluster: c, user: u" context "}}]\n" \
    "clusters: [{name: c, cluster: {" cluster "}}]\n"                    \
    "users: [{name: u, user: {" user "}}]\n"
#define HTTPS "server: 'https://h'"

static struct error err;
static char logged[4096];

static void keep_line(void *ctx, const char *line, size_t len)
{
    size_t at = strlen(logged);

    (void)ctx;
    (void)snprintf(logged + at, sizeof logged - at, "%.*s", (int)len, line);
}

/* Nothing of this machine's: no environment, no home, no pod. */
static struct config_options nowhere(void)
{
    return (struct config_options){
        .env = "", .home = "", .pod_dir = "/nonexistent", .pod_host = "", .pod_port = ""
    };
}

/* With what was logged meanwhile in `logged`. */
static int load(const struct config_options *o, struct client_config *ret)
{
    struct manual_clock clock;
    struct logger logger = { .level = LOG_LEVEL_INFO, .clock = &clock.clock, .sink = keep_line };
    int r;

    manual_clock_init(&clock, 0, 0);
    logged[0] = '\0';
    log_install(&logger);
    r = config_load(o, ret, &err);
    log_install(NULL);
    return r;
}

/* One file with this text, named by --kubeconfig. */
static int load_text(const struct test_dir *d, const char *text, struct client_config *ret)
{
    struct config_options o = nowhere();

    o.file = in_dir(d, "kc");
    put_file(o.file, text);
    return load(&o, ret);
}

static const char *or_none(const char *s)
{
    return s ? s : "-";
}

#define ASSERT_FIELD(expected, actual) ASSERT_STR(or_none(expected), or_none(actual))

/* --- Where it comes from --- */

TEST(machinery_1_a_named_file_that_is_missing_is_an_error)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    _cleanup_(config_done) struct client_config c = { 0 };
    struct config_options o = nowhere();
    char expected[512];

    put_file(in_dir(&d, "other"), KUBECONFIG(HTTPS, ""));
    o.env = in_dir(&d, "other"); /* is not asked */
    o.file = in_dir(&d, "missing");
    (void)snprintf(expected, sizeof expected, "stat %s: no such file or directory", o.file);
    ASSERT_ERR(ERR_NOT_FOUND, load(&o, &c));
    ASSERT_STR(expected, err.msg);
    assert_null(c.server);
    assert_null(c.arena.blocks);
}

TEST(a_named_file_is_the_only_one)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    _cleanup_(config_done) struct client_config c = { 0 };
    struct config_options o = nowhere();

    put_file(in_dir(&d, "env"), KUBECONFIG("server: 'https://env'", "token: from-env"));
    put_file(in_dir(&d, "kc"), KUBECONFIG(HTTPS, ""));
    o.env = in_dir(&d, "env");
    o.file = in_dir(&d, "kc");
    ASSERT_OK(load(&o, &c));
    ASSERT_STR("https://h", c.server);
    assert_null(c.token);
    ASSERT_STR(in_dir(&d, "kc"), c.source);
    ASSERT_STR("", logged);
}

TEST(the_environment_is_asked_before_the_home_directory)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct client_config c = { 0 };
    struct config_options o = nowhere();

    assert_int_equal(mkdir(in_dir(&d, ".kube"), 0700), 0);
    put_file(in_dir(&d, ".kube/config"), KUBECONFIG("server: 'https://home'", ""));
    put_file(in_dir(&d, "kc"), KUBECONFIG("server: 'https://env'", ""));
    o.home = d.path;
    ASSERT_OK(load(&o, &c));
    ASSERT_STR("https://home", c.server);
    config_done(&c);
    o.env = in_dir(&d, "kc");
    ASSERT_OK(load(&o, &c));
    ASSERT_STR("https://env", c.server);
    config_done(&c);
    o.env = in_dir(&d, "missing"); /* set and useless is not unset */
    ASSERT_ERR(ERR_NOT_FOUND, load(&o, &c));
    ASSERT_STR(NO_CONFIG, err.msg);
}

TEST(variables_are_read_where_the_caller_gives_nothing)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct client_config c = { 0 };
    struct config_options o = { .pod_dir = "/nonexistent" };

    put_file(in_dir(&d, "kc"), KUBECONFIG(HTTPS, ""));
    assert_int_equal(setenv("KUBECONFIG", in_dir(&d, "kc"), 1), 0);
    ASSERT_OK(load(&o, &c));
    ASSERT_STR("https://h", c.server);
    config_done(&c);
    assert_int_equal(unsetenv("KUBECONFIG"), 0);
    assert_int_equal(setenv("HOME", d.path, 1), 0);
    ASSERT_ERR(ERR_NOT_FOUND, load(&o, &c));
    ASSERT_STR(NO_CONFIG, err.msg);
    ASSERT_STR("", logged); /* a home without a kubeconfig is nothing to warn of */
}

TEST(machinery_4_all_listed_files_missing_is_a_warning_and_no_configuration)
{
    _cleanup_(config_done) struct client_config c = { 0 };
    struct config_options o = nowhere();

    o.env = "/nope";
    ASSERT_ERR(ERR_NOT_FOUND, load(&o, &c));
    ASSERT_STR(NO_CONFIG, err.msg);
    assert_non_null(strstr(logged, " WARN Config not found: /nope\n"));
    o.env = "/nope::/nope/b:/nope";
    ASSERT_ERR(ERR_NOT_FOUND, load(&o, &c));
    assert_non_null(strstr(logged, " WARN Config not found: /nope, /nope/b\n"));
}

TEST(some_listed_files_may_be_missing)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    _cleanup_(config_done) struct client_config c = { 0 };
    struct config_options o = nowhere();
    char list[2048];

    put_file(in_dir(&d, "kc"), KUBECONFIG(HTTPS, ""));
    (void)snprintf(list, sizeof list, ":%s::%s:%s:", in_dir(&d, "a"), in_dir(&d, "kc"), in_dir(&d, "kc"));
    o.env = list;
    ASSERT_OK(load(&o, &c));
    ASSERT_STR("https://h", c.server);
    ASSERT_STR(in_dir(&d, "kc"), c.source); /* once */
    ASSERT_STR("", logged);
}

TEST(bad_files_in_a_list_are_told_together)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct client_config c = { 0 };
    struct config_options o = nowhere();
    char list[2048], expected[512];

    put_file(in_dir(&d, "a"), "clusters: 1");
    put_file(in_dir(&d, "b"), KUBECONFIG(HTTPS, ""));
    put_file(in_dir(&d, "c"), "- 1");
    (void)snprintf(list, sizeof list, "%s:%s:%s", in_dir(&d, "a"), in_dir(&d, "b"), in_dir(&d, "c"));
    o.env = list;
    ASSERT_ERR(ERR_INVALID, load(&o, &c));
    (void)snprintf(expected, sizeof expected,
                   "[error loading config file \"%s\": clusters: expected array, found number, "
                   "error loading config file \"%s\": the file: expected object, found array]",
                   in_dir(&d, "a"), in_dir(&d, "c"));
    ASSERT_STR(expected, err.msg);
    o.env = in_dir(&d, "a");
    ASSERT_ERR(ERR_INVALID, load(&o, &c));
    (void)snprintf(expected, sizeof expected,
                   "error loading config file \"%s\": clusters: expected array, found number", o.env);
    ASSERT_STR(expected, err.msg);
}

TEST(too_many_listed_files_are_refused)
{
    _cleanup_(buf_done_p) struct buf list = BUF_INIT(1 << 20);
    struct client_config c = { 0 };
    struct config_options o = nowhere();

    for (int i = 0; i < KUBECONFIG_FILES_MAX; i++)
        buf_addf(&list, "/nope/%d:", i);
    o.env = buf_cstr(&list);
    ASSERT_ERR(ERR_NOT_FOUND, load(&o, &c));
    ASSERT_STR(NO_CONFIG, err.msg);
    buf_add_cstr(&list, "/nope/more");
    o.env = buf_cstr(&list);
    ASSERT_ERR(ERR_TOO_LARGE, load(&o, &c));
    ASSERT_STR("KUBECONFIG lists more than 64 files", err.msg);
}

TEST(a_file_too_large_is_refused)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(KUBECONFIG_FILE_BYTES_MAX + 1);
    struct client_config c = { 0 };

    buf_add_cstr(&text, KUBECONFIG(HTTPS, "") "#");
    while (text.len < KUBECONFIG_FILE_BYTES_MAX)
        buf_add_char(&text, 'x');
    ASSERT_OK(load_text(&d, buf_cstr(&text), &c));
    config_done(&c);
    buf_add_char(&text, 'x');
    ASSERT_ERR(ERR_TOO_LARGE, load_text(&d, buf_cstr(&text), &c));
    assert_non_null(strstr(err.msg, "error loading config file \""));
    assert_non_null(strstr(err.msg, "is larger than 1048576 bytes"));
}

TEST(a_file_that_may_not_be_read_is_an_error)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct client_config c = { 0 };
    struct config_options o = nowhere();

    o.file = d.path; /* a directory */
    assert_true(load(&o, &c) < 0);
    assert_non_null(strstr(err.msg, "error loading config file \""));
    assert_non_null(strstr(err.msg, "Is a directory"));
}

/* --- What is in it --- */

TEST(every_field_arrives)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    _cleanup_(config_done) struct client_config c = { 0 };

    put_file(in_dir(&d, "crt"), "C");
    put_file(in_dir(&d, "key"), "K");
    ASSERT_OK(load_text(&d,
                        KUBECONFIG_IN(", namespace: shop",
                                      "server: 'https://h:6443', tls-server-name: other, "
                                      "proxy-url: 'socks5://p:1080', disable-compression: true, "
                                      "certificate-authority-data: Q0E=, extensions: [], unknown: {}",
                                      "client-certificate: crt, client-key: key, token: t, as: root, "
                                      "as-uid: '7', as-groups: [g, h], as-user-extra: {k: [a, b], l: []}"),
                        &c));
    ASSERT_STR("https://h:6443", c.server);
    assert_true(c.is_tls);
    assert_false(c.is_insecure);
    ASSERT_STR("other", c.tls_server_name);
    ASSERT_STR("socks5://p:1080", c.proxy_url);
    assert_true(c.disables_compression);
    ASSERT_STR("CA", c.ca.data);
    assert_null(c.ca.path);
    ASSERT_STR(in_dir(&d, "crt"), c.cert.path);
    ASSERT_STR(in_dir(&d, "key"), c.key.path);
    assert_null(c.cert.data);
    ASSERT_STR("t", c.token);
    assert_null(c.token_file);
    assert_null(c.username);
    assert_null(c.password);
    ASSERT_STR("root", c.as);
    ASSERT_STR("7", c.as_uid);
    ASSERT_STR("g", c.as_groups[0]);
    ASSERT_STR("h", c.as_groups[1]);
    assert_null(c.as_groups[2]);
    ASSERT_STR("k", c.as_extra[0].key);
    ASSERT_STR("a", c.as_extra[0].values[0]);
    ASSERT_STR("b", c.as_extra[0].values[1]);
    assert_null(c.as_extra[0].values[2]);
    ASSERT_STR("l", c.as_extra[1].key);
    assert_null(c.as_extra[1].values[0]);
    assert_null(c.as_extra[2].key);
    ASSERT_STR("shop", c.ns);
    ASSERT_STR("", logged);
}

TEST(json_is_read_too_and_what_is_not_said_is_not_there)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    _cleanup_(config_done) struct client_config c = { 0 };

    ASSERT_OK(load_text(&d,
                        "{\"current-context\":\"x\",\"users\":null,\"preferences\":{},"
                        "\"contexts\":[{\"name\":\"x\",\"context\":{\"cluster\":\"c\"}}],"
                        "\"clusters\":[{\"name\":\"c\",\"cluster\":{\"server\":\"http://h\","
                        "\"certificate-authority\":null}}]}",
                        &c));
    ASSERT_STR("http://h", c.server);
    assert_false(c.is_tls);
    assert_false(c.is_insecure);
    assert_false(c.disables_compression);
    assert_null(c.tls_server_name);
    assert_null(c.proxy_url);
    assert_null(c.ca.path);
    assert_null(c.cert.path);
    assert_null(c.key.path);
    assert_null(c.token);
    assert_null(c.as_groups);
    assert_null(c.as_extra);
    ASSERT_STR("default", c.ns);
}

TEST(secrets_by_kind)
{
    static const struct {
        const char *user;
        const char *token, *token_file, *username, *password;
        const char *warning;
    } rows[] = {
        { "", NULL, NULL, NULL, NULL, NULL },
        { "token: t", "t", NULL, NULL, NULL, NULL },
        { "token: '', tokenFile: /dev/null", NULL, "/dev/null", NULL, NULL, NULL },
        { "token: t, tokenFile: /nonexistent", "t", NULL, NULL, NULL, NULL },
        { "username: me, password: p", NULL, NULL, "me", "p", NULL },
        { "username: me", NULL, NULL, "me", "", NULL },
        { "password: p", NULL, NULL, "", "p", NULL },
        { "exec: null, auth-provider: null", NULL, NULL, NULL, NULL, NULL },
        { "client-key: /nonexistent", NULL, NULL, NULL, NULL, NULL }, /* proves nothing alone */
        { "client-certificate: /nonexistent, client-certificate-data: Qw==, client-key-data: Sw==", NULL,
          NULL, NULL, NULL, "field=client-certificate user=u" },
        { "client-certificate-data: Qw==, client-key-data: Sw==, client-key: /nonexistent", NULL, NULL, NULL,
          NULL, "field=client-key user=u" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
        _cleanup_(config_done) struct client_config c = { 0 };
        char text[1024];

        (void)snprintf(text, sizeof text, KUBECONFIG(HTTPS, "%s"), rows[i].user);
        ASSERT_OK(load_text(&d, text, &c));
        ASSERT_FIELD(rows[i].token, c.token);
        ASSERT_FIELD(rows[i].token_file, c.token_file);
        ASSERT_FIELD(rows[i].username, c.username);
        ASSERT_FIELD(rows[i].password, c.password);
        if (rows[i].warning) {
            assert_non_null(strstr(logged, rows[i].warning));
            ASSERT_STR("C", c.cert.data);
            ASSERT_STR("K", c.key.data);
            assert_null(c.cert.path);
        } else {
            ASSERT_STR("", logged);
        }
        assert_null(c.key.path);
    }
}

/* Refusals, each behind "invalid configuration: ". machinery-8 and machinery-9 are among them. */
TEST(what_is_wrong_with_the_chosen_entries)
{
    static const struct {
        const char *cluster;
        const char *user;
        const char *expected;
    } rows[] = {
        { "server: ''", "", "no server found for cluster \"c\"" },
        { "insecure-skip-tls-verify: true", "", "no server found for cluster \"c\"" },
        { HTTPS ", insecure-skip-tls-verify: true, certificate-authority-data: Q0E=", "",
          "specifying a root certificates file with the insecure flag is not allowed" },
        { HTTPS ", certificate-authority: /nonexistent/ca", "",
          "unable to read certificate-authority /nonexistent/ca for c due to open /nonexistent/ca: no such "
          "file or directory" },
        { HTTPS, "client-certificate: /nonexistent/crt, client-key-data: Sw==",
          "unable to read client-cert /nonexistent/crt for u due to open /nonexistent/crt: no such file or "
          "directory" },
        { HTTPS, "client-certificate-data: Qw==, client-key: /nonexistent/key",
          "unable to read client-key /nonexistent/key for u due to open /nonexistent/key: no such file or "
          "directory" },
        { HTTPS, "tokenFile: /nonexistent/t",
          "unable to read tokenFile /nonexistent/t for u due to open /nonexistent/t: no such file or "
          "directory" },
        { HTTPS, "client-certificate-data: Qw==",
          "client-key-data or client-key must be specified for u to use the clientCert authentication "
          "method." },
        { HTTPS, "token: t, username: me",
          "more than one authentication method found for u; found [token basicAuth], only one is allowed" },
        { HTTPS, "tokenFile: /dev/null, password: p",
          "more than one authentication method found for u; found [token basicAuth], only one is allowed" },
        { HTTPS, "as-uid: '7'", "requesting uid, groups or user-extra for u without impersonating a user" },
        { HTTPS, "as-groups: [g]",
          "requesting uid, groups or user-extra for u without impersonating a user" },
        { HTTPS, "as-user-extra: {k: [v]}",
          "requesting uid, groups or user-extra for u without impersonating a user" },
        { "server: ''", "as-uid: '7'",
          "[requesting uid, groups or user-extra for u without impersonating a user, no server found for "
          "cluster \"c\"]" },
        { HTTPS ", certificate-authority-data: Q0E", "",
          "cluster \"c\": certificate-authority-data: illegal base64 data at input byte 0" },
        { HTTPS, "client-certificate-data: Qw==, client-key-data: '*'",
          "user \"u\": client-key-data: illegal base64 data at input byte 0" },
        { HTTPS, "client-certificate-data: AA==, client-key-data: Sw==",
          "user \"u\": client-certificate-data: not a PEM text: it contains a zero byte" },
        { HTTPS ", certificate-authority-data: 5", "",
          "cluster \"c\": certificate-authority-data: expected string, found number" },
        { HTTPS, "token: 1", "user \"u\": token: expected string, found number" },
        { HTTPS, "token: \"a\\nb\"",
          "user \"u\": token: may not contain line ends or other control characters" },
        { HTTPS, "as: a, as-groups: [\"\\0\"]",
          "user \"u\": as-groups: may not contain line ends or other control characters" },
        { HTTPS, "as: a, as-groups: g", "user \"u\": as-groups: expected array, found string" },
        { HTTPS, "as: a, as-groups: [1]", "user \"u\": as-groups: expected a list of strings" },
        { HTTPS, "as: a, as-user-extra: {k: v}",
          "user \"u\": as-user-extra: expected lists of strings, each under a name" },
        { HTTPS, "as: a, as-user-extra: {k: [{}]}", "user \"u\": as-user-extra: expected a list of strings" },
        { HTTPS ", insecure-skip-tls-verify: 'true'", "",
          "cluster \"c\": insecure-skip-tls-verify: expected bool, found string" },
        { "server: 'ftp://h'", "",
          "invalid server for cluster \"c\": unsupported scheme \"ftp\", must be http or https" },
        { HTTPS ", proxy-url: 'ftp://h'", "",
          "invalid 'proxy-url' for cluster \"c\": unsupported scheme \"ftp\", must be http, https, or "
          "socks5" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
        struct client_config c = { 0 };
        char text[1024], expected[512];

        (void)snprintf(text, sizeof text, KUBECONFIG("%s", "%s"), rows[i].cluster, rows[i].user);
        (void)snprintf(expected, sizeof expected, "invalid configuration: %s", rows[i].expected);
        ASSERT_ERR(ERR_INVALID, load_text(&d, text, &c));
        ASSERT_STR(expected, err.msg);
        assert_null(c.arena.blocks);
    }
}

/* Whole files; machinery-9. */
TEST(what_is_wrong_with_a_file_or_its_names)
{
    static const struct {
        const char *text;
        const char *expected; /* the end of the message */
    } rows[] = {
        { "", NO_CONFIG },
        { "# nothing\n", NO_CONFIG },
        { "null", NO_CONFIG },
        { "current-context: ''", NO_CONFIG },
        { "clusters: [{name: c, cluster: {server: h}}]", NO_CONFIG },
        { "current-context: cx", "invalid configuration: context \"cx\" does not exist" },
        { "{current-context: cx, contexts: [{name: cx, context: {cluster: x}}]}",
          "invalid configuration: cluster \"x\" was not found for context \"cx\"" },
        { "{current-context: cx, contexts: [{name: cx, context: {cluster: x, user: u}}], "
          "clusters: [{name: x, cluster: {server: h}}]}",
          "invalid configuration: user \"u\" was not found for context \"cx\"" },
        { "{current-context: cx, contexts: [{name: cx, context: {cluster: x, user: u}}]}",
          "invalid configuration: [user \"u\" was not found for context \"cx\", cluster \"x\" was not found "
          "for context \"cx\"]" },
        { "{current-context: cx, contexts: [{name: cx}]}",
          "invalid configuration: cluster was not specified for context \"cx\"" },
        { "{current-context: cx, contexts: [{name: cx, context: {cluster: x}}], clusters: [{name: x}]}",
          "invalid configuration: no server found for cluster \"x\"" },
        { "{current-context: cx, contexts: [{name: cx}, {name: z}, {name: cx}]}",
          ": duplicate name \"cx\" in contexts" },
        { "{current-context: \"cx\\0\", contexts: [{name: cx}]}",
          "invalid configuration: context \"cx\\x00\" does not exist" },
        { "{current-context: cx, contexts: [{name: cx, context: {cluster: 1}}]}",
          "invalid configuration: [context \"cx\": cluster: expected string, found number, cluster was not "
          "specified for context \"cx\"]" },
        { KUBECONFIG(HTTPS, "exec: {command: x}"), "exec plugins are not supported yet (user \"u\")" },
        { KUBECONFIG(HTTPS, "auth-provider: {name: oidc}"),
          "auth provider \"oidc\" is not supported; use exec" },
        { "text", "the file: expected object, found string" },
        { "users: {}", "users: expected array, found object" },
        { "users: [1]", "users[0]: expected object, found number" },
        { "contexts: [{}, {name: 1}]", "contexts[1].name: expected string, found number" },
        { "clusters: [{cluster: []}]", "clusters[0].cluster: expected object, found array" },
        { "current-context: 1", "current-context: expected string, found number" },
        { "kind: Pod", "kind: expected \"Config\", found \"Pod\"" },
        { "apiVersion: v2", "apiVersion: expected \"v1\", found \"v2\"" },
        { "kind: 1", "kind: expected string, found number" },
        { "a: 1\n---\nb: 1", "unexpected second document" },
        { "a: [", "" },
        { "{\"a\":", "" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
        struct client_config c = { 0 };
        const char *end;

        assert_true(load_text(&d, rows[i].text, &c) < 0);
        assert_true(strlen(err.msg) >= strlen(rows[i].expected));
        end = err.msg + strlen(err.msg) - strlen(rows[i].expected);
        ASSERT_STR(rows[i].expected, end);
        if (strncmp(rows[i].expected, "invalid", 7) == 0)
            ASSERT_STR(rows[i].expected, err.msg);
    }
}

TEST(only_what_is_chosen_is_checked)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct client_config c = { 0 };
    struct config_options o = nowhere();

    o.file = in_dir(&d, "kc");
    put_file(o.file, "current-context: good\n"
                     "contexts:\n"
                     "- {name: good, context: {cluster: good}}\n"
                     "- {name: bad, context: {cluster: bad, user: bad}}\n"
                     "clusters:\n"
                     "- {name: bad, cluster: {server: 1, certificate-authority: /nonexistent}}\n"
                     "- {name: good, cluster: {server: 'https://h'}}\n"
                     "users: [{name: bad, user: {exec: {}}}, {name: twice}, {name: twice}]\n");
    ASSERT_OK(load(&o, &c));
    ASSERT_STR("https://h", c.server);
    config_done(&c);
    o.context = "bad";
    ASSERT_ERR(ERR_UNSUPPORTED, load(&o, &c));
    o.context = "ugly";
    ASSERT_ERR(ERR_INVALID, load(&o, &c));
    ASSERT_STR("invalid configuration: context \"ugly\" does not exist", err.msg);
    o.context = "";
    ASSERT_OK(load(&o, &c));
    config_done(&c);
}

/* --- Several files --- */

static int load_two(const struct test_dir *d, const char *a, const char *b, struct client_config *ret)
{
    struct config_options o = nowhere();
    char list[2048];

    put_file(in_dir(d, "a"), a);
    put_file(in_dir(d, "b"), b);
    (void)snprintf(list, sizeof list, "%s:%s", in_dir(d, "a"), in_dir(d, "b"));
    o.env = list;
    return load(&o, ret);
}

TEST(machinery_2_the_first_file_that_has_an_entry_has_all_of_it)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    _cleanup_(config_done) struct client_config c = { 0 };
    char source[1024];

    ASSERT_OK(load_two(&d, KUBECONFIG(HTTPS, "token: t"),
                       KUBECONFIG("server: 'https://b', tls-server-name: b",
                                  "client-certificate-data: Qw==, client-key-data: Sw=="),
                       &c));
    ASSERT_STR("t", c.token);
    assert_null(c.cert.data);
    assert_null(c.key.data);
    ASSERT_STR("https://h", c.server);
    assert_null(c.tls_server_name);
    (void)snprintf(source, sizeof source, "%s, %s", in_dir(&d, "a"), in_dir(&d, "b"));
    ASSERT_STR(source, c.source);
}

TEST(machinery_3_the_context_of_one_file_uses_the_entries_of_another)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct client_config c = { 0 };
    const char *entries = "current-context: ''\nclusters: [{name: c, cluster: {server: 'https://a'}}]";

    ASSERT_OK(load_two(&d, entries, KUBECONFIG("server: 'https://b'", "token: t"), &c));
    ASSERT_STR("https://a", c.server);
    ASSERT_STR("t", c.token);
    config_done(&c);
    ASSERT_OK(load_two(&d, KUBECONFIG(HTTPS, ""), "current-context: nothing", &c));
    ASSERT_STR("https://h", c.server); /* the first current-context wins */
    config_done(&c);
}

/* --- Paths --- */

TEST(machinery_5_paths_start_in_the_directory_of_their_file)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct client_config c = { 0 };
    struct config_options o = nowhere();
    char cwd[PATH_MAX], real[PATH_MAX];

    assert_int_equal(mkdir(in_dir(&d, "x"), 0700), 0);
    put_file(in_dir(&d, "x/ca.crt"), "CA");
    put_file(in_dir(&d, "t"), "T");
    put_file(in_dir(&d, "x/kc"), KUBECONFIG(HTTPS ", certificate-authority: ca.crt", "tokenFile: ../t"));
    o.file = in_dir(&d, "x/kc");
    ASSERT_OK(load(&o, &c));
    ASSERT_STR(in_dir(&d, "x/ca.crt"), c.ca.path);
    ASSERT_STR(in_dir(&d, "x/../t"), c.token_file);
    config_done(&c);

    /* A kubeconfig that is itself named from the working directory. */
    assert_non_null(getcwd(cwd, sizeof cwd));
    assert_int_equal(chdir(d.path), 0);
    o.file = "x/kc";
    ASSERT_OK(load(&o, &c));
    assert_non_null(realpath(in_dir(&d, "x/ca.crt"), real));
    ASSERT_STR(real, c.ca.path);
    assert_int_equal(chdir(cwd), 0);
    config_done(&c);
}

TEST(a_missing_relative_file_is_named_where_it_was_looked_for)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct client_config c = { 0 };
    char expected[1024];

    ASSERT_ERR(ERR_INVALID, load_text(&d, KUBECONFIG(HTTPS ", certificate-authority: ca", ""), &c));
    (void)snprintf(expected, sizeof expected,
                   "invalid configuration: unable to read certificate-authority %s for c due to open %s: no "
                   "such file or directory",
                   in_dir(&d, "ca"), in_dir(&d, "ca"));
    ASSERT_STR(expected, err.msg);
}

/* --- In a pod --- */

static struct config_options in_pod(const struct test_dir *d)
{
    struct config_options o = nowhere();

    put_file(in_dir(d, "token"), "secret\n");
    put_file(in_dir(d, "ca.crt"), "CA");
    o.pod_dir = d->path;
    o.pod_host = "10.0.0.1";
    o.pod_port = "443";
    return o;
}

TEST(a_pod_finds_its_server)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct config_options o = in_pod(&d);
    struct client_config c = { 0 };

    ASSERT_OK(load(&o, &c));
    ASSERT_STR("https://10.0.0.1:443", c.server);
    assert_true(c.is_tls);
    ASSERT_STR(in_dir(&d, "ca.crt"), c.ca.path);
    ASSERT_STR(in_dir(&d, "token"), c.token_file);
    assert_null(c.token);
    ASSERT_STR("default", c.ns);
    ASSERT_STR("in-cluster", c.source);
    config_done(&c);
    put_file(in_dir(&d, "namespace"), " shop\n");
    o.pod_host = "fd00::1";
    o.env = "/nope"; /* machinery-4: a warning, then the pod's */
    ASSERT_OK(load(&o, &c));
    ASSERT_STR("https://[fd00::1]:443", c.server);
    ASSERT_STR("shop", c.ns);
    assert_non_null(strstr(logged, "Config not found: /nope"));
    config_done(&c);
}

TEST(a_pod_comes_after_every_file_that_chooses)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct config_options o = in_pod(&d);
    struct client_config c = { 0 };

    o.file = in_dir(&d, "kc");
    put_file(o.file, KUBECONFIG(HTTPS, ""));
    ASSERT_OK(load(&o, &c));
    ASSERT_STR("https://h", c.server);
    config_done(&c);
    put_file(o.file, KUBECONFIG("", ""));
    ASSERT_ERR(ERR_INVALID, load(&o, &c)); /* chosen and wrong: no falling back */
    put_file(o.file, "");
    ASSERT_OK(load(&o, &c));
    ASSERT_STR("in-cluster", c.source);
    config_done(&c);
    o.context = "x";
    ASSERT_ERR(ERR_INVALID, load(&o, &c));
    ASSERT_STR("invalid configuration: context \"x\" does not exist", err.msg);
}

TEST(half_a_pod_is_none)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct config_options o = in_pod(&d);
    struct client_config c = { 0 };

    o.pod_host = "";
    ASSERT_ERR(ERR_NOT_FOUND, load(&o, &c));
    ASSERT_STR(NO_CONFIG, err.msg);
    o = in_pod(&d);
    o.pod_port = "";
    ASSERT_ERR(ERR_NOT_FOUND, load(&o, &c));
    ASSERT_STR(NO_CONFIG, err.msg);
    o = in_pod(&d);
    o.pod_port = "http";
    ASSERT_ERR(ERR_INVALID, load(&o, &c));
    ASSERT_STR(
        "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT: the port in the URL is not a number from "
        "1 to 65535",
        err.msg);
    o = in_pod(&d);
    assert_int_equal(unlink(in_dir(&d, "ca.crt")), 0);
    ASSERT_ERR(ERR_INVALID, load(&o, &c));
    assert_non_null(strstr(err.msg, "invalid configuration: unable to read certificate-authority "));
    assert_int_equal(unlink(in_dir(&d, "token")), 0);
    ASSERT_ERR(ERR_NOT_FOUND, load(&o, &c));
    ASSERT_STR(NO_CONFIG, err.msg);
}

static void on_context(void *ctx, struct str name)
{
    buf_addf(ctx, "%.*s;", STR_ARG(name));
}

/* For people who choose: all of them, also in files that would be refused otherwise. */
TEST(contexts_are_listed)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    _cleanup_(buf_done_p) struct buf names = BUF_INIT(4096);
    struct config_options o = nowhere();
    char list[TEST_PATH_BYTES * 4];

    put_file(in_dir(&d, "a"), "{contexts: [{name: one}, {name: two, context: {}}]}");
    put_file(in_dir(&d, "b"), "{contexts: [{name: one}, {name: three}]}");
    (void)snprintf(list, sizeof list, "%s/a:%s/b:%s/c", d.path, d.path, d.path);
    o.env = list;
    ASSERT_OK(config_each_context(&o, on_context, &names, &err));
    ASSERT_STR("one;two;one;three;", buf_cstr(&names));
    buf_clear(&names);
    o.file = in_dir(&d, "b");
    ASSERT_OK(config_each_context(&o, on_context, &names, &err));
    ASSERT_STR("one;three;", buf_cstr(&names));
    o.file = in_dir(&d, "c");
    ASSERT_ERR(ERR_NOT_FOUND, config_each_context(&o, on_context, &names, &err));
    o = nowhere();
    ASSERT_OK(config_each_context(&o, on_context, &names, &err));
    ASSERT_STR("one;three;", buf_cstr(&names)); /* no file, no context */
}

TEST_MAIN()
