/* Which requests are taken for those of a web page, by their headers. */
#include "tests/unit/test_io.h"

#include "tests/unit/test_call.h"

#include "apiserver/web_guard.h"
#include "base/cleanup.h"
#include "io/certs.h"

static struct error err;

enum mode { PLAIN, TLS };

struct row {
    enum mode mode;
    enum http_method method;
    const char *host;   /* NULL: none */
    const char *origin; /* the same */
    const char *site;
    const char *content_type;
    const char *body;
    int status; /* 0: admitted */
};

/* A certificate as the server's own is, with a name and an address of the machine. */
static struct buf cert_with_names(void)
{
    static const char *const names[] = { "localhost", "127.0.0.1", "::1", "n1.example", "192.0.2.9", NULL };
    const struct cert_request q = {
        .use = CERT_SERVER, .common_name = "berth", .names = names, .valid_from = 0, .valid_until = 4000000000
    };
    _cleanup_(key_free_p) struct key *key = NULL;
    _cleanup_(cert_free_p) struct cert *cert = NULL;
    struct buf pem = BUF_INIT(CERT_PEM_BYTES_MAX);

    ASSERT_OK(key_new(&key, &err));
    ASSERT_OK(cert_new(&q, key, NULL, NULL, &cert, &err));
    ASSERT_OK(cert_to_pem(cert, &pem, &err));
    return pem;
}

static struct socket_ip ip(const char *text)
{
    struct socket_ip parsed;

    assert_true(socket_ip_parse(str_of(text), &parsed));
    return parsed;
}

static void add_line(struct buf *lines, const char **headers, const char *name, const char *value)
{
    size_t count = 0;

    if (!value)
        return;
    while (headers[count])
        count++;
    headers[count] = lines->data + lines->len;
    buf_addf(lines, "%s: %s", name, value);
    buf_add_char(lines, '\0');
}

/* The status that the call has been refused with, 0 when it may go on. */
static int ask(const struct web_guard *g, const struct row *row, const char *local_ip, struct buf *reply)
{
    _cleanup_(buf_done_p) struct buf lines = BUF_INIT(4096);
    const char *headers[8] = { NULL };
    struct call c = { 0 };
    int status;

    assert_non_null(buf_grow(&lines, 2048)); /* so that lines stay where they are */
    buf_clear(&lines);
    add_line(&lines, headers, "Host", row->host);
    add_line(&lines, headers, "ORIGIN", row->origin);
    add_line(&lines, headers, "Sec-Fetch-Site", row->site);
    add_line(&lines, headers, "Content-Type", row->content_type);
    call_headers = headers;
    call_init(&c, &test_carrier, NULL);
    c.method = row->method;
    c.body = str_of(row->body ? row->body : "");
    c.is_remote = true;
    c.is_tls = row->mode == TLS;
    c.local_ip = ip(local_ip);
    assert_true(web_guard_admits(g, &c) == (c.status == 0));
    status = c.status;
    if (reply)
        buf_add_str(reply, buf_str(&c.reply));
    call_done(&c);
    call_headers = NULL;
    return status;
}

static void check_rows(const struct row *rows, size_t count, const char *local_ip)
{
    _cleanup_(buf_done_p) struct buf pem = cert_with_names();
    _cleanup_(web_guard_free_p) struct web_guard *plain = NULL;
    _cleanup_(web_guard_free_p) struct web_guard *tls = NULL;

    ASSERT_OK(web_guard_new(NULL, &plain, &err));
    ASSERT_OK(web_guard_new(buf_cstr(&pem), &tls, &err));
    for (size_t i = 0; i < count; i++) {
        const struct row *r = &rows[i];
        int status = ask(r->mode == TLS ? tls : plain, r, local_ip, NULL);

        if (status != r->status)
            fail_msg("row %zu (Host %s, Origin %s, Sec-Fetch-Site %s): %d, not %d", i,
                     r->host ? r->host : "-", r->origin ? r->origin : "-", r->site ? r->site : "-", status,
                     r->status);
    }
}

TEST(hosts)
{
    static const struct row rows[] = {
        { PLAIN, HTTP_GET, .host = "localhost:7450" },
        { PLAIN, HTTP_GET, .host = "LocalHost" },
        { PLAIN, HTTP_GET, .host = "localhost.:7450" },
        { PLAIN, HTTP_GET, .host = "berth.localhost:7450" },
        { PLAIN, HTTP_GET, .host = "127.0.0.1:7450" },
        { PLAIN, HTTP_GET, .host = "127.8.9.10" },
        { PLAIN, HTTP_GET, .host = "[::1]:7450" },
        { PLAIN, HTTP_GET, .host = "[::1]" },
        { PLAIN, HTTP_GET, .host = "[::ffff:127.0.0.1]" },
        { PLAIN, HTTP_GET, .host = "127.0.0.1:" },
        { PLAIN, HTTP_GET }, /* HTTP/1.0 */
        { TLS, HTTP_GET, .host = "127.0.0.1:7443" },
        { TLS, HTTP_GET, .host = "N1.example:7443" },
        { TLS, HTTP_GET, .host = "n1.example." },
        { TLS, HTTP_GET, .host = "192.0.2.9:7443" },
        { PLAIN, HTTP_GET, .host = "evil.example:7450", .status = 403 },
        { PLAIN, HTTP_GET, .host = "n1.example", .status = 403 }, /* no certificate, no names */
        { PLAIN, HTTP_GET, .host = "localhost.evil.example", .status = 403 },
        { PLAIN, HTTP_GET, .host = "notlocalhost", .status = 403 },
        { PLAIN, HTTP_GET, .host = "127.0.0.1.evil.example", .status = 403 },
        { PLAIN, HTTP_GET, .host = "127.1", .status = 403 },
        { PLAIN, HTTP_GET, .host = "2130706433", .status = 403 },
        { PLAIN, HTTP_GET, .host = "128.0.0.1", .status = 403 },
        { PLAIN, HTTP_GET, .host = "0.0.0.0:7450", .status = 403 },
        { PLAIN, HTTP_GET, .host = "[::]:7450", .status = 403 },
        { PLAIN, HTTP_GET, .host = "[localhost]", .status = 403 },
        { PLAIN, HTTP_GET, .host = ".", .status = 403 },
        { TLS, HTTP_GET, .host = "evil.example:7443", .status = 403 },
        { TLS, HTTP_GET, .host = "n1.example.evil", .status = 403 },
        { TLS, HTTP_GET, .host = "a.n1.example", .status = 403 },
        { TLS, HTTP_GET, .host = "192.0.2.10", .status = 403 },
        { TLS, HTTP_GET, .host = "berth", .status = 403 }, /* its common name is none */
        { PLAIN, HTTP_GET, .host = "", .status = 400 },
        { PLAIN, HTTP_GET, .host = ":7450", .status = 400 },
        { PLAIN, HTTP_GET, .host = "[::1", .status = 400 },
        { PLAIN, HTTP_GET, .host = "[::1]x", .status = 400 },
        { PLAIN, HTTP_GET, .host = "::1", .status = 400 },
        { PLAIN, HTTP_GET, .host = "localhost:http", .status = 400 },
        { PLAIN, HTTP_GET, .host = "localhost:65536", .status = 400 },
        { PLAIN, HTTP_GET, .host = "user@localhost", .status = 403 },
    };

    check_rows(rows, ARRAY_LEN(rows), "127.0.0.1");
}

/* A server that listens on all addresses: probes and clients name the one they have connected to. */
TEST(the_address_that_the_client_has_connected_to_is_a_host)
{
    static const struct row v4[] = {
        { TLS, HTTP_GET, .host = "198.51.100.7:7443" },
        { TLS, HTTP_GET, .host = "[::ffff:198.51.100.7]:7443" },
        { TLS, HTTP_GET, .host = "198.51.100.8:7443", .status = 403 },
    };
    static const struct row v6[] = {
        { PLAIN, HTTP_GET, .host = "[2001:db8:0::7]:7443" },
        { PLAIN, HTTP_GET, .host = "[2001:db8::8]", .status = 403 },
    };

    check_rows(v4, ARRAY_LEN(v4), "198.51.100.7");
    check_rows(v4, ARRAY_LEN(v4), "::ffff:198.51.100.7"); /* as a socket for both families says it */
    check_rows(v6, ARRAY_LEN(v6), "2001:db8::7");
}

TEST(origins)
{
    static const struct row rows[] = {
        { PLAIN, HTTP_POST, "localhost:7450", "http://localhost:7450" },
        { PLAIN, HTTP_POST, "localhost:7450", "http://LOCALHOST:7450" },
        { PLAIN, HTTP_POST, "localhost", "http://localhost" },
        { PLAIN, HTTP_POST, "localhost:80", "http://localhost" },
        { PLAIN, HTTP_POST, "[::1]:7450", "http://[::1]:7450" },
        { TLS, HTTP_POST, "n1.example:7443", "https://n1.example:7443" },
        { TLS, HTTP_POST, "n1.example", "https://n1.example:443" },
        { PLAIN, HTTP_POST, "localhost:7450", "http://localhost:7451", .status = 403 },
        { PLAIN, HTTP_POST, "localhost:7450", "http://localhost", .status = 403 },
        { PLAIN, HTTP_POST, "localhost:7450", "https://localhost:7450", .status = 403 },
        { PLAIN, HTTP_POST, "localhost:7450", "http://127.0.0.1:7450", .status = 403 },
        { PLAIN, HTTP_POST, "127.0.0.1:7450", "https://evil", .status = 403 },
        { PLAIN, HTTP_GET, "127.0.0.1:7450", "https://evil", .status = 403 },
        { PLAIN, HTTP_OTHER, "127.0.0.1:7450", "https://evil", .status = 403 }, /* a preflight */
        { PLAIN, HTTP_POST, "127.0.0.1:7450", "null", .status = 403 },
        { PLAIN, HTTP_POST, "127.0.0.1:7450", "", .status = 403 },
        { PLAIN, HTTP_POST, "127.0.0.1:7450", "http://", .status = 403 },
        { PLAIN, HTTP_POST, "127.0.0.1:7450", "http://127.0.0.1:7450/", .status = 403 },
        { PLAIN, HTTP_POST, "127.0.0.1:7450", "http://127.0.0.1:7450 http://evil", .status = 403 },
        { PLAIN, HTTP_POST, "evil.example:7450", "http://evil.example:7450", .status = 403 }, /* rebound */
        { PLAIN, HTTP_POST, NULL, "http://localhost:7450", .status = 400 },
        { TLS, HTTP_POST, "n1.example:7443", "http://n1.example:7443", .status = 403 },
        { TLS, HTTP_POST, "n1.example:7443", "https://evil.example", .status = 403 },
    };

    check_rows(rows, ARRAY_LEN(rows), "127.0.0.1");
}

TEST(sites)
{
    static const struct row rows[] = {
        { PLAIN, HTTP_GET, "localhost:7450", .site = "same-origin" },
        { PLAIN, HTTP_DELETE, "localhost:7450", .site = "same-origin" },
        { PLAIN, HTTP_DELETE, "localhost:7450", "http://localhost:7450", .site = "same-origin" },
        { PLAIN, HTTP_GET, "localhost:7450", .site = "none" },
        { PLAIN, HTTP_HEAD, "localhost:7450", .site = "none" },
        { PLAIN, HTTP_POST, "localhost:7450", .site = "none", .status = 403 },
        { PLAIN, HTTP_DELETE, "localhost:7450", .site = "none", .status = 403 },
        { PLAIN, HTTP_GET, "localhost:7450", .site = "cross-site", .status = 403 },
        { PLAIN, HTTP_GET, "localhost:7450", .site = "same-site", .status = 403 },
        { PLAIN, HTTP_POST, "localhost:7450", .site = "same-site", .status = 403 },
        { PLAIN, HTTP_GET, "localhost:7450", .site = "", .status = 403 },
        { PLAIN, HTTP_GET, "localhost:7450", .site = "same-origin, none", .status = 403 },
        { TLS, HTTP_GET, "localhost:7443", .site = "cross-site", .status = 403 },
        { TLS, HTTP_GET, "localhost:7443", .site = "same-origin" },
        /* one that is right does not excuse the other */
        { PLAIN, HTTP_POST, "localhost:7450", "https://evil", .site = "same-origin", .status = 403 },
        { PLAIN, HTTP_POST, "localhost:7450", "http://localhost:7450", .site = "cross-site", .status = 403 },
    };

    check_rows(rows, ARRAY_LEN(rows), "127.0.0.1");
}

TEST(a_browser_names_the_type_of_its_body)
{
    static const char own[] = "http://localhost:7450";
    static const char json[] = "application/json";
    const struct row rows[] = {
        { PLAIN, HTTP_POST, "localhost:7450", NULL, NULL, NULL, "{}" }, /* curl, and the API's default */
        { PLAIN, HTTP_POST, "localhost:7450", own, NULL, json, "{}" },
        { PLAIN, HTTP_POST, "localhost:7450", NULL, "same-origin", json, "{}" },
        { PLAIN, HTTP_DELETE, "localhost:7450", own, NULL, NULL, NULL },
        { PLAIN, HTTP_POST, "localhost:7450", own, NULL, NULL, "{}", 415 },
        { PLAIN, HTTP_POST, "localhost:7450", own, NULL, "", "{}", 415 },
        { PLAIN, HTTP_POST, "localhost:7450", NULL, "same-origin", NULL, "{}", 415 },
        { TLS, HTTP_POST, "localhost:7450", NULL, "same-origin", NULL, "{}", 415 },
    };

    check_rows(rows, ARRAY_LEN(rows), "127.0.0.1");
}

static struct call remote_call(void)
{
    struct call c = { 0 };

    call_init(&c, &test_carrier, NULL);
    c.is_remote = true;
    c.method = HTTP_GET;
    return c;
}

TEST(headers_that_come_twice_are_refused)
{
    static const char *const rows[][4] = {
        { "Host: localhost", "Origin: http://localhost", "Origin: http://localhost", NULL },
        { "Host: localhost", "Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: same-origin", NULL },
    };
    _cleanup_(web_guard_free_p) struct web_guard *g = NULL;

    ASSERT_OK(web_guard_new(NULL, &g, &err));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct call c = remote_call();

        call_headers = rows[i];
        assert_false(web_guard_admits(g, &c));
        ASSERT_INT(403, c.status);
        call_done(&c);
    }
}

/* Sec-Fetch-Mode alone tells that a browser is at work. */
TEST(every_fetch_header_is_a_browsers)
{
    static const char *const headers[] = { "Host: localhost", "sec-fetch-mode: cors", NULL };
    _cleanup_(web_guard_free_p) struct web_guard *g = NULL;
    struct call c = remote_call();

    ASSERT_OK(web_guard_new(NULL, &g, &err));
    call_headers = headers;
    assert_true(web_guard_admits(g, &c));
    c.method = HTTP_POST;
    c.body_is_too_large = true;
    assert_false(web_guard_admits(g, &c));
    ASSERT_INT(415, c.status);
    call_done(&c);
}

TEST(calls_from_within_are_not_checked)
{
    static const char *const headers[] = { "Host: evil.example", "Origin: null", NULL };
    _cleanup_(web_guard_free_p) struct web_guard *g = NULL;
    struct call c = { 0 };

    ASSERT_OK(web_guard_new(NULL, &g, &err));
    call_init(&c, &test_carrier, NULL);
    call_headers = headers;
    assert_true(web_guard_admits(g, &c));
    call_done(&c);
}

TEST(a_refusal_says_what_was_wrong_and_what_to_do)
{
    static const struct row row = { PLAIN, HTTP_GET, .host = "evil.example\t\"x" };
    _cleanup_(web_guard_free_p) struct web_guard *g = NULL;
    _cleanup_(buf_done_p) struct buf reply = BUF_INIT(4096);

    ASSERT_OK(web_guard_new(NULL, &g, &err));
    ASSERT_INT(403, ask(g, &row, "127.0.0.1", &reply));
    ASSERT_STR(
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":\"the "
        "request's Host \\\"evil.example\\\\t\\\\\\\"x\\\" is not a name of this server: use a loopback "
        "address, the address that the server listens on, or a name in its certificate\",\"reason\":"
        "\"Forbidden\",\"code\":403}\n",
        buf_cstr(&reply));
}

TEST(a_certificate_that_is_none)
{
    struct web_guard *g = NULL;

    ASSERT_ERR(ERR_INVALID, web_guard_new("nonsense", &g, &err));
    assert_null(g);
}

TEST_MAIN()
