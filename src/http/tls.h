/* What the HTTP server needs of TLS besides the library that speaks it: the key and certificates that
 * connections use, which may be replaced while the server runs, and the peer's certificate afterwards. */
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

/* From PEM texts; client_ca_pem: NULL for none. Errors tell in words which of them is wrong. */
int tls_identity_new(const char *key_pem, const char *cert_pem, const char *client_ca_pem,
                     struct tls_identity **ret, struct error *err);
struct tls_identity *tls_identity_ref(struct tls_identity *i);
struct tls_identity *tls_identity_unref(struct tls_identity *i);
DEFINE_CLEANUP(struct tls_identity, tls_identity_unref)

/* For a session (GnuTLS's) before its handshake, in the place of what it has. False when it cannot be set. */
bool tls_identity_use(const struct tls_identity *i, void *session);

/* The first bytes of a session: a client that sends plain HTTP is told so in plain HTTP, as by Kubernetes,
 * and its handshake fails. */
struct tls_entry {
    int fd;
    bool has_begun;
};

/* For a session (GnuTLS's) on fd before its handshake. e lives as long as the session reads. */
void tls_entry_use(struct tls_entry *e, int fd, void *session);

/* Who the peer of a session (GnuTLS's) is. *ret is NULL when it has shown no certificate. ERR_DENIED when it
 * has shown one that the client CA has not signed for a client, that is out of date, or that names nobody. */
int tls_peer(void *session, struct peer **ret, struct error *err);
struct peer *peer_free(struct peer *p);
DEFINE_CLEANUP(struct peer, peer_free)

#endif
