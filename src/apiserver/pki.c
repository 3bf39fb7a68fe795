/* Keys and certificates of the data directory: loads, checks, creates and renews them. Files are written
 * atomically, a key before its certificate. All functions block. */
#include "apiserver/pki.h"

#include <stdio.h>
#include <string.h>

#include "api/times.h"
#include "apiserver/kubeconfig.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/str.h"
#include "io/certs.h"
#include "io/file.h"

#define PKI_DAY_SECONDS INT64_C(86400)
#define PKI_AUTHORITY_SECONDS (3650 * PKI_DAY_SECONDS)
#define PKI_LEAF_SECONDS (365 * PKI_DAY_SECONDS)
#define PKI_RENEW_SECONDS (30 * PKI_DAY_SECONDS)
/* For clients whose clocks are slow. */
#define PKI_BACKDATE_SECONDS INT64_C(3600)
#define PKI_PATH_BYTES 4096
#define PKI_NAMES_MAX 8
#define PKI_DATE_BYTES 64

/* A key and its certificate, on disk under one name. */
struct pair {
    const char *name;
    struct key *key;
    struct cert *cert;
    struct buf key_pem;
    struct buf cert_pem;
    bool is_foreign; /* an authority that is due but was not created by Berth */
};

static struct buf take_buf(struct buf *b)
{
    struct buf taken = *b;

    *b = BUF_INIT(0);
    return taken;
}

static void pair_done(struct pair *p)
{
    p->key = key_free(p->key);
    p->cert = cert_free(p->cert);
    buf_done(&p->key_pem);
    buf_done(&p->cert_pem);
}

static int pki_path(const struct pki_options *o, const char *name, const char *ending,
                    char ret[PKI_PATH_BYTES], struct error *err)
{
    int n = snprintf(ret, PKI_PATH_BYTES, "%s/pki/%s%s", o->dir, name, ending);

    return n < 0 || n >= PKI_PATH_BYTES ? error_set(err, ERR_INVALID, "path '%s' is too long", o->dir) : 0;
}

/* 1 when the file exists, 0 when it does not. */
static int read_if_exists(const char *path, size_t bytes_max, struct buf *ret, struct error *err)
{
    struct error local;
    int r = io_read_file(path, bytes_max, ret, &local);

    if (r == -ERR_NOT_FOUND)
        return 0;
    if (r < 0) {
        *err = local;
        return r;
    }
    return 1;
}

/* --- Keys --- */

static int key_make(const char *path, struct key **ret, struct buf *pem, struct error *err)
{
    _cleanup_(key_free_p) struct key *k = NULL;
    int r = key_new(&k, err);

    if (r < 0)
        return r;
    buf_init(pem, KEY_PEM_BYTES_MAX);
    r = key_to_pem(k, pem, err);
    if (r == 0)
        r = io_replace_file(path, pem->data, pem->len, 0600, err);
    if (r < 0)
        return r;
    *ret = TAKE(k);
    return 0;
}

/* may_make: nothing depends on the key yet, so a missing one is created. */
static int key_load(const struct pki_options *o, const char *name, bool may_make, struct key **ret,
                    struct buf *pem, struct error *err)
{
    char path[PKI_PATH_BYTES];
    int r = pki_path(o, name, ".key", path, err);

    if (r < 0)
        return r;
    r = read_if_exists(path, KEY_PEM_BYTES_MAX, pem, err);
    if (r < 0)
        return r;
    if (r == 0 && may_make)
        return key_make(path, ret, pem, err);
    if (r == 0)
        return error_set(err, ERR_INVALID,
                         "'%s' is missing: restore it, or delete '%s.crt' too to create both again", path,
                         name);
    r = key_from_pem(buf_str(pem), ret, err);
    if (r < 0)
        return error_wrap(err, "cannot use '%s' (restore it, or delete it and its certificate)", path);
    return 0;
}

/* --- Certificates --- */

/* ERR_CONFLICT, without a change, when the existing authority has another name: certificates that it has
 * signed would not be valid under the new one. */
static int cert_make(const struct pki_options *o, struct pair *p, const struct cert_request *q,
                     const struct pair *authority, struct error *err)
{
    _cleanup_(cert_free_p) struct cert *made = NULL;
    _cleanup_(buf_done_p) struct buf pem = BUF_INIT(CERT_PEM_BYTES_MAX);
    struct cert_request dated = *q;
    char path[PKI_PATH_BYTES];
    int r = pki_path(o, p->name, ".crt", path, err);

    dated.valid_from = o->now - PKI_BACKDATE_SECONDS;
    dated.valid_until = o->now + (authority ? PKI_LEAF_SECONDS : PKI_AUTHORITY_SECONDS);
    if (r == 0)
        r = cert_new(&dated, p->key, authority ? authority->cert : NULL, authority ? authority->key : NULL,
                     &made, err);
    if (r == 0 && p->cert && !authority && !cert_succeeds(made, p->cert))
        return error_set(err, ERR_CONFLICT, "'%s' was not created by Berth", path);
    if (r == 0)
        r = cert_to_pem(made, &pem, err);
    if (r == 0)
        r = io_replace_file(path, pem.data, pem.len, 0644, err);
    if (r < 0)
        return r;
    (void)cert_free(p->cert);
    p->cert = TAKE(made);
    buf_done(&p->cert_pem);
    p->cert_pem = take_buf(&pem);
    return 0;
}

/* An existing certificate must match its key and its authority. */
static int cert_check(const struct pki_options *o, const struct pair *p, const struct pair *authority,
                      struct error *err)
{
    const char *reason = NULL;

    if (!cert_has_key(p->cert, p->key))
        reason = "does not belong to its key";
    else if (!cert_is_signed_by(p->cert, authority ? authority->cert : p->cert))
        reason = "is not signed by ca.crt";
    if (!reason)
        return 0;
    return error_set(err, ERR_INVALID,
                     "'%s/pki/%s.crt' %s: restore the matching files, or delete the certificate to create "
                     "a new one",
                     o->dir, p->name, reason);
}

/* Why the dates require a renewal; NULL when they do not. */
static const char *dates_fault(int64_t valid_from, int64_t valid_until, int64_t now)
{
    if (valid_from > now)
        return "not valid yet";
    if (valid_until <= now)
        return "expired";
    return valid_until < now + PKI_RENEW_SECONDS ? "expires soon" : NULL;
}

static bool has_names(const struct cert *c, const struct cert_request *q)
{
    for (const char *const *name = q->names; name && *name; name++)
        if (!cert_covers(c, *name))
            return false;
    return true;
}

static const char *date_text(int64_t seconds, char ret[PKI_DATE_BYTES])
{
    _cleanup_(buf_done_p) struct buf b = BUF_INIT(PKI_DATE_BYTES);

    timestamp_format((struct timestamp){ .seconds = seconds }, &b);
    if (b.failed)
        return "unknown";
    (void)snprintf(ret, PKI_DATE_BYTES, "%s", buf_cstr(&b));
    return ret;
}

static void log_renewal(const struct pki_options *o, const struct pair *p, const char *fault, int64_t from,
                        int64_t until, const char *action)
{
    char path[PKI_PATH_BYTES], from_text[PKI_DATE_BYTES], until_text[PKI_DATE_BYTES];

    (void)snprintf(path, sizeof path, "%s/pki/%s.crt", o->dir, p->name); /* a path that was used before */
    log_warn(p->is_foreign ? "certificate not renewed, not created by Berth" : "certificate renewed",
             LOG_STR("path", path), LOG_STR("reason", fault),
             LOG_STR("valid_from", date_text(from, from_text)),
             LOG_STR("valid_until", date_text(until, until_text)), LOG_STR("action", action));
}

static const char *renewal_action(const struct pair *p, const struct cert_request *q)
{
    if (p->is_foreign)
        return "replace ca.crt and ca.key, and delete the certificates that it has signed";
    return q->use == CERT_SERVER ? "none, clients see the new one"
                                 : "replace copies of the kubeconfig by the new one";
}

/* Renews the certificate when it is due. */
static int cert_renew(const struct pki_options *o, struct pair *p, const struct cert_request *q,
                      const struct pair *authority, struct error *err)
{
    int64_t from = cert_valid_from(p->cert), until = cert_valid_until(p->cert);
    const char *fault = dates_fault(from, until, o->now);
    int r;

    if (!fault && has_names(p->cert, q))
        return 0;
    r = cert_make(o, p, q, authority, err);
    p->is_foreign = r == -ERR_CONFLICT;
    if (r < 0 && !p->is_foreign)
        return error_wrap(err, "cannot renew a certificate");
    if (fault)
        log_renewal(o, p, fault, from, until, renewal_action(p, q));
    else
        log_info("certificate renewed", LOG_STR("name", p->name), LOG_STR("reason", "new names"));
    return 0;
}

/* Loads or creates the pair; a certificate that is due is renewed with the same key. */
static int pair_load(const struct pki_options *o, struct pair *p, const struct cert_request *q,
                     const struct pair *authority, struct error *err)
{
    char path[PKI_PATH_BYTES];
    int there;
    int r = pki_path(o, p->name, ".crt", path, err);

    if (r < 0)
        return r;
    there = read_if_exists(path, CERT_PEM_BYTES_MAX, &p->cert_pem, err);
    if (there < 0)
        return there;
    if (there) {
        r = cert_from_pem(buf_str(&p->cert_pem), &p->cert, err);
        if (r < 0)
            return error_wrap(err, "cannot use '%s' (restore it, or delete it to create a new one)", path);
    }
    r = key_load(o, p->name, /* may_make= */ !there, &p->key, &p->key_pem, err);
    if (r == 0 && there)
        r = cert_check(o, p, authority, err);
    if (r < 0)
        return r;
    return there ? cert_renew(o, p, q, authority, err) : cert_make(o, p, q, authority, err);
}

/* --- All files --- */

/* The host of host:port, without the brackets of an IPv6 address. */
static struct str host_of(const char *address)
{
    const char *colon = strrchr(address, ':');
    struct str host = { address, colon ? (size_t)(colon - address) : strlen(address) };

    if (host.len >= 2 && host.s[0] == '[' && host.s[host.len - 1] == ']')
        host = (struct str){ host.s + 1, host.len - 2 };
    return host;
}

static void add_name(const char **names, size_t *count, const char *name)
{
    if (name[0] == '\0' || strcmp(name, "0.0.0.0") == 0 || strcmp(name, "::") == 0)
        return; /* a wildcard address: not a name */
    for (size_t i = 0; i < *count; i++)
        if (strcmp(names[i], name) == 0)
            return;
    names[(*count)++] = name;
}

static int server_load(const struct pki_options *o, const struct pair *authority, struct pair *server,
                       struct error *err)
{
    const char *names[PKI_NAMES_MAX] = { NULL };
    struct str host = host_of(o->address);
    char listen[256];
    size_t count = 0;

    if (host.len >= sizeof listen)
        return error_set(err, ERR_INVALID, "address '%s' is too long", o->address);
    (void)snprintf(listen, sizeof listen, "%.*s", STR_ARG(host));
    add_name(names, &count, "localhost");
    add_name(names, &count, "127.0.0.1");
    add_name(names, &count, "::1");
    add_name(names, &count, o->host_name);
    add_name(names, &count, listen);
    struct cert_request q = {
        .use = CERT_SERVER,
        .common_name = "berth",
        .names = names,
    };
    return pair_load(o, server, &q, authority, err);
}

static void note_dates(struct pki *p, const struct pair *pair)
{
    int64_t from = cert_valid_from(pair->cert), until = cert_valid_until(pair->cert);

    if (pair->is_foreign)
        return; /* retrying would not help */
    p->valid_from = from > p->valid_from ? from : p->valid_from;
    p->valid_until = p->valid_until == 0 || until < p->valid_until ? until : p->valid_until;
}

bool pki_is_due(const struct pki *p, int64_t now)
{
    return p->valid_until && dates_fault(p->valid_from, p->valid_until, now);
}

static int pairs_load(const struct pki_options *o, struct pki *ret, struct error *err)
{
    _cleanup_(pair_done) struct pair authority = { .name = "ca" };
    _cleanup_(pair_done) struct pair server = { .name = "server" };
    _cleanup_(pair_done) struct pair admin = { .name = "admin" };
    static const char *const masters[] = { "system:masters", NULL };
    int r = pair_load(o, &authority,
                      &(struct cert_request){ .use = CERT_AUTHORITY, .common_name = "berth-ca" }, NULL, err);

    if (r < 0)
        return r;
    note_dates(ret, &authority);
    ret->ca_cert = take_buf(&authority.cert_pem);
    if (o->is_insecure)
        return 0;
    r = server_load(o, &authority, &server, err);
    if (r == 0)
        r = pair_load(o, &admin,
                      &(struct cert_request){
                          .use = CERT_CLIENT, .common_name = "system:admin", .organizations = masters },
                      &authority, err);
    if (r < 0)
        return r;
    note_dates(ret, &server);
    note_dates(ret, &admin);
    ret->server_cert = take_buf(&server.cert_pem);
    ret->server_key = take_buf(&server.key_pem);
    ret->admin_cert = take_buf(&admin.cert_pem);
    ret->admin_key = take_buf(&admin.key_pem);
    return 0;
}

int pki_open(const struct pki_options *o, struct pki *ret, struct error *err)
{
    _cleanup_(pki_done_p) struct pki p = { 0 };
    _cleanup_(buf_done_p) struct buf pem = BUF_INIT(KEY_PEM_BYTES_MAX);
    char path[PKI_PATH_BYTES];
    int r = pki_path(o, "", "", path, err);

    if (r == 0)
        r = io_mkdirs(path, 0700, err);
    if (r == 0)
        r = key_load(o, "service-account", /* may_make= */ true, &p.token_key, &pem, err);
    if (r == 0)
        r = pairs_load(o, &p, err);
    if (r < 0)
        return r;
    *ret = p;
    p = (struct pki){ 0 };
    return 0;
}

void pki_done(struct pki *p)
{
    buf_done(&p->ca_cert);
    buf_done(&p->server_cert);
    buf_done(&p->server_key);
    buf_done(&p->admin_cert);
    buf_done(&p->admin_key);
    p->token_key = key_free(p->token_key);
}

int pki_write_kubeconfig(const struct pki *p, const char *dir, const char *address, struct error *err)
{
    struct kubeconfig k = {
        .address = address,
        .ca = p->server_cert.len ? buf_str(&p->ca_cert) : STR_LIT(""), /* an insecure server has none */
        .cert = buf_str(&p->admin_cert),
        .key = buf_str(&p->admin_key),
    };
    char path[PKI_PATH_BYTES];
    int n = snprintf(path, sizeof path, "%s/kubeconfig", dir);

    if (n < 0 || (size_t)n >= sizeof path)
        return error_set(err, ERR_INVALID, "path '%s' is too long", dir);
    return kubeconfig_update(path, &k, err);
}
