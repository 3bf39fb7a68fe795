/* The addresses of servers and proxies: what they become, what is refused. */
#include "tests/unit/test.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "client/server_url.h"

static struct error err;

/* machinery-7: the prefix is kept, its last slash not. */
TEST(addresses_are_brought_into_one_form)
{
    static const struct {
        const char *url;
        bool tls_is_default;
        const char *expected;
    } rows[] = {
        { "https://h", false, "https://h" },
        { "https://h/", false, "https://h" },
        { "https://h/prefix/", false, "https://h/prefix" },
        { "https://h/k8s/clusters/c1", false, "https://h/k8s/clusters/c1" },
        { "https://h/a//", false, "https://h/a" },
        { "https://h:6443/p?q=1#f", false, "https://h:6443/p" },
        { "https://h#f", false, "https://h" },
        { "https://h?a/b", false, "https://h" },
        { "http://h:80", true, "http://h:80" },
        { "HTTPS://Host", false, "https://Host" },
        { "h", false, "http://h" },
        { "h", true, "https://h" },
        { "h:8080", false, "http://h:8080" },
        { "localhost:8080/p/", true, "https://localhost:8080/p" },
        { "https://[::1]:6443", false, "https://[::1]:6443" },
        { "[fd00::1]", true, "https://[fd00::1]" },
        { "https://10.0.0.1:65535", false, "https://10.0.0.1:65535" },
        { "https://my_host-1.example", false, "https://my_host-1.example" },
        { "https://h/a%20b", false, "https://h/a%20b" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(buf_done_p) struct buf out = BUF_INIT(1024);
        bool is_tls = rows[i].tls_is_default;

        ASSERT_OK(server_url_normalize(str_of(rows[i].url), rows[i].tls_is_default, &out, &is_tls, &err));
        ASSERT_STR(rows[i].expected, buf_cstr(&out));
        ASSERT_INT(strncmp(rows[i].expected, "https:", 6) == 0, is_tls);
    }
}

#define TEXT "the URL contains an invalid character"
#define HOST "the host in the URL is not a name or an address"
#define NO_HOST "the URL has no host"
#define PORT "the port in the URL is not a number from 1 to 65535"

TEST(addresses_that_are_refused)
{
    static const struct {
        const char *url;
        const char *expected;
    } rows[] = {
        { "", NO_HOST },
        { "https://", NO_HOST },
        { "https:///path", NO_HOST },
        { "/path", NO_HOST },
        { "https://:6443", NO_HOST },
        { "://h", "the URL has no host" },
        { "ftp://h", "unsupported scheme \"ftp\", must be http or https" },
        { "httpsx://h", "unsupported scheme \"httpsx\", must be http or https" },
        { "https://u:secret@h", "the URL must not contain a user or password" },
        { "u@h", "the URL must not contain a user or password" },
        { "https:h", PORT },
        { "https://h:", PORT },
        { "https://h:0", PORT },
        { "https://h:65536", PORT },
        { "https://h:+1", PORT },
        { "https://h:1:2", PORT },
        { "https://fd00::1", PORT },
        { "https://[fd00::1", HOST },
        { "https://[fd00::1]x", PORT },
        { "https://[]", HOST },
        { "https://[1]", HOST },
        { "https://[::1%25eth0]", HOST },
        { "https://h!", HOST },
        { "https://a,b", HOST },
        { "https://h/a b", TEXT },
        { "https://h\r\nHost: x", TEXT },
        { "https://h\\@x", TEXT },
        { "https://h\x7f", TEXT },
        { "https://\xc3\xa4", TEXT },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(buf_done_p) struct buf out = BUF_INIT(1024);
        bool is_tls = true;

        ASSERT_ERR(ERR_INVALID, server_url_normalize(str_of(rows[i].url), /* tls_is_default= */ false, &out,
                                                     &is_tls, &err));
        ASSERT_STR(rows[i].expected, err.msg);
        assert_null(strstr(err.msg, "secret"));
        ASSERT_INT(0, out.len);
        assert_true(is_tls);
    }
}

TEST(proxies)
{
    static const struct {
        const char *url;
        const char *expected; /* NULL: accepted */
    } rows[] = {
        { "http://p", NULL },
        { "https://p:3128", NULL },
        { "socks5://p:1080/", NULL },
        { "SOCKS5://[::1]:1080", NULL },
        { "http://u:pass@p:3128", NULL },
        { "p:3128", "unsupported scheme \"\", must be http, https, or socks5" },
        { "", "unsupported scheme \"\", must be http, https, or socks5" },
        { "file:///etc/passwd", "unsupported scheme \"file\", must be http, https, or socks5" },
        { "http://", NO_HOST },
        { "http://u:pass@", NO_HOST },
        { "http://p:x", PORT },
        { "http://a@b@p", HOST },
        { "http://p q", TEXT },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int r = server_url_check_proxy(str_of(rows[i].url), &err);

        if (rows[i].expected) {
            ASSERT_INT(-ERR_INVALID, r);
            ASSERT_STR(rows[i].expected, err.msg);
        } else {
            ASSERT_OK(r);
        }
    }
}

TEST_MAIN()
