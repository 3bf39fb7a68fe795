/* TLS for the HTTP server beyond what its library does: the key and certificates of connections, which can be
 * replaced while the server runs, and the certificate of the peer. */
#ifndef BERTH_HTTP_TLS_H
#define BERTH_HTTP_TLS_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/error.h"

/* TLS 1.2 and newer. */
#define TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

struct peer;

/* A key, its certificate and the CA of clients. A session holds a reference until its end. */
struct tls_identity;

/* From PEM texts; client_ca_pem: NULL for none. Errors name the text that is wrong. */
int tls_identity_new(const char *key_pem, const char *cert_pem, const char *client_ca_pem,
                     struct tls_identity **ret, struct error *err);
struct tls_identity *tls_identity_ref(struct tls_identity *i);
struct tls_identity *tls_identity_unref(struct tls_identity *i);
DEFINE_CLEANUP(struct tls_identity, tls_identity_unref)

/* Sets the identity of a session (GnuTLS's) before its handshake. False when that fails. */
bool tls_identity_use(const struct tls_identity *i, void *session);

/* The first bytes of a session: a client that sends plain HTTP gets an answer in plain HTTP, with
 * Kubernetes's text, and its handshake fails. */
struct tls_entry {
    int fd;
    bool has_begun;
};

/* For a session (GnuTLS's) on fd before its handshake. e must live as long as the session reads. */
void tls_entry_use(struct tls_entry *e, int fd, void *session);

/* The peer of a session (GnuTLS's). *ret is NULL when it has sent no certificate. ERR_DENIED for one that the
 * client CA has not signed for a client, that is expired or not yet valid, or that has no name. */
int tls_peer(void *session, struct peer **ret, struct error *err);
struct peer *peer_free(struct peer *p);
DEFINE_CLEANUP(struct peer, peer_free)

#endif
