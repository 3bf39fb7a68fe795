/* What the carrier needs of TLS besides the library that speaks it: its material checked beforehand, and the
 * peer's certificate afterwards. */
#ifndef BERTH_APISERVER_TLS_H
#define BERTH_APISERVER_TLS_H

#include "apiserver/peer.h"
#include "base/cleanup.h"
#include "base/error.h"

/* TLS 1.2 and newer. */
#define TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

/* Tells in words what is wrong with a key, its certificate and a client CA (NULL for none), all PEM. */
int tls_check_material(const char *key_pem, const char *cert_pem, const char *client_ca_pem,
                       struct error *err);

/* Who the peer of a session (GnuTLS's) is. *ret is NULL when it has shown no certificate. ERR_DENIED when it
 * has shown one that the client CA has not signed for a client, that is out of date, or that names nobody. */
int tls_peer(void *session, struct peer **ret, struct error *err);
struct peer *peer_free(struct peer *p);
DEFINE_CLEANUP(struct peer, peer_free)

#endif
