/* Private keys: ECDSA on the curve P-256, the only kind that Berth creates or accepts.
 *
 * Creating one takes a fraction of a millisecond, so it does not delay the first start. GnuTLS does the
 * cryptography. */
#ifndef BERTH_IO_KEYS_H
#define BERTH_IO_KEYS_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/str.h"

#define KEY_PEM_BYTES_MAX ((size_t)64 << 10)
#define KEY_SIGNATURE_BYTES 64 /* r and s, 32 bytes each */

struct key;

int key_new(struct key **ret, struct error *err);
/* ERR_INVALID when the text contains no key, or one of another kind. */
int key_from_pem(struct str pem, struct key **ret, struct error *err);
int key_to_pem(const struct key *k, struct buf *out, struct error *err);
struct key *key_free(struct key *k);
DEFINE_CLEANUP(struct key, key_free)

/* ECDSA with SHA-256, the ES256 of JSON Web Tokens. */
int key_sign(const struct key *k, struct str text, unsigned char ret[KEY_SIGNATURE_BYTES], struct error *err);
bool key_verify(const struct key *k, struct str text, const unsigned char signature[KEY_SIGNATURE_BYTES]);

#endif
