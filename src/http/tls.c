/* TLS credentials of the server and client certificates of its peers, with GnuTLS. An identity is immutable
 * and reference-counted, so that sessions keep theirs when it is replaced. */
#include "http/tls.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/refcount.h"
#include "base/vec.h"
#include "http/message.h"
#include "io/socket.h"

/* More organizations than any reasonable certificate has. */
#define TLS_ORGANIZATIONS_MAX 64
#define TLS_PEER_BYTES_MAX 65536
#define TLS_NAME_BYTES 1024
/* How much of a request in plain HTTP is read before it is answered. */
#define TLS_PLAIN_BYTES_MAX 16384

struct peer_box {
    struct peer peer; /* the first member: callers get a pointer to it */
    struct arena texts;
};

static gnutls_datum_t datum_of(const char *pem)
{
    return (gnutls_datum_t){ .data = (unsigned char *)(uintptr_t)pem, .size = (unsigned)strlen(pem) };
}

struct tls_identity {
    struct refcount refs;
    gnutls_certificate_credentials_t credentials;
};

struct tls_identity *tls_identity_ref(struct tls_identity *i)
{
    refcount_inc(&i->refs);
    return i;
}

struct tls_identity *tls_identity_unref(struct tls_identity *i)
{
    if (!i || !refcount_dec(&i->refs))
        return NULL;
    if (i->credentials)
        gnutls_certificate_free_credentials(i->credentials);
    free(i);
    return NULL;
}

static int set_material(struct tls_identity *i, const char *key_pem, const char *cert_pem,
                        const char *client_ca_pem, struct error *err)
{
    gnutls_datum_t key = datum_of(key_pem);
    gnutls_datum_t cert = datum_of(cert_pem);
    int r = gnutls_certificate_set_x509_key_mem(i->credentials, &cert, &key, GNUTLS_X509_FMT_PEM);

    if (r < 0)
        return error_set(err, ERR_INVALID, "server certificate and key: %s", gnutls_strerror(r));
    if (!client_ca_pem)
        return 0;
    gnutls_datum_t ca = datum_of(client_ca_pem);
    r = gnutls_certificate_set_x509_trust_mem(i->credentials, &ca, GNUTLS_X509_FMT_PEM);
    if (r <= 0)
        return error_set(err, ERR_INVALID, "client CA: %s",
                         r < 0 ? gnutls_strerror(r) : "no certificate found");
    return 0;
}

int tls_identity_new(const char *key_pem, const char *cert_pem, const char *client_ca_pem,
                     struct tls_identity **ret, struct error *err)
{
    _cleanup_(tls_identity_unref_p) struct tls_identity *i = calloc(1, sizeof *i);
    int r;

    if (!i)
        return error_no_memory(err);
    refcount_init(&i->refs);
    if (gnutls_certificate_allocate_credentials(&i->credentials) < 0)
        return error_no_memory(err);
    r = set_material(i, key_pem, cert_pem, client_ca_pem, err);
    if (r < 0)
        return r;
    *ret = TAKE(i);
    return 0;
}

bool tls_identity_use(const struct tls_identity *i, void *session)
{
    return gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, i->credentials) >= 0;
}

/* A TLS record begins with its type, 22 for a handshake, never with a letter. */
static bool looks_like_http(struct str bytes)
{
    static const char *const starts[] = { "GET /", "HEAD ", "POST ", "PUT /", "DELET", "OPTIO", "PATCH" };

    for (size_t i = 0; i < ARRAY_LEN(starts); i++)
        if (str_has_prefix(bytes, starts[i]))
            return true;
    return false;
}

static void answer_plain_http(int fd)
{
    static const char answer[] = "HTTP/1.0 400 Bad Request\r\n\r\n"
                                 "Client sent an HTTP request to an HTTPS server.\n";
    char rest[TLS_PLAIN_BYTES_MAX];

    /* A connection that is closed with unread bytes is reset, and the client may lose the answer. */
    (void)socket_read(fd, rest, sizeof rest);
    (void)socket_write(fd, answer, sizeof answer - 1); /* fits into the empty buffer of a new connection */
}

static ssize_t on_pull(gnutls_transport_ptr_t ptr, void *to, size_t len)
{
    struct tls_entry *e = ptr;
    ssize_t n = socket_read(e->fd, to, len);

    if (n <= 0 || e->has_begun)
        return n;
    e->has_begun = true;
    if (!looks_like_http((struct str){ to, (size_t)n }))
        return n;
    answer_plain_http(e->fd);
    return 0; /* end of file before a handshake */
}

void tls_entry_use(struct tls_entry *e, int fd, void *session)
{
    gnutls_transport_ptr_t receiver, sender;

    *e = (struct tls_entry){ .fd = fd };
    gnutls_transport_get_ptr2(session, &receiver, &sender);
    gnutls_transport_set_ptr2(session, e, sender);
    gnutls_transport_set_pull_function(session, on_pull);
}

/* Copies one name of the subject into the arena; *ret is NULL when there is no such name at this index. */
static int copy_name(gnutls_x509_crt_t cert, const char *oid, unsigned index, struct arena *a,
                     const char **ret, struct error *err)
{
    char text[TLS_NAME_BYTES];
    size_t len = sizeof text;
    int r = gnutls_x509_crt_get_dn_by_oid(cert, oid, index, /* raw_flag= */ 0, text, &len);

    if (r == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE) {
        *ret = NULL;
        return 0;
    }
    /* A name like "admin\0.example.com" is refused: its signer may have read it to its end. GnuTLS returns
     * values that it does not regard as text as '#' and hexadecimal digits. */
    if (r < 0 || memchr(text, '\0', len) || (len > 0 && text[0] == '#'))
        return error_set(err, ERR_DENIED, "client certificate: cannot read the subject");
    *ret = arena_dup(a, (struct str){ text, len });
    return *ret ? 0 : error_no_memory(err);
}

static int read_organizations(gnutls_x509_crt_t cert, struct peer_box *b, struct error *err)
{
    const char **names = arena_array(&b->texts, TLS_ORGANIZATIONS_MAX + 1, sizeof *names);
    int r = 0;

    if (!names)
        return error_no_memory(err);
    b->peer.organizations = names; /* zeroed: NULL-terminated from the beginning */
    for (unsigned i = 0; i < TLS_ORGANIZATIONS_MAX && r == 0; i++) {
        r = copy_name(cert, GNUTLS_OID_X520_ORGANIZATION_NAME, i, &b->texts, &names[i], err);
        if (r == 0 && !names[i])
            return 0;
    }
    return r;
}

static int read_subject(const gnutls_datum_t *der, struct peer_box *b, struct error *err)
{
    gnutls_x509_crt_t cert = NULL;
    int r;

    if (gnutls_x509_crt_init(&cert) < 0)
        return error_no_memory(err);
    if (gnutls_x509_crt_import(cert, der, GNUTLS_X509_FMT_DER) < 0)
        r = error_set(err, ERR_DENIED, "client certificate: cannot be parsed");
    else
        r = copy_name(cert, GNUTLS_OID_X520_COMMON_NAME, 0, &b->texts, &b->peer.common_name, err);
    if (r == 0 && (!b->peer.common_name || b->peer.common_name[0] == '\0'))
        r = error_set(err, ERR_DENIED, "client certificate: no common name");
    if (r == 0)
        r = read_organizations(cert, b, err);
    gnutls_x509_crt_deinit(cert);
    return r;
}

static int verify_chain(gnutls_session_t session, struct error *err)
{
    static const char purpose[] = GNUTLS_KP_TLS_WWW_CLIENT;
    gnutls_typed_vdata_st wanted = {
        .type = GNUTLS_DT_KEY_PURPOSE_OID,
        .data = (unsigned char *)(uintptr_t)purpose,
    };
    unsigned status = 0;
    gnutls_datum_t words = { 0 };

    if (gnutls_certificate_verify_peers(session, &wanted, 1, &status) < 0)
        return error_set(err, ERR_DENIED, "client certificate: cannot be verified");
    if (status == 0)
        return 0;
    (void)gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &words, 0);
    (void)error_set(err, ERR_DENIED, "client certificate: %s",
                    words.data ? (const char *)words.data : "not valid");
    gnutls_free(words.data);
    return -ERR_DENIED;
}

int tls_peer(void *session, struct peer **ret, struct error *err)
{
    unsigned count = 0;
    const gnutls_datum_t *chain = gnutls_certificate_get_peers(session, &count);
    struct peer_box *b;
    int r;

    if (!chain || count == 0) {
        *ret = NULL;
        return 0;
    }
    r = verify_chain(session, err);
    if (r < 0)
        return r;
    b = calloc(1, sizeof *b);
    if (!b)
        return error_no_memory(err);
    b->texts = ARENA_INIT(TLS_PEER_BYTES_MAX);
    r = read_subject(&chain[0], b, err);
    if (r < 0) {
        (void)peer_free(&b->peer);
        return r;
    }
    *ret = &b->peer;
    return 0;
}

struct peer *peer_free(struct peer *p)
{
    struct peer_box *b = p ? CONTAINER_OF(p, struct peer_box, peer) : NULL;

    if (!b)
        return NULL;
    arena_done(&b->texts);
    free(b);
    return NULL;
}
