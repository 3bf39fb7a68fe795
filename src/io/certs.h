/* X.509 certificates: a private certificate authority, and server and client certificates signed by it.
 *
 * The caller sets names and dates; serial numbers are random. GnuTLS does the cryptography. */
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
    const char *const *names; /* NULL-terminated, NULL for none: host names and IP addresses of a server */
    int64_t valid_from;       /* seconds since 1970 */
    int64_t valid_until;
};

struct cert;

/* Creates a certificate for `key`, signed by the authority; self-signed if issuer is NULL. */
int cert_new(const struct cert_request *q, const struct key *key, const struct cert *issuer,
             const struct key *issuer_key, struct cert **ret, struct error *err);
/* Parses the first certificate of the text; ERR_INVALID when there is none. */
int cert_from_pem(struct str pem, struct cert **ret, struct error *err);
int cert_to_pem(const struct cert *c, struct buf *out, struct error *err);
struct cert *cert_free(struct cert *c);
DEFINE_CLEANUP(struct cert, cert_free)

/* Seconds since 1970. */
int64_t cert_valid_from(const struct cert *c);
int64_t cert_valid_until(const struct cert *c);
/* True when the certificate was issued for this key. */
bool cert_has_key(const struct cert *c, const struct key *k);
/* True when the certificate was signed by this authority, whatever the dates of both. */
bool cert_is_signed_by(const struct cert *c, const struct cert *authority);
/* True when certificates signed by the old authority also verify with the new one: same key, name and key id.
 */
bool cert_succeeds(const struct cert *authority, const struct cert *old);
/* True when the name, a host name or an IP address as text, is among the certificate's names. */
bool cert_covers(const struct cert *c, const char *name);

#endif
