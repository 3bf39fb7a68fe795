/* Credentials of requests: token, certificate, password, impersonation.
 *
 * Tokens and certificates may be replaced while the process runs, so their files are read again after some
 * time: the token after a minute, the rest after five. They are small and local, and are read on the loop.
 * Certificates are passed to libcurl as files in memory, a pair at a time: libcurl never sees the certificate
 * of one generation with the key of another, and a new path prevents it from reusing connections of the old
 * one.
 *
 * Credentials are never sent without TLS. */
#include "client/client_http_int.h"

#include <string.h>

#include <gnutls/gnutls.h>

#include "api/base64.h"
#include "base/cleanup.h"
#include "io/file.h"

#define PEM_BYTES_MAX ((size_t)16 << 20) /* a bundle of authorities */
#define TOKEN_BYTES_MAX ((size_t)64 << 10)
#define HEADER_BYTES_MAX ((size_t)128 << 10)

/* --- Headers --- */

/* No line ends, which would begin another header, and no other control characters. */
static bool is_header_value(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (((unsigned char)s.s[i] < ' ' && s.s[i] != '\t') || s.s[i] == 0x7f)
            return false;
    return true;
}

static bool is_header_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c != '\0' && strchr("!#$&'*+-.^_`|~", c));
}

bool http_add_header(struct curl_slist **list, const char *name, const char *value)
{
    _cleanup_(buf_done_p) struct buf line = BUF_INIT(HEADER_BYTES_MAX);
    struct curl_slist *longer;

    buf_addf(&line, "%s: %s", name, value);
    longer = line.failed ? NULL : curl_slist_append(*list, buf_cstr(&line));
    *list = longer ? longer : *list;
    return longer != NULL;
}

/* Characters that are not allowed in the name of a header are percent-encoded; names are case-insensitive. */
static void write_extra_name(const char *key, struct buf *out)
{
    buf_add_cstr(out, "Impersonate-Extra-");
    for (; *key; key++) {
        char c = *key >= 'A' && *key <= 'Z' ? (char)(*key - 'A' + 'a') : *key;
        if (is_header_name_char(c))
            buf_add_char(out, c);
        else
            buf_addf(out, "%%%02X", (unsigned char)c);
    }
}

static bool add_extra(const struct config_extra *e, struct curl_slist **list)
{
    _cleanup_(buf_done_p) struct buf name = BUF_INIT(HEADER_BYTES_MAX);
    bool ok;

    write_extra_name(e->key, &name);
    ok = !name.failed;
    for (size_t i = 0; ok && e->values[i]; i++)
        ok = http_add_header(list, buf_cstr(&name), e->values[i]);
    return ok;
}

bool http_credentials_add_headers(const struct http_credentials *c, struct curl_slist **list)
{
    const struct client_config *config = c->config;
    bool ok = true;

    if (!config->is_tls)
        return true;
    if (c->authorization.len)
        ok &= http_add_header(list, "Authorization", buf_cstr(&c->authorization));
    if (config->as)
        ok &= http_add_header(list, "Impersonate-User", config->as);
    if (config->as_uid)
        ok &= http_add_header(list, "Impersonate-Uid", config->as_uid);
    for (size_t i = 0; config->as_groups && config->as_groups[i]; i++)
        ok &= http_add_header(list, "Impersonate-Group", config->as_groups[i]);
    for (const struct config_extra *e = config->as_extra; e && e->key; e++)
        ok &= add_extra(e, list);
    return ok;
}

static int check_value(const char *what, const char *value, struct error *err)
{
    if (value && strlen(value) > TOKEN_BYTES_MAX)
        return error_set(err, ERR_TOO_LARGE, "%s: more than %zu bytes", what, TOKEN_BYTES_MAX);
    if (value && !is_header_value(str_of(value)))
        return error_set(err, ERR_INVALID, "%s: may not contain line ends or other control characters", what);
    return 0;
}

/* Everything that is sent in headers during the life of the carrier. */
static int check_config(const struct client_config *config, struct error *err)
{
    int r = check_value("token", config->token, err);

    r = r < 0 ? r : check_value("as", config->as, err);
    r = r < 0 ? r : check_value("as-uid", config->as_uid, err);
    for (size_t i = 0; r == 0 && config->as_groups && config->as_groups[i]; i++)
        r = check_value("as-groups", config->as_groups[i], err);
    for (const struct config_extra *e = config->as_extra; r == 0 && e && e->key; e++)
        for (size_t i = 0; r == 0 && e->values[i]; i++)
            r = check_value("as-user-extra", e->values[i], err);
    return r;
}

/* --- Authorization --- */

static int set_token(struct http_credentials *c, struct str token, struct error *err)
{
    if (token.len == 0)
        return error_set(err, ERR_INVALID, "the token is empty");
    if (!is_header_value(token))
        return error_set(err, ERR_INVALID, "the token contains line ends or other control characters");
    buf_clear(&c->authorization);
    buf_add_cstr(&c->authorization, "Bearer ");
    buf_add_str(&c->authorization, token);
    return buf_check(&c->authorization, "token", err);
}

static int set_password(struct http_credentials *c, struct error *err)
{
    _cleanup_(buf_done_p) struct buf both = BUF_INIT(TOKEN_BYTES_MAX / 2);

    buf_addf(&both, "%s:%s", c->config->username, c->config->password ? c->config->password : "");
    buf_add_cstr(&c->authorization, "Basic ");
    base64_encode(buf_str(&both), &c->authorization);
    return both.failed ? buf_check(&both, "username and password", err)
                       : buf_check(&c->authorization, "username and password", err);
}

static int read_token(struct http_credentials *c, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(TOKEN_BYTES_MAX);
    int r;

    c->token_read_ns = clock_mono_ns(c->clock);
    r = io_read_file(c->config->token_file, TOKEN_BYTES_MAX - strlen("Bearer "), &text, err);
    if (r == 0)
        r = set_token(c, str_trim(buf_str(&text)), err);
    return r < 0 ? error_wrap(err, "token file '%s'", c->config->token_file) : 0;
}

static bool has_token_file(const struct client_config *config)
{
    return !config->token && config->token_file;
}

static int init_authorization(struct http_credentials *c, struct error *err)
{
    if (c->config->token)
        return set_token(c, str_of(c->config->token), err);
    if (has_token_file(c->config))
        return read_token(c, err);
    return c->config->username ? set_password(c, err) : 0;
}

/* --- Certificates --- */

static bool pem_is_given(const struct http_pem *p)
{
    return p->file->data || p->file->path;
}

static int pem_load(const struct http_pem *p, struct buf *ret, struct error *err)
{
    int r;

    if (p->file->data) {
        buf_add_cstr(ret, p->file->data);
        return buf_check(ret, p->name, err);
    }
    r = io_read_file(p->file->path, PEM_BYTES_MAX, ret, err);
    return r < 0 ? error_wrap(err, "%s", p->name) : 0;
}

static void pem_init(struct http_pem *p, const char *name, const struct config_file *file)
{
    *p = (struct http_pem){ .name = name, .file = file, .fd = -1, .fd_before = -1 };
}

static void pem_done(struct http_pem *p)
{
    if (!p->file)
        return;
    fd_closep(&p->fd);
    fd_closep(&p->fd_before);
    buf_done(&p->text);
}

static gnutls_datum_t as_datum(const struct buf *text)
{
    return (gnutls_datum_t){ (unsigned char *)text->data, (unsigned)text->len };
}

/* Checks now what GnuTLS would refuse when a connection is established. */
static int check_pem(const struct buf *ca, const struct buf *cert, const struct buf *key, struct error *err)
{
    gnutls_certificate_credentials_t all = NULL;
    gnutls_datum_t a = as_datum(ca), c = as_datum(cert), k = as_datum(key);
    int r = gnutls_certificate_allocate_credentials(&all);

    if (r < 0)
        return error_no_memory(err);
    r = ca->len ? gnutls_certificate_set_x509_trust_mem(all, &a, GNUTLS_X509_FMT_PEM) : 1;
    if (r <= 0) {
        r = error_set(err, ERR_INVALID, "certificate-authority: %s",
                      r < 0 ? gnutls_strerror(r) : "no certificate found");
    } else {
        r = cert->len ? gnutls_certificate_set_x509_key_mem2(all, &c, &k, GNUTLS_X509_FMT_PEM, NULL, 0) : 0;
        if (r < 0)
            r = error_set(err, ERR_INVALID, "client-certificate and client-key: %s", gnutls_strerror(r));
    }
    gnutls_certificate_free_credentials(all);
    return r < 0 ? r : 0;
}

/* The replacement of a PEM text, committed together with the others. */
struct pem_next {
    struct http_pem *pem;
    struct buf text;
    int fd; /* -1: no change */
    char path[MEMORY_FILE_PATH_BYTES];
};

static int next_prepare(struct pem_next *n, struct error *err)
{
    if (!pem_is_given(n->pem) || (n->pem->fd >= 0 && str_eq(buf_str(&n->pem->text), buf_str(&n->text))))
        return 0;
    return memory_file(n->pem->name, buf_str(&n->text), n->path, &n->fd, err);
}

/* From here on libcurl gets the new text, under a new path. */
static void next_commit(struct pem_next *n)
{
    struct http_pem *p = n->pem;

    if (n->fd < 0)
        return;
    fd_closep(&p->fd_before);
    p->fd_before = p->fd;
    p->fd = take_fd(&n->fd);
    memcpy(p->path, n->path, sizeof p->path);
    buf_done(&p->text);
    p->text = n->text;
    n->text = BUF_INIT(0);
}

static int read_files(struct http_credentials *c, struct error *err)
{
    struct pem_next all[] = { { .pem = &c->ca }, { .pem = &c->cert }, { .pem = &c->key } };
    int r = 0;

    c->files_read_ns = clock_mono_ns(c->clock);
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        all[i].fd = -1;
        all[i].text = BUF_INIT(PEM_BYTES_MAX);
    }
    for (size_t i = 0; i < ARRAY_LEN(all) && r == 0; i++)
        r = pem_is_given(all[i].pem) ? pem_load(all[i].pem, &all[i].text, err) : 0;
    if (r == 0)
        r = check_pem(&all[0].text, &all[1].text, &all[2].text, err);
    for (size_t i = 0; i < ARRAY_LEN(all) && r == 0; i++)
        r = next_prepare(&all[i], err);
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (r == 0)
            next_commit(&all[i]);
        fd_closep(&all[i].fd);
        buf_done(&all[i].text);
    }
    return r;
}

/* --- All credentials --- */

int http_credentials_init(struct http_credentials *c, const struct client_config *config,
                          const struct clock *clock, struct error *err)
{
    int r;

    c->config = config;
    c->clock = clock;
    buf_init(&c->authorization, TOKEN_BYTES_MAX);
    pem_init(&c->ca, "certificate-authority", &config->ca);
    pem_init(&c->cert, "client-certificate", &config->cert);
    pem_init(&c->key, "client-key", &config->key);
    if (!config->is_tls)
        return 0;
    if (pem_is_given(&c->cert) != pem_is_given(&c->key))
        return error_set(err, ERR_INVALID, "client-certificate and client-key: one is missing");
    r = check_config(config, err);
    r = r < 0 ? r : init_authorization(c, err);
    return r < 0 ? r : read_files(c, err);
}

void http_credentials_done(struct http_credentials *c)
{
    pem_done(&c->ca);
    pem_done(&c->cert);
    pem_done(&c->key);
    buf_done(&c->authorization);
}

void http_credentials_refresh(struct http_credentials *c)
{
    uint64_t now_ns = clock_mono_ns(c->clock);
    struct error ignored;

    if (!c->config->is_tls)
        return;
    if (has_token_file(c->config) && now_ns - c->token_read_ns >= HTTP_TOKEN_AGE_NS_MAX)
        (void)read_token(c, &ignored);
    if ((c->ca.file->path || c->cert.file->path || c->key.file->path) &&
        now_ns - c->files_read_ns >= HTTP_FILES_AGE_NS_MAX)
        (void)read_files(c, &ignored);
}

bool http_credentials_apply(const struct http_credentials *c, CURL *easy)
{
    bool ok = true;

    if (!c->config->is_tls)
        return true;
    ok &= curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, c->config->is_insecure ? 0L : 1L) == CURLE_OK;
    ok &= curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, c->config->is_insecure ? 0L : 2L) == CURLE_OK;
    if (c->ca.fd >= 0) {
        ok &= curl_easy_setopt(easy, CURLOPT_CAINFO, c->ca.path) == CURLE_OK;
        ok &= curl_easy_setopt(easy, CURLOPT_CAPATH, (char *)NULL) == CURLE_OK;
    }
    if (c->cert.fd >= 0) {
        ok &= curl_easy_setopt(easy, CURLOPT_SSLCERT, c->cert.path) == CURLE_OK;
        ok &= curl_easy_setopt(easy, CURLOPT_SSLKEY, c->key.path) == CURLE_OK;
        /* The server does not ask a resumed session for the certificate; and connections that were
         * established with the old certificate must be closed after a while. */
        ok &= curl_easy_setopt(easy, CURLOPT_MAXLIFETIME_CONN, (long)(HTTP_FILES_AGE_NS_MAX / NS_PER_S)) ==
              CURLE_OK;
    }
    return ok;
}
