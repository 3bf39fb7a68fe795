/* X.509 certificates: an authority of our own, servers' and clients' certificates signed by it.
 *
 * Names and dates are the caller's; serial numbers are random. The work is GnuTLS's. */
#ifndef BERTH_IO_CERTS_H
#define BERTH_IO_CERTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/str.h"
#include "io/keys.h"

#define CERT_PEM_BYTES_MAX ((size_t)64 << 10)

enum cert_use { CERT_AUTHORITY, CERT_SERVER, CERT_CLIENT };

struct cert_request {
    enum cert_use use;
    const char *common_name;
    const char *const *organizations; /* ends with NULL; NULL for none */
    const char *const *names;         /* the same: host names and IP addresses that a server answers to */
    int64_t valid_from;               /* seconds since 1970 */
    int64_t valid_until;
};

struct cert;

/* A certificate for `key`, signed by the authority; with issuer NULL by the key itself. */
int cert_new(const struct cert_request *q, const struct key *key, const struct cert *issuer,
             const struct key *issuer_key, struct cert **ret, struct error *err);
/* The first certificate of the text; ERR_INVALID when there is none. */
int cert_from_pem(struct str pem, struct cert **ret, struct error *err);
int cert_to_pem(const struct cert *c, struct buf *out, struct error *err);
struct cert *cert_free(struct cert *c);
DEFINE_CLEANUP(struct cert, cert_free)

/* Seconds since 1970. */
int64_t cert_valid_from(const struct cert *c);
int64_t cert_valid_until(const struct cert *c);
/* Made for this key. */
bool cert_has_key(const struct cert *c, const struct key *k);
/* Signed by this authority, whatever the dates of both. */
bool cert_is_signed_by(const struct cert *c, const struct cert *authority);
/* Whether what the old authority has signed is signed by the new one, too: the same key, name and key id. */
bool cert_succeeds(const struct cert *authority, const struct cert *old);
/* Among its names: a host name, or an IP address as text. */
bool cert_covers(const struct cert *c, const char *name);

#endif
