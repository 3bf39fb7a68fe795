/* Parses the addresses of servers and proxies. Errors never contain the address, which may include a
 * password. */
#include "client/server_url.h"

#include <ctype.h>
#include <stdint.h>
#include <strings.h>

#include "base/cleanup.h"

struct url_parts {
    struct str scheme; /* "" when there is none */
    struct str authority;
    struct str path; /* "" or "/..." */
};

static bool str_eq_nocase(struct str a, const char *b)
{
    return a.len == strlen(b) && strncasecmp(a.s, b, a.len) == 0;
}

/* Graphic ASCII except the characters that RFC 3986 forbids everywhere: nothing that could end a line of HTTP
 * or be parsed in two ways. */
static bool is_url_text(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.s[i];
        if (c <= 0x20 || c >= 0x7F || strchr("\"<>\\^`{|}", c))
            return false;
    }
    return true;
}

static struct str text_before(struct str s, const char *ends)
{
    for (size_t i = 0; i < s.len; i++)
        if (strchr(ends, s.s[i]))
            return (struct str){ s.s, i };
    return s;
}

static struct str text_after(struct str s, size_t len)
{
    return (struct str){ s.s + len, s.len - len };
}

static int split_url(struct str url, struct url_parts *ret, struct error *err)
{
    struct url_parts p = { .scheme = STR_LIT("") };

    if (!is_url_text(url))
        return error_set(err, ERR_INVALID, "the URL contains an invalid character");
    url = text_before(url, "?#");
    p.scheme = text_before(url, ":/");
    if (p.scheme.len && str_has_prefix(text_after(url, p.scheme.len), "://"))
        url = text_after(url, p.scheme.len + 3);
    else
        p.scheme.len = 0;
    p.authority = text_before(url, "/");
    p.path = text_after(url, p.authority.len);
    *ret = p;
    return 0;
}

static bool is_made_of(struct str s, const char *marks)
{
    for (size_t i = 0; i < s.len; i++)
        if (!isalnum((unsigned char)s.s[i]) && !strchr(marks, s.s[i]))
            return false;
    return s.len > 0;
}

/* "[v6]" or a name; *rest is what follows. */
static bool take_host(struct str *rest)
{
    struct str host;

    if (str_has_prefix(*rest, "[")) {
        host = text_before(text_after(*rest, 1), "]");
        *rest = text_after(*rest, 1 + host.len);
        if (!str_has_prefix(*rest, "]") || !is_made_of(host, ":.") || !memchr(host.s, ':', host.len))
            return false;
        *rest = text_after(*rest, 1);
        return true;
    }
    host = text_before(*rest, ":");
    *rest = text_after(*rest, host.len);
    return is_made_of(host, "-._");
}

static int check_host_port(struct str authority, struct error *err)
{
    struct str rest = authority;
    uint64_t port;

    if (authority.len == 0 || authority.s[0] == ':')
        return error_set(err, ERR_INVALID, "the URL has no host");
    if (!take_host(&rest))
        return error_set(err, ERR_INVALID, "the host in the URL is not a name or an address");
    if (rest.len == 0)
        return 0;
    if (rest.s[0] != ':' || !str_to_uint64(text_after(rest, 1), &port) || port < 1 || port > UINT16_MAX)
        return error_set(err, ERR_INVALID, "the port in the URL is not a number from 1 to 65535");
    return 0;
}

int server_url_normalize(struct str url, bool tls_is_default, struct buf *out, bool *ret_is_tls,
                         struct error *err)
{
    bool is_tls = tls_is_default;
    struct url_parts p;
    int r = split_url(url, &p, err);

    if (r < 0)
        return r;
    if (memchr(p.authority.s, '@', p.authority.len))
        return error_set(err, ERR_INVALID, "the URL must not contain a user or password");
    if (p.scheme.len) {
        is_tls = str_eq_nocase(p.scheme, "https");
        if (!is_tls && !str_eq_nocase(p.scheme, "http"))
            return error_set(err, ERR_INVALID, "unsupported scheme \"%.*s\", must be http or https",
                             STR_ARG(p.scheme));
    }
    r = check_host_port(p.authority, err);
    if (r < 0)
        return r;
    while (str_has_suffix(p.path, "/"))
        p.path.len--;
    buf_add_cstr(out, is_tls ? "https://" : "http://"); /* out->failed is checked below */
    buf_add_str(out, p.authority);
    buf_add_str(out, p.path);
    r = buf_check(out, "URL", err);
    if (r == 0)
        *ret_is_tls = is_tls;
    return r;
}

int server_url_check_proxy(struct str url, struct error *err)
{
    static const char *const schemes[] = { "http", "https", "socks5" };
    struct url_parts p;
    int r = split_url(url, &p, err);

    if (r < 0)
        return r;
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
        if (str_eq_nocase(p.scheme, schemes[i])) {
            struct str user = text_before(p.authority, "@");
            if (user.len < p.authority.len)
                p.authority = text_after(p.authority, user.len + 1);
            return check_host_port(p.authority, err);
        }
    return error_set(err, ERR_INVALID, "unsupported scheme \"%.*s\", must be http, https, or socks5",
                     STR_ARG(p.scheme));
}
