/* Where requests go: the server's address taken apart, once, and the proxy in front of it.
 *
 * libcurl checks a certificate against the name in the URL. Where the configuration has another name for it
 * (tls-server-name), the URL gets that name and the connection goes to the real host all the same. */
#include "client/http_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "client/server_url.h"

#define SERVER_URL_BYTES_MAX ((size_t)4 << 10)

/* libcurl's parts of a URL. */
struct url {
    CURLU *u;
    char *scheme;
    char *host;
    char *port;
    char *path;
};

static void url_done(struct url *x)
{
    curl_free(x->scheme);
    curl_free(x->host);
    curl_free(x->port);
    curl_free(x->path);
    curl_url_cleanup(x->u);
}

static bool has_part(const struct url *x, CURLUPart part)
{
    char *value = NULL;
    bool has = curl_url_get(x->u, part, &value, 0) == CURLUE_OK;

    curl_free(value);
    return has;
}

static int url_parse(struct url *x, const char *text, struct error *err)
{
    x->u = curl_url();
    if (!x->u)
        return error_no_memory(err);
    if (curl_url_set(x->u, CURLUPART_URL, text, 0) != CURLUE_OK ||
        curl_url_get(x->u, CURLUPART_SCHEME, &x->scheme, 0) != CURLUE_OK ||
        curl_url_get(x->u, CURLUPART_HOST, &x->host, 0) != CURLUE_OK ||
        curl_url_get(x->u, CURLUPART_PORT, &x->port, CURLU_DEFAULT_PORT) != CURLUE_OK ||
        curl_url_get(x->u, CURLUPART_PATH, &x->path, 0) != CURLUE_OK)
        return error_set(err, ERR_INVALID, "not an address of a server");
    return 0;
}

/* Never shows what it refuses: a password may be in it. */
static int check_server(const struct url *x, bool is_tls, struct error *err)
{
    if (strcmp(x->scheme, is_tls ? "https" : "http") != 0)
        return error_set(err, ERR_INVALID, "server: scheme '%s' where %s was expected", x->scheme,
                         is_tls ? "https" : "http");
    if (has_part(x, CURLUPART_USER) || has_part(x, CURLUPART_PASSWORD))
        return error_set(err, ERR_INVALID, "server: a user or password in the address is not supported");
    if (has_part(x, CURLUPART_QUERY) || has_part(x, CURLUPART_FRAGMENT))
        return error_set(err, ERR_INVALID, "server: the address may have no query and no fragment");
    return 0;
}

/* What stands in front of every target has no slash at its end. */
static char *dup_base(const char *text)
{
    size_t len = strlen(text);

    while (len > 0 && text[len - 1] == '/')
        len--;
    return strndup(text, len);
}

/* A name that leads back to this machine. As elsewhere in this world, the environment's proxy is not for it.
 */
static bool is_local(const char *host)
{
    return strcasecmp(host, "localhost") == 0 || strncmp(host, "127.", strlen("127.")) == 0 ||
           strcmp(host, "[::1]") == 0;
}

static int set_named(struct http_server *s, const struct url *x, const char *name, struct error *err)
{
    _cleanup_(buf_done_p) struct buf base = BUF_INIT(SERVER_URL_BYTES_MAX);
    _cleanup_(buf_done_p) struct buf to = BUF_INIT(SERVER_URL_BYTES_MAX);
    _cleanup_(buf_done_p) struct buf host = BUF_INIT(SERVER_URL_BYTES_MAX);
    struct url check = { 0 };
    int r;

    buf_addf(&base, "https://%s:%s%s", name, x->port, x->path);
    buf_addf(&to, "::%s:%s", x->host, x->port);
    buf_addf(&host, "%s:%s", x->host, x->port);
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
    _cleanup_(url_done) struct url x = { 0 };
    int r = url_parse(&x, config->server, err);

    if (r < 0)
        return error_wrap(err, "server");
    r = check_server(&x, config->is_tls, err);
    if (r < 0)
        return r;
    s->is_tls = config->is_tls;
    if (config->is_tls && config->tls_server_name) {
        r = set_named(s, &x, config->tls_server_name, err);
    } else {
        s->base = dup_base(config->server);
        r = s->base ? 0 : error_no_memory(err);
    }
    return r < 0 ? r : set_proxy(s, config->proxy_url, x.host, err);
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
        ok &= curl_easy_setopt(easy, CURLOPT_NOPROXY, "") == CURLE_OK; /* it was asked for by name */
    }
    return ok;
}
