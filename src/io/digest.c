#include "io/digest.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>

#define DIGEST_BYTES 32

int digest_sha256_hex(struct str text, char ret[DIGEST_HEX_BYTES], struct error *err)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char digest[DIGEST_BYTES];
    int code = gnutls_hash_fast(GNUTLS_DIG_SHA256, text.s, text.len, digest);

    if (code < 0)
        return error_set(err, ERR_INTERNAL, "no SHA-256: %s", gnutls_strerror(code));
    for (size_t i = 0; i < DIGEST_BYTES; i++) {
        ret[2 * i] = digits[digest[i] >> 4];
        ret[2 * i + 1] = digits[digest[i] & 15];
    }
    ret[DIGEST_HEX_BYTES - 1] = '\0';
    return 0;
}
