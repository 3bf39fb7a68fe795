/* Keys and certificates of the data directory, created if missing:
 *
 *     DIR/pki/ca.key ca.crt                 the authority that clients trust and that signs the others
 *     DIR/pki/server.key server.crt         the server's certificate
 *     DIR/pki/admin.key admin.crt           system:admin in system:masters
 *     DIR/pki/service-account.key           signs the tokens of service accounts
 *     DIR/kubeconfig                        connects to this server as the administrator
 *
 * An insecure server has only the authority: the ConfigMaps kube-root-ca.crt contain its certificate.
 *
 * A key is written before its certificate, so a crash leaves at worst a key without one, and the next start
 * creates the certificate. Certificates are renewed when they are not valid yet, as after a start with a fast
 * clock, when they have expired or will within 30 days; the server's also when it lacks one of its names.
 * Keys stay, also the CA's: its signatures stay valid, and a copy of the kubeconfig works as long as its own
 * certificates are valid. An authority that Berth did not create is never renewed. Each renewal is logged
 * with the old dates. Files that do not match each other are an error with a remedy: a guess might lock users
 * out. All of it blocks. pki_renewal.h does it while the server runs. */
#ifndef BERTH_APISERVER_PKI_H
#define BERTH_APISERVER_PKI_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "io/keys.h"

struct pki_options {
    const char *dir;
    const char *address;   /* the address to listen on: host:port */
    const char *host_name; /* of this machine */
    int64_t now;           /* seconds since 1970 */
    bool is_insecure;      /* only the authority and the key of the service accounts are needed */
};

struct pki {
    struct buf ca_cert;     /* PEM texts */
    struct buf server_cert; /* this and the next three are empty for an insecure server */
    struct buf server_key;
    struct buf admin_cert;
    struct buf admin_key;
    struct key *token_key;
    int64_t valid_from;  /* of all certificates together, seconds since 1970 */
    int64_t valid_until; /* the same; 0 when Berth may renew none of them */
};

int pki_open(const struct pki_options *o, struct pki *ret, struct error *err);
void pki_done(struct pki *p);

/* Whether a certificate must be renewed because of its dates. */
bool pki_is_due(const struct pki *p, int64_t now);

/* DIR/kubeconfig for the address that the server really listens on. */
int pki_write_kubeconfig(const struct pki *p, const char *dir, const char *address, struct error *err);

static inline void pki_done_p(struct pki *p)
{
    pki_done(p);
}

#endif
