/* Addresses: the server's URL, parsed once, and the proxy.
 *
 * libcurl verifies a certificate against the name in the URL. If the configuration has another name for it
 * (tls-server-name), the URL gets that name and the connection still goes to the real host. */
#include "client/client_http_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "client/server_url.h"

#define SERVER_URL_BYTES_MAX ((size_t)4 << 10)

/* The parts of a URL as parsed by libcurl. */
struct url {
    CURLU *u;
    char *scheme;
    char *host;
    char *port;
    char *path;
};

static void url_done(struct url *url)
{
    curl_free(url->scheme);
    curl_free(url->host);
    curl_free(url->port);
    curl_free(url->path);
    curl_url_cleanup(url->u);
}

static bool has_part(const struct url *url, CURLUPart part)
{
    char *value = NULL;
    bool has = curl_url_get(url->u, part, &value, 0) == CURLUE_OK;

    curl_free(value);
    return has;
}

static int url_parse(struct url *url, const char *text, struct error *err)
{
    url->u = curl_url();
    if (!url->u)
        return error_no_memory(err);
    if (curl_url_set(url->u, CURLUPART_URL, text, 0) != CURLUE_OK ||
        curl_url_get(url->u, CURLUPART_SCHEME, &url->scheme, 0) != CURLUE_OK ||
        curl_url_get(url->u, CURLUPART_HOST, &url->host, 0) != CURLUE_OK ||
        curl_url_get(url->u, CURLUPART_PORT, &url->port, CURLU_DEFAULT_PORT) != CURLUE_OK ||
        curl_url_get(url->u, CURLUPART_PATH, &url->path, 0) != CURLUE_OK)
        return error_set(err, ERR_INVALID, "not the address of a server");
    return 0;
}

/* Never prints the address: it may contain a password. */
static int check_server(const struct url *url, bool is_tls, struct error *err)
{
    if (strcmp(url->scheme, is_tls ? "https" : "http") != 0)
        return error_set(err, ERR_INVALID, "server: scheme '%s', expected %s", url->scheme,
                         is_tls ? "https" : "http");
    if (has_part(url, CURLUPART_USER) || has_part(url, CURLUPART_PASSWORD))
        return error_set(err, ERR_INVALID, "server: a user or password in the address is not supported");
    if (has_part(url, CURLUPART_QUERY) || has_part(url, CURLUPART_FRAGMENT))
        return error_set(err, ERR_INVALID, "server: the address must not have a query or a fragment");
    return 0;
}

/* The base before every target has no slash at its end. */
static char *dup_base(const char *text)
{
    size_t len = strlen(text);

    while (len > 0 && text[len - 1] == '/')
        len--;
    return strndup(text, len);
}

/* A name that resolves to this machine. As in other clients, the environment's proxy is not used for it. */
static bool is_local(const char *host)
{
    return strcasecmp(host, "localhost") == 0 || strncmp(host, "127.", strlen("127.")) == 0 ||
           strcmp(host, "[::1]") == 0;
}

static int set_named(struct http_server *s, const struct url *url, const char *name, struct error *err)
{
    _cleanup_(buf_done_p) struct buf base = BUF_INIT(SERVER_URL_BYTES_MAX);
    _cleanup_(buf_done_p) struct buf to = BUF_INIT(SERVER_URL_BYTES_MAX);
    _cleanup_(buf_done_p) struct buf host = BUF_INIT(SERVER_URL_BYTES_MAX);
    struct url check = { 0 };
    int r;

    buf_addf(&base, "https://%s:%s%s", name, url->port, url->path);
    buf_addf(&to, "::%s:%s", url->host, url->port);
    buf_addf(&host, "%s:%s", url->host, url->port);
    r = buf_check(&base, "server", err);
    if (r == 0)
        r = url_parse(&check, buf_cstr(&base), err);
    if (r == 0 && strcasecmp(check.host, name) != 0)
        r = error_set(err, ERR_INVALID, "not a host name");
    url_done(&check);
    if (r < 0)
        return error_wrap(err, "tls-server-name");
    s->base = dup_base(buf_cstr(&base));
    s->host = buf_take(&host);
    s->connect_to = curl_slist_append(NULL, buf_cstr(&to));
    return s->base && s->host && s->connect_to ? 0 : error_no_memory(err);
}

static int set_proxy(struct http_server *s, const char *proxy, const char *host, struct error *err)
{
    int r = proxy ? server_url_check_proxy(str_of(proxy), err) : 0;

    if (r < 0)
        return error_wrap(err, "proxy-url");
    if (!proxy && !is_local(host))
        return 0;
    s->proxy = strdup(proxy ? proxy : "");
    return s->proxy ? 0 : error_no_memory(err);
}

int http_server_init(struct http_server *s, const struct client_config *config, struct error *err)
{
    _cleanup_(url_done) struct url url = { 0 };
    int r = url_parse(&url, config->server, err);

    if (r < 0)
        return error_wrap(err, "server");
    r = check_server(&url, config->is_tls, err);
    if (r < 0)
        return r;
    s->is_tls = config->is_tls;
    if (config->is_tls && config->tls_server_name) {
        r = set_named(s, &url, config->tls_server_name, err);
    } else {
        s->base = dup_base(config->server);
        r = s->base ? 0 : error_no_memory(err);
    }
    return r < 0 ? r : set_proxy(s, config->proxy_url, url.host, err);
}

void http_server_done(struct http_server *s)
{
    free(s->base);
    free(s->host);
    free(s->proxy);
    curl_slist_free_all(s->connect_to);
}

bool http_server_apply(const struct http_server *s, CURL *easy)
{
    bool ok = true;

    if (s->connect_to)
        ok &= curl_easy_setopt(easy, CURLOPT_CONNECT_TO, s->connect_to) == CURLE_OK;
    if (s->proxy) {
        ok &= curl_easy_setopt(easy, CURLOPT_PROXY, s->proxy) == CURLE_OK;
        ok &=
            curl_easy_setopt(easy, CURLOPT_NOPROXY, "") == CURLE_OK; /* the proxy was configured explicitly */
    }
    return ok;
}
