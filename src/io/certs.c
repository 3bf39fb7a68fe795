/* X.509 certificates with GnuTLS: creation, PEM in and out, comparison. A certificate is created in steps
 * that return GnuTLS codes; cert_new() turns the first failure into an error. */
#include "io/certs.h"

#include <arpa/inet.h>
#include <string.h>

#include "io/keys_int.h"
#include "io/random.h"

#define CERT_SERIAL_BYTES 16
#define CERT_KEY_ID_BYTES 64

struct cert {
    gnutls_x509_crt_t x509;
};

struct cert *cert_free(struct cert *c)
{
    if (!c)
        return NULL;
    gnutls_x509_crt_deinit(c->x509);
    free(c);
    return NULL;
}

static int cert_alloc(struct cert **ret, struct error *err)
{
    _cleanup_(cert_free_p) struct cert *c = calloc(1, sizeof *c);
    int code;

    if (!c)
        return error_no_memory(err);
    code = gnutls_x509_crt_init(&c->x509);
    if (code < 0)
        return tls_error(err, code, "prepare a certificate");
    *ret = TAKE(c);
    return 0;
}

/* --- Creation. These return GnuTLS codes; cert_new() turns the first failure into an error. --- */

static int set_serial(gnutls_x509_crt_t x, struct error *err)
{
    unsigned char serial[CERT_SERIAL_BYTES];
    int r = io_random(serial, sizeof serial, err);
    int code;

    if (r < 0)
        return r;
    serial[0] &= 0x7F; /* positive */
    serial[0] |= 0x40; /* and of fixed length */
    code = gnutls_x509_crt_set_serial(x, serial, sizeof serial);
    return code < 0 ? tls_error(err, code, "set the serial number of a certificate") : 0;
}

static int set_subject(gnutls_x509_crt_t x, const struct cert_request *q)
{
    int code = gnutls_x509_crt_set_dn_by_oid(x, GNUTLS_OID_X520_COMMON_NAME, 0, q->common_name,
                                             (unsigned)strlen(q->common_name));

    for (const char *const *o = q->organizations; code >= 0 && o && *o; o++)
        code =
            gnutls_x509_crt_set_dn_by_oid(x, GNUTLS_OID_X520_ORGANIZATION_NAME, 0, *o, (unsigned)strlen(*o));
    return code;
}

static int add_name(gnutls_x509_crt_t x, const char *name)
{
    unsigned char ip[sizeof(struct in6_addr)];

    if (inet_pton(AF_INET, name, ip) == 1)
        return gnutls_x509_crt_set_subject_alt_name(x, GNUTLS_SAN_IPADDRESS, ip, sizeof(struct in_addr),
                                                    GNUTLS_FSAN_APPEND);
    if (inet_pton(AF_INET6, name, ip) == 1)
        return gnutls_x509_crt_set_subject_alt_name(x, GNUTLS_SAN_IPADDRESS, ip, sizeof ip,
                                                    GNUTLS_FSAN_APPEND);
    return gnutls_x509_crt_set_subject_alt_name(x, GNUTLS_SAN_DNSNAME, name, (unsigned)strlen(name),
                                                GNUTLS_FSAN_APPEND);
}

static int set_use(gnutls_x509_crt_t x, enum cert_use use)
{
    const char *purpose = use == CERT_SERVER ? GNUTLS_KP_TLS_WWW_SERVER : GNUTLS_KP_TLS_WWW_CLIENT;
    int code;

    if (use == CERT_AUTHORITY) {
        code = gnutls_x509_crt_set_basic_constraints(
            x, 1, 0); /* signs end certificates only, no further authorities */
        return code < 0 ? code : gnutls_x509_crt_set_key_usage(x, GNUTLS_KEY_KEY_CERT_SIGN);
    }
    code = gnutls_x509_crt_set_basic_constraints(x, 0, -1);
    if (code >= 0)
        code = gnutls_x509_crt_set_key_usage(x, GNUTLS_KEY_DIGITAL_SIGNATURE);
    return code < 0 ? code : gnutls_x509_crt_set_key_purpose_oid(x, purpose, 0);
}

/* Key identifiers, by which a verifier finds the issuer in a chain. */
static int set_key_ids(gnutls_x509_crt_t x, const struct key *key, const struct key *issuer_key)
{
    unsigned char id[CERT_KEY_ID_BYTES];
    size_t len = sizeof id;
    int code = gnutls_x509_privkey_get_key_id(key->x509, 0, id, &len);

    if (code >= 0)
        code = gnutls_x509_crt_set_subject_key_id(x, id, len);
    len = sizeof id;
    if (code >= 0)
        code = gnutls_x509_privkey_get_key_id(issuer_key->x509, 0, id, &len);
    return code < 0 ? code : gnutls_x509_crt_set_authority_key_id(x, id, len);
}

static int fill_certificate(gnutls_x509_crt_t x, const struct cert_request *q, const struct key *key)
{
    int code = gnutls_x509_crt_set_version(x, 3);

    if (code >= 0)
        code = set_subject(x, q);
    for (const char *const *name = q->names; code >= 0 && name && *name; name++)
        code = add_name(x, *name);
    if (code >= 0)
        code = set_use(x, q->use);
    if (code >= 0)
        code = gnutls_x509_crt_set_activation_time(x, (time_t)q->valid_from);
    if (code >= 0)
        code = gnutls_x509_crt_set_expiration_time(x, (time_t)q->valid_until);
    return code < 0 ? code : gnutls_x509_crt_set_key(x, key->x509);
}

/* --- Reading and writing --- */

int cert_from_pem(struct str pem, struct cert **ret, struct error *err)
{
    _cleanup_(cert_free_p) struct cert *c = NULL;
    gnutls_datum_t datum = tls_datum(pem);
    int r = cert_alloc(&c, err);
    int code;

    if (r < 0)
        return r;
    if (pem.len > CERT_PEM_BYTES_MAX)
        return error_set(err, ERR_INVALID, "too large for a certificate");
    code = gnutls_x509_crt_import(c->x509, &datum, GNUTLS_X509_FMT_PEM);
    if (code == GNUTLS_E_MEMORY_ERROR)
        return error_no_memory(err);
    if (code < 0)
        return error_set(err, ERR_INVALID, "no certificate found: %s", gnutls_strerror(code));
    *ret = TAKE(c);
    return 0;
}

int cert_to_pem(const struct cert *c, struct buf *out, struct error *err)
{
    gnutls_datum_t pem;
    int code = gnutls_x509_crt_export2(c->x509, GNUTLS_X509_FMT_PEM, &pem);

    if (code < 0)
        return tls_error(err, code, "write the certificate");
    return tls_add_datum(out, &pem, "certificate", err);
}

/* --- Creating and parsing --- */

int cert_new(const struct cert_request *q, const struct key *key, const struct cert *issuer,
             const struct key *issuer_key, struct cert **ret, struct error *err)
{
    _cleanup_(cert_free_p) struct cert *c = NULL;
    _cleanup_(buf_done_p) struct buf pem = BUF_INIT(CERT_PEM_BYTES_MAX);
    const struct key *signer = issuer ? issuer_key : key;
    int r = cert_alloc(&c, err);
    int code;

    if (r == 0)
        r = set_serial(c->x509, err);
    if (r < 0)
        return r;
    code = fill_certificate(c->x509, q, key);
    if (code >= 0)
        code = set_key_ids(c->x509, key, signer);
    if (code >= 0)
        code = gnutls_x509_crt_privkey_sign(c->x509, issuer ? issuer->x509 : c->x509, signer->private,
                                            GNUTLS_DIG_SHA256, 0);
    if (code < 0)
        return tls_error(err, code, "create a certificate");
    /* GnuTLS can match names only in a certificate that it has parsed. */
    r = cert_to_pem(c, &pem, err);
    return r < 0 ? r : cert_from_pem(buf_str(&pem), ret, err);
}

/* --- Queries --- */

int64_t cert_valid_from(const struct cert *c)
{
    return gnutls_x509_crt_get_activation_time(c->x509);
}

int64_t cert_valid_until(const struct cert *c)
{
    return gnutls_x509_crt_get_expiration_time(c->x509);
}

bool cert_has_key(const struct cert *c, const struct key *k)
{
    unsigned char of_cert[CERT_KEY_ID_BYTES], of_key[CERT_KEY_ID_BYTES];
    size_t cert_len = sizeof of_cert, key_len = sizeof of_key;

    return gnutls_x509_crt_get_key_id(c->x509, GNUTLS_KEYID_USE_SHA256, of_cert, &cert_len) >= 0 &&
           gnutls_x509_privkey_get_key_id(k->x509, GNUTLS_KEYID_USE_SHA256, of_key, &key_len) >= 0 &&
           cert_len == key_len && memcmp(of_cert, of_key, key_len) == 0;
}

bool cert_is_signed_by(const struct cert *c, const struct cert *authority)
{
    unsigned problems = 0;
    int code = gnutls_x509_crt_verify(
        c->x509, &authority->x509, 1,
        GNUTLS_VERIFY_DISABLE_TIME_CHECKS | GNUTLS_VERIFY_DISABLE_TRUSTED_TIME_CHECKS, &problems);

    return code >= 0 && problems == 0;
}

static size_t key_id(const struct cert *c, unsigned char ret[CERT_KEY_ID_BYTES])
{
    size_t len = CERT_KEY_ID_BYTES;

    return gnutls_x509_crt_get_subject_key_id(c->x509, ret, &len, NULL) >= 0 ? len : 0;
}

bool cert_succeeds(const struct cert *authority, const struct cert *old)
{
    unsigned char id[CERT_KEY_ID_BYTES], old_id[CERT_KEY_ID_BYTES];
    size_t len = key_id(authority, id), old_len = key_id(old, old_id);

    return cert_is_signed_by(old, authority) && len == old_len && memcmp(id, old_id, len) == 0;
}

bool cert_covers(const struct cert *c, const char *name)
{
    return gnutls_x509_crt_check_hostname2(c->x509, name, GNUTLS_VERIFY_DO_NOT_ALLOW_WILDCARDS) != 0;
}
