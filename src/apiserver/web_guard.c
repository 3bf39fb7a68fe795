/* Checks the headers that browsers send (Host, Origin, Sec-Fetch-Site, Content-Type) against the names of the
 * server. Costs one pass over the headers. */
#include "apiserver/web_guard.h"

#include <stdlib.h>
#include <strings.h>

#include "api/quote.h"
#include "io/certs.h"

#define LOCALHOST "localhost"
/* Limit of a header's value in a message. */
#define QUOTED_BYTES 160

struct web_guard {
    struct cert *cert; /* NULL: no TLS */
};

int web_guard_new(const char *cert_pem, struct web_guard **ret, struct error *err)
{
    _cleanup_(web_guard_free_p) struct web_guard *g = calloc(1, sizeof *g);
    int r = 0;

    if (!g)
        return error_no_memory(err);
    if (cert_pem)
        r = cert_from_pem(str_of(cert_pem), &g->cert, err);
    if (r < 0)
        return r;
    *ret = TAKE(g);
    return 0;
}

struct web_guard *web_guard_free(struct web_guard *g)
{
    if (!g)
        return NULL;
    g->cert = cert_free(g->cert);
    free(g);
    return NULL;
}

static bool is_same_nocase(struct str a, struct str b)
{
    return a.len == b.len && (a.len == 0 || strncasecmp(a.s, b.s, a.len) == 0);
}

/* --- Hosts --- */

/* HOST[:PORT]. The port is empty if missing; an IPv6 address is without brackets. */
struct authority {
    struct str host;
    struct str port;
    bool is_bracketed;
};

static bool is_port(struct str text)
{
    uint64_t number;

    return text.len == 0 || (str_to_uint64(text, &number) && number <= UINT16_MAX);
}

static bool authority_parse(struct str text, struct authority *ret)
{
    struct str rest = text;

    *ret = (struct authority){ .port = STR_LIT("") };
    if (text.len > 0 && text.s[0] == '[') {
        rest = (struct str){ text.s + 1, text.len - 1 };
        ret->is_bracketed = true;
        ret->host = str_next(&rest, ']');
        if (!rest.s || (rest.len > 0 && rest.s[0] != ':'))
            return false;
        if (rest.len > 0)
            ret->port = (struct str){ rest.s + 1, rest.len - 1 };
    } else {
        ret->host = str_next(&rest, ':');
        if (rest.s)
            ret->port = rest;
    }
    return ret->host.len > 0 && is_port(ret->port);
}

/* localhost and all names below it: name servers must not resolve them to another machine. */
static bool is_loopback_name(struct str name)
{
    struct str end = name;

    if (name.len > sizeof LOCALHOST - 1)
        end = (struct str){ name.s + name.len - (sizeof LOCALHOST - 1), sizeof LOCALHOST - 1 };
    return is_same_nocase(end, STR_LIT(LOCALHOST)) && (end.s == name.s || end.s[-1] == '.');
}

static bool is_own_host(const struct web_guard *g, struct call *c, const struct authority *a)
{
    struct str name = a->host;
    struct socket_ip ip;
    bool is_ip = socket_ip_parse(name, &ip);

    if (a->is_bracketed && !is_ip)
        return false;
    if (is_ip && (socket_ip_is_loopback(&ip) || memcmp(&ip, &c->local_ip, sizeof ip) == 0))
        return true;
    if (name.s[name.len - 1] == '.')
        name.len--; /* the same name with a trailing dot */
    if (is_loopback_name(name))
        return true;
    return g->cert && name.len > 0 && cert_covers(g->cert, call_copy(c, name));
}

/* --- Origins --- */

static struct str port_or_default(struct str port, bool is_tls)
{
    if (port.len > 0)
        return port;
    return is_tls ? STR_LIT("443") : STR_LIT("80");
}

static bool is_own_origin(const struct call *c, struct str origin, const struct authority *own)
{
    struct str scheme = c->is_tls ? STR_LIT("https://") : STR_LIT("http://");
    struct authority a;

    if (origin.len <= scheme.len || !is_same_nocase((struct str){ origin.s, scheme.len }, scheme))
        return false;
    return authority_parse((struct str){ origin.s + scheme.len, origin.len - scheme.len }, &a) &&
           a.is_bracketed == own->is_bracketed && is_same_nocase(a.host, own->host) &&
           str_eq(port_or_default(a.port, c->is_tls), port_or_default(own->port, c->is_tls));
}

/* --- Requests --- */

/* The headers with which a browser describes the page that a request is from. */
struct web_headers {
    struct str origin;
    struct str site;
    unsigned origins;
    unsigned sites;
    bool is_from_browser;
};

static void note_header(void *ctx, struct str name, struct str value)
{
    static const char fetch[] = "sec-fetch-";
    struct web_headers *h = ctx;

    if (is_same_nocase(name, STR_LIT("origin"))) {
        h->origin = value;
        h->origins++;
    } else if (is_same_nocase(name, STR_LIT("sec-fetch-site"))) {
        h->site = value;
        h->sites++;
    }
    if (h->origins || (name.len >= sizeof fetch - 1 && strncasecmp(name.s, fetch, sizeof fetch - 1) == 0))
        h->is_from_browser = true;
}

static bool refuse_host(struct call *c, struct str host)
{
    char quoted[QUOTED_BYTES];

    return call_refuse(
        c, 403, "Forbidden", false,
        call_text(c,
                  "the request's Host %s is not a name of this server: use a loopback address, the "
                  "address that the server listens on, or a name in its certificate",
                  quote_text(quoted, sizeof quoted, host)));
}

static bool refuse_page(struct call *c, const char *header, struct str value)
{
    char quoted[QUOTED_BYTES];

    return call_refuse(
        c, 403, "Forbidden", false,
        call_text(c,
                  "the request was made by a web page of another origin (%s: %s): only pages of "
                  "this server may use it from a browser",
                  header, quote_text(quoted, sizeof quoted, value)));
}

static bool site_is_allowed(const struct call *c, struct str site)
{
    bool is_read = c->method == HTTP_GET || c->method == HTTP_HEAD;

    return str_is(site, "same-origin") || (str_is(site, "none") && is_read);
}

bool web_guard_admits(const struct web_guard *g, struct call *c)
{
    struct web_headers h = { 0 };
    struct authority own = { 0 };
    struct str host;

    if (!c->is_remote)
        return true;
    host = c->carrier->header(c, "Host");
    c->carrier->each_header(c, note_header, &h);
    if (!host.s && !h.is_from_browser)
        return true; /* HTTP/1.0: the carrier refuses all other requests without Host */
    if (!host.s || !authority_parse(host, &own))
        return call_refuse(c, 400, "BadRequest", false,
                           "the request's Host is not a name or address with or without a port");
    if (!is_own_host(g, c, &own))
        return refuse_host(c, host);
    if (h.origins > 1 || (h.origins == 1 && !is_own_origin(c, h.origin, &own)))
        return refuse_page(c, "Origin", h.origin);
    if (h.sites > 1 || (h.sites == 1 && !site_is_allowed(c, h.site)))
        return refuse_page(c, "Sec-Fetch-Site", h.site);
    if (h.is_from_browser && (c->body.len > 0 || c->body_is_too_large) &&
        call_header(c, "Content-Type").len == 0)
        return call_refuse(
            c, 415, "UnsupportedMediaType", false,
            "the body of a request from a browser needs a Content-Type, for example application/json");
    return true;
}
