/* The carrier over TLS: whom it trusts, who it says it is, and credentials that change while it runs. */
#include "tests/unit/test_client_http.h"

#include <time.h>

#include "io/certs.h"

#define DAY INT64_C(86400)

/* A key and its certificate, as texts. */
struct identity {
    struct key *key;
    struct cert *cert;
    char key_pem[4096];
    char cert_pem[4096];
};

static void copy_pem(struct buf *b, char *to, size_t size)
{
    assert_int_equal(b->failed, ERR_NONE);
    assert_true(b->len < size);
    memcpy(to, buf_cstr(b), b->len + 1);
}

static void identity_init(struct identity *id, const struct cert_request *q, const struct identity *issuer)
{
    _cleanup_(buf_done_p) struct buf key = BUF_INIT(KEY_PEM_BYTES_MAX);
    _cleanup_(buf_done_p) struct buf cert = BUF_INIT(CERT_PEM_BYTES_MAX);

    ASSERT_OK(key_new(&id->key, &err));
    ASSERT_OK(
        cert_new(q, id->key, issuer ? issuer->cert : NULL, issuer ? issuer->key : NULL, &id->cert, &err));
    ASSERT_OK(key_to_pem(id->key, &key, &err));
    ASSERT_OK(cert_to_pem(id->cert, &cert, &err));
    copy_pem(&key, id->key_pem, sizeof id->key_pem);
    copy_pem(&cert, id->cert_pem, sizeof id->cert_pem);
}

static void identity_done(struct identity *id)
{
    id->key = key_free(id->key);
    id->cert = cert_free(id->cert);
}

static struct identity ca, other_ca, server, expired, named, admin, node;

static void make_identities(void)
{
    static const char *const here[] = { "127.0.0.1", "localhost", NULL };
    static const char *const elsewhere[] = { "kubernetes.default", NULL };
    int64_t now = (int64_t)time(NULL);
    struct cert_request q = { CERT_AUTHORITY, "ca", NULL, NULL, now - 9 * DAY, now + 9 * DAY };

    if (ca.key)
        return;
    identity_init(&ca, &q, NULL);
    q.common_name = "other ca";
    identity_init(&other_ca, &q, NULL);
    q = (struct cert_request){ CERT_SERVER, "server", NULL, here, now - DAY, now + DAY };
    identity_init(&server, &q, &ca);
    q.names = elsewhere;
    identity_init(&named, &q, &ca);
    q = (struct cert_request){ CERT_SERVER, "server", NULL, here, now - 2 * DAY, now - DAY };
    identity_init(&expired, &q, &ca);
    q = (struct cert_request){ CERT_CLIENT, "admin", NULL, NULL, now - DAY, now + DAY };
    identity_init(&admin, &q, &ca);
    q.common_name = "node";
    identity_init(&node, &q, &ca);
}

__attribute__((destructor)) static void forget_identities(void)
{
    struct identity *const all[] = { &ca, &other_ca, &server, &expired, &named, &admin, &node };

    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        identity_done(all[i]);
}

/* A server with this certificate, and a client that trusts the CA; the client is not started yet. */
static struct net *net_new_tls(const struct identity *id)
{
    struct net *n = net_new(NULL);

    make_identities();
    net_listen(n, (struct http_options){
                      .key_pem = id->key_pem, .cert_pem = id->cert_pem, .client_ca_pem = ca.cert_pem });
    n->config.ca.data = ca.cert_pem;
    n->body = MAP_TEXT("a");
    return n;
}

/* --- Whom it trusts --- */

TEST(servers_are_judged)
{
    const struct {
        const struct identity *server;
        const char *ca; /* NULL: the system's */
        const char *tls_server_name;
        bool is_insecure;
        const char *words; /* NULL: it is fine */
    } rows[] = {
        { &server, ca.cert_pem, NULL, false, NULL },
        { &server, ca.cert_pem, "localhost", false, NULL },
        { &server, other_ca.cert_pem, NULL, false, "it was issued by an unknown authority" },
        { &server, NULL, NULL, false, "it was issued by an unknown authority" },
        { &expired, ca.cert_pem, NULL, false, "it has expired" },
        { &named, ca.cert_pem, NULL, false, "it is for another host name" },
        { &named, ca.cert_pem, "kubernetes.default", false, NULL },
        { &server, ca.cert_pem, "kubernetes.default", false, "it is for another host name" },
        { &named, NULL, NULL, true, NULL },
        { &expired, NULL, NULL, true, NULL },
    };

    make_identities();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(net_free_p) struct net *n = net_new_tls(rows[i].server);
        _cleanup_(ask_done) struct asked a = ASK_MAP(.verb = CLIENT_PATCH, .name = "a");
        char host[200];

        n->config.ca.data = rows[i].ca;
        n->config.tls_server_name = rows[i].tls_server_name;
        n->config.is_insecure = rows[i].is_insecure;
        net_start_client(n);
        (void)ask(n, &a);
        if (!rows[i].words) {
            if (a.answer.r < 0)
                fail_msg("row %zu: %s", i, a.answer.error.msg);
            (void)snprintf(host, sizeof host, "Host=%s\n", http_address(n->http));
            assert_true(net_saw(n, host)); /* its own, whatever its certificate says */
            continue;
        }
        ASSERT_INT(-ERR_UNAVAILABLE, a.answer.r);
        if (!strstr(a.answer.error.msg, "its certificate is not trusted: ") ||
            !strstr(a.answer.error.msg, rows[i].words))
            fail_msg("row %zu: %s", i, a.answer.error.msg);
        assert_false(a.answer.was_connected);
        assert_false(a.answer.may_have_happened);
        ASSERT_INT(0, n->served);
    }
}

TEST(who_does_not_speak_tls)
{
    _cleanup_(net_free_p) struct net *n = net_new(NULL);
    _cleanup_(ask_done) struct asked a = ASK_MAP(.verb = CLIENT_PATCH, .name = "a");

    net_listen(n, (struct http_options){ 0 });
    n->config.is_tls = true;
    net_set_server(n, http_address(n->http), "");
    net_start_client(n);
    ASSERT_INT(-ERR_UNAVAILABLE, ask(n, &a)->r);
    assert_false(a.answer.may_have_happened);
    assert_non_null(strstr(a.answer.error.msg, "cannot connect: "));
}

TEST(hundreds_at_once_over_tls)
{
    static struct asked asked[300];
    _cleanup_(net_free_p) struct net *n = net_new_tls(&server);

    net_start_client(n);
    for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
        asked[i] = (struct asked)ASK_MAP(.name = "a");
        ask_start(n, &asked[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
        run_until(n->loop, &asked[i].is_done);
        ASSERT_INT(0, asked[i].answer.r);
        ask_done(&asked[i]);
    }
    ASSERT_INT(ARRAY_LEN(asked), n->served);
    assert_true(http_connections(n->http) <= 16);
}

TEST(watch_over_tls)
{
    _cleanup_(net_free_p) struct net *n = net_new_tls(&server);
    _cleanup_(ask_done) struct asked a = ASK_MAP(.verb = CLIENT_WATCH, .timeout_seconds = 60);

    net_start_client(n);
    n->is_stream = true;
    ask_start(n, &a);
    AWAIT(n, n->served == 1);
    net_say(n, EVENT_TEXT("ADDED", "a"));
    AWAIT(n, a.events == 1);
    n->carrier->type->cancel(n->carrier, &a.attempt);
    AWAIT(n, n->stream.is_closed);
}

/* --- Who it is --- */

TEST(headers_of_an_identity)
{
    static const char *const groups[] = { "dev", "system:masters", NULL };
    static const char *const scopes[] = { "one", "two", NULL };
    static const struct config_extra extra[] = { { "Example.com/Scopes%", scopes }, { NULL, NULL } };
    _cleanup_(net_free_p) struct net *n = net_new_tls(&server);
    _cleanup_(ask_done) struct asked a = ASK_RAW("/version");

    n->config.token = "secret";
    n->config.as = "jane";
    n->config.as_uid = "u-1";
    n->config.as_groups = groups;
    n->config.as_extra = extra;
    net_start_client(n);
    ASSERT_INT(0, ask(n, &a)->r);
    assert_true(net_saw(n, "Authorization=Bearer secret\n"));
    assert_true(net_saw(n, "Impersonate-User=jane\n"));
    assert_true(net_saw(n, "Impersonate-Uid=u-1\n"));
    assert_true(net_saw(n, "Impersonate-Group=dev\n"));
    assert_true(net_saw(n, "Impersonate-Group=system:masters\n"));
    assert_true(net_saw(n, "Impersonate-Extra-example.com%2Fscopes%25=one\n"));
    assert_true(net_saw(n, "Impersonate-Extra-example.com%2Fscopes%25=two\n"));
}

TEST(basic_authentication)
{
    _cleanup_(net_free_p) struct net *n = net_new_tls(&server);
    _cleanup_(ask_done) struct asked a = ASK_RAW("/version");

    n->config.username = "user";
    n->config.password = "pass:word";
    net_start_client(n);
    ASSERT_INT(0, ask(n, &a)->r);
    assert_true(net_saw(n, "Authorization=Basic dXNlcjpwYXNzOndvcmQ=\n"));
}

TEST(client_certificate)
{
    struct test_dir d = test_dir_new();
    char cert[TEST_PATH_BYTES * 3], key[TEST_PATH_BYTES * 3];

    make_identities();
    (void)snprintf(cert, sizeof cert, "%s", in_dir(&d, "cert"));
    (void)snprintf(key, sizeof key, "%s", in_dir(&d, "key"));
    put_file(cert, admin.cert_pem);
    put_file(key, admin.key_pem);
    for (unsigned from_files = 0; from_files < 2; from_files++) {
        _cleanup_(net_free_p) struct net *n = net_new_tls(&server);
        _cleanup_(ask_done) struct asked a = ASK_RAW("/version");
        n->config.cert.path = from_files ? cert : "/does/not/matter";
        n->config.key.path = from_files ? key : "/does/not/matter";
        n->config.cert.data = from_files ? NULL : admin.cert_pem;
        n->config.key.data = from_files ? NULL : admin.key_pem;
        net_start_client(n);
        ASSERT_INT(0, ask(n, &a)->r);
        ASSERT_STR("admin", n->peer);
    }
    test_dir_done(&d);
}

TEST(credentials_that_are_refused)
{
    static const char *const bad_groups[] = { "fine", "a\rb", NULL };
    static const char *const bad_values[] = { "a\nb", NULL };
    static const struct config_extra bad_extra[] = { { "k", bad_values }, { NULL, NULL } };
    static const char control[] = "may not contain line ends or other control characters";

    make_identities();
    const struct {
        struct client_config config;
        const char *words;
    } rows[] = {
        { { .token = "a\r\nX: y" }, control },
        { { .as = "a\nb" }, control },
        { { .as = "a", .as_uid = "\x7f" }, control },
        { { .as = "a", .as_groups = bad_groups }, control },
        { { .as = "a", .as_extra = bad_extra }, control },
        { { .token = "" }, "the token is empty" },
        { { .token_file = "/no/such/token" }, "token file '/no/such/token'" },
        { { .ca = { .data = "no PEM" } }, "certificate-authority: " },
        { { .ca = { .path = "/no/such/ca" } }, "certificate-authority: " },
        { { .cert = { .data = admin.cert_pem } }, "client-certificate and client-key: one is missing" },
        { { .cert = { .data = admin.cert_pem }, .key = { .data = node.key_pem } },
          "client-certificate and client-key: " },
        { { .cert = { .data = "x" }, .key = { .data = node.key_pem } },
          "client-certificate and client-key: " },
        { { .cert = { .path = "/no/such/cert" }, .key = { .data = node.key_pem } }, "client-certificate: " },
        { { .tls_server_name = "a b" }, "tls-server-name: " },
        { { .tls_server_name = "a/b" }, "tls-server-name: " },
        { { .tls_server_name = "user@b" }, "tls-server-name: " },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(net_free_p) struct net *n = net_new(NULL);
        n->config = rows[i].config;
        n->config.server = "https://127.0.0.1:1";
        n->config.is_tls = true;
        if (http_client_new(&n->options, &n->carrier, &err) == 0)
            fail_msg("row %zu is taken", i);
        if (!strstr(err.msg, rows[i].words))
            fail_msg("row %zu: %s", i, err.msg);
    }
}

/* --- Credentials that change --- */

static void assert_token(struct net *n, const char *token)
{
    _cleanup_(ask_done) struct asked a = ASK_RAW("/version");
    char header[100];

    ASSERT_INT(0, ask(n, &a)->r);
    (void)snprintf(header, sizeof header, "Authorization=Bearer %s\n", token);
    if (!net_saw(n, header))
        fail_msg("%s was not sent: %s", token, buf_cstr(&n->seen));
}

/* machinery-6 */
TEST(token_file_is_read_again)
{
    struct test_dir d = test_dir_new();
    _cleanup_(net_free_p) struct net *n = net_new_tls(&server);

    put_file(in_dir(&d, "token"), " one \n");
    n->config.token_file = in_dir(&d, "token");
    net_start_client(n);
    assert_token(n, "one");
    put_file(in_dir(&d, "token"), "two\n");
    manual_clock_advance(&n->clock, 59 * NS_PER_S);
    assert_token(n, "one"); /* not at every request */
    manual_clock_advance(&n->clock, NS_PER_S);
    assert_token(n, "two");
    /* What is no token leaves the old one. */
    put_file(in_dir(&d, "token"), "");
    manual_clock_advance(&n->clock, 60 * NS_PER_S);
    assert_token(n, "two");
    put_file(in_dir(&d, "token"), "a\nb");
    manual_clock_advance(&n->clock, 60 * NS_PER_S);
    assert_token(n, "two");
    assert_int_equal(remove(in_dir(&d, "token")), 0);
    manual_clock_advance(&n->clock, 60 * NS_PER_S);
    assert_token(n, "two");
    put_file(in_dir(&d, "token"), "three");
    manual_clock_advance(&n->clock, 60 * NS_PER_S);
    assert_token(n, "three");
    test_dir_done(&d);
}

TEST(token_wins_over_its_file)
{
    _cleanup_(net_free_p) struct net *n = net_new_tls(&server);

    n->config.token = "given";
    n->config.token_file = "/no/such/file";
    net_start_client(n);
    assert_token(n, "given");
    manual_clock_advance(&n->clock, 600 * NS_PER_S);
    assert_token(n, "given");
}

static void assert_peer(struct net *n, const char *name)
{
    _cleanup_(ask_done) struct asked a = ASK_RAW("/version");

    ASSERT_INT(0, ask(n, &a)->r);
    ASSERT_STR(name, n->peer);
}

TEST(certificate_pair_is_read_again)
{
    struct test_dir d = test_dir_new();
    _cleanup_(net_free_p) struct net *n = net_new_tls(&server);
    char cert[TEST_PATH_BYTES * 3], key[TEST_PATH_BYTES * 3];

    (void)snprintf(cert, sizeof cert, "%s", in_dir(&d, "cert"));
    (void)snprintf(key, sizeof key, "%s", in_dir(&d, "key"));
    put_file(cert, admin.cert_pem);
    put_file(key, admin.key_pem);
    n->config.cert.path = cert;
    n->config.key.path = key;
    net_start_client(n);
    assert_peer(n, "admin");
    put_file(cert, node.cert_pem); /* half of a pair is none */
    manual_clock_advance(&n->clock, 300 * NS_PER_S);
    assert_peer(n, "admin");
    put_file(key, node.key_pem);
    manual_clock_advance(&n->clock, 299 * NS_PER_S);
    assert_peer(n, "admin");
    manual_clock_advance(&n->clock, NS_PER_S);
    assert_peer(n, "node");
    put_file(cert, admin.cert_pem);
    put_file(key, admin.key_pem);
    manual_clock_advance(&n->clock, 300 * NS_PER_S);
    assert_peer(n, "admin");
    test_dir_done(&d);
}

/* --- Nothing leaks into words --- */

TEST(errors_do_not_tell_secrets)
{
    _cleanup_(net_free_p) struct net *n = net_new(NULL);
    _cleanup_(ask_done) struct asked a = ASK_MAP(.verb = CLIENT_PATCH, .name = "a");
    struct hand h;

    n->config.is_tls = true;
    n->config.token = "verysecret";
    hand_init(&h, n);
    net_start_client(n);
    ask_start(n, &a);
    hand_accept(&h, n);
    hand_reset(&h);
    run_until(n->loop, &a.is_done);
    ASSERT_INT(-ERR_UNAVAILABLE, a.answer.r);
    assert_null(strstr(a.answer.error.msg, "verysecret"));
    assert_false(a.answer.may_have_happened); /* the handshake was not through */
    hand_done(&h);
}

TEST_MAIN()
