/* Certificates, judged by GnuTLS as a client and a server would judge them. */
#include "tests/unit/test.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdbool.h>
#include <time.h>

#include "base/cleanup.h"
#include "io/certs.h"
#include "io/clock.h"

#define DAY INT64_C(86400)

static struct error err;

struct world {
    struct key *ca_key, *key;
    struct cert *ca, *server, *client;
};

static const char *const server_names[] = { "localhost", "127.0.0.1", "::1", "host.example.org", NULL };
static const char *const masters[] = { "system:masters", "berth:readers", NULL };

static int64_t now(void)
{
    return clock_real_ns(clock_system()) / (int64_t)NS_PER_S;
}

static struct cert_request request(enum cert_use use)
{
    return (struct cert_request){
        .use = use,
        .common_name = use == CERT_AUTHORITY ? "berth"
                       : use == CERT_SERVER  ? "server"
                                             : "system:admin",
        .organizations = use == CERT_CLIENT ? masters : NULL,
        .names = use == CERT_SERVER ? server_names : NULL,
        .valid_from = now() - 60,
        .valid_until = now() + (use == CERT_AUTHORITY ? 3650 : 365) * DAY,
    };
}

static void world_init(struct world *w)
{
    struct cert_request ca = request(CERT_AUTHORITY), server = request(CERT_SERVER),
                        client = request(CERT_CLIENT);

    *w = (struct world){ 0 };
    ASSERT_OK(key_new(&w->ca_key, &err));
    ASSERT_OK(key_new(&w->key, &err));
    ASSERT_OK(cert_new(&ca, w->ca_key, NULL, NULL, &w->ca, &err));
    ASSERT_OK(cert_new(&server, w->key, w->ca, w->ca_key, &w->server, &err));
    ASSERT_OK(cert_new(&client, w->key, w->ca, w->ca_key, &w->client, &err));
}

static void world_done(struct world *w)
{
    w->client = cert_free(w->client);
    w->server = cert_free(w->server);
    w->ca = cert_free(w->ca);
    w->key = key_free(w->key);
    w->ca_key = key_free(w->ca_key);
}

/* A second reading of the certificate, by GnuTLS itself. */
static gnutls_x509_crt_t reread(const struct cert *c)
{
    _cleanup_(buf_done_p) struct buf pem = BUF_INIT(CERT_PEM_BYTES_MAX);
    gnutls_x509_crt_t x;
    gnutls_datum_t datum;

    ASSERT_OK(cert_to_pem(c, &pem, &err));
    datum = (gnutls_datum_t){ (unsigned char *)pem.data, (unsigned)pem.len };
    assert_int_equal(gnutls_x509_crt_init(&x), 0);
    assert_int_equal(gnutls_x509_crt_import(x, &datum, GNUTLS_X509_FMT_PEM), 0);
    return x;
}

/* Whether who trusts `authority` lets the certificate be used so, today. */
static bool is_trusted(const struct cert *c, const struct cert *authority, const char *purpose,
                       const char *host)
{
    gnutls_x509_crt_t leaf = reread(c), ca = reread(authority);
    gnutls_x509_trust_list_t trust;
    gnutls_typed_vdata_st wanted[2] = {
        { .type = GNUTLS_DT_KEY_PURPOSE_OID, .data = (unsigned char *)(uintptr_t)purpose },
        { .type = GNUTLS_DT_DNS_HOSTNAME, .data = (unsigned char *)(uintptr_t)host },
    };
    unsigned problems = 0;

    assert_int_equal(gnutls_x509_trust_list_init(&trust, 0), 0);
    assert_int_equal(gnutls_x509_trust_list_add_cas(trust, &ca, 1, 0), 1);
    assert_true(
        gnutls_x509_trust_list_verify_crt2(trust, &leaf, 1, wanted, host ? 2 : 1, 0, &problems, NULL) >= 0);
    gnutls_x509_trust_list_deinit(trust, 0);
    gnutls_x509_crt_deinit(leaf);
    gnutls_x509_crt_deinit(ca);
    return problems == 0;
}

TEST(chains_hold_for_their_purpose)
{
    struct world w;

    world_init(&w);
    assert_true(is_trusted(w.server, w.ca, GNUTLS_KP_TLS_WWW_SERVER, "localhost"));
    assert_false(is_trusted(w.server, w.ca, GNUTLS_KP_TLS_WWW_SERVER, "elsewhere"));
    assert_false(is_trusted(w.server, w.ca, GNUTLS_KP_TLS_WWW_CLIENT, NULL));
    assert_true(is_trusted(w.client, w.ca, GNUTLS_KP_TLS_WWW_CLIENT, NULL));
    assert_false(is_trusted(w.client, w.ca, GNUTLS_KP_TLS_WWW_SERVER, NULL));
    world_done(&w);
}

TEST(another_authority_is_not_trusted)
{
    struct world w, other;

    world_init(&w);
    world_init(&other);
    assert_true(cert_is_signed_by(w.server, w.ca));
    assert_true(cert_is_signed_by(w.ca, w.ca));
    assert_false(cert_is_signed_by(w.server, other.ca)); /* of the same name: only the key tells */
    assert_false(cert_is_signed_by(w.ca, other.ca));
    assert_false(cert_is_signed_by(w.ca, w.server));
    assert_false(is_trusted(w.client, other.ca, GNUTLS_KP_TLS_WWW_CLIENT, NULL));
    world_done(&w);
    world_done(&other);
}

/* A leaf that could sign would make everybody with a client certificate an administrator. */
TEST(leaves_sign_nothing)
{
    struct cert_request q = request(CERT_CLIENT);
    struct world w;
    struct cert *forged = NULL;

    world_init(&w);
    ASSERT_OK(cert_new(&q, w.key, w.client, w.key, &forged, &err));
    assert_false(cert_is_signed_by(forged, w.ca));
    assert_false(is_trusted(forged, w.client, GNUTLS_KP_TLS_WWW_CLIENT, NULL));
    forged = cert_free(forged);
    world_done(&w);
}

TEST(names_are_covered)
{
    static const struct {
        const char *name;
        bool covered;
    } rows[] = {
        { "localhost", true },
        { "LOCALHOST", true },
        { "127.0.0.1", true },
        { "::1", true },
        { "host.example.org", true },
        { "127.0.0.2", false },
        { "::2", false },
        { "example.org", false },
        { "a.host.example.org", false },
        { "server", false },
        { "", false },
        { "0:0:0:0:0:0:0:1", true },
    };
    struct world w;

    world_init(&w);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (cert_covers(w.server, rows[i].name) != rows[i].covered)
            fail_msg("%s: expected %d", rows[i].name, rows[i].covered);
    world_done(&w);
}

static const char *subject_part(gnutls_x509_crt_t x, const char *oid, unsigned index)
{
    static char text[256];
    size_t len = sizeof text;

    return gnutls_x509_crt_get_dn_by_oid(x, oid, index, 0, text, &len) < 0 ? NULL : text;
}

TEST(the_subject_is_as_asked)
{
    struct world w;
    gnutls_x509_crt_t x;

    world_init(&w);
    x = reread(w.client);
    ASSERT_STR("system:admin", subject_part(x, GNUTLS_OID_X520_COMMON_NAME, 0));
    ASSERT_STR("system:masters", subject_part(x, GNUTLS_OID_X520_ORGANIZATION_NAME, 0));
    ASSERT_STR("berth:readers", subject_part(x, GNUTLS_OID_X520_ORGANIZATION_NAME, 1));
    assert_null(subject_part(x, GNUTLS_OID_X520_ORGANIZATION_NAME, 2));
    assert_int_equal(gnutls_x509_crt_get_version(x), 3);
    assert_int_equal(gnutls_x509_crt_get_pk_algorithm(x, NULL), GNUTLS_PK_ECDSA);
    gnutls_x509_crt_deinit(x);
    world_done(&w);
}

TEST(dates_are_as_asked)
{
    struct cert_request q = request(CERT_AUTHORITY);
    _cleanup_(key_free_p) struct key *k = NULL;
    _cleanup_(cert_free_p) struct cert *c = NULL;
    _cleanup_(cert_free_p) struct cert *past = NULL;

    ASSERT_OK(key_new(&k, &err));
    ASSERT_OK(cert_new(&q, k, NULL, NULL, &c, &err));
    assert_true(cert_valid_from(c) == q.valid_from);
    assert_true(cert_valid_until(c) == q.valid_until);
    q.valid_until = now() - 1;
    ASSERT_OK(cert_new(&q, k, NULL, NULL, &past, &err));
    assert_true(cert_is_signed_by(past, past)); /* dates are the caller's business */
}

TEST(an_authority_is_succeeded_by_its_own_key_and_name)
{
    struct cert_request q = request(CERT_AUTHORITY);
    struct world w;
    _cleanup_(cert_free_p) struct cert *renewed = NULL;
    _cleanup_(cert_free_p) struct cert *renamed = NULL;
    _cleanup_(cert_free_p) struct cert *other = NULL;

    world_init(&w);
    q.valid_from -= DAY;
    ASSERT_OK(cert_new(&q, w.ca_key, NULL, NULL, &renewed, &err));
    ASSERT_OK(cert_new(&q, w.key, NULL, NULL, &other, &err));
    q.common_name = "somebody else's";
    ASSERT_OK(cert_new(&q, w.ca_key, NULL, NULL, &renamed, &err));
    assert_true(cert_succeeds(renewed, w.ca));
    assert_true(cert_is_signed_by(w.server, renewed));
    assert_false(cert_succeeds(other, w.ca));
    assert_false(cert_succeeds(renamed, w.ca));
    assert_false(cert_is_signed_by(w.server, renamed));
    world_done(&w);
}

TEST(serial_numbers_differ)
{
    unsigned char first[64], second[64];
    size_t first_len = sizeof first, second_len = sizeof second;
    struct world w;
    gnutls_x509_crt_t a, b;

    world_init(&w);
    a = reread(w.server);
    b = reread(w.client);
    assert_int_equal(gnutls_x509_crt_get_serial(a, first, &first_len), 0);
    assert_int_equal(gnutls_x509_crt_get_serial(b, second, &second_len), 0);
    ASSERT_INT(16, first_len);
    ASSERT_INT(16, second_len);
    assert_true(memcmp(first, second, 16) != 0);
    assert_int_equal(first[0] & 0x80, 0);
    gnutls_x509_crt_deinit(a);
    gnutls_x509_crt_deinit(b);
    world_done(&w);
}

TEST(certificates_know_their_key)
{
    struct world w;

    world_init(&w);
    assert_true(cert_has_key(w.ca, w.ca_key));
    assert_false(cert_has_key(w.ca, w.key));
    assert_true(cert_has_key(w.server, w.key));
    assert_false(cert_has_key(w.server, w.ca_key));
    world_done(&w);
}

TEST(what_is_no_certificate)
{
    _cleanup_(buf_done_p) struct buf huge = BUF_INIT(1 << 20);
    struct cert *c = NULL;

    ASSERT_ERR(ERR_INVALID, cert_from_pem(STR_LIT(""), &c, &err));
    assert_ptr_equal(err.msg, strstr(err.msg, "no certificate found: "));
    ASSERT_ERR(ERR_INVALID, cert_from_pem(STR_LIT("-----BEGIN CERTIFICATE-----\nAAAA\n"), &c, &err));
    memset(buf_grow(&huge, CERT_PEM_BYTES_MAX + 1), 'a', CERT_PEM_BYTES_MAX + 1);
    ASSERT_ERR(ERR_INVALID, cert_from_pem(buf_str(&huge), &c, &err));
    ASSERT_STR("too large for a certificate", err.msg);
    assert_null(c);
}

TEST_MAIN()
